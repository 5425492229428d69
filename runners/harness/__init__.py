"""The harness: measures a rerun plan on this machine, one worktree an arm and one process a launch."""

from __future__ import annotations

from runners.harness.cli import main

__all__ = ["main"]
