"""Who may command: by the role GitHub tells, or the repository's list; never by what a payload says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from flask import jsonify, request
from github import GithubException

from bot.demo.github import DemoUser
from bot.store import Store, open_database
from bot.triage.commands import admitting
from bot.triage.services import Services

CONFIG = 'extends: "reference"\nmode: "{mode}"\ncommanders: ["Stranger-C"]\ncommand_cooldown_minutes: 30.0\n'


@pytest.fixture
def configured(stage):
    """Puts the repository's own file on main."""

    repo, path, there = stage.repo("maintainer-b"), ".github/kl-triage.yml", []

    def write(text: str) -> None:
        if there:
            done = repo.update_file(path, "Triage", text, there.pop(), branch="main")
        else:
            done = repo.create_file(path, "Triage", text, branch="main")
        there.append(done["content"].sha)

    return write


@pytest.fixture
def svc(stage, installations, tmp_path) -> Services:
    store = Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))
    return Services(SimpleNamespace(stop=False), store, installations)


@pytest.fixture
def event(stage):
    """`event(**changes)`: a comment with one command, by somebody who may write."""
    installation = stage.app.get_repo_installation("acme", "tinyserve").id
    same = {"installation": installation, "repo": "acme/tinyserve", "pull": 1, "comment_id": 7}
    same |= {"author": "dev-a", "body": "/rerun-kl", "before": "", "updated_at": "2026-05-04T10:00:00+00:00"}
    return lambda **changes: same | changes


@pytest.fixture
def permission_answers(stage):
    """From now on the permission endpoint answers this."""
    answers = []

    def before():
        if not answers or not request.path.endswith("/permission"):
            return None
        status, body, headers = answers[-1]
        response = jsonify(body)
        response.status_code = status
        response.headers.update(headers)
        return response

    stage.server.world.before.append(before)
    return lambda status, body, **headers: answers.append((status, body, headers))


def test_the_role_decides(stage, svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    users = stage.server.world.config.users
    found = {}
    for role in ("admin", "maintain", "write", "triage", "read", "none"):
        users["dev-a"] = DemoUser(role=role, token=users["dev-a"].token)
        found[role] = admitting.admit(svc, event())["role"]
    assert found == {
        **dict.fromkeys(("admin", "maintain", "write"), "writer"),
        **dict.fromkeys(("triage", "read", "none"), "stranger"),
    }


def test_an_answer_that_is_not_clear_is_a_no(svc, event, configured, permission_answers):
    configured(CONFIG.format(mode="comment"))
    for status, body in (
        (403, {"message": "Must have push access to view collaborator permission."}),
        (404, {"message": "Not Found"}),
        (200, {"permission": "none", "role_name": "admin", "user": None}),
        (200, {"permission": "", "role_name": "write", "user": None}),
    ):
        permission_answers(status, body)
        assert admitting.admit(svc, event())["role"] == "stranger", (status, body)
    permission_answers(200, {"permission": "write", "role_name": "a role of our own", "user": None})
    assert admitting.admit(svc, event())["role"] == "writer"


def test_a_spent_rate_limit_is_waited_for(svc, event, configured, permission_answers):
    configured(CONFIG.format(mode="comment"))
    permission_answers(403, {"message": "API rate limit exceeded"}, **{"Retry-After": "600"})
    with pytest.raises(GithubException):
        admitting.admit(svc, event())


def test_who_is_listed_is_obeyed_once_a_cooldown(svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    mine = {"author": "stranger-c"}
    admitted = {"role": "listed", "commands": ["rerun"], "free_at": "", "why": ""}
    assert admitting.admit(svc, event(**mine)) == admitted
    later = mine | {"comment_id": 8, "updated_at": "2026-05-04T10:10:00+00:00"}
    assert admitting.admit(svc, event(**later))["free_at"] == "2026-05-04 10:30 UTC"
    questions = later | {"body": "/rerun-kl status\n/rerun-kl help"}
    assert admitting.admit(svc, event(**questions))["free_at"] == "", "a question costs nothing"
    after = mine | {"comment_id": 9, "updated_at": "2026-05-04T10:30:00+00:00"}
    assert admitting.admit(svc, event(**after))["free_at"] == ""


def test_what_started_nothing_uses_no_cooldown_up(svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    first = event(author="stranger-c")
    admitting.admit(svc, first)
    admitting.release(svc, first)
    later = first | {"comment_id": 8, "updated_at": "2026-05-04T10:10:00+00:00"}
    assert admitting.admit(svc, later)["free_at"] == ""


def test_where_the_bot_may_not_write_it_is_silent(svc, event, configured):
    for config in (None, CONFIG.format(mode="off")):
        if config is not None:
            configured(config)
        assert admitting.admit(svc, event())["role"] == "silent", config
        assert not admitting.admit_click(svc, event(check_id=5)), config


def test_where_nothing_can_be_measured_a_writer_who_asks_is_told_why(svc, event, configured, installations):
    stopped = Services(SimpleNamespace(stop=True), svc.store, installations)
    for config, told in ((CONFIG.format(mode="observe"), "'observe'"), ("nonsense: 1\n", "has errors")):
        configured(config)
        admitted = admitting.admit(svc, event())
        assert admitted["role"] == "unready" and told in admitted["why"]
        assert admitting.admit(svc, event(author="stranger-c"))["role"] == "silent"
        assert admitting.admit(svc, event(body="thanks"))["role"] == "silent"
        assert admitting.admit(stopped, event())["role"] == "silent"
        assert not admitting.admit_click(svc, event(check_id=5))


def test_the_operators_stop_silences_commands(stage, installations, svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    stopped = Services(SimpleNamespace(stop=True), svc.store, installations)
    assert admitting.admit(stopped, event())["role"] == "silent"
    assert [decision.subject for decision in svc.store.decisions()] == ["comment 7"]


def test_bots_and_the_bot_itself_never_command(svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    for author in ("kl-triage[bot]", "KL-Triage[bot]", "other[bot]"):
        assert admitting.admit(svc, event(author=author))["role"] == "silent"


def test_only_what_an_edit_added_is_to_be_answered(svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    edited = event(before="/rerun-kl", body="/rerun-kl\n/rerun-kl stop\n/rerun-kl lanches=2")
    assert admitting.admit(svc, edited)["commands"] == ["stop", "misunderstood"]
    nothing = admitting.admit(svc, event(before="/rerun-kl"))
    assert (nothing["role"], nothing["commands"]) == ("silent", [])


def test_at_most_five_commands_are_obeyed(svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    body = "".join(f"/rerun-kl n={n}\n" for n in range(1, 8))
    assert admitting.admit(svc, event(body=body))["commands"] == ["rerun"] * 5


def test_buttons_are_for_people_who_may_write(svc, event, configured):
    configured(CONFIG.format(mode="comment"))
    assert admitting.admit_click(svc, event(check_id=5))
    assert not admitting.admit_click(svc, event(author="stranger-c", check_id=5))
