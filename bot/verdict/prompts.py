"""How single prompts lie and spread about a run's own level."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from bot.verdict.evidence import Floats
from bot.verdict.stats import log_t

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
    freedom: float
    """Of the spreads: of all prompts together where they are alike, of one where each is its own."""
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
    each, kept = np.sum(residuals**2, axis=0) / (runs - 1), 1 - 2 / width
    # Var(r_j) = s_j^2 (1 - 2 / P) + mean(s^2) / P: the run's mean brings in the other prompts' variance.
    each = (each - common / width) / kept if width > 2 else np.full(width, common)
    logs_of_each = np.log(np.maximum(each, common * 1e-3 + 1e-300))
    error = 2 / (runs - 1) / max(kept, 0.5) ** 2
    between = max(0.0, float(np.var(logs_of_each, ddof=1)) - error)
    own = between / (between + error)
    sds = np.exp((math.log(max(common, 1e-300)) * (1 - own) + logs_of_each * own) / 2)
    known = (1 - own) * freedom + own * (runs - 1)
    return Prompts(offsets, np.asarray(sds, dtype=np.float64), known, residuals, _tail(residuals / sds))


@dataclass(frozen=True, slots=True)
class PromptShift:
    """The prompt that differs most between two arms, beyond what all its prompts share."""

    prompt: int
    ratio: float
    p: float
    """One-sided for a rise, times the number of prompts (Bonferroni). Repeats count as independent."""


def prompt_shift(head: Floats, others: Floats) -> PromptShift | None:
    """From logs R x P of both; Welch's t (1947) by prompt. None under four runs or two prompts."""
    if min(len(head), len(others)) < 4 or head.shape[1] < 2:
        return None
    arms = [logs - logs.mean(axis=1, keepdims=True) for logs in (head, others)]
    means = [arm.mean(axis=0) for arm in arms]
    errors = [arm.var(axis=0, ddof=1) / len(arm) + 1e-12 for arm in arms]
    freedom = sum(errors) ** 2 / sum(e**2 / (len(a) - 1) for e, a in zip(errors, arms, strict=True))
    t = (means[0] - means[1]) / np.sqrt(sum(errors))
    p = stdtr(freedom, -t)
    worst = int(np.argmin(p))
    ratio = math.exp(float(means[0][worst] - means[1][worst]))
    return PromptShift(worst, ratio, min(1.0, float(p[worst]) * head.shape[1]))


def _tail(standard: Floats) -> float:
    """The likeliest of some t laws of unit variance, where it is clearly likelier than the normal."""
    z = standard.ravel() / math.sqrt(float(np.mean(standard**2)) or 1.0)
    normal = -0.5 * len(z) * (math.log(2 * math.pi) + 1)
    wider = {nu: math.sqrt(nu / (nu - 2)) for nu in TAILS}
    gains = [float(np.sum(log_t(z * k, nu))) + len(z) * math.log(k) - normal for nu, k in wider.items()]
    best = int(np.argmax(gains))
    return TAILS[best] if gains[best] > CLEARLY else math.inf
