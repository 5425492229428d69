"""Small builders of records."""

from __future__ import annotations

import numpy as np

from bot.verdict import Context, Evidence, Policy, Verdict, decide

TEST = "test/kl/test_cache.py::TestCache.test_match"


def record(arm: str, value: object, **fields: object) -> dict[str, object]:
    return {"arm": arm, "test": TEST, "status": "ok", "value": value, "threshold": 0.003, **fields}


def lost(arm: str, **fields: object) -> dict[str, object]:
    return {"arm": arm, "test": TEST, "status": "lost", "threshold": 0.003, **fields}


def arm(name: str, launches: list[list[float]], **fields: object) -> list[dict[str, object]]:
    """One record a value; the outer list is launches."""
    return [
        record(name, value, launch=f"{name}-{i}", repeat=j, **fields)
        for i, values in enumerate(launches)
        for j, value in enumerate(values)
    ]


def trigger(*values: object, **fields: object) -> list[dict[str, object]]:
    return [record("trigger", v, launch="red", attempt=i, **fields) for i, v in enumerate(values, 1)]


def noisy(
    name: str, level: float, launches: int, repeats: int, seed: int, sd: float = 0.25, **fields: object
) -> list[dict[str, object]]:
    """Log-normal values round `level`, without prompts."""
    rng = np.random.default_rng(seed)
    values = level * np.exp(rng.normal(0, sd, (launches, repeats)))
    return arm(name, values.tolist(), **fields)


def prompts(
    name: str, level: float, launches: int, repeats: int, seed: int, sd: float = 0.5, **fields: object
) -> list[dict[str, object]]:
    """Nine log-normal prompts; the value is their mean."""
    rng = np.random.default_rng(seed)
    records = []
    for launch in range(launches):
        for repeat in range(repeats):
            each = level * np.exp(rng.normal(0, sd, 9))
            records.append(
                record(
                    name,
                    float(each.mean()),
                    per_prompt=each.tolist(),
                    launch=f"{name}-{launch}",
                    repeat=repeat,
                    **fields,
                )
            )
    return records


def judge(
    records: list[dict[str, object]],
    *,
    threshold: float | None = None,
    context: Context | None = None,
    policy: Policy | None = None,
) -> Verdict:
    return decide(Evidence.from_records(records, threshold=threshold, context=context), policy)


def healthy(seed: int = 1, launches: int = 5, repeats: int = 8) -> list[dict[str, object]]:
    """Head equals base, a few readings over 0.003, the red job barely over it: noise."""
    red = [r | {"attempt": i} for i, r in enumerate(prompts("trigger", 0.0028, 1, 2, 12, 0.4), 1)]
    return [
        *red,
        *prompts("head", 0.00203, launches, repeats, seed),
        *prompts("base", 0.00203, launches, repeats, seed + 100),
    ]
