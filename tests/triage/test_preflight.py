"""The preflight against the stand-in: all well, then one thing wrong at a time; its judgements as values."""

from __future__ import annotations

import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import urllib3.util.retry
from github import UnknownObjectException

from bot.demo.github import DemoRunner
from bot.github.app import EVENTS, PERMISSIONS
from bot.github.connect import AppCredentials, TokenCredentials, connect
from bot.github.inspection import AppSeen, DeliverySeen, HookSeen, InstallationSeen, RunnerSeen
from bot.report.findings import Finding, Level, findings_document, is_fine
from bot.triage.doctor import app_findings, repository_findings
from bot.triage.doctor.preflight import Look, in_background, preflight
from bot.triage.settings import Settings
from bot.verdict import Refusal
from rules import PackErrors, repository_pack
from runners.init import initial_files
from runners.workflow import PACKAGE, kl_rerun_yml
from runners.workflow.read_back import RerunFile, read_back
from tests.demo_github.github_stage import commit, keys

NAME = "acme/tinyserve"
CONFIG, RERUN = ".github/kl-triage.yml", ".github/workflows/kl-rerun.yml"
ALL = {wanted.key: wanted.level for wanted in PERMISSIONS}
SECRET = "the webhook's secret"


@pytest.fixture
def files(stage) -> dict[str, str]:
    """What main holds; `put` commits it."""
    made = initial_files("reference", ["kl-cpu"], "comment")
    put(stage, made)
    return made


def put(stage, files: dict[str, str]) -> None:
    commit(stage.git_dir, "main", files, "Set up", stage.server.world.default_sha)


def change(stage, app: dict | None = None, **config: object) -> None:
    """Another world from here on."""
    world = stage.server.world
    changed = {**config, "app": world.config.app.model_copy(update=app or {})}
    world.config = world.tokens._config = world.config.model_copy(update=changed)


def look(stage, *names: str, key: str | None = None, token: str | None = None, stop: bool = False):
    """The findings that are not ok, as (level, about, sentence and fix)."""
    found = findings(stage, *names, key=key, token=token, stop=stop)
    return [(str(f.level), f.about, f"{f.sentence} {f.fix or ''}") for f in found if f.level != "ok"]


def findings(stage, *names: str, key=None, token=None, stop=False, api=None) -> list[Finding]:
    api = api or stage.url
    credentials = TokenCredentials(token, api) if token else AppCredentials(1, key or stage.private_key, api)
    settings = Settings("sqlite:///x", SECRET, credentials, "kl-triage", stop=stop)
    return preflight(settings, connect(credentials, seconds_between_writes=None), names)


# Against the stand-in


def test_where_all_is_well_only_the_unseen_runners_are_told(stage, files):
    (only,) = look(stage)
    assert only[:2] == ("warning", NAME) and "Administration: read" in only[2]
    change(stage, app={"permissions": {**ALL, "administration": "read"}})
    assert look(stage) == [] and look(stage, NAME) == []
    told = [finding.sentence for finding in findings(stage)]
    assert "1 of 1 runners 'kl-cpu' online." in told
    assert ".github/kl-triage.yml is in order: pack reference, mode comment." in told


def test_each_permission_that_lacks_is_named_with_its_page(stage, files):
    change(stage, app={"permissions": {**ALL, "checks": "read", "actions": "read"}})
    wrong = [text for level, about, text in look(stage) if about == "GitHub App"]
    assert len(wrong) == 2
    assert "Actions: write" in wrong[0] and "Checks: write" in wrong[1]
    assert f"{stage.url}/organizations/acme/settings/apps/kl-triage/permissions" in wrong[0]
    assert "an owner of each account must approve it" in wrong[0]


def test_what_an_account_has_not_approved_is_named_with_its_page(stage, files):
    change(stage, app={"approved": {**ALL, "contents": "read"}})
    (wrong, _unseen) = look(stage)
    assert wrong[:2] == ("wrong", "GitHub App")
    assert "acme has not approved Contents: write" in wrong[2]
    assert f"{stage.url}/organizations/acme/settings/installations/51000001" in wrong[2]


