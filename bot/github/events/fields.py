"""Fields of a payload, which is a stranger's: one that is not what it should be raises."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

MAX_COMMENT: Final = 65_536
SHA: Final = re.compile(r"[0-9a-f]{40}")
LOGIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_FULL_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_LARGEST: Final = 2**63  # what a column of the database holds

Payload = Mapping[str, Any]


def installation(payload: Payload) -> int:
    """0 where the payload has none."""
    found = payload.get("installation")
    return 0 if found is None else whole(found["id"])


def repo(payload: Payload) -> str:
    return full_name(payload["repository"])


def full_name(repository: Payload) -> str:
    return matching(_FULL_NAME, repository["full_name"])


def is_person(account: Payload) -> bool:
    """Bots, ours among them, never command: that is how loops start."""
    return bool(account["type"] == "User")


def login(account: Payload) -> str:
    return matching(LOGIN, account["login"])


def whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("expected a whole number")
    if not 0 <= value < _LARGEST:
        raise ValueError("a number out of range")
    return value


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected text")
    value.encode()  # a lone surrogate, which JSON can spell, is no text: UnicodeEncodeError is a ValueError
    return value


def comment(value: object) -> str:
    return text(value)[:MAX_COMMENT]


def matching(pattern: re.Pattern[str], value: object) -> str:
    found = text(value)
    if pattern.fullmatch(found) is None:
        raise ValueError("unexpected characters")
    return found


def moment(value: object) -> str:
    """ISO text in UTC, of ISO text or of Unix seconds: GitHub sends both."""
    if isinstance(value, int):
        return datetime.fromtimestamp(whole(value), UTC).isoformat()
    found = datetime.fromisoformat(text(value)[:40])
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
