"""The recorded red job is of the code that the demo runs, and names no machine."""

import re
import tempfile
from importlib import resources
from pathlib import Path

from bot.logs import scan
from bot.verdict import Reading
from rules import load_named
from runners.reference.measure import PROJECT

KIT = (PROJECT / "tinyserve/kl_kit.py").read_text()
PROMPTS = int(re.search(r"^PROMPTS, [A-Z_, ]+ = (\d+)", KIT, re.MULTILINE)[1])
LOG = (resources.files("bot.demo") / "files/red-job-of-healthy-code.log").read_bytes()


def test_it_shows_one_test_over_its_bound_twice():
    result = scan([LOG], load_named("reference").scan_forms)
    (failure,) = [failure for failure in result.failures if failure.kind == "bound"]
    tries: list[Reading] = [r for r in result.readings if r.test == failure.test]
    assert failure.attempts == 2 and not failure.recovered
    assert [reading.attempt for reading in tries] == [1, 2]
    assert all(reading.threshold == 0.003 and 0.003 < reading.value < 0.004 for reading in tries)
    assert all(len(reading.per_prompt) == PROMPTS for reading in tries)


def test_it_is_of_the_present_code():
    """The kit prints what it does; a log of another kit would tell a story that the reruns do not."""
    (printed,) = re.findall(r'print\(f"\[\{label\}\] (.*)"\)', KIT)
    assert f"[logprobs_match] {printed.replace('{PROMPTS}', str(PROMPTS))}\n".encode() in LOG


def test_no_folder_of_the_machine_it_ran_on_is_left():
    for folder in (Path.home(), Path(tempfile.gettempdir()), Path("/home")):
        assert f"{folder}/".encode() not in LOG
