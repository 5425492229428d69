"""What the tests of the stand-in are built from."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from github import Github, GithubIntegration

from bot.demo.executor import JobEvents, JobSpec
from bot.demo.github import DemoApp, DemoConfig, DemoHook, DemoUser, Server

SECRET = "a secret between two processes"
FILE = "test/test_kl.py"
TEXT = "class TestKL:\n    kl_threshold = 0.003\n"
RERUN = """\
name: KL rerun
run-name: KL rerun ${{ inputs.request_id }}
on:
  workflow_dispatch:
    inputs:
      request_id: {type: string, required: true}
      runner: {type: choice, options: [kl-cpu, kl-gpu], default: kl-cpu}
jobs:
  rerun:
    runs-on: ["self-hosted", "${{ inputs.runner }}"]
    steps:
      - run: echo measured
"""
CI = """\
name: CI
on:
  pull_request:
jobs:
  kl:
    runs-on: [self-hosted, kl-cpu]
    steps:
      - run: echo tested
"""


def git(git_dir: Path, *arguments: str, data: str = "") -> str:
    who = {"GIT_AUTHOR_NAME": "dev-a", "GIT_AUTHOR_EMAIL": "dev-a@users.noreply.github.com"}
    who |= {key.replace("AUTHOR", "COMMITTER"): value for key, value in who.items()}
    done = subprocess.run(
        ["git", f"--git-dir={git_dir}", *arguments],
        input=data,
        env={**os.environ, **who},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def commit(git_dir: Path, branch: str, files: dict[str, str], message: str, parent: str | None = None) -> str:
    """A commit whose tree is exactly `files`, made past the server, as a push would."""
    env = {"GIT_INDEX_FILE": str(git_dir / f"index-{os.getpid()}")}
    lines = [
        f"100644 {git(git_dir, 'hash-object', '-w', '--stdin', data=text)}\t{path}\n"
        for path, text in files.items()
    ]
    run = {"env": {**os.environ, **env}, "check": True, "capture_output": True, "text": True}
    base = ["git", f"--git-dir={git_dir}"]
    subprocess.run([*base, "read-tree", "--empty"], **run)
    subprocess.run([*base, "update-index", "--add", "--index-info"], input="".join(lines), **run)
    tree = subprocess.run([*base, "write-tree"], **run).stdout.strip()
    flags = ["-p", parent] if parent else []
    sha = git(git_dir, "commit-tree", tree, *flags, "-m", message)
    git(git_dir, "update-ref", f"refs/heads/{branch}", sha)
    return sha


def seed(folder: Path) -> None:
    repo = folder / "repo.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repo)], check=True)
    files = {
        FILE: TEXT,
        "README.md": "# tinyserve\n",
        "päth/naïve.txt": "déjà vu\n",
        ".github/workflows/kl-rerun.yml": RERUN,
        ".github/workflows/ci.yml": CI,
    }
    first = commit(repo, "main", files, "First")
    commit(repo, "main", {**files, "README.md": "# tinyserve\n\nTiny.\n"}, "Say more", first)
    commit(repo, "feature", {**files, "engine.py": "fast = True\n"}, "Faster engine", first)


def keys(bits: int = 1024) -> tuple[str, str]:
    """Short ones: a client reads its key anew for each token, which takes 24 ms more with 2048 bits."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


def config(public_key: str, receiver: Receiver, **changes: object) -> DemoConfig:
    people = {"dev-a": "write", "maintainer-b": "admin", "stranger-c": "none"}
    return DemoConfig(
        repo="tinyserve",
        users={login: DemoUser(role=role, token=f"token-of-{login}") for login, role in people.items()},
        app=DemoApp(public_key=public_key),
        hook=DemoHook(url=receiver.url, secret=SECRET),
        **changes,
    )


class Hand:
    """An executor moved by the test's own hand."""

    def __init__(self) -> None:
        self.specs: list[JobSpec] = []
        self.cancelled: list[int] = []
        self.events: JobEvents | None = None

    def start(self, events: JobEvents) -> None:
        self.events = events

    def submit(self, spec: JobSpec) -> None:
        self.specs.append(spec)

    def cancel(self, job_id: int) -> None:
        self.cancelled.append(job_id)

    def close(self) -> None:
        pass


@dataclass
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        return self.headers["X-GitHub-Event"]

    @property
    def payload(self) -> dict:
        return json.loads(self.body)

    @property
    def name(self) -> str:
        action = self.payload.get("action")
        return f"{self.event}.{action}" if action else self.event


@dataclass
class Receiver:
    """A webhook receiver on a socket; `status` is what it answers."""

    status: int = 202
    received: list[Received] = field(default_factory=list)

    def __enter__(self) -> Receiver:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append(Received(dict(self.headers), body))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/webhook"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass
class Stage:
    """The server and everybody around it."""

    server: Server
    hand: Hand
    receiver: Receiver
    app: GithubIntegration
    bot: Github
    people: dict[str, Github]
    private_key: str
    options: dict

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def git_dir(self) -> Path:
        return self.server.world.git.dir

    def repo(self, who: str = "kl-triage"):
        github = self.bot if who == "kl-triage" else self.people[who]
        return github.get_repo("acme/tinyserve")

    def open_pull(self, who: str = "dev-a"):
        return self.repo(who).create_pull(base="main", head="feature", title="Faster", body="It is faster.")

    def hooks(self) -> list[str]:
        """Names of the webhooks that have arrived, in order."""
        assert self.server.world.hooks.settle(10)
        return [received.name for received in self.receiver.received]
