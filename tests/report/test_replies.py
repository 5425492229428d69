"""What a command is answered with: short, exact, and inert whatever a stranger wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.report import overview, replies
from bot.report.facts import PullLink
from bot.report.overview import Judged, Progress
from bot.triage.commands import grammar
from tests.report.builders import NOISE
from tests.report.hostile import hostile, html_in, is_inert, shape, shown

SHA = "ab12cd3" + "0" * 33
URL = "https://github.com/acme/engine/pull/12#issuecomment-1"
MARKER = replies.reply_marker(7)
PULL = PullLink(9, "https://github.com/acme/engine/pull/9")
TEST = "TestKL.test_decode"

# Every text that takes a stranger's words, with those words in each of its places.
TOLD = {
    "measuring": lambda text: replies.measuring([text], again=True, asked={"base": text, "runner": text}),
    "already": lambda text: replies.measured_already([(text, text, URL)]),
    "already, no comment": lambda text: replies.measured_already([(text, text, None)]),
    "waiting": lambda text: replies.waiting([(text, PULL)]),
    "not red": lambda text: replies.not_red(text, [text], text),
    "not opened": lambda text: replies.not_opened([text]),
    "base": lambda text: replies.no_such_base(text, text),
    "runner": lambda text: replies.no_such_runner(text, [text]),
    "cooling": replies.cooling,
    "not the head": replies.not_the_head,
    "unready": replies.unready,
    "stopped": lambda text: replies.stopped([text]),
    "status": lambda text: overview.status([Progress(text, text, "measuring", 1, 2, 1, URL)]),
    "explain": lambda text: overview.explained([judged(text, sentence=text, trace=[rung(text, text)])]),
}
FIXED = [
    *(replies.NOT_OPEN, replies.OWN_BRANCH, replies.FORK_NEEDS_SHA),
    *(replies.ONLY_WRITERS_CHOOSE, replies.ONLY_WRITERS_BIND, replies.ONLY_WRITERS_STOP, replies.UNREADABLE),
    *(replies.STILL_STOPPING, replies.NOTHING_RED, replies.NOTHING_TO_STOP),
    *(overview.NOTHING_KNOWN, overview.NO_VERDICT, overview.help_text()),
]


def rung(name: str, saw: str) -> dict[str, str]:
    return {"name": name, "saw": saw}


def judged(test: str = TEST, **changed: object) -> Judged:
    return Judged(test, SHA, NOISE.as_dict() | changed, URL)


def test_one_paragraph_a_command_in_order():
    again = replies.measuring([TEST], again=True, asked={"base": SHA})
    told = [("/rerun-kl stop", replies.stopped([TEST])), ("/rerun-kl", again)]
    assert replies.reply(MARKER, told, 0) == (
        "<!-- kl-triage:reply comment=7 -->\n\n"
        "`/rerun-kl stop`: stopping `TestKL.test_decode`; what was measured so far goes into the comment,"
        " without a verdict.\n\n"
        f"`/rerun-kl`: `TestKL.test_decode` is being measured again, head beside base, with `base={SHA}`;"
        " the result goes into the comment of the test."
    )


def test_commands_beyond_the_cap_are_said_not_to_be_run():
    text = replies.reply(MARKER, [("/rerun-kl help", "x")] * 5, 2)
    assert text.endswith("Only the first 5 commands of a comment are run; 2 more were not.")
    assert replies.reply(MARKER, [("/rerun-kl help", "x")] * 5, 1).endswith("; 1 more was not.")


def test_what_was_said_before_an_edit_is_kept_and_nothing_is_said_twice():
    text = replies.reply(MARKER, [("/rerun-kl help", "one")], 0)
    for edit, said in (
        ("a1", "two"),
        ("a1", "two and more"),
        ("b2", "three"),
        ("b2", "three"),
        ("a1", "two"),
    ):
        text = replies.reply(MARKER, [("/rerun-kl help", said)], 0, edit=edit, known=text)
    assert text == (
        f"{MARKER}\n\n`/rerun-kl help`: three\n\n<!-- kl-triage:edit b2 -->\n\n"
        "`/rerun-kl help`: two\n\n<!-- kl-triage:edit a1 -->\n\n`/rerun-kl help`: one"
    )


def test_a_test_that_is_not_red_is_answered_with_those_that_are():
    said = replies.not_red("TestKL.test_decod", [TEST, "TestKL.test_prefill"], TEST)
    assert said == (
        "nothing was started: `TestKL.test_decod` is not red on the head commit;"
        " red there: `TestKL.test_decode`, `TestKL.test_prefill`. Did you mean `TestKL.test_decode`?"
    )
    assert replies.not_red("TestKL.test_decod", [], None) == replies.NOTHING_RED


def test_what_is_measured_already_is_linked():
    assert replies.measured_already([(TEST, SHA, URL)]).startswith(
        f"being measured for this pull request already: `TestKL.test_decode` [at `ab12cd3`]({URL})."
    )


def test_a_long_list_is_cut():
    said = replies.stopped([f"T.test_{n}" for n in range(14)])
    assert "`T.test_9` and 4 more;" in said


def test_status_has_a_row_a_site():
    text = overview.status(
        [
            Progress(TEST, SHA, "measuring", done=12, planned=32, rounds=2, url=URL),
            Progress(
                "TestKL.test_b", SHA, overview.waits_for(9, PULL.url), done=0, planned=0, rounds=0, url=None
            ),
        ]
    )
    assert text.strip().splitlines()[2:] == [
        f"| `TestKL.test_decode` | `ab12cd3` | measuring | 12 of 32 | 2 | [comment]({URL}) |",
        "| `TestKL.test_b` | `ab12cd3` | waiting for [#9](https://github.com/acme/engine/pull/9) |"
        " 0 of 0 | 0 | - |",
    ]
    assert overview.status([]) == "no KL test of this pull request was measured yet."


def test_a_ladder_says_which_step_answered_and_what_each_saw():
    text = overview.explained([judged()])
    assert text.startswith(f"`TestKL.test_decode` at `ab12cd3`: [NOISE]({URL}). The bound 0.003 lies inside")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 5
    assert rows[0] == "| `exact_gate` | did not apply | the bound 0.003 is far from exact |"
    assert rows[-1] == "| `noise` | answered | head and base exceed 0.003 alike and 0.005 holds |"
    assert overview.explained([]) == overview.NO_VERDICT


@pytest.mark.parametrize("trace", [[], None])
def test_a_verdict_without_a_ladder_is_explained_by_its_sentence(trace):
    assert "<details>" not in overview.explained([judged(trace=trace)])


def test_a_long_ladder_is_cut_and_says_so():
    text = overview.explained([judged(trace=[rung(f"step_{n}", "x" * 390) for n in range(50)])])
    assert len(text) < overview.EXPLAINED_ROOM + 1000
    assert "more rows" in text


@pytest.mark.parametrize(
    ("verdict", "label"),
    [
        ({"kind": "noise"}, "NOISE"),
        ({"kind": "old_regression"}, "OLD REGRESSION"),
        ({"kind": "?"}, "given up"),
        (None, "given up"),
    ],
)
def test_verdicts_have_the_names_of_the_comment(verdict, label):
    assert overview.verdict_label(verdict) == label


def test_help_names_every_word_of_the_grammar():
    text = shown(overview.help_text())
    for word in (*grammar.OPTIONS, *grammar.Verb, "Class.method", "<sha>"):
        assert word in text


def test_a_reply_fits_into_a_comment_whatever_it_holds():
    told = [("/rerun-kl explain", overview.explained([judged(sentence="x" * 99_999)] * 9))] * 5
    assert len(replies.reply(MARKER, told, 1)) <= 60_000


@pytest.mark.parametrize("text", [*FIXED, replies.refused()])
def test_our_own_texts_hold_no_live_command(text):
    assert grammar.parse(replies.reply(MARKER, [("/rerun-kl", text)], 0)) == ()
    assert grammar.parse(text) == ()


@pytest.mark.parametrize("told", TOLD)
@given(text=hostile)
def test_strangers_words_stay_words(told, text):
    reply = replies.reply(MARKER, [(text, TOLD[told](text))], 0)
    plain = replies.reply(MARKER, [("x", TOLD[told]("x"))], 0)
    assert grammar.parse(reply) == ()
    assert is_inert(reply)
    assert [part for part in shape(reply) if part != "code"] == [
        part for part in shape(plain) if part != "code"
    ]
    assert html_in(reply) <= html_in(plain) | {"<code>", "</code>"}


@given(st.text(max_size=300))
def test_a_misread_word_stays_in_its_code(text):
    for command in grammar.parse("/rerun-kl " + text.replace("\n", " ")):
        if isinstance(command.asked, grammar.Misunderstood):
            assert is_inert(command.asked.sentence)
