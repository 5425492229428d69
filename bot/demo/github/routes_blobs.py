"""The storage that signed links lead to: another host on GitHub, so a GitHub token is refused here."""

from __future__ import annotations

import time
from collections.abc import Iterator

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from bot.demo.github.state import Job, LogFault
from bot.demo.github.world import the_world

bp = Blueprint("blobs", __name__, url_prefix="/_blobs")
REFUSED = (
    '<?xml version="1.0" encoding="utf-8"?><Error><Code>InvalidAuthenticationInfo</Code>'
    "<Message>Authentication information is not given in the correct format.</Message></Error>"
)


@bp.get("/<link>")
def get_blob(link: str) -> ResponseReturnValue:
    """400 with an Authorization header, 404 for a forged link, 410 for an old one."""
    w = the_world()
    if "Authorization" in request.headers:
        return Response(REFUSED, status=400, mimetype="application/xml")
    kind, number = w.tokens.read_link(link)
    with w.lock:
        if kind == "log" and number in w.state.jobs:
            return _log(w.state.jobs[number])
        artifact = w.state.artifacts.get(number) if kind == "artifact" else None
    if artifact is None:
        return Response("", status=404)
    return Response(artifact.data, mimetype="application/zip")


@bp.get("/archives/<sha>.tar.gz")
def get_archive(sha: str) -> ResponseReturnValue:
    w = the_world()
    if "Authorization" in request.headers:
        return Response(REFUSED, status=400, mimetype="application/xml")
    commit = w.git.resolve(sha)
    if commit is None:
        return Response("", status=404)
    prefix = f"{w.config.owner}-{w.config.repo}-{commit[:7]}/"
    data = w.git.run("archive", "--format=tar.gz", f"--prefix={prefix}", commit)
    return Response(data, mimetype="application/x-gzip")


def _log(job: Job) -> Response:
    data, fault = bytes(job.log), job.log_fault
    if fault is None or fault.status is not None or not fault.strikes():
        return Response(data, mimetype="text/plain")
    return Response(_faulty(data, fault), mimetype="text/plain", headers={"Content-Length": str(len(data))})


def _faulty(data: bytes, fault: LogFault) -> Iterator[bytes]:
    """Fewer bytes than announced, or all of them with a pause after the first."""
    data = data[: fault.cut_after]
    yield data[:1]
    time.sleep(fault.pause_s)
    yield data[1:]
