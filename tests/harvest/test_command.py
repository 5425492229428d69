"""`kl-triage harvest`: resumes after a kill, says what is wrong, and never shows the token."""

from __future__ import annotations

import json
import signal
import time

import pytest

from bot.demo.github.state import LogFault
from bot.demo.github.world import Quota
from bot.store import Store, open_database
from tests.harvest.conftest import Command
from tests.harvest.past import TEST, ago, green, log


def until(look, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)


def test_the_past_is_filled_and_summed_up(past, command):
    past.run(green(0.001), green(0.002))
    past.job(past.run(log("nothing")), green(), fault=LogFault(status=410))
    document = command.document()
    assert document["runs"] == {"found": 2, "known": 0, "unlisted": 0}
    assert document["jobs"] == {"read": 3, "expired": 1, "unreadable": 0, "incomplete": 0}
    assert (document["readings"], document["stored"]["tests"], document["stopped"]) == (2, 1, None)
    process = command.start()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "token-of" not in out + err
    assert "2 runs, 2 of them known" in out
    assert "Stored in all: 2 readings of 1 tests from 3 jobs." in out


def test_killed_in_the_middle_again_and_again_every_log_is_read_once(past, command):
    """SIGKILL while a log is on its way: that job alone is asked for again."""
    jobs = [past.job(past.run(at=ago(days=1, minutes=-n)), green()) for n in range(9)]
    newest_first = jobs[::-1]
    for slow in (newest_first[2], newest_first[6]):
        slow.log_fault = LogFault(pause_s=3.0)
        process = command.start()
        until(lambda job=slow: job.id in past.logs_asked())
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        slow.log_fault = None
    document = command.document()
    asked = past.logs_asked()
    twice = {newest_first[2].id, newest_first[6].id}
    assert sorted(asked) == sorted([job.id for job in jobs] + list(twice))
    assert document["stored"]["readings"] == 9
    past.asked.clear()
    assert command.document()["jobs"]["read"] == 0
    assert past.logs_asked() == [] and not any("/jobs" in path for path in past.asked)


def test_ctrl_c_says_that_what_was_read_is_kept(past, command):
    jobs = [past.job(past.run(at=ago(days=1, minutes=n)), green()) for n in range(3)]
    jobs[1].log_fault = LogFault(pause_s=3.0)
    process = command.start()
    until(lambda: jobs[1].id in past.logs_asked())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.strip() == "Stopped. What was read is kept; the same command goes on from there."
    jobs[1].log_fault = None
    assert command.document()["jobs"]["read"] == 2


def test_two_processes_at_once_do_no_harm(past, command):
    for number in range(12):
        past.run(green(), at=ago(days=1, minutes=number))
    both = [command.start("--json"), command.start("--json")]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert json.loads(out)["runs"]["found"] == 12
    store = Store(open_database(command.database))
    found = store.history("acme/tinyserve", TEST, "kl-cpu", ago(seconds=-5), since=ago(days=60))
    assert len(found) == 12


def test_a_spent_rate_limit_is_told_and_waited_for(past, command):
    for number in range(3):
        past.run(green(), at=ago(days=1, minutes=number))
    past.world.quota = Quota(limit=7, remaining=7, reset=int(time.time()) + 3, period_s=1.0)
    code, out, err = command.run()
    assert code == 0, err
    assert "The rate limit is spent; waiting until" in err
    assert "3 readings of 1 tests from 3 jobs" in out


def test_a_wait_that_is_too_long_ends_with_what_there_is(past, command):
    past.run(green())
    past.world.quota = Quota(limit=4, remaining=4, reset=int(time.time()) + 900)
    code, out, err = command.run("--max-wait", "1")
    assert (code, err) == (2, "")
    assert "longer than --max-wait" in out


def test_a_past_without_any_log_is_no_answer(past, command):
    past.job(past.run(), green(), fault=LogFault(status=410))
    assert command.run()[0] == 2


def test_a_missing_token_and_a_wrong_one_are_one_sentence_each(command):
    code, out, err = command.run(login="")
    assert (code, out) == (1, "")
    assert err.startswith("kl-triage: KL_TRIAGE_TOKEN is not set") and len(err.splitlines()) == 1
    code, out, err = command.run(login="nobody-at-all")
    assert (code, out) == (1, "")
    assert err == "kl-triage: GitHub does not accept the token in KL_TRIAGE_TOKEN.\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--rules", "no-such-pack"], "'no-such-pack' is no rule pack"),
        (["--api", "ftp://x"], "--api must be an address"),
        (["--database", "postgresql://x/y"], "Only an SQLite file works"),
        (["--database", "sqlite:////no/such/folder/kl.sqlite"], "in a folder that exists"),
        (["--days", "0"], "--days"),
    ],
)
def test_a_usage_error_is_one_sentence(command, options, sentence):
    code, out, err = command.run(*options)
    assert (code, out) == (1, "")
    assert sentence in err and "Traceback" not in err


def test_without_rules_of_its_own_a_repository_needs_a_named_pack(past, stage, tmp_path):
    past.run(green())
    bare = Command(stage, tmp_path)
    code, _, err = bare.run()
    assert code == 1 and "name a rule pack with --rules" in err
    assert bare.document("--rules", "reference")["readings"] == 1
