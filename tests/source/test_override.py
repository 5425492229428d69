"""A bound of the failing class's own: where it is written, and what its proof would catch."""

from __future__ import annotations

import pytest

from bot.source import EditError, bump
from bot.source.proof import prove_override
from bot.verdict.answer import Refusal
from tests.source.worlds import inheriting

HEAD = "class TestA(Kit):\n"
NEW = "    # noise\n    kl_threshold = 0.005\n"


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (HEAD + "    model = M\n", "\n    def test_x(self): pass\n"),
        (HEAD + "    model = M\n", "    def test_x(self): pass\n"),
        (HEAD + "    model = M  # of May\n", "    # about test_x\n    def test_x(self): pass\n"),
        (HEAD + "    a = 1; b = 2\n", "    def test_x(self): pass\n"),
        (HEAD + "    a = 1; print(\n        2)\n", "    def test_x(self): pass\n"),
        (
            HEAD + '    """Doc."""\n\n    rows = [\n        1,\n    ]\n',
            "\n    @dec\n    def test_x(self): pass\n",
        ),
        (HEAD + "    # old\n    model = M\n", "    if X:\n        y = 1\n    z = 2\n"),
        (HEAD + "    pass\n", ""),
        (HEAD + "    ...\n", "\n\nclass TestB: pass\n"),
        (HEAD + "    x: int\n    pass\n", ""),
        ("@skip\nclass TestA(\n    Kit,\n):  # head\n    model = M\n", ""),
        ("if X:\n    pass\n\n" + HEAD + "    model = M\n", "x = 1\n"),
    ],
)
def test_beside_the_attributes_of_the_class(above, below):
    data = (above + below).encode()
    assert bump(data, inheriting(data), 0.005, "noise") == (above + NEW + below).encode()


@pytest.mark.parametrize(
    ("above", "added", "below"),
    [
        (HEAD + '    """Doc."""\n', "\n" + NEW, "\n    def test_x(self): pass\n"),
        (HEAD + '    """Doc."""\n', NEW, "    def test_x(self): pass\n"),
        (HEAD + '    """Doc.\n\n    kl_threshold = 1\n    """\n', "\n" + NEW, ""),
        (HEAD + '    """Doc."""', "\n\n" + NEW.removesuffix("\n"), ""),
        (HEAD, NEW + "\n", "    def test_x(self): pass\n"),
        (HEAD, NEW + "\n", "    # about test_x\n    @dec\n    def test_x(self): pass\n"),
        (HEAD, "\n" + NEW, "\n    def test_x(self): pass\n"),
        (HEAD, NEW, "    if X:\n        y = 1\n"),
        (HEAD + "    pass", "\n" + NEW.removesuffix("\n"), ""),
    ],
)
def test_blank_lines_are_those_of_the_house(above, added, below):
    data = (above + below).encode()
    assert bump(data, inheriting(data), 0.005, "noise") == (above + added + below).encode()


@pytest.mark.parametrize(
    ("body", "statement"),
    [
        ("    model: str = M\n", "kl_threshold: float = 0.005"),
        ("    model: str = M\n    other = 1\n", "kl_threshold = 0.005"),
        ("    model: str\n    other = 1\n", "kl_threshold = 0.005"),
        ("    pass\n", "kl_threshold = 0.005"),
    ],
)
def test_a_type_where_all_attributes_of_the_class_have_one(body, statement):
    data = (HEAD + body).encode()
    added = f"    # noise\n    {statement}\n".encode()
    assert bump(data, inheriting(data), 0.005, "noise") == data + added


def test_the_number_is_spelled_as_the_inherited_one():
    data = (HEAD + "    pass\n").encode()
    assert (
        bump(data, inheriting(data, "4e-3"), 0.005, "noise") == data + NEW.replace("0.005", "5e-3").encode()
    )


