"""The ledger in words: each line below is what people read."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from bot.report import comment, ledger, pull_request
from bot.report.facts import BoundMove, Ledger, Touched
from bot.report.ledger import Row, SiteLedger
from tests.report.builders import CASE, NOISE, PROPOSAL, readings
from tests.report.hostile import hostile, is_inert, shape

SHA = "abc1234" + "0" * 33
URL = f"https://github.com/acme/engine/commit/{SHA}"
MOVE = BoundMove("2026-03-01", 0.002, 0.003, 1.5, SHA, URL)
LEDGER = Ledger(0.002, (MOVE,), versions=4)
MOVED = replace(CASE, ledger=LEDGER, expires="2026-09-01")


def test_the_comment_has_one_line_about_the_last_move():
    line = f"**Bound:** last changed 0.002 → 0.003 in [`abc1234`]({URL}) on 2026-03-01; 1.5× the first bound."
    assert ledger.last_move(MOVED) == line
    assert line in comment.result(MOVED, NOISE, readings())


def test_a_bound_that_never_moved_and_one_that_was_not_read():
    still = replace(CASE, ledger=Ledger(0.003, (), versions=1))
    assert ledger.last_move(still) == (
        "**Bound:** never changed from 0.003 in 1 version of its file on `main`."
    )
    assert ledger.last_move(CASE) == ledger.last_move(replace(CASE, ledger=Ledger(None))) == ""


def test_a_move_whose_versions_before_were_not_read_may_be_an_earlier_one():
    unsure = replace(CASE, ledger=replace(LEDGER, moves=(replace(MOVE, certain=False),)))
    assert f"in [`abc1234`]({URL}) or earlier on 2026-03-01" in ledger.last_move(unsure)


def test_recently_touched_files_are_one_line():
    seen = Touched("test/kit.py", SHA, URL, "2026-03-05")
    case = replace(CASE, ledger=replace(LEDGER, touched=(seen, seen)))
    one = f"`test/kit.py` in [`abc1234`]({URL}) (2026-03-05)"
    assert ledger.touched(case) == f"**Recently touched:** {one}, {one}."
    assert ledger.touched(case) in comment.result(case, NOISE, readings())
    assert ledger.touched(MOVED) == ledger.touched(CASE) == ""


def test_the_pull_request_has_a_table_of_earlier_moves():
    text = pull_request.body(MOVED, NOISE, readings())
    assert "- Earlier moves of this bound: 1, see below; with this one it is 2.5× the first bound." in text
    assert (
        "- Expires: after 2026-09-01 the comment beside the bound asks for another look; "
        "nothing changes by itself." in text
    )
    assert (
        "**Earlier moves of this bound**\n\n"
        "| date | bound | commit | over the first bound |\n|---|---|---|---|\n"
        f"| 2026-03-01 | 0.002 → 0.003 | [`abc1234`]({URL}) | 1.5× |" in text
    )


def test_an_incomplete_history_is_said_to_be_one():
    case = replace(MOVED, ledger=replace(LEDGER, complete=False))
    assert "Not every version of the file could be read." in pull_request.body(case, NOISE, readings())


def test_of_many_moves_the_newest_are_shown():
    case = replace(MOVED, ledger=replace(LEDGER, moves=(replace(MOVE, date="2020-01-01"), *(MOVE,) * 20)))
    text = ledger.moves_table(case)
    assert text.count("2026-03-01") == 20 and "2020-01-01" not in text
    assert text.endswith("1 older moves are left out.")


def test_the_comment_in_the_source_says_when_to_look_again():
    assert pull_request.comment_line(MOVED, NOISE) == (
        "# 0.003 -> 0.005: 2/16 runs exceeded 0.003; look again after 2026-09-01 (kl-triage, #12)"
    )


@settings(max_examples=40, deadline=None)
@given(hostile)
def test_strangers_text_is_inert(text):
    def told(word):
        seen = Touched(word, word, f"x {word}", "2026-03-05")
        known = Ledger(0.002, (replace(MOVE, commit=word, url=f"x {word}"),), 4, True, (seen,))
        case = replace(CASE, ledger=known)
        return "\n\n".join((ledger.last_move(case), ledger.touched(case), ledger.moves_table(case)))

    page = told(text)
    assert shape(page) == shape(told("x"))
    assert is_inert(page)


def test_the_terminal_shows_a_table_for_each_site():
    rows = (
        Row("2026-03-01", 0.002, 0.003, 1.5, "1c89bf77440a" + "0" * 28, "Relax (#7)"),
        Row("2026-04-01", 0.003, 0.005, 2.5, pull=12, marks=("declined",)),
        Row("2026-05-01", 0.003, 0.008, 4.0, "8a0ced4b5b0e" + "0" * 28, "more", 13, False, ("over the cap",)),
    )
    site = SiteLedger(
        "t.py::T.kl_threshold", "t.py::T.test_a", 0.008, 0.002, "2026-01-01", rows, ("A note.",)
    )
    still = SiteLedger("t.py::U.kl_threshold", "t.py::U.test_a", 0.01, 0.01, "2026-01-01")
    assert ledger.ledger_text([site, still], 3.0, width=120) == (
        "t.py::T.kl_threshold\n"
        "  t.py::T.test_a\n"
        "  0.008 today, first 0.002 on 2026-01-01\n"
        "  date        bound           factor                              where\n"
        "  2026-03-01  0.002 -> 0.003  1.5×    ####·····|                  1c89bf77440a Relax (#7)\n"
        "  2026-04-01  0.003 -> 0.005  2.5×    ########·|    declined      #12\n"
        "  2026-05-01  0.003 -> 0.008  4×      #########|##  over the cap  #13 8a0ced4b5b0e or earlier more\n"
        "  A note.\n"
        "\n"
        "t.py::U.kl_threshold\n"
        "  t.py::U.test_a\n"
        "  0.01 today, first 0.01 on 2026-01-01, never moved\n"
        "\n"
    )


@given(hostile)
def test_no_text_of_a_stranger_moves_the_cursor(text):
    row = Row("2026-03-01", 0.002, 0.003, 1.5, text, text, marks=(text,))
    shown = ledger.ledger_text([SiteLedger(text, text, 0.003, 0.002, "2026-01-01", (row,), (text,))], 3.0)
    assert "\x1b" not in shown and "\r" not in shown


def test_the_bar_ends_at_the_cap():
    assert [ledger.bar(factor, 3.0) for factor in (1.0, 3.0, 3.3, 0.0, None)] == [
        "###······|",
        "#########|",
        "#########|##",
        "·········|",
        "",
    ]


def test_the_factor_of_a_bound_that_was_zero_is_not_given():
    case = replace(MOVED, ledger=Ledger(0.0, (replace(MOVE, old=0.0, factor=None),), versions=2))
    assert "the first bound" not in ledger.last_move(case)
    assert ledger.summary(case, PROPOSAL)[0] == "- Earlier moves of this bound: 1, see below."


def test_at_80_columns_the_moves_are_whole():
    """The bar goes first, then the subject."""
    sha = "1c89bf77440a" + "0" * 28
    row = Row("2026-03-01", 0.0025, 0.00375, 1.5, sha, "Relax the bound of this test", marks=("expired",))
    site = SiteLedger("t.py::T.a", "t.py::T.t", 0.00375, 0.0025, "2026-01-01", (row,), first_known=False)
    shown = ledger.ledger_text([site], 3.0, width=80).splitlines()
    assert shown[2] == "  0.00375 today, first known 0.0025 on 2026-01-01"
    assert shown[4].startswith("  2026-03-01  0.0025 -> 0.00375  1.5×    expired  1c89bf77440a Relax the")
    long = replace(row, marks=("over the cap, expires 2026-09-01",))
    shown = ledger.ledger_text([replace(site, rows=(long,))], 3.0, width=80).splitlines()
    assert "0.0025 -> 0.00375" in shown[4] and "Relax" not in shown[4]
    assert max(map(len, shown)) <= 80
