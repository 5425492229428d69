"""A running engine without the bot's own stories: its workflows are small ones of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbos import DBOS

from bot.github import AppCredentials
from bot.triage.durable import QUEUE, note_failed, step
from bot.triage.engine import Engine
from bot.triage.settings import Settings

QUICK_S = 0.01


@DBOS.workflow(name="test_breaks")
def breaks(event: dict[str, Any]) -> None:
    raise ValueError(event["repo"])


@DBOS.workflow(name="test_gives_up")
def gives_up(event: dict[str, Any]) -> None:
    note_failed()


@DBOS.workflow(name="test_calls")
def calls(event: dict[str, Any]) -> int:
    """Runs the function of the test as one durable step."""
    return step(CALLED[event["function"]])


CALLED: dict[str, Any] = {}


@contextmanager
def running(folder: Path, key: str, api: str, monkeypatch: Any, **more: Any) -> Iterator[Engine]:
    """Durable sleeps and pauses between tries are short; `engine.slept` has what was asked for."""
    slept: list[float] = []
    sleep, run_step = DBOS.sleep, DBOS.run_step

    def short(seconds: float) -> None:
        slept.append(seconds)
        sleep(QUICK_S)

    monkeypatch.setattr(DBOS, "sleep", short)
    monkeypatch.setattr(
        DBOS, "run_step", lambda options, run: run_step({**options, "interval_seconds": QUICK_S}, run)
    )
    settings = {"poll_s": 0.1, "seconds_between_writes": 0.0, "sweep_s": 0.0} | more
    credentials = AppCredentials(1, key, api)
    engine = Engine(Settings(f"sqlite:///{folder}/kl.sqlite", "a secret", credentials, "test", **settings))
    refusal = engine.start()
    assert refusal is None, refusal
    engine.slept = slept  # type: ignore[attr-defined]
    try:
        yield engine
    finally:
        engine.stop()


def queue(name: str, key: str, event: dict[str, Any], **more: Any) -> Any:
    """The handle of a workflow of this name, queued under this id."""
    options: Any = {"workflow_name": name, "queue_name": QUEUE, "workflow_id": key, **more}
    return DBOS.enqueue_workflow_with_options(options, event)


def status(key: str) -> str | None:
    found = DBOS.get_workflow_status(key)
    return None if found is None else found.status
