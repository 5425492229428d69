"""The package gives its names when they are used, and data types without numpy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bot.verdict


def loaded_after(statement: str) -> set[str]:
    """Of numpy and scipy, those that a fresh interpreter holds after `statement`."""
    code = f"import sys\n{statement}\nprint(*{{'numpy', 'scipy'}} & set(sys.modules))"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(told.stdout.split())


def test_every_name_of_the_package_is_there():
    for name in bot.verdict.__all__:
        assert getattr(bot.verdict, name).__module__.startswith("bot.verdict."), name
    assert set(bot.verdict.__all__) <= set(dir(bot.verdict))


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bot.verdict.nothing  # noqa: B018
    with pytest.raises(ImportError):
        from bot.verdict import clopper_pearson  # noqa: F401


@pytest.mark.parametrize("name", ["Arm", "Reading", "Verdict", "Refusal", "Policy"])
def test_a_data_type_needs_no_numpy(name):
    assert loaded_after(f"from bot.verdict import {name}") == set()
    assert loaded_after("import bot.verdict.reading, bot.verdict.limits") == set()


def test_the_judge_comes_with_its_statistics():
    assert loaded_after("from bot.verdict import decide") == {"numpy", "scipy"}
