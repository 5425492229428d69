"""The edit: one number, one comment line, nothing else; and the proof that would catch anything else."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bot.source import EditError, bump, comment_line, diff, spell
from bot.source.proof import prove
from bot.verdict.answer import Refusal
from tests.source.builders import PATH, site_of
from tests.source.worlds import site_at

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
        ("0.0030", 0.005, "0.0050"),
        ("0.0030", 0.01, "0.0100"),
        ("0.0030", 0.00525, "0.00525"),
        ("3.0e-3", 0.005, "5.0e-3"),
        ("30e-4", 0.005, "50e-4"),
        (".3e-2", 0.005, ".5e-2"),
        ("4E-03", 0.06, "6E-02"),
        ("1e+1", 200.0, "2e+2"),
        ("1.", 2.0, "2."),
        ("0.5", 2.0, "2.0"),
        (".5", 2.0, "2.0"),
        ("0.003", 0.3, "0.3"),
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
            b"class TestA:\n  # noise\n  kl_threshold = \\\n    0.005\n",
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


def test_the_exponent_of_an_exact_gate_is_not_padded():
    assert spell(5e-9, "4e-10") == "5e-9"
    assert spell(1e300, "0.003") == "1" + 300 * "0" + ".0"


def above(text: str, spelling: str = "0.003") -> list[str]:
    """The line below the comment that a bump of the first `spelling` puts, and the ones above it."""
    data = text.encode()
    site = site_at(data, data.index(spelling.encode()), spelling)
    edited = bump(data, site, 0.005, "noise")
    if isinstance(edited, Refusal):
        return [edited.code]
    lines = edited.decode().split("\n")
    row = next(row for row, line in enumerate(lines) if line.strip() == "# noise")
    assert len(lines[row]) - len(lines[row].lstrip()) == len(lines[row + 1]) - len(lines[row + 1].lstrip())
    return [lines[row + 1].strip()]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("KL_BOUND = 0.003\n", "KL_BOUND = 0.005"),
        ("A = {\n    M: {'kl_div': 0.003, 'x': 1},\n}\n", "M: {'kl_div': 0.005, 'x': 1},"),
        ("A = {\n    M: {\n        'kl_div': 0.003,\n    },\n}\n", "'kl_div': 0.005,"),
        ("A = {M: {'kl_div': 0.003, 'x': 1}}\n", "A = {M: {'kl_div': 0.005, 'x': 1}}"),
        ("A = {\\\n    M: 0.003,\n}\n", "A = {\\"),
        ('A = {"""\n""": 0.003}\n', 'A = {"""'),
        ("def f(self):\n    assert kl(\n        1,\n        0.003,\n    )\n", "assert kl("),
        ("def f(self):\n    if kl > 0.003:\n        x\n", "if kl > 0.005:"),
        ("if x:\n    y\nelif kl > 0.003:\n    z\n", "if x:"),
        ("@a\n@b(0.003)\ndef f(): pass\n", "@a"),
        ("@a\nclass T:\n    @b\n    def f(self, kl=0.003): pass\n", "@b"),
        ("# ends in \\\nkl = 0.003\n", "kl = 0.005"),
        ("kl: float = (\n    0.003\n)\n", "kl: float = ("),
        ("x = 1; kl = 0.003\n", "unsupported_layout"),
        ("if x: kl = 0.003\n", "unsupported_layout"),
        ("if x:\\\n  kl = 0.003\n", "unsupported_layout"),
        ("s = f'{max(kl, 0.003)}'\n", "unsupported_layout"),
        ("kl = 0.003\r", "unsupported_layout"),
        ("kl = '0.003'\n", "stale_site"),
        ("kl = 10.003\n", "stale_site"),
        ("kl = 0.003 +\n", "does_not_parse"),
    ],
)
def test_the_comment_goes_above_the_statement_or_the_entry(text, line):
    assert above(text) == [line]


