"""Every change of a branch goes through here: git first, then the push, pull requests and workflows."""

from __future__ import annotations

from bot.demo.github import events, pulls, runs
from bot.demo.github.errors import ApiError
from bot.demo.github.git import ZERO, GitError
from bot.demo.github.state import User
from bot.demo.github.world import World

BRANCHES = "refs/heads/"


def move(w: World, ref: str, new: str, old: str, who: User) -> None:
    """Sets a ref (`old` ZERO: makes it; `new` ZERO: deletes it). Raises 409 when it is not at `old`."""
    try:
        if new == ZERO:
            w.git.delete_ref(ref, old)
        else:
            w.git.set_ref(ref, new, old)
    except GitError:
        raise ApiError(409, f"Reference {ref} is at another commit than expected") from None
    _tell(w, ref, old, new, who)


def catch_up(w: World, who: User) -> list[str]:
    """Tells of branches that were pushed to the repository on disk past this server; their names."""
    seen, found = dict(w.state.refs), w.git.refs(BRANCHES)
    moved = sorted(ref for ref in seen.keys() | found.keys() if seen.get(ref) != found.get(ref))
    for ref in moved:
        _tell(w, ref, seen.get(ref, ZERO), found.get(ref, ZERO), who)
    return moved


def _tell(w: World, ref: str, old: str, new: str, who: User) -> None:
    if not ref.startswith(BRANCHES):
        return
    branch = ref.removeprefix(BRANCHES)
    w.state.refs.pop(ref, None)
    if new != ZERO:
        w.state.refs[ref] = new
    payload = events.push(w, ref, old, new, who)
    pulls.branch_moved(w, branch, old, new, who)
    if new != ZERO:
        runs.start_for_push(w, branch, new, payload, who)
