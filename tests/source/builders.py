"""Trees of files as a dictionary, and the questions asked of them."""

from __future__ import annotations

from bot.source import Site, locate
from bot.verdict.answer import Refusal

PATH = "test/kl/test_a.py"


def find(text: str | bytes, test: str = "TestA.test_x", **files: str) -> Site | Refusal:
    tree = {PATH: text if isinstance(text, bytes) else text.encode()}
    tree |= {name.replace("__", "/") + ".py": content.encode() for name, content in files.items()}
    return locate(PATH, test, tree.get)


def find_in(tree: dict[str, str], path: str, test: str) -> Site | Refusal:
    """In a tree that can be listed."""
    return locate(path, test, lambda wanted: _encoded(tree.get(wanted)), list_files=lambda: tree)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def site_of(text: str | bytes, test: str = "TestA.test_x", **files: str) -> Site:
    """A site that may be edited."""
    found = find(text, test, **files)
    assert isinstance(found, Site), found
    assert found.refusal is None, found.refusal
    return found


def refusal_of(text: str | bytes, test: str = "TestA.test_x", **files: str) -> tuple[str, str]:
    found = find(text, test, **files)
    refusal = found.refusal if isinstance(found, Site) else found
    assert refusal is not None, found
    return refusal.code, refusal.sentence
