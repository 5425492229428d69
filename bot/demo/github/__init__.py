"""A GitHub on this machine: one bare git repository behind GitHub's REST shapes, with runs and webhooks.

In a process of its own (jobs run with `bot.demo.actions.LocalExecutor`):

    python -m bot.demo.github --root DIR --port 0 --config config.json

It prints {"url": "http://127.0.0.1:…"} when it listens. DIR/repo.git is the bare repository, config.json is
`DemoConfig(...).model_dump_json()`. In this process:

    with Server(DemoConfig(repo="tinyserve", app=DemoApp(public_key=pem)), git_dir, executor) as server:
        Github(base_url=server.url, auth=...)

A `DemoConfig` names owner, repo, default branch, `users` (login: role and token), the `app` (id, slug, PEM
of its public key, permissions), the `runners` (name, labels) and the `hook` (url, secret). The App finds its
installation by `GET /repos/{owner}/{repo}/installation`. People look at `{url}/{owner}/{repo}/`.
With `api_prefix` "/api/v3" the REST API is below that path alone, as on GitHub Enterprise Server.

The demo's own controls (JSON in and out, no token; GitHub has none of these paths):

    GET  /_demo/health         {"ok": true}
    POST /_demo/hook           {url, secret}: where webhooks go from now on
    POST /_demo/recorded-job   {workflow, head_sha, log, pull?, conclusion?, name?, labels?, runner?, user?}:
                               a run and job that have ended, with their webhooks; answers
                               {run_id, job_id, workflow_id}
    POST /_demo/refresh        {user?}: tells of branches pushed straight into repo.git: push, synchronize,
                               merged, workflow runs
    GET  /_demo/deliveries     webhooks sent, oldest first: guid, event, action, status, error, payload
    POST /_demo/redeliver      {guid}: sends one again under its GUID
    POST /_demo/fork-pull, fork-push, rerequest, rerun, installation: see control_people.py
"""

from __future__ import annotations

from bot.demo.github.app import create_app
from bot.demo.github.config import (
    ConfigError,
    DemoApp,
    DemoConfig,
    DemoHook,
    DemoRunner,
    DemoUser,
    parse_config,
)
from bot.demo.github.server import Server
from bot.demo.github.world import World, world_of

__all__ = [
    "ConfigError",
    "DemoApp",
    "DemoConfig",
    "DemoHook",
    "DemoRunner",
    "DemoUser",
    "Server",
    "World",
    "create_app",
    "parse_config",
    "world_of",
]
