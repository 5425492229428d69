"""What ends an investigation from outside its readings, and that it ends well."""

from __future__ import annotations

import threading

from bot.triage import services
from bot.triage.configured import CONFIG_PATH
from bot.triage.measure import halting, kill_switch
from bot.triage.measure.measuring import verdict_of
from bot.triage.services import Services
from bot.verdict import Refusal, VerdictKind
from tests.demo_github.github_stage import git
from tests.lab.asserts import assert_ended
from tests.lab.conftest import lab, lab_database, lab_repository, pem, soon  # noqa: F401
from tests.lab.project import files, seed
from tests.lab.runner import Answer
from tests.store.test_store import investigation
from tests.triage.test_measuring import opened, svc  # noqa: F401

STOP = kill_switch.LABEL
NEVER_TAKEN = Answer(takes=False)


def waiting(bench) -> int:
    """A pull request whose rerun is out and is never taken by a runner."""
    number = bench.open_pull()
    bench.red(number)
    bench.until(lambda: [r for i in bench.investigations() for r in bench.store.reruns(i.id) if r.run_id])
    return number


def verdict(bench) -> dict:
    (found,) = bench.investigations()
    return found.verdict


def assert_stopped(bench, reason: str) -> None:
    """One rerun, cancelled; the check says that there is no answer."""
    bench.wait()
    assert (verdict(bench)["kind"], verdict(bench)["reason"]) == ("refused", reason)
    runs = [run for run in bench.world.state.runs.values() if run.event == "workflow_dispatch"]
    assert [run.conclusion for run in runs] == ["cancelled"]
    assert [check.conclusion for check in bench.checks()] == ["neutral"]
    assert bench.bumps() == []
    assert_ended(bench)


def test_the_first_reason_stays_and_the_verdict_gives_it(svc):  # noqa: F811
    opened(svc)
    halting.halt(svc, "kl-1", Refusal("stopped", "Somebody said stop."))
    halting.halt(svc, "kl-1", Refusal("pull_closed", "It was closed."))
    found, _ = verdict_of(svc, svc.store.investigation("kl-1"))
    assert (found.kind, found.reason, found.sentence) == (
        VerdictKind.REFUSED,
        "stopped",
        "Somebody said stop.",
    )
    assert found.next is None and found.proposal is None
    assert [decision.code for decision in svc.store.decisions()] == ["stopped"]


def test_what_is_over_is_not_halted(svc):  # noqa: F811
    opened(svc)
    svc.store.finish("kl-1", {"kind": "noise"})
    halting.halt(svc, "kl-1", Refusal("stopped", "Somebody said stop."))
    assert halting.halted(svc.store.investigation("kl-1").facts) is None
    assert list(svc.store.decisions()) == []


def test_a_halt_is_not_lost_among_facts_that_are_written_at_the_same_time(svc: Services):  # noqa: F811
    svc.store.open_investigation(investigation(), [])
    writers = [
        threading.Thread(target=svc.store.remember, args=("kl-1",), kwargs={f"fact_{n}": n}) for n in range(8)
    ]
    writers.append(threading.Thread(target=halting.halt, args=(svc, "kl-1", Refusal("stopped", "Stop."))))
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    facts = svc.store.investigation("kl-1").facts
    assert {f"fact_{n}" for n in range(8)} | {"halt"} <= facts.keys()


def test_the_kill_switch_ends_a_rerun_and_nothing_is_said(lab):  # noqa: F811
    bench = lab(NEVER_TAKEN)
    bench.push("third", {"tinyserve/third.py": "third = 3\n"})
    number, second = waiting(bench), bench.open_pull("third")
    bench.red(second)
    bench.until(lambda: bench.sticky(second))
    said = bench.comments(number)
    issue = bench.people.ask("POST", "issues", "maintainer-b", title="Stop", labels=[STOP])
    assert_stopped(bench, "kill_switch")
    assert f"issue #{issue['number']} ({issue['html_url']})" in verdict(bench)["sentence"]
    assert bench.comments(number) == said

    # Who waits is told nothing and waits on: the sweep measures it once the switch is lifted.
    (found,) = bench.investigations()
    assert [hit.pull for hit in bench.store.waiting_for(found.id)] == [second]
    (told,) = bench.sticky(second)
    assert "for another pull request" in told

    other = bench.open_pull("other")
    bench.red(other)
    bench.wait()
    assert len(bench.requests()) == 1 and bench.comments(other) == []


def test_a_pull_request_that_is_closed_ends_its_rerun_at_once(lab):  # noqa: F811
    bench = lab(NEVER_TAKEN, poll_s=20.0)  # the event wakes it, no poll
    number = waiting(bench)
    bench.people.close(number)
    assert_stopped(bench, "pull_closed")


def test_a_fork_that_is_pushed_to_ends_the_rerun_of_what_was_looked_at(lab):  # noqa: F811
    bench = lab(NEVER_TAKEN)
    sha, later = bench.sha("feature"), bench.sha("other")
    fork = bench.people.control("fork-pull", user="stranger-c", branch="patch", sha=sha)["number"]
    bench.red(fork)
    bench.wait()
    assert bench.requests() == []
    bench.say(fork, f"/rerun-kl {sha}", "maintainer-b")
    bench.until(lambda: [r for i in bench.investigations() for r in bench.store.reruns(i.id) if r.run_id])
    hook, bench.world.hooks.hook = bench.world.hooks.hook, None
    bench.people.control("fork-push", number=fork, sha=later)
    (found,) = bench.investigations()
    assert halting.allowed(services.services(), found).code == "head_moved"  # though no event told of it
    bench.world.hooks.hook = hook
    bench.people.control("fork-push", number=fork, sha=bench.sha("main"))
    assert_stopped(bench, "head_moved")


def test_a_mode_that_changed_while_a_rerun_was_out_ends_with_what_was_measured(lab):  # noqa: F811
    bench = lab()
    observing = git(bench.git_dir, "show", f"main:{CONFIG_PATH}").replace("propose", "observe")
    bench.runner.on_rerun = lambda _spec: bench.push("main", {CONFIG_PATH: observing})
    number = bench.red_pull()
    assert (verdict(bench)["kind"], verdict(bench)["reason"]) == ("refused", "mode")
    assert verdict(bench)["numbers"]["runs"]["head"]["ok"] > 0
    assert len(bench.requests()) == 1 and bench.bumps() == []
    (sticky,) = bench.sticky(number)
    assert "of the default branch became" in sticky
    assert_ended(bench)


def test_a_rerun_over_the_days_budget_is_not_sent(lab, tmp_path):  # noqa: F811
    (tmp_path / "small").mkdir()
    tree = files(more="budget_minutes_per_day: 1\nlaunch_minutes: 5\n")
    bench = lab(repository=seed(tmp_path / "small", tree))
    number = bench.red_pull()
    assert (verdict(bench)["kind"], verdict(bench)["reason"]) == ("refused", "day_budget")
    assert bench.requests() == []
    (sticky,) = bench.sticky(number)
    assert "0 of 1 min" in sticky
    (rerun,) = bench.store.reruns(bench.investigations()[0].id)
    assert (rerun.state, rerun.plan["minutes"]) == ("finished", 0.0)
    assert_ended(bench)
