"""Small packs, their errors, and what a pack's forms say of a text."""

from __future__ import annotations

from pathlib import Path

from bot.logs import Crossing, find_crossing
from rules import Pack, PackErrors, load_named, load_pack, repository_pack

PATTERN = r"kl=(?P<value>\S+) over (?P<threshold>\S+)"
PACK = f"""\
name: mine
tests: ["test/kl/test_*.py"]
forms:
  - name: over
    pattern: '{PATTERN}'
    fails_when: above
attributes: [kl_threshold]
runners: [gpu]
launch_minutes: 3
repeat_minutes: 1
"""


def pack_file(folder: Path, text: str) -> str:
    path = folder / "pack.yaml"
    path.write_text(text)
    return str(path)


def pack_errors(folder: Path, text: str) -> list[str]:
    """Of a pack's file, without its name."""
    path = pack_file(folder, text)
    found = load_pack(path)
    assert isinstance(found, PackErrors), found
    return [error.removeprefix(f"{path}:") for error in found.errors]


def errors(text: str | bytes) -> list[str]:
    """Of a repository's file, without its name."""
    found = repository_pack(text, "f")
    assert isinstance(found, PackErrors), found
    return [error.removeprefix("f:") for error in found.errors]


def named(name: str) -> Pack:
    pack = load_named(name)
    assert isinstance(pack, Pack), pack
    return pack


def crossings(pack: str, text: str) -> list[Crossing]:
    """What the forms of a pack say, line by line; the lines of a match are not read again."""
    forms, lines = named(pack).scan_forms.forms, text.split("\n")
    found, index = [], 0
    while index < len(lines):
        crossing = find_crossing("\n".join(lines[index:]), forms)
        if crossing is not None:
            found.append(crossing)
        index += 1 if crossing is None else crossing.lines
    return found


def stated(pack: str, text: str) -> list[tuple[str, float | None, float | None, str | None]]:
    """Form, value, threshold and label of each crossing."""
    return [(c.rule, c.value, c.threshold, c.label) for c in crossings(pack, text)]


def printed(pack: str, line: str) -> list[tuple[str, dict[str, str]]]:
    """Each print of the pack that matches from the start of the line."""
    found = []
    for form in named(pack).scan_forms.prints:
        match = form.pattern.match(line) if form.hint in line else None
        if match is not None:
            found.append((form.name, {name: text for name, text in match.groupdict().items() if text}))
    return found
