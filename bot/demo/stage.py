"""The stage: the stand-in and the bot, each a process of its own on 127.0.0.1, in one temporary folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.demo.project import NAME, OWNER, RUNNER, Project

APP_ID: Final = 4711
START_TIMEOUT_S: Final = 30.0
GITHUB_MODULE: Final = "bot.demo.github"


class StageError(Exception):
    """Something could not be started; the message is one sentence."""


@dataclass
class Stage:
    """Starts and ends the two processes. `github_module` lets the tests put a validator in between."""

    root: Path
    github_module: str = GITHUB_MODULE
    port: int = 0
    """Where the stand-in listens; 0: any free port."""
    project: Project = field(init=False)
    github_url: str = field(init=False)
    bot_url: str = field(init=False)
    tokens: dict[str, str] = field(init=False)
    _processes: dict[str, subprocess.Popen[bytes]] = field(init=False, default_factory=dict)

    def build(self) -> None:
        """Writes the repository, the keys and the stand-in's configuration."""
        self.project = Project.create(self.root)
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self._key_file.touch(mode=0o600)
        self._key_file.write_bytes(pem)
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        people = {"dev-a": "write", "maintainer-b": "admin", "stranger-c": "read"}
        self.tokens = {login: f"{login}-{os.urandom(12).hex()}" for login in people}
        self._secret = os.urandom(24).hex()
        self._port = free_port()
        self.bot_url = f"http://127.0.0.1:{self._port}"
        config = {
            "owner": OWNER,
            "repo": NAME,
            "users": {login: {"role": role, "token": self.tokens[login]} for login, role in people.items()},
            "app": {"id": APP_ID, "public_key": public.decode()},
            "hook": {"url": f"{self.bot_url}/webhook", "secret": self._secret},
            "runners": [{"name": "cpu-local-0", "labels": ["self-hosted", RUNNER]}],
        }
        self._config_file.write_text(json.dumps(config))

    def start_github(self) -> None:
        if self.port and not is_free(self.port):
            raise StageError(f"port {self.port} is taken; choose another with --port")
        command = [sys.executable, "-m", self.github_module, "--root", str(self.root)]
        command += ["--port", str(self.port), "--config", str(self._config_file)]
        process = self._spawn("github", command, os.environ.copy(), stdout=subprocess.PIPE)
        line = process.stdout.readline() if process.stdout else b""
        try:
            self.github_url = json.loads(line)["url"]
        except (ValueError, KeyError):
            raise StageError("the GitHub stand-in did not start") from None

    def start_bot(self) -> None:
        """Also after a crash: the same port, the same database."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("KL_TRIAGE_")}
        env |= {
            "KL_TRIAGE_DATABASE_URL": f"sqlite:///{self.database}",
            "KL_TRIAGE_WEBHOOK_SECRET": self._secret,
            "KL_TRIAGE_APP_ID": str(APP_ID),
            "KL_TRIAGE_APP_KEY": str(self._key_file),
            "KL_TRIAGE_GITHUB_API": self.github_url,
            "KL_TRIAGE_POLL_SECONDS": "2",
            "KL_TRIAGE_SECONDS_BETWEEN_WRITES": "0",
        }
        command = [sys.executable, "-m", "bot.cli", "serve", "--port", str(self._port), "--overview"]
        process = self._spawn("bot", command, env)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if requests.get(f"{self.bot_url}/healthz", timeout=2).ok:
                    return
            except requests.RequestException:
                time.sleep(0.1)
        raise StageError("the bot did not start")

    def kill_bot(self) -> None:
        """SIGKILL, as a crash: nothing is flushed or said goodbye to."""
        process = self._processes.pop("bot")
        process.kill()
        process.wait()

    def close(self) -> None:
        """Ends both processes and everything the stand-in's runner started."""
        for process in reversed(self._processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    @property
    def repository_url(self) -> str:
        return f"{self.github_url}/{OWNER}/{NAME}"

    @property
    def database(self) -> Path:
        return self.root / "kl-triage.sqlite"

    def log(self, name: str) -> Path:
        return self.root / f"{name}.log"

    @property
    def _key_file(self) -> Path:
        return self.root / "app.pem"

    @property
    def _config_file(self) -> Path:
        return self.root / "github.json"

    def _spawn(
        self, name: str, command: list[str], env: dict[str, str], stdout: int | None = None
    ) -> subprocess.Popen[bytes]:
        with self.log(name).open("ab") as out:
            sink: int | IO[bytes] = out if stdout is None else stdout
            # Sessions of their own: a Ctrl-C reaches this process alone, which then ends them in order.
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=out,
                start_new_session=True,
            )
        self._processes[name] = process
        return process


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
