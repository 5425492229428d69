"""Packs: what loads, and every error with its place."""

from __future__ import annotations

import pytest

from bot.logs import Form, LogForms, Print
from rules import Pack, check, load_named, load_pack, pack_names
from tests.rules.builders import PACK, PATTERN, named, pack_errors, pack_file

NAMES = ("automodel", "generic", "maxtext", "nemo-rl", "reference", "sglang")


def test_every_pack_that_comes_along_loads():
    assert pack_names() == NAMES
    assert check(pack_names()) == []
    for name in pack_names():
        pack = load_named(name)
        assert isinstance(pack, Pack) and pack.name == name


def test_a_pack_of_ones_own(tmp_path):
    path = pack_file(tmp_path, PACK)
    pack = load_pack(path)
    assert (pack.name, pack.jobs, pack.prints, pack.bounds, pack.registrations) == (
        "mine",
        ("*",),
        (),
        (),
        (),
    )
    assert pack.is_job("any / job (1)")
    assert check([path, "sglang"]) == []


def test_what_a_pack_gives_to_the_reader_of_logs(tmp_path):
    text = PACK + (
        "prints:\n  - {name: value, pattern: 'avg_kl=(?P<value>\\S+)$'}\n"
    )  # fmt: skip
    text = text.replace(
        "attributes:",
        "  - {name: below, lines: 2, pattern: 'floor\\nis=(?P<value>\\S+)', fails_when: below}\n"
        "  - {name: plain, pattern: 'is not true'}\nattributes:",
    )
    forms = load_pack(pack_file(tmp_path, text)).scan_forms
    assert isinstance(forms, LogForms) and all(isinstance(form, Form) for form in forms.forms)
    assert [(form.name, form.fails_when, form.lines, form.hint) for form in forms.forms] == [
        ("over", "above", 1, " over "),
        ("below", "below", 2, "floor"),
        ("plain", None, 1, "is not true"),
    ]
    assert [(type(printed), printed.name, printed.hint) for printed in forms.prints] == [
        (Print, "value", "avg_kl=")
    ]


def test_errors_of_several_packs_come_together(tmp_path):
    twice = PACK.replace(
        "attributes:", f"  - {{name: over, pattern: '{PATTERN}', fails_when: above}}\nattributes:"
    )
    path, absent = pack_file(tmp_path, twice), str(tmp_path / "absent.yaml")
    assert check([path, absent]) == [
        f"{path}:7:12: the form 'over' is there twice",
        f"{absent}:1:1: cannot be read: No such file or directory",
    ]


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        (r"kl=(?P<value>\S+", "not an RE2 pattern: missing ): "),
        (r"kl_div=(?P<value>\S+)\1", "refers back to a group, which RE2 cannot do; write the text out"),
        (r"kl_div=(?P<value>\S+)(?P=value)", "refers back to a group, which RE2 cannot do"),
        (r"(?<=kl_div=)(?P<value>\S+)", "looks around or makes a choice by condition, which RE2 cannot do"),
        (r"kl_div=(?P<value>\S+)(?! ok)", "looks around or makes a choice by condition, which RE2 cannot do"),
        (r"kl_div=(?P<value>\S{1,1001})", "repeats more than 1000 times in all, which RE2 cannot do"),
        (r"kl_div=(?P<value>((x{99}){99}){99})", "repeats more than 1000 times in all, which RE2 cannot do"),
        (r"kl_div=(?P<threshold>\S+)", "a pattern with a group (?P<threshold>…) needs a group (?P<value>…)"),
        (r"kl_div=(?P<value>\S+) (?P<x>.)", "unknown group 'x': there are label, model, threshold, value"),
        (r"kl_div=(?P<value>\S+) (?P<value>.)", "the group 'value' is there twice"),
        (
            r"(?P<value>\S+) > (?P<threshold>\S+)",
            "the pattern needs 4 characters of fixed text outside its groups",
        ),
        (r"(?i)kl_div=(?P<value>\S+)", "the pattern needs 4 characters of fixed text"),
        (r"kl_div=(?P<value>\S+)|over (?P<threshold>\S+)", "the pattern needs 4 characters of fixed text"),
        (r"kl_div:\n(?P<value>\S+)", "the pattern spans several lines: say how many with the key 'lines'"),
        (
            r"kl_div=(\w+\s?)*(?P<value>\S+)",
            "repeats a group that itself repeats; write it without the inner",
        ),
        (r"kl_div=(a|ab)+(?P<value>\S+)", "repeats a choice whose branches can match the same text; "),
        ("kl_div=(?P<value>.)" + "x" * 1000, "the pattern is longer than 1000 characters"),
    ],
)
def test_a_bad_pattern_is_an_error_at_its_place(tmp_path, pattern, error):
    (found,) = pack_errors(tmp_path, PACK.replace(PATTERN, pattern))
    assert found.startswith(f"5:14: forms.0.pattern: {error}")


