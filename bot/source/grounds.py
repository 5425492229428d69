"""Shell and YAML as far as an edit needs them: what is a comment, and where one may be put."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

import yaml

MAX_YAML: Final = 1 << 18
"""Characters; in a longer file no comment is put, and none of its scalars is looked at."""

_SHELL: Final = re.compile(
    r"""\\(?:\r\n|.) | \$'(?:\\.|[^'\\]++)*+' | '[^']*+' | "(?:\\.|[^"\\]++)*+" | `(?:\\.|[^`\\]++)*+`
    | (?P<comment>(?<![^\s;&|()])\#[^\n]*)
    | <<< | <<(?P<tabs>-?)[ \t]*+(?:'(?P<single>[^'\n]+)'|"(?P<double>[^"\n]+)"|\\?(?P<bare>\w+))
    | (?P<open>['"`]) | (?P<line>\n)""",
    re.DOTALL | re.VERBOSE,
)
_YAML_COMMENT: Final = re.compile(
    r"""^(?:[^'"\n\#]|(?<=[^\s])\#|'[^'\n]*+'|"[^"\n]*+")*+(?P<comment>\#[^\n]*)""", re.MULTILINE | re.VERBOSE
)
_OTHER_BREAKS: Final = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Range = tuple[int, int]


@dataclass(slots=True)
class Grounds:
    """Ranges of characters, in order: comments, and where a line that starts there takes no comment above."""

    comments: list[Range] = field(default_factory=list)
    closed: list[Range] = field(default_factory=list)

    def is_comment(self, offset: int) -> bool:
        return _within(self.comments, offset)

    def takes_comment(self, line_start: int) -> bool:
        return not _within(self.closed, line_start)


def grounds(path: str, text: str) -> Grounds:
    """Of a shell or YAML file, told by the end of its name; no other file takes a comment."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".sh", ".bash"):
        return _shell(text)
    if suffix in (".yaml", ".yml"):
        return _yaml(text)
    return Grounds(closed=[(-1, len(text))])


def yaml_scalars(path: str, text: str) -> list[str] | None:
    """The scalars of a YAML file in order; None of any other file, and where it cannot be read."""
    events = _scalars(text) if PurePosixPath(path).suffix.lower() in (".yaml", ".yml") else None
    return None if events is None else [event.value for event in events]


def yaml_is_shared(path: str, text: str, offset: int) -> bool:
    """Whether an alias takes up the scalar at the offset, or a mapping or list that holds it."""
    if PurePosixPath(path).suffix.lower() not in (".yaml", ".yml"):
        return False
    anchors: set[str] = set()
    aliases: set[str] = set()
    open_ones: list[str] = []
    for event in _events(text) or []:
        anchor = getattr(event, "anchor", None) or ""
        if isinstance(event, yaml.AliasEvent):
            aliases.add(anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            open_ones.append(anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            open_ones.pop()
        elif isinstance(event, yaml.ScalarEvent) and _spans(event, offset):
            anchors = {anchor, *open_ones}
    return bool(anchors & aliases)


def _spans(event: Any, offset: int) -> bool:
    return bool(event.start_mark.index <= offset < event.end_mark.index)


def _shell(text: str) -> Grounds:
    """A line is closed after a backslash, in a quote and in a here-document."""
    found = Grounds()
    documents: list[tuple[str, bool]] = []
    offset = 0
    while (match := _SHELL.search(text, offset)) is not None:
        start, offset = match.span()
        kind = match.lastgroup
        if kind == "comment":
            found.comments.append((start - 1, offset))
        elif kind == "open":
            found.closed.append((start, len(text)))
            break
        elif kind in ("single", "double", "bare"):
            documents.append((match[kind], match["tabs"] == "-"))
        elif kind == "line" and documents:
            for delimiter, tabs in documents:
                offset = _document_end(text, offset, delimiter, tabs)
            found.closed.append((start, offset - 1))
            documents = []
        elif kind != "line" and "\n" in match[0]:
            found.closed.append((start, offset + match[0].startswith("\\")))
    return found


def _document_end(text: str, start: int, delimiter: str, tabs: bool) -> int:
    """Where the line after the here-document starts."""
    blanks = r"\t*" if tabs else ""
    end = re.compile(rf"^{blanks}{re.escape(delimiter)}\r?(?:\n|\Z)", re.MULTILINE).search(text, start)
    return len(text) + 1 if end is None else end.end()


def _yaml(text: str) -> Grounds:
    """A line is closed inside a scalar of several lines; every line is where the file cannot be read.

    A line that starts with # inside a block of shell counts as a comment too.
    """
    found = Grounds()
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for match in _YAML_COMMENT.finditer(text):
        start, stop = match.span("comment")
        found.comments.append((start - 1, stop))
    events = _scalars(text)
    if events is None:
        found.closed.append((-1, len(text)))
        return found
    for event in events:
        first, last = event.start_mark.line, event.end_mark.line
        if first < last:
            end = starts[last] if last < len(starts) else len(text)
            found.closed.append((starts[first], end + (event.end_mark.column > 0)))
    return found


def _scalars(text: str) -> list[Any] | None:
    events = _events(text)
    return None if events is None else [event for event in events if isinstance(event, yaml.ScalarEvent)]


def _events(text: str) -> list[Any] | None:
    """Of the parser; aliases are not followed."""
    if len(text) > MAX_YAML or _OTHER_BREAKS.search(text):
        return None
    try:
        return list(yaml.parse(text, Loader=_LOADER))
    except yaml.YAMLError:
        return None


def _within(ranges: list[Range], offset: int) -> bool:
    """Whether a range holds the offset, its ends left out."""
    index = bisect.bisect_left(ranges, (offset,)) - 1
    return index >= 0 and ranges[index][0] < offset < ranges[index][1]
