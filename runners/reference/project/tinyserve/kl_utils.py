"""KL divergence of the cached path from the uncached one, and the assertion on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def k3_divergence(prefill_logprobs: Sequence[float], cached_logprobs: Sequence[float]) -> np.float64:
    """Mean of exp(r) - 1 - r over the sampled tokens, r = prefill - cached log-probability; nats.

    The tokens were sampled from the cached path, so this estimates KL(cached || prefill) without bias, and
    each term is at least 0 (the "k3" estimator, J. Schulman, "Approximating KL divergence", 2020).
    """
    r = np.asarray(prefill_logprobs, dtype=np.float64) - np.asarray(cached_logprobs, dtype=np.float64)
    return np.float64(np.mean(np.expm1(r) - r))


def compare_kl_divergence(
    prefill_logprobs: Sequence[Sequence[float]],
    cached_logprobs: Sequence[Sequence[float]],
    thresholds: Mapping[str, float],
    model_name: str,
    label: str,
) -> None:
    """Prints each prompt's KL and their mean; AssertionError when the mean is over thresholds["kl_div"]."""
    kl_divs = [k3_divergence(*pair) for pair in zip(prefill_logprobs, cached_logprobs, strict=True)]
    avg_kl_div = float(np.mean(kl_divs))
    threshold = thresholds["kl_div"]
    print(f"{kl_divs=}")
    print(f"{avg_kl_div=}")
    print(f"ACC_THRESHOLDS={dict(thresholds)}")
    # A nan is over every bound.
    if not avg_kl_div <= threshold:
        raise AssertionError(f"avg_kl_div={avg_kl_div} > threshold={threshold} for {model_name} {label}")
