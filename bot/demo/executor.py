"""What the GitHub stand-in and the executor of its jobs say to each other.

The server (`bot.demo.github`) makes runs and jobs and sends webhooks; an executor (`bot.demo.actions`)
runs the steps. The executor calls back from its own threads, never from inside `submit` or `cancel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One queued job: all the executor needs, so that it never asks the server anything."""

    run_id: int
    run_number: int
    run_attempt: int
    job_id: int
    repository: str
    """owner/name"""
    git_dir: Path
    """The bare repository to fetch from."""
    sha: str
    """What `actions/checkout` takes without a `ref` input, 40 digits."""
    ref: str
    """refs/heads/main, refs/pull/7/merge: `github.ref`."""
    event_name: str
    """workflow_dispatch, pull_request or push."""
    event: Mapping[str, object]
    """The payload of that event: `github.event`."""
    workflow_path: str
    """.github/workflows/kl-rerun.yml"""
    workflow_text: str
    inputs: Mapping[str, str]
    """Inputs of a dispatch, checked and with their defaults; empty for other events."""
    run_name: str
    actor: str
    server_url: str = ""
    """http://127.0.0.1:PORT, for `github.server_url`."""


@dataclass(frozen=True, slots=True)
class Runner:
    """The machine that took a job."""

    id: int
    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobStep:
    """One step as the jobs API shows it; `conclusion` is None until `status` is 'completed'."""

    number: int
    """1-based"""
    name: str
    status: str
    """queued, in_progress or completed."""
    conclusion: str | None = None
    """success, failure, cancelled or skipped."""
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a job ended. `conclusion`: success, failure, cancelled, skipped or timed_out."""

    conclusion: str
    steps: tuple[JobStep, ...] = field(default=())


class ArtifactRefused(Exception):
    """The upload is not taken (name exists without overwrite, too large); the message goes to the log."""


class JobEvents(Protocol):
    """The server's side. Thread-safe; calls for one job come in order, `on_finished` last and once.

    They wait for the server's lock, under which it calls `submit` and `cancel`: the executor holds no lock
    of its own when it calls.
    """

    def on_started(self, job_id: int, runner: Runner) -> None: ...

    def on_steps(self, job_id: int, steps: Sequence[JobStep]) -> None:
        """The whole list anew, whenever a step starts or ends."""

    def on_log(self, job_id: int, data: bytes) -> None:
        """More of the log, appended as it is (time stamps and BOM are the executor's)."""

    def on_artifact(self, job_id: int, name: str, zip_bytes: bytes, *, overwrite: bool = False) -> int:
        """Stores an artifact of the job's run and returns its id. Raises ArtifactRefused."""

    def on_finished(self, job_id: int, result: JobResult) -> None:
        """Also for a job that was cancelled while it was still queued."""


class JobExecutor(Protocol):
    """The executor's side."""

    def start(self, events: JobEvents) -> None:
        """Called once, before the first `submit`."""

    def submit(self, spec: JobSpec) -> None:
        """Queues the job and returns at once."""

    def cancel(self, job_id: int) -> None:
        """Asks for an end and returns at once; `on_finished` follows. Unknown or ended ids are ignored."""

    def close(self) -> None:
        """Ends running jobs (cancelled) and every process they started; returns when they are gone."""