def test_each_event_that_lacks_is_named(stage, files):
    change(stage, app={"events": ("push", "workflow_job")})
    wrong = " ".join(text for level, about, text in look(stage) if level == "wrong")
    missing = {wanted.event for wanted in EVENTS} - {"push", "workflow_job"}
    assert len(missing) == 5 and all(f"get {event} events" in wrong for event in missing)


def test_a_key_of_another_app_is_the_only_thing_told(stage, files):
    (only,) = look(stage, NAME, key=keys()[0])
    assert only[:2] == ("wrong", "GitHub App") and "401" in only[2] and "the key must be the App's" in only[2]


def test_an_app_that_is_nowhere_installed(stage, files):
    change(stage, app_is_installed=False)
    told = look(stage, NAME)
    assert [(level, about) for level, about, _ in told] == [("wrong", "GitHub App"), ("wrong", NAME)]
    assert f"{stage.url}/apps/kl-triage/installations/new" in told[0][2]
    assert "not installed on this repository" in told[1][2]


def test_deliveries_that_fail_are_counted_with_their_answer(stage, files):
    stage.receiver.status = 401
    stage.open_pull()
    assert stage.server.world.hooks.settle(10)
    ((level, _, text),) = [told for told in look(stage) if told[1] == "Webhook"]
    assert level == "wrong" and "HTTP 401" in text and "KL_TRIAGE_WEBHOOK_SECRET" in text
    stage.receiver.status = 202
    stage.repo("dev-a").get_pull(1).create_issue_comment("one that arrives")
    assert stage.server.world.hooks.settle(10)
    ((level, _, _),) = [told for told in look(stage) if told[1] == "Webhook"]
    assert level == "warning"


def test_a_repository_that_is_not_set_up(stage):
    told = [text for level, about, text in look(stage, NAME) if level == "wrong"]
    assert len(told) == 1 and "no .github/kl-triage.yml on main" in told[0] and "kl-triage init" in told[0]


def test_errors_of_the_file_stand_with_their_place(stage, files):
    put(stage, {**files, CONFIG: 'extends: "reference"\nmode: "loud"\nrunnner: x\n'})
    told = [text for level, about, text in look(stage, NAME) if level == "wrong"]
    assert [text.split(" ")[0] for text in told] == [f"{CONFIG}:2:7:", f"{CONFIG}:3:1:"]


def test_a_rerun_file_that_is_absent_or_altered_or_of_other_labels(stage, files):
    put(stage, {CONFIG: files[CONFIG]})
    told = [text for level, about, text in look(stage, NAME) if level == "wrong"]
    assert len(told) == 1 and "nothing can be rerun" in told[0]
    put(stage, {**files, RERUN: files[RERUN].replace("timeout-minutes: 240", "timeout-minutes: 9")})
    assert look(stage, NAME)[0][:2] == ("warning", NAME) and "differs" in look(stage, NAME)[0][2]
    put(stage, {**files, RERUN: kl_rerun_yml(["8-gpu"])})
    assert "does not offer the runner label 'kl-cpu'" in look(stage, NAME)[0][2]


def test_the_operators_kill_switch_is_told(stage, files):
    told = look(stage, NAME, stop=True)
    assert any("KL_TRIAGE_STOP" in text for level, _, text in told if level == "warning")


def test_a_runner_that_is_offline(stage, files):
    permissions = {**ALL, "administration": "read"}
    change(stage, app={"permissions": permissions}, runners=(DemoRunner(online=False),))
    ((level, _, text),) = look(stage, NAME)
    assert level == "warning" and "None of the 1 runners with the label 'kl-cpu' is online" in text


def test_a_token_of_an_administrator_sees_all(stage, files):
    assert look(stage, NAME, token="token-of-maintainer-b") == []