@pytest.mark.parametrize(
    ("form", "error"),
    [
        (
            "{name: a, pattern: 'kl_div=(?P<value>.)'}",
            "4:5: forms.0.fails_when: is missing: a form with a group (?P<value>…) fails 'above' or "
            "'below' its threshold",
        ),
        (
            "{name: a, pattern: 'is not true', fails_when: above}",
            "4:51: forms.0.fails_when: is for forms with a group (?P<value>…); leave it out",
        ),
        (
            "{name: a, pattern: 'kl_div=(?P<value>.)', fails_when: up}",
            "4:59: forms.0.fails_when: must be 'above' or 'below'",
        ),
        (
            "{name: a, pattern: 'is not true', lines: 9}",
            "4:46: forms.0.lines: must be at most 8",
        ),
        (
            "{name: a, pattern: 'is not true', lines: 0}",
            "4:46: forms.0.lines: must be at least 1",
        ),
        (
            "{name: a, pattern: 'is not true', lines: '2'}",
            "4:46: forms.0.lines: must be a whole number",
        ),
        (
            "{name: a, lines: 2, pattern: '\\nis not true'}",
            "4:34: forms.0.pattern: the pattern needs 4 characters of fixed text outside its groups on its "
            "first line",
        ),
        (
            "{name: a, lines: 2, pattern: '\\s+is not true'}",
            "4:34: forms.0.pattern: the pattern needs 4 characters of fixed text outside its groups on its "
            "first line",
        ),
    ],
)
def test_a_form_that_does_not_fit_together(tmp_path, form, error):
    before, rest = PACK.partition("forms:\n")[0], PACK.partition("attributes:")
    text = f"{before}forms:\n  - {form}\n{rest[1]}{rest[2]}"
    assert pack_errors(tmp_path, text) == [error]


def test_all_errors_in_nested_lists_at_once_each_with_its_place(tmp_path):
    text = PACK + (
        "jobs: ['', 'ok *']\n"
        "prints:\n"
        "  - {name: a, pattern: 'kl_div=.*'}\n"
        "  - {name: b, pattern: 'kl_div=(?P<bound>.*)', lines: 2}\n"
        "  - {name: C, pattern: '(?P<value>.)'}\n"
        "registrations:\n"
        "  - call: register\n"
        "    argument: not a name\n"
        "    labels: {a: 'x y', 'b': off, 1: gpu}\n"
        "  - {call: register, argument: suite, labels: {}}\n"
        "bounds:\n"
        "  - files: /etc\n"
        "    pattern: '--kl=(?P<value>\\S+)'\n"
        "  - {files: '*.sh', pattern: '--kl=(\\d+)'}\n"
        "  - {files: '*.sh', pattern: '--kl=(?P<bound>(\\d+)+)', pattern: x}\n"
    )
    groups = "label, model, per_prompt, threshold, value"
    assert pack_errors(tmp_path, text) == [
        "11:8: jobs.0: must be a glob over names of jobs, such as *-test-4-gpu-*",
        f"13:24: prints.0.pattern: the pattern needs one of the groups {groups}",
        f"14:24: prints.1.pattern: unknown group 'bound': there are {groups}",
        "14:48: prints.1.lines: is no key of this file",
        "15:12: prints.2.name: must match the pattern ^[a-z][a-z0-9_-]{0,59}$",
        "15:24: prints.2.pattern: the pattern needs 4 characters of fixed text outside its groups",
        "18:15: registrations.0.argument: must match the pattern ^[A-Za-z_]\\w{0,99}$",
        "19:17: registrations.0.labels.a: must match the pattern ^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        "19:29: 'off' reads as true or false in YAML 1.1: put it in quotes",
        "19:34: the key '1' does not read as text: put it in quotes",
        "20:47: registrations.1.labels: needs at least one entry",
        "22:12: bounds.0.files: must be a glob relative to the repository, such as test/**/test_*_kl.py",
        "23:14: bounds.0.pattern: unknown group 'value': there are bound",
        "24:30: bounds.1.pattern: the pattern needs a group (?P<bound>…)",
        "25:30: bounds.2.pattern: repeats a group that itself repeats; write it without the inner repetition",
        "25:56: the key 'pattern' stands here twice, first in line 25",
    ]


