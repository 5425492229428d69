"""The name of a site's check run on a commit. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CHECK_NAME: Final = "kl-triage"


def check_name(site_key: str, known: Mapping[str, str]) -> str:
    """GitHub shows one check run a name and commit: two sites under one name would hide each other.

    `known`: the names of the sites of the commit that have one, by their key.
    """
    if site_key in known:
        return known[site_key]
    taken = set(known.values())
    names = (CHECK_NAME, f"{CHECK_NAME}: {site_key.rpartition('::')[2]}")
    return next((name for name in names if name not in taken), f"{CHECK_NAME}: {site_key}")