def test_a_token_of_a_writer_cannot_see_the_webhook(stage, files):
    told = look(stage, NAME, token="token-of-dev-a")
    assert [level for level, _, _ in told] == ["warning", "warning"]
    assert "Webhooks: read" in told[0][2]


def test_a_token_of_a_stranger_may_not_write(stage, files):
    told = look(stage, NAME, token="token-of-stranger-c")
    assert told[0][:2] == ("wrong", NAME) and "may not write" in told[0][2]


def test_a_token_alone_asks_for_a_repository(stage):
    assert [level for level, _, _ in look(stage, token="token-of-dev-a")] == ["warning"]


class Odd(BaseHTTPRequestHandler):
    """A server that answers every question with a list of one number, as no GitHub does."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"[1]")

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("token", [None, "token-of-dev-a"])
def test_answers_of_no_form_become_findings(stage, token):
    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as odd:
        threading.Thread(target=odd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        found = findings(stage, NAME, token=token, api=f"http://127.0.0.1:{odd.server_port}")
        odd.shutdown()
    assert [finding.level for finding in found] == ["ok", "wrong"]


def test_a_github_that_is_not_there_is_one_sentence(stage, monkeypatch):
    monkeypatch.setattr(urllib3.util.retry.time, "sleep", lambda _s: None)
    found = [f for f in findings(stage, NAME, api="http://127.0.0.1:9") if f.level == "wrong"]
    assert len(found) == 1 and "KL_TRIAGE_GITHUB_API" in (found[0].fix or "")


def test_what_is_not_found_may_be_a_wrong_path_of_the_address():
    look = Look()

    def absent() -> None:
        raise UnknownObjectException(404)

    assert look.at("App", "The App", absent) is None
    assert "https://HOST/api/v3" in (look.found[0].fix or "")


def test_no_secret_is_told(stage, files):
    text = str(findings_document(findings(stage, NAME)))
    assert SECRET not in text and stage.private_key.splitlines()[1] not in text


def test_in_the_background_it_logs_and_ends(stage, files, caplog):
    caplog.set_level(logging.INFO, "bot")
    credentials = AppCredentials(1, stage.private_key, stage.url)
    settings = Settings("sqlite:///x", SECRET, credentials, "kl-triage")
    in_background(settings, connect(credentials)).join(20)
    levels = {record.levelname for record in caplog.records if record.name == "bot.triage.doctor.preflight"}
    assert levels == {"INFO", "WARNING"}
    in_background(settings, None).join(20)  # nothing that it meets ends the process
    assert "acme/tinyserve: Whether runners are online" in caplog.text


# As values


APP = AppSeen("kl", "https://ghe.example/github-apps/kl", None, ALL, tuple(e.event for e in EVENTS))
PAGE = "https://github.com/settings/apps/kl"


def levels(found: list[Finding]) -> list[str]:
    return [str(finding.level) for finding in found]


def test_the_page_of_an_app_on_an_enterprise_server():
    assert app_findings.app_page(APP) == "https://ghe.example/settings/apps/kl"


def test_a_suspended_installation():
    seen = InstallationSeen(1, "acme", "https://github.com/x", ALL, suspended=True)
    (found,) = app_findings.of_installations(APP, [seen])
    assert found.level == "wrong" and "suspended" in found.sentence


def hook(url: str = "https://bot.example/webhook", **changed: object) -> HookSeen:
    told = {"content_type": "json", "has_secret": True, "checks_certificate": True}
    return HookSeen(url=url, **(told | changed))


@pytest.mark.parametrize(
    ("seen", "expected", "word"),
    [
        (hook(), ["ok"], "Signed JSON"),
        (hook(""), ["wrong"], "no address"),
        (hook("https://["), ["wrong"], "no address"),
        (hook("https://bot.example/"), ["warning"], "/webhook"),
        (hook("http://127.0.0.1:8080/webhook"), ["wrong"], "cannot reach"),
        (hook("http://localhost/webhook"), ["wrong"], "cannot reach"),
        (hook(content_type="form"), ["wrong"], "application/json"),
        (hook(has_secret=False), ["wrong"], "secret"),
        (hook(checks_certificate=False), ["warning"], "certificate"),
    ],
)
def test_what_is_wrong_with_a_webhook(seen, expected, word):
    found = app_findings.of_hook(seen, PAGE)
    assert levels(found) == expected and word in found[0].sentence


@pytest.mark.parametrize(
    ("codes", "level", "told"),
    [
        ([], "ok", "Nothing has been delivered yet."),
        ([202, 202], "ok", "The last 2 deliveries arrived."),
        ([202, 0, 401, 401], "warning", "3 of the last 4 deliveries failed: HTTP 401 (2), no answer (1)."),
        ([0, 202], "wrong", "1 of the last 2 deliveries failed: no answer (1)."),
    ],
)
def test_deliveries(codes, level, told):
    (found,) = app_findings.of_deliveries([DeliverySeen("push", "", code) for code in codes])
    assert (found.level, found.sentence) == (level, told)


@pytest.mark.parametrize(
    ("state", "level", "word"),
    [
        ("active", "ok", "may be started"),
        (None, "wrong", "settings/actions"),
        ("disabled_inactivity", "wrong", "disabled inactivity"),
    ],
)
def test_the_state_of_the_workflow(state, level, word):
    (found,) = repository_findings.of_workflow(NAME, state, "https://github.com/acme/tinyserve")
    assert found.level == level and word in f"{found.sentence} {found.fix}"


def test_no_runner_of_the_repositorys_own():
    (found,) = repository_findings.of_runners(NAME, [RunnerSeen(frozenset({"x64"}), True)], ["8-gpu"])
    assert found.level == "warning" and "organisation" in (found.fix or "")


@pytest.mark.parametrize(("mode", "level"), [("off", "warning"), ("observe", "ok"), ("propose", "ok")])
def test_the_mode_is_told(mode, level):
    read = repository_pack(f'extends: reference\nmode: "{mode}"\n')
    assert not isinstance(read, PackErrors)
    (found,) = repository_findings.of_config(NAME, read, "main")
    assert found.level == level and mode in found.sentence


def test_the_kill_switch_names_the_issue():
    (found,) = repository_findings.of_kill_switch(NAME, Refusal("kill_switch", "Stopped by issue #3."))
    assert (found.level, found.sentence) == ("warning", "Stopped by issue #3.")


def test_a_repository_without_a_hook_of_ours_is_told_what_to_add():
    (found,) = repository_findings.of_hooks(NAME, [hook("https://other.example/ci")], "https://x")
    assert found.level == "wrong" and "workflow_job" in (found.fix or "")


def test_a_rerun_file_is_read_back():
    text = kl_rerun_yml(["4-gpu-h100", "kl-cpu"], python=".venv/bin/python")
    assert read_back(text) == RerunFile(("4-gpu-h100", "kl-cpu"), PACKAGE, ".venv/bin/python", True)
    assert read_back(text.replace("\n", "\r\n")).is_current
    assert not read_back(text.replace("contents: read", "contents: write")).is_current
    older = read_back(text.replace(PACKAGE, "kl-triage==0.0.1"))
    assert older is not None and older.is_current
    found = repository_findings.of_rerun_file(NAME, True, older, ["kl-cpu"], "main")
    assert levels(found) == ["warning"] and "kl-triage==0.0.1" in found[0].sentence


@pytest.mark.parametrize("text", ["", "on: push\n", "      options: [}\n", "      options: [1\n" * 9])
def test_another_file_is_not_read_back(text):
    assert read_back(text) is None


def test_only_what_is_wrong_spoils_it():
    assert is_fine([Finding(Level.WARNING, "a", "b")]) and not is_fine([Finding(Level.WRONG, "a", "b")])
