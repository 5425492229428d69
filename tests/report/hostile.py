"""Strangers' text, and what a real Markdown renderer makes of the page around it."""

from __future__ import annotations

import re

from hypothesis import strategies as st
from markdown_it import MarkdownIt

_RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OWN_HTML = {"<code>", "</code>", "<sub>", "</sub>"}
SNIPPETS = (
    "@maintainer-b",
    "@acme/ci",
    "</details>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "-->",
    "--",
    "|",
    "\\|",
    "\\",
    "`",
    "``",
    "```",
    "~~~",
    "~~gone~~",
    "**bold**",
    "_it_",
    "](https://evil.example)",
    "[x](y)",
    "![i](https://evil.example/p.png)",
    "https://evil.example/a",
    "www.evil.example",
    "fixes #1",
    "GH-1",
    "acme/engine#7",
    "$x$",
    "&lt;",
    "&#64;maintainer-b",
    "\n",
    "\r\n",
    "\n\n",
    "\n/rerun-kl\n",
    "/rerun-kl",
    "# head",
    "- item",
    "1. one",
    "1) one",
    "> quote",
    "---",
    "===",
    "    four",
    "\t",
    "\x00",
    "\x1b[31m",
    "\u202e",
    "\u2028",
    "\ud800",
    "{",
    "%%",
    "x",
    "日本",
)
hostile = st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=4), min_size=1, max_size=8).map(
    lambda parts: "".join(parts) + "x"
)


def shape(text: str) -> list[str]:
    """The page without its words: block and inline elements in order, inline code in one form."""
    found: list[str] = []
    for token in _RENDERER.parse(text):
        if token.type == "html_block":
            found.append("comment" if token.content.startswith("<!-- kl-triage:") else token.content.strip())
        elif token.type == "inline":
            found += _inline(token.children or [])
        else:
            found.append(token.type)
    return found


def _inline(children) -> list[str]:
    found: list[str] = []
    inside_code = False
    for child in children:
        if child.type == "html_inline" and child.content in ("<code>", "</code>"):
            inside_code = child.content == "<code>"
            found += ["code"] if inside_code else []
        elif child.type == "code_inline":
            found.append("code")
        elif child.type not in ("text", "text_special", "softbreak"):
            found.append(child.content if child.type == "html_inline" else child.type)
    return found


def words_outside_code(text: str) -> str:
    """What GitHub searches for mentions, references and addresses: text outside code and links."""
    found: list[str] = []
    for token in _RENDERER.parse(text):
        inside = 0
        for child in token.children or []:
            if child.type == "link_open" or child.content == "<code>":
                inside += 1
            elif child.type == "link_close" or child.content == "</code>":
                inside -= 1
            elif child.type in ("text", "text_special") and not inside:
                found.append(child.content)
        found.append("\n")
    return "".join(found)


def shown(text: str) -> str:
    """The words a reader sees."""
    children = [child for token in _RENDERER.parse(text) for child in token.children or []]
    return "".join(c.content for c in children if c.type in ("text", "text_special", "code_inline"))


def html_in(text: str) -> set[str]:
    found = set()
    for token in _RENDERER.parse(text):
        found |= {child.content for child in token.children or [] if child.type == "html_inline"}
        if token.type == "html_block":
            found.add(token.content.strip())
    return found


def is_inert(text: str) -> bool:
    """No mention, reference, bare address or command in what a reader or a bot would act on."""
    plain = words_outside_code(text)
    active = re.search(r"@[A-Za-z0-9]|#\d|://|www\.|GH-\d", plain, re.IGNORECASE)
    command = re.search(r"^[\s>*+-]*/[a-z]", text, re.MULTILINE | re.IGNORECASE)
    return active is None and command is None
