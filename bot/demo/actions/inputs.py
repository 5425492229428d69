"""Inputs of a dispatch: what GitHub refuses with 422, and what a job then sees."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from bot.demo.actions.model import Input, Workflow
from bot.demo.actions.values import Value, as_text
from bot.demo.actions.workflow import MAX_INPUTS

MAX_CHARACTERS: Final = 65_535


def validate_inputs(workflow: Workflow, given: Mapping[str, object]) -> str | None:
    """The sentence of the refusal, or None when the dispatch may run."""
    if "workflow_dispatch" not in workflow.triggers:
        return "Workflow does not have 'workflow_dispatch' trigger"
    if len(given) > MAX_INPUTS:
        return f"At most {MAX_INPUTS} inputs may be provided, got {len(given)}"
    if unknown := [name for name in given if name not in workflow.inputs]:
        return f"Unexpected inputs provided: {json.dumps(unknown)}"
    for name, value in given.items():
        if not isinstance(value, str | bool | int | float):
            return f"Provided value for input '{name}' must be a string"
        if problem := workflow.inputs[name].problem(as_text(value)):
            return problem
    if sum(len(as_text(value)) for value in given.values() if isinstance(value, str)) > MAX_CHARACTERS:
        return f"Inputs are longer than {MAX_CHARACTERS} characters"
    for name, declared in workflow.inputs.items():
        if declared.required and not as_text(_scalar(given.get(name, declared.default))):
            return f"Required input '{name}' not provided"
    return None


def resolve_inputs(workflow: Workflow, given: Mapping[str, object]) -> dict[str, str]:
    """Every declared input as text, with its default: `github.event.inputs` and `JobSpec.inputs`."""
    return {name: as_text(_scalar(given.get(name, _default(i)))) for name, i in workflow.inputs.items()}


def typed_inputs(workflow: Workflow, inputs: Mapping[str, str]) -> dict[str, Value]:
    """The `inputs` context: booleans and numbers by their declared type, the rest text."""
    return {
        name: _typed(declared, inputs.get(name, _default(declared)))
        for name, declared in workflow.inputs.items()
    }


def _default(declared: Input) -> str:
    return declared.default or {"boolean": "false", "number": "0"}.get(declared.type, "")


def _typed(declared: Input, value: str) -> Value:
    if declared.type == "boolean":
        return value == "true"
    if declared.type == "number":
        return float(value or 0)
    return value


def _scalar(value: object) -> Value:
    return value if isinstance(value, str | bool | int | float) else None
