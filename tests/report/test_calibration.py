"""A calibration as text."""

from __future__ import annotations

from dataclasses import replace

from bot.report.calibration import calibration_text
from bot.verdict.calibrate import Calibration, Share

NONE = Share(0, 200, 0.0, 0.0183)
FOUND = Calibration(
    test="test/kl/test_cache.py::TestCache.test_match",
    threshold=0.003,
    readings=140,
    prompts=9,
    level=0.00168,
    repeat_sd=0.273,
    launch_sd=0.036,
    hosts=1,
    past_runs=0,
    worlds=200,
    exceedance=0.064,
    target_exceedance=0.005,
    false_alarms={"regression": NONE, "any": NONE},
    endings={"bump": Share(180, 200, 0.8498, 0.9378), "not_reproduced": Share(20, 200, 0.0622, 0.1502)},
    loud_bumps=Share(1, 180, 0.0001, 0.0306),
    false_bumps={"head × 1.25": Share(3, 200, 0.0031, 0.0432)},
    median_runs=44.0,
    mean_minutes=80.0,
    notes=("in 3 of 200 worlds equal code never went red: the file's red job stands in",),
)


def test_a_calibration_reads_top_to_bottom():
    lines = calibration_text(FOUND, width=100).splitlines()
    assert lines[0] == "test/kl/test_cache.py::TestCache.test_match"
    assert lines[1].startswith(
        "On 200 simulated runs like this test's, the judge called equal code worse in 0 "
    )
    assert "note: in 3 of 200 worlds equal code never went red: the file's red job stands in" in lines
    assert (
        "simulated: 9 prompts, log-sd 0.27 on one launch, 0.036 between launches, 1 host, 0 past runs; "
        in (" ".join(lines))
    )
    assert (
        lines[lines.index("equal code, called by mistake (200 worlds)") + 1] == "  regression  0/200  0–1.8 %"
    )
    assert lines[lines.index("equal code, how it ended") + 1 :][:3] == [
        "  bump                            180/200  85–94 %",
        "  of these over 0.5 % exceedance    1/180  0.01–3.1 %",
        "  not reproduced                   20/200  6.2–15 %",
    ]
    assert "  head × 1.25  3/200  0.3–4.3 %" in lines
    assert lines[-1] == "cost of equal code: median 44.0 runs, mean 80 min"
    assert all(len(line) <= 100 for line in lines)


def test_a_share_of_nothing_says_so():
    text = calibration_text(replace(FOUND, loud_bumps=Share(0, 0, 0.0, 1.0)))
    assert "  of these over 0.5 % exceedance      0/0  none to count" in text.splitlines()


def test_a_strangers_name_stays_one_line():
    text = calibration_text(replace(FOUND, test="a\x1b[2J\n::b"))
    assert text.splitlines()[0] == "a [2J ::b"
