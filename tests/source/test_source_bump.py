"""The edit: one number, one comment line, nothing else; and the proof that would catch anything else."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.source import EditError, bump, comment_line, diff, spell
from bot.source.proof import prove
from bot.verdict.answer import Refusal
from tests.source.builders import PATH, site_of

TEXT = """\
class TestA:
    gsm8k_threshold = 0.003
    kl_threshold = 0.003  # was 0.002

    def test_x(self): ...
"""


def bumped(text: str | bytes, new: float = 0.005, comment: str = "noise") -> bytes:
    data = text if isinstance(text, bytes) else text.encode()
    result = bump(data, site_of(data), new, comment)
    assert isinstance(result, bytes), result
    return result


def test_one_number_and_one_comment_line():
    assert diff(TEXT.encode(), bumped(TEXT, comment="0.003 -> 0.005: 4/48 runs exceeded"), PATH) == (
        "--- a/test/kl/test_a.py\n"
        "+++ b/test/kl/test_a.py\n"
        "@@ -1,5 +1,6 @@\n"
        " class TestA:\n"
        "     gsm8k_threshold = 0.003\n"
        "-    kl_threshold = 0.003  # was 0.002\n"
        "+    # 0.003 -> 0.005: 4/48 runs exceeded\n"
        "+    kl_threshold = 0.005  # was 0.002\n"
        " \n"
        "     def test_x(self): ...\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "spelled"),
    [
        ("0.003", 0.005, "0.005"),
        ("4e-3", 0.005, "5e-3"),
        ("4e-3", 0.0125, "1.25e-2"),
        ("4E-03", 0.006, "6E-03"),
        (".01", 0.02, ".02"),
        ("1", 2.0, "2"),
        ("1.0", 20.0, "20.0"),
        ("0.00002", 3e-05, "0.00003"),
        ("0.0005", 0.001, "0.001"),
        ("5e-4", 0.001, "1e-3"),
        ("0.02", 0.1, "0.1"),
    ],
)
def test_the_spelling_of_the_house(old, new, spelled):
    assert spell(new, old) == spelled
    assert float(spelled) == new
    assert f"kl_threshold = {spelled}\n".encode() in bumped(f"class TestA:\n    kl_threshold = {old}\n", new)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            b"class TestA:\r\n\tkl_threshold = 0.003\r\n",
            b"class TestA:\r\n\t# noise\r\n\tkl_threshold = 0.005\r\n",
        ),
        (
            b"\xef\xbb\xbfclass TestA:\n  kl_threshold = 0.003",
            b"\xef\xbb\xbfclass TestA:\n  # noise\n  kl_threshold = 0.005",
        ),
        (
            b"class TestA:\r\n  kl_threshold = 0.003",
            b"class TestA:\r\n  # noise\r\n  kl_threshold = 0.005",
        ),
        (
            b"x = 1\r\nclass TestA:\n  kl_threshold = 0.003\n\x0c\ny = 2",
            b"x = 1\r\nclass TestA:\n  # noise\n  kl_threshold = 0.005\n\x0c\ny = 2",
        ),
        (
            b"class TestA:\n  kl_threshold = \\\n    0.003\n",
            None,
        ),
        (b"class TestA: kl_threshold = 0.003\n", None),
        (b"class TestA:\n  x = 1; kl_threshold = 0.003\n", None),
        (
            b"class TestA:\n  kl_threshold = 0.003; x = 1\n",
            b"class TestA:\n  # noise\n  kl_threshold = 0.005; x = 1\n",
        ),
    ],
)
def test_layouts(before, after):
    result = bump(before, site_of(before), 0.005, "noise")
    if after is None:
        assert isinstance(result, Refusal) and result.code == "unsupported_layout"
    else:
        assert result == after


@pytest.mark.parametrize(
    ("new", "comment", "code"),
    [
        (math.nan, "x", "not_finite"),
        (math.inf, "x", "not_finite"),
        (0.003, "x", "equal"),
        (0.002, "x", "not_looser"),
        (-1.0, "x", "not_looser"),
        (0.005, " \n# ", "no_comment"),
    ],
)
def test_values_and_comments_that_are_refused(new, comment, code):
    refusal = bump(TEXT.encode(), site_of(TEXT), new, comment)
    assert isinstance(refusal, Refusal) and refusal.code == code
    assert refusal.sentence.endswith(".")


def test_a_site_of_another_version_of_the_file_is_refused():
    refusal = bump(b"# moved\n" + TEXT.encode(), site_of(TEXT), 0.005, "x")
    assert isinstance(refusal, Refusal) and refusal.code == "stale_site"


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("noise", "# noise"),
        ("# noise", "# noise"),
        ("a\nimport os\r\n\x0bb\u2028c\x85d\0e", "# a import os b c d e"),
        ("0.003 → 0.005", "# 0.003 ? 0.005"),
        ("-*- coding: latin-1 -*-", "# -*- coding  latin-1 -*-"),
        ("x" * 500, "# " + "x" * 160),
        ("", None),
        ("###", None),
    ],
)
def test_a_comment_is_one_plain_line(comment, line):
    assert comment_line(comment) == line


# --- the proof --------------------

GOOD = TEXT.replace("    kl_threshold = 0.003", "    # noise\n    kl_threshold = 0.005")


@pytest.mark.parametrize(
    "edited",
    [
        TEXT.replace("kl_threshold = 0.003", "kl_threshold = 0.005"),
        TEXT.replace("    kl_threshold = 0.003", "    # a\n    # b\n    kl_threshold = 0.005"),
        GOOD.replace("gsm8k_threshold = 0.003", "gsm8k_threshold = 0.005"),
        GOOD.replace("kl_threshold = 0.005", "kl_threshold = 0.006"),
        GOOD.replace("kl_threshold = 0.005", "kl_threshold = '0.005'"),
        GOOD.replace("was 0.002", "was 0.003"),
        GOOD.replace("...", "...  "),
        GOOD.replace("def test_x(self): ...", "def test_x(self): pass"),
        GOOD.replace("    def", "def"),
        GOOD.replace("# noise\n", "# noise\r\n"),
        GOOD.replace("= 0.005", " =0.005"),
        GOOD.replace("    # noise\n", "").replace("TestA:", "TestA:  # noise"),
        GOOD + "\n",
        TEXT,
    ],
)
def test_any_other_edit_fails_the_proof(edited):
    with pytest.raises(EditError):
        prove(TEXT.encode(), edited.encode(), site_of(TEXT), 0.005)


def test_the_right_edit_passes_the_proof():
    prove(TEXT.encode(), GOOD.encode(), site_of(TEXT), 0.005)


def test_the_proof_knows_which_number_was_meant():
    neighbour = replace(site_of(TEXT), start=TEXT.index("0.003"), end=TEXT.index("0.003") + 5, line=2)
    with pytest.raises(EditError):
        prove(TEXT.encode(), GOOD.encode(), neighbour, 0.005)


# --- generated files --------------------

NUMBERS = st.sampled_from(["0.003", "3e-3", ".003", "0.0030", "0.0005", "5E-4", "0.02"])
NEIGHBOURS = st.sampled_from(
    [
        "gsm8k_threshold = {n}",
        "# kl_threshold = {n}",
        "note = 'kl_threshold = {n}'",
        'doc = """\n  kl_threshold = {n}\n    kl_threshold = {n}\n"""',
        "est_time = {n}  # kl_threshold = {n}",
        "pair = ({n}, {n}); kl_thresholds = [{n}]",
        "largs = dict(kl_threshold={n}, other={n})",
        "def test_y(self, kl_threshold={n}): return self.kl_threshold < {n}",
        "class Inner:\n        kl_threshold = {n}",
        "wrapped = \\\n        {n}",
        "größe = 'ü'",
        "",
    ]
)
STATEMENTS = st.sampled_from(
    ["kl_threshold = {n}", "kl_threshold: float={n}", "kl_div_thres  =  {n}  # was {n}"]
)


@st.composite
def files(draw):
    """Bytes of a file with one bound to find, the number, and where the number stands."""
    number, end, indent = (
        draw(NUMBERS),
        draw(st.sampled_from(["\n", "\r\n"])),
        draw(st.sampled_from(["    ", "\t"])),
    )
    before, after = draw(st.lists(NEIGHBOURS, max_size=4)), draw(st.lists(NEIGHBOURS, max_size=4))
    statement = draw(STATEMENTS)
    mark = "@HERE@"
    body = [*before, statement.replace("{n}", mark, 1), *after]
    text = "import unittest\nX = {n}\n\n\nclass TestA(unittest.TestCase):\n"
    text += "".join(f"    {line}\n" if line else "\n" for line in body)
    text += "\n\nclass TestB(unittest.TestCase):\n    kl_threshold = {n}\n"
    text = text.replace("{n}", number).replace("    ", indent).replace("\n", end)
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    start = len(bom) + len(text[: text.index(mark)].encode())
    return bom + text.replace(mark, number).encode(), number, start


@settings(max_examples=300, deadline=None)
@given(files(), st.floats(1.01, 40), st.text(min_size=1, max_size=60))
def test_the_right_number_moves_and_taking_it_back_gives_the_same_bytes(file, factor, words):
    data, number, start = file
    site = site_of(data)
    assert (site.start, site.spelling) == (start, number)
    new = float(f"{site.value * factor:.3g}")
    edited = bump(data, site, new, f"noise {words}")
    assert isinstance(edited, bytes)
    line = data.rfind(b"\n", 0, start) + 1
    added = edited[line : edited.index(b"\n", line) + 1]
    assert added.strip().startswith(b"# noise") and added.strip().isascii()
    without = edited[:line] + edited[line + len(added) :]
    spelled = without[start : len(without) - len(data) + site.end]
    assert float(spelled) == new
    assert without[:start] + number.encode() + without[start + len(spelled) :] == data
    assert site_of(edited).value == new
