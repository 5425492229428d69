"""The measuring command and its table."""

import json

import numpy as np
import pytest

from bot.verdict.reading import Reading
from runners.reference.distribution import RECORDED, Distribution, Recorded, deviations, faults_seen
from runners.reference.measure import HERE, main

DISTRIBUTION_MD = HERE / "DISTRIBUTION.md"


def distribution(values, prompts=None) -> Distribution:
    values = np.array(values, dtype=float)
    return Distribution(values, np.array(prompts) if prompts else values[:, None], seconds=0.1)


def test_exceedance_comes_with_its_exact_interval():
    runs = distribution([0.004] * 6 + [0.002] * 94)
    assert runs.exceeded(0.003) == 6
    assert "| over 0.003 | 6/100 = 6.0% (2.2% to 12.6%); log-normal " in runs.table()


def test_the_bound_itself_is_not_over_it():
    assert distribution([0.003, 0.0031]).exceeded(0.003) == 1


def test_log_normal_share_at_its_own_median_is_one_half():
    assert distribution([0.002, 0.0045]).log_normal_exceedance(0.003) == pytest.approx(0.5)


def test_identical_values_are_counted():
    assert distribution([0.001, 0.002, 0.002, 0.003]).identical() == 0.5


def test_the_outlier_row_shows_only_where_there_is_one():
    quiet = distribution([0.002, 0.002], [[0.001, 0.003], [0.003, 0.001]])
    loud = distribution([0.002, 0.05], [[0.002, 0.002], [0.002, 0.098]])
    assert "| runs with a prompt over × 15 | 0/2 = 0.0% |" in quiet.table()
    assert "| runs with a prompt over × 15 | 1/2 = 50.0% |" in loud.table()
    assert "lowest value of such a run | 0.05" in loud.table()
    assert "lowest value of such a run" not in quiet.table()


def test_the_command_prints_a_table_and_writes_readings(tmp_path, capsys):
    out = tmp_path / "readings.jsonl"
    command = ["--runs", "3", "--launches", "2", "--method", "test_decode_cache_hit", "--out", str(out)]
    assert main(command) == 0
    assert "| runs | 3 |" in capsys.readouterr().out
    readings = [Reading.from_record(json.loads(line)) for line in out.read_text().splitlines()]
    assert [(r.launch, r.repeat) for r in readings] == [("launch-1", 1), ("launch-1", 2), ("launch-2", 1)]
    for reading in readings:
        assert reading.value == pytest.approx(np.mean(reading.per_prompt))
        assert (reading.threshold, reading.label) == (0.003, "decode_cache_hit")


def test_a_method_that_is_not_there_is_one_line(capsys):
    assert main(["--runs", "1", "--method", "test_nothing"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "TestHybridCacheKL has no method test_nothing" in said.err


def test_a_prompt_out_of_all_proportion_is_a_fault_and_a_higher_level_is_a_deviation():
    loud = distribution([0.002, 0.05, 0.002], [[0.002, 0.002], [0.002, 0.098], [0.002, 0.002]])
    assert faults_seen(loud) == ["a prompt lies × 49 over the median prompt"]
    assert faults_seen(distribution([0.002, np.inf])) == ["a run gave nan or inf"]
    recorded = Recorded(median=0.002, log_sd=0.1, bound=0.003)
    twice = distribution([0.0041, 0.0039, 0.0036, 0.0044])
    assert deviations(twice, recorded) == ["the level is × 1.99 of the recorded 0.002 nats"]
    assert deviations(distribution([0.0021, 0.0019, 0.0018, 0.0022]), recorded) == []


def test_the_record_is_that_of_the_document():
    table = DISTRIBUTION_MD.read_text()
    row = f"| test_logprobs_match | 1000 | {RECORDED.median} | {RECORDED.log_sd} |"
    assert row in table
