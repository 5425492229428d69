"""CODEOWNERS as GitHub describes it: the last pattern that matches wins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.source.owners import MAX_BYTES, Owners, owners

A = Owners(people=("a",))
PATH = "test/registered/kl/test_x.py"


def found(text: str, path: str = PATH) -> Owners:
    return owners(text.encode(), path, "Acme")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*", PATH),
        ("*.py", PATH),
        ("test_?.py", PATH),
        ("kl", PATH),
        ("kl/", PATH),
        ("/test/", PATH),
        ("/test", PATH),
        ("test/registered", PATH),
        ("/test/*/kl/", PATH),
        ("/test/**", PATH),
        ("/test/**/test_x.py", PATH),
        ("**/kl", PATH),
        ("**/registered/kl/*.py", PATH),
        ("docs/*", "docs/setup.md"),
        ("/a/**/z", "a/z"),
        ("/test*/", PATH),
        ("*x*.p*y", PATH),
    ],
)
def test_a_pattern_takes_in_a_path(pattern, path):
    assert found(f"{pattern} @a", path) == A


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.md", PATH),
        ("/kl/", PATH),
        ("registered/kl", PATH),
        ("docs/*", "docs/build/setup.md"),
        ("apps/", "x/apps"),
        ("/test_x.py", PATH),
        ("TEST/", PATH),
        ("!*", PATH),
        ("[t]est/", PATH),
        ("/", PATH),
    ],
)
def test_a_pattern_leaves_a_path_out(pattern, path):
    assert found(f"{pattern} @a", path) == Owners()


def test_the_last_match_wins_also_when_it_names_nobody():
    text = "# everything\n* @nobody\n/test/ @a @Acme/kl-team @a  # why\nother/ @b\n"
    assert found(text) == Owners(("a",), ("kl-team",))
    assert found(text + "/test/registered/\n") == Owners()


def test_addresses_and_teams_of_others_cannot_be_asked():
    assert found("* a@example.org @other/team @-x @a/b/c @acme/kl\r\n") == Owners((), ("kl",))


def test_a_file_that_github_would_not_load_names_nobody():
    assert owners(b"* @a\n" + b"#" * MAX_BYTES, PATH, "acme") == Owners()


@given(st.text(alphabet="*?/ab@#[!\\ \n", max_size=60), st.text(alphabet="ab/", min_size=1, max_size=20))
def test_any_text_is_read_without_error(text, path):
    assert isinstance(owners(text.encode(), path, "acme"), Owners)


def test_many_stars_take_no_longer():
    assert found("*a" * 400 + "b @a", "a" * 400) == Owners()
    assert found("**/" * 300 + "b @a", "a/" * 300 + "c") == Owners()
