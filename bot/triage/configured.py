"""A repository's own settings, as they stand on its default branch."""

from __future__ import annotations

from typing import Final

from github.Repository import Repository

from bot.github import reads
from bot.verdict import Refusal
from rules import PackErrors, RepositoryConfig, repository_pack

CONFIG_PATH: Final = ".github/kl-triage.yml"


def read_config(repo: Repository, default_branch: str) -> tuple[RepositoryConfig, str] | Refusal:
    """The repository's own settings and their text; without them the bot does nothing."""
    data = reads.file_at(repo, CONFIG_PATH, default_branch)
    if data is None:
        return Refusal("not_set_up", f"The default branch has no {CONFIG_PATH}; `kl-triage init` writes one.")
    config = repository_pack(data, CONFIG_PATH)
    if isinstance(config, PackErrors):
        return Refusal("bad_config", f"{CONFIG_PATH} has errors: {'; '.join(config.errors)}"[:500])
    return config, data.decode()
