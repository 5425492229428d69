"""A repository's own file: which pack holds there, what differs from it, and what the bot may do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from rules.entries import (
    Attributes,
    Bounds,
    Commanders,
    Compare,
    Count,
    DayMinutes,
    Days,
    Folder,
    Forms,
    Gate,
    Globs,
    Jobs,
    Label,
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
from rules.pack import Pack, Registered

Mode = Literal["off", "observe", "comment", "propose"]


class Additions(Strict):
    """The key `also`: entries that come behind the pack's own."""

    tests: Tests | None = None
    jobs: Jobs | None = None
    forms: Forms | None = None
    prints: Prints | None = None
    attributes: Attributes | None = None
    bounds: Bounds | None = None
    unfit_paths: Globs | None = None
    runners: Runners | None = None
    registrations: Registrations | None = None


LISTS: Final = tuple(Additions.model_fields)
"""The keys of a pack that hold lists without two equal entries."""


class Limits(Strict):
    """What the bot may spend and how often, and who besides writers may ask it."""

    commanders: Commanders = ()
    """People without write permission who may command all the same, each after a cooldown."""
    command_cooldown_minutes: Minutes = 60.0
    budget_minutes_per_day: DayMinutes = 480.0
    """Runner minutes that reruns of this repository may be planned for in 24 hours."""
    open_bumps: Count = 3
    """Bump pull requests that may be open at a time; 0: none is opened."""
    known_days: Days = 7
    """How long a verdict of a site answers the next pull request that hits it; 0: each is measured."""


class RepositoryFile(Limits):
    """`.github/kl-triage.yml` as written: a pack to extend, what the bot may do, and what differs."""

    extends: Name
    mode: Mode = "observe"
    runner: Label | None = None
    budget_minutes: Minutes | None = None
    also: Additions = Additions()
    tests: Tests | None = None
    jobs: Jobs | None = None
    forms: Forms | None = None
    prints: Prints | None = None
    attributes: Attributes | None = None
    bounds: Bounds | None = None
    compare: Compare | None = None
    python_path: tuple[Folder, ...] | None = None
    prepare: Prepare | None = None
    test_kind: TestKind | None = None
    unfit_paths: Globs | None = None
    exact_gate: Gate | None = None
    runners: Runners | None = None
    registrations: Registrations | None = None
    launch_minutes: Minutes | None = None
    repeat_minutes: Minutes | None = None
    launch_timeout_minutes: Minutes | None = None

    def over(self, pack: Pack) -> Pack:
        """The pack with this file's values in place of its own, and the additions behind them."""
        own: dict[str, Any] = {name: getattr(self, name) for name in Pack.model_fields if name != "name"}
        merged = pack.model_copy(update={name: value for name, value in own.items() if value is not None})
        added = {name: (*getattr(merged, name), *(getattr(self.also, name) or ())) for name in LISTS}
        return merged.model_copy(update=added)


class RepositoryConfig(Limits):
    """What holds for one repository. `runner` is one of the pack's labels."""

    pack: Pack
    mode: Mode
    runner: Label
    runner_is_fixed: bool = False
    """The file names the runner; without that a test's own registration is asked first."""
    budget_minutes: Minutes | None = None
    """Runner minutes of one investigation; None: the judge's own default."""

    def runner_for(self, registrations: Iterable[Registered]) -> str:
        """The label that reruns of a test with these registrations ask for."""
        own = None if self.runner_is_fixed else self.pack.label_for(registrations)
        return own or self.runner
