"""A repository's own settings, as they stand on its default branch."""

from __future__ import annotations

from typing import Final

from github.Repository import Repository

from bot.github import reads
from bot.store import Investigation
from bot.verdict import Refusal
from rules import PackErrors, RepositoryConfig, repository_pack

CONFIG_PATH: Final = ".github/kl-triage.yml"
NOT_SET_UP: Final = "not_set_up"


def read_config(repo: Repository, default_branch: str) -> tuple[RepositoryConfig, str] | Refusal:
    """The repository's own settings and their text; without them the bot does nothing."""
    data = reads.file_at(repo, CONFIG_PATH, default_branch)
    if data is None:
        return Refusal(NOT_SET_UP, f"The default branch has no {CONFIG_PATH}; `kl-triage init` writes one.")
    config = repository_pack(data, CONFIG_PATH)
    if isinstance(config, PackErrors):
        return Refusal("bad_config", f"{CONFIG_PATH} has errors: {'; '.join(config.errors)}"[:500])
    return config, data.decode()


def config_of(investigation: Investigation) -> RepositoryConfig:
    """The settings in force when the investigation was opened; they were read without error then."""
    config = repository_pack(investigation.facts["config"], CONFIG_PATH)
    if isinstance(config, PackErrors):
        raise RuntimeError(f"stored settings of {investigation.id} no longer parse")
    return config.model_copy(update={"runner": investigation.facts.get("runner", config.runner)})
