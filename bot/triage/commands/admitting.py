"""Admitting steps: who may command. GitHub is asked, never the payload, and an unreadable answer is a no.

People on the repository's list `commanders` may, without write permission, have measured again what the bot
measures by itself: `/rerun-kl`, alone or with a Class.method, of this repository's own branches, once per
cooldown; and ask for `explain`, `status` and `help`. All else is for people who may write.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from github.Repository import Repository

from bot.github import reads
from bot.triage.commands import grammar
from bot.triage.commands.grammar import Misunderstood, Rerun
from bot.triage.configured import CONFIG_PATH, NOT_SET_UP, read_config
from bot.triage.measure import kill_switch
from bot.triage.services import Services
from bot.verdict import Refusal
from rules import RepositoryConfig

log = logging.getLogger(__name__)

WRITER: Final = "writer"
LISTED: Final = "listed"
STRANGER: Final = "stranger"
SILENT: Final = "silent"
"""Where the bot says nothing, or the author is a bot."""
UNREADY: Final = "unready"
"""A writer, where the settings cannot be read or let nothing be measured: told so, once a comment."""
RERUN: Final = "rerun"
MISUNDERSTOOD: Final = "misunderstood"


def admit(svc: Services, event: Mapping[str, Any]) -> dict[str, Any]:
    """{"role": one of the above, "commands": the kind of each that is to be answered, "free_at": when the
    author's cooldown ends, "" where there is none, "why": for UNREADY, else ""}."""
    repo = svc.installations.repository(event["installation"], event["repo"])
    kinds = [_kind(command.asked) for command in commands_of(event)[: grammar.MAX_COMMANDS]]
    subject, role, cooldown, why = f"comment {event['comment_id']}", SILENT, None, ""
    config = _speaking(svc, repo, event, subject) if kinds else None
    if isinstance(config, Refusal):
        if reads.may_write(repo, event["author"]):
            role, why = UNREADY, config.sentence
    elif config is not None:
        role = _role(repo, config, event["author"])
        cooldown = None if role == WRITER else timedelta(minutes=config.command_cooldown_minutes)
    if role == STRANGER:
        sentence = f"{event['author']} may not command: GitHub confirms no write permission here."
        svc.store.note(event["repo"], subject, "not_permitted", sentence)
    free_at = None
    if role in (WRITER, LISTED) and RERUN in kinds:
        at = datetime.fromisoformat(event["updated_at"])
        who = event["author"]
        free_at = svc.store.obey(event["repo"], event["comment_id"], who, at, cooldown=cooldown)
    until = f"{free_at:%Y-%m-%d %H:%M} UTC" if free_at else ""
    return {"role": role, "commands": kinds, "free_at": until, "why": why}


def release(svc: Services, event: Mapping[str, Any]) -> None:
    """Nothing was started for this comment, so no cooldown runs from it. It was noted before all the same:
    two comments at once are not both obeyed."""
    svc.store.disobey(event["repo"], event["comment_id"], datetime.fromisoformat(event["updated_at"]))


def admit_click(svc: Services, event: Mapping[str, Any]) -> bool:
    """The buttons of a check run are for people who may write; nobody is told no, GitHub hides them."""
    repo = svc.installations.repository(event["installation"], event["repo"])
    config = _speaking(svc, repo, event, f"check {event['check_id']}")
    return isinstance(config, RepositoryConfig) and _role(repo, config, event["author"]) == WRITER


def commands_of(event: Mapping[str, Any]) -> tuple[grammar.Command, ...]:
    """All of the comment, or what its edit added."""
    return grammar.fresh(event["body"], event["before"])


def _speaking(
    svc: Services, repo: Repository, event: Mapping[str, Any], subject: str
) -> RepositoryConfig | Refusal | None:
    """The settings; why nothing is measured under them; None where the bot says nothing at all, or the author
    is a bot."""
    login = svc.installations.login()
    if event["author"].lower() == login.lower() or event["author"].endswith("[bot]"):
        return None
    found = read_config(repo, reads.facts(repo).default_branch)
    if found.code == NOT_SET_UP if isinstance(found, Refusal) else found[0].mode == "off":
        return None
    stopped = kill_switch.thrown(svc, repo)
    if stopped is not None:
        log.info("%s %s: %s", event["repo"], subject, stopped.sentence)
        svc.store.note(event["repo"], subject, stopped.code, stopped.sentence)
        return None
    if isinstance(found, Refusal):
        return found
    config, _ = found
    if config.mode == "observe":
        return Refusal("mode", f"The mode in {CONFIG_PATH} is 'observe': nothing is measured or judged.")
    return config


def _role(repo: Repository, config: RepositoryConfig, author: str) -> str:
    if reads.may_write(repo, author):
        return WRITER
    return LISTED if author.lower() in {login.lower() for login in config.commanders} else STRANGER


def _kind(asked: grammar.Asked) -> str:
    if isinstance(asked, Rerun):
        return RERUN
    return MISUNDERSTOOD if isinstance(asked, Misunderstood) else str(asked)
