from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report.markdown import (
    capped,
    code,
    folded,
    link,
    one_line,
    prose,
    row,
    sentence,
    short,
    stacked,
    table,
    unmentioned,
)
from bot.report.markers import BUMP, COMMENT, DATA_LIMIT, data, find_marker, marker
from tests.report.hostile import OWN_HTML, hostile, html_in, is_inert, shape, shown


def test_code_keeps_what_it_shows():
    assert code("a::B.c") == "`a::B.c`"
    assert code("a|`b") == "<code>a&#124;&#96;b</code>"
    assert code(" \n ") == "(empty)"
    assert code("x" * 300, 10) == "`xxxxxxxxx…`"


def test_prose_defuses_what_would_act():
    assert prose("see @dev-a at #12") == "see @\u200bdev-a at #\u200b12"
    assert prose("<b>*x*</b>") == "&#60;b&#62;&#42;x&#42;&#60;/b&#62;"
    assert prose("/rerun-kl") == "&#47;rerun-kl"
    assert prose("1. first") == "1\\. first"
    assert prose("kl_threshold rose from 0.003 to 0.005 (2.2–12.6 %)") == (
        "kl_threshold rose from 0.003 to 0.005 (2.2–12.6 %)"
    )


def test_a_sentence_begins_and_ends_as_one():
    assert sentence("the next step, 0.005") == "The next step, 0.005."
    assert sentence("Done.") == "Done." and sentence("") == ""


@given(hostile)
def test_one_cell_stays_one_cell(text):
    page = table(("a", "b"), [row(code(text), prose(text))])
    assert shape(page) == shape(table(("a", "b"), [row("`x`", "x")]))
    assert is_inert(page) and html_in(page) <= OWN_HTML


@given(hostile)
def test_a_paragraph_stays_one_paragraph_of_plain_words(text):
    assert shape(prose(text)) == ["paragraph_open", "paragraph_close"]
    assert shape(code(text)) == ["paragraph_open", "code", "paragraph_close"]
    assert is_inert(prose(text)) and is_inert(code(text))


@given(hostile)
def test_what_is_shown_is_what_was_there(text):
    assert shown(prose(text)).replace("\u200b", "") == one_line(text)
    assert shown(code(text)) == one_line(text)


@given(st.text(max_size=40))
def test_one_line_is_one_visible_line(text):
    line = one_line(text)
    assert line == line.strip() and len(line.splitlines()) <= 1
    line.encode()


def test_huge_text_is_cut_before_any_work_is_done_on_it():
    assert len(one_line("a" * 10_000_000, 50)) == 50


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://github.com@evil.example/",
        "https://evil.example/\nx",
        "data:text/html,x",
        "//evil.example",
        "https://[",
        "https://a.example/" + "x" * 2000,
    ],
)
def test_only_plain_http_addresses_become_links(url):
    assert "link_open" not in shape(link("here", url))


def test_a_link_cannot_be_left_early():
    assert link("job", "https://a.example/x)y|z") == "[job](https://a.example/x%29y%7Cz)"
    made = link("job", "https://a.example/x)(y|z `q` [w] <b>")
    assert shape(table(("a",), [row(made)])) == shape(table(("a",), [row("[x](https://a.example)")]))


def test_titles_and_messages_mention_nobody():
    assert unmentioned("TestX\n@dev-a fixes #3") == "TestX @\u200bdev-a fixes #\u200b3"


def test_short_sha_only_shortens_a_sha():
    assert short("ab12cd3" + "0" * 33) == "`ab12cd3`"
    assert short("main`") == "<code>main&#96;</code>"


def test_a_folded_table_counts_the_rows_it_leaves_out():
    rows = [row(str(place)) for place in range(100)]
    text = folded("Values", ("n",), rows, 200)
    kept = sum(line.startswith("| ") for line in text.splitlines()) - 1
    assert 0 < kept < 100 and f"{100 - kept} more rows" in text and len(text) <= 200
    assert folded("Values", ("n",), rows, 20) == "" == folded("Values", ("n",), [], 2000)
    assert "more" not in folded("Values", ("n",), rows[:2], 2000)


def test_stacked_blocks_share_the_room():
    rooms = []

    def block(left):
        rooms.append(left)
        return "abc"

    assert stacked(20, block, block) == "abc\n\nabc"
    assert rooms == [18, 15]


def test_capped_text_keeps_its_beginning_and_says_it_was_cut():
    text = capped("verdict\n" + "row\n" * 100, 60)
    assert text.startswith("verdict\nrow") and text.endswith("(cut: too long)") and len(text) <= 60
    assert capped("short", 60) == "short"


@given(st.text(min_size=1, max_size=60) | hostile)
def test_marker_round_trip(key):
    text = marker(COMMENT, key, "ab12cd3") + "\n### verdict"
    assert find_marker(text) == key
    assert find_marker(text, BUMP) is None
    assert shape(text)[0] == "comment" and "--" not in text.splitlines()[0][4:-3]


def test_a_key_of_any_length_gives_a_short_marker_of_its_own():
    first, second = marker(COMMENT, "k" * 100_000 + "1"), marker(COMMENT, "k" * 100_000 + "2")
    assert len(first) < 200 and first != second and find_marker(first).startswith("sha256:")


def test_a_marker_counts_at_the_beginning_only():
    assert find_marker("> " + marker(COMMENT, "k")) is None
    assert find_marker("no marker") is None


@given(hostile)
def test_hidden_data_stays_hidden_and_readable(text):
    import json

    hidden = data({"test": text, "n": 1})
    assert shape(hidden) == ["comment"]
    inner = hidden.removeprefix("<!-- kl-triage:data ").removesuffix(" -->")
    assert json.loads(inner) == {"test": text, "n": 1}
    assert "--" not in inner and ">" not in inner


def test_long_data_leaves_optional_fields_out_and_says_so():
    hidden = data({"kind": "noise", "numbers": "9" * DATA_LIMIT}, optional=("numbers",))
    assert hidden == '<!-- kl-triage:data {"kind":"noise","left_out":true} -->'
