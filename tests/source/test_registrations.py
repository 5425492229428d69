"""What a test file registers itself for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.source.registrations import Registration, registrations
from rules import Pack, load_named

CALLS = ("register_cuda_ci", "register_amd_ci")


def read(text: str | bytes) -> list[tuple[str, dict[str, object]]]:
    data = text.encode() if isinstance(text, str) else text
    return [(found.call, found.arguments) for found in registrations(data, CALLS)]


def test_the_calls_of_a_module():
    text = (
        "import unittest\n"
        'register_cuda_ci(est_time=300, stage="base-c", runner_config="4-gpu-h100")\n'
        "register_amd_ci(\n    est_time=1.5,\n    suite='a' 'b',  # two pieces\n"
        "    disabled=None,\n    nightly=True,\n)\n"
        'register_cpu_ci(est_time=1, suite="cpu")\n'
    )
    assert read(text) == [
        ("register_cuda_ci", {"est_time": 300, "stage": "base-c", "runner_config": "4-gpu-h100"}),
        ("register_amd_ci", {"est_time": 1.5, "suite": "ab", "disabled": None, "nightly": True}),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        ('300, "stage-a"', {}),
        ("est_time=-1", {"est_time": -1}),
        ("est_time=60 * 5", {}),
        ("suite=NAME, est_time=3", {"est_time": 3}),
        ('suite=f"{NAME}-4"', {}),
        ('suite=b"raw"', {}),
        ("**OPTIONS, est_time=3", {"est_time": 3}),
        ("suite=r'a\\b'", {"suite": "a\\b"}),
        ("est_time=3j", {}),
        ("est_time=-x", {}),
        ("est_time=" + "9" * 5000, {}),
        ("suite='a', suite='b'", {}),
    ],
)
def test_only_constants_are_taken(arguments, expected):
    assert read(f"register_cuda_ci({arguments})\n") == [("register_cuda_ci", expected)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "if True:\n    register_cuda_ci(est_time=3)\n",
        "def f():\n    register_cuda_ci(est_time=3)\n",
        "class A:\n    register_cuda_ci(est_time=3)\n",
        "x = register_cuda_ci(est_time=3)\n",
        "ci.register_cuda_ci(est_time=3)\n",
        "register_cuda_ci(est_time=3), 4\n",
        "# register_cuda_ci(est_time=3)\n",
        '"""\nregister_cuda_ci(est_time=3)\n"""\n',
        "register_cuda_ci(est_time=\n",
        "register_cuda_ci\n",
        "#" * (4 << 20) + "\nregister_cuda_ci(est_time=3)\n",
    ],
)
def test_what_is_no_call_of_the_module_itself(text):
    assert read(text) == []


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_no_crash(data):
    assert all(isinstance(found, Registration) for found in registrations(data, CALLS))
    registrations(b"register_cuda_ci(suite=" + data + b")\n", CALLS)


def label(text: str) -> str | None:
    pack = load_named("sglang")
    assert isinstance(pack, Pack)
    return pack.label_for(registrations(text.encode(), CALLS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('register_cuda_ci(est_time=3, stage="base-c", runner_config="4-gpu-h100")\n', "4-gpu-h100"),
        ('register_cuda_ci(est_time=3, stage="base-b", runner_config="1-gpu-large")\n', "1-gpu-h100"),
        ('register_cuda_ci(est_time=3, suite="stage-c-test-8-gpu-h200")\n', "8-gpu-h200"),
        (
            'register_cuda_ci(runner_config="4-gpu-h100")\nregister_amd_ci(suite="stage-b-test-1-gpu-amd")\n',
            "4-gpu-h100",
        ),
        ('register_cuda_ci(runner_config="4-gpu-h100")\n' * 2, "4-gpu-h100"),
        (
            'register_cuda_ci(runner_config="4-gpu-h100")\nregister_cuda_ci(runner_config="8-gpu-h200")\n',
            None,
        ),
        ('register_cuda_ci(runner_config="4-gpu-h100")\nregister_cuda_ci(runner_config="9-gpu")\n', None),
        ('register_cuda_ci(suite="stage-b-test-small-1-gpu")\n', None),
        ('register_cuda_ci(runner_config=["4-gpu-h100"])\n', None),
        ("register_cuda_ci(runner_config=4)\n", None),
        ("import unittest\n", None),
    ],
)
def test_the_runner_that_a_file_asks_for(text, expected):
    assert label(text) == expected
