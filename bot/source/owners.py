"""CODEOWNERS: who is asked about a file. The last pattern that matches a path wins.

    # comment
    *               @org/everybody
    /test/kl/       @dev-a @org/kl-team      # folders: all that is below
    docs/*          docs@example.org         # what lies in the folder itself, nothing deeper
    /test/data/                              # nobody

Patterns are those of a .gitignore without `!`, `[...]` and escapes; a line that uses these does not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks for the file; the first that is there counts."""
MAX_BYTES: Final = 3 << 20
"""GitHub does not load a larger file."""
MAX_LINE: Final = 2_000
_PERSON: Final = re.compile(r"@([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))")
_TEAM: Final = re.compile(r"@([A-Za-z0-9](?:[A-Za-z0-9-]{0,38}))/([A-Za-z0-9._-]{1,100})")
_UNSUPPORTED: Final = ("!", "[", "\\")


@dataclass(frozen=True, slots=True)
class Owners:
    """Logins, and slugs of teams of the organization; owners by e-mail address cannot be asked."""

    people: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()


def owners(data: bytes, path: str, organization: str) -> Owners:
    """Who owns `path` by this file; nobody where no line matches or the last that does names nobody."""
    if len(data) > MAX_BYTES:
        return Owners()
    named: Sequence[str] = ()
    parts = path.split("/")
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.partition("#")[0].split() if len(line) <= MAX_LINE else []
        if words and not any(mark in words[0] for mark in _UNSUPPORTED) and _matches(words[0], parts):
            named = words[1:]
    people = [found[1] for name in named if (found := _PERSON.fullmatch(name))]
    teams = [
        found[2]
        for name in named
        if (found := _TEAM.fullmatch(name)) and found[1].lower() == organization.lower()
    ]
    return Owners(tuple(dict.fromkeys(people)), tuple(dict.fromkeys(teams)))


def _matches(pattern: str, parts: Sequence[str]) -> bool:
    """`parts` are the folders of the path and its name."""
    wanted = [part for part in pattern.strip("/").split("/") if part]
    if not wanted:
        return False
    anchored = pattern.startswith("/") or len(wanted) > 1
    # A pattern with a slash inside counts from the root; one without matches at any depth.
    glob = wanted if anchored or wanted[0] == "**" else ["**", *wanted]
    # A name takes in what is below a folder of that name; `folder/*` only what lies in it.
    deeper = pattern.endswith("/") or wanted[-1] != "*" or not anchored
    return _reaches(glob, parts, deeper=deeper, folder=pattern.endswith("/"))


def _reaches(glob: Sequence[str], parts: Sequence[str], *, deeper: bool, folder: bool) -> bool:
    """Each set holds how many parts the pattern may have taken: linear in both, whatever the stars."""
    taken = {0}
    for wanted in glob:
        if wanted == "**":
            taken = set(range(min(taken), len(parts) + 1)) if taken else set()
        else:
            taken = {at + 1 for at in taken if at < len(parts) and _same(wanted, parts[at])}
    return any((at == len(parts) and not folder) or (deeper and 0 < at < len(parts)) for at in taken)


def _same(wanted: str, name: str) -> bool:
    """`*` and `?` inside one part of a path; greedy, going back to the last star only."""
    at, star, mark, place = 0, -1, 0, 0
    while place < len(name):
        if at < len(wanted) and wanted[at] in (name[place], "?") and wanted[at] != "*":
            at, place = at + 1, place + 1
        elif at < len(wanted) and wanted[at] == "*":
            star, mark, at = at, place, at + 1
        elif star >= 0:
            at, mark = star + 1, mark + 1
            place = mark
        else:
            return False
    return all(char == "*" for char in wanted[at:])
