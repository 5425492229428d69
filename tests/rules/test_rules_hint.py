"""The hint of a form is in every line that the form matches: else failures would be passed over unread."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.linear import PatternError, compile_pattern
from rules.patterns import compile_glob, literal_runs


@pytest.mark.parametrize(
    ("pattern", "runs"),
    [
        ("abc(d)?efgh", ["abc", "efgh"]),
        ("a|bcde", []),
        ("(?i)abcd", []),
        (r"abcd\x41ef", []),
        (r"\Qabcd\E", []),
        (r"abc\(?def", ["abc", "def"]),
        ("abcd*ef{2}g", ["abc", "e", "g"]),
        ("ab+cd", ["ab", "cd"]),
        (r"[a-z]+hello[^]x]wor\.ld", ["hello", "wor.ld"]),
        (r"[[:alpha:]]abc[\]x]d", ["abc", "d"]),
        ("(?:a|b)cd(?P<value>e(f)g)h", ["cd", "h"]),
    ],
)
def test_texts_outside_groups(pattern, runs):
    assert literal_runs(pattern) == runs


ATOMS = st.sampled_from(
    ["a", "b", "ab", r"\.", ".", "[ab]", "[^]a]", "(a|b)", "(?:ab)?", "a*", "b?", "a{2}", r"\d", "a+"]
)
PATTERNS = st.lists(st.one_of(ATOMS, st.sampled_from(["|", "(", ")", "*", "^", "$"])), max_size=7).map(
    "".join
)


@settings(max_examples=800, deadline=None)
@given(PATTERNS, st.text(alphabet="ab.1]", max_size=14))
def test_every_match_contains_every_run(pattern, text):
    try:
        match = compile_pattern(pattern).search(text)
    except PatternError:
        return
    if match is not None:
        assert all(run in text for run in literal_runs(pattern))


@pytest.mark.parametrize(
    ("glob", "inside", "outside"),
    [
        ("test/kl/test_*.py", "test/kl/test_a.py", "test/kl/more/test_a.py"),
        ("test/**/test_*.py", "test/test_a.py", "atest/test_a.py"),
        ("test/**/test_*.py", "test/a/b/test_a.py", "test/a/b/test_a.pyc"),
        ("sgl-kernel/**", "sgl-kernel/a/b.cu", "sgl-kernel-2/a.cu"),
        ("a?.py", "ab.py", "a/.py"),
    ],
)
def test_globs(glob, inside, outside):
    assert compile_glob(glob).search(inside)
    assert not compile_glob(glob).search(outside)
