"""Packs and repository files: what loads, and every error with its place."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs import find_crossing
from rules import (
    Pack,
    PackErrors,
    RepositoryConfig,
    check,
    load_named,
    load_pack,
    pack_names,
    repository_pack,
)

PACK = """\
name: mine
tests: ["test/kl/test_*.py"]
forms:
  - name: over
    pattern: 'kl=(?P<value>\\S+) over (?P<threshold>\\S+)'
    fails_when: above
attributes: [kl_threshold]
runners: [gpu]
launch_minutes: 3
repeat_minutes: 1
"""


def errors(text: str | bytes) -> list[str]:
    """Of a repository's file, without its name."""
    found = repository_pack(text, "f")
    assert isinstance(found, PackErrors)
    return [error.removeprefix("f:") for error in found.errors]


def pack_file(folder: Path, text: str) -> str:
    path = folder / "pack.yaml"
    path.write_text(text)
    return str(path)


def test_every_pack_that_comes_along_loads():
    assert pack_names() == ("reference", "sglang")
    assert check(pack_names()) == []
    for name in pack_names():
        pack = load_named(name)
        assert isinstance(pack, Pack) and pack.name == name


@pytest.mark.parametrize(
    ("line", "rule", "value", "threshold", "label"),
    [
        ("AssertionError: avg_kl_div=0.0034 > threshold=0.003 for a/b hit", "kl_over", 0.0034, 0.003, "hit"),
        (
            "avg_kl_div=0.0034 is greater than threshold=0.003 for a/b hit",
            "kl_is_greater",
            0.0034,
            0.003,
            "hit",
        ),
        ("0.1 not less than 0.05 : avg_kl_div=0.1 >= threshold=0.05", "kl_not_less", 0.1, 0.05, None),
        ("avg_kl_div=nan > threshold=0.003 for a/b hit", "kl_over", float("nan"), 0.003, "hit"),
    ],
)
def test_forms_of_sglang(line, rule, value, threshold, label):
    crossing = find_crossing(line, load_named("sglang").scan_forms)
    assert (crossing.rule, crossing.threshold, crossing.label) == (rule, threshold, label)
    assert repr(crossing.value) == repr(value)


def test_paths_of_sglang():
    pack = load_named("sglang")
    assert pack.is_test("test/registered/radix_cache/unified_radix_tree/test_unified_radix_cache_kl_mamba.py")
    assert not pack.is_test("python/sglang/srt/managers/scheduler.py")
    changed = ["README.md", "python/sglang/test/kits/radix_kit.py", "sgl-kernel/csrc/a/b.cu"]
    assert pack.unfit(changed) == tuple(changed[1:])


def test_a_pattern_is_searched_in_linear_time(tmp_path):
    slow = PACK.replace(r"kl=(?P<value>\S+)", r"kl=(a+)+(?P<value>\S+)")
    (form,) = load_pack(pack_file(tmp_path, slow)).scan_forms
    started = time.perf_counter()
    assert find_crossing("kl=" + "a" * 200_000, [form]) is None
    assert time.perf_counter() - started < 1


# --- a repository's file --------------------


def test_the_shortest_repository_file_only_observes():
    config = repository_pack("extends: reference\n")
    assert isinstance(config, RepositoryConfig)
    assert (config.mode, config.runner, config.budget_minutes) == ("observe", "kl-cpu", None)
    assert config.pack == load_named("reference")


def test_a_repository_file_overrides_its_pack():
    text = "extends: sglang\nmode: propose\nrunner: b\nrunners: [a, b]\nbudget_minutes: 90\n"
    config = repository_pack(text + "launch_minutes: 4.5\n")
    assert (config.mode, config.runner, config.budget_minutes) == ("propose", "b", 90)
    assert config.pack.launch_minutes == 4.5
    assert config.pack.forms == load_named("sglang").forms


@pytest.mark.parametrize("written", ["off", '"off"', "'off'"])
def test_mode_off_needs_no_quotes(written):
    assert repository_pack(f"extends: reference\nmode: {written}\n").mode == "off"


