"""Is a delivery GitHub's?"""

from __future__ import annotations

import hashlib
import hmac


def signature_is_valid(body: bytes, *, signature: str | None, secret: str) -> bool:
    """HMAC-SHA256 over the bytes as they came, compared in constant time."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), (signature or "").encode("utf-8", "replace"))