def test_tabs_and_line_ends_as_found():
    data = b"\xef\xbb\xbfx = 1\nclass TestA(Kit):\r\n\t\tmodel = M\r\n\t\tdef f(self): pass\n"
    added = b"\t\t# noise\r\n\t\tkl_threshold = 0.005\r\n"
    assert bump(data, inheriting(data), 0.005, "noise") == data.replace(b"M\r\n", b"M\r\n" + added)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("class TestA(Kit): pass\n", "unsupported_layout"),
        ("class TestA(Kit): model = M; x = 1\n", "unsupported_layout"),
        ("class TestA(Kit):\\\n    pass\n", "unsupported_layout"),
        ("class TestA(Kit):\n    pass \\\n\n", "unsupported_layout"),
        ("class TestA(Kit):\n    kl_threshold = 0.002\n", "stale_site"),
        ("class TestA(Kit):\n    if X:\n        kl_threshold = 0.002\n", "stale_site"),
        ("def f():\n    class TestA(Kit):\n        pass\n", "stale_site"),
        ("class TestA(Kit):\n    pass\n)\n", "does_not_parse"),
        ("class TestA(Kit):\n    pass\r", "unsupported_layout"),
    ],
)
def test_what_is_refused(text, code):
    data = text.encode()
    refusal = bump(data, inheriting(data), 0.005, "noise")
    assert isinstance(refusal, Refusal) and refusal.code == code
    assert refusal.sentence.endswith(".")


@pytest.mark.parametrize(
    ("new", "comment", "code"), [(0.003, "x", "equal"), (0.002, "x", "not_looser"), (0.005, "", "no_comment")]
)
def test_values_and_comments_that_are_refused(new, comment, code):
    data = (HEAD + "    pass\n").encode()
    refusal = bump(data, inheriting(data), new, comment)
    assert isinstance(refusal, Refusal) and refusal.code == code


def test_the_new_bound_is_looked_up_in_the_edited_text():
    data = (HEAD + "    pass\n").encode()
    with pytest.raises(EditError, match=r"is 0\.003 after the edit"):
        bump(data, inheriting(data), 0.005, "noise", lambda text: 0.003)


# --- the proof --------------------

OLD = (
    HEAD + "    model = M\n\n    def test_x(self):\n        model = 1\n\n\nclass TestB(Kit):\n    model = M\n"
)
GOOD = OLD.replace("model = M\n\n", "model = M\n" + NEW + "\n", 1)


def test_the_right_override_passes_the_proof():
    override = inheriting(OLD.encode()).override
    assert override is not None
    prove_override(OLD.encode(), GOOD.encode(), override, "0.005", 0.005)


@pytest.mark.parametrize(
    "edited",
    [
        OLD,
        OLD + NEW,
        OLD.replace("        model = 1\n", "        model = 1\n" + NEW),
        OLD.replace("        model = 1\n", "        model = 1\n" + NEW.replace("    ", "        ")),
        GOOD.replace("0.005", "0.006"),
        GOOD.replace("0.005", "0.0050"),
        GOOD.replace("0.005", "'0.005'"),
        GOOD.replace("0.005", "0.005; x = 1"),
        GOOD.replace(": float", "").replace("kl_threshold", "kl_threshold: int"),
        GOOD.replace("    # noise\n", ""),
        GOOD.replace("    # noise\n", "    # noise\n    # more\n"),
        GOOD.replace("    # noise\n", "# noise\n"),
        GOOD.replace("    # noise\n", "    # noise\n\n"),
        GOOD.replace("0.005\n", "0.005\n\n\n"),
        GOOD.replace("# noise", "pass"),
        GOOD.replace("kl_threshold = 0.005", "kl_threshold = 0.005\n    kl_threshold = 0.005"),
        GOOD.replace("model = 1", "model = 2"),
        GOOD.replace("TestB", "TestC"),
        GOOD + "\n",
    ],
)
def test_any_other_edit_fails_the_proof(edited):
    override = inheriting(OLD.encode()).override
    assert override is not None
    with pytest.raises(EditError):
        prove_override(OLD.encode(), edited.encode(), override, "0.005", 0.005)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HEAD + '    """Doc."""\n', HEAD + '    """Doc."""\n' + NEW),
        (HEAD + "    def f(self): pass\n", HEAD + NEW + "    def f(self): pass\n"),
        (HEAD + "    model = M\n", HEAD + "    model = M\n\n" + NEW),
        (HEAD + "    model = M\n", HEAD + NEW + "    model = M\n\n"),
    ],
)
def test_a_blank_line_too_many_or_too_few_fails_the_proof(old, new):
    override = inheriting(old.encode()).override
    assert override is not None
    with pytest.raises(EditError):
        prove_override(old.encode(), new.encode(), override, "0.005", 0.005)
