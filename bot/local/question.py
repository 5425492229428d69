"""What is asked on this machine: which test, which commits, by which rules, and where its bound stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot.local.clone import MAX_VERSIONS, Clone, LocalError
from bot.source import Site, locate
from bot.source.history import history
from bot.triage.measure.plans import policy_of
from bot.triage.measure.restraint import COOLING, unfit_path
from bot.triage.red.paths import tree_path
from bot.verdict import Context, Policy, Refusal
from rules import Pack, PackErrors, RepositoryConfig, load_named, load_pack, repository_pack
from rules.document import read_document

CONFIG_PATH: Final = ".github/kl-triage.yml"
"""A bound that moved is left alone for so long, as the bot does."""


@dataclass(frozen=True, slots=True)
class Question:
    """`test` is path::Class.method, path::function or a script's path; commits are full SHAs."""

    clone: Clone
    test: str
    head: str
    base: str | None
    pack: Pack
    budget_minutes: float | None = None

    @property
    def path(self) -> str:
        return self.test.partition("::")[0]

    @property
    def is_script(self) -> bool:
        return "::" not in self.test

    @property
    def commits(self) -> dict[str, str]:
        return {"head": self.head} if self.base is None else {"head": self.head, "base": self.base}

    @property
    def policy(self) -> Policy:
        return policy_of(self.pack, self.budget_minutes)

    def site(self) -> Site | Refusal:
        """Where the bound stands at head."""
        name = self.test.partition("::")[2].partition("[")[0]  # pytest's parameters stand in brackets
        if "." not in name:
            return Refusal("bound_not_found", "Only bounds of test classes are looked for; this is none.")

        def read(path: str) -> bytes | None:
            return self.clone.read(self.head, path)

        def files() -> list[str]:
            return [path for path in self.clone.paths(self.head) if path.endswith(".py")]

        return locate(self.path, name, read, self.pack.attributes, self.pack.exact_gate, list_files=files)


def ask(clone: Clone, test: str, head: str, base: str | None, rules: str | None) -> Question:
    """Raises LocalError where a commit, the test file or the rules are not there."""
    head_sha = clone.commit(head)
    base_sha = None if base is None else clone.commit(base)
    pack, budget = _rules(clone, head_sha, rules)
    question = Question(clone, test, head_sha, base_sha, pack, budget)
    for arm, commit in question.commits.items():
        if clone.read(commit, question.path) is None:
            raise LocalError(
                f"There is no file '{question.path}' in {arm} ({commit[:12]}); check --test and --{arm}."
            )
    return question


def context(question: Question, site: Site | Refusal) -> Context:
    """What the readings cannot say: sibling bounds, the first bound, and why no bound may move."""
    if isinstance(site, Refusal):
        return Context(bump_refusal=site)
    clone, pack = question.clone, question.pack
    versions = clone.versions(question.head, site.path)
    moves = history(
        versions,
        site.path,
        question.test.partition("[")[0],
        lambda path: clone.read(question.head, path),
        pack.attributes,
        pack.exact_gate,
        read_at=lambda commit, path: clone.read(commit.sha, path),
    )
    barred = site.refusal if site.override is None else None
    if barred is None and not (moves.reaches_back and len(versions) < MAX_VERSIONS):
        barred = Refusal("history_unreadable", f"The first bound in {site.path} could not be read.")
    last = moves.changes[-1].commit if moves.changes else None
    if barred is None and last is not None and datetime.now(UTC) - last.at < COOLING:
        barred = Refusal(
            "cooling",
            f"The bound was moved on {last.at:%Y-%m-%d} in {last.sha[:12]}, so it is not moved again before "
            f"{last.at + COOLING:%Y-%m-%d}.",
        )
    siblings = tuple(sibling.value for sibling in site.siblings)
    return Context(siblings, moves.first, barred or _unfit(question))


def _unfit(question: Question) -> Refusal | None:
    """A change of the test or of what it rests on is judged, but never leads to a bump."""
    if question.base is None:
        return None
    changed = question.clone.changed(question.base, question.head)
    unfit = unfit_path(question.pack, question.path, changed)
    if unfit is None:
        return None
    return Refusal("unfit_run", f"Between base and head {unfit} changes, on which the test rests.")


def _rules(clone: Clone, head: str, named: str | None) -> tuple[Pack, float | None]:
    """A pack by name or file, or a repository's own file; by default that of the head commit."""
    if named is None:
        data = clone.read(head, CONFIG_PATH)
        if data is None:
            raise LocalError(f"{head[:12]} has no {CONFIG_PATH}; name a rule pack with --rules.")
        return _of_repository(repository_pack(data, CONFIG_PATH))
    if not named.endswith((".yaml", ".yml")):
        return _pack(load_named(named)), None
    if _extends(Path(named)):
        return _of_repository(repository_pack(Path(named).read_bytes(), named))
    return _pack(load_pack(named)), None


def _extends(path: Path) -> bool:
    if not path.is_file():
        return False
    data = read_document(path.read_bytes()).data
    return isinstance(data, dict) and "extends" in data


def _pack(loaded: Pack | PackErrors) -> Pack:
    if isinstance(loaded, PackErrors):
        raise LocalError("\n".join(loaded.errors))
    return loaded


def _of_repository(config: RepositoryConfig | PackErrors) -> tuple[Pack, float | None]:
    if isinstance(config, PackErrors):
        raise LocalError("\n".join(config.errors))
    return config.pack, config.budget_minutes


def with_base(question: Question) -> Question:
    """The question with the merge base as base where none was named."""
    if question.base is not None:
        return question
    base = question.clone.merge_base(question.head)
    if question.clone.read(base, question.path) is None:
        raise LocalError(
            f"The merge base {base[:12]} has no file '{question.path}': a test that is new has nothing to be "
            "compared with; name another --base."
        )
    return replace(question, base=base)


def is_of(test: str, printed: str | None, pack: Pack) -> bool:
    """Whether a test as a log prints it is `test`."""
    path, _, name = (printed or "").partition("::")
    return bool(path) and f"{tree_path(path, pack) or path}::{name}" == test
