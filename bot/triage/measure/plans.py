"""From a rule pack to the rerun that is wanted: one way for the bot and for commands on a GPU machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.verdict import ArmPlan, Policy, Refusal
from rules import Pack
from runners.plan import MAX_LAUNCHES, MAX_REPEATS, MAX_SCRIPT_RUNS, PlanError, RerunPlan, balanced_order


def plan_of(
    pack: Pack,
    *,
    request: str,
    test: str,
    commits: Mapping[str, str],
    wanted: Mapping[str, ArmPlan],
    arguments: Sequence[str] = (),
    max_seconds: float | None = None,
    save_logprobs: bool = False,
) -> RerunPlan | Refusal:
    """The plan that measures `wanted` (arm → launches and repeats), arms in balanced order.

    `test` is path::Class.method, path::function or a script's path. Refusal `bad_plan`: no harness would
    take it.
    """
    script = "::" not in test
    arms = {arm: _capped(wanted[arm], script=script) for arm in ("head", "base") if arm in wanted}
    try:
        return RerunPlan(
            request=request,
            test=test,
            commits={arm: commits[arm] for arm in arms},
            launches=balanced_order(
                {arm: want.launches for arm, want in arms.items()},
                {arm: want.repeats for arm, want in arms.items()},
            ),
            compare=None if script else pack.compare,
            python_path=pack.python_path,
            launch_timeout_s=pack.launch_timeout_minutes * 60,
            kind="auto" if script else pack.test_kind,
            prints=tuple(printed.pattern for printed in pack.prints),
            prepare=pack.prepare,
            arguments=tuple(arguments),
            max_seconds=max_seconds,
            save_logprobs=save_logprobs,
        )
    except PlanError as error:
        return Refusal("bad_plan", f"This test cannot be measured by the rules of '{pack.name}' ({error}).")


def as_asked(
    wanted: Mapping[str, ArmPlan], *, runs: int | None, launches: int | None, policy: Policy
) -> Mapping[str, ArmPlan]:
    """The first round as a person asked for it, `runs` and `launches` of each arm, within what one plan may
    hold and the budget of an investigation; what was not asked for stays as the judge wants it."""
    if runs is None and launches is None:
        return wanted
    return {arm: _asked_arm(want, runs, launches, policy, len(wanted)) for arm, want in wanted.items()}


def _asked_arm(want: ArmPlan, runs: int | None, launches: int | None, policy: Policy, arms: int) -> ArmPlan:
    """Fewer repeats first where the arm's share of the budget does not cover what was asked."""
    total = runs or (launches or want.launches) * want.repeats
    starts = min(launches or want.launches, total, MAX_LAUNCHES // 2)
    share = policy.budget_minutes / arms
    while starts > 1 and share / starts < policy.launch_minutes + policy.repeat_minutes:
        starts -= 1
    covered = int((share / starts - policy.launch_minutes) / policy.repeat_minutes)
    return ArmPlan(starts, max(1, min(-(-total // starts), covered, MAX_REPEATS)))


def policy_of(pack: Pack, budget_minutes: float | None = None) -> Policy:
    """The judge's constants with the costs of this pack."""
    policy = replace(
        Policy(),
        launch_minutes=pack.launch_minutes,
        repeat_minutes=pack.repeat_minutes,
        exact_gate=pack.exact_gate,
    )
    return policy if budget_minutes is None else replace(policy, budget_minutes=budget_minutes)


def _capped(want: ArmPlan, *, script: bool) -> ArmPlan:
    """Within what one plan of two arms may hold. Each run of a script is a process and so a launch."""
    if script:
        return ArmPlan(min(want.launches * want.repeats, MAX_SCRIPT_RUNS // 2), 1)
    return ArmPlan(min(want.launches, MAX_LAUNCHES // 2), min(want.repeats, MAX_REPEATS))
