"""The entries of a pack's lists, each validated by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from bot.logs import Form, Print
from rules.patterns import compile_bound, compile_form, compile_glob, compile_job_glob, compile_print

MAX_LINES: Final = 8
MAX_WORDS: Final = 64
COMMAND_NAMES: Final = {"python", "tree"}
_COMPARE: Final = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"


def _glob(text: str) -> str:
    compile_glob(text)
    return text


def _job(text: str) -> str:
    compile_job_glob(text)
    return text


def _folder(text: str) -> str:
    if not text or text.startswith("/") or ".." in PurePosixPath(text).parts or "\\" in text:
        raise ValueError("must be a folder inside the repository")
    return text


def _word(text: str) -> str:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError("must be one line without control characters")
    return text


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words[0]:
        raise ValueError("must begin with the program to run")
    for word in words:
        if unknown := set(re.findall(r"\{(\w+)\}", word)) - COMMAND_NAMES:
            raise ValueError(f"unknown name {{{min(unknown)}}}: there are {{python}} and {{tree}}")
    return words


Glob = Annotated[str, AfterValidator(_glob)]
JobGlob = Annotated[str, AfterValidator(_job)]
Folder = Annotated[str, AfterValidator(_folder)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$")]
Attribute = Annotated[str, Field(pattern=r"^[A-Za-z_]\w{0,99}$")]
Compare = Annotated[str, Field(pattern=_COMPARE)]
Word = Annotated[str, Field(max_length=1000), AfterValidator(_word)]
Command = Annotated[tuple[Word, ...], Field(min_length=1, max_length=MAX_WORDS), AfterValidator(_command)]
TestKind = Literal["auto", "unittest", "pytest", "script"]
Gate = Annotated[float, Field(ge=0, le=1e-3, allow_inf_nan=False)]
Minutes = Annotated[float, Field(gt=0, le=1440, allow_inf_nan=False)]
DayMinutes = Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=100)]
Days = Annotated[int, Field(ge=0, le=90)]
Login = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,38}$")]
Commanders = Annotated[tuple[Login, ...], Field(max_length=100)]


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FormRule(Strict):
    """One printed form of a red test; see bot.logs.Form."""

    name: Name
    lines: Annotated[int, Field(ge=1, le=MAX_LINES)] = 1
    pattern: str
    fails_when: Annotated[Literal["above", "below"] | None, Field(validate_default=True)] = None

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str, info: ValidationInfo) -> str:
        compile_form(pattern, info.data.get("lines", MAX_LINES))
        return pattern

    @field_validator("fails_when")
    @classmethod
    def _fits(cls, fails_when: str | None, info: ValidationInfo) -> str | None:
        has_value = "(?P<value>" in info.data.get("pattern", "")
        if "pattern" in info.data and has_value != (fails_when is not None):
            raise ValueError(
                "is missing: a form with a group (?P<value>…) fails 'above' or 'below' its threshold"
                if has_value
                else "is for forms with a group (?P<value>…); leave it out"
            )
        return fails_when

    @property
    def key(self) -> str:
        return f"the form {self.name!r}"

    def compiled(self) -> Form:
        pattern, hint = compile_form(self.pattern, self.lines)
        return Form(self.name, pattern, self.fails_when, hint, self.lines)


class PrintRule(Strict):
    """One printed part of a measured check; see bot.logs.Print."""

    name: Name
    pattern: str

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        compile_print(pattern)
        return pattern

    @property
    def key(self) -> str:
        return f"the print {self.name!r}"

    def compiled(self) -> Print:
        pattern, hint = compile_print(self.pattern)
        return Print(self.name, pattern, hint)


class RegistrationRule(Strict):
    """Which runner a test file asks for: the constant `argument` of a `call` at the top of its module."""

    call: Attribute
    argument: Attribute
    labels: Annotated[Mapping[str, Label], Field(min_length=1, max_length=100)]
    """Value in source → runner label."""

    @property
    def key(self) -> str:
        return f"the registration {self.call}({self.argument}=…)"


class BoundRule(Strict):
    """A bound in shell or YAML: `files` is a glob, `pattern` has the one group bound."""

    files: Glob
    pattern: str

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        compile_bound(pattern)
        return pattern

    @property
    def key(self) -> str:
        return f"the bound {self.pattern!r} in {self.files!r}"


Entry = FormRule | PrintRule | RegistrationRule | BoundRule | str

Forms = Annotated[tuple[FormRule, ...], Field(min_length=1, max_length=50)]
Prints = Annotated[tuple[PrintRule, ...], Field(max_length=50)]
Tests = Annotated[tuple[Glob, ...], Field(min_length=1, max_length=200)]
Globs = Annotated[tuple[Glob, ...], Field(max_length=200)]
Jobs = Annotated[tuple[JobGlob, ...], Field(min_length=1, max_length=200)]
Attributes = Annotated[tuple[Attribute, ...], Field(max_length=20)]
Runners = Annotated[tuple[Label, ...], Field(min_length=1, max_length=20)]
Registrations = Annotated[tuple[RegistrationRule, ...], Field(max_length=20)]
Bounds = Annotated[tuple[BoundRule, ...], Field(max_length=50)]
Prepare = Annotated[tuple[Command, ...], Field(max_length=16)]


def key_of(entry: Entry) -> str:
    """What may stand in a list only once."""
    return repr(entry) if isinstance(entry, str) else entry.key
