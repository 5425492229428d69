"""What is said of a command that was not understood. Markdown; the words of strangers are in inline code."""

from __future__ import annotations

from typing import Final

from bot.report.markdown import code

_WORD: Final = 60
SEE_HELP: Final = "`/rerun-kl help` lists what is understood."


def unknown(word: str, nearest: str | None) -> str:
    """A word that means nothing here, and the nearest that does."""
    if nearest is None:
        return f"{code(word, _WORD)} is not understood; {SEE_HELP}"
    return f"{code(word, _WORD)} is not understood; did you mean {code(nearest, _WORD)}?"


def wrong_value(name: str, may_be: str, text: str) -> str:
    given = f", not {code(text, _WORD)}" if text else ""
    return f"{code(f'{name}=')} takes {may_be}{given}."


def stands_alone(verb: str) -> str:
    return f"{code(verb)} stands alone, as in {code(f'/rerun-kl {verb}')}; nothing of this command was done."


def given_twice(word: str) -> str:
    return f"{code(word, _WORD)} says something else than a word before it; give each kind once."


def too_many_launches(launches: int, runs: int) -> str:
    return (
        f"{code(f'launches={launches}')} needs a run on each: at least {code(f'n={launches}')}, not {runs}."
    )


def part_of_a_sha(word: str) -> str:
    return f"{code(word, _WORD)} is no full SHA: give all 40 hex digits of the head commit, in small letters."
