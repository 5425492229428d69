"""Comments as people see them: Markdown rendered, a stranger's HTML never let through."""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

_HIDDEN: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# GitHub folds with these; without attributes they can do no harm.
_FOLDS: Final = re.compile(r"&lt;(/?(?:details|summary|sub))&gt;")
_RENDERER: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render(text: str) -> Markup:
    """HTML of a Markdown text: raw HTML escaped but for bare details and summary, comments left out."""
    visible = _HIDDEN.sub("", text)
    html = _RENDERER.render(re.sub(r"(</?(?:details|summary)>)", r"\n\n\1\n\n", visible))
    return Markup(_FOLDS.sub(r"<\1>", html))  # noqa: S704  # escaped by the renderer
