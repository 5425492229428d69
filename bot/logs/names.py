"""Names of tests as unittest and pytest print them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bot.logs.paths import relative_path

_UNITTEST: Final = re.compile(r"(?:ERROR|FAIL): (\w+) \(([\w.<>]+)\)(.*)")
_HEAD: Final = re.compile(r"\s*(\w+) \(([\w.<>]+)\)(?:(?: \[[^]]*\]| \([^)]*\))* \.\.\. ?(.*))?")
_PYTEST: Final = re.compile(r"_+ (?:ERROR at (?:setup|teardown) of )?(\S.*?) _+")
_COLLECTING: Final = re.compile(r"_+ ERROR collecting (\S+\.py) _+")
_NODE: Final = re.compile(r"(\S+?\.py)::((?:\w+::)*\w+(?:\[.*?\](?![^ ]))?)(?: (.*))?")
_DOTTED: Final = re.compile(r"((?:\w+\.)*)(\w+(?:\[.*?\])?)((?: \[[^]]*\]| \([^)]*\))*)")
_SUBTEST: Final = re.compile(r" (?:\[(.*?)\]|\((.*?)\))")
_PARAMETER: Final = re.compile(r"\w+=(['\"]?)([^'\",=]*)\1")
_NOT_A_CLASS: Final = {"__main__", "_FailedTest"}
_MODULE_LEVEL: Final = {"setUpModule", "tearDownModule"}
MAX_NAME: Final = 300


@dataclass(frozen=True, slots=True)
class TestName:
    """Class, method and file as far as they are known. The method carries pytest's parameter id."""

    cls: str | None
    method: str | None
    path: str | None = None

    def under(self, path: str | None) -> str | None:
        """path::Class.method, or the part of it that is known; `path` None: the name's own."""
        name = ".".join(part for part in (self.cls, self.method) if part)
        return "::".join(part for part in (path or self.path, name) if part) or None

    def agrees(self, other: TestName) -> bool:
        """The same test, as far as the two names tell."""
        paths = self.path is None or other.path is None or self.path == other.path
        return paths and self.key == other.key

    @property
    def key(self) -> tuple[str | None, str | None]:
        return self.cls, self.method

    @property
    def known(self) -> bool:
        return self.cls is not None or self.method is not None


UNKNOWN: Final = TestName(None, None)
NO_NAME: Final = "unknown"
"""A reading must name its test; this stands where the log does not."""


def unittest_header(line: str) -> tuple[TestName, str | None] | None:
    """The test and the subtest's label of a header in unittest's list of failures.

    It reads (module.Class.method) from Python 3.11 on, (module.Class) before.
    """
    match = _UNITTEST.match(line)
    return match and (_unittest_name(match[1], match[2]), _subtest(match[3]))


def unittest_head(line: str) -> tuple[TestName, str | None] | None:
    """The test of a line of `unittest -v`, and what follows ' ... ' on it (None: a docstring follows)."""
    match = _HEAD.fullmatch(line)
    if match is None or (match[3] is None and not match[1].startswith("test")):
        return None
    return _unittest_name(match[1], match[2]), match[3]


def pytest_header(line: str) -> tuple[TestName, str | None] | None:
    """The same for a header between underscores. `ERROR collecting` names a file alone."""
    if collecting := _COLLECTING.fullmatch(line):
        return TestName(None, None, relative_path(collecting[1])), None
    match = _PYTEST.fullmatch(line)
    if match is None or len(match[1]) > MAX_NAME:
        return None
    if node := node_id(match[1]):
        return node[0], None
    dotted = _DOTTED.fullmatch(match[1])
    return dotted and (TestName(dotted[1].rstrip(".") or None, dotted[2]), _subtest(dotted[3]))


def node_id(text: str) -> tuple[TestName, str] | None:
    """The test that a line starts with as `path.py::Class::method[id]`, and what follows it."""
    match = _NODE.fullmatch(text)
    if match is None or len(match[2]) > MAX_NAME:
        return None
    name, bracket, parameters = match[2].partition("[")
    classes, _, method = name.rpartition("::")
    path = relative_path(match[1])
    return TestName(classes.replace("::", ".") or None, method + bracket + parameters, path), match[3] or ""


def _unittest_name(method: str, dotted: str) -> TestName:
    parts = dotted.split(".")
    if len(parts) > 1 and parts[-1] == method:
        parts.pop()
    if method in _MODULE_LEVEL or parts[-1] in _NOT_A_CLASS:
        return UNKNOWN
    return TestName(parts[-1], method)


def _subtest(suffix: str) -> str | None:
    """The label of a subtest: its message, or its only parameter's value, or all of its parameters."""
    match = _SUBTEST.match(suffix)
    if match is None:
        return None
    parameter = _PARAMETER.fullmatch(match[2] or "")
    return ((parameter[2] if parameter else match[1] or match[2]) or "")[:MAX_NAME] or None
