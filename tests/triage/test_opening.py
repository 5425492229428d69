"""From a path as CI prints it to the path inside the tree."""

import pytest

from bot.github.reads import Pull
from bot.triage.opening import _check_names, _not_ours_to_run, investigation_id
from bot.triage.paths import tree_path
from rules import load_named

TEST = "test/registered/radix_cache/test_swa_radix_cache_kl.py"


@pytest.mark.parametrize(
    "printed",
    [TEST, f"/actions-runner/_work/x/x/{TEST}", "registered/radix_cache/test_swa_radix_cache_kl.py"],
)
def test_absolute_relative_and_cd_paths_are_one_file(printed):
    assert tree_path(printed, load_named("sglang")) == TEST


@pytest.mark.parametrize("printed", ["", "/", "setup.py", "/etc/passwd", f"../{TEST}", "test/../" + TEST])
def test_what_is_no_kl_test_of_the_pack_is_none(printed):
    assert tree_path(printed, load_named("sglang")) is None


def test_an_investigation_is_named_by_repository_site_commit_and_command():
    plain = investigation_id("acme/x", "a.py::T.kl_threshold", "a" * 40)
    assert plain == investigation_id("Acme/X", "a.py::T.kl_threshold", "a" * 40)
    others = [
        investigation_id("acme/y", "a.py::T.kl_threshold", "a" * 40),
        investigation_id("acme/x", "a.py::U.kl_threshold", "a" * 40),
        investigation_id("acme/x", "a.py::T.kl_threshold", "b" * 40),
        investigation_id("acme/x", "a.py::T.kl_threshold", "a" * 40, "c1"),
    ]
    assert len({plain, *others}) == 5


def test_each_site_of_a_commit_has_a_check_of_its_own_name():
    assert _check_names({}, ["a.py::A.kl_threshold", "a.py::B.kl_threshold"]) == {
        "a.py::A.kl_threshold": "kl-triage",
        "a.py::B.kl_threshold": "kl-triage: B.kl_threshold",
    }
    known = {"a.py::A.kl_threshold": "kl-triage"}
    assert _check_names(known, ["a.py::A.kl_threshold"]) == known
    assert (
        _check_names(known, ["a.py::B.kl_threshold"])["a.py::B.kl_threshold"] == "kl-triage: B.kl_threshold"
    )


@pytest.mark.parametrize(
    ("head_repo", "head_ref", "commanded", "code"),
    [
        ("acme/x", "topic", False, None),
        ("Acme/X", "topic", False, None),
        ("acme/x", "kl-triage/bump/t-1/0.004", False, "own_branch"),
        ("acme/x", "kl-triage/bump/t-1/0.004", True, "own_branch"),
        ("stranger/x", "topic", False, "fork"),
        ("stranger/x", "topic", True, None),
        ("", "topic", False, "fork"),
    ],
)
def test_the_bots_own_branch_and_a_forks_code_are_not_run_by_themselves(head_repo, head_ref, commanded, code):
    pull = Pull(number=4, head_sha="a" * 40, head_ref=head_ref, head_repo=head_repo, base_ref="main")
    refusal = _not_ours_to_run(pull, "acme/x", commanded=commanded)
    assert (refusal.code if refusal else None) == code
