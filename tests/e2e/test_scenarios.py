"""The four stories over HTTP: real repository, real reruns, real noise, and the right ending."""

from __future__ import annotations

import re

import pytest

from bot.demo.ending import Ending, faults_of
from bot.demo.play import Measured, Step, play
from bot.demo.scenario import SCENARIOS
from bot.demo.stage import Stage
from bot.demo.watch import Watcher


def played(stage: Stage, name: str, report=lambda _event: None) -> Ending:
    ending = play(stage, SCENARIOS[name], report)
    assert faults_of(SCENARIOS[name], ending) == []
    return ending


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", ["regression", "intermittent", "deterministic"])
def test_a_fault_ends_without_a_bump(stage, name):
    ending = played(stage, name)
    assert ending.bumps == []


@pytest.mark.timeout(240)
def test_noise_ends_in_a_draft_of_one_number_however_often_the_bot_is_killed(stage):
    """Before the first reading, in the middle of the reruns, and when the last reading is in."""
    killed: list[int] = []

    def kill(event: Step | Measured) -> None:
        if not isinstance(event, Measured):
            return
        due = (event.done == 0, event.done >= 4, event.done >= event.planned)
        if len(killed) < len(due) and due[len(killed)]:
            killed.append(event.done)
            stage.kill_bot()
            stage.start_bot()

    ending = played(stage, "noise", kill)
    assert len(killed) == 3, "the bot was not killed at every moment"
    assert (len(ending.comments), len(ending.checks), len(ending.bumps)) == (1, 1, 1)
    titles = [run["display_title"] for run in Watcher(stage.github_url, stage.tokens["dev-a"]).reruns()]
    assert titles
    assert len(titles) == len(set(titles))
    removed = re.findall(r"^-(?!--)(.*)$", ending.diff, re.MULTILINE)
    added = re.findall(r"^\+(?!\+\+)(.*)$", ending.diff, re.MULTILINE)
    assert removed == ["    kl_threshold = 0.003"]
    assert len(added) == 2
    assert re.fullmatch(r"    # .{10,100}", added[0])
    assert re.fullmatch(r"    kl_threshold = 0\.00[45]", added[1])
