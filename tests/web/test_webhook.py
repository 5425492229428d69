"""The webhook over a real socket: what is stored, and what is answered."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import requests
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session
from waitress import create_server, wasyncore

from bot.store import Delivery, Store, open_database
from bot.triage.intake import Intake, Outcome
from bot.verdict.answer import Refusal
from bot.web.app import MAX_BODY, create_app

SECRET = "webhook-secret"
SHA = "a" * 40


class CountingIntake(Intake):
    """The real intake, but for the durable engine behind it: queued work is counted here."""

    def __init__(self, database: Engine) -> None:
        super().__init__(database, None)  # type: ignore[arg-type]
        self.queued: list[str] = []

    def _enqueue(self, session: Session, workflow: str, key: str, event: dict[str, object]) -> None:
        self.queued.append(key)


@dataclass
class Server:
    url: str
    database: Engine
    intake: CountingIntake

    def deliveries(self) -> list[str]:
        with Session(self.database) as session:
            return list(session.scalars(select(Delivery.guid)))


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    database = open_database(f"sqlite:///{tmp_path}/kl.sqlite", busy_s=0.5)
    intake = CountingIntake(database)
    app = create_app(intake, Store(database), secret=SECRET)
    listener = socket.create_server(("127.0.0.1", 0))
    sockets: dict[int, object] = {}
    create_server(app, map=sockets, sockets=[listener], max_request_body_size=MAX_BODY + 1)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            wasyncore.loop(timeout=0.1, count=1, map=sockets)

    thread = threading.Thread(target=serve)
    thread.start()
    yield Server(f"http://127.0.0.1:{listener.getsockname()[1]}", database, intake)
    stop.set()
    thread.join()
    wasyncore.close_all(map=sockets)


def red_job(job_id: int = 7) -> dict[str, object]:
    return {
        "action": "completed",
        "workflow_job": {
            "id": job_id,
            "run_id": 3,
            "conclusion": "failure",
            "head_sha": SHA,
            "head_branch": "topic",
        },
        "repository": {"full_name": "acme/tinyserve"},
        "installation": {"id": 1},
    }


def deliver(
    server: Server,
    payload: object,
    *,
    event: str = "workflow_job",
    guid: str = "11111111-aaaa-bbbb-cccc-000000000001",
    signature: str | None = None,
    raw: bytes | None = None,
) -> requests.Response:
    body = json.dumps(payload, ensure_ascii=False).encode() if raw is None else raw
    right = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": guid, "Content-Type": "application/json"}
    if signature != "":
        headers["X-Hub-Signature-256"] = signature or right
    return requests.post(f"{server.url}/webhook", data=body, headers=headers, timeout=10)


def test_a_red_job_is_stored_and_queued_before_the_answer(server):
    assert deliver(server, red_job()).status_code == 202
    assert server.deliveries() == ["11111111-aaaa-bbbb-cccc-000000000001"]
    assert server.intake.queued == ["red-job:acme/tinyserve:7"]


@pytest.mark.parametrize("signature", ["", "sha256=" + "0" * 64, "sha1=abc", "sha256=é"])
def test_a_missing_or_wrong_signature_is_401_and_stores_nothing(server, signature):
    answer = deliver(server, red_job(), signature=signature.encode("latin-1") if signature else "")
    assert answer.status_code == 401
    assert server.deliveries() == [] and server.intake.queued == []


def test_the_signature_covers_the_bytes_as_they_came(server):
    payload = red_job() | {"note": "Grüße 🚦"}
    assert deliver(server, payload).status_code == 202


def test_a_body_over_25_mb_is_413(server):
    answer = deliver(server, None, raw=b"x" * (MAX_BODY + 1))
    assert answer.status_code == 413
    assert server.deliveries() == []


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[1]", b"[" * 100_000, b"payload=%7B%7D"])
def test_a_body_that_is_no_json_object_is_400(server, raw):
    assert deliver(server, None, raw=raw).status_code == 400
    assert server.deliveries() == []


def test_an_unknown_event_is_204(server):
    assert deliver(server, {"zen": "x"}, event="star").status_code == 204
    assert server.deliveries() == []


def test_ping_is_answered(server):
    assert deliver(server, {"zen": "x"}, event="ping").status_code == 200


def test_a_known_event_without_the_fields_needed_does_nothing(server):
    assert deliver(server, {"action": "completed"}).status_code == 202
    assert server.deliveries() == [] and server.intake.queued == []


def test_the_same_delivery_twice_is_queued_once(server):
    assert [deliver(server, red_job()).text.strip() for _ in range(2)] == [
        Outcome.ACCEPTED,
        Outcome.DUPLICATE,
    ]
    assert server.intake.queued == ["red-job:acme/tinyserve:7"]


def test_the_same_delivery_in_parallel_is_stored_once(server):
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(deliver(server, red_job()).text.strip()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [Outcome.ACCEPTED] + [Outcome.DUPLICATE] * 5
    assert len(server.deliveries()) == 1


def test_a_delivery_without_a_guid_is_400(server):
    assert deliver(server, red_job(), guid="").status_code == 400


def test_health_is_answered_and_the_overview_is_off_by_default(server):
    assert requests.get(f"{server.url}/healthz", timeout=5).text == "ok\n"
    assert requests.get(f"{server.url}/", timeout=5).status_code == 404


def test_a_locked_database_is_503_so_that_github_shows_the_delivery_as_failed(server, tmp_path):
    other = sqlite3.connect(f"{tmp_path}/kl.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert deliver(server, red_job()).status_code == 503
    other.execute("ROLLBACK")
    assert server.deliveries() == []
    assert deliver(server, red_job()).status_code == 202


def test_trouble_is_503_with_its_sentence(tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/kl.sqlite")
    trouble = Refusal("stuck", "Work has waited.")
    app = create_app(CountingIntake(database), Store(database), secret=SECRET, health=lambda: trouble)
    answer = app.test_client().get("/healthz")
    assert (answer.status_code, answer.text) == (503, "Work has waited.\n")


def test_without_a_secret_there_is_no_server(tmp_path):
    database = open_database(f"sqlite:///{tmp_path}/kl.sqlite")
    with pytest.raises(ValueError, match="secret"):
        create_app(CountingIntake(database), Store(database), secret="")
