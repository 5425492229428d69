"""The four stories the demo can tell, and what a right ending is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scenario:
    """`fault` names a patch of runners/reference/faults; None: healthy code, whose red job is a rare draw."""

    name: str
    title: str
    body: str
    branch: str
    fault: str | None
    accept: frozenset[str]
    conclusion: str
    """Of the check run."""
    bumps: bool


SCENARIOS: Final = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="noise",
            title="Count cached tokens in the metrics",
            body="Adds a counter of tokens served from the prefix cache. No change to the engine.",
            branch="dev-a/cached-token-metric",
            fault=None,
            accept=frozenset({"noise"}),
            conclusion="success",
            bumps=True,
        ),
        Scenario(
            name="regression",
            title="Simplify the chunk loop of the prefill",
            body="Same behaviour, fewer branches.",
            branch="dev-a/chunk-loop",
            fault="chunk_boundary",
            accept=frozenset({"regression"}),
            conclusion="failure",
            bumps=False,
        ),
        Scenario(
            name="intermittent",
            title="Reuse state slots without clearing them twice",
            body="The slot is written in full anyway, so one memset is enough.",
            branch="dev-a/slot-reuse",
            fault="stale_state_slot",
            accept=frozenset({"intermittent"}),
            conclusion="failure",
            bumps=False,
        ),
        Scenario(
            name="deterministic",
            title="Speed up the sampler",
            body="Avoids one sort per token.",
            branch="dev-a/sampler",
            fault="frozen_sampling",
            accept=frozenset({"deterministic"}),
            conclusion="failure",
            bumps=False,
        ),
    )
}
