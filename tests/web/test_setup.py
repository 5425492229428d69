"""The setup page against the stand-in's own page for Apps, over HTTP: one button, two files."""

from __future__ import annotations

import html
import json
import queue
import re
import threading
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from bot.github.app import EVENTS, PERMISSIONS
from bot.triage.env_file import read_env_file
from bot.triage.settings import Settings, from_environment
from bot.verdict import Refusal
from bot.web.setup import SetupPlan, bot_address
from bot.web.setup_files import SetupFiles
from bot.web.setup_server import run_setup
from tests.demo_github.conftest import pem, receiver, seeded, stage  # noqa: F401


class Running:
    """`kl-triage setup` in a thread."""

    def __init__(self, plan: SetupPlan) -> None:
        told: queue.Queue[str] = queue.Queue()
        self.thread = threading.Thread(target=run_setup, args=(plan, 0, told.put), daemon=True)
        self.thread.start()
        self.url = told.get(timeout=10)

    def ended(self) -> bool:
        self.thread.join(timeout=10)
        return not self.thread.is_alive()


@pytest.fixture
def plan(stage, tmp_path):  # noqa: F811
    folder = tmp_path / "out"
    folder.mkdir()
    return SetupPlan(
        stage.url, None, "KL of acme", stage.receiver.url.removesuffix("/webhook"), SetupFiles(folder)
    )


def form(page: str) -> tuple[str, dict[str, str]]:
    """Where the page's form goes, and what it sends."""
    fields = re.findall(r'<input[^>]*? name="(\w+)"[^>]*? value="([^"]*)"', page)
    action = re.search(r'<form[^>]* action="([^"]+)"', page)
    return html.unescape(action[1]), {name: html.unescape(value) for name, value in fields}


def confirm(running: Running) -> str:
    """Presses both buttons; the address GitHub sends the browser back to."""
    action, fields = form(requests.get(running.url, timeout=5).text)
    page = requests.post(action, data=fields, timeout=5)
    assert page.status_code == 200, page.text
    next_action, next_fields = form(page.text)
    server = "{0.scheme}://{0.netloc}".format(urlsplit(action))
    answer = requests.post(server + next_action, data=next_fields, timeout=5, allow_redirects=False)
    return answer.headers["Location"]


def test_one_button_makes_the_app_and_two_files_that_the_bot_starts_with(plan, stage):  # noqa: F811
    running = Running(plan)
    done = requests.get(confirm(running), timeout=10)
    assert done.status_code == 200 and running.ended()
    assert [path.stat().st_mode & 0o777 for path in (plan.files.key, plan.files.env)] == [0o600, 0o600]
    values = read_env_file(plan.files.env)
    assert isinstance(values, dict)
    settings = from_environment(values)
    assert isinstance(settings, Settings)
    assert (settings.credentials.app_id, settings.credentials.base_url) == (2, stage.url)
    assert stage.server.world.hooks.hook.secret == settings.webhook_secret
    assert f"{stage.url}/apps/kl-of-acme/installations/new" in done.text
    assert "kl-triage serve --env" in done.text and "kl-triage doctor --env" in done.text
    for secret in (settings.webhook_secret, *settings.credentials.private_key.split("\n")[1:3]):
        assert secret not in done.text


def test_the_manifest_asks_for_the_table_and_nothing_else(plan):
    _, fields = form(requests.get(Running(plan).url, timeout=5).text)
    manifest = json.loads(fields["manifest"])
    assert manifest["default_permissions"] == {wanted.key: wanted.level for wanted in PERMISSIONS}
    assert manifest["default_permissions"] == {
        "actions": "write",
        "checks": "write",
        "contents": "write",
        "issues": "write",
        "metadata": "read",
        "pull_requests": "write",
    }
    assert manifest["default_events"] == [wanted.event for wanted in EVENTS]
    assert manifest["hook_attributes"] == {"url": f"{plan.bot}/webhook", "active": True}
    assert manifest["public"] is False


def test_an_organisation_owns_the_app_that_is_made_on_its_page(plan):
    running = Running(SetupPlan(plan.api, "acme", plan.name, plan.bot, plan.files))
    action, _ = form(requests.get(running.url, timeout=5).text)
    assert urlsplit(action).path == "/organizations/acme/settings/apps/new"


def test_without_an_address_the_page_asks_for_one(plan):
    running = Running(SetupPlan(plan.api, None, plan.name, None, plan.files))
    assert 'name="manifest"' not in requests.get(running.url, timeout=5).text
    wrong = requests.get(running.url, params={"bot": "bot.example"}, timeout=5).text
    assert 'name="manifest"' not in wrong and "https://bot.example" in wrong
    right = requests.get(running.url, params={"bot": "https://bot.example/"}, timeout=5).text
    assert "https://bot.example/webhook" in right and 'name="manifest"' in right


def test_an_answer_with_a_foreign_state_writes_nothing(plan):
    running = Running(plan)
    back = urlsplit(confirm(running))
    code = parse_qs(back.query)["code"][0]
    answer = requests.get(f"{running.url}/created", params={"code": code, "state": "forged"}, timeout=5)
    assert answer.status_code == 400 and plan.files.taken() is None
    # The right one still works: nothing was exchanged.
    assert requests.get(back.geturl(), timeout=10).status_code == 200 and running.ended()


def test_a_code_that_github_does_not_know_leaves_no_files(plan):
    running = Running(plan)
    back = confirm(running)
    answer = requests.get(re.sub("code=[0-9a-f]+", "code=0123456789abcdef", back), timeout=5)
    assert answer.status_code == 502 and "404" in answer.text
    assert plan.files.taken() is None


def test_a_file_that_is_there_is_left_and_no_code_is_spent(plan):
    running = Running(plan)
    back = confirm(running)
    plan.files.env.write_text("mine")
    answer = requests.get(back, timeout=5)
    assert answer.status_code == 502 and "kl-triage.env is there already" in answer.text
    assert plan.files.env.read_text() == "mine" and not plan.files.key.exists()
    plan.files.env.unlink()
    assert requests.get(back, timeout=10).status_code == 200 and running.ended()


def test_the_page_is_closed_to_foreign_names_and_frames(plan):
    running = Running(plan)
    assert requests.get(running.url, headers={"Host": "evil.example"}, timeout=5).status_code == 403
    headers = requests.get(running.url, timeout=5).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "script-src" not in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"


def test_a_name_with_markup_is_shown_as_text(plan):
    running = Running(SetupPlan(plan.api, None, "<b>x</b>", plan.bot, plan.files))
    page = requests.get(running.url, timeout=5).text
    assert "<b>x</b>" not in page
    assert json.loads(form(page)[1]["manifest"])["name"] == "<b>x</b>"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://bot.example", "https://bot.example"),
        ("https://bot.example/kl/webhook/", "https://bot.example/kl"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_the_address_is_taken_without_the_webhook(text, address):
    assert bot_address(text) == address


@pytest.mark.parametrize(
    "text", ["bot.example", "ftp://bot.example", "https://a@b", "https://x/?q=1", "https://[", "https://", ""]
)
def test_what_is_no_address_is_refused(text):
    assert isinstance(bot_address(text), Refusal)
