"""The webhook under load: latency beside a bare Flask answer, and what is left after kill -9.

    python -m tests.bench.webhook [--rate 50] [--seconds 20]

`kl-triage serve` with SQLite is sent signed red jobs, each of which queues work, from a process of its own at
a fixed rate, over a connection each as GitHub does. Latency counts from when a delivery was due. The workers
do that work meanwhile, against a GitHub on this machine that knows one repository without a configuration.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import http.client
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.github.examples import KEPT

REPO = "acme/tinyserve"
SECRET = "bench"
ASKED_MEDIAN_MS = 15
ASKED_P99_MS = 100
CLIENT_THREADS = 32
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Answer:
    guid: str
    job: int
    status: int
    """0: no answer came."""
    ms: float


def main() -> int:
    options = _options()
    if options.role == "client":
        print(
            json.dumps(
                [vars(answer) for answer in send(options.port, options.first, options.count, options.rate)]
            )
        )
        return 0
    if options.role == "bare":
        return bare(options.port)
    if options.role == "github":
        return github(options.port)
    count = int(options.rate * options.seconds)
    with tempfile.TemporaryDirectory() as folder, process("github") as api:
        with process("bare") as port:
            plain = client(port, 0, min(count, 250), options.rate)
        database = Path(folder) / "bench.sqlite"
        with served(database, api) as (port, _):
            loaded = client(port, 0, count, options.rate)
        print(f"bare Flask   {_row(plain)}")
        print(f"the webhook  {_row(loaded)}")
        ours, theirs = _ms(loaded), _ms(plain)
        print(
            f"ratio of medians {median(ours) / median(theirs):.1f}; "
            f"asked: median {ASKED_MEDIAN_MS} ms, p99 {ASKED_P99_MS} ms"
        )
        lost = killed(database, api, count, options.rate)
    wrong = [answer for answer in loaded if answer.status != 202]
    reached = median(ours) <= ASKED_MEDIAN_MS and _p99(ours) <= ASKED_P99_MS
    return 0 if reached and not lost and not wrong else 1


def killed(database: Path, api: int, first: int, rate: float) -> int:
    """Deliveries that got 202, and of which the row or the workflow is gone after kill -9 under load."""
    count = int(rate * 8)
    answers: list[Answer] = []
    with served(database, api) as (port, server):
        load = threading.Thread(target=lambda: answers.extend(client(port, first, count, rate)))
        load.start()
        time.sleep(5)
        server.kill()
        load.join()
    with served(database, api) as (port, _):
        answers += client(port, first + count, int(rate), rate)
    with sqlite3.connect(database) as found:
        rows = dict(found.execute("SELECT guid, workflow FROM deliveries"))
        workflows = {row[0] for row in found.execute("SELECT workflow_uuid FROM workflow_status")}
    accepted = [answer for answer in answers if answer.status == 202]
    lost = sum(answer.guid not in rows or rows[answer.guid] not in workflows for answer in accepted)
    unanswered = sum(answer.status == 0 for answer in answers)
    print(f"kill -9 under load: {len(accepted)} accepted, {unanswered} unanswered, {lost} lost")
    return lost


def send(port: int, first: int, count: int, rate: float) -> list[Answer]:
    """`count` deliveries at a fixed rate, whatever the answers; the client's part, in its own process."""
    example = json.loads(KEPT.read_text())["workflow_job completed"]
    deliveries = [_delivery(example, number) for number in range(first, first + count)]
    start = time.perf_counter() + 0.5

    def one(number: int) -> Answer:
        guid, job, body, headers = deliveries[number]
        due = start + number / rate
        time.sleep(max(due - time.perf_counter(), 0.0))
        status = _post(port, body, headers)
        return Answer(guid, job, status, (time.perf_counter() - due) * 1000)

    with ThreadPoolExecutor(CLIENT_THREADS) as pool:
        return list(pool.map(one, range(count)))


