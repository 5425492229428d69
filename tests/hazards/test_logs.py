"""Hazards 20 to 22: logs that are gone, late, decorated or endless."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from bot.demo.github.state import LogFault
from tests.lab.asserts import assert_ended, assert_once
from tests.lab.project import RED_LOG
from tests.lab.runner import Answer

NOTHING = Answer(uploads=False)
RED_LINE = "avg_kl_div=0.003040872921673302 > threshold=0.003"


def over(bench) -> None:
    assert_once(bench)
    assert_ended(bench)


def red_with(bench, fault: LogFault) -> int:
    """A red job whose log has this fault from the start."""
    number = bench.open_pull()
    bench.red(number, log_fault=asdict(fault))
    bench.wait()
    return number


@pytest.mark.parametrize("status", [404, 410])
def test_hazard_20_a_log_that_is_gone_is_no_pass_and_no_fail(lab, status):
    bench = lab(trouble="twice")
    number = red_with(bench, LogFault(status=status))
    assert bench.codes() == ["log_gone"]
    assert bench.comments(number) == [] and bench.checks() == []


def test_hazard_20_a_log_that_comes_late_is_read(lab):
    bench = lab(NOTHING, trouble="twice")
    red_with(bench, LogFault(status=404, times=1))
    assert bench.kinds() == ["infra"]
    over(bench)


@pytest.mark.parametrize("log", ["\n", RED_LOG[:1_000]])
def test_hazard_20_a_log_without_a_value_is_no_pass_and_no_fail(lab, log):
    bench = lab(trouble="twice")
    number = bench.red_pull(log=log)
    assert bench.codes() == ["no_kl_failure"]
    assert bench.comments(number) == [] and bench.requests() == []


def test_hazard_20_a_rerun_whose_log_was_cut_is_missing_data(lab):
    bench = lab(Answer(uploads=False, log="[CI Test Method] TestHybridCacheKL.test_logprobs_match\navg_kl"))
    bench.red_pull()
    assert bench.kinds() == ["infra"]
    over(bench)


def test_hazard_21_marks_colours_and_time_stamps_hide_no_value(lab):
    """The recorded log begins with a BOM, its lines with times; here the red lines are coloured besides."""
    assert RED_LOG.startswith("\ufeff")
    coloured = RED_LOG.replace(f"AssertionError: {RED_LINE}", f"\x1b[31m\x1b[1mAssertionError: {RED_LINE}")
    link = "\x1b[0m\x1b]8;;https://example.invalid\x07for tiny-hybrid-fp8"
    coloured = coloured.replace("for tiny-hybrid-fp8", link)
    bench = lab(NOTHING, trouble="twice")
    bench.red_pull(log=coloured.replace("\n", "\r\n"))
    assert bench.kinds() == ["infra"]
    over(bench)


def test_hazard_22_a_value_in_the_middle_of_a_huge_log_is_found(lab):
    noise = f"2026-12-01T10:33:52.0000000Z loading shard 17 of 64 {'.' * 40}\n" * 20_000
    bench = lab(NOTHING)
    bench.red_pull(log=RED_LOG[:1] + noise + RED_LOG[1:] + noise)
    assert bench.kinds() == ["infra"]
    over(bench)
