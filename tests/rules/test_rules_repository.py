"""A repository's own file: what it changes, what it adds, and every error with its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import PackErrors, RepositoryConfig, check, repository_pack
from tests.rules.builders import errors, named


def config(text: str) -> RepositoryConfig:
    found = repository_pack(text)
    assert isinstance(found, RepositoryConfig), found
    return found


def test_the_shortest_file_only_observes():
    found = config("extends: reference\n")
    assert (found.mode, found.runner, found.budget_minutes) == ("observe", "kl-cpu", None)
    assert found.pack == named("reference")


def test_a_file_overrides_its_pack():
    text = "extends: sglang\nmode: propose\nrunner: b\nrunners: [a, b]\nbudget_minutes: 90\n"
    found = config(text + "launch_minutes: 4.5\njobs: ['gpu *']\n")
    assert (found.mode, found.runner, found.budget_minutes) == ("propose", "b", 90)
    assert (found.pack.launch_minutes, found.pack.jobs) == (4.5, ("gpu *",))
    assert found.pack.forms == named("sglang").forms


def test_a_file_adds_to_its_pack():
    base = named("reference")
    pack = config(
        "extends: reference\n"
        "also:\n"
        "  tests: ['more/test_*.py']\n"
        "  forms:\n"
        "    - {name: far, pattern: 'kl_max=(?P<value>\\S+)', fails_when: above}\n"
        "  prints:\n"
        "    - {name: far, pattern: 'kl_max=(?P<value>\\S+)'}\n"
        "  attributes: [kl_max]\n"
        "  unfit_paths: ['kernels/**']\n"
        "  runners: [gpu]\n"
        "  jobs: ['gpu *']\n"
        "  registrations:\n"
        "    - {call: register, argument: needs, labels: {big: gpu}}\n"
        "  bounds:\n"
        "    - {files: '*.sh', pattern: '--kl=(?P<bound>\\S+)'}\n"
    ).pack
    assert pack.tests == (*base.tests, "more/test_*.py")
    assert [form.name for form in pack.scan_forms.forms] == ["kl_over", "far"]
    assert [printed.name for printed in pack.scan_forms.prints][-1] == "far"
    assert pack.attributes == (*base.attributes, "kl_max")
    assert pack.unfit_paths == (*base.unfit_paths, "kernels/**")
    assert pack.runners == ("kl-cpu", "gpu")
    assert pack.jobs == ("*", "gpu *")
    assert [rule.labels for rule in pack.registrations] == [{"big": "gpu"}]
    assert [span.value for span in pack.bound_sites("run.sh", "x --kl=0.5")] == [0.5]


def test_additions_come_behind_what_the_file_itself_says():
    pack = config("extends: sglang\nrunners: [a]\nrunner: b\nalso: {runners: [b, 4-gpu-h100]}\n").pack
    assert pack.runners == ("a", "b", "4-gpu-h100")


def test_what_is_added_must_not_be_there_already():
    text = (
        "extends: reference\n"
        "tests: ['a.py']\n"
        "also:\n"
        "  tests: [b.py, a.py, b.py]\n"
        "  forms:\n"
        "    - {name: kl_over, pattern: 'kl_max=(?P<value>\\S+)', fails_when: above}\n"
        "  prints:\n"
        "    - {name: value, pattern: 'kl_max=(?P<value>\\S+)'}\n"
        "  attributes: [kl_threshold]\n"
        "  runners: [kl-cpu]\n"
        "  registrations:\n"
        "    - {call: register, argument: needs, labels: {big: gpu}}\n"
        "registrations:\n"
        "  - {call: register, argument: needs, labels: {big: huge}}\n"
    )
    assert errors(text) == [
        "4:17: 'a.py' is there twice",
        "4:23: 'b.py' is there twice",
        "6:14: the form 'kl_over' is there twice",
        "8:14: the print 'value' is there twice",
        "9:16: 'kl_threshold' is there twice",
        "10:13: 'kl-cpu' is there twice",
        "12:34: the registration register(needs=…) is there twice",
        "12:55: also.registrations.0.labels.big: 'gpu' is none of the labels in 'runners': kl-cpu",
        "14:53: registrations.0.labels.big: 'huge' is none of the labels in 'runners': kl-cpu",
    ]


def test_a_repositorys_own_file_is_checked_as_one(tmp_path):
    good, bad, pack = (tmp_path / name for name in ("good.yml", "bad.yml", "pack.yml"))
    good.write_text("extends: sglang\nmode: comment\n")
    bad.write_text("extends:\nmode: comment\ncolour: red\n")
    pack.write_text("mode: comment\n")
    assert check([str(good)]) == []
    assert check([str(bad)]) == [
        f"{bad}:1:9: extends: must be text",
        f"{bad}:3:1: colour: is no key of this file",
    ]
    assert f"{pack}:1:1: mode: is no key of this file" in check([str(pack)])


def test_a_registration_of_the_pack_for_a_runner_that_the_file_takes_away():
    class Asked:
        call, arguments = "register_cuda_ci", {"runner_config": "8-gpu-h200"}

    assert named("sglang").label_for([Asked()]) == "8-gpu-h200"
    assert config("extends: sglang\nrunners: [4-gpu-h100]\n").pack.label_for([Asked()]) is None


def test_the_runner_is_that_of_the_file_else_the_tests_own_else_the_first():
    class Asked:
        call, arguments = "register_cuda_ci", {"runner_config": "8-gpu-h200"}

    assert config("extends: sglang\nrunner: 8-gpu-h20\n").runner_for([Asked()]) == "8-gpu-h20"
    assert config("extends: sglang\n").runner_for([Asked()]) == "8-gpu-h200"
    assert config("extends: sglang\n").runner_for([]) == "4-gpu-h100"


@pytest.mark.parametrize("written", ["off", '"off"', "'off'"])
def test_mode_off_needs_no_quotes(written):
    assert config(f"extends: reference\nmode: {written}\n").mode == "off"


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
        "also:\n"
        "  launch_minutes: 3\n"
        "  runners: []\n"
        "  forms: [{name: b, pattern: 'is not true', lines: x}]\n"
        "  jobs: [no]\n"
    )
    assert errors(text) == [
        "2:7: mode: must be 'off', 'observe', 'comment' or 'propose'",
        "3:1: foo: is no key of this file",
        "5:1: the key 'runner' stands here twice, first in line 4",
        "6:1: the key 'on' does not read as text: put it in quotes",
        "7:17: '012' reads as another number in YAML 1.1: put it in quotes, or write a plain decimal number",
        "8:15: unfit_paths.0: must be a glob relative to the repository, such as test/**/test_*_kl.py",
        "8:21: 'yes' reads as true or false in YAML 1.1: put it in quotes",
        "10:24: forms.0.pattern: looks around or makes a choice by condition, which RE2 cannot do; "
        "match the text",
        "10:45: forms.0.fails_when: must be 'above' or 'below'",
        "12:3: also.launch_minutes: is no key of this file",
        "13:12: also.runners: needs at least one entry",
        "14:52: also.forms.0.lines: must be a whole number",
        "15:10: 'no' reads as true or false in YAML 1.1: put it in quotes",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "1:1: must be a mapping of keys to values"),
        ("- a\n", "1:1: must be a mapping of keys to values"),
        ("mode: off\n", "1:1: extends: is missing"),
        (
            "extends: nix\n",
            "1:10: 'nix' is no rule pack: there are automodel, generic, maxtext, nemo-rl, reference, sglang",
        ),
        ("extends: ../sglang\n", "1:10: extends: must match the pattern ^[a-z][a-z0-9_-]{0,59}$"),
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
        ("extends: reference\nbudget_minutes: -1\n", "2:17: budget_minutes: must be more than 0"),
        ("extends: reference\nbudget_minutes: '9'\n", "2:17: budget_minutes: must be a number"),
        (
            "extends: reference\nexact_gate: 0.5\n",
            "2:13: exact_gate: must be at most 0.001",
        ),
        ("extends: reference\nrunners: ['a; rm -rf /']\n", "2:11: runners.0: must match the pattern"),
        ("extends: reference\ncompare: os.system\n", "2:10: compare: must match the pattern"),
        (
            "extends: reference\npython_path: [../x]\n",
            "2:15: python_path.0: must be a folder inside the repo",
        ),
        ("extends: reference\nalso: [a]\n", "2:7: also: "),
        ("extends: reference\nalso:\n", "2:6: also: "),
        ("extends: reference\njobs: []\n", "2:7: jobs: needs at least one entry"),
    ],
)
def test_one_error(text, error):
    (found,) = errors(text)
    assert found.startswith(error)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("tests: a.py", "tests: must be a list"),
        ("tests: []", "tests: needs at least one entry"),
        ("tests: [1]", "tests.0: must be text"),
        ("forms: [x]", "forms.0: must be a mapping of keys to values"),
        ("runner: 1", "runner: must be text"),
        ("exact_gate: x", "exact_gate: must be a number"),
        ("exact_gate: 1e999", "exact_gate: must be a finite number"),
        ("exact_gate: -1", "exact_gate: must be at least 0"),
        ("repeat_minutes: 1441", "repeat_minutes: must be at most 1440"),
        (f"attributes: [{', '.join('abcdefghijklmnopqrstu')}]", "attributes: may have at most 20 entries"),
        ("test_kind: x", "test_kind: must be 'auto', 'unittest', 'pytest' or 'script'"),
    ],
)
def test_what_is_wrong_with_a_value_is_said_in_plain_words(line, error):
    assert [found.partition(": ")[2] for found in errors(f"extends: reference\n{line}\n")] == [error]


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200)))
def test_any_text_gives_errors_and_never_a_crash(text):
    found = repository_pack(text)
    assert isinstance(found, RepositoryConfig) or found.errors


KEYS = st.sampled_from(
    ["extends", "mode", "runner", "runners", "tests", "forms", "exact_gate", "also", "bounds", "on", "x"]
)
SCALARS = st.sampled_from(
    [
        *("sglang", "off", "yes", "1e-6", "012", "1:30", "2026-01-01", "~", "[a, b]", "{a: 1}"),
        *("{runners: [a, a]}", "[{files: '*', pattern: '(a+)+'}]", "{bounds: [{}], jobs: ['*']}"),
    ]
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
