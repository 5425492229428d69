"""The cooldown of people on the allow list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.store import Store, open_database

HOUR = timedelta(hours=1)


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 5, 4, hour, minute, tzinfo=UTC)


@pytest.fixture
def obey(tmp_path):
    store = Store(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))

    def obey(comment: int, when: datetime, author: str = "friend-d", cooldown: timedelta | None = HOUR):
        return store.obey("acme/tinyserve", comment, author, when, cooldown=cooldown)

    return obey


def test_the_next_command_waits_for_the_end_of_the_cooldown(obey):
    assert obey(1, at(10)) is None
    assert obey(2, at(10, 59)) == at(11)
    assert obey(2, at(11)) is None


def test_a_refused_command_does_not_make_the_cooldown_longer(obey):
    obey(1, at(10))
    obey(2, at(10, 50))
    assert obey(3, at(11)) is None


def test_the_step_may_run_again(obey):
    assert obey(1, at(10)) is None
    assert obey(1, at(10)) is None


def test_an_edit_of_the_same_comment_is_another_command(obey):
    obey(1, at(10))
    assert obey(1, at(10, 30)) == at(11)


def test_a_late_event_is_under_the_cooldown_too(obey):
    obey(2, at(10))
    assert obey(1, at(9, 59)) == at(11)


def test_each_person_has_a_cooldown_of_their_own_whatever_the_case_of_the_login(obey):
    obey(1, at(10))
    assert obey(2, at(10), author="Friend-D") == at(11)
    assert obey(3, at(10), author="friend-e") is None


def test_writers_have_none(obey):
    assert obey(1, at(10), cooldown=None) is None
    assert obey(2, at(10), cooldown=None) is None
    assert obey(3, at(10)) is None, "what was obeyed of somebody who could write does not count"
