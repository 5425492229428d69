"""The kinds of tests, each measured through the harness: pytest with fixtures, parameters, plain scripts."""

from __future__ import annotations

import json

import pytest

from runners.plan import PlanError, RerunPlan

PYTEST = """
import pytest

calls = []

@pytest.fixture(scope="session")
def server():
    print("SESSION UP")
    yield
    print("SESSION DOWN")

@pytest.fixture(scope="module")
def engine(server):
    print("MODULE UP")
    yield
    print("MODULE DOWN")

@pytest.fixture
def prompt():
    print("PROMPT UP")
    yield
    print("PROMPT DOWN")

class TestKL:
    @pytest.fixture(scope="class", autouse=True)
    def cache(self):
        print("CLASS UP")
        yield
        print("CLASS DOWN")

    @pytest.mark.parametrize(("model", "kl"), [("small", 0.001), ("large", 0.004)])
    def test_hit(self, engine, prompt, model, kl):
        calls.append(self)
        assert len(set(map(id, calls))) == len(calls)
        print("MODEL", model)
        print(f"kl_divs=[{kl}, {kl}]")
        print(f"avg_kl_div={kl}")
        assert kl < 0.003

    def test_other(self):
        print("OTHER RAN")

def test_function(prompt):
    print("avg_kl_div=0.002")
    print("ACC_THRESHOLDS=0.003")
"""


def marks(log: str) -> list[str]:
    """The words of the fixtures, in order; pytest puts its progress before them."""
    words = ("SESSION", "MODULE", "CLASS", "PROMPT", "OTHER")
    return [line[line.index(word) :] for line in log.splitlines() for word in words if f"{word} " in line]


def test_a_parametrised_pytest_test_runs_exactly_the_asked_parameter(project, run, helpers):
    head = project.commit_file(PYTEST)
    plan = helpers.plan(
        {"head": head}, repeats=2, compare=None, test="test_kl.py::TestKL.test_hit[large-0.004]"
    )
    harness = run(plan)
    assert harness.process.returncode == 0, harness.stderr
    assert [(r["value"], r["threshold"], r["per_prompt"]) for r in harness.readings()] == [
        (0.004, 0.003, [0.004, 0.004])
    ] * 2
    log = harness.log("launch-1-head.log")
    assert log.count("MODEL large") == 2 and "MODEL small" not in log
    once = ["PROMPT UP", "PROMPT DOWN"]
    around = ["SESSION", "MODULE", "CLASS"]
    up, down = [f"{word} UP" for word in around], [f"{word} DOWN" for word in around]
    seen = marks(log)
    assert sorted(seen[:3]) == sorted(up) and sorted(seen[-3:]) == sorted(down)
    assert seen[3:-3] == once * 2


def test_a_pytest_function(project, run, helpers):
    head = project.commit_file(PYTEST)
    harness = run(
        helpers.plan({"head": head}, "head head", repeats=2, compare=None, test="test_kl.py::test_function")
    )
    assert harness.values() == [0.002] * 4
    assert marks(harness.log("launch-2-head.log")) == ["PROMPT UP", "PROMPT DOWN"] * 2


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("TestKL.test_hit", "TestKL.test_hit is parametrised: name one of [small-0.001], [large-0.004]"),
        (
            "TestKL.test_hit[x]",
            "[x] is no variant of TestKL.test_hit; there are [small-0.001], [large-0.004]",
        ),
        ("test_none", "pytest finds no test test_none there at this commit"),
    ],
)
def test_a_pytest_test_that_is_not_there(project, run, helpers, test, reason):
    head = project.commit_file(PYTEST)
    harness = run(helpers.plan({"head": head}, compare=None, test=f"test_kl.py::{test}"))
    assert harness.readings()[0]["error"] == reason


def test_pytest_with_a_compare_function_and_a_projects_own_options(project, run, helpers):
    (project.path / "pytest.ini").write_text(
        "[pytest]\naddopts = -n 4 --reruns 3 -x -m 'not gpu' --strict-config --strict-markers\ntimeout = 5\n"
    )
    head = project.commit_file("""
        import pytest
        from kit import compare

        @pytest.mark.flaky(reruns=3)
        def test_over():
            for turn in range(2):
                compare([0.004], {"m": {"kl_div": 0.003}}, "m", "hit")
            assert False, "cached tokens"

        @pytest.mark.flaky(reruns=3)
        @pytest.mark.skipif("not None", reason="needs 4 GPUs")
        def test_skipped():
            pass
    """)
    harness = run(
        helpers.plan({"head": head}, repeats=2, test="test_kl.py::test_over"), PYTEST_ADDOPTS="--collect-only"
    )
    assert [r["error"] for r in harness.readings()] == [
        "AssertionError: cached tokens assert False (after printing 0.004, 0.004)"
    ] * 2
    skipped = run(helpers.plan({"head": head}, test="test_kl.py::test_skipped"))
    assert skipped.readings()[0]["error"] == "Skipped: needs 4 GPUs"


def test_a_unittest_class_may_be_run_by_pytest(project, run, helpers):
    head = project.commit("""
    @classmethod
    def setUpClass(cls): print("CLASS UP")
    def test_hit(self): check(0.004)
    """)
    harness = run(helpers.plan({"head": head}, repeats=3, kind="pytest"))
    assert harness.values() == [0.004] * 3
    log = harness.log("launch-1-head.log")
    assert "SECOND TRY" not in log and log.count("CLASS UP") == 1


