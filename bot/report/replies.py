"""What a command is answered with: one reply a comment, one paragraph a command. Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from bot.report.facts import PullLink
from bot.report.markdown import LIMIT, capped, code, link, prose, short

REFUSED_MARKER: Final = "<!-- kl-triage:reply refused -->"
NOT_PERMITTED: Final = (
    "Reruns cost GPU time: `/rerun-kl` is for people with write permission here, which GitHub did not confirm"
    " for you."
)
_NOT_STARTED: Final = "nothing was started"
NOT_OPEN: Final = f"{_NOT_STARTED}: this pull request is not open."
OWN_BRANCH: Final = f"{_NOT_STARTED}: this pull request is the bot's own, and triaging it could loop."
FORK_NEEDS_SHA: Final = (
    f"{_NOT_STARTED}: the code is from a fork. Look at it, then write `/rerun-kl` with the full SHA of the"
    " head commit behind it, so that exactly what you looked at runs on the GPU machines."
)
ONLY_WRITERS_CHOOSE: Final = (
    f"{_NOT_STARTED}: numbers, commits and runners are for people with write permission here; without it,"
    " `/rerun-kl` stands alone or with a `Class.method`."
)
ONLY_WRITERS_BIND: Final = (
    f"{_NOT_STARTED}: the code is from a fork, and only people with write permission here can let it run."
)
ONLY_WRITERS_STOP: Final = "nothing was stopped: that is for people with write permission here."
UNREADABLE: Final = "GitHub could not be reached long enough to do this; please ask again later."
STILL_STOPPING: Final = (
    f"{_NOT_STARTED}: what was stopped has not ended yet; please ask again in some minutes."
)
NOTHING_RED: Final = f"{_NOT_STARTED}: no red KL test was found on the head commit."
NOTHING_TO_STOP: Final = "nothing of this pull request is being measured."
_SHOWN: Final = 10
_END: Final = re.compile(r"^<!-- kl-triage:edit ([0-9a-z]+) -->$", re.MULTILINE)


def reply_marker(comment_id: int) -> str:
    return f"<!-- kl-triage:reply comment={comment_id} -->"


def reply(
    marker: str, outcomes: Sequence[tuple[str, str]], left_out: int, *, edit: str = "", known: str = ""
) -> str:
    """(command as written, Markdown of what became of it), in order; `left_out` further ones were not run.

    `edit` names an edit of the comment by letters and digits; `known` is the reply as it stands, of which
    what belongs to other edits is kept, the newest first.
    """
    blocks = [f"{code(command, 120)}: {outcome}".replace(": \n", ":\n", 1) for command, outcome in outcomes]
    if left_out:
        were = "was" if left_out == 1 else "were"
        blocks.append(
            f"Only the first {len(outcomes)} commands of a comment are run; {left_out} more {were} not."
        )
    parts = _parts(known.removeprefix(marker))
    mine = "\n\n".join(blocks)
    parts = parts | {edit: mine} if edit in parts else {edit: mine} | parts
    told = [f"{text}\n\n{_end_of(name)}" if name else text for name, text in parts.items() if text]
    return capped("\n\n".join([marker, *told]), LIMIT)


def _parts(text: str) -> dict[str, str]:
    """What was said of each edit; of the comment as it was first under ""."""
    pieces = _END.split(text)
    return {name: part.strip() for part, name in zip(pieces[::2], [*pieces[1::2], ""], strict=True)}


def _end_of(edit: str) -> str:
    """Ends what is said of an edit. No command can spell it: it is shown behind other words of its line."""
    return f"<!-- kl-triage:edit {edit} -->"


def refused() -> str:
    return f"{REFUSED_MARKER}\n{NOT_PERMITTED}"


def measuring(tests: Sequence[str], *, again: bool, asked: Mapping[str, object]) -> str:
    """Investigations were opened for these tests. `asked`: runs, launches, base, runner, as far as said."""
    where = "comment of each test" if len(tests) > 1 else "comment of the test"
    be = "are" if len(tests) > 1 else "is"
    once_more = " again" if again else ""
    return (
        f"{_listed(tests)} {be} being measured{once_more}, head beside base{_as_asked(asked)};"
        f" the result goes into the {where}."
    )


def _as_asked(asked: Mapping[str, object]) -> str:
    names = {"runs": "n", "launches": "launches", "base": "base", "runner": "gpu"}
    said = [code(f"{name}={asked[field]}", 120) for field, name in names.items() if field in asked]
    within = ", as far as the budget allows" if {"runs", "launches"} & asked.keys() else ""
    return f", with {' '.join(said)}{within}" if said else ""


def not_the_head(head_sha: str) -> str:
    return (
        f"{_NOT_STARTED}: that SHA is not the head commit of this pull request, which is {short(head_sha)}."
    )


def unready(why: str) -> str:
    """The settings of the repository cannot be read, or let nothing be measured."""
    return f"{_NOT_STARTED}. {prose(why)}"


def measured_already(found: Sequence[tuple[str, str, str | None]]) -> str:
    """(test, commit, address of its comment) of what is being measured for this pull request now."""
    parts = []
    for test, commit, url in found[:_SHOWN]:
        at = f"at {short(commit)}"
        parts.append(f"{code(test)} {link(at, url) if url else at}")
    return (
        f"being measured for this pull request already: {', '.join(parts)}."
        " To begin anew, write `/rerun-kl stop` and then ask again."
    )


def waiting(found: Sequence[tuple[str, PullLink]]) -> str:
    """(test, the pull request it is being measured for now)."""
    parts = [f"{code(test)} for {link(f'#{pull.number}', pull.url)}" for test, pull in found[:_SHOWN]]
    return f"being measured now: {', '.join(parts)}; what is found there decides whether this commit is next."


def not_red(test: str, red: Sequence[str], nearest: str | None) -> str:
    """A test was named that is not red on the head commit."""
    if not red:
        return NOTHING_RED
    meant = f" Did you mean {code(nearest)}?" if nearest else ""
    return f"{_NOT_STARTED}: {code(test)} is not red on the head commit; red there: {_listed(red)}.{meant}"


def not_opened(red: Sequence[str]) -> str:
    """Red tests for which no investigation could be opened."""
    return f"{_NOT_STARTED}: {_listed(red)} went red, but was not found in this repository's source."


def no_such_base(base: str, branch: str) -> str:
    return (
        f"{_NOT_STARTED}: {short(base)} is no commit of {code(branch, 100)}, and only what was merged there"
        " is run as base."
    )


def no_such_runner(label: str, runners: Sequence[str]) -> str:
    return f"{_NOT_STARTED}: {code(label, 100)} is no runner of these tests; there are {_listed(runners)}."


def cooling(free_at: str) -> str:
    return (
        f"{_NOT_STARTED}: you asked for a rerun a short while ago; you may ask again at {prose(free_at, 40)}."
    )


def stopped(tests: Sequence[str]) -> str:
    return f"stopping {_listed(tests)}; what was measured so far goes into the comment, without a verdict."


def waits_no_more(tests: Sequence[str]) -> str:
    return f"{_listed(tests)} waits no more for what is measured for another pull request."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(code(name) for name in names[:_SHOWN]) + more
