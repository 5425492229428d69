"""Plumbing of the REST routes: who asks, may they, what did they send, and pages of lists."""

from __future__ import annotations

import base64
import functools
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import Response, g, jsonify, request
from flask.typing import ResponseReturnValue

from bot.demo.github.config import Role
from bot.demo.github.errors import ApiError, not_found
from bot.demo.github.state import Json, User
from bot.demo.github.tokens import LEVELS, Caller
from bot.demo.github.world import World, the_world

T = TypeVar("T")
View = Callable[..., ResponseReturnValue]
ROLES: tuple[Role, ...] = ("none", "read", "triage", "write", "maintain", "admin")
RATE_LIMIT = 15_000


@dataclass(frozen=True, slots=True)
class Need:
    """What a call takes: a permission of the App, or a role of a person. `people` False: Apps only."""

    permission: str
    level: str
    role: Role
    people: bool = True


def needs(
    permission: str, level: str = "read", role: Role = "read", *, people: bool = True
) -> Callable[[View], View]:
    """Guards a route below /repos/{owner}/{repo} and runs it under the world's lock."""
    need = Need(permission, level, role, people)

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def guarded(owner: str, repo: str, **kwargs: Any) -> ResponseReturnValue:
            w = the_world()
            if f"{owner}/{repo}".casefold() != w.config.full_name.casefold():
                raise not_found()
            authorize(w, caller(), need)
            with w.lock:
                return view(**kwargs)

        return guarded

    return decorate


def caller() -> Caller:
    found = g.caller
    assert isinstance(found, Caller)  # noqa: S101 - narrows flask.g
    return found


def actor(w: World) -> User:
    """The account behind the request; a call that needs one has passed `authorize`."""
    who = caller()
    return w.state.user(who.login) if who.login else w.bot


def role_of(w: World, login: str | None) -> Role:
    for name, person in w.config.users.items():
        if login is not None and name.casefold() == login.casefold():
            return person.role
    return "none"


def authorize(w: World, who: Caller, need: Need) -> None:
    """Raises 401, 403 or 404 as GitHub does."""
    if who.app:
        raise ApiError(401, "A JSON web token is not accepted here; use an installation token")
    if who.installation is not None:
        if LEVELS.get(who.installation.permissions.get(need.permission, ""), 0) < LEVELS[need.level]:
            raise ApiError(403, "Resource not accessible by integration")
        return
    role = role_of(w, who.login)
    if w.config.private and role == "none":
        raise not_found()
    if who.login is None and (need.level != "read" or ROLES.index(need.role) > ROLES.index("read")):
        raise ApiError(401, "Requires authentication")
    if not need.people:
        raise ApiError(403, "You must authenticate via a GitHub App.")
    # On a public repository everybody reads.
    effective: Role = "read" if role == "none" else role
    if ROLES.index(effective) < ROLES.index(need.role):
        raise ApiError(403, "Must have push access to repository")


def body() -> Json:
    """The request's JSON object; an empty body is an empty object. Raises 400."""
    raw = request.get_data(cache=True)
    if not raw:
        return {}
    found = request.get_json(force=True, silent=True)
    if not isinstance(found, dict):
        raise ApiError(400, "Problems parsing JSON")
    if b"\\ud" in raw.lower():  # half a surrogate pair cannot be stored anywhere
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ApiError(400, "Problems parsing JSON") from None
    return found


def field(data: Json, name: str, kind: type | tuple[type, ...], default: object = ...) -> Any:
    """One field of a body. Raises 422 when it is missing without a default, or of another type."""
    value = data.get(name)
    if value is None:
        if default is ...:
            raise ApiError(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise ApiError(
            422, f'Invalid request.\n\nFor "properties/{name}", {value!r:.80} is not of the right type.'
        )
    return value


def base64_bytes(text: str) -> bytes:
    """White space is allowed. Raises 422."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise ApiError(422, "content is not valid Base64") from None


def moment(text: str) -> datetime:
    """An ISO 8601 date or time, UTC where it does not say. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def sha_field(data: Json, name: str) -> str:
    value: str = field(data, name, str)
    if not re.fullmatch(r"[0-9a-f]{40}", value):
        raise ApiError(422, "The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    return value


def page(items: Sequence[T], shape: Callable[[T], Json], wrap: str | None = None) -> Response:
    """One page with GitHub's Link header; `wrap` names the list inside an object with total_count."""
    per_page = min(max(_number("per_page", 30), 1), 100)
    number = max(_number("page", 1), 1)
    last = max(-(-len(items) // per_page), 1)
    chosen = [shape(item) for item in items[(number - 1) * per_page : number * per_page]]
    answer = jsonify(chosen if wrap is None else {"total_count": len(items), wrap: chosen})
    targets: dict[str, int] = {}
    if number > 1:
        targets |= {"prev": min(number - 1, last), "first": 1}
    if number < last:
        targets |= {"next": number + 1, "last": last}
    links = [f'<{_page_url(target)}>; rel="{name}"' for name, target in targets.items()]
    if links:
        answer.headers["Link"] = ", ".join(links)
    return answer


def _number(name: str, default: int) -> int:
    text = request.args.get(name, "")
    return int(text) if re.fullmatch(r"\d{1,6}", text) else default


def _page_url(number: int) -> str:
    query = {**request.args.to_dict(), "page": str(number)}
    return f"{the_world().api_url}{request.path}?{urlencode(query)}"


def rate_limit(w: World) -> Json:
    """What is left of the quota; without one the stand-in does not limit, and says so in GitHub's words."""
    quota = w.quota
    if quota is None:
        return {"limit": RATE_LIMIT, "used": 0, "remaining": RATE_LIMIT, "reset": int(time.time()) + 3600}
    used = quota.limit - quota.remaining
    return {"limit": quota.limit, "used": used, "remaining": quota.remaining, "reset": quota.reset}


def spend(w: World) -> None:
    """Counts one request. Raises 403 when none is left; after the reset the quota is full again."""
    quota = w.quota
    if quota is None:
        return
    if time.time() >= quota.reset:
        quota.remaining, quota.reset = quota.limit, int(time.time() + quota.period_s) + 1
    if not quota.remaining:
        raise ApiError(403, "API rate limit exceeded for installation ID 1.")
    quota.remaining -= 1
