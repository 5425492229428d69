"""`kl-triage doctor`, which also runs as the server starts: asks GitHub thing by thing and has it judged."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import requests
from github import GithubException, UnknownObjectException
from github.Repository import Repository
from github.Requester import Requester

from bot.github import inspection, reads
from bot.github.connect import PUBLIC_API, Connection, Installations, OneToken
from bot.github.patience import reason
from bot.report.findings import Finding, Level, log_line
from bot.triage.configured import CONFIG_PATH
from bot.triage.doctor import app_findings, repository_findings
from bot.triage.doctor.app_findings import APP, WEBHOOK
from bot.triage.env_file import unknown_setting, unknown_settings
from bot.triage.measure.kill_switch import thrown_in
from bot.triage.settings import Settings
from rules import PackErrors, RepositoryConfig, repository_pack
from runners.workflow.read_back import read_back

log = logging.getLogger(__name__)

RERUN_FILE: Final = "kl-rerun.yml"
RERUN_PATH: Final = f".github/workflows/{RERUN_FILE}"
MAX_REPOSITORIES: Final = 20
ACCOUNT: Final = "Token"
SETTINGS: Final = "Settings"
# An answer of an unexpected form is trouble too, not a crash.
TROUBLE: Final = (GithubException, requests.RequestException, KeyError, TypeError, ValueError, AttributeError)
_LOGGED: Final = {Level.OK: logging.INFO, Level.WARNING: logging.WARNING, Level.WRONG: logging.ERROR}

T = TypeVar("T")


def in_background(settings: Settings, connection: Connection) -> threading.Thread:
    """Looks while the server serves already, and logs what it finds; whatever happens there ends there."""

    def look() -> None:
        try:
            for finding in preflight(settings, connection, ()):
                log.log(_LOGGED[finding.level], "%s", log_line(finding))
        except Exception:
            log.exception("the preflight could not be finished")

    thread = threading.Thread(target=look, name="preflight", daemon=True)
    thread.start()
    return thread


def preflight(settings: Settings, connection: Connection, names: Sequence[str]) -> list[Finding]:
    """Without `names`: also of the first MAX_REPOSITORIES that the App is installed on."""
    look = Look()
    look.found.append(Finding(Level.OK, SETTINGS, "Every setting is there and can be read."))
    if isinstance(connection, Installations):
        installed = _look_at_app(look, connection)
        if installed is None:
            return look.found
        names = names or installed
    elif isinstance(connection, OneToken):
        login = look.at(ACCOUNT, "Whose token it is", connection.login)
        if login is None:
            return look.found
        look.found.append(Finding(Level.OK, ACCOUNT, f"It is a token of {login}."))
        if not names:
            fix = "name them: kl-triage doctor OWNER/REPO"
            look.found.append(Finding(Level.WARNING, ACCOUNT, "No repository was looked at.", fix))
    for name in names:
        _look_at_repository(look, settings, connection, name)
    return look.found


def misspelt(env: Iterable[str]) -> list[Finding]:
    """Names in the environment that begin like a setting; a file with one is not taken at all."""
    return [
        Finding(Level.WARNING, SETTINGS, unknown_setting(name), "mend the name, or unset it")
        for name in unknown_settings(env)
    ]


class Look:
    """Gathers findings; a read that fails becomes one, and what stands beside it is looked at as well."""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def at(self, about: str, what: str, read: Callable[[], T]) -> T | None:
        """The value of a read, or None after a finding that it failed."""
        try:
            return read()
        except TROUBLE as error:
            sentence = f"{what} could not be read: {reason(error)}."
            self.found.append(Finding(Level.WRONG, about, sentence, _fix(error)))
            return None


def _fix(error: Exception) -> str | None:
    status = error.status if isinstance(error, GithubException) else None
    if status == 401:
        return "GitHub does not take these credentials: the key must be the App's, or the token be valid"
    if status == 403:
        return "the App or the token lacks a permission, or is not given this repository"
    if status == 404:
        return (
            "the App or the token lacks a permission or is not given this repository, or KL_TRIAGE_GITHUB_API"
            f" is not the REST address: {PUBLIC_API}, or https://HOST/api/v3 of a GitHub Enterprise Server"
        )
    if isinstance(error, requests.RequestException):
        return "GitHub must be reachable from here; KL_TRIAGE_GITHUB_API names its address"
    return None


def _look_at_app(look: Look, connection: Installations) -> tuple[str, ...] | None:
    """Returns the first repositories it is installed on; None: GitHub does not know it or is not there."""
    requester = connection.app
    app = look.at(APP, "The App", lambda: inspection.app(requester))
    if app is None:
        return None
    look.found += app_findings.of_app(app)
    installed = look.at(APP, "Its installations", lambda: inspection.installations(requester))
    if installed is not None:
        look.found += app_findings.of_installations(app, installed)
    hook = look.at(WEBHOOK, "The webhook", lambda: inspection.app_hook(requester))
    if hook is not None:
        look.found += app_findings.of_hook(hook, app_findings.app_page(app))
    deliveries = look.at(WEBHOOK, "The last deliveries", lambda: inspection.app_deliveries(requester))
    if deliveries is not None:
        look.found += app_findings.of_deliveries(deliveries)
    names: list[str] = []
    for one in installed or ():
        room = MAX_REPOSITORIES - len(names)
        if not one.suspended and room > 0:
            client = connection.installation(one.installation_id)
            names += _repositories(look, client, one.account, room)
    return tuple(names)


def _repositories(look: Look, client: Requester, account: str, room: int) -> tuple[str, ...]:
    what = f"The repositories of {account}"
    return look.at(APP, what, lambda: inspection.repositories(client, room)) or ()


def _look_at_repository(look: Look, settings: Settings, connection: Connection, name: str) -> None:
    try:
        repo = look.at(name, "The installation", lambda: _installed(connection, name))
    except NotInstalled:
        fix = "install it there, or give it this repository, on the App's page"
        look.found.append(Finding(Level.WRONG, name, "The App is not installed on this repository.", fix))
        return
    facts = look.at(name, "The repository", lambda: reads.facts(repo)) if repo is not None else None
    if repo is None or facts is None:
        return
    if not connection.can_check:
        _look_at_token(look, repo, name, facts.html_url)
    branch = facts.default_branch
    config = _look_at_config(look, repo, name, branch)
    labels = () if config is None else _labels(config)
    if _look_at_rerun_file(look, repo, name, branch, labels):
        state = look.at(name, RERUN_FILE, lambda: (inspection.workflow_state(repo, RERUN_FILE),))
        if state is not None:
            look.found += repository_findings.of_workflow(name, *state, facts.html_url)
    seen = look.at(name, "The list of runners", lambda: (inspection.runners(repo),))
    if seen is not None:
        look.found += repository_findings.of_runners(name, *seen, labels)
    thrown = look.at(name, "The kill switch", lambda: (thrown_in(repo, by_operator=settings.stop),))
    if thrown is not None:
        look.found += repository_findings.of_kill_switch(name, *thrown)


def _look_at_token(look: Look, repo: Repository, name: str, page: str) -> None:
    """What an App brings along is a repository's own here: permission to write, and a webhook."""
    if look.at(name, "What the token may do", lambda: inspection.may_push(repo)) is False:
        fix = "give the token Contents: write, and its owner write permission"
        look.found.append(Finding(Level.WRONG, name, "The token may not write to this repository.", fix))
    hooks = look.at(name, "The webhooks", lambda: (inspection.hooks(repo),))
    if hooks is not None:
        look.found += repository_findings.of_hooks(name, *hooks, f"{page}/settings/hooks")


