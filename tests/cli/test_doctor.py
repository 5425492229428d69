"""`kl-triage doctor` as a person calls it: exit codes, the list, JSON, and settings from a file."""

from __future__ import annotations

import json
import socket

import pytest

from bot.report.findings import Finding, Level, findings_text, summary
from bot.triage.env_file import env_text
from runners.init import initial_files
from tests.cli.command import run
from tests.demo_github.conftest import pem, receiver, seeded, stage  # noqa: F401
from tests.demo_github.github_stage import commit

NAME = "acme/tinyserve"
UNSET = dict.fromkeys(
    (
        "KL_TRIAGE_APP_ID",
        "KL_TRIAGE_APP_KEY",
        "KL_TRIAGE_TOKEN",
        "KL_TRIAGE_WEBHOOK_SECRET",
        "KL_TRIAGE_GITHUB_API",
        "KL_TRIAGE_DATABASE_URL",
    )
)


@pytest.fixture
def settings(stage) -> dict[str, str | None]:  # noqa: F811
    """Those of a bot whose repository is set up."""
    files = initial_files("reference", ["kl-cpu"], "comment")
    commit(stage.git_dir, "main", files, "Set up", stage.server.world.default_sha)
    return UNSET | {
        "KL_TRIAGE_APP_ID": "1",
        "KL_TRIAGE_APP_KEY": stage.private_key,
        "KL_TRIAGE_WEBHOOK_SECRET": "hush",
        "KL_TRIAGE_GITHUB_API": stage.url,
    }


def test_nothing_wrong_is_0_and_reads_as_a_list(settings):
    done = run("doctor", NAME, env=settings)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["Settings", "  ok       Every setting is there and can be read."]
    assert lines[-1].startswith("1 warning, ") and lines[-1].endswith(" ok")
    assert "hush" not in done.stdout


def test_something_wrong_is_2_and_says_how_to_mend_it(settings, stage):  # noqa: F811
    commit(stage.git_dir, "main", {"README.md": "a"}, "Take it back", stage.server.world.default_sha)
    done = run("doctor", "--json", NAME, env=settings)
    document = json.loads(done.stdout)
    assert (done.returncode, document["fine"]) == (2, False)
    wrong = [found for found in document["findings"] if found["level"] == "wrong"]
    assert [found["about"] for found in wrong] == [NAME, NAME]
    assert all("kl-triage init" in found["fix"] for found in wrong)


def test_a_setting_that_lacks_is_a_finding():
    done = run("doctor", "--json", env=UNSET | {"KL_TRIAGE_STOPP": "1"})
    assert done.returncode == 2
    lacks, misspelt = json.loads(done.stdout)["findings"]
    assert "KL_TRIAGE_WEBHOOK_SECRET" in lacks["sentence"]
    assert misspelt["level"] == "warning" and "did you mean KL_TRIAGE_STOP?" in misspelt["sentence"]


def test_what_is_no_repository_is_1():
    done = run("doctor", "tinyserve", env=UNSET)
    assert done.returncode == 1 and "OWNER" not in done.stdout
    assert done.stderr == "kl-triage: 'tinyserve' is not a repository such as sgl-project/sglang.\n"


def test_settings_come_from_a_file_and_the_environment_is_stronger(settings, tmp_path):
    path = tmp_path / "kl.env"
    wrong = {"KL_TRIAGE_APP_ID": "x"}
    given = {name: value for name, value in settings.items() if value}
    (tmp_path / "app.pem").write_text(given.pop("KL_TRIAGE_APP_KEY"))
    path.write_text(env_text(given | wrong | {"KL_TRIAGE_APP_KEY": str(tmp_path / "app.pem")}))
    assert run("doctor", "--env", str(path), NAME, env=UNSET).returncode == 2
    assert run("doctor", "--env", str(path), NAME, env=UNSET | {"KL_TRIAGE_APP_ID": "1"}).returncode == 0


def test_a_file_of_settings_that_is_not_there_is_1(tmp_path):
    done = run("doctor", "--env", str(tmp_path / "absent.env"), env=UNSET)
    assert done.returncode == 1 and "absent.env cannot be read" in done.stderr


def test_findings_are_grouped_wrapped_and_counted():
    found = [
        Finding(Level.OK, "Webhook", "Signed JSON arrives."),
        Finding(Level.WRONG, "acme/x", "word " * 30, "do \x1b[31mthis"),
        Finding(Level.WARNING, "acme/x", "Careful."),
    ]
    text = findings_text(found, width=60)
    assert text.splitlines()[:4] == ["Webhook", "  ok       Signed JSON arrives.", "", "acme/x"]
    assert max(map(len, text.splitlines())) <= 60
    assert "fix: do [31mthis" in text and "\x1b" not in text
    assert summary(found) == "1 wrong, 1 warning, 1 ok"
    assert summary([found[2]] * 2) == "2 warnings"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--url", "bot.example"], "https://bot.example"),
        (["--org", "no such/org"], "is not the name of an organisation"),
        (["--name", "x" * 35], "1 to 34 characters"),
        (["--port", "70000"], "--port"),
    ],
)
def test_setup_refuses_what_github_would(tmp_path, arguments, told):
    done = run("setup", "--out", str(tmp_path), *arguments, env=UNSET)
    assert done.returncode == 1 and told in done.stderr and list(tmp_path.iterdir()) == []


def test_setup_leaves_a_file_that_is_there(tmp_path):
    (tmp_path / "kl-triage.env").write_text("mine")
    done = run("setup", "--out", str(tmp_path), env=UNSET)
    assert done.returncode == 1 and "kl-triage.env is there already" in done.stderr
    assert (tmp_path / "kl-triage.env").read_text() == "mine"


def test_setup_names_a_port_that_is_taken(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("setup", "--out", str(tmp_path), "--port", str(port), env=UNSET)
    assert done.returncode == 1 and f"Port {port} on 127.0.0.1" in done.stderr and "--port" in done.stderr


def test_serve_names_what_is_wrong_in_its_file_of_settings(tmp_path):
    (tmp_path / "kl.env").write_text("KL_TRIAGE_WEBHOOK_SECRET=hush\n")
    done = run("serve", "--env", str(tmp_path / "kl.env"), env=UNSET)
    assert done.returncode == 1 and "`kl-triage setup` makes an App" in done.stderr
    assert "hush" not in done.stderr
