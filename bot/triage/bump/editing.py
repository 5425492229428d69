"""The edit of a bump: the bound located and proved anew on the default branch as it is."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Final

from github.Repository import Repository

from bot.github import reads
from bot.github.tree import python_files
from bot.report import pull_request
from bot.report.facts import Case
from bot.source import EditError, Site, bump, locate
from bot.source.relocate import relocation
from bot.store import Investigation
from bot.triage.configured import config_of
from bot.verdict import Proposal, Refusal, Verdict

log = logging.getLogger(__name__)

NOT_READ: Final = frozenset({"no_default_branch", "tree_unreadable", "not_proved"})
"""Refusals that say nothing about the bound."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The file before and after, at the commit of the default branch it was read from."""

    path: str
    site: Site
    bound: float
    base_sha: str
    old: bytes
    new: bytes


def edit_for(
    repo: Repository, investigation: Investigation, case: Case, verdict: Verdict, proposal: Proposal
) -> Edit | Refusal:
    """Located and proved anew on the default branch, which may have moved while the reruns were out."""
    base_sha = reads.branch_head(repo, case.default_branch)
    if base_sha is None:
        return Refusal("no_default_branch", "The default branch could not be read, so no bound is changed.")

    files = python_files(repo, base_sha)
    if files is None:
        return Refusal(
            "tree_unreadable",
            "The default branch could not be searched for other tests under this bound, so it is not moved.",
        )
    pack = config_of(investigation).pack
    attributes, gate = pack.attributes, pack.exact_gate
    file, _, name = investigation.test.partition("::")
    name = name.partition("[")[0]  # pytest's parameters stand in brackets
    site = locate(file, name, files.get, attributes, gate, list_files=lambda: files)
    if isinstance(site, Refusal):
        return site
    if site.refusal is not None and site.override is None:
        return site.refusal
    if site.key != investigation.site_key:
        return Refusal("site_moved", "On the default branch another literal sets this bound.")
    if not site.complete:
        return Refusal(
            "tree_unreadable",
            "Not every file of the default branch could be searched for tests under this bound: it stays.",
        )
    path = site.path if site.override is None else site.override.path
    old = files.get(path)
    if old is None or site.value != proposal.old:
        return Refusal("bound_moved", f"The bound on the default branch is no longer {proposal.old:g}.")
    comment = pull_request.comment_line(case, verdict)
    again = relocation(file, name, files.get, path, attributes, gate)
    try:
        new = bump(old, site, proposal.threshold, comment, again)
    except EditError:
        log.exception("%s: the edit of %s failed its proof", investigation.id, site.key)
        return Refusal(
            "not_proved", "The edit did not pass its own proof, so nothing is changed; report this."
        )
    if isinstance(new, Refusal):
        return new
    edited = {**files, path: new}
    after = locate(file, name, edited.get, attributes, gate, list_files=lambda: edited)
    if isinstance(after, Refusal):
        return after
    # Subclasses follow a bound of the class's own: the text names every test that the edit moves.
    moved = replace(site, governs=after.governs)
    return Edit(path, moved, proposal.threshold, base_sha, old, new)
