"""Hidden marks in the bot's own texts: how it finds its comment and its pull request again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

COMMENT: Final = "v1"
BUMP: Final = "bump-v1"
DATA_LIMIT: Final = 8_000
_KEY_LIMIT: Final = 1_000
_MARKER: Final = re.compile(r"<!-- kl-triage:([a-z0-9-]{1,20}) key=(\S+)(?: sha=(\S+))? -->")


def marker(kind: str, key: str, sha: str | None = None) -> str:
    """`<!-- kl-triage:v1 key=… sha=… -->`; the key is percent-encoded and cannot end the comment early."""
    at = "" if sha is None else f" sha={_encoded(sha)}"
    return f"<!-- kl-triage:{kind} key={_encoded(key)}{at} -->"


def find_marker(text: str, kind: str = COMMENT) -> str | None:
    """The key of a text that begins with a marker of this kind.

    A key over 1,000 characters comes back as its digest. Anybody can paste a marker: the author of the text
    is part of the question.
    """
    match = _MARKER.match(text)
    return unquote(match[2], errors="surrogatepass") if match and match[1] == kind else None


def data(facts: Mapping[str, object], optional: tuple[str, ...] = ()) -> str:
    """Machine-readable facts in a hidden comment; the fields named optional go first when it is too long."""
    left = dict(facts)
    for name in (None, *optional):
        if name in left:
            del left[name]
            left["left_out"] = True
        text = json.dumps(left, ensure_ascii=True, sort_keys=True, allow_nan=False, separators=(",", ":"))
        # All three stand inside JSON strings only, where the escape means the same.
        text = text.replace("--", "-\\u002d").replace("<", "\\u003c").replace(">", "\\u003e")
        if len(text) <= DATA_LIMIT:
            return f"<!-- kl-triage:data {text} -->"
    return '<!-- kl-triage:data {"left_out":true} -->'


def _encoded(text: str) -> str:
    encoded = quote(text, safe="/:@.,+=", errors="surrogatepass").replace("--", "-%2D")
    if len(encoded) <= _KEY_LIMIT:
        return encoded
    return "sha256:" + hashlib.sha256(encoded.encode()).hexdigest()
