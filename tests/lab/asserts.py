"""What must hold after every story, whatever went wrong in it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from bot.triage.commands import grammar
from tests.lab.lab import Lab

_MARKER = re.compile(r"<!-- kl-triage:[^>]*?-->")
_CODE = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->", re.DOTALL)
_MENTION = re.compile(r"(?<![\w/.])@[A-Za-z0-9]")
_CHANGING = re.compile(r" (?:sha|base|run)=[0-9a-f]+")


def assert_once(lab: Lab) -> None:
    """One run per planned rerun, one comment per pull request and marker, one check per investigation and one
    name per site of a commit, at most one pull request per branch and per site."""
    assert doubled(lab.requests()) == []
    planned = [rerun.request for one in lab.investigations() for rerun in lab.store.reruns(one.id)]
    assert set(lab.requests()) <= set(planned)
    for number in lab.world.state.pulls:
        assert doubled(_marks(lab, number)) == []
    assert doubled((check.head_sha, check.name, check.external_id) for check in lab.checks()) == []
    sites = {one.id: one.site_key for one in lab.investigations()}
    named = {(check.head_sha, check.name, sites[check.external_id]) for check in lab.checks()}
    assert doubled((sha, name) for sha, name, _ in named) == []
    assert doubled((pull.head_ref,) for pull in lab.bumps()) == []
    assert doubled(pull.head_ref.rpartition("/")[0] for pull in lab.bumps() if pull.state == "open") == []
    assert_harmless(lab)


def assert_harmless(lab: Lab) -> None:
    """No text of the bot holds a command that would run, calls anybody, or is too long for GitHub."""
    comments = [c.body for c in lab.world.state.comments.values() if c.user == lab.world.bot]
    for text in [*comments, *(pull.body or "" for pull in lab.bumps())]:
        assert grammar.parse(text) == ()
        assert _MENTION.search(_CODE.sub("", text)) is None
        assert len(text) <= 65_536


def assert_ended(lab: Lab) -> None:
    """No investigation, workflow or check is left in the middle."""
    assert lab.running() == []
    assert [one.id for one in lab.investigations() if one.state == "open"] == []
    assert [check.name for check in lab.checks() if check.status != "completed"] == []


def doubled(things: Any) -> list[Any]:
    return [thing for thing, times in Counter(things).items() if times > 1]


def _marks(lab: Lab, number: int) -> list[str]:
    """The first marker of each comment of the bot, without what changes from one edit to the next."""
    found = [_MARKER.search(body) for body in lab.comments(number)]
    return [_CHANGING.sub("", mark[0]) if mark else "no marker" for mark in found]
