"""The workflow file that a repository gets: the rerun job on its self-hosted runners."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bot import __version__

PACKAGE: Final = f"kl-triage=={__version__}"
PYTHON: Final = "python3"

_TEMPLATE: Final = Path(__file__).with_name("kl-rerun.yml")
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
# One word: pip and a shell would each read a space in a way of its own.
_PATH: Final = r"[A-Za-z0-9_./][A-Za-z0-9_./+-]{0,300}"
_NUMBER: Final = r"[0-9]{1,6}"
_PACKAGES: Final = tuple(
    re.compile(form)
    for form in (
        rf"kl-triage=={_NUMBER}(?:\.{_NUMBER}){{0,5}}(?:(?:a|b|rc){_NUMBER})?(?:\.post{_NUMBER})?(?:\.dev{_NUMBER})?",
        r"git\+https://[A-Za-z0-9][A-Za-z0-9.-]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){1,5}@[0-9a-f]{40}",
        rf"{_PATH}\.whl",
    )
)
_INTERPRETER: Final = re.compile(_PATH)
_PYTHON: Final = re.compile(r"/.*/bin/python[0-9.]{0,8}")

__all__ = ["PACKAGE", "PYTHON", "is_interpreter", "is_pinned", "is_runner_label", "kl_rerun_yml"]


def is_runner_label(label: str) -> bool:
    """Letters, digits, dots, dashes and underscores, as runner labels of these projects are."""
    return _LABEL.fullmatch(label) is not None


def is_pinned(package: str) -> bool:
    """An index version, a git URL with its full commit, a wheel, or the absolute path of an interpreter that
    has kl-triage already: what says today which code runs tomorrow."""
    return any(form.fullmatch(package) for form in _PACKAGES) or _is_own_interpreter(package)


def _is_own_interpreter(package: str) -> bool:
    """…/bin/python3.11, or a program of this machine; never what the workflow would hand to pip."""
    if not package.startswith("/") or package.endswith(".whl") or not is_interpreter(package):
        return False
    return _PYTHON.fullmatch(package) is not None or (
        os.path.isfile(package) and os.access(package, os.X_OK)  # noqa: PTH113
    )


def is_interpreter(python: str) -> bool:
    """A program's name or path, one word: python3, .venv/bin/python."""
    return _INTERPRETER.fullmatch(python) is not None


def kl_rerun_yml(runner_labels: Sequence[str], package: str = PACKAGE, python: str = PYTHON) -> str:
    """kl-rerun.yml that can ask for these labels and no other, measures with `package` and runs the tests
    with `python`. Raises ValueError for a label, package or interpreter that is none."""
    labels = list(dict.fromkeys(runner_labels))
    if not labels or not all(map(is_runner_label, labels)):
        raise ValueError("runner labels: at least one; letters, digits, '.', '-' and '_' only")
    if not is_pinned(package) or not is_interpreter(python):
        raise ValueError("package and python: see is_pinned and is_interpreter")
    text = _TEMPLATE.read_text(encoding="utf-8")
    # Quoted: YAML would read 8080 or on as no text.
    for setting, value in (
        ("options: [gpu]", f"options: [{', '.join(map(_quoted, labels))}]"),
        ("KL_TRIAGE_PACKAGE: kl-triage==0", f"KL_TRIAGE_PACKAGE: {_quoted(package)}"),
        ("PROJECT_PYTHON: python3", f"PROJECT_PYTHON: {_quoted(python)}"),
    ):
        text = text.replace(setting, value)
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