def _delivery(example: dict[str, Any], number: int) -> tuple[str, int, bytes, dict[str, str]]:
    job = {**example["workflow_job"], "conclusion": "failure", "id": number + 1}
    payload = {**example, "workflow_job": job, "repository": {**example["repository"], "full_name": REPO}}
    body = json.dumps(payload).encode()
    guid = f"00000000-0000-0000-0000-{number:012d}"
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "workflow_job",
        "X-GitHub-Delivery": guid,
        "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest(),
    }
    return guid, number + 1, body, headers


def _post(port: int, body: bytes, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("POST", "/webhook", body, headers)
        answer = connection.getresponse()
        answer.read()
    except OSError:
        return 0
    except http.client.HTTPException:
        return 0
    else:
        return answer.status
    finally:
        connection.close()


def client(port: int, first: int, count: int, rate: float) -> list[Answer]:
    words = ["--role", "client", "--port", str(port), "--first", str(first), "--count", str(count)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.webhook", *words, "--rate", str(rate)],
        check=True,
        stdout=subprocess.PIPE,
    )
    return [Answer(**answer) for answer in json.loads(done.stdout)]


def bare(port: int) -> int:
    """The least that Flask and waitress take for an answer."""
    import waitress
    from flask import Flask, request

    app = Flask("bare")

    @app.post("/webhook")
    def webhook() -> tuple[str, int]:
        request.get_data()
        return "accepted\n", 202

    waitress.serve(app, host=HOST, port=port, threads=8)
    return 0


def github(port: int) -> int:
    """Knows one repository, and nothing in it."""
    known = {"full_name": REPO, "default_branch": "main", "html_url": f"http://{HOST}/{REPO}"}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = self.path == f"/repos/{REPO}"
            body = json.dumps(known if found else {"message": "Not Found"}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    ThreadingHTTPServer((HOST, port), Handler).serve_forever()
    return 0


@contextmanager
def process(role: str) -> Iterator[int]:
    """One of the servers above; its port."""
    port = _free_port()
    words = ["-m", "tests.bench.webhook", "--role", role, "--port", str(port)]
    with _running([sys.executable, *words], port, dict(os.environ)):
        yield port


@contextmanager
def served(database: Path, api: int) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """`kl-triage serve` on this database; its port and process."""
    port = _free_port()
    env = {name: value for name, value in os.environ.items() if not name.startswith("KL_TRIAGE_")} | {
        "KL_TRIAGE_DATABASE_URL": f"sqlite:///{database}",
        "KL_TRIAGE_WEBHOOK_SECRET": SECRET,
        "KL_TRIAGE_TOKEN": "token-of-the-bench",
        "KL_TRIAGE_GITHUB_API": f"http://{HOST}:{api}",
        "KL_TRIAGE_SWEEP_SECONDS": "0",
    }
    words = ["-m", "bot.cli", "serve", "--host", HOST, "--port", str(port)]
    with _running([sys.executable, *words], port, env) as server:
        yield port, server


@contextmanager
def _running(command: list[str], port: int, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until_listening(port)
        yield server
    finally:
        server.kill()
        server.wait()


def _until_listening(port: int) -> None:
    for _ in range(300):
        try:
            connection = http.client.HTTPConnection(HOST, port, timeout=5)
            connection.request("GET", "/healthz")
            connection.getresponse()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server does not listen")


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as found:
        return int(found.getsockname()[1])


def _ms(answers: list[Answer]) -> list[float]:
    return [answer.ms for answer in answers if answer.status == 202]


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


def _row(answers: list[Answer]) -> str:
    ms = _ms(answers)
    slow = f"median {median(ms):.1f} ms, p99 {_p99(ms):.1f} ms, most {max(ms):.0f} ms"
    return f"{len(ms)} of {len(answers)} answered 202: {slow}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=50.0, help="deliveries a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--role", choices=["bench", "client", "bare", "github"], default="bench", help=argparse.SUPPRESS
    )
    for name in ("port", "first", "count"):
        parser.add_argument(f"--{name}", type=int, default=0, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
