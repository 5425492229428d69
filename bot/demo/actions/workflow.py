"""A workflow file as data. What this runner does not do is refused, never passed over.

Only `permissions` and `concurrency` are read and set aside: the stand-in gives a job no token at all, and
its queue drops nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from bot.demo.actions import expressions, yaml12
from bot.demo.actions.model import DEFAULT_TIMEOUT_MINUTES, Input, Job, Step, Trigger, Workflow
from bot.demo.actions.values import as_text

MAX_INPUTS: Final = 25
MAX_WILDCARDS: Final = 6
INPUT_TYPES: Final = ("string", "number", "boolean", "choice")
SHELLS: Final = ("bash", "sh", "python")
_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}", re.ASCII)
_BRANCH_PATTERN: Final = re.compile(r"!?[^\s!?+\[\]]+")
_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "workflow_dispatch": (),
    "push": (),
    "pull_request": ("opened", "synchronize", "reopened"),
}


class UnsupportedWorkflow(ValueError):
    """A workflow file that is broken, or asks for what this runner does not do; one sentence."""


def parse_workflow(text: str) -> Workflow:
    """Raises UnsupportedWorkflow with one sentence."""
    try:
        return _workflow(_Fields(yaml12.load(text), "the workflow"))
    except (yaml12.YamlError, expressions.ExpressionError) as error:
        raise UnsupportedWorkflow(str(error)) from None


class _Fields:
    """A mapping that is read key by key; `done` refuses the keys nobody read."""

    def __init__(self, value: object, where: str) -> None:
        _require(isinstance(value, dict), f"{where} must be a mapping")
        self._left: dict[str, object] = dict(value) if isinstance(value, dict) else {}
        self.where = where

    def take(self, key: str) -> object:
        return self._left.pop(key, None)

    def keys(self) -> tuple[str, ...]:
        return tuple(self._left)

    def fields(self, key: str) -> _Fields:
        value = self.take(key)
        return _Fields({} if value is None else value, f"{key} of {self.where}")

    def text(self, key: str, *, is_condition: bool = False) -> str | None:
        """A scalar as text, its expressions checked."""
        value = self.take(key)
        return None if value is None else _text(value, f"{key} of {self.where}", is_condition)

    def texts(self, key: str) -> dict[str, str]:
        """A mapping of names to scalars, as env and with are."""
        fields = self.fields(key)
        return {name: fields.text(name) or "" for name in fields.keys()}  # noqa: SIM118 (not a dict)

    def flag(self, key: str) -> bool:
        value = self.take(key)
        _require(value is None or isinstance(value, bool), f"{key} of {self.where} must be true or false")
        return value is True

    def minutes(self, key: str) -> float | None:
        value = self.take(key)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        _require(value is None or number, f"{key} of {self.where} must be a number of minutes")
        if not isinstance(value, int | float):
            return None
        _require(0 < value <= 10_000, f"{key} of {self.where} must be more than 0, at most 10000")
        return float(value)

    def one_of(self, key: str, known: Sequence[str]) -> str | None:
        value = self.text(key)
        problem = f"{key} '{value}' of {self.where} is not supported; supported are {', '.join(known)}"
        _require(value is None or value in known, problem)
        return value

    def done(self) -> None:
        left = ", ".join(f"'{key}'" for key in self._left)
        _require(not self._left, f"{left} of {self.where} is not supported by this runner")


def _workflow(top: _Fields) -> Workflow:
    name, run_name, env = top.text("name"), top.text("run-name"), top.texts("env")
    triggers, inputs = _triggers(top.take("on"))
    shell, directory = _defaults(top, None, None)
    jobs = top.fields("jobs")
    top.take("permissions")
    top.take("concurrency")
    top.done()
    count = len(jobs.keys())
    _require(count == 1, f"the workflow has {count} jobs; this runner takes exactly one")
    job_id = jobs.keys()[0]
    _require(_ID.fullmatch(job_id) is not None, f"job id '{job_id}' must be letters, digits, - and _")
    job = _job(job_id, _Fields(jobs.take(job_id), f"job '{job_id}'"), shell, directory)
    return Workflow(name, run_name, triggers, inputs, env, job)


def _job(job_id: str, job: _Fields, shell: str | None, directory: str | None) -> Job:
    name, env, minutes = job.text("name"), job.texts("env"), job.minutes("timeout-minutes")
    runs_on = _list(job.take("runs-on"), f"runs-on of {job.where}")
    _require(bool(runs_on), f"{job.where} has no runs-on")
    shell, directory = _defaults(job, shell, directory)
    listed = job.take("steps")
    job.take("permissions")
    job.take("concurrency")
    job.done()
    _require(isinstance(listed, list) and 0 < len(listed) <= 1000, f"steps of {job.where} must be a list")
    found = listed if isinstance(listed, list) else []
    steps = [_step(_Fields(s, f"step {n} of {job.where}"), shell, directory) for n, s in enumerate(found, 1)]
    ids = [step.id for step in steps if step.id]
    _require(len(ids) == len(set(ids)), f"two steps of {job.where} have the same id")
    return Job(job_id, name or job_id, runs_on, tuple(steps), env, minutes or DEFAULT_TIMEOUT_MINUTES)


def _step(step: _Fields, shell: str | None, directory: str | None) -> Step:
    own_directory, own_shell = step.text("working-directory"), step.one_of("shell", SHELLS)
    made = Step(
        name=step.text("name"),
        id=step.text("id"),
        uses=step.text("uses"),
        with_=step.texts("with"),
        run=step.text("run"),
        env=step.texts("env"),
        condition=step.text("if", is_condition=True),
        working_directory=own_directory or directory,
        shell=own_shell or shell,
        continue_on_error=step.flag("continue-on-error"),
        timeout_minutes=step.minutes("timeout-minutes"),
    )
    step.done()
    _require((made.uses is None) != (made.run is None), f"{step.where} must have either uses or run")
    _require(made.run is None or not made.with_, f"{step.where} has both run and with")
    only_run = made.run is not None or (own_directory is None and own_shell is None)
    _require(only_run, f"{step.where}: shell and working-directory belong to run")
    _require(made.id is None or _ID.fullmatch(made.id) is not None, f"the id of {step.where} is not valid")
    return made


def _defaults(fields: _Fields, shell: str | None, directory: str | None) -> tuple[str | None, str | None]:
    """`defaults.run` over what stood above it."""
    defaults = fields.fields("defaults")
    run = defaults.fields("run")
    defaults.done()
    shell, directory = run.one_of("shell", SHELLS) or shell, run.text("working-directory") or directory
    run.done()
    return shell, directory


def _triggers(value: object) -> tuple[dict[str, Trigger], dict[str, Input]]:
    if isinstance(value, str | list):
        value = dict.fromkeys(_list(value, "on of the workflow"))
    _require(bool(value), "the workflow has no on")
    events = _Fields(value, "on of the workflow")
    triggers: dict[str, Trigger] = {}
    inputs: dict[str, Input] = {}
    for event in events.keys():  # noqa: SIM118 (not a dict)
        _require(event in _EVENTS, f"event '{event}' is not supported; supported are {', '.join(_EVENTS)}")
        fields = events.fields(event)
        if event == "workflow_dispatch":
            inputs = _inputs(fields.fields("inputs"))
            triggers[event] = Trigger(event)
        else:
            triggers[event] = _trigger(event, fields)
        fields.done()
    return triggers, inputs


def _trigger(event: str, fields: _Fields) -> Trigger:
    branches = _list(fields.take("branches"), f"branches of {fields.where}")
    for pattern in branches:
        known = _BRANCH_PATTERN.fullmatch(pattern) is not None and pattern.count("*") <= MAX_WILDCARDS
        _require(known, f"branch pattern '{pattern}' is not supported")
    types = _list(fields.take("types"), f"types of {fields.where}") if event == "pull_request" else ()
    return Trigger(event, types or _EVENTS[event], branches)


def _inputs(fields: _Fields) -> dict[str, Input]:
    names = fields.keys()
    _require(len(names) <= MAX_INPUTS, f"workflow_dispatch has {len(names)} inputs; at most {MAX_INPUTS}")
    return {name: _input(name, fields) for name in names}


def _input(name: str, inputs: _Fields) -> Input:
    _require(_ID.fullmatch(name) is not None, f"input name '{name}' must be letters, digits, - and _")
    fields = inputs.fields(name)
    fields.text("description")
    made = Input(
        name=name,
        type=fields.one_of("type", INPUT_TYPES) or "string",
        required=fields.flag("required"),
        default=fields.text("default"),
        options=_list(fields.take("options"), f"options of {fields.where}"),
    )
    fields.done()
    choice = made.type == "choice"
    _require(choice == bool(made.options), f"input '{name}': options belong to a choice, and only there")
    problem = made.problem(made.default) if made.default is not None else None
    _require(problem is None, f"the default of input '{name}' is refused: {problem}")
    return made


def _list(value: object, where: str) -> tuple[str, ...]:
    """One scalar or a list of them."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(_text(item, where) for item in items)


def _text(value: object, where: str, is_condition: bool = False) -> str:
    _require(isinstance(value, str | bool | int | float), f"{where} must be text")
    text = as_text(value if isinstance(value, str | bool | int | float) else None)
    expressions.check(text, is_condition=is_condition)
    return text


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise UnsupportedWorkflow(problem)