def test_an_async_method_of_unittest(project, run, helpers):
    head = project.commit(
        """
        async def asyncSetUp(self): self.value = 0.002
        async def test_hit(self):
            import asyncio
            await asyncio.sleep(0)
            check(self.value)
        """,
        header="""
import unittest
from kit import compare
def check(value): compare([value], {"m": {"kl_div": 0.003}}, "m", "hit")
class TestKL(unittest.IsolatedAsyncioTestCase):
""",
    )
    harness = run(helpers.plan({"head": head}, repeats=2))
    assert harness.values() == [0.002, 0.002]


SCRIPT = """
import os, subprocess, sys
assert sys.argv[1:] == ["--max-kl", "0.003"], sys.argv
print("[forward] max KL = 0.001 against 0.003")
subprocess.run(["echo", "[backward] max KL = 0.004 against 0.003"])
sys.exit("KL too large")
"""
FORWARD = r"\[(?P<label>\w+)\] max KL = (?P<value>\S+) against (?P<threshold>\S+)"


def test_each_run_of_a_script_is_a_launch_of_its_own(project, run, helpers):
    head = project.commit_file(SCRIPT, "check_kl.py")
    plan = helpers.plan(
        {"head": head},
        repeats=2,
        test="check_kl.py",
        compare=None,
        prints=(FORWARD,),
        arguments=("--max-kl", "0.003"),
    )
    harness = run(plan)
    assert harness.process.returncode == 0
    assert [
        (r["launch"], r["repeat"], r["label"], r["value"], r["threshold"]) for r in harness.readings()
    ] == [
        ("req-1-1", 1, "forward", 0.001, 0.003),
        ("req-1-1", 1, "backward", 0.004, 0.003),
        ("req-1-2", 1, "forward", 0.001, 0.003),
        ("req-1-2", 1, "backward", 0.004, 0.003),
    ]


def test_a_script_that_fails_below_its_bound_is_missing_data(project, run, helpers):
    head = project.commit_file(
        "echo avg_kl_div=0.001\necho ACC_THRESHOLDS=0.003\necho hub 503\nexit 3\n", "kl.sh"
    )
    harness = run(helpers.plan({"head": head}, test="kl.sh", compare=None))
    assert harness.statuses() == ["error"]
    assert harness.readings()[0]["error"] == (
        "the script ended with exit code 3, last it said: hub 503 (after printing 0.001)"
    )


def test_log_probs_are_kept_beside_the_readings(project, run, helpers):
    head = project.commit_file("""
        import unittest
        import kit
        class TestKL(unittest.TestCase):
            def test_hit(self):
                fresh, cached = [[-0.5, -1.0], [-0.25]], ((-0.5, -1.5), (-0.5,))
                kit.measure(fresh, cached, [["a"]], [], "hit")
    """)
    (project.path / "kit.py").write_text(
        "def measure(fresh, cached, texts, none, label):\n    print('avg_kl_div=0.002')\n"
    )
    head = project.commit_file((project.path / "test_kl.py").read_text())
    harness = run(helpers.plan({"head": head}, repeats=2, compare="kit:measure", save_logprobs=True))
    assert harness.values() == [0.002, 0.002]
    lines = (harness.out / "logprobs" / "launch-1-head.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "repeat": repeat,
            "label": "hit",
            "arguments": {"fresh": [[-0.5, -1.0], [-0.25]], "cached": [[-0.5, -1.5], [-0.5]]},
        }
        for repeat in (1, 2)
    ]


def test_a_script_whose_child_keeps_its_output_open_and_whose_name_begins_with_a_dash(project, run, helpers):
    name = '-cprint("avg_kl_div=0.9");a.py'
    head = project.commit_file(
        "import subprocess\nsubprocess.Popen(['sleep', '60'])\nprint('avg_kl_div=0.002')\n", name
    )
    harness = run(helpers.plan({"head": head}, test=name, compare=None, launch_timeout_s=15.0))
    assert harness.values() == [0.002]


def test_the_message_of_a_scripts_assertion_is_no_second_check(project, run, helpers):
    head = project.commit_file(
        "print('avg_kl_div=0.004')\nassert False, 'avg_kl_div=0.004 > threshold=0.003'\n", "kl.py"
    )
    harness = run(helpers.plan({"head": head}, test="kl.py", compare=None))
    assert [(r["value"], r["threshold"]) for r in harness.readings()] == [(0.004, 0.003)]


def test_a_pytest_compare_function_of_the_test_file_itself(project, run, helpers):
    head = project.commit_file("""
        import kit
        def own(values): kit.compare(values, {"m": {"kl_div": 0.003}}, "m", "own")
        def test_own(): own([0.004]); own([0.002])
    """)
    harness = run(helpers.plan({"head": head}, test="test_kl.py::test_own", compare="test_kl:own"))
    assert harness.values() == [0.004, 0.002]


@pytest.mark.parametrize(
    "change",
    [
        {"version": True},
        {"version": 1.0},
        {"max_seconds": 10**400},
        {"prints": ["(?P<value>\ud800)"]},
        {"arguments": ["\ud800"]},
        {"test": "\ud800.py"},
    ],
)
def test_a_plan_with_half_characters_or_huge_numbers_is_refused(helpers, change):
    document = json.loads(helpers.plan({"head": "a" * 40}, test="kl.py", compare=None).to_json())
    with pytest.raises(PlanError):
        RerunPlan.from_json(json.dumps({**document, **change}))
