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
