"""The one reply to a command."""

from __future__ import annotations


def command_reply(marker: str, started: int, argument: str) -> str:
    """`started` investigations were opened; `argument` is what stood behind the command, if anything."""
    if argument:
        outcome = (
            "Arguments of `/rerun-kl` are not understood yet, so nothing was started. "
            "Write the command alone: it takes the red KL test of this pull request's head commit."
        )
    elif started == 0:
        outcome = (
            "Nothing to rerun: no red KL test was found on the head commit, or it is being measured already. "
            "The comment of a running investigation is updated in place."
        )
    else:
        tests = "1 KL test is" if started == 1 else f"{started} KL tests are"
        outcome = (
            f"{tests} being measured again, head beside base; the result goes into the comment of the test."
        )
    return f"{marker}\n{outcome}"


def refused_reply(marker: str) -> str:
    """To somebody without write permission; what was asked costs GPU time."""
    return f"{marker}\nReruns cost GPU time: `/rerun-kl` is for people with write permission here."
