"""A rule pack: what one project's KL tests look like, where their bounds live, what a rerun costs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bot.logs import Form
from rules.patterns import compile_form, compile_glob

_COMPARE: Final = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"


def _glob(text: str) -> str:
    compile_glob(text)
    return text


def _form_pattern(text: str) -> str:
    compile_form(text)
    return text


def _folder(text: str) -> str:
    if not text or text.startswith("/") or ".." in PurePosixPath(text).parts or "\\" in text:
        raise ValueError("must be a folder inside the repository")
    return text


Glob = Annotated[str, AfterValidator(_glob)]
Folder = Annotated[str, AfterValidator(_folder)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$")]
Attribute = Annotated[str, Field(pattern=r"^[A-Za-z_]\w{0,99}$")]
Minutes = Annotated[float, Field(gt=0, le=1440, allow_inf_nan=False)]
Mode = Literal["off", "observe", "comment", "propose"]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FormRule(_Strict):
    """One printed form of a crossed bound; see bot.logs.Form."""

    name: Name
    pattern: Annotated[str, AfterValidator(_form_pattern)]
    fails_when: Literal["above", "below"]

    def compiled(self) -> Form:
        pattern, hint = compile_form(self.pattern)
        return Form(self.name, pattern, self.fails_when, hint)


Forms = Annotated[tuple[FormRule, ...], Field(min_length=1, max_length=50)]
Globs = Annotated[tuple[Glob, ...], Field(max_length=200)]


class Pack(_Strict):
    """`tests` and `unfit_paths` are globs over paths of the repository; times are minutes of one runner."""

    name: Name
    tests: Annotated[Globs, Field(min_length=1)]
    """The files that hold KL tests."""
    forms: Forms
    attributes: Annotated[tuple[Attribute, ...], Field(min_length=1, max_length=20)]
    """Names of class attributes that hold bounds."""
    compare: Annotated[str, Field(pattern=_COMPARE)] | None = None
    """module:function that prints the values and asserts the bound; the probe wraps it."""
    python_path: tuple[Folder, ...] = ()
    unfit_paths: Globs = ()
    """A pull request that changes one of these may be judged, but no bound is moved on its runs."""
    exact_gate: Annotated[float, Field(ge=0, le=1e-3, allow_inf_nan=False)] = 1e-6
    """A bound at or below this says that any difference is a bug."""
    runners: Annotated[tuple[Label, ...], Field(min_length=1, max_length=20)]
    """Labels that a rerun may ask for."""
    launch_minutes: Minutes
    repeat_minutes: Minutes
    launch_timeout_minutes: Minutes = 30.0

    @cached_property
    def scan_forms(self) -> tuple[Form, ...]:
        """For bot.logs.scan."""
        return tuple(form.compiled() for form in self.forms)

    def is_test(self, path: str) -> bool:
        return any(compile_glob(glob).search(path) for glob in self.tests)

    def unfit(self, changed: Iterable[str]) -> tuple[str, ...]:
        """Those of the changed paths that make a run unfit to move a bound."""
        globs = [compile_glob(glob) for glob in self.unfit_paths]
        return tuple(path for path in changed if any(glob.search(path) for glob in globs))


class RepositoryFile(_Strict):
    """`.github/kl-triage.yml` as written: a pack to extend, what the bot may do, and what differs."""

    extends: Name
    mode: Mode = "observe"
    runner: Label | None = None
    budget_minutes: Minutes | None = None
    tests: Annotated[Globs, Field(min_length=1)] | None = None
    forms: Forms | None = None
    attributes: Annotated[tuple[Attribute, ...], Field(min_length=1, max_length=20)] | None = None
    compare: Annotated[str, Field(pattern=_COMPARE)] | None = None
    python_path: tuple[Folder, ...] | None = None
    unfit_paths: Globs | None = None
    exact_gate: Annotated[float, Field(ge=0, le=1e-3, allow_inf_nan=False)] | None = None
    runners: Annotated[tuple[Label, ...], Field(min_length=1, max_length=20)] | None = None
    launch_minutes: Minutes | None = None
    repeat_minutes: Minutes | None = None
    launch_timeout_minutes: Minutes | None = None

    def over(self, pack: Pack) -> Pack:
        """The pack with this file's values in place of its own."""
        own = {name: getattr(self, name) for name in Pack.model_fields if name != "name"}
        return pack.model_copy(update={name: value for name, value in own.items() if value is not None})


class RepositoryConfig(_Strict):
    """What holds for one repository. `runner` is one of the pack's labels."""

    pack: Pack
    mode: Mode
    runner: Label
    budget_minutes: Minutes | None = None
    """Runner minutes of one investigation; None: the judge's own default."""
