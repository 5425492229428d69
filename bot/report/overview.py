"""What `status`, `explain` and `help` say. Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.report.markdown import code, folded, link, prose, row, short, stacked, table
from bot.report.words import BARRED, Words, words_of
from bot.verdict.answer import VerdictKind

NOTHING_KNOWN: Final = "no KL test of this pull request was measured yet."
NO_VERDICT: Final = "no verdict of this pull request was reached yet."
EXPLAINED_ROOM: Final = 8_000
"""Characters that one explanation may take."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the newest investigation of a site is. Runs are readings of head and base."""

    test: str
    commit: str
    state: str
    """A sentence fragment: measuring, stopped, or the verdict."""
    done: int
    planned: int
    rounds: int
    url: str | None
    """Of its comment."""


@dataclass(frozen=True, slots=True)
class Judged:
    """`verdict` as contracts/verdict.schema.json, as it was stored."""

    test: str
    commit: str
    verdict: Mapping[str, Any]
    url: str | None
    measured_for: int | None = None
    """The pull request that was measured, where it is another."""


def status(sites: Sequence[Progress]) -> str:
    """One row a site, the newest first."""
    if not sites:
        return NOTHING_KNOWN
    rows = [
        row(
            code(site.test, 120),
            short(site.commit),
            site.state,
            f"{site.done} of {site.planned}",
            str(site.rounds),
            link("comment", site.url) if site.url else "-",
        )
        for site in sites[:20]
    ]
    return "\n\n" + table(("test", "commit", "state", "runs", "rounds", "told in"), rows)


def waits_for(number: int, url: str) -> str:
    """The state of a site that is being measured for another pull request."""
    return f"waiting for {link(f'#{number}', url)}"


def answered_by(verdict: Mapping[str, Any] | None, number: int, url: str) -> str:
    """The state of a site that was answered with what was measured for another pull request."""
    return f"{verdict_label(verdict)}, measured for {link(f'#{number}', url)}"


def verdict_label(verdict: Mapping[str, Any] | None) -> str:
    """As the comment names it."""
    kind = None if verdict is None else verdict.get("kind")
    if verdict is None or kind not in set(VerdictKind):
        return "given up"
    return _words(verdict).label


def is_barred(verdict: Mapping[str, Any]) -> bool:
    """What was measured is noise, and something else bars the bump."""
    return _words(verdict) is BARRED


def _words(verdict: Mapping[str, Any]) -> Words:
    trace = verdict.get("trace") or [{"name": ""}]
    return words_of(VerdictKind(verdict["kind"]), str(verdict.get("reason")), trace[-1]["name"])


def explained(found: Sequence[Judged]) -> str:
    """The ladder of each verdict: each rung, whether it answered, and what it saw."""
    return "\n\n".join(_explained(judged) for judged in found[:5]) or NO_VERDICT


def _explained(judged: Judged) -> str:
    verdict = judged.verdict
    told = link(verdict_label(verdict), judged.url) if judged.url else verdict_label(verdict)
    sentence = prose(str(verdict.get("sentence", "")))
    other = f", measured for #{judged.measured_for}" if judged.measured_for else ""
    head = f"{code(judged.test, 120)} at {short(judged.commit)}: {told}{other}. {sentence}"
    trace = verdict.get("trace") or []
    last = len(trace) - 1
    rows = [
        row(
            code(str(rung["name"]), 60),
            "answered" if place == last else "did not apply",
            prose(str(rung["saw"]), 400),
        )
        for place, rung in enumerate(trace)
    ]
    summary = f"How it was decided ({len(rows)} steps, the last one answered)"
    ladder = stacked(EXPLAINED_ROOM, lambda left: folded(summary, ("step", "result", "saw"), rows, left))
    return "\n\n".join(part for part in (head, ladder) if part)


_HELP: Final = (
    ("/rerun-kl", "measure the red KL tests of this pull request again, head beside base"),
    ("/rerun-kl Class.method", "only this test"),
    ("/rerun-kl <sha>", "the same for a fork: the full SHA of the head commit that was looked at"),
    ("/rerun-kl n=12", "with so many runs of head and of base in the first round (1 to 200)"),
    ("/rerun-kl launches=4", "spread over so many server starts each (1 to 20)"),
    ("/rerun-kl base=<sha>", "beside this commit of the base branch (full SHA)"),
    ("/rerun-kl gpu=<label>", "on the runners with this label"),
    ("/rerun-kl explain", "how the newest verdict was reached"),
    ("/rerun-kl status", "how far the measurements are"),
    ("/rerun-kl stop", "end the measurements of this pull request"),
    ("/rerun-kl help", "this table"),
)


def help_text() -> str:
    rows = [row(code(command), meaning) for command, meaning in _HELP]
    note = (
        "A command stands at the start of a line, at most five in a comment; people with write permission"
        " are obeyed. The words of the first seven may be combined."
    )
    return "\n\n".join(("", table(("command", "does"), rows), note)).rstrip()
