"""Who is calling: App JWTs, installation tokens, people's tokens, and signed links to blobs."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from itsdangerous import BadSignature, SignatureExpired, URLSafeTimedSerializer

from bot.demo.github.config import DemoConfig
from bot.demo.github.errors import ApiError

LEVELS = {"read": 1, "write": 2, "admin": 3}
MAX_JWT_LIFE_S = 600


@dataclass(frozen=True, slots=True)
class Installation:
    """A token of the App on this repository. `permissions`: name to read or write."""

    permissions: dict[str, str]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Caller:
    """One of: the App itself (`app`), its installation, a person (`login`), or nobody."""

    app: bool = False
    installation: Installation | None = None
    login: str | None = None


class Tokens:
    def __init__(self, config: DemoConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._installations: dict[str, Installation] = {}
        self._links = URLSafeTimedSerializer(secrets.token_bytes(32))

    def caller(self, header: str | None) -> Caller:
        """Raises ApiError 401 for credentials that are not good; no header is nobody."""
        if not header:
            return Caller()
        scheme, _, token = header.strip().partition(" ")
        if scheme.lower() not in ("token", "bearer") or not token:
            raise ApiError(401, "Bad credentials")
        if token.count(".") == 2:
            self._check_jwt(token)
            return Caller(app=True)
        for login, user in self._config.users.items():
            if secrets.compare_digest(user.token.encode(), token.encode()):
                return Caller(login=login)
        with self._lock:
            installation = self._installations.get(token)
        if installation is None or installation.expires_at <= datetime.now(UTC):
            raise ApiError(401, "Bad credentials")
        return Caller(installation=installation)

    def _check_jwt(self, token: str) -> None:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._config.app.public_key,
                algorithms=["RS256"],
                options={"require": ["exp", "iat", "iss"], "verify_iss": False},
                leeway=60,
            )
        except jwt.ExpiredSignatureError:
            raise ApiError(
                401, "'Expiration time' claim ('exp') must be a numeric value in the future"
            ) from None
        except jwt.PyJWTError:
            raise ApiError(401, "A JSON web token could not be decoded") from None
        if claims["exp"] > time.time() + MAX_JWT_LIFE_S + 60:
            raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")
        if str(claims["iss"]) != str(self._config.app.id):
            raise ApiError(401, "Integration not found")

    def new_installation_token(self, asked: dict[str, str] | None) -> tuple[str, Installation]:
        """At most the App's own permissions. Raises ApiError 422 for more."""
        granted = self._config.app.granted
        for name, level in (asked or {}).items():
            if LEVELS.get(level, 99) > LEVELS.get(granted.get(name, ""), 0):
                raise ApiError(422, "The permissions requested are not granted to this installation.")
        ttl = timedelta(seconds=self._config.installation_token_ttl_s)
        installation = Installation(asked or dict(granted), datetime.now(UTC) + ttl)
        token = "ghs_" + secrets.token_hex(18)
        with self._lock:
            self._installations[token] = installation
        return token, installation

    def sign_link(self, kind: str, number: int) -> str:
        return str(self._links.dumps([kind, number]))

    def read_link(self, text: str) -> tuple[str, int]:
        """Raises ApiError 410 for an old link, 404 for a forged one."""
        try:
            kind, number = self._links.loads(text, max_age=self._config.blob_ttl_s)
        except SignatureExpired:
            raise ApiError(410, "This link has expired") from None
        except BadSignature:
            raise ApiError(404, "Not Found") from None
        return str(kind), int(number)
