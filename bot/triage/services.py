"""What the steps work with, put in place once when the engine starts."""

from __future__ import annotations

from dataclasses import dataclass

from github.Repository import Repository

from bot.github.connect import Connection
from bot.store import Investigation, Store
from bot.triage.settings import Settings


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    store: Store
    installations: Connection

    def repository(self, investigation: Investigation) -> Repository:
        return self.repository_at(investigation.installation, investigation.repo)

    def repository_at(self, installation: int, name: str) -> Repository:
        """`installation` as an event told it; an App that was installed anew since has another id."""
        known = self.store.installed(name)
        return self.installations.repository(installation if known is None else known.installation, name)


_current: list[Services] = []


def install(services: Services) -> None:
    """Durable workflows are module-level functions, so what they use is module-level too."""
    _current[:] = [services]


def services() -> Services:
    """Raises RuntimeError before the engine has started."""
    if not _current:
        raise RuntimeError("the engine has not been started")
    return _current[0]
