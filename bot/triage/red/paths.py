"""From a path as CI prints it to the path inside the tree."""

from __future__ import annotations

from pathlib import PurePosixPath

from rules import Pack


def tree_path(printed: str, pack: Pack) -> str | None:
    """The path inside the tree of a path as CI prints it, or None where the pack knows no such KL test.

    CI prints absolute paths of the runner, or paths relative to a folder it changed into, as `cd test` does:
    so it is the longest tail that is a KL test, alone or below the first folder of one of the pack's globs.
    """
    parts = PurePosixPath(printed).parts
    if ".." in parts:
        return None
    folders = ("", *sorted({f"{glob.split('/')[0]}/" for glob in pack.tests if "/" in glob}))
    tails = ("/".join(parts[start:]) for start in range(len(parts)))
    candidates = (folder + tail for tail in tails for folder in folders if not tail.startswith("/"))
    return next((path for path in candidates if pack.is_test(path)), None)
