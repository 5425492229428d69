"""Every write, done twice or with its answer lost, leaves one effect."""

import threading
import time

import pytest
import requests
from flask import request
from github import GithubException

from bot.github import writes

MARKER = "<!-- kl-triage:v1 key=a"
LOGIN = "kl-triage[bot]"


def twice(action):
    """The step of a workflow: it fails once on the lost answer and runs again."""
    with pytest.raises(GithubException) as lost:
        action()
    assert lost.value.status == 502
    return action()


def test_a_comment_is_edited_in_place_and_not_written_when_equal(stage, repo):
    number = stage.open_pull().number

    def say(text):
        return writes.upsert_comment(repo, number, marker=MARKER, author=LOGIN, body=f"{MARKER} -->\n{text}")

    first, same, other = say("one"), say("one"), say("two")
    assert (first.id, first.changed) == (same.id, not same.changed) == (other.id, other.changed)
    assert [comment.body for comment in stage.repo().get_issue(number).get_comments()] == [
        f"{MARKER} -->\ntwo"
    ]


def test_a_strangers_comment_with_our_marker_is_not_ours(stage, repo):
    number = stage.open_pull().number
    stage.repo("dev-a").get_issue(number).create_comment(f"{MARKER} -->\nmine")
    writes.upsert_comment(repo, number, marker=MARKER, author=LOGIN, body=f"{MARKER} -->\nours")
    bodies = [comment.body for comment in stage.repo().get_issue(number).get_comments()]
    assert bodies == [f"{MARKER} -->\nmine", f"{MARKER} -->\nours"]


def test_a_reply_that_quotes_a_marker_is_not_the_comment_of_that_marker(stage, repo):
    number = stage.open_pull().number

    def say(marker, text):
        writes.upsert_comment(repo, number, marker=marker, author=LOGIN, body=f"{marker} -->\n{text}")

    say("<!-- kl-triage:reply id=1", f"`{MARKER} x` is no command")
    say(MARKER, "ours")
    bodies = [comment.body for comment in stage.repo().get_issue(number).get_comments()]
    assert bodies[0].endswith("is no command") and bodies[1].endswith("ours")


def test_a_comment_whose_answer_was_lost_is_found(stage, repo, lose_the_next_answer):
    number = stage.open_pull().number
    lose_the_next_answer("POST", "/comments")
    writes.upsert_comment(repo, number, marker=MARKER, author=LOGIN, body=f"{MARKER} -->")
    assert stage.repo().get_issue(number).get_comments().totalCount == 1


@pytest.mark.parametrize(
    ("trouble", "looks"),
    [
        (GithubException(502, {}, {}), [None, None, "there"]),
        (requests.ReadTimeout(), [None, "there"]),
        (requests.ReadTimeout(), [None] * 4),
        (GithubException(403, {}, {}), []),
    ],
)
def test_after_a_lost_answer_it_is_looked_for_before_it_may_be_sent_again(monkeypatch, trouble, looks):
    monkeypatch.setattr(writes, "LOOK_EVERY_S", 0.0)
    left = list(looks)

    def create():
        raise trouble

    if "there" in looks:
        assert writes._created(create, lambda: left.pop(0)) == "there"
    else:
        with pytest.raises(type(trouble)):
            writes._created(create, lambda: left.pop(0))
    assert left == []


def test_two_that_write_one_comment_at_once_write_one(stage, repo, installations):
    number = stage.open_pull().number
    barrier, seen = threading.Barrier(2), []

    def before():
        if request.method == "POST" and request.path.endswith("/comments"):
            seen.append(request.path)
            time.sleep(0.1)

    stage.server.world.before.append(before)

    def say(text):
        mine = installations.repository(0, "acme/tinyserve")
        barrier.wait()
        writes.upsert_comment(mine, number, marker=MARKER, author=LOGIN, body=f"{MARKER} -->{text}")

    threads = [threading.Thread(target=say, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == stage.repo().get_issue(number).get_comments().totalCount == 1


def test_of_several_comments_the_first_is_kept(stage, repo):
    number = stage.open_pull().number
    for text in ("one", "two"):
        repo.get_issue(number).create_comment(f"{MARKER} -->{text}")
    writes.upsert_comment(repo, number, marker=MARKER, author=LOGIN, body=f"{MARKER} -->two")
    (left,) = stage.repo().get_issue(number).get_comments()
    assert left.body == f"{MARKER} -->two"


def test_a_check_whose_answer_was_lost_is_found(stage, repo, lose_the_next_answer):
    sha = stage.open_pull().head.sha
    lose_the_next_answer("POST", "/check-runs")

    def check(conclusion=None):
        return writes.upsert_check(
            repo,
            sha,
            name="kl-triage",
            external_id="kl-1",
            details_url=None,
            title="t",
            summary="s",
            conclusion=conclusion,
        )

    check()
    check("failure")
    found = list(stage.repo().get_commit(sha).get_check_runs(check_name="kl-triage"))
    assert [(item.status, item.conclusion) for item in found] == [("completed", "failure")]


def test_evidence_makes_its_branch_once_and_keeps_what_was_there(stage, repo, lose_the_next_answer):
    lose_the_next_answer("POST", "/git/refs")

    def keep(folder):
        return writes.commit_evidence(
            repo, "kl-triage/evidence", folder, {"readings.jsonl": "{}\n"}, "Evidence"
        )

    first = twice(lambda: keep("one"))
    assert keep("one") == first
    second = keep("two")
    assert second != first
    tree = stage.repo().get_git_tree(second, recursive=True)
    assert sorted(item.path for item in tree.tree if item.type == "blob") == [
        "one/readings.jsonl",
        "two/readings.jsonl",
    ]
