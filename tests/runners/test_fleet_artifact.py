"""What an artifact may hold: only readings the plan asked for, however the zip was made."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.verdict.answer import Refusal
from runners.fleets import read_artifact, read_folder
from runners.fleets.fleet import with_lost
from runners.plan import PlannedLaunch, RerunPlan

HEAD, BASE = "a" * 40, "b" * 40
PLAN = RerunPlan(
    request="req-1",
    test="t.py::T.test_x",
    commits={"head": HEAD, "base": BASE},
    launches=(PlannedLaunch("head", 2), PlannedLaunch("base", 2)),
)


def record(**changes: object) -> dict[str, object]:
    fields = {
        "arm": "head",
        "test": "t.py::T.test_x",
        "status": "ok",
        "value": 0.002,
        "commit": HEAD,
        "launch": "req-1-1",
        "repeat": 1,
    }
    return {**fields, **changes}


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in records)


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def sentence(files: dict[str, bytes]) -> str:
    answer = read_artifact(packed(files), PLAN)
    assert isinstance(answer, Refusal), answer
    return answer.sentence


def test_the_readings_of_both_arms_and_nothing_else_is_read():
    base = record(arm="base", commit=BASE, launch="req-1-2", value="nan")
    files = {
        "readings-head.jsonl": lines(record(), record(repeat=2, status="error", value=None, error="died")),
        "readings-base.jsonl": lines(base),
        "readings-other.jsonl": b"nonsense",
        "logs/launch-1-head.log": b"nonsense",
        "summary.json": b"nonsense",
    }
    readings = read_artifact(packed(files), PLAN)
    assert not isinstance(readings, Refusal)
    assert [(r.arm, r.repeat, r.status, str(r.value)) for r in readings] == [
        ("head", 1, "ok", "0.002"),
        ("head", 2, "error", "None"),
        ("base", 1, "ok", "nan"),
    ]


def test_secrets_in_what_a_machine_tells_do_not_come_in():
    told = record(status="error", value=None, error="pip: https://bot:hunter2@pypi.corp/simple", host="gpu-0")
    (reading,) = read_folder({"head": lines(told)}, PLAN)  # type: ignore[misc]
    assert (reading.error, reading.host) == ("pip: https://[redacted]@pypi.corp/simple", "gpu-0")


def test_a_line_that_was_cut_off_is_not_a_reading():
    readings = read_folder({"head": lines(record()) + b'{"arm": "he'}, PLAN)
    assert not isinstance(readings, Refusal) and len(readings) == 1


def test_two_checks_of_one_repeat_are_two_readings():
    files = {"head": lines(record(label="prefill"), record(label="decode"))}
    assert len(read_folder(files, PLAN)) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"arm": "base"}, "the arm is base, not head"),
        ({"arm": "trigger"}, "the arm is trigger, not head"),
        ({"test": "t.py::T.test_y"}, "the test is not the planned one"),
        ({"commit": BASE}, "the commit is not the planned one of head"),
        ({"commit": None}, "the commit is not the planned one of head"),
        ({"launch": "req-1-2"}, "no such launch and repeat was planned"),
        ({"launch": None}, "no such launch and repeat was planned"),
        ({"repeat": 3}, "no such launch and repeat was planned"),
        ({"repeat": 0}, "no such launch and repeat was planned"),
        ({"repeat": None}, "no such launch and repeat was planned"),
        ({"value": None}, "field 'value' is required"),
        ({"value": "-1; drop"}, "field 'value' must be a number"),
        ({"sudo<b>": 1}, "field 'sudob' is not a field of a reading"),
        ({"error": "x" * 501}, "a text is longer than 500 characters"),
        ({"per_prompt": [0.1] * 4097}, "more than 4096 prompts"),
        ({"duration_s": -1e5}, "field 'duration_s' must be 0 to 86400 seconds"),
        ({"duration_s": 1e9}, "field 'duration_s' must be 0 to 86400 seconds"),
        ({"duration_s": "inf"}, "field 'duration_s' must be a number"),
    ],
)
def test_a_reading_that_was_not_planned_refuses_the_whole(change, problem):
    said = sentence({"readings-head.jsonl": lines(record(repeat=2), record(**change))})
    assert said.startswith(f"The artifact of the rerun was not used: readings-head.jsonl line 2: {problem}")


def test_more_readings_than_planned_are_refused():
    assert "more readings of one repeat" in sentence(
        {"readings-head.jsonl": lines(record(), record(value=0.1))}
    )
    many = [record(label=str(number)) for number in range(65)]
    assert "more readings of one repeat" in sentence({"readings-head.jsonl": lines(*many)})


@pytest.mark.parametrize("line", [b"nonsense", b"[1]", b"[" * 100_000, b"\xff\xfe", b'"head"', b"9" * 5000])
def test_a_line_that_is_not_a_record_is_refused(line):
    assert "line 1" in sentence({"readings-head.jsonl": line + b"\n"})


def test_a_line_longer_than_a_reading_can_be_is_refused():
    answer = read_folder({"head": b"x" * ((1 << 20) + 1) + b"\n"}, PLAN)
    assert isinstance(answer, Refusal) and "longer than 1 MiB" in answer.sentence


@pytest.mark.parametrize(
    "name", ["../readings-head.jsonl", "/etc/passwd", "a/../../b", "..\\b", "C:/b", "\\b"]
)
def test_names_that_lead_out_refuse_the_whole(name):
    assert "leads out of its folder" in sentence({"readings-head.jsonl": lines(record()), name: b"x"})


def test_a_bomb_is_refused_before_it_is_unpacked():
    assert "packed more than 200 times" in sentence({"readings-head.jsonl": b"\n" * (32 << 20)})


def test_a_log_that_packs_well_is_no_bomb():
    files = {"readings-head.jsonl": lines(record()), "logs/launch-1-head.log": b"x" * (8 << 20)}
    assert len(read_artifact(packed(files), PLAN)) == 1  # type: ignore[arg-type]


def test_a_bomb_that_lies_about_its_size_is_refused():
    honest = packed({"readings-head.jsonl": b"\n" * (80 << 20)})
    size = (80 << 20).to_bytes(4, "little")
    lying = honest.replace(size, (1000).to_bytes(4, "little"))
    assert lying != honest
    answer = read_artifact(lying, PLAN)
    assert isinstance(answer, Refusal)


def test_too_many_files_a_file_twice_and_a_link_are_refused():
    assert "more than 500 files" in sentence({f"f{number}": b"" for number in range(501)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("readings-head.jsonl", lines(record()))
        archive.writestr("readings-head.jsonl", lines(record(value=0.1)))
    twice = read_artifact(buffer.getvalue(), PLAN)
    assert isinstance(twice, Refusal) and "twice" in twice.sentence
    link = zipfile.ZipInfo("readings-head.jsonl")
    link.external_attr = 0o120777 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    linked = read_artifact(buffer.getvalue(), PLAN)
    assert isinstance(linked, Refusal) and "link" in linked.sentence


@given(st.binary(max_size=300), st.integers(0, 400))
@example(b"\x00\x01", 232)  # a central directory before the start of the file
def test_broken_bytes_are_refused_or_read_never_raised(noise: bytes, at: int):
    read_artifact(noise, PLAN)
    whole = packed({"readings-head.jsonl": lines(record())})
    read_artifact(whole[:at] + noise + whole[at + len(noise) :], PLAN)


def test_repeats_without_a_record_are_lost():
    readings = read_folder({"head": lines(record())}, PLAN)
    assert not isinstance(readings, Refusal)
    every = with_lost(PLAN, readings, "no record")
    assert [(r.arm, r.launch, r.repeat, r.status) for r in every] == [
        ("head", "req-1-1", 1, "ok"),
        ("head", "req-1-1", 2, "lost"),
        ("base", "req-1-2", 1, "lost"),
        ("base", "req-1-2", 2, "lost"),
    ]


def test_a_launch_that_was_measured_again_is_taken_beside_its_first_try():
    again = record(launch="req-1-1-2", value=0.003)
    answer = read_artifact(packed({"readings-head.jsonl": lines(record(), again)}), PLAN)
    assert not isinstance(answer, Refusal)
    assert [(reading.launch, reading.value) for reading in answer] == [
        ("req-1-1", 0.002),
        ("req-1-1-2", 0.003),
    ]


@pytest.mark.parametrize(
    "launch", ["req-1-3", "req-1-0", "req-1-1-1", "req-1-1-", "req-1-2-2", "req-2-1", None]
)
def test_a_launch_that_the_plan_does_not_have_is_not_believed(launch):
    assert "no such launch and repeat was planned" in sentence(
        {"readings-head.jsonl": lines(record(launch=launch))}
    )
