"""Comments as people see them: Markdown rendered, a stranger's HTML never let through."""

from __future__ import annotations

import re
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

_HIDDEN: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_RENDERER: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
# GitHub folds and shrinks with these; without attributes they can do no harm.
_BLOCKS: Final = re.compile(r"(</?details>|<summary>.*?</summary>)")
_ESCAPED: Final = (
    (re.compile(r"<p>&lt;(/?)details&gt;</p>"), r"<\1details>"),
    (re.compile(r"<p>&lt;summary&gt;(.*?)&lt;/summary&gt;</p>"), r"<summary>\1</summary>"),
    (re.compile(r"&lt;(/?)sub&gt;"), r"<\1sub>"),
)


def render(text: str) -> Markup:
    """HTML of a Markdown text: raw HTML escaped but for bare folds, hidden comments left out."""
    html = _RENDERER.render(_BLOCKS.sub(r"\n\n\1\n\n", _HIDDEN.sub("", text)))
    for escaped, tag in _ESCAPED:
        html = escaped.sub(tag, html)
    return Markup(html)  # noqa: S704  # escaped by the renderer
