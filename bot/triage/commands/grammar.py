"""Commands in comments.

    command = "/rerun-kl" [ " " ( verb | word { " " word } ) ]      at the start of a line
    verb    = "explain" | "status" | "stop" | "help"                alone
    word    = Class.method             the red KL test that is meant; without it all of the pull request
            | 40 hex digits            the head commit: how the code of a fork is bound
            | "n=" 1..200              runs of head, and as many of base, in the first round
            | "launches=" 1..20        server starts of each that they are spread over
            | "base=" 40 hex digits    the commit to compare with
            | "gpu=" label             the runner

Words come in any order, each kind once. Only lines of the author's own are looked at: see `own_lines`.
Blanks are spaces, tabs and no-break spaces. Equal commands of a comment are one. Of the lines that begin like
a command the first MAX_LINES are read.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bot.report import misreadings
from bot.triage.commands.own_lines import own_lines

MAX_COMMANDS: Final = 5
"""So many of a comment are obeyed."""
MAX_LINES: Final = 20
_COMMAND: Final = re.compile(r"/rerun-kl(?:[ \t]+(\S.*))?")
_TEST: Final = re.compile(r"[A-Za-z_]\w{0,199}\.[A-Za-z_]\w{0,199}(?:\[\S{1,200}\])?", re.ASCII)
_SHA: Final = re.compile(r"[0-9a-f]{40}")
_PART_OF_SHA: Final = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Verb(StrEnum):
    EXPLAIN = "explain"
    STATUS = "status"
    STOP = "stop"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class Rerun:
    """Measure again; None where the command does not say. `runs` are those of one arm."""

    only: str | None = None
    head: str | None = None
    runs: int | None = None
    launches: int | None = None
    base: str | None = None
    runner: str | None = None


@dataclass(frozen=True, slots=True)
class Misunderstood:
    """`sentence` is Markdown: what was not understood, and the nearest that would be. `word`: the unknown
    one, which may be a part of a test's name."""

    sentence: str
    word: str = ""


Asked = Rerun | Verb | Misunderstood


@dataclass(frozen=True, slots=True)
class Command:
    """`text` as it was written, but for blanks."""

    text: str
    asked: Asked


@dataclass(frozen=True, slots=True)
class _Option:
    """A word with a value: the field it sets, what it may be, and an example."""

    field: str
    may_be: str
    example: str
    largest: int | None = None
    pattern: re.Pattern[str] | None = None

    def read(self, text: str) -> str | int | None:
        """None: not what it may be."""
        if self.pattern is not None:
            return text if self.pattern.fullmatch(text) else None
        whole = text.isascii() and text.isdecimal() and len(text) <= 4
        return int(text) if whole and 1 <= int(text) <= (self.largest or 0) else None


OPTIONS: Final[Mapping[str, _Option]] = {
    "n": _Option("runs", "a whole number from 1 to 200", "12", largest=200),
    "launches": _Option("launches", "a whole number from 1 to 20", "4", largest=20),
    "base": _Option("base", "the full SHA of a commit (40 hex digits)", "<sha>", pattern=_SHA),
    "gpu": _Option("runner", "the label of a runner", "<label>", pattern=_LABEL),
}
# What people write for a word, beside slips of the pen.
_OTHER_WORDS: Final = {
    "runs": "n",
    "repeats": "n",
    "runner": "gpu",
    "cancel": "stop",
    "abort": "stop",
    "why": "explain",
}
_NEAR: Final = {**{name: name for name in (*OPTIONS, *Verb)}, **_OTHER_WORDS}


def parse(body: str) -> tuple[Command, ...]:
    """The commands of a comment, in order, equal ones once."""
    return _once(map(_read, _lines(body)))


def fresh(body: str, before: str) -> tuple[Command, ...]:
    """The commands that an edit added; all of them where `before` is empty."""
    known = Counter(_read(line).asked for line in _lines(before))
    added = []
    for command in map(_read, _lines(body)):
        known[command.asked] -= 1
        if known[command.asked] < 0:
            added.append(command)
    return _once(added)


def _lines(body: str) -> list[str]:
    """The words of each command, with one blank between them."""
    plain = (line.replace("\u00a0", " ").rstrip() for line in own_lines(body))
    matches = [match for line in plain if (match := _COMMAND.fullmatch(line))]
    return [" ".join((match.group(1) or "").split()) for match in matches[:MAX_LINES]]


def _once(commands: Iterable[Command]) -> tuple[Command, ...]:
    found: dict[Asked, Command] = {}
    for command in commands:
        found.setdefault(command.asked, command)
    return tuple(found.values())


def _read(line: str) -> Command:
    words = line.split(" ") if line else []
    return Command(f"/rerun-kl {line}".rstrip(), _asked(words))


def _asked(words: list[str]) -> Asked:
    verb = next((word for word in words if word in set(Verb)), None)
    if verb is not None:
        return Verb(verb) if len(words) == 1 else Misunderstood(misreadings.stands_alone(verb))
    given: dict[str, str | int] = {}
    for word, following in zip(words, [*words[1:], ""], strict=False):
        read = _word(word, following)
        if isinstance(read, Misunderstood):
            return read
        field, value = read
        if given.setdefault(field, value) != value:
            return Misunderstood(misreadings.given_twice(word))
    rerun = Rerun(**given)  # type: ignore[arg-type]
    if rerun.runs is not None and rerun.launches is not None and rerun.launches > rerun.runs:
        return Misunderstood(misreadings.too_many_launches(rerun.launches, rerun.runs))
    return rerun


def _word(word: str, following: str) -> tuple[str, str | int] | Misunderstood:
    """The field a word sets, and its value."""
    name, equals, text = word.partition("=")
    option = OPTIONS.get(name) if equals else None
    if option is not None:
        value = option.read(text)
        return (
            Misunderstood(misreadings.wrong_value(name, option.may_be, text))
            if value is None
            else (option.field, value)
        )
    if _SHA.fullmatch(word):
        return "head", word
    if _TEST.fullmatch(word):
        return "only", word.partition("[")[0]  # all parameters of a test share a bound
    if _PART_OF_SHA.fullmatch(word):
        return Misunderstood(misreadings.part_of_a_sha(word))
    return Misunderstood(misreadings.unknown(word, _nearest(word, following)), word)


def _nearest(word: str, following: str) -> str | None:
    """The word that was probably meant; its value may stand behind it, as in `--n 12`."""
    if "::" in word:
        test = (
            ".".join(word.split("::")[-2:])
            if "." not in word.rpartition("::")[2]
            else word.rpartition("::")[2]
        )
        return test if _TEST.fullmatch(test) else None
    name, equals, text = word[:80].lstrip("-").partition("=")
    if not equals and name in OPTIONS and OPTIONS[name].read(following) is not None:
        text = following
    close = difflib.get_close_matches(name.casefold(), _NEAR, n=1, cutoff=0.7)
    if not close:
        return None
    meant = _NEAR[close[0]]
    return f"{meant}={text or OPTIONS[meant].example}" if meant in OPTIONS else meant
