"""People ask in comments and with the check's buttons; the whole bot answers, against the stand-in."""

from __future__ import annotations

import time

from tests.lab.asserts import assert_ended, assert_once
from tests.lab.conftest import lab, lab_database, lab_repository, soon  # noqa: F401
from tests.lab.runner import Answer

NAME = "TestHybridCacheKL.test_logprobs_match"
NOBODY = "0" * 40


def until(look, seconds: float = 20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:.0f} s")


def told(bench, number: int, body: str, who: str = "dev-a") -> list[str]:
    """The paragraphs of the reply to a new comment."""
    comment = bench.say(number, body, who)
    bench.wait()
    return paragraphs(bench, number, comment)


def paragraphs(bench, number: int, comment: int) -> list[str]:
    marker = f"<!-- kl-triage:reply comment={comment} -->"
    (reply,) = [text for text in bench.comments(number) if text.startswith(marker)]
    return reply.split("\n\n")[1:]


def reactions(bench, comment: int) -> list[str]:
    return [reaction.content for reaction in bench.world.state.comments[comment].reactions]


def plan_of(bench, place: int):
    return bench.runner.plans()[place]


def test_each_command_is_answered_in_order_and_once_whatever_runs_twice(lab):  # noqa: F811
    bench = lab(trouble="twice")
    number = bench.red_pull()
    main, rounds = bench.sha("main"), len(bench.requests())
    lines = ["lanches=4", f"{NAME}x", f"base={NOBODY}", f"n=4 launches=2 base={main}", "status"]
    comment = bench.say(number, "".join(f"/rerun-kl {line}\n" for line in lines))
    bench.wait()
    first, second, third, fourth, fifth, table = paragraphs(bench, number, comment)
    assert first == "`/rerun-kl lanches=4`: `lanches=4` is not understood; did you mean `launches=4`?"
    assert second.endswith(
        f"`{NAME}x` is not red on the head commit; red there: `{NAME}`. Did you mean `{NAME}`?"
    )
    assert third == (
        f"`/rerun-kl base={NOBODY}`: nothing was started: `0000000` is no commit of `main`, and only what was"
        " merged there is run as base."
    )
    assert fourth.startswith(f"`/rerun-kl n=4 launches=2 base={main}`: `{NAME}` is being measured again,")
    assert fifth == "`/rerun-kl status`:"
    assert f"| `{NAME}` | `{bench.sha('feature')[:7]}` |" in table
    assert reactions(bench, comment) == ["eyes", "rocket", "confused"]

    assert len(bench.investigations()) == 2
    asked = bench.runner.plans()[rounds]
    assert asked.commits["base"] == main
    assert sorted(launch.arm for launch in asked.launches) == ["base", "base", "head", "head"]
    assert sum(launch.repeats for launch in asked.launches if launch.arm == "head") == 4
    assert len(bench.sticky(number)) == 1

    bench.people.edit(comment, f"please:\n/rerun-kl base={main} launches=2 n=4")
    bench.people.edit(comment, f"please:\n/rerun-kl base={main} launches=2 n=4\n/rerun-kl explain")
    bench.wait()
    explained, ladder, *_ = paragraphs(bench, number, comment)
    assert explained.startswith(f"`/rerun-kl explain`: `{NAME}` at `{bench.sha('feature')[:7]}`: [")
    assert ladder.startswith("<details><summary>How it was decided (")
    (reply,) = [text for text in bench.comments(number) if f"comment={comment} -->" in text]
    assert first in reply and fourth in reply, "what was said before the edit stays"
    assert len(bench.investigations()) == 2, "nothing of an edited comment runs again"
    assert_once(bench)
    assert_ended(bench)


def test_what_is_being_measured_is_said_stopped_and_begun_anew(lab):  # noqa: F811
    bench = lab(Answer(takes=False))
    number = bench.open_pull()
    bench.red(number)
    until(bench.requests)
    again = bench.say(number, "/rerun-kl\n/rerun-kl status")
    until(lambda: len(bench.comments(number)) == 2)
    already, _, table = paragraphs(bench, number, again)
    assert already.startswith(f"`/rerun-kl`: being measured for this pull request already: `{NAME}` [at `")
    assert "| measuring | 0 of " in table

    bench.runner.answers = [Answer()]
    stop = bench.say(number, "/rerun-kl stop\n/rerun-kl")
    bench.wait()
    stopped, begun = paragraphs(bench, number, stop)
    assert stopped.startswith(f"`/rerun-kl stop`: stopping `{NAME}`;")
    assert begun.startswith(f"`/rerun-kl`: `{NAME}` is being measured again")
    assert reactions(bench, stop) == ["eyes", "rocket"]
    first, second = bench.investigations()
    assert (first.verdict["reason"], second.verdict["kind"]) == ("stopped", "noise")
    assert_once(bench)
    assert_ended(bench)


def test_a_forks_code_runs_only_as_the_commit_a_writer_named(lab):  # noqa: F811
    bench = lab(trouble="lost_answers")
    head, other = bench.sha("feature"), bench.sha("other")
    number = bench.people.control("fork-pull", user="stranger-c", branch="patch", sha=head)["number"]
    bench.red(number)
    strangers = [bench.say(number, body, "stranger-c") for body in (f"/rerun-kl {head}", "/rerun-kl stop")]
    curious = bench.say(number, "/rerun-kl help", "stranger-c")
    bench.wait()
    assert [reactions(bench, comment) for comment in strangers] == [["-1"], ["-1"]]
    assert reactions(bench, curious) == [], "a question is no offence"
    assert [text.partition("\n")[0] for text in bench.comments(number)] == [
        "<!-- kl-triage:reply refused -->"
    ]
    unbound, runner = told(bench, number, f"/rerun-kl\n/rerun-kl {head} gpu=h100")
    assert "write `/rerun-kl` with the full SHA of the head commit" in unbound
    assert runner.endswith("`h100` is no runner of these tests; there are `kl-cpu`.")
    bench.people.control("fork-push", number=number, sha=other)
    bench.red(number)
    late, bound = told(bench, number, f"/rerun-kl {head}\n/rerun-kl {other}")
    assert late.endswith(f"that SHA is not the head commit of this pull request, which is `{other[:7]}`.")
    assert "is being measured, head beside base" in bound
    assert {plan.commits["head"] for plan in bench.runner.plans()} == {other}
    assert_once(bench)


def test_the_buttons_of_a_check_measure_again_without_a_word(lab):  # noqa: F811
    bench = lab()
    number = bench.red_pull()
    said = len(bench.comments(number))
    (check,) = bench.checks(bench.sha("feature"))
    bench.people.control("rerequest", check_id=check.id, user="dev-a", action="rerun-kl")
    bench.wait()
    assert bench.kinds() == ["noise", "noise"]
    bench.people.control("rerequest", check_id=check.id, user="stranger-c")
    bench.push("feature", {"README.md": "# more\n"})
    bench.people.control("rerequest", check_id=check.id, user="dev-a", suite=True)
    bench.wait()
    assert len(bench.investigations()) == 2, "a stranger, and a commit that is not the head any more"
    assert len(bench.comments(number)) == said
    assert_once(bench)
    assert_ended(bench)
