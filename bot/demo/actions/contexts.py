"""What a job knows of itself: the `github` and `runner` contexts and the environment of its steps."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.demo.actions.model import Workflow
from bot.demo.actions.values import Value, as_text
from bot.demo.executor import JobSpec, Runner

MAX_FILE_BYTES: Final = 1024 * 1024
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ARCHITECTURES: Final = {"x86_64": "X64", "amd64": "X64", "aarch64": "ARM64", "arm64": "ARM64"}
_SYSTEMS: Final = {"Darwin": "macOS"}


class FileCommandError(ValueError):
    """A line of GITHUB_ENV, GITHUB_OUTPUT or GITHUB_PATH that is not understood."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one job, all below `root`, which goes when the job ends."""

    root: Path
    workspace: Path
    temp: Path
    home: Path

    @classmethod
    def make(cls, root: Path, repository: str) -> Place:
        name = repository.rpartition("/")[2]
        place = cls(root, root / "_work" / name / name, root / "_temp", root / "_home")
        for folder in (place.workspace, place.temp, place.home):
            folder.mkdir(parents=True)
        return place

    @property
    def event_path(self) -> Path:
        """GITHUB_EVENT_PATH"""
        return self.temp / "event.json"


def github_context(spec: JobSpec, workflow: Workflow, place: Place) -> dict[str, Value]:
    """The `github` context, as far as the job's spec fills it."""
    event: Value = json.loads(json.dumps(spec.event))
    pull = event.get("pull_request") if isinstance(event, Mapping) else None
    is_tag = spec.ref.startswith("refs/tags/")
    return {
        "actor": spec.actor,
        "api_url": spec.server_url,
        "base_ref": _ref_of(pull, "base"),
        "event": event,
        "event_name": spec.event_name,
        "event_path": str(place.event_path),
        "head_ref": _ref_of(pull, "head"),
        "job": workflow.job.id,
        "ref": spec.ref,
        "ref_name": re.sub(r"^refs/(heads|tags|pull)/", "", spec.ref),
        "ref_type": "tag" if is_tag else "branch",
        "repository": spec.repository,
        "repository_owner": spec.repository.partition("/")[0],
        "run_attempt": str(spec.run_attempt),
        "run_id": str(spec.run_id),
        "run_number": str(spec.run_number),
        "server_url": spec.server_url,
        "sha": spec.sha,
        "triggering_actor": spec.actor,
        "workflow": workflow.name or spec.workflow_path,
        "workspace": str(place.workspace),
    }


def runner_context(runner: Runner, place: Place) -> dict[str, Value]:
    return {
        "name": runner.name,
        "os": _SYSTEMS.get(platform.system(), platform.system()),
        "arch": _ARCHITECTURES.get(platform.machine().lower(), platform.machine()),
        "temp": str(place.temp),
        "workspace": str(place.workspace.parent),
        "environment": "self-hosted",
    }


def base_environment(place: Place) -> dict[str, str]:
    """A small clean one: nothing of the server's own but PATH, with this interpreter's programs first."""
    programs = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join([programs, os.environ.get("PATH", os.defpath)]),
        "HOME": str(place.home),
        "TMPDIR": str(place.temp),
        "LANG": "C.UTF-8",
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "KL_TRIAGE_PARALLEL": "1",  # jobs run side by side and share no GPU
    }


def variables(github: Mapping[str, Value], runner: Mapping[str, Value]) -> dict[str, str]:
    """GITHUB_* and RUNNER_* of every step; a job cannot set them otherwise."""
    ours = {f"GITHUB_{name.upper()}": as_text(value) for name, value in github.items() if name != "event"}
    return ours | {f"RUNNER_{name.upper()}": as_text(value) for name, value in runner.items()}


def read_assignments(path: Path) -> dict[str, str]:
    """GITHUB_ENV and GITHUB_OUTPUT: `name=value` lines, or `name<<END`, lines, `END`."""
    lines = iter(read_lines(path))
    found: dict[str, str] = {}
    for line in filter(None, lines):
        equals, heredoc = line.find("="), line.find("<<")
        if equals > 0 and (heredoc < 0 or equals < heredoc):
            found[line[:equals]] = line[equals + 1 :]
        elif heredoc > 0:
            found[line[:heredoc]] = _until(lines, line[heredoc + 2 :])
        else:
            raise FileCommandError(f"invalid format '{line[:80]}'")
    return found


def environment_assignments(path: Path) -> dict[str, str]:
    """GITHUB_ENV without what a step may not change."""
    found = read_assignments(path)
    for name in found:
        if not _NAME.fullmatch(name) or name.startswith(("GITHUB_", "RUNNER_")):
            raise FileCommandError(f"variable '{name[:80]}' cannot be set")
    return found


def read_lines(path: Path) -> list[str]:
    """The lines a step wrote, at most 1 MiB of them."""
    if not path.is_file():  # gone, or a pipe that would never end
        return []
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return []
    if len(data) > MAX_FILE_BYTES:
        raise FileCommandError(f"{path.name} is larger than {MAX_FILE_BYTES} bytes")
    return data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def _until(lines: Iterator[str], end: str) -> str:
    value: list[str] = []
    for line in lines:
        if line == end:
            return "\n".join(value)
        value.append(line)
    raise FileCommandError(f"the delimiter '{end[:80]}' does not follow")


def _ref_of(pull: Value, side: str) -> str:
    """The branch of one side of a pull request; empty for other events."""
    found = pull.get(side) if isinstance(pull, Mapping) else None
    return as_text(found.get("ref")) if isinstance(found, Mapping) else ""
