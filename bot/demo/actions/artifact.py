"""actions/upload-artifact: files of a job as one zip."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Final

from bot.demo.actions.actions import ActionCall, StepFailed, flag
from bot.demo.executor import ArtifactRefused

MAX_FILES: Final = 10_000
MAX_BYTES: Final = 64 * 1024 * 1024
"""Before packing; the stand-in keeps artifacts in memory."""
_ACTION: Final = "actions/upload-artifact"
_BAD_NAME: Final = re.compile(r'["<>|*?:\\/\r\n\0]')
_KNOWN: Final[Mapping[str, str]] = {
    "name": "artifact",
    "path": "",
    "if-no-files-found": "warn",
    "overwrite": "false",
    "include-hidden-files": "false",
    "retention-days": "",
    "compression-level": "6",
}


def upload_artifact(call: ActionCall) -> None:
    """Output `artifact-id`, when something was uploaded."""
    inputs = call.take(_ACTION, _KNOWN)
    name, path = inputs["name"], inputs["path"].strip()
    if not name or _BAD_NAME.search(name) or len(name) > 255:
        raise StepFailed(
            f"artifact name '{name[:80]}' is empty, too long, or has a character that is not allowed"
        )
    if not path:
        raise StepFailed(f"input 'path' of {_ACTION} is missing")
    overwrite = flag(_ACTION, "overwrite", inputs["overwrite"])
    hidden = flag(_ACTION, "include-hidden-files", inputs["include-hidden-files"])
    patterns = [line.strip() for line in path.splitlines() if line.strip()]
    root, files = collect(patterns, call.place.workspace, (call.place.root,), hidden=hidden)
    if not files:
        _nothing_found(call, inputs["if-no-files-found"], path)
        return
    call.log.line(f"Uploading {len(files)} file(s) as artifact '{name}'")
    packed = pack(root, files)
    try:
        artifact_id = call.store(name, packed, overwrite)
    except ArtifactRefused as refused:
        raise StepFailed(f"Artifact '{name}' was not uploaded: {refused}") from None
    call.outputs["artifact-id"] = str(artifact_id)
    call.log.line(f"Artifact '{name}' has id {artifact_id} and {len(packed)} bytes")


def collect(
    patterns: Sequence[str], workspace: Path, allowed: Iterable[Path], *, hidden: bool = False
) -> tuple[Path, list[Path]]:
    """The folder that becomes the root of the zip, and the files, sorted.

    As the action has it: the root is the deepest folder above all search paths (a pattern up to its first
    wildcard); one single file is its own folder's only entry.
    """
    if any(pattern.startswith("!") for pattern in patterns):
        raise StepFailed(f"excluding paths ('!') in {_ACTION} is not supported by this runner")
    roots = [folder.resolve() for folder in allowed]
    searched = [_search_path(workspace / pattern) for pattern in patterns]
    for search in searched:  # before anything is walked
        _require_inside(search, roots)
    files = {
        file for pattern in patterns for found in _matches(workspace / pattern) for file in _files(found)
    }
    for file in files:  # a link may lead out
        _require_inside(file, roots)
    root = Path(os.path.commonpath(searched))
    if root in files:
        root = root.parent
    kept = [file for file in files if hidden or not _is_hidden(file.relative_to(root))]
    return root, sorted(kept)


def pack(root: Path, files: Sequence[Path]) -> bytes:
    """The zip. Raises StepFailed when there is too much for it."""
    size = sum(file.stat().st_size for file in files)
    if len(files) > MAX_FILES or size > MAX_BYTES:
        raise StepFailed(
            f"{len(files)} files with {size} bytes; at most {MAX_FILES} with {MAX_BYTES} are taken"
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in files:
            archive.write(file, file.relative_to(root).as_posix())
    return buffer.getvalue()


def _nothing_found(call: ActionCall, asked: str, path: str) -> None:
    text = f"No files were found at '{path}'; nothing is uploaded."
    if asked == "error":
        raise StepFailed(text)
    if asked not in ("warn", "ignore"):
        raise StepFailed(
            f"input 'if-no-files-found' of {_ACTION} must be warn, error or ignore, not '{asked}'"
        )
    call.log.line(f"##[warning]{text}" if asked == "warn" else text)


def _require_inside(path: Path, roots: Sequence[Path]) -> None:
    if not any(path.resolve().is_relative_to(root) for root in roots):
        raise StepFailed(f"'{path}' is outside the folders of this job")


def _search_path(pattern: Path) -> Path:
    parts = Path(os.path.normpath(pattern)).parts
    plain = next((n for n, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
    return Path(*parts[:plain])


def _matches(pattern: Path) -> list[str]:
    return glob(os.path.normpath(pattern), recursive=True, include_hidden=True)  # noqa: PTH207 (hidden too)


def _files(found: str) -> Iterable[Path]:
    """The file, or everything below the folder. Links to folders are not followed."""
    if Path(found).is_file():
        yield Path(found)
    for folder, _, names in os.walk(found):
        yield from (Path(folder, name) for name in names if Path(folder, name).is_file())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
