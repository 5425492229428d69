"""The keys prepare and test_kind: what makes a fresh tree ready, and what runs its tests."""

from __future__ import annotations

import pytest

from rules import RepositoryConfig, repository_pack
from tests.rules.builders import PACK, errors, load_pack, named, pack_errors, pack_file

PREPARE = 'prepare:\n  - ["{python}", -m, pip, install, -e, "{tree}/python"]\n  - [make, "a b; c"]\n'


def test_commands_are_lists_of_words(tmp_path):
    pack = load_pack(pack_file(tmp_path, PACK + PREPARE + "test_kind: pytest\n"))
    assert pack.prepare == (
        ("{python}", "-m", "pip", "install", "-e", "{tree}/python"),
        ("make", "a b; c"),
    )
    assert pack.test_kind == "pytest"


def test_without_them_nothing_is_prepared_and_the_kind_is_found_out():
    assert (named("sglang").prepare, named("sglang").test_kind) == ((), "auto")


def test_a_repository_has_its_own():
    config = repository_pack("extends: reference\nprepare: [[make]]\ntest_kind: unittest\n", "f")
    assert isinstance(config, RepositoryConfig)
    assert (config.pack.prepare, config.pack.test_kind) == ((("make",),), "unittest")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("prepare: make", "11:10: prepare: must be a list"),
        ("prepare: [make all]", "11:11: prepare.0: must be a list"),
        ("prepare: [[]]", "11:11: prepare.0: needs at least one entry"),
        ('prepare: [[""]]', "11:11: prepare.0: must begin with the program to run"),
        ("prepare: [[make, 3]]", "11:18: prepare.0.1: must be text"),
        (
            'prepare: [[make, "{home}"]]',
            "11:11: prepare.0: unknown name {home}: there are {python} and {tree}",
        ),
        ('prepare: [[make, "a\\nb"]]', "11:18: prepare.0.1: must be one line"),
        ("test_kind: nose", "11:12: test_kind: must be 'auto', 'unittest', 'pytest' or 'script'"),
    ],
)
def test_what_they_must_not_be(tmp_path, line, error):
    (found,) = pack_errors(tmp_path, PACK + line + "\n")
    assert found.startswith(error)


def test_errors_in_a_repositorys_own_file():
    assert errors("extends: reference\ntest_kind: [unittest]\n")[0].startswith("2:12: test_kind: ")
