"""Runs the jobs of workflow files on this machine, as a self-hosted runner would.

`LocalExecutor` is the executor the GitHub stand-in (`bot.demo.github`) hands its jobs to; `parse_workflow`,
`validate_inputs`, `resolve_inputs`, `typed_inputs` and `interpolate` are what the stand-in itself needs to
know of a workflow file. What a workflow asks for and is not done here is refused with a sentence.
"""

from bot.demo.actions.executor import DEFAULT_RUNNER, LocalExecutor
from bot.demo.actions.expressions import ExpressionError, interpolate
from bot.demo.actions.inputs import resolve_inputs, typed_inputs, validate_inputs
from bot.demo.actions.job import Limits
from bot.demo.actions.model import Workflow
from bot.demo.actions.workflow import UnsupportedWorkflow, parse_workflow

__all__ = [
    "DEFAULT_RUNNER",
    "ExpressionError",
    "Limits",
    "LocalExecutor",
    "UnsupportedWorkflow",
    "Workflow",
    "interpolate",
    "parse_workflow",
    "resolve_inputs",
    "typed_inputs",
    "validate_inputs",
]
