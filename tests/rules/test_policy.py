"""Policy files: what loads, and every error with its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.verdict import Policy
from rules import PackErrors, load_policy


def written(folder, text: str | bytes) -> str:
    path = folder / "policy.yml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def errors(folder, text: str | bytes) -> list[str]:
    """Without the name of the file."""
    path = written(folder, text)
    found = load_policy(path)
    assert isinstance(found, PackErrors)
    return [error.removeprefix(f"{path}:") for error in found.errors]


def test_a_policy(tmp_path):
    text = "# slower starts\nlaunch_minutes: 12\nmax_batches: 2\nalpha_worse: 1e-3\nknown_bad: [0.004, 1]\n"
    assert load_policy(written(tmp_path, text)) == Policy(
        launch_minutes=12.0, max_batches=2, alpha_worse=0.001, known_bad=(0.004, 1.0)
    )


def test_all_errors_at_once_each_with_its_place(tmp_path):
    text = (
        "alpha_equl: 0.1\n"
        "launch_minutes: -3\n"
        "launch_minutes: 4\n"
        "max_batches: 1.5\n"
        "max_factor: 0.5\n"
        "budget_minutes: 0x10\n"
        "confidence: '0.9'\n"
        "known_bad: [0.1, x, -1]\n"
        "usable_share: yes\n"
        "on: 1\n"
        "peaks_factor: 1e400\n"
        "host_sd:\n"
    )
    assert errors(tmp_path, text) == [
        "1:1: alpha_equl: is no field of a policy; did you mean alpha_equal?",
        "2:17: launch_minutes: must be over 0 and under 100000, not -3",
        "3:1: the key 'launch_minutes' stands here twice, first in line 2",
        "4:14: max_batches: must be a whole number",
        "5:13: max_factor: must be from 1 to 1000, not 0.5",
        "6:17: '0x10' reads as another number in YAML 1.1: put it in quotes, or write a plain decimal number",
        "7:13: confidence: must be a number",
        "8:18: known_bad.1: must be a number",
        "8:21: known_bad.2: must be from 0 to 1e+12, not -1",
        "9:15: 'yes' reads as true or false in YAML 1.1: put it in quotes",
        "10:1: the key 'on' does not read as text: put it in quotes",
        "11:15: peaks_factor: must be finite",
        "12:9: host_sd: must be a number",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "1:1: must be a mapping of keys to values"),
        ("3\n", "1:1: must be a mapping of keys to values"),
        ("margin: [\n", "2:1: expected the node content"),
        ("margin: &a 1.1\nmax_factor: *a\n", "1:9: anchors and aliases are not used here"),
        (b"margin: \xff\n", "1:1: is not UTF-8"),
        ("#" * 65_537, "1:1: is longer than 64 KiB"),
    ],
)
def test_one_error(tmp_path, text, error):
    (found,) = errors(tmp_path, text)
    assert found.startswith(error)


def test_a_file_that_cannot_be_read_or_never_ends(tmp_path):
    assert load_policy(tmp_path / "absent.yml").errors == (
        f"{tmp_path}/absent.yml:1:1: cannot be read: No such file or directory",
    )
    assert load_policy(tmp_path).errors == (f"{tmp_path}:1:1: cannot be read: Is a directory",)
    assert load_policy("/dev/zero").errors == ("/dev/zero:1:1: is longer than 64 KiB",)


def test_a_long_file_of_nonsense_gives_a_hundred_errors(tmp_path):
    text = "".join(f"k{number}: 1\n" for number in range(5_000))
    assert len(errors(tmp_path, text)) == 100


KEYS = st.sampled_from(["margin", "max_batches", "known_bad", "alpha_equal", "on", "x"])
SCALARS = st.sampled_from(["1", "1.5", "-1", ".5", "1e400", "012", "1:30", "~", "[1, 2]", "{a: 1}", "no"])


@settings(max_examples=200, deadline=None)
@given(pairs=st.lists(st.tuples(KEYS, SCALARS), max_size=6))
def test_any_file_gives_a_policy_or_errors_with_places(tmp_path_factory, pairs):
    path = written(tmp_path_factory.getbasetemp(), "".join(f"{key}: {value}\n" for key, value in pairs))
    found = load_policy(path)
    if isinstance(found, PackErrors):
        places = [error.removeprefix(f"{path}:").split(":")[:2] for error in found.errors]
        assert places and all(line.isdigit() and column.isdigit() for line, column in places)
    else:
        assert len({key for key, _ in pairs}) == len(pairs)
