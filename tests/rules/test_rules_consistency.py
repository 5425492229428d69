"""What is wrong between the parts of a file comes together with what is wrong with single values."""

from __future__ import annotations

from tests.rules.builders import PACK, errors, pack_errors


def test_entries_that_are_there_twice(tmp_path):
    text = PACK.replace("[gpu]", "[gpu, gpu]") + (
        "jobs: [a, b, a]\n"
        "prints:\n"
        "  - {name: v, pattern: 'kl_div=(?P<value>.)'}\n"
        "  - {name: v, pattern: 'kl_max=(?P<value>.)'}\n"
        "registrations:\n"
        "  - {call: register, argument: suite, labels: {a: gpu}}\n"
        "  - {call: register, argument: suite, labels: {a: cpu}}\n"
        "bounds:\n"
        "  - {files: '*.sh', pattern: '--kl=(?P<bound>.)'}\n"
        "  - {files: '*.sh', pattern: '--kl=(?P<bound>.)'}\n"
    )
    assert pack_errors(tmp_path, text) == [
        "8:16: 'gpu' is there twice",
        "11:14: 'a' is there twice",
        "14:12: the print 'v' is there twice",
        "17:32: the registration register(suite=…) is there twice",
        "17:51: registrations.1.labels.a: 'cpu' is none of the labels in 'runners': gpu",
        "20:30: the bound '--kl=(?P<bound>.)' in '*.sh' is there twice",
    ]


def test_what_stands_between_entries_is_told_beside_what_is_wrong_with_one(tmp_path):
    text = PACK.replace("[gpu]", "[gpu, gpu]").replace("launch_minutes: 3", "launch_minutes: -1") + (
        "jobs: [a, '', '', a]\n"
        "prints:\n"
        "  - {name: v, pattern: 'kl=['}\n"
        "  - {name: v, pattern: 'kl=['}\n"
        "registrations:\n"
        "  - {call: register, argument: suite, labels: {a: cpu, b: 'x y'}}\n"
        "  - {call: register, argument: 1, labels: {a: cpu}}\n"
        "  - {call: register}\n"
        "  - register\n"
    )
    unknown = "is none of the labels in 'runners': gpu"
    assert pack_errors(tmp_path, text) == [
        "8:16: 'gpu' is there twice",
        "9:17: launch_minutes: must be more than 0",
        "11:11: jobs.1: must be a glob over names of jobs, such as *-test-4-gpu-*",
        "11:15: jobs.2: must be a glob over names of jobs, such as *-test-4-gpu-*",
        "11:19: 'a' is there twice",
        "13:24: prints.0.pattern: not an RE2 pattern: missing ]: [",
        "14:12: the print 'v' is there twice",
        "14:24: prints.1.pattern: not an RE2 pattern: missing ]: [",
        f"16:51: registrations.0.labels.a: 'cpu' {unknown}",
        "16:59: registrations.0.labels.b: must match the pattern ^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        "17:32: registrations.1.argument: must be text",
        f"17:47: registrations.1.labels.a: 'cpu' {unknown}",
        "18:5: registrations.2.argument: is missing",
        "18:5: registrations.2.labels: is missing",
        "19:5: registrations.3: must be a mapping of keys to values",
    ]


def test_labels_are_not_compared_with_runners_that_are_wrong(tmp_path):
    text = PACK.replace("[gpu]", "[gpu, 'x y']") + (
        "registrations:\n  - {call: register, argument: suite, labels: {a: cpu}}\n"
    )
    (error,) = pack_errors(tmp_path, text)
    assert error.startswith("8:16: runners.1: must match the pattern")


def test_in_a_repositorys_file_they_are_told_beside_the_others_too():
    text = (
        "extends: reference\n"
        "mode: loud\n"
        "runner: big\n"
        "attributes: [kl, kl]\n"
        "also:\n"
        "  attributes: [kl]\n"
        "  runners: [kl-cpu]\n"
        "  forms: [{name: kl_over, pattern: 'kl=['}]\n"
    )
    assert errors(text) == [
        "2:7: mode: must be 'off', 'observe', 'comment' or 'propose'",
        "3:9: runner: 'big' is none of the labels in 'runners': kl-cpu",
        "4:18: 'kl' is there twice",
        "6:16: 'kl' is there twice",
        "7:13: 'kl-cpu' is there twice",
        "8:18: the form 'kl_over' is there twice",
        "8:36: also.forms.0.pattern: not an RE2 pattern: missing ]: [",
    ]


def test_an_unknown_pack_is_told_beside_the_other_errors_and_nothing_is_guessed_of_its_labels():
    text = "extends: nix\nmode: loud\nrunner: big\nattributes: [kl, kl]\nalso: [a]\n"
    assert [error.partition(": ")[0] for error in errors(text)] == ["1:10", "2:7", "4:18", "5:7"]
