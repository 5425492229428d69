"""Ways in which GitHub misbehaves towards the bot, put into a running stand-in by its hooks.

People of the story and the lab's own controls are served as ever.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping

from flask import Response, g, jsonify, request

from bot.demo.github import World
from bot.github import BOT_USER_AGENT

WRITES = frozenset({"POST", "PUT", "PATCH"})
DISPATCH = r"/dispatches$"


def of_the_bot() -> bool:
    """Is the request being served the bot's? With a person's token its name tells."""
    named = request.headers.get("User-Agent", "") == BOT_USER_AGENT
    return g.caller.app or g.caller.installation is not None or named


def lose_answers(world: World, path: str = "") -> list[str]:
    """Every write of the bot to a matching path has its effect and is answered 502 the first time.

    Returns the list of what was lost.
    """
    lost: list[str] = []
    seen: set[tuple[str, str, bytes]] = set()
    lock = threading.Lock()

    def after(response: Response) -> Response:
        wanted = request.method in WRITES and re.search(path, request.path) and of_the_bot()
        if not wanted or response.status_code >= 400:
            return response
        key = (request.method, request.path, request.get_data(cache=True))
        with lock:
            if key in seen:
                return response
            seen.add(key)
            lost.append(f"{request.method} {request.path}")
        return answer(502, "Bad gateway")

    world.after.append(after)
    return lost


def refuse(
    world: World,
    method: str,
    path: str,
    status: int,
    message: str = "Not Found",
    *,
    headers: Mapping[str, str] | None = None,
    times: int | None = None,
    holding: str = "",
) -> list[str]:
    """Matching requests of the bot are refused, for so many times or for ever. Returns what was refused.

    `holding`: what the body of such a request holds.
    """
    refused: list[str] = []
    lock = threading.Lock()

    def before() -> Response | None:
        if request.method != method or not re.search(path, request.path) or not of_the_bot():
            return None
        if holding not in request.get_data(as_text=True):
            return None
        with lock:
            if times is not None and len(refused) >= times:
                return None
            refused.append(request.path)
        found = answer(status, message)
        found.headers.update(headers or {})
        return found

    world.before.append(before)
    return refused


def hide_new_branch(world: World, path: str, times: int) -> list[str]:
    """After the bot has made the branch of a bump, matching reads of it are 404 for so many times."""
    hidden: list[str] = []
    made = threading.Event()

    def after(response: Response) -> Response:
        if request.path.endswith("/git/refs") and "kl-triage/bump" in request.get_data(as_text=True):
            made.set()
        read = request.method == "GET" and of_the_bot() and re.search(path, request.path)
        if made.is_set() and read and len(hidden) < times:
            hidden.append(request.path)
            return answer(404, "Not Found")
        return response

    world.after.append(after)
    return hidden


def no_run_details(world: World) -> None:
    """A dispatch is answered 204 without the run's id, as older servers do."""

    def after(response: Response) -> Response:
        if re.search(DISPATCH, request.path) and response.status_code == 200:
            response = Response(status=204)
        return response

    world.after.append(after)


def runs_appear_after(world: World, seconds: float) -> None:
    """A dispatched run is not listed and not found before that long after it was made."""
    born: dict[int, float] = {}

    def is_there(run: int) -> bool:
        return time.monotonic() - born.setdefault(run, time.monotonic()) >= seconds

    def after(response: Response) -> Response:
        one = re.search(r"/actions/runs/(\d+)", request.path)
        if one is not None and not is_there(int(one[1])) and of_the_bot():
            return answer(404, "Not Found")
        return _with_runs(response, lambda runs: [run for run in runs if is_there(run["id"])])

    world.hooks.observers.append(
        lambda event, payload: is_there(payload["workflow_run"]["id"]) if event == "workflow_run" else None
    )
    world.after.append(after)


def runs_reversed(world: World) -> None:
    """Runs are listed oldest first."""
    world.after.append(lambda response: _with_runs(response, lambda runs: runs[::-1]))


def _with_runs(response: Response, change: Callable[[list], list]) -> Response:
    if request.path.endswith("/runs") and response.is_json and response.status_code == 200:
        document = response.get_json()
        document["workflow_runs"] = change(document["workflow_runs"])
        response.set_data(json.dumps(document))
    return response


def answer(status: int, message: str) -> Response:
    found = jsonify(message=message)
    found.status_code = status
    return found
