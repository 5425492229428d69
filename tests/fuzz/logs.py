"""`make fuzz-logs`: any bytes as a job log, read with every pack."""

from __future__ import annotations

from pathlib import Path

import atheris

with atheris.instrument_imports(include=["bot.logs"]):
    import bot.logs

from tests.fuzz.engine import fuzz
from tests.fuzz.properties import check_cut, check_log, every_form

assert bot.logs
DATA = Path(__file__).parents[1] / "logs" / "data"
PACKS = every_form()
WINDOW = 25
MARKERS = rb"""
Begin (0/1):
End (0/1):
python3 test/kl/test_a.py -f
[CI Test Method] A.test_x
[decode] 9 samples
kl_divs=[0.001, np.float64(0.002)]
avg_kl_div=0.0034
ACC_THRESHOLDS={'kl_div': 0.003}
avg_kl_div=0.0034 > threshold=0.003 for org/model decode
AssertionError: 0.0034 not less than 0.003
E   assert 0.2 < 0.1
ERROR: test_x (__main__.A.test_x)
FAIL: test_x (__main__.A)
test_x (__main__.A.test_x) ... ok
Ran 3 tests in 1.5s
OK
FAILED (errors=1)
retry() failed once (0th try, maximum 1 retries). Will delay 1.79s and retry. Error:
Traceback (most recent call last):
##[error]Process completed with exit code 1.
##[error]The operation was canceled.
##[group]Run tests
Cleaning up orphan processes
Current runner version: '2.330.0'
Runner name: 'gpu-1'
=== test session starts ===
=== short test summary info ===
FAILED test/kl/test_a.py::A::test_x - assert 0.2 < 0.1
test/kl/test_a.py::A::test_x PASSED [ 50%]
[gw0] [ 50%] FAILED test/kl/test_a.py::A::test_x
___ A.test_x ___
--- Captured stdout call ---
!!! stopping after 1 failures !!!
=== 1 failed in 2.1s ===
RERUN
""".strip().splitlines()
PARTS = (
    b"\n",
    b"\r",
    b"\x1b[31m",
    b"\xef\xbb\xbf",
    b"2026-05-29T02:11:04.0032952Z ",
    b"nan",
    b"inf",
    b"1e-05",
    b"tensor(",
)
WORDS = (*MARKERS, *PARTS, *(hint.encode() for pack in PACKS for hint in sorted(pack.hints)))


def seeds() -> list[bytes]:
    """Parts of real logs, short so that many are tried. The first byte chooses the pack, the second a cut."""
    lines = [
        line for path in sorted(DATA.glob("*.log")) for line in path.read_bytes().splitlines(keepends=True)
    ]
    parts = [b"".join(lines[start : start + WINDOW]) for start in range(0, len(lines), WINDOW)]
    parts.append(b"\n".join(MARKERS))
    return [bytes((number % len(PACKS), 128)) + part for number, part in enumerate(parts)]


def check(data: bytes) -> None:
    if len(data) > 2:
        known, log = PACKS[data[0] % len(PACKS)], data[2:]
        check_log(log, known)
        check_cut(log, len(log) * data[1] // 255, known)


if __name__ == "__main__":
    fuzz("logs", check, seeds(), WORDS, 6_000)
