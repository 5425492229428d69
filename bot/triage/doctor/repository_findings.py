"""Is a repository as the bot needs it? What was read of it in, findings out; pure. `name`: its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bot.github.app import EVENTS
from bot.github.inspection import HookSeen, RunnerSeen
from bot.report.findings import Finding, Level
from bot.triage.doctor.app_findings import leads_to_bot, of_hook
from bot.verdict import Refusal
from rules import PackErrors, RepositoryConfig
from runners.workflow import PACKAGE
from runners.workflow.read_back import RerunFile

INDEX: Final = "kl-triage=="


def of_config(name: str, read: RepositoryConfig | PackErrors | None, branch: str) -> list[Finding]:
    """`.github/kl-triage.yml` of the default branch; None: it is not there."""
    if read is None:
        sentence = f"There is no .github/kl-triage.yml on {branch}, so the bot does nothing here."
        return [Finding(Level.WRONG, name, sentence, "`kl-triage init` writes it; merge it")]
    if isinstance(read, PackErrors):
        fix = f"mend it on {branch}; `kl-triage rules check` shows the same errors"
        return [Finding(Level.WRONG, name, error, fix) for error in read.errors]
    sentence = f".github/kl-triage.yml is in order: pack {read.pack.name}, mode {read.mode}."
    if read.mode == "off":
        return [Finding(Level.WARNING, name, sentence, "the mode off means that nothing is done")]
    if read.mode == "observe":
        sentence += " Red jobs are read; nothing is run or written."
    return [Finding(Level.OK, name, sentence)]


def of_rerun_file(
    name: str, there: bool, file: RerunFile | None, wanted: Iterable[str], branch: str
) -> list[Finding]:
    """kl-rerun.yml of the default branch, which a dispatch needs; `wanted`: labels that reruns ask for."""
    again = "`kl-triage init` writes it anew; merge it"
    if not there:
        sentence = f"There is no .github/workflows/kl-rerun.yml on {branch}, so nothing can be rerun."
        return [Finding(Level.WRONG, name, sentence, "`kl-triage init` writes it; merge it")]
    if file is None:
        sentence = "kl-rerun.yml is not as `kl-triage init` writes it; the bot may not understand its runs."
        return [Finding(Level.WARNING, name, sentence, again)]
    found = [
        Finding(Level.WRONG, name, f"kl-rerun.yml does not offer the runner label '{label}'.", again)
        for label in wanted
        if label not in file.labels
    ]
    if not file.is_current:
        sentence = "kl-rerun.yml differs from the one that this version of kl-triage writes."
        found.append(Finding(Level.WARNING, name, sentence, again))
    if file.package.startswith(INDEX) and file.package != PACKAGE:
        sentence = f"kl-rerun.yml measures with {file.package}; the bot is {PACKAGE}."
        found.append(Finding(Level.WARNING, name, sentence, again))
    return found or [Finding(Level.OK, name, "kl-rerun.yml is there, as this version writes it.")]


def of_workflow(name: str, state: str | None, page: str) -> list[Finding]:
    """Whether GitHub would start kl-rerun.yml. `page`: the repository's."""
    if state == "active":
        return [Finding(Level.OK, name, "GitHub Actions is on, and kl-rerun.yml may be started.")]
    if state is None:
        sentence = "GitHub knows no workflow kl-rerun.yml: Actions is off, or the App may not read it."
        return [Finding(Level.WRONG, name, sentence, f"switch Actions on at {page}/settings/actions")]
    sentence = f"kl-rerun.yml is switched off ({state.replace('_', ' ')})."
    fix = f"enable it at {page}/actions/workflows/kl-rerun.yml"
    return [Finding(Level.WRONG, name, sentence, fix)]


def of_runners(name: str, seen: Sequence[RunnerSeen] | None, wanted: Iterable[str]) -> list[Finding]:
    """Labels without a runner of the repository itself that is online."""
    if seen is None:
        sentence = "Whether runners are online could not be seen: that takes Administration: read."
        return [Finding(Level.WARNING, name, sentence)]
    found = []
    for label in wanted:
        having = [runner for runner in seen if label in runner.labels]
        online = sum(runner.online for runner in having)
        if online:
            found.append(Finding(Level.OK, name, f"{online} of {len(having)} runners '{label}' online."))
            continue
        sentence = (
            f"None of the {len(having)} runners with the label '{label}' is online."
            if having
            else f"The repository has no runner of its own with the label '{label}'."
        )
        fix = "start one (docs/runner.md), unless the organisation's runners, unseen here, have the label"
        found.append(Finding(Level.WARNING, name, sentence, fix))
    return found


def of_hooks(name: str, seen: Sequence[HookSeen] | None, page: str) -> list[Finding]:
    """Of a repository without an App: the webhooks that lead to a bot. `page`: where they are changed."""
    if seen is None:
        sentence = "The webhook could not be seen: that takes Webhooks: read."
        return [Finding(Level.WARNING, name, sentence)]
    ours = [hook for hook in seen if leads_to_bot(hook)]
    if not ours:
        events = ", ".join(wanted.event for wanted in EVENTS)
        fix = f"on {page} add the bot's address with /webhook, application/json, the secret, and {events}"
        return [Finding(Level.WRONG, name, "No webhook leads to a bot.", fix)]
    return [finding for hook in ours for finding in of_hook(hook, page, name)]


def of_kill_switch(name: str, thrown: Refusal | None) -> list[Finding]:
    if thrown is None:
        return [Finding(Level.OK, name, "The kill switch is not thrown.")]
    return [Finding(Level.WARNING, name, thrown.sentence)]
