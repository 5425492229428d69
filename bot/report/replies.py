"""The one reply to a command."""

from __future__ import annotations

from typing import Final

NOT_PERMITTED: Final = "Reruns cost GPU time: `/rerun-kl` is for people with write permission here."
NOT_OPEN: Final = "Nothing was started: this pull request is not open."
UNKNOWN_ARGUMENT: Final = (
    "Nothing was started: the one argument `/rerun-kl` takes is the full SHA of the head commit."
    " Write the command alone for the red KL test of this pull request."
)
HEAD_MOVED: Final = "Nothing was started: the SHA is not the head commit of this pull request any more."
FORK_NEEDS_SHA: Final = (
    "Nothing was started: the code is from a fork. Look at it, then write `/rerun-kl` with the full SHA of"
    " the head commit behind it, so that exactly what you looked at runs on the GPU machines."
)


def outcome(started: int) -> str:
    """`started` investigations were opened."""
    if started == 0:
        return (
            "Nothing to rerun: no red KL test was found on the head commit, or it is being measured."
            " The comment of a running investigation is updated in place."
        )
    tests = "1 KL test is" if started == 1 else f"{started} KL tests are"
    return f"{tests} being measured again, head beside base; the result goes into the comment of the test."
