"""actions/checkout: the real git, from the bare repository of the stand-in into an empty folder."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.demo.actions.actions import ActionCall, StepFailed, flag

_ACTION: Final = "actions/checkout"
_SHA: Final = re.compile(r"[0-9a-f]{40}")
_REF: Final = re.compile(r"[\w][\w./+#@=,-]{0,254}")
_LOCAL: Final = "refs/remotes/origin/checkout"
_QUIET: Final[Mapping[str, str]] = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
_KNOWN: Final[Mapping[str, str]] = {
    "repository": "",
    "ref": "",
    "path": ".",
    "fetch-depth": "1",
    "fetch-tags": "false",
    "clean": "true",
    "persist-credentials": "true",  # there are none to keep
    "submodules": "false",
    "lfs": "false",
}


def checkout(call: ActionCall) -> None:
    """Without the input `ref` it is the sha of the event. Outputs `commit` and `ref`."""
    inputs = call.take(_ACTION, _KNOWN)
    if inputs["repository"].lower() not in ("", call.spec.repository.lower()):
        raise StepFailed(f"repository '{inputs['repository']}' is not here; only {call.spec.repository} is")
    for name, only in (("submodules", "false"), ("lfs", "false"), ("clean", "true")):
        if inputs[name] != only:
            raise StepFailed(f"input '{name}' of {_ACTION} can only be {only} on this runner")
    flag(_ACTION, "persist-credentials", inputs["persist-credentials"])
    depth, tags = _depth(inputs["fetch-depth"]), flag(_ACTION, "fetch-tags", inputs["fetch-tags"])
    tree = _empty_folder(call.place.workspace, inputs["path"])
    call.env = {**call.env, **_QUIET}
    call.log.line(f"Syncing repository: {call.spec.repository}")
    call.command("git", "init", "--quiet", str(tree), cwd=call.place.workspace)
    call.command("git", "remote", "add", "origin", call.spec.git_dir.resolve().as_uri(), cwd=tree)
    if depth == 0:
        everything = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        call.command("git", "fetch", "--quiet", "--no-tags", "--prune", "origin", *everything, cwd=tree)
    source, local, branch = _source(call, tree, inputs["ref"])
    limit = [f"--depth={depth}"] if depth else []
    also = ["+refs/tags/*:refs/tags/*"] if tags and depth else []
    call.command(
        "git", "fetch", "--quiet", "--no-tags", *limit, "origin", f"+{source}:{local}", *also, cwd=tree
    )
    how = ["-B", branch] if branch else ["--detach"]
    call.command("git", "checkout", "--quiet", "--force", *how, local, cwd=tree)
    call.outputs |= {"commit": _head(call, tree), "ref": inputs["ref"] or call.spec.ref}


def _source(call: ActionCall, tree: Path, ref: str) -> tuple[str, str, str | None]:
    """What to fetch, the local name it gets, and the local branch to stand on, if any."""
    if not ref:
        branch = (
            call.spec.ref.removeprefix("refs/heads/") if call.spec.ref.startswith("refs/heads/") else None
        )
        return call.spec.sha, f"refs/remotes/origin/{branch}" if branch else _LOCAL, branch
    if _SHA.fullmatch(ref):
        return ref, _LOCAL, None
    if not _REF.fullmatch(ref) or ".." in ref:
        raise StepFailed(f"ref '{ref[:80]}' is not a name of a branch, a tag or a full SHA")
    if ref.startswith("refs/") and not ref.startswith("refs/heads/"):
        return ref, _LOCAL, None
    branch = ref.removeprefix("refs/heads/")
    known = call.run(
        "git", "ls-remote", "--exit-code", "origin", f"refs/heads/{branch}", cwd=tree, env=call.env
    )
    if known.code == 0:
        return f"refs/heads/{branch}", f"refs/remotes/origin/{branch}", branch
    return f"refs/tags/{ref}", _LOCAL, None


def _depth(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise StepFailed(f"input 'fetch-depth' of {_ACTION} must be a whole number, not '{text[:80]}'")
    return int(text)


def _empty_folder(workspace: Path, path: str) -> Path:
    folder = (workspace / path).resolve()
    if not folder.is_relative_to(workspace.resolve()):
        raise StepFailed(f"path '{path[:80]}' is not inside the workspace")
    folder.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    return folder


def _head(call: ActionCall, tree: Path) -> str:
    argv = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(
        argv, cwd=tree, env=dict(call.env), capture_output=True, text=True, timeout=60, check=True
    )
    call.log.line(f"HEAD is {done.stdout.strip()}")
    return done.stdout.strip()
