"""Patterns that a backtracking matcher could take for ever on are refused, the useful ones are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.logs.linear import PatternError, compile_pattern
from rules.patterns import compile_bound
from rules.repetition import NESTED, OVERLAP, check_repetition


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+",
        r"(a*)*",
        r"(a+){2,}",
        r"(a?)+",
        r"(?:a+b?)+",
        r"(\w+\s?)*",
        r"((a+))+",
        r"(?P<x>a+)+?",
        r"(.*a){20}",
        r"(.*,){10}b",
        r"(?:(?:a+)b)+",
        r"([a-z0-9]+[a-z])+",
        r"(?i)(?:a+A)+",
        r"(?:\x41+\x41)+",
        r"(?s)(?:.*\n)*",
        r"(a{2,3}){2}",
        r"x(?:[^]]+\]?)*",
    ],
)
def test_nested_repetition(pattern):
    with pytest.raises(ValueError, match=re.escape(NESTED)):
        check_repetition(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a|ab)+",
        r"(a|a)*",
        r"(?:\d|x)+",
        r"(?:x(?:a|ab))+",
        r"(?i)(?:a|AB)+",
        r"(?:|a)+",
        r"(?:a+|b)*",
        r"(?:a|b|.)*",
    ],
)
def test_a_choice_that_overlaps(pattern):
    with pytest.raises(ValueError, match=re.escape(OVERLAP)):
        check_repetition(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)?",
        r"(a+){1}",
        r"(a|ab)?",
        r"(?:ab){2,}",
        r"(a|b)+",
        r"(?:foo|bar|baz)+",
        r"((a|b)c)+",
        r"[a+|(]+[)]*",
        r"\(a+\)+",
        r"a{b}+",
        r"(?:[^,]*,)*",
        r"(?:, \w+)*",
        r"(\d+\.)+",
        r"(?:.*\n){0,5}",
        r"(?:\n.*){0,7}",
        r"(?P<value>\S+) > (?P<threshold>\S+)(?: for (?P<model>\S+))?",
        r"(?:[[:alpha:]]+1)*",
        r"(?:\pL+\n)*",
        r"\Q(a+)+\E",
        r"(?)a",
    ],
)
def test_patterns_in_use(pattern):
    check_repetition(pattern)
    compile_pattern(pattern)


ATOMS = st.sampled_from(["a", "b", ".", "[ab]", r"\n", "a|b", "a|aa", "ba|b|ab", "|", ""])
REPEATS = st.sampled_from(["", "*", "+", "?", "{2}", "{0,2}", "*?"])


def grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    piece = st.tuples(inner, REPEATS).map(lambda pair: f"({pair[0]}){pair[1]}")
    return st.lists(st.one_of(inner, piece), min_size=1, max_size=3).map("".join)


@settings(max_examples=800, deadline=None)
@given(st.recursive(st.tuples(ATOMS, REPEATS).map("".join), grouped, max_leaves=6))
def test_what_is_taken_stays_quick_for_a_backtracking_matcher(pattern):
    """40 letters that end in a mismatch: a matcher that tries every division would not come back."""
    try:
        compile_pattern(pattern)
        check_repetition(pattern)
        matcher = re.compile(pattern)
    except (PatternError, ValueError, re.error):
        return
    for text in ("a" * 40, "ab" * 20, "a\n" * 20):
        matcher.fullmatch(f"{text}!")


def test_the_search_takes_long_lines_whole():
    """The last place of a long line is found, and a line that nearly matches everywhere matches nowhere."""
    pattern = compile_bound(r"a+a+b=(?P<bound>\d+)")
    line = "a" * 200_000
    assert pattern.search(line) is None
    assert pattern.search(f"{line}b=7").group("bound") == "7"


def test_a_deeply_nested_pattern_is_no_crash():
    for depth in (200, 490):
        check_repetition("(" * depth + "a" + ")" * depth)
    with pytest.raises(ValueError, match=re.escape(NESTED)):
        check_repetition("(" * 300 + "a+" + ")" * 300 + "+")
