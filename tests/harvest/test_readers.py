"""A job is settled for the pack and the reader that read it: others read it again."""

from __future__ import annotations

from bot.demo.github.state import LogFault
from bot.triage.harvest import steps as steps
from tests.harvest.past import PATH, ago, block, green, log
from tests.harvest.test_which_runs import values
from tests.rules.builders import named


def test_a_harvest_with_the_wrong_pack_settles_nothing_for_the_right_one(past, harvest, store):
    past.run(green(0.001), at=ago(days=2))
    past.run(green(0.002), at=ago(days=1))
    assert harvest(pack=named("maxtext")).readings == 0
    tally = harvest()
    assert (tally.known, tally.readings) == (0, 2)
    assert values(store) == [0.001, 0.002]


def test_a_job_that_an_older_pack_passed_over_is_read(past, harvest, pack):
    past.run(green())
    assert harvest(pack=pack.model_copy(update={"jobs": ("gpu *",)})).jobs == 0
    assert harvest().readings == 1


def test_what_an_older_pack_read_is_replaced_once_by_all_that_there_is(past, harvest, pack, store):
    second = ["End (0/1):", "Begin (1/1):", "python3 /r/_work/x/x/test/registered/kl/test_b.py"]
    past.run(log(*block(0.002), *second, *block(0.001)))
    assert harvest(pack=pack.model_copy(update={"tests": (PATH,)})).readings == 1
    assert harvest().readings == 2
    assert (values(store), store.harvested("acme/tinyserve").readings) == ([0.002], 2)
    past.asked.clear()
    assert (harvest().known, past.logs_asked()) == (1, [])


def test_readings_outlive_their_log_and_a_pack_that_finds_none(past, harvest, pack, store):
    job = past.job(past.run(), green(0.001))
    harvest()
    harvest(pack=named("maxtext"))
    assert values(store) == [0.001]
    job.log_fault = LogFault(status=410)
    wider = pack.model_copy(update={"tests": (*pack.tests, "more/test_*.py")})
    harvest(pack=wider)
    assert values(store) == [0.001]
    past.asked.clear()
    assert (harvest(pack=wider).known, past.logs_asked()) == (1, [])


def test_what_does_not_decide_about_readings_asks_for_nothing_again(past, harvest, pack):
    past.run(green(), log("nothing"))
    harvest()
    past.asked.clear()
    cheaper = pack.model_copy(update={"launch_minutes": 1.0, "runners": ("another",), "exact_gate": 0.0})
    assert (harvest(pack=cheaper).known, past.logs_asked()) == (1, [])


def test_another_version_of_the_reader_reads_again(past, harvest, monkeypatch):
    past.run(green(), log("nothing"))
    assert harvest().jobs == 2
    monkeypatch.setattr(steps, "READER", steps.READER + 1)
    assert harvest().jobs == 2
