"""Logs behind signed addresses: read without our token, and no error carries the address further."""

from __future__ import annotations

import socket
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from flask import redirect, request

from bot.github.blobs import BlobUnreadable, job_log

SECRET = "se=2026&sig=c2lnbmVk"


class Storage(BaseHTTPRequestHandler):
    """Refuses, or breaks off after a few bytes of what it announced."""

    def do_GET(self) -> None:
        breaks = self.path.startswith("/breaks")
        self.send_response(200 if breaks else int(self.path[1:4]))
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"<Error>" if breaks else bytes(1000))

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def storage():
    """The address of a blob store that does not give what it holds."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Storage)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def log_at(stage):
    """Every log is at this address from now on."""

    def at(url: str) -> None:
        stage.server.world.before.append(
            lambda: redirect(f"{url}?{SECRET}") if request.path.endswith("/logs") else None
        )

    return at


def nobody_there() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}/x"


def read(repo) -> bytes | None:
    with job_log(repo, 1) as stream:
        return None if stream is None else b"".join(stream)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/403", "status 403"),
        ("/500", "status 500"),
        ("/breaks", "ProtocolError"),
        (None, "ConnectionError"),
        ("ftp://127.0.0.1/x", "InvalidSchema"),
    ],
)
def test_an_error_of_the_storage_says_its_kind_and_never_the_address(repo, log_at, storage, path, why):
    log_at(nobody_there() if path is None else path if "://" in path else storage + path)
    with pytest.raises(BlobUnreadable) as failed:
        read(repo)
    assert str(failed.value) == f"the blob store could not be read ({why})"
    told = "".join(traceback.format_exception(failed.value))
    assert "sig=" not in told and "127.0.0.1" not in told


@pytest.mark.parametrize("status", [404, 410])
def test_what_the_storage_has_no_more_is_none(repo, log_at, storage, status):
    log_at(f"{storage}/{status}")
    assert read(repo) is None


def test_a_log_is_fetched_without_our_token_and_a_gone_one_is_none(stage, repo):
    stage.open_pull()
    (spec,) = stage.hand.specs
    with job_log(repo, spec.job_id) as nothing:
        assert nothing is None
    stage.hand.events.on_log(spec.job_id, b"\xef\xbb\xbfavg_kl_div=0.0034\n")
    with job_log(repo, spec.job_id) as log:
        assert b"".join(log) == b"\xef\xbb\xbfavg_kl_div=0.0034\n"
    with job_log(repo, 999_999) as nothing:
        assert nothing is None
