"""What is a command in a comment, and what only looks like one."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.triage.commands import grammar
from bot.triage.commands.grammar import MAX_LINES, Command, Misunderstood, Rerun, Verb, fresh, parse

PLAIN = (Command("/rerun-kl", Rerun()),)
SHA = "0123456789abcdef0123456789abcdef01234567"
WORDS = {
    "TestKL.test_decode": {"only": "TestKL.test_decode"},
    SHA: {"head": SHA},
    "n=12": {"runs": 12},
    "launches=4": {"launches": 4},
    f"base={SHA}": {"base": SHA},
    "gpu=h100-a": {"runner": "h100-a"},
}


def asked(body: str):
    return [command.asked for command in parse(body)]


def said(line: str) -> str:
    """The sentence about a line that is not understood."""
    (found,) = asked(line)
    assert isinstance(found, Misunderstood)
    return found.sentence


@pytest.mark.parametrize(
    "body",
    [
        "/rerun-kl",
        "/rerun-kl  ",
        "/rerun-kl\t",
        "/rerun-kl\r\n",
        "please\n/rerun-kl\nthanks",
        "please\r/rerun-kl\rthanks",
        "/rerun-kl\u00a0",
        "```\ncode\n```\n/rerun-kl",
        "```sh\r\ncode\r\n```\r\n/rerun-kl",
        "~~~\n```\n~~~\n/rerun-kl",
        "``` no fence ```\n/rerun-kl",
        "<!-- note -->\n/rerun-kl",
        "<!--\n```\n-->\n/rerun-kl",
        "```\n<!--\n```\n/rerun-kl",
        "see `<!--`\n/rerun-kl",
        "one ` backtick\n/rerun-kl",
        "two `a` and `b`\n/rerun-kl",
        "one `\n- item\n/rerun-kl\n- item `",
        "# one `\n/rerun-kl\n# two `",
        "one \\`\n/rerun-kl\n`",
        "`one\n\n/rerun-kl\n\n`",
        "<details>\n\nlog\n\n</details>\n\n/rerun-kl",
        "> quoted\n\n/rerun-kl",
        "> ```\n/rerun-kl",
        "    code\n/rerun-kl",
    ],
)
def test_a_command_stands_at_the_start_of_a_line(body):
    assert parse(body) == PLAIN


@pytest.mark.parametrize(
    "body",
    [
        "",
        "say /rerun-kl",
        " /rerun-kl",
        "    /rerun-kl",
        "\t/rerun-kl",
        "\u00a0/rerun-kl",
        "> /rerun-kl",
        ">/rerun-kl",
        "> > /rerun-kl\n> /rerun-kl stop",
        "`/rerun-kl`",
        "- /rerun-kl",
        "/rerun-klx",
        "/rerun-kl-foo",
        "/rerun-kl/x",
        "/rerun-kl:stop",
        "/usr/bin/rerun-kl",
        "x\u2028/rerun-kl",
        "x\x0b/rerun-kl",
        "```\n/rerun-kl\n```",
        "```\n/rerun-kl",
        "````\n```\n/rerun-kl\n````",
        "~~~py\n/rerun-kl\n~~~",
        "`one\n/rerun-kl\ntwo`",
        "``one `\n/rerun-kl\n``",
        "\\` `\n/rerun-kl\n`",
        "<!--\n/rerun-kl\n-->",
        "<!--\n\n/rerun-kl\n\n-->",
        "text <!--\n/rerun-kl\n--> text",
        "one ` backtick\n<!-- another `\n/rerun-kl\n-->",
        "one ` backtick\n<details>\n`\n/rerun-kl\n</details>",
        "<!-- never closed\n/rerun-kl",
        "<details><summary>bot</summary>\n\n/rerun-kl\n\n</details>",
        "<DETAILS open>\n/rerun-kl\n</DETAILS>",
        "<details>\n<details>\n</details>\n\n/rerun-kl",
        "<pre>\n/rerun-kl\n</pre>",
        "a <code>\n/rerun-kl\n</code>",
    ],
)
def test_what_only_looks_like_a_command_is_none(body):
    assert parse(body) == ()


@pytest.mark.parametrize("word", WORDS)
def test_each_word_alone(word):
    assert asked(f"/rerun-kl {word}") == [Rerun(**WORDS[word])]


@given(st.permutations(list(WORDS)), st.sampled_from([" ", "  ", "\t", "\u00a0"]))
def test_words_come_in_any_order(words, blank):
    everything = {name: value for word in WORDS for name, value in WORDS[word].items()}
    assert asked(f"/rerun-kl{blank}{blank.join(words)}{blank}\r\n") == [Rerun(**everything)]


@pytest.mark.parametrize("verb", Verb)
def test_a_verb_stands_alone(verb):
    assert asked(f"/rerun-kl {verb}") == [verb]
    assert said(f"/rerun-kl {verb} n=3").startswith(f"`{verb}` stands alone, as in `/rerun-kl {verb}`")
    assert said(f"/rerun-kl n=3 {verb}").startswith(f"`{verb}` stands alone")


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        ("lanches=4", "launches=4"),
        ("N=12", "n=12"),
        ("n", "n=12"),
        ("runs=7", "n=7"),
        ("GPU=h100", "gpu=h100"),
        ("launches", "launches=4"),
        ("explian", "explain"),
        ("Stop", "stop"),
        ("stop!", "stop"),
        ("cancel", "stop"),
        ("test/a.py::TestKL.test_b", "TestKL.test_b"),
        ("test/a.py::TestKL::test_b", "TestKL.test_b"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(word, nearest):
    assert said(f"/rerun-kl {word}") == f"`{word}` is not understood; did you mean `{nearest}`?"


def test_a_word_without_a_near_one_points_to_help():
    assert (
        said("/rerun-kl please") == "`please` is not understood; `/rerun-kl help` lists what is understood."
    )


@pytest.mark.parametrize(
    "word", ["n=0", "n=201", "n=-1", "n=1.5", "n=", "n=\u0661", "n=00000012", "launches=0", "launches=21"]
)
def test_numbers_have_limits(word):
    most = 200 if word.startswith("n=") else 20
    assert f"takes a whole number from 1 to {most}" in said(f"/rerun-kl {word}")


@pytest.mark.parametrize("word", ["n=1", "n=200", "launches=1", "launches=20"])
def test_limits_are_allowed(word):
    assert isinstance(asked(f"/rerun-kl {word}")[0], Rerun)


@pytest.mark.parametrize(
    "word", [f"base={SHA[:-1]}", f"base={SHA}0", "base=main", "base=", f"base={SHA.upper()}"]
)
def test_a_base_is_a_full_sha(word):
    assert "`base=` takes the full SHA of a commit (40 hex digits)" in said(f"/rerun-kl {word}")


def test_a_part_of_a_sha_binds_nothing():
    assert said("/rerun-kl abc1234").startswith("`abc1234` is no full SHA: give all 40 hex digits")


def test_a_word_twice_must_say_the_same():
    assert asked("/rerun-kl n=3 n=3") == [Rerun(runs=3)]
    assert said("/rerun-kl n=3 n=4").startswith("`n=4` says something else")
    assert said("/rerun-kl A.test_a B.test_b").startswith("`B.test_b` says something else")


def test_launches_need_runs():
    assert said("/rerun-kl n=2 launches=4").startswith(
        "`launches=4` needs a run on each: at least `n=4`, not 2."
    )
    assert asked("/rerun-kl n=4 launches=4") == [Rerun(runs=4, launches=4)]


def test_several_commands_keep_their_order_and_equal_ones_count_once():
    body = (
        "/rerun-kl launches=2 n=4\n/rerun-kl stop\n/rerun-kl n=4  launches=2\n/rerun-kl stop\n/rerun-kl help"
    )
    assert asked(body) == [Rerun(runs=4, launches=2), Verb.STOP, Verb.HELP]
    assert parse(body)[0].text == "/rerun-kl launches=2 n=4"


@pytest.mark.parametrize(
    ("before", "body", "new"),
    [
        ("", "/rerun-kl", ["/rerun-kl"]),
        ("/rerun-kl", "/rerun-kl, sorry for the noise\n/rerun-kl", []),
        ("/rerun-kl", "/rerun-kl\n/rerun-kl stop", ["/rerun-kl stop"]),
        ("/rerun-kl n=3 launches=1", "/rerun-kl launches=1 n=3", []),
        ("/rerun-kl", "/rerun-kl n=3", ["/rerun-kl n=3"]),
        ("/rerun-kl", "text\n/rerun-kl\n/rerun-kl", ["/rerun-kl"]),
        ("`/rerun-kl`", "/rerun-kl", ["/rerun-kl"]),
        ("/rerun-kl", "", []),
    ],
)
def test_of_an_edit_only_what_is_new_in_it_is_a_command(before, body, new):
    assert [command.text for command in fresh(body, before)] == new


def test_a_comment_full_of_commands_is_read_in_part_and_quickly():
    body = "".join(f"/rerun-kl {'lanches' * 8}{n}={n}\n" for n in range(1000))
    started = time.process_time()
    assert len(parse(body)) == MAX_LINES
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "piece", ["`", "``` ", "<!--", "<details>", "\\`", "`` ` ", "\n`", "</code>", "/rerun-kl \n", "    \n"]
)
def test_no_text_takes_long(piece):
    started = time.process_time()
    parse(piece * (65_536 // len(piece)))
    parse("".join("`" * n + " " for n in range(350)))
    assert time.process_time() - started < 2


@given(st.text(alphabet="/rerun-kl`~> <!->\n\r\t\u00a0x\\=n1.\0", max_size=200))
def test_any_text_is_read_without_error(body):
    found = parse(body)
    assert all(isinstance(command.asked, Rerun | Verb | Misunderstood) for command in found)
    assert fresh(body, "") == found
    assert fresh(body, body) == ()


@given(st.text(max_size=100))
def test_nothing_inside_an_open_fence_is_a_command(text):
    assert parse("```\n" + text.replace("`", "") + "\n/rerun-kl") == ()


@given(st.text(max_size=100))
def test_nothing_quoted_is_a_command(text):
    quoted = "".join(f"> {line}\n" for line in f"/rerun-kl\n{text}\n/rerun-kl stop".splitlines())
    assert parse(quoted) == ()


@given(st.text(max_size=100), st.sampled_from(["details", "pre", "blockquote"]))
def test_nothing_in_a_hidden_element_is_a_command(text, name):
    assert parse(f"<{name}>\n/rerun-kl\n{text.replace('<', '')}\n/rerun-kl") == ()


@given(st.text(st.characters(exclude_characters="\n\r"), min_size=1, max_size=60))
def test_whatever_word_follows_is_answered_in_one_inert_line(word):
    for command in parse(f"/rerun-kl {word}"):
        if isinstance(command.asked, Misunderstood):
            assert "\n" not in command.asked.sentence
            assert grammar.parse(command.asked.sentence) == ()
