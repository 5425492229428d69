"""Secrets that slipped into a text: what a machine tells of an error is published, so they are cut out first.

It knows the usual spellings and is no filter against code that wants to tell a secret.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Final

from bot.verdict.reading import Reading

HIDDEN: Final = "[redacted]"
MAX_LENGTH: Final = 64 << 10
USERINFO: Final = re.compile(r"(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*@")
"""User and password of a URL, up to the last @ before its host ends."""
_CUT: Final = (
    (USERINFO, f"{HIDDEN}@"),
    (re.compile(r"[^\s:/@'\"]{1,100}:[^\s:/@'\"]{1,100}@(?=[\w-]+\.)"), f"{HIDDEN}@"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL), HIDDEN),
    (re.compile(r"\bgh[oprsu]_[A-Za-z0-9]{6,}"), HIDDEN),
    (re.compile(r"\b(?:github_pat_|glpat-|pypi-|xox[abprs]-|sk-)[A-Za-z0-9_-]{16,}"), HIDDEN),
    (re.compile(r"\b(?:hf|npm)_[A-Za-z0-9]{16,}"), HIDDEN),  # hf_config is a name
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{8,}\b"), HIDDEN),
    (re.compile(r"\bAIza[A-Za-z0-9_-]{20,}"), HIDDEN),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,2}"), HIDDEN),
    (re.compile(r"(\bbearer\s+)[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE), rf"\1{HIDDEN}"),
    (
        re.compile(r"(\bauthorization['\"]?\s?[:=]\s?['\"]?\w{1,20}\s)[^\s'\"]{4,}", re.IGNORECASE),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            r"((?:(?:password|passwd|secret|api[_-]?key|access[_-]?key)['\"]?\s?[:=]"
            r"|(?:token|signature|\bsig)['\"]?=|token['\"]\s?:)\s?['\"]?)[^\s'\"&,;]{4,}",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
)
_WORD: Final = re.compile(r"[A-Za-z0-9+]{32,}={0,2}")
_GIT: Final = re.compile(r"[0-9a-f]{40}")


def redacted(text: str) -> str:
    """The beginning of the text, without them. Redact before a text is cut: half a token looks like none."""
    text = text[:MAX_LENGTH]
    for pattern, instead in _CUT:
        text = pattern.sub(instead, text)
    return _WORD.sub(lambda match: HIDDEN if _is_random(match[0]) else match[0], text)


def without_secrets(reading: Reading) -> Reading:
    """Its texts about machine and error redacted. Names that tell readings apart stay as they are."""

    def safe(text: str | None) -> str | None:
        return None if text is None else redacted(text)

    return replace(
        reading,
        host=safe(reading.host),
        gpu=safe(reading.gpu),
        driver=safe(reading.driver),
        source=safe(reading.source),
        error=safe(reading.error),
    )


def _is_random(word: str) -> bool:
    """Whether digits and letters of both cases alternate as they do not in names; a commit's SHA may stay."""
    if _GIT.fullmatch(word) or sum(map(str.isdigit, word)) < 3:
        return False
    kinds = [(char.isdigit(), char.isupper()) for char in word]
    changes = sum(one != next_one for one, next_one in pairwise(kinds))
    mixed = any(map(str.isupper, word)) and any(map(str.islower, word))
    return changes >= len(word) * (0.5 if mixed else 0.3)
