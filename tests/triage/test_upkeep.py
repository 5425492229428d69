"""Open bumps while the default branch moves, and what closing a pull request ends."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from bot.report import bump_notes
from bot.triage.configured import CONFIG_PATH
from bot.triage.upkeep import keep_up
from tests.demo_github.github_stage import git
from tests.lab.conftest import lab, lab_database, lab_repository, pem, soon  # noqa: F401
from tests.lab.project import TEST_FILE
from tests.lab.runner import Answer

REPO = "acme/tinyserve"


@pytest.fixture
def bumped(lab):  # noqa: F811
    """A lab in which the noise of one pull request has led to an open bump; and that bump.

    Each step runs twice, as after a crash between its effect and its record.
    """
    bench = lab(Answer(), trouble="twice")
    bench.red_pull()
    (bump,) = bench.bumps()
    return bench, bump


def text_at(bench, ref: str) -> str:
    return git(bench.git_dir, "show", f"{ref}:{TEST_FILE}")


def state(bench, bump) -> str | None:
    found = bench.store.outcomes(REPO).get(bump.number)
    return found and found.state


def upkeep(bench, bump) -> list[str]:
    return [body for body in bench.comments(bump.number) if body.startswith(bump_notes.UPKEEP_MARKER)]


def push(bench, files, message="A change"):
    bench.push("main", files, message)
    bench.wait()


def test_a_bump_follows_its_file_until_a_person_works_on_it(bumped):
    bench, bump = bumped
    first = bump.head_sha
    push(bench, {"README.md": "# Elsewhere\n"})
    assert bump.head_sha == first  # still right, so not a new run of every check

    push(bench, {TEST_FILE: "# A new first line.\n" + text_at(bench, "main") + "\n"})
    main = bench.sha("main")
    assert bump.head_sha != first and bench.sha(f"{bump.head_sha}^") == main
    changed = git(bench.git_dir, "diff", "--unified=0", main, bump.head_sha).splitlines()
    assert [line.strip() for line in changed if line.startswith("-  ")] == ["-    kl_threshold = 0.003"]
    assert bump.state == "open" and upkeep(bench, bump) == []
    assert bench.store.bump_of_pull(REPO, bump.number).commit == bump.head_sha

    theirs = bench.push(bump.head_ref, {"notes.md": "Mine.\n"}, "A person's commit")
    for line in ("# One.\n", "# Two.\n"):
        push(bench, {TEST_FILE: line + text_at(bench, "main") + "\n"})
    assert bump.head_sha == theirs and bump.state == "open"
    (said,) = upkeep(bench, bump)
    assert "its branch holds commits that are not the bot" in said

    bench.people.close(bump.number)
    bench.wait()
    assert state(bench, bump) == "closed"


def test_one_step_at_a_time_writes_the_bumps_of_a_repository(monkeypatch):
    both = threading.Barrier(2)

    def meet(_svc, _event, _number) -> bool:
        try:
            both.wait(0.05)
        except threading.BrokenBarrierError:
            both.reset()
            return False
        return True

    monkeypatch.setattr("bot.triage.upkeep._kept_up", meet)
    with ThreadPoolExecutor(2) as threads:
        met = threads.map(keep_up, [None] * 2, [{"repo": "acme/a"}, {"repo": "Acme/a"}], [1, 2])
    assert list(met) == [False, False]


def test_a_bump_whose_bound_moved_is_given_up_once_and_is_nobodys_decline(bumped):
    bench, bump = bumped
    moved = text_at(bench, "main").replace("kl_threshold = 0.003", "kl_threshold = 0.004")
    config = git(bench.git_dir, "show", f"main:{CONFIG_PATH}") + "\n"
    off = config.replace('mode: "propose"', 'mode: "off"')
    push(bench, {TEST_FILE: moved + "\n", CONFIG_PATH: off})
    assert off != config and bump.state == "open" and upkeep(bench, bump) == []
    assert "mode" in bench.codes()
    push(bench, {CONFIG_PATH: config})
    assert bump.state == "closed" and bump.merged_at is None
    assert state(bench, bump) == "given_up"
    (said,) = upkeep(bench, bump)
    assert "The bound on the default branch is no longer 0.003." in said
    push(bench, {"README.md": "# Again\n"})
    assert len(upkeep(bench, bump)) == 1
    bench.store.settle_bump(REPO, bump.number, "closed", bump.closed_at)  # as GitHub shows it
    assert state(bench, bump) == "given_up"


def test_the_expiry_of_a_merged_bump_runs_from_the_merge(bumped):
    bench, bump = bumped
    git(bench.git_dir, "update-ref", "refs/heads/main", bump.head_sha)
    bench.people.control("refresh", user="maintainer-b")
    bench.wait()
    assert bump.merged_at is not None and state(bench, bump) == "merged"
    row = bench.store.bump_of_pull(REPO, bump.number)
    assert row.expires_at == bump.merged_at + timedelta(days=90)
    assert upkeep(bench, bump) == []
