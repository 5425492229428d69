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
    # Excluding x1.25 at log-sd 0.3 with chance 95 % at a later look takes 2 x (0.3 / 0.0603)^2 = 50 runs
    # an arm (0.0603 = log 1.25 / (2.06 + 1.64)): 100 repeats and 12 launches are 136 min. Four prompts of
    # log-sd 0.7 are wider (0.35) and take the rest.
    budget_minutes: float = 230.0
    first_launches: int = 2
    first_repeats: int = 4
    # A plan may ask this many repeats of one launch; beyond it launch variance is all that is left.
    max_repeats: int = 16

    # Looks at the ratio: what share of an error rate each may spend. By the union bound the rate holds at any
    # stop. The first has most: half of all investigations can end there.
    look_shares: tuple[float, ...] = (0.34, 0.22, 0.22, 0.22)
    # A fifth batch may only ask how values spread. A bump needs the ratio to hold there too, which spends
    # nothing; a worse head may be called there once more, so `alpha_worse` is 1.22 x what it says at most.
    max_batches: int = 5
    launches_per_look: int = 6
    # Chance that the runs asked for exclude the smallest shift where head equals base: modest while another
    # look can follow, high at the last. In simulated worlds 0.75 cost 5 min more for nothing.
    power: float = 0.4
    last_power: float = 0.95

    # Shift. The smallest rise that matters: at a log-sd of 0.3 and a bound of 1.5 x the
    # median it reddens 7 % of jobs (27 % of tries, two in a row) where healthy code does 1 %.
    smallest_shift: float = 1.25
    # Chance to call a head that is 1.25 x worse equal to base, over all looks. The union bound is generous:
    # of 700 such heads 9 (1.3 %) got a bump at 0.09, 16 (2.3 %) at 0.14.
    alpha_equal: float = 0.09
    # Chance to call an equal head worse, over all looks: with faults and hosts false alarms stay under 1 %.
    alpha_worse: float = 0.012
    confidence: float = 0.95

    # Prior scales of the mixed model: servers and hosts may differ by 10 %, past runs from today's by 3 %.
    # Past runs that differ more are seen (`alpha_step_doubt`) and then not used.
    launch_sd: float = 0.10
    host_sd: float = 0.10
    history_sd: float = 0.03
    # From so many past runs on (sd of their mean 0.3 / 20^0.5 = 0.07) base leaves a quarter of its first
    # repeats to head.
    history_runs: int = 20

    # Exact gates: 1e-9 is the published one; a bound up to 1e-6 is far under the rounding of any 8-bit cache.
    exact_gate: float = 1e-6
    # Lost runs are rarely lost at random: under 80 % usable the missing ones could hold the answer.
    usable_share: float = 0.80
    usable_from: int = 4

    # Same number: 1e-6 relative inside our own readings, 2e-3 against a log that prints 3 digits.
    # With a log-sd of 0.1, three noisy values agree to 1e-6 with chance (1e-5)^2.
    same_value: float = 1e-6
    same_printed: float = 2e-3
    frozen_from: int = 3

    # Single-prompt faults: odds for a fault over none (Bayes factor). By Ville's inequality a healthy test
    # reaches odds of 200 with chance <= 0.5 %, at any number of looks.
    fault_odds: float = 200.0
    # A bump needs the odds against it: 59 : 1 at the first two looks, while a batch costs half an hour, then
    # 29 : 1. Some odds stay near 1 however many runs there are: a fault of x 8 in one prompt of 32 (log-sd
    # 0.9) is 2.3 sd out and moves the mean by a fifth. tests/bench/RESULTS.md has the trade-off curve.
    fault_excluded_early: float = 0.017
    fault_excluded: float = 0.035
    fault_reference_runs: int = 6

    # Hosts: one must be 1.3 x the others and surely over 1.1 x, the spread that healthy hosts show.
    host_ratio: float = 1.3
    host_least: float = 1.1
    # A bump needs odds of 5 : 1 that the red job's host is not bad but differs as healthy ones do (log-sd
    # 0.05).
    host_excluded: float = 0.2
    healthy_host_sd: float = 0.05
    alpha_host: float = 0.002

    # A head surely above base bars a bump, however little: it would cover what is partly the head's own.
    # Halved where two statistics are tried. Of 337 healthy heads that got a bump without this rule, 2 lost it
    # at 0.01 and 7 at 0.05 (the 95 % interval that is shown). The test's other checks share `alpha_worse` and
    # this rate once more (Bonferroni over checks): all of them together call a healthy head worse at most
    # twice as often as one does, and the rates of the red one stay whole.
    alpha_above: float = 0.01

    # One prompt higher on all runs of head, by Welch's t over repeats, Bonferroni over prompts: bars a bump.
    alpha_prompt: float = 0.001

    # History: a step of the default branch, Bonferroni over the places it can lie in.
    step_ratio: float = 1.2
    alpha_step: float = 0.0005
    alpha_step_doubt: float = 0.01
    # Smaller than this no step bars a bump: past runs differ from today's by a few percent anyway.
    step_doubt_ratio: float = 1.1
    step_runs: int = 5

    # Proposal. 0.5 % a job: one false red in 200. 2 x the old bound at most, 3 x the first over all bumps.
    target_exceedance: float = 0.005
    upper_confidence: float = 0.95
    max_factor: float = 2.0
    cumulative_cap: float = 3.0
    # The highest reading seen must stay under the bound by more than its printed digits hide.
    margin: float = 1.01
    # Levels (nats) that a known regression of this site showed: a bound must stay under each.
    known_bad: tuple[float, ...] = ()
    # A bound that held once is exceeded in 1.5 - 15 % of healthy runs; surely more: the level has moved.
    most_exceedance: float = 0.15
    # Odds for runs of two kinds over one kind from which a bound does not move. A server start that lies high
    # looks like it: of 336 noise worlds 5 % reached 14 : 1 and 2 % 190 : 1, and more runs clear most of them.
    modes_odds: float = 20.0
    # Of healthy values over the bound, the share over the red job's highest: under 1 in 5,000 is no luck.
    trigger_share: float = 2e-4
    # Residuals: chance of the largest under the fitted healthy law below which a tail counts as heavy.
    heavy_tail: float = 1e-4
    # Peaks over a threshold must not predict more than 4 x the target where the fit predicts less than it.
    peaks_factor: float = 4.0

    @property
    def max_looks(self) -> int:
        return len(self.look_shares)

    @property
    def first_batch(self) -> tuple[int, int]:
        """(launches, repeats) of the first look. Where repeats are cheap beside launches more of them pay:
        the best number grows with the root of the cost ratio (two-stage sampling, Cochran 1977, 10.6)."""
        cheaper = math.sqrt(self.launch_minutes / self.repeat_minutes / 3.0)
        repeats = max(self.first_repeats, round(self.first_repeats * cheaper))
        return self.first_launches, min(repeats, self.max_repeats)

    @property
    def first_minutes(self) -> float:
        launches, repeats = self.first_batch
        return 2 * launches * (self.launch_minutes + repeats * self.repeat_minutes)


SHIFTS = (1.25, 1.5, 2.0, 3.0)
"""Rises for which a proposal states what it still catches."""
