"""A rule pack: what one project's KL tests look like, where their bounds live, what a rerun costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Protocol

from bot.logs import LogForms
from rules.bounds import BoundSpan, find_bounds
from rules.entries import (
    Attributes,
    Bounds,
    Compare,
    Folder,
    Forms,
    Gate,
    Globs,
    Jobs,
    Minutes,
    Name,
    Prepare,
    Prints,
    Registrations,
    Runners,
    Strict,
    TestKind,
    Tests,
)
from rules.patterns import compile_bound, compile_glob, compile_job_glob


class Registered(Protocol):
    """A call that registers a test file; see bot.source.registrations."""

    @property
    def call(self) -> str: ...
    @property
    def arguments(self) -> Mapping[str, object]: ...


class Pack(Strict):
    """`tests` and `unfit_paths` are globs over paths of the repository; times are minutes of one runner."""

    name: Name
    tests: Tests
    """The files that hold KL tests."""
    jobs: Jobs = ("*",)
    """Globs over the names of the jobs that may run them."""
    forms: Forms
    prints: Prints = ()
    """What a measured check prints, red or green."""
    attributes: Attributes
    """Names of class attributes that hold bounds; none where they stand in other files."""
    bounds: Bounds = ()
    """Bounds that stand in shell and YAML files."""
    compare: Compare | None = None
    """module:function that prints the values and asserts the bound; the probe wraps it."""
    python_path: tuple[Folder, ...] = ()
    prepare: Prepare = ()
    """Commands that make a fresh tree ready, as lists of words; {python} and {tree} are replaced."""
    test_kind: TestKind = "auto"
    """What runs the tests; auto: a path alone is a script, a unittest.TestCase unittest, else pytest."""
    unfit_paths: Globs = ()
    """A pull request that changes one of these may be judged, but no bound is moved on its runs."""
    exact_gate: Gate = 1e-6
    """A bound at or below this says that any difference is a bug."""
    runners: Runners
    """Labels that a rerun may ask for."""
    registrations: Registrations = ()
    """Which of these labels a test file's own registration asks for."""
    launch_minutes: Minutes
    repeat_minutes: Minutes
    launch_timeout_minutes: Minutes = 30.0

    @cached_property
    def scan_forms(self) -> LogForms:
        """For bot.logs.scan."""
        forms = tuple(form.compiled() for form in self.forms)
        return LogForms(forms, tuple(printed.compiled() for printed in self.prints))

    def is_test(self, path: str) -> bool:
        return any(compile_glob(glob).search(path) for glob in self.tests)

    def is_job(self, name: str) -> bool:
        """Whether a job of this name may hold KL tests."""
        return any(compile_job_glob(glob).search(name) for glob in self.jobs)

    def unfit(self, changed: Iterable[str]) -> tuple[str, ...]:
        """Those of the changed paths that make a run unfit to move a bound."""
        globs = [compile_glob(glob) for glob in self.unfit_paths]
        return tuple(path for path in changed if any(glob.search(path) for glob in globs))

    def label_for(self, registrations: Iterable[Registered]) -> str | None:
        """The runner that a test file asks for; None: it asks for none, for two or for an unknown one."""
        found: set[str | None] = set()
        for registration in registrations:
            for rule in self.registrations:
                if rule.call == registration.call and rule.argument in registration.arguments:
                    value = registration.arguments[rule.argument]
                    found.add(rule.labels.get(value) if isinstance(value, str) else None)
        label = found.pop() if len(found) == 1 else None
        return label if label in self.runners else None

    def bound_sites(self, path: str, text: str) -> tuple[BoundSpan, ...]:
        """Every bound in the text of the file at `path`, by this pack's `bounds`."""
        rules = [rule for rule in self.bounds if compile_glob(rule.files).search(path)]
        return find_bounds(text, [compile_bound(rule.pattern) for rule in rules])
