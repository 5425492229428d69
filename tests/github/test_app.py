"""The table of permissions and events, the addresses it leads to, and the documentation that repeats it."""

from pathlib import Path

import pytest

from bot.github.app import (
    EVENTS,
    OPTIONAL,
    PERMISSIONS,
    TOKEN_PERMISSIONS,
    creation_page,
    is_login,
    web_address,
)
from bot.github.events import KNOWN

DOCS = (Path(__file__).parents[2] / "docs" / "github-app.md").read_text()


def test_the_documentation_has_every_row():
    for wanted in PERMISSIONS:
        assert f"| {wanted.title} | {wanted.level} | {wanted.why} |" in DOCS
    for event in EVENTS:
        assert f"| `{event.event}` | {event.why} |" in DOCS
    for wanted in OPTIONAL:
        assert f"{wanted.title}, {wanted.level}, to {wanted.why}" in DOCS
    assert [wanted.title for wanted in TOKEN_PERMISSIONS if wanted not in PERMISSIONS] == ["Commit statuses"]


def test_what_is_subscribed_to_is_what_is_understood():
    unasked = {"ping", "installation", "installation_repositories"}  # these come to every App
    assert {wanted.event for wanted in EVENTS} == set(KNOWN) - unasked


def test_a_permission_is_covered_by_more():
    actions = PERMISSIONS[0]
    assert [actions.is_covered({"actions": level}) for level in ("read", "write", "admin")] == [
        False,
        True,
        True,
    ]
    assert not actions.is_covered({})


@pytest.mark.parametrize(
    ("api", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://ghe.example/api/v3", "https://ghe.example"),
        ("https://api.acme.ghe.com", "https://acme.ghe.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_where_people_look(api, web):
    assert web_address(api) == web


def test_where_a_manifest_goes():
    assert creation_page("https://github.com", None) == "https://github.com/settings/apps/new"
    assert (
        creation_page("https://github.com", "acme")
        == "https://github.com/organizations/acme/settings/apps/new"
    )


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("acme", True), ("a-b_c1", True), ("", False), ("-a", False), ("a/b", False), ("é", False)],
)
def test_names_of_organisations(text, is_one):
    assert is_login(text) is is_one