def test_a_bound_on_the_first_line_has_its_comment_after_the_byte_order_mark():
    data = b"\xef\xbb\xbfKL_BOUND = 0.003"
    assert bump(data, site_at(data, 14, "0.003"), 0.005, "noise") == b"\xef\xbb\xbf# noise\nKL_BOUND = 0.005"


def test_a_file_of_more_than_four_mebibytes_is_refused():
    assert above("kl = 0.003\n#" + (4 << 20) * "x") == ["unsupported_layout"]


def test_a_site_that_must_not_be_changed_is_refused_with_its_own_words():
    refusal = Refusal("shared", "Others read it.")
    assert bump(TEXT.encode(), replace(site_of(TEXT), refusal=refusal), 0.005, "x") is refusal


def test_a_spelling_that_is_no_plain_number_is_refused():
    data = b"kl = 1_0e-4\n"
    refusal = bump(data, site_at(data, 5, "1_0e-4"), 0.005, "x")
    assert isinstance(refusal, Refusal) and refusal.code == "unsupported_layout"


def test_the_new_bound_is_looked_up_in_the_edited_text():
    seen = []

    def relocate(text: bytes) -> float | None:
        seen.append(text)
        return 0.005

    edited = bump(TEXT.encode(), site_of(TEXT), 0.005, "noise", relocate)
    assert seen == [edited]
    with pytest.raises(EditError, match="is None after the edit"):
        bump(TEXT.encode(), site_of(TEXT), 0.005, "noise", lambda text: None)


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@a\ndef f(kl=0.003): pass\n", "@a\n# noise\ndef f(kl=0.005): pass\n"),
        ("x = \\\n    0.003\n", "x = \\\n    # noise\n    0.005\n"),
        ("y = 1\nx = 0.003\n", "# noise\ny = 1\nx = 0.005\n"),
        ('x = """\n""", 0.003\n', 'x = """\n# noise\n""", 0.005\n'),
        ("x = (\n    0.003)\n", "x = (\n    # noise\n    0.005)\n"),
        ("if x:\n    y = 0.003\n", "if x:\n# noise\n    y = 0.005\n"),
        ("x = '0.003'\n", "# noise\nx = '0.005'\n"),
        ("x = f'0.003'\n", "# noise\nx = f'0.005'\n"),
        ("x = 10.003\n", "# noise\nx = 10.005\n"),
    ],
)
def test_a_comment_in_the_wrong_place_and_another_token_fail_the_proof(old, new):
    data = old.encode()
    with pytest.raises(EditError):
        prove(data, new.encode(), site_at(data, data.index(b"0.003"), "0.003"), 0.005)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("0.003", 0.3, None),
        ("0.003", 0.31, "too_loose"),
        ("20.0", 1000.0, None),
        ("20.0", 1001.0, "too_loose"),
        ("20.0", 1e300, "too_loose"),
    ],
)
def test_a_bound_that_bounds_nothing_is_refused(old, new, code):
    data = f"class TestA:\n    kl_threshold = {old}\n".encode()
    result = bump(data, site_at(data, data.index(old.encode()), old), new, "noise")
    assert (result.code if isinstance(result, Refusal) else None) == code


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("noqa", "# 'noqa'"),
        ("noise # NOQA: E501", "# noise # 'NOQA': E501"),
        ("fmt: off", "# 'fmt': off"),
        ("type: ignore", "# 'type': ignore"),
        ("pragma: no cover", "# 'pragma': no cover"),
        ("pylint:disable=all", "# 'pylint':disable=all"),
        ("isort:skip_file", "# 'isort':skip_file"),
        ("ruff: noqa", "# 'ruff': 'noqa'"),
        ("shellcheck disable=all", "# 'shellcheck' disable=all"),
        ("another type of run, see #12", "# another type of run, see #12"),
    ],
)
def test_a_comment_gives_no_order_to_a_tool(comment, line):
    assert comment_line(comment) == line
    assert comment_line(line) == line
