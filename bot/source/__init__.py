"""The site of a bound: file text in; the literal that sets it, or an edited text, out."""

from bot.source.bump import bump, comment_line, diff, spell
from bot.source.locate import ATTRIBUTES, locate
from bot.source.proof import EditError
from bot.source.site import Override, Sibling, Site

__all__ = [
    "ATTRIBUTES",
    "EditError",
    "Override",
    "Sibling",
    "Site",
    "bump",
    "comment_line",
    "diff",
    "locate",
    "spell",
]
