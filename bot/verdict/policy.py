"""Every constant of the judge, with the arithmetic behind it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Times are minutes of one runner; `sd` are standard deviations of natural logarithms."""

    # Cost. A launch starts a server (minutes), a repeat is one measurement on it.
    launch_minutes: float = 3.0
    repeat_minutes: float = 1.0
    # Excluding x1.25 at log-sd 0.3 with chance 97 % at one of 3 looks takes 2 x (0.3 / 0.0556)^2 = 58 runs an
    # arm (0.0556 = log 1.25 / (2.13 + 1.88)): 116 repeats and 12 launches are 152 min.
    budget_minutes: float = 180.0
    first_launches: int = 2
    first_repeats: int = 4
    # A plan may ask this many repeats of one launch; beyond it launch variance is all that is left.
    max_repeats: int = 16

    # Looks. Every error rate below is split evenly over the looks (union bound), so it holds at any stop.
    max_looks: int = 3
    launches_per_look: int = 6

    # Shift. The smallest rise that matters: at a log-sd of 0.3 and a bound of 1.5 x the
    # median it reddens 7 % of jobs (27 % of tries, two in a row) where healthy code does 1 %.
    smallest_shift: float = 1.25
    # Chance to call a head that is 1.25 x worse equal to base, over all looks.
    alpha_equal: float = 0.05
    # Chance to call an equal head worse, over all looks: with faults and hosts false alarms stay under 1 %.
    alpha_worse: float = 0.004
    confidence: float = 0.95

    # Prior scales of the mixed model: servers and hosts differ by about 10 %, past runs from today's by 5 %.
    launch_sd: float = 0.10
    host_sd: float = 0.10
    history_sd: float = 0.05

    # Exact gates: 1e-9 is the published one; a bound up to 1e-6 is far under the rounding of any 8-bit cache.
    exact_gate: float = 1e-6
    # Lost runs are rarely lost at random: under 80 % usable the missing ones could hold the answer.
    usable_share: float = 0.80
    usable_from: int = 4

    # Same number: 1e-6 relative inside our own readings, 2e-3 against a log that prints 3 digits.
    # With a log-sd of 0.1, four noisy values agree to 1e-6 with chance (1e-5)^3.
    same_value: float = 1e-6
    same_printed: float = 2e-3
    frozen_from: int = 3

    # Single-prompt faults: odds for a fault over none (Bayes factor). By Ville's inequality a healthy test
    # reaches odds of 200 with chance <= 0.5 %, at any number of looks. A bump needs the odds against it:
    # at 50 runs an arm 90 to 95 % of simulated healthy tests (9 prompts) lie under 0.15, and all faults of
    # x 20 and more in 40 % of runs over 1,000 : 1. Bumps of new faults in 118 wide worlds: 8 at 0.3, 5 at
    # 0.15, 1 at 0.08; bumps of 396 noise worlds: 292, 283, 253.
    fault_odds: float = 200.0
    fault_excluded: float = 0.15
    fault_reference_runs: int = 6

    # Hosts: one must be 1.3 x the others and surely over 1.1 x, the spread that healthy hosts show.
    host_ratio: float = 1.3
    host_least: float = 1.1
    # A bump needs the red job's host within 1.15 x of the others as far as can be told.
    host_doubt: float = 1.15
    alpha_host: float = 0.002

    # History: a step of the default branch, Bonferroni over the places it can lie in.
    step_ratio: float = 1.2
    alpha_step: float = 0.001
    alpha_step_doubt: float = 0.02
    step_runs: int = 5

    # Proposal. 0.5 % a job: one false red in 200. 2 x the old bound at most, 3 x the first over all bumps.
    target_exceedance: float = 0.005
    upper_confidence: float = 0.95
    max_factor: float = 2.0
    cumulative_cap: float = 3.0
    # The highest reading seen must stay 3 % under the bound: one more of its kind would else be red.
    margin: float = 1.03
    # Levels (nats) that a known regression of this site showed: a bound must stay under each.
    known_bad: tuple[float, ...] = ()
    # From 1 % on a bound is a nuisance: one false red in 100 tries. Under it a red run was a rare draw.
    noise_exceedance: float = 0.01
    # A bound that held once is exceeded in 1.5 - 15 % of healthy runs; surely more: the level has moved.
    most_exceedance: float = 0.15
    # Odds for runs of two kinds over one kind from which a bound does not move. High, since a server start
    # that lies high looks like it: at 1000 one noise world in thirty went unanswered for that alone.
    modes_odds: float = 1e4
    # Of healthy values over the bound, the share over the red job's highest: under 1 in 5,000 is no luck.
    trigger_share: float = 2e-4
    # Residuals: chance of the largest under the fitted healthy law below which a tail counts as heavy.
    heavy_tail: float = 1e-4
    # Peaks over a threshold must not predict more than 4 x the target where the fit predicts less than it.
    peaks_factor: float = 4.0

    @property
    def first_batch(self) -> tuple[int, int]:
        """(launches, repeats) of the first look. Where repeats are cheap beside launches more of them pay:
        the best number grows with the root of the cost ratio (two-stage sampling, Cochran 1977, 10.6)."""
        cheaper = math.sqrt(self.launch_minutes / self.repeat_minutes / 3.0)
        return self.first_launches, max(
            self.first_repeats, min(round(self.first_repeats * cheaper), self.max_repeats)
        )

    @property
    def first_minutes(self) -> float:
        launches, repeats = self.first_batch
        return 2 * launches * (self.launch_minutes + repeats * self.repeat_minutes)


SHIFTS = (1.25, 1.5, 2.0, 3.0)
"""Rises for which a proposal states what it still catches."""
