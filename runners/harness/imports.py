"""Whether an arm imports its own tree: what lies in another working tree of the clone is another commit.

An editable install or a PYTHONPATH that names the clone would give both arms the same code. The probe looks
at the modules themselves; here the interpreter is asked where it would look, which covers child processes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bot.verdict.reading import Status
from runners.harness.launch import POLL_S, Outcome
from runners.harness.process import Process
from runners.harness.worktrees import git

OTHER_TREES: Final = "KL_TRIAGE_CLONE"
"""Environment of the probe: the other working trees of the clone."""
ASK_S: Final = 60.0
_SITES: Final = frozenset({"site-packages", "dist-packages"})
_ASK: Final = """
import importlib.util, json, sys
names = {name.partition(".")[0] for module, found in list(sys.modules.items())
         if module.startswith("__editable__") for name in getattr(found, "MAPPING", ())}
found = {}
for name in names:
    spec = importlib.util.find_spec(name)
    if spec is not None:
        found[name] = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
print(json.dumps({"path": [folder for folder in sys.path if folder], "found": found, "prefix": sys.prefix}))
"""


def other_trees(repo: Path, tree: Path) -> tuple[Path, ...]:
    """The clone's own working tree and its linked ones, without the arm's. Raises GitError."""
    listed = git(repo, "worktree", "list", "--porcelain").splitlines()
    trees = {Path(line[9:]).resolve() for line in listed if line.startswith("worktree ")}
    return tuple(sorted(trees - {tree.resolve()}))


def without(python_path: str, others: Sequence[Path], tree: Path) -> list[str]:
    """The entries of a PYTHONPATH that do not lie in another tree; relative ones are below the arm's."""
    entries = [entry for entry in python_path.split(os.pathsep) if entry]
    return [
        entry for entry in entries if not Path(entry).is_absolute() or _inside(entry, others, tree) is None
    ]


def check_imports(
    arm: str,
    tree: Path,
    others: Sequence[Path],
    *,
    python: Path,
    environment: Mapping[str, str],
    mark: str,
    log: Path,
) -> Outcome | None:
    """Asks the interpreter; None where it looks in no other tree, or looks in the arm's own first.

    An interpreter that does not answer is none of this check's: the launch will tell.
    """
    with Process([str(python), "-c", _ASK], cwd=tree, environment=environment, mark=mark, log=log) as process:
        process.tell()
        deadline = time.monotonic() + ASK_S
        while process.ended(POLL_S) is None and time.monotonic() < deadline:
            pass
    try:
        said = json.loads(log.read_text("utf-8", errors="replace").strip().splitlines()[-1])
        folders, found, prefix = list(said["path"]), dict(said["found"]), str(said["prefix"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    name = _elsewhere(folders, found, prefix, others, tree)
    if name is None:
        return None
    why = "from another working tree of this clone, not from its commit: name python_path or prepare"
    return Outcome(Status.ERROR, f"{arm} imports {name} {why} in the rule pack")


def _elsewhere(
    folders: Sequence[str], found: Mapping[str, str], prefix: str, others: Sequence[Path], tree: Path
) -> str | None:
    """The first name or folder that would come from another tree."""
    for name, origin in found.items():
        if _inside(origin, others, tree, prefix) is not None:
            return name[:100]
    seen: set[Path] = set()
    for folder in folders:
        inner = _inside(folder, others, tree, prefix)
        if inner is not None and (tree.resolve() / inner) not in seen:
            return f"'{inner}'"[:100]
        seen.add(Path(folder).resolve())
    return None


def _inside(path: str, others: Sequence[Path], tree: Path, prefix: str = "") -> Path | None:
    """Where in another tree `path` lies; None in the arm's, among installed packages, and elsewhere."""
    real = Path(path).resolve()
    if real.is_relative_to(tree.resolve()):
        return None
    for other in others:
        if real.is_relative_to(other):
            inner = real.relative_to(other)
            home = Path(prefix or os.devnull).resolve()
            environment = home.is_relative_to(other) and real.is_relative_to(home)
            return None if environment or _SITES & set(inner.parts) else inner
    return None
