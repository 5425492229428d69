"""The sites of a red job: which tests crossed their bound, and the literal that sets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from bot.github import reads
from bot.logs import Failure
from bot.source import Site, locate
from bot.source.registrations import registrations
from bot.triage.red.paths import tree_path
from bot.triage.red.redjob import RedRun, counts
from bot.verdict import Refusal

# Without these there is nothing that could be measured; every other refusal only bars a bump.
UNMEASURABLE: Final = frozenset({"file_not_found", "does_not_parse", "class_not_found"})
Read = Callable[[str], bytes | None]


@dataclass(slots=True)
class RedSite:
    """The failures of one site: the first is measured, the others are named."""

    key: str
    test: str
    """path::Class.method, the path as it is in the tree."""
    failure: Failure
    site: Site | Refusal
    runner: str
    """The label that reruns ask for."""
    also_red: list[str] = field(default_factory=list)

    @property
    def bound(self) -> float | None:
        """The source at the failing commit is the truth; a log can state a stale bound."""
        return self.site.value if isinstance(self.site, Site) else self.failure.threshold


def sites_of(run: RedRun, only: str | None) -> tuple[list[RedSite], list[Refusal]]:
    """The red sites, and why a red test has none. `only` is the Class.method a command asks about."""

    read = reads.reader(run.repo, run.event["head_sha"])  # the source there is the truth about the bound
    sites: dict[str, RedSite] = {}
    refusals = []
    failures = sorted(filter(counts, run.scanned.failures), key=lambda found: _name(found.test or "") != only)
    for failure in failures:
        test, site = _locate(run, failure.test or "", read)
        if isinstance(site, Refusal) and site.code in UNMEASURABLE:
            refusals.append(Refusal(site.code, f"{test[:200]}: {site.sentence}"))
            continue
        key = site.key if isinstance(site, Site) else test.rpartition(".")[0]
        if key in sites:
            sites[key].also_red.append(test)
        else:
            sites[key] = RedSite(key, test, failure, site, _runner(run, test, read))
    return [red for red in sites.values() if only is None or _name(red.test) == only], refusals


def _locate(run: RedRun, printed: str, read: Read) -> tuple[str, Site | Refusal]:
    path, _, name = printed.partition("::")
    pack = run.config.pack
    inside = tree_path(path, pack)
    if inside is None or "." not in name:
        sentence = "The log does not say which KL test of this repository went red."
        return printed, Refusal("file_not_found", sentence)
    test = f"{inside}::{name}"
    return test, locate(inside, _name(test), read, pack.attributes, pack.exact_gate)


def _name(test: str) -> str:
    """Class.method; pytest's parameters stand in brackets."""
    return test.partition("::")[2].partition("[")[0]


def _runner(run: RedRun, test: str, read: Read) -> str:
    config = run.config
    calls = {rule.call for rule in config.pack.registrations}
    if config.runner_is_fixed or not calls:
        return config.runner
    return config.runner_for(registrations(read(test.partition("::")[0]) or b"", calls))