def test_all_errors_at_once_each_with_its_place():
    text = (
        "extends: reference\n"
        "mode: nope\n"
        "foo: 1\n"
        "runner: x\n"
        "runner: y\n"
        "on: true\n"
        "budget_minutes: 012\n"
        "unfit_paths: [/etc, yes]\n"
        "forms:\n"
        "  - {name: a, pattern: '(?=x)', fails_when: up}\n"
    )
    assert errors(text) == [
        "2:7: mode: Input should be 'off', 'observe', 'comment' or 'propose'",
        "3:1: foo: is no key of this file",
        "5:1: the key 'runner' stands here twice, first in line 4",
        "6:1: the key 'on' does not read as text: put it in quotes",
        "7:17: '012' reads as another number in YAML 1.1: put it in quotes, or write a plain decimal number",
        "8:15: unfit_paths.0: must be a glob relative to the repository, such as test/**/test_*_kl.py",
        "8:21: 'yes' reads as true or false in YAML 1.1: put it in quotes",
        "10:24: forms.0.pattern: not an RE2 pattern: invalid perl operator: (?=",
        "10:45: forms.0.fails_when: Input should be 'above' or 'below'",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "1:1: must be a mapping of keys to values"),
        ("- a\n", "1:1: must be a mapping of keys to values"),
        ("mode: off\n", "1:1: extends: is missing"),
        ("extends: nix\n", "1:10: 'nix' is no rule pack: there are reference, sglang"),
        ("extends: ../sglang\n", "1:10: extends: String should match pattern '^[a-z][a-z0-9_-]{0,59}$'"),
        ("extends: [\n", "2:1: expected the node content, but found '<stream end>'"),
        (
            "extends: reference\nrunner: big\n",
            "2:9: runner: 'big' is none of the labels in 'runners': kl-cpu",
        ),
        (
            "extends: &a reference\nrunner: *a\n",
            "1:10: anchors and aliases are not used here: write the value out",
        ),
        ("extends: !!python/name:os.system x\n", "1:10: the tag 'tag:yaml.org,2002:python/name:os.system'"),
        ("a: 1\n---\nb: 2\n", "2:1: but found another document"),
        (b"extends: \xff\n", "1:1: is not UTF-8"),
        ("a: " + "[" * 5000, "1:1: is nested too deeply"),
        ("a: " + "x" * 70_000, "1:1: is longer than 64 KiB"),
        ("extends: reference\nbudget_minutes: .inf\n", "2:17: '.inf' reads as another number in YAML 1.1"),
        ("extends: reference\nbudget_minutes: -1\n", "2:17: budget_minutes: Input should be greater than 0"),
        ("extends: reference\nbudget_minutes: '9'\n", "2:17: budget_minutes: Input should be a valid number"),
        (
            "extends: reference\nexact_gate: 0.5\n",
            "2:13: exact_gate: Input should be less than or equal to 0.001",
        ),
        ("extends: reference\nrunners: ['a; rm -rf /']\n", "2:11: runners.0: String should match pattern"),
        ("extends: reference\ncompare: os.system\n", "2:10: compare: String should match pattern"),
        (
            "extends: reference\npython_path: [../x]\n",
            "2:15: python_path.0: must be a folder inside the repo",
        ),
    ],
)
def test_one_error(text, error):
    (found,) = errors(text)
    assert found.startswith(error)


# --- packs --------------------


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        (r"kl=(?P<value>\S+", "not an RE2 pattern: missing ): "),
        (r"kl_div=(?P<value>\S+)\1", "not an RE2 pattern: invalid escape sequence"),
        (r"kl_div=(?P<threshold>\S+)", "the pattern needs a group (?P<value>…)"),
        (r"kl_div=(?P<value>\S+)", "the pattern needs a group (?P<threshold>…)"),
        (r"kl_div=(?P<value>\S+) (?P<threshold>\S+) (?P<x>.)", "unknown group 'x': there are label, model, "),
        (r"(?P<value>\S+) > (?P<threshold>\S+)", "the pattern needs 4 characters of fixed text"),
        (
            r"(?i)kl_div=(?P<value>\S+) over (?P<threshold>\S+)",
            "the pattern needs 4 characters of fixed text",
        ),
        (r"kl_div=(?P<value>\S+)|over (?P<threshold>\S+)", "the pattern needs 4 characters of fixed text"),
    ],
)
def test_a_bad_pattern_is_an_error_at_its_place(tmp_path, pattern, error):
    text = PACK.replace(r"kl=(?P<value>\S+) over (?P<threshold>\S+)", pattern)
    path = pack_file(tmp_path, text)
    (found,) = load_pack(path).errors
    assert found.startswith(f"{path}:5:14: forms.0.pattern: {error}")


def test_a_pack_of_ones_own(tmp_path):
    path = pack_file(tmp_path, PACK)
    assert load_pack(path).name == "mine"
    assert check([path, "sglang"]) == []


def test_errors_of_several_packs_come_together(tmp_path):
    twice = PACK.replace("attributes:", "  - {name: over, pattern: 'kl=(?P<value>.) over (?P<threshold>.)', "
                         "fails_when: above}\nattributes:")  # fmt: skip
    path, absent = pack_file(tmp_path, twice), str(tmp_path / "absent.yaml")
    assert check([path, absent]) == [
        f"{path}:7:12: the form 'over' is there twice",
        f"{absent}:1:1: cannot be read: No such file or directory",
    ]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200)))
def test_any_text_gives_errors_and_never_a_crash(text):
    found = repository_pack(text)
    assert isinstance(found, RepositoryConfig) or found.errors


KEYS = st.sampled_from(["extends", "mode", "runner", "runners", "tests", "forms", "exact_gate", "on", "x"])
SCALARS = st.sampled_from(
    ["sglang", "off", "yes", "1e-6", "012", "1:30", "2026-01-01", "~", "[a, b]", "{a: 1}"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(KEYS, SCALARS), max_size=8))
def test_any_keys_and_values_give_a_config_or_errors_with_places(pairs):
    text = "".join(f"{key}: {value}\n" for key, value in pairs)
    found = repository_pack(text, "f")
    if isinstance(found, PackErrors):
        assert all(error.split(":")[1].isdigit() and error.split(":")[2].isdigit() for error in found.errors)
    else:
        assert len({key for key, _ in pairs}) == len(pairs)
