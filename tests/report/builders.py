"""One small case, told three ways; every number below can be checked by eye."""

from __future__ import annotations

from dataclasses import replace

from bot.report import Case, EvidenceLinks, PullLink
from bot.source.site import Sibling, Site
from bot.verdict.answer import (
    ArmPlan,
    Candidate,
    Catch,
    Exceedance,
    Expected,
    Level,
    Numbers,
    OutlierPrompt,
    Plan,
    Proposal,
    Ratio,
    Rung,
    Runs,
    Verdict,
    VerdictKind,
)
from bot.verdict.reading import Arm, Reading, Status

TEST = "test/registered/kl/test_hybrid_cache_kl.py::TestHybridCacheKL.test_decode_cache_hit"
HEAD, BASE = "ab12cd3" + "0" * 33, "de45fa6" + "1" * 33
HEAD_VALUES = (0.00213, 0.00241, 0.00198, 0.00256, 0.00224, 0.00312, 0.00187, 0.00235)
BASE_VALUES = (0.00221, 0.00209, 0.00263, 0.00232, 0.00194, 0.00246, 0.00305, 0.00217)
PLAN = Plan({"head": ArmPlan(2, 4), "base": ArmPlan(2, 4)})

SITE = Site(
    path="test/registered/kl/test_hybrid_cache_kl.py",
    cls="TestHybridCacheKL",
    attribute="kl_threshold",
    line=21,
    column=20,
    start=612,
    end=617,
    spelling="0.003",
    value=0.003,
    scope="class",
    governs=(TEST,),
    siblings=(Sibling("test/registered/kl/test_hybrid_cache_kl.py", "TestHybridCacheKLHiCache", 0.005),),
)
EVIDENCE = EvidenceLinks(
    commit="9f8e7d6" + "2" * 33,
    readings_url="https://github.com/acme/engine/blob/9f8e7d6/investigations/7/readings.jsonl",
    chart_url="https://github.com/acme/engine/blob/9f8e7d6/investigations/7/chart.svg",
)
CASE = Case(
    key=f"{SITE.key}@kl-cpu",
    repo="acme/engine",
    test=TEST,
    head_sha=HEAD,
    base_sha=BASE,
    bot_version="0.1.0",
    bound=0.003,
    attribute="kl_threshold",
    site=SITE,
    pull=12,
    job_url="https://github.com/acme/engine/actions/runs/41/job/5",
    run_urls=("https://github.com/acme/engine/actions/runs/42",),
    runner="kl-cpu",
    hosts=("cpu-local-0",),
    runs_done=16,
    runs_planned=16,
    rounds=1,
    gpu_minutes=0.4,
    rules="reference",
    evidence=EVIDENCE,
    proposal_pull=PullLink(13, "https://github.com/acme/engine/pull/13"),
)
PROPOSAL = Proposal(
    old=0.003,
    threshold=0.005,
    why_this_value="The sibling class TestHybridCacheKLHiCache in the same file uses it.",
    exceedance=Expected(rate=0.0011, low=0.0002, high=0.0031, model="log-normal fit", exact_high=0.17),
    still_catches=(
        Catch(1.25, 0.27, 0.011),
        Catch(1.5, 0.71, 0.09),
        Catch(2.0, 0.99, 0.46),
        Catch(3.0, 1.0, 0.98),
    ),
    alternatives=(
        Candidate(
            0.004, Expected(0.009, 0.004, 0.021, "log-normal fit", 0.17), "expected over 0.5 % of CI jobs"
        ),
    ),
    remedies=("Twice as many prompts would exceed 0.003 in 1.2 % of runs.",),
)
TRACE = (
    Rung("exact_gate", "the bound 0.003 is far from exact"),
    Rung("deterministic", "16 values, all different"),
    Rung("intermittent", "no prompt lies far outside its own reference"),
    Rung("regression", "head over base 1.01, a shift of 1.25 is excluded"),
    Rung("noise", "head and base exceed 0.003 alike and 0.005 holds"),
)
NUMBERS = Numbers(
    runs={"head": Runs(8, 0), "base": Runs(8, 0)},
    exceedance={
        "head": Exceedance(1, 8, 0.125, 0.0032, 0.5265),
        "base": Exceedance(1, 8, 0.125, 0.0032, 0.5265),
    },
    levels={"head": Level(0.002295, 0.00187, 0.00312), "base": Level(0.002265, 0.00194, 0.00305)},
    ratio=Ratio(1.01, 0.88, 1.16, 0.95, "log-ratio of launch means"),
    min_detectable_ratio=1.25,
    gpu_minutes=0.4,
)
NOISE = Verdict(
    VerdictKind.NOISE,
    "noise_same_on_base",
    "The bound 0.003 lies inside the noise: the unchanged base exceeds it as often as this change.",
    NUMBERS,
    proposal=PROPOSAL,
    trace=TRACE,
)
REGRESSION = replace(
    NOISE,
    kind=VerdictKind.REGRESSION,
    reason="regression_level",
    sentence="KL doubled: this pull request measures 2.05 times the base, and noise does not explain that.",
    numbers=replace(
        NUMBERS,
        exceedance={"head": Exceedance(8, 8, 1.0, 0.6306, 1.0), "base": NUMBERS.exceedance["base"]},
        levels={"head": Level(0.00462, 0.00391, 0.00583), "base": NUMBERS.levels["base"]},
        ratio=Ratio(2.05, 1.79, 2.35, 0.95, "log-ratio of launch means"),
    ),
    proposal=None,
    trace=(*TRACE[:3], Rung("regression", "head over base 2.05, above 1.25")),
)
INTERMITTENT = replace(
    REGRESSION,
    kind=VerdictKind.INTERMITTENT,
    reason="intermittent_prompt",
    sentence="Single prompts are wrong in some runs of this pull request and in none of the base.",
    numbers=replace(NUMBERS, outlier_prompts=(OutlierPrompt(4, 0.21, 0.0021, "head", "head-1"),)),
)
ASKING = Verdict(VerdictKind.INCONCLUSIVE, "more_runs", "Too few runs to tell.", Numbers(), next=PLAN)


def of(kind: VerdictKind) -> Verdict:
    numbers = NUMBERS if kind is VerdictKind.NOISE else REGRESSION.numbers
    return replace(REGRESSION, kind=kind, reason=str(kind), numbers=numbers)


def readings(head=HEAD_VALUES, base=BASE_VALUES, trigger=(0.00341, 0.00328)) -> tuple[Reading, ...]:
    """Two launches an arm, half of the values on each; the red job's two tries."""
    found = [
        Reading(Arm.TRIGGER, TEST, Status.OK, value, threshold=0.003, attempt=place)
        for place, value in enumerate(trigger, start=1)
    ]
    for arm, values in ((Arm.HEAD, head), (Arm.BASE, base)):
        half = (len(values) + 1) // 2
        for place, value in enumerate(values):
            launch = f"{arm}-{place // half}"
            prompts = (value * 0.5, value, value * 1.5)
            reading = Reading(arm, TEST, Status.OK, value, prompts, 0.003, launch=launch, repeat=place % half)
            found.append(replace(reading, host="cpu-local-0", commit=HEAD if arm is Arm.HEAD else BASE))
    return tuple(found)


def lost(arm=Arm.HEAD, error="the server did not start") -> Reading:
    return Reading(arm, TEST, Status.TIMEOUT, launch=f"{arm}-9", repeat=0, host="cpu-local-0", error=error)
