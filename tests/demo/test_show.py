"""What the terminal shows of a comment and of the reruns."""

from bot.demo.play import Measured, failure_line
from bot.demo.show import arms, visible


def test_hidden_blocks_are_left_out_and_folds_are_named():
    text = visible(
        "<!-- kl-triage:v1 key=a -->\n### NOISE\n\n```mermaid\nxychart-beta\n```\n\n"
        "<details>\n<summary>Versions</summary>\n\nsecret\n\n</details>\n<!-- kl-triage:data {} -->"
    )
    assert text == "### NOISE\n\n(a chart of the runs)\n\n(folded: Versions)"


def test_the_arms_show_median_and_count():
    assert arms(Measured(1, 8, {"head": [0.002, 0.004, 0.003], "base": []})) == "head 0.00300 (3)"
    assert arms(Measured(0, 0, {"head": [], "base": []})) == "none measured yet"


def test_the_failure_line_is_the_asserted_one():
    log = "x\n2026-01-01T00:00:00.0000000Z AssertionError: avg_kl_div=0.0034 > threshold=0.003 for m hit\n"
    assert failure_line(log) == "avg_kl_div=0.0034 > threshold=0.003 for m hit"
    assert failure_line("green") == "no KL value in the log"
