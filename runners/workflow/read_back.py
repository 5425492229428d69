"""What a repository's kl-rerun.yml was written with, and whether this version would write the same."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from runners.workflow import kl_rerun_yml

_OPTIONS: Final = re.compile(r"^ +options: (\[[^\n]{0,20000}\])$", re.MULTILINE)
_PACKAGE: Final = re.compile(r'^ +KL_TRIAGE_PACKAGE: ("[^"\n]{0,400}")$', re.MULTILINE)
_PYTHON: Final = re.compile(r'^ +PROJECT_PYTHON: ("[^"\n]{0,400}")$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RerunFile:
    """`is_current`: apart from its three settings it is what this version of kl-triage writes."""

    labels: tuple[str, ...]
    package: str
    python: str
    is_current: bool


def read_back(text: str) -> RerunFile | None:
    """None where it is no file that `kl-triage init` wrote, in this version or another."""
    text = text.replace("\r\n", "\n")
    found = [pattern.search(text) for pattern in (_OPTIONS, _PACKAGE, _PYTHON)]
    try:
        options, package, python = (json.loads(match[1]) for match in found if match)
        labels = tuple(map(str, options))
    except (ValueError, TypeError):
        return None
    return RerunFile(labels, package, python, _written(labels, package, python) == text)


def _written(labels: tuple[str, ...], package: str, python: str) -> str | None:
    try:
        return kl_rerun_yml(labels, package, python)
    except ValueError:
        return None
