"""How single prompts lie and spread about a run's own level."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from bot.verdict.evidence import Floats

TAILS = (4.0, 6.0, 10.0, 20.0)
CLEARLY = 3.0
"""Log of a likelihood ratio of 20."""


@dataclass(frozen=True, eq=False)
class Prompts:
    """From the logs of R runs x P prompts, all natural."""

    offsets: Floats
    """Log level of each prompt about their mean."""
    sds: Floats
    """Spread of each prompt, drawn towards the common one as far as it may be chance."""
    freedom: int
    residuals: Floats
    """R x P, about the run's own mean and the prompt's."""
    tail: float
    """Degrees of freedom of Student's t for the residuals; inf where a normal law will do."""


def prompt_effects(logs: Floats) -> Prompts:
    """Needs two runs of two prompts.

    The log of a variance of n values has itself the variance 2 / (n - 1) (normal values); what prompts differ
    beyond that is their own (empirical Bayes, Morris 1983).
    """
    runs, width = logs.shape
    centred = logs - logs.mean(axis=1, keepdims=True)
    offsets = centred.mean(axis=0)
    residuals = centred - offsets
    freedom = (runs - 1) * (width - 1)
    # Residuals about a run's own mean keep (P - 1) / P of the variance; `freedom` has put that right.
    common = float(np.sum(residuals**2)) / freedom
    each = np.sum(residuals**2, axis=0) * width / freedom
    logs_of_each = np.log(np.maximum(each, common * 1e-3 + 1e-300))
    error = 2 / (runs - 1)
    between = max(0.0, float(np.var(logs_of_each, ddof=1)) - error)
    own = between / (between + error)
    sds = np.exp((math.log(max(common, 1e-300)) * (1 - own) + logs_of_each * own) / 2)
    return Prompts(offsets, np.asarray(sds, dtype=np.float64), freedom, residuals, _tail(residuals / sds))


def _tail(standard: Floats) -> float:
    """The likeliest of some t laws of unit variance, where it is clearly likelier than the normal."""
    z = standard.ravel() / math.sqrt(float(np.mean(standard**2)) or 1.0)
    gains = [float(np.sum(_log_t(z, nu))) + 0.5 * (len(z) * math.log(2 * math.pi) + len(z)) for nu in TAILS]
    best = int(np.argmax(gains))
    return TAILS[best] if gains[best] > CLEARLY else math.inf


def _log_t(z: Floats, nu: float) -> Floats:
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * math.log((nu - 2) * math.pi)
    return np.asarray(constant - (nu + 1) / 2 * np.log1p(z**2 / (nu - 2)), dtype=np.float64)
