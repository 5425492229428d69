"""What is said in a bump's pull request after it was opened: a note in its text, and one comment."""

from __future__ import annotations

from typing import Final

from bot.report.markdown import prose, sentence

UPKEEP_MARKER: Final = "<!-- kl-triage:upkeep -->"
NO_CHECKS: Final = (
    "No check run has appeared on this branch, so nothing seems to test it. Somebody with write permission "
    "can start the checks: approve the workflows in the Actions tab, or close and reopen this pull request."
)
_NOTE: Final = "> **Note:** "


def with_note(body: str, note: str) -> str:
    """The text with one note below its first line, which is the hidden marker; the same note twice is one."""
    first, _, rest = body.partition("\n")
    line = f"{_NOTE}{prose(note)}"
    return body if line in body else f"{first}\n\n{line}\n{rest}"


def given_up(why: str) -> str:
    """The comment with which the bot closes its own bump; `why` is the refusal's sentence."""
    return (
        f"{UPKEEP_MARKER}\nThis bump does not fit the default branch any more and is closed: {sentence(why)} "
        "This counts as nobody's decline: a red test of this bound is measured anew."
    )


def left_alone(why: str, touched: str) -> str:
    """The comment on a bump that the bot leaves; `touched`: what people did, as the end of a sentence."""
    return (
        f"{UPKEEP_MARKER}\nThe default branch has moved under this bump: {sentence(why)} It is left as it "
        f"is: {prose(touched)}. Please rebase it, or close this pull request."
    )
