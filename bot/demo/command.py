"""`kl-triage demo`: the whole loop on this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from bot.demo.ending import Ending, faults_of
from bot.demo.play import play
from bot.demo.scenario import SCENARIOS, Scenario
from bot.demo.show import Show
from bot.demo.stage import Stage, StageError
from bot.verdict.answer import Refusal


def missing_tool() -> Refusal | None:
    """What the demo needs and this machine lacks, in one sentence."""
    if shutil.which("git") is None:
        return Refusal("no_git", "git is not installed; the demo works on a real git repository.")
    if importlib.util.find_spec("torch") is None:
        return Refusal(
            "no_torch",
            "torch is not installed; the demo runs a KL test with it: pip install 'kl-triage[torch]'.",
        )
    return None


def run_demo(scenario_name: str, *, keep: bool, as_json: bool, port: int = 0) -> int:
    """Plays one scenario. 0: it ended right; 1: it could not be played, or ended wrong."""
    refusal = missing_tool()
    if refusal is not None:
        print(refusal.sentence, file=sys.stderr)
        return 1
    # Both processes of the stage must end with this one, also on SIGTERM.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    show = Show(Console(stderr=as_json, quiet=as_json))
    stage = Stage(Path(tempfile.mkdtemp(prefix="kl-triage-demo-")), port=port)
    ok = interrupted = False
    try:
        ok = _perform(stage, SCENARIOS[scenario_name], show, as_json=as_json)
        if keep:
            _wait(stage)
    except (StageError, OSError, RuntimeError) as error:  # requests' errors are OSErrors
        show.close()
        print(f"The demo could not go on: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        show.close()
        interrupted = True
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave processes behind
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stage.close()
        keep_logs = not (ok or interrupted) and stage.log("github").exists()
        if not keep_logs:
            shutil.rmtree(stage.root, ignore_errors=True)
    if interrupted:
        return 130
    if keep_logs:
        print(f"The logs of both processes are in {stage.root}.", file=sys.stderr)
    return 0 if ok else 1


def _perform(stage: Stage, scenario: Scenario, show: Show, *, as_json: bool) -> bool:
    start = time.monotonic()
    stage.build()
    stage.start_github()
    show.step("GitHub on this machine", f"{stage.repository_url} (a stand-in over a real git repository)")
    stage.start_bot()
    show.step("kl-triage is serving", f"{stage.bot_url} (webhook, workers, SQLite)")
    ending = play(stage, scenario, show)
    wrong = faults_of(scenario, ending)
    if as_json:
        print(json.dumps(_document(scenario, ending, wrong, time.monotonic() - start)))
    else:
        show.ending(ending, wrong, scenario.name)
    return not wrong


def _wait(stage: Stage) -> None:
    """`--keep`: everything stays up to be looked at. Addresses go to stderr, so --json stays clean."""
    print(
        f"\nStill running: {stage.repository_url}/ and {stage.bot_url}/; Ctrl-C ends both.",
        file=sys.stderr,
    )
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()


def _document(scenario: Scenario, ending: Ending, wrong: list[str], seconds: float) -> dict[str, Any]:
    bump = ending.bumps[0] if ending.bumps else None
    return {
        "scenario": scenario.name,
        "ok": not wrong,
        "wrong": wrong,
        "seconds": round(seconds, 1),
        "verdict": ending.verdict,
        "comment": ending.comments[0]["body"] if ending.comments else None,
        "comment_url": ending.comments[0]["html_url"] if ending.comments else None,
        "check": ending.checks[0]["conclusion"] if ending.checks else None,
        "pull_request": None
        if bump is None
        else {
            "number": bump["number"],
            "url": bump["html_url"],
            "title": bump["title"],
            "body": bump["body"],
            "draft": bump["draft"],
            "diff": ending.diff,
        },
        "evidence": list(ending.evidence),
    }
