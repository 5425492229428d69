"""Trees of files as a dictionary, and the questions asked of them."""

from __future__ import annotations

from bot.source import Site, locate
from bot.verdict.answer import Refusal

PATH = "test/kl/test_a.py"


def find(text: str | bytes, test: str = "TestA.test_x", **files: str) -> Site | Refusal:
    tree = {PATH: text if isinstance(text, bytes) else text.encode()}
    tree |= {name.replace("__", "/") + ".py": content.encode() for name, content in files.items()}
    return locate(PATH, test, tree.get)


def site_of(text: str | bytes, test: str = "TestA.test_x") -> Site:
    found = find(text, test)
    assert isinstance(found, Site), found
    return found


def refusal_of(text: str | bytes, test: str = "TestA.test_x", **files: str) -> tuple[str, str]:
    found = find(text, test, **files)
    assert isinstance(found, Refusal), found
    return found.code, found.sentence
