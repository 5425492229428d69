"""What is a command in a comment, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.triage.commands import RerunKl, parse

PLAIN = (RerunKl(""),)


@pytest.mark.parametrize(
    "body",
    [
        "/rerun-kl",
        "/rerun-kl  ",
        "/rerun-kl\r\n",
        "please\n/rerun-kl\nthanks",
        "/rerun-kl\u00a0",
        "```\ncode\n```\n/rerun-kl",
        "~~~\n```\n~~~\n/rerun-kl",
        "<!-- note -->\n/rerun-kl",
    ],
)
def test_a_command_stands_alone_at_the_start_of_a_line(body):
    assert parse(body) == PLAIN


@pytest.mark.parametrize(
    "body",
    [
        "",
        "say /rerun-kl",
        " /rerun-kl",
        "    /rerun-kl",
        "\t/rerun-kl",
        "> /rerun-kl",
        "`/rerun-kl`",
        "- /rerun-kl",
        "/rerun-klx",
        "/rerun-kl-foo",
        "/rerun-kl/x",
        "```\n/rerun-kl\n```",
        "```\n/rerun-kl",
        "````\n```\n/rerun-kl\n````",
        "~~~py\n/rerun-kl\n~~~",
        "<!--\n/rerun-kl\n-->",
        "<!-- never closed\n/rerun-kl",
    ],
)
def test_what_only_looks_like_a_command_is_none(body):
    assert parse(body) == ()


def test_an_argument_is_kept_to_be_answered():
    assert parse("/rerun-kl n=12") == (RerunKl("n=12"),)


def test_several_commands_keep_their_order():
    assert parse("/rerun-kl\n/rerun-kl stop") == (RerunKl(""), RerunKl("stop"))


@given(st.text(alphabet="/rerun-kl`~> <!->\n\r\t\u00a0x", max_size=200))
def test_any_text_is_read_without_error(body):
    assert all(isinstance(command, RerunKl) for command in parse(body))


@given(st.text(max_size=100))
def test_nothing_inside_an_open_fence_is_a_command(text):
    assert parse("```\n" + text.replace("`", "") + "\n/rerun-kl") == ()
