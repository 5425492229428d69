"""Numbers as KL tests print them: bare, `np.float64(…)` of numpy 2, `tensor(…)`, nan and inf."""

from __future__ import annotations

import math
import re
from typing import Final

MAX_PROMPTS: Final = 4096

_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)")
_WRAPPED: Final = re.compile(r"(?:(?:np|numpy)\.)?(?:float(?:16|32|64)|tensor)\(([^()]*)\)")
_KEYWORDS: Final = re.compile(r", ?(?:device|dtype|grad_fn|requires_grad)=[^,()]*")
"""What torch adds to a tensor's number."""
_KL_ENTRY: Final = re.compile(r"""['"]kl_div['"]: ?([^,{}\s]+)""")


def number(text: str) -> float | None:
    """The number that `text` is, or None. Never a part of it: '0.003,' is no number."""
    text = _KEYWORDS.sub("", text.strip())
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped:
        text = wrapped[1].strip()
    return float(text) if len(text) <= 64 and _NUMBER.fullmatch(text) else None


def number_list(text: str) -> tuple[float, ...]:
    """The numbers of a printed list '[a, b, …]'; empty if it is not closed or holds anything else."""
    if not (text.startswith("[") and text.endswith("]")):
        return ()
    items = _KEYWORDS.sub("", text)[1:-1].split(",", MAX_PROMPTS)
    values = [number(item) for item in items]
    if len(items) > MAX_PROMPTS or any(value is None for value in values):
        return ()
    return tuple(value for value in values if value is not None)


def printed_threshold(text: str) -> float | None:
    """The KL bound in what follows `ACC_THRESHOLDS=`: a number, a dict, or a dict of dicts that agree."""
    bounds = {number(text)}
    if text.startswith("{") and text.endswith("}"):
        bounds = {number(entry[1]) for entry in _KL_ENTRY.finditer(text)}
    bound = bounds.pop() if len(bounds) == 1 else None
    return bound if bound is not None and math.isfinite(bound) else None
