"""Workflow files of the repository: which there are, and what starts them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bot.demo.actions import UnsupportedWorkflow, parse_workflow
from bot.demo.actions import Workflow as Parsed
from bot.demo.github.git import GitError
from bot.demo.github.state import Workflow, now
from bot.demo.github.world import World

log = logging.getLogger(__name__)
FOLDER = ".github/workflows"
DEFAULT_TYPES = ("opened", "synchronize", "reopened")


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    path: str
    text: str
    parsed: Parsed


def files_at(w: World, commit: str) -> Iterator[tuple[str, str]]:
    """(path, text) of each workflow file of a commit."""
    try:
        entries = w.git.tree(commit, FOLDER)
    except GitError:  # no such folder
        return
    for entry in entries:
        if entry.type == "blob" and entry.path.endswith((".yml", ".yaml")):
            yield f"{FOLDER}/{entry.path}", w.git.blob(entry.sha).decode("utf-8", "replace")


def started_by(w: World, commit: str, event: str, action: str | None, branch: str) -> Iterator[WorkflowFile]:
    """The workflows of a commit that an event starts. One that cannot be read is logged and left out."""
    for path, text in files_at(w, commit):
        try:
            parsed = parse_workflow(text)
        except UnsupportedWorkflow as error:
            log.warning("%s at %s is not run: %s", path, commit[:8], error)
            continue
        trigger = parsed.triggers.get(event)
        if trigger is None or not trigger.matches(action, branch):
            continue
        if event == "pull_request" and not trigger.types and action not in DEFAULT_TYPES:
            continue
        yield WorkflowFile(path, text, parsed)


def known(w: World) -> Mapping[str, Workflow]:
    """Workflows of the default branch, and those that have run, by path."""
    for path, text in files_at(w, w.default_sha):
        register(w, path, text)
    return w.state.workflows


def register(w: World, path: str, text: str | None) -> Workflow:
    """The record of a path, made on first sight."""
    if path not in w.state.workflows:
        workflow = Workflow(w.state.next_id("workflow"), path, _name(path, text), now())
        w.state.workflows[path] = workflow
    return w.state.workflows[path]


def _name(path: str, text: str | None) -> str:
    try:
        name = parse_workflow(text).name if text is not None else None
    except UnsupportedWorkflow:
        name = None
    return name or path