class NotInstalled(Exception):
    """The App is not installed on a repository, or there is no such repository."""


def _installed(connection: Connection, name: str) -> Repository:
    try:
        return connection.repository(0, name)
    except UnknownObjectException:
        raise NotInstalled from None


def _look_at_config(look: Look, repo: Repository, name: str, branch: str) -> RepositoryConfig | None:
    data = look.at(name, CONFIG_PATH, lambda: (reads.file_at(repo, CONFIG_PATH, branch),))
    if data is None:
        return None
    config = None if data[0] is None else repository_pack(data[0], CONFIG_PATH)
    look.found += repository_findings.of_config(name, config, branch)
    return None if isinstance(config, PackErrors) else config


def _look_at_rerun_file(look: Look, repo: Repository, name: str, branch: str, labels: Sequence[str]) -> bool:
    """False: it is not there, or could not be read."""
    data = look.at(name, RERUN_FILE, lambda: (reads.file_at(repo, RERUN_PATH, branch),))
    if data is None:
        return False
    file = None if data[0] is None else read_back(data[0].decode("utf-8", "replace"))
    look.found += repository_findings.of_rerun_file(name, data[0] is not None, file, labels, branch)
    return data[0] is not None


def _labels(config: RepositoryConfig) -> tuple[str, ...]:
    """Those that a rerun may ask for."""
    return (config.runner,) if config.runner_is_fixed else tuple(config.pack.runners)