# --- jobs, runners and bounds of a pack --------------------


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [
        ("*-test-4-gpu-*", "call / extra-b-test-4-gpu-h100 (1)", "extra-b-test-8-gpu-h200 (1)"),
        ("kl test (?)", "kl test (1)", "kl test (12)"),
        ("a.b", "a.b", "axb"),
        ("lint", "lint", "lint (1)"),
    ],
)
def test_globs_over_jobs(tmp_path, glob, inside, outside):
    pack = load_pack(pack_file(tmp_path, f"{PACK}jobs: ['{glob}']\n"))
    assert pack.is_job(inside) and not pack.is_job(outside)


@pytest.mark.parametrize(
    ("pack", "path", "text", "expected"),
    [
        (
            "nemo-rl",
            "tests/test_suites/llm/grpo.sh",
            "uv run tests/check_metrics.py $JSON \\\n"
            "    'median(data[\"train/token_mult_prob_error\"]) < 1.05' \\\n"
            "    'max(data[\"train/gen_kl_error\"]) < 0.03' \\\n"
            "    'mean(data[\"train/gen_kl_error\"])<=2e-3'\n",
            [(3, 40, "0.03", 0.03), (4, 40, "2e-3", 0.002)],
        ),
        (
            "nemo-rl",
            "tests/suite.yaml",
            "checks:\n  - 'max(data[\"train/gen_kl_error\"]) < 1.3'\n",
            [(2, 40, "1.3", 1.3)],
        ),
        (
            "maxtext",
            "tests/end_to_end/tpu/gemma3/4b/test_gemma3.sh",
            "python3 -m tests.utils.checker base.yml \\\n    --max_kl_div=2e-3 --atol=0.5\n",
            [(2, 18, "2e-3", 0.002)],
        ),
        (
            "automodel",
            "examples/llm_finetune/gemma.yaml",
            "ci:\n  checkpoint_robustness:\n    hf_kl_threshold: 5e-3\n    kl_threshold: 0\n"
            "    resume_loss_threshold: 5e-2\n",
            [(3, 22, "5e-3", 0.005), (4, 19, "0", 0.0)],
        ),
        (
            "automodel",
            "tests/functional_tests/run.sh",
            "torchrun x.py --kl-threshold 1e-4 --kl_threshold=1e-5\n",
            [(1, 30, "1e-4", 0.0001), (1, 50, "1e-5", 0.00001)],
        ),
    ],
)
def test_bounds_in_shell_and_yaml(pack, path, text, expected):
    spans = named(pack).bound_sites(path, text)
    assert [(span.line, span.column, span.spelling, span.value) for span in spans] == expected
    assert [text[span.start : span.end] for span in spans] == [span.spelling for span in spans]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", "--max_kl_div=0.03"),
        ("run.sh", "--max_kl_div=$BOUND --atol=0.5"),
        ("run.sh", "--max_kl_div=1e-3-5"),
        ("run.sh", ""),
    ],
)
def test_texts_without_a_bound(path, text):
    assert named("maxtext").bound_sites(path, text) == ()


def test_bounds_are_counted_in_characters_and_each_once(tmp_path):
    bounds = "bounds:\n" + "".join(
        f"  - {{files: '{glob}', pattern: 'kl=(?P<bound>\\S+)'}}\n" for glob in ("*", "**")
    )
    pack = load_pack(pack_file(tmp_path, PACK + bounds))
    text = "é kl=0.5\r\n日本 kl=.25\r\n\nkl=x kl=7"
    assert [(s.start, s.end, s.line, s.column, s.value) for s in pack.bound_sites("run", text)] == [
        (5, 8, 1, 6, 0.5),
        (16, 19, 2, 7, 0.25),
        (30, 31, 4, 9, 7.0),
    ]
