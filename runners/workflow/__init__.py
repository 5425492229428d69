"""The workflow file that a repository gets: the rerun job on its self-hosted runners."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_TEMPLATE: Final = Path(__file__).with_name("kl-rerun.yml")
_OPTIONS: Final = "options: [gpu]"
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)

__all__ = ["is_runner_label", "kl_rerun_yml"]


def is_runner_label(label: str) -> bool:
    """Letters, digits, dots, dashes and underscores, as runner labels of these projects are."""
    return _LABEL.fullmatch(label) is not None


def kl_rerun_yml(runner_labels: Sequence[str]) -> str:
    """kl-rerun.yml that can ask for these labels and no other. Raises ValueError without a usable label."""
    labels = list(dict.fromkeys(runner_labels))
    if not labels or not all(map(is_runner_label, labels)):
        raise ValueError("runner labels: at least one; letters, digits, '.', '-' and '_' only")
    quoted = ", ".join(f'"{label}"' for label in labels)  # quoted: YAML would read 8080 or on as no text
    return _TEMPLATE.read_text(encoding="utf-8").replace(_OPTIONS, f"options: [{quoted}]")
