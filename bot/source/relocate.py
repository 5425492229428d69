"""Asks `locate` again after an edit, for its proof."""

from __future__ import annotations

from collections.abc import Sequence

from bot.source.lineage import ReadFile
from bot.source.locate import ATTRIBUTES, EXACT_GATE, locate
from bot.source.proof import Relocate
from bot.source.site import Site


def relocation(
    path: str,
    test: str,
    read_file: ReadFile,
    edited: str,
    attributes: Sequence[str] = ATTRIBUTES,
    exact_gate: float = EXACT_GATE,
) -> Relocate:
    """What `bump` takes as `relocate`: the bound that `test` in the file `path` has once the file `edited` of
    the tree holds a text; the file is `site.override.path` where there is an override, else `site.path`."""

    def bound(text: bytes) -> float | None:
        found = locate(path, test, lambda p: text if p == edited else read_file(p), attributes, exact_gate)
        return found.value if isinstance(found, Site) else None

    return bound
