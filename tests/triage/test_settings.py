"""Settings from the environment: each missing one is a sentence that names it."""

import pytest

from bot.github import AppCredentials, TokenCredentials
from bot.triage.env_file import SERVER, env_text, read_env_file, unknown_settings
from bot.triage.settings import Settings, from_environment
from bot.verdict import Refusal
from tests.demo_github.github_stage import keys

PEM = keys()[0]


def environment(**changed: str | None) -> dict[str, str]:
    env = {
        "KL_TRIAGE_WEBHOOK_SECRET": "s",
        "KL_TRIAGE_APP_ID": "12",
        "KL_TRIAGE_APP_KEY": PEM,
        "KL_TRIAGE_DATABASE_URL": "sqlite:///kl.sqlite",
    } | changed
    return {name: value for name, value in env.items() if value is not None}


def test_all_there():
    settings = from_environment(environment(KL_TRIAGE_POLL_SECONDS="2"))
    assert isinstance(settings, Settings)
    assert isinstance(settings.credentials, AppCredentials)
    assert (settings.credentials.app_id, settings.poll_s, settings.sweep_s) == (12, 2.0, 600.0)


def test_the_key_may_be_a_file(tmp_path):
    (tmp_path / "app.pem").write_text(PEM)
    settings = from_environment(environment(KL_TRIAGE_APP_KEY=str(tmp_path / "app.pem")))
    assert isinstance(settings, Settings) and settings.credentials.private_key == PEM


@pytest.mark.parametrize(
    ("changed", "code", "named"),
    [
        ({"KL_TRIAGE_WEBHOOK_SECRET": None}, "no_webhook_secret", "KL_TRIAGE_WEBHOOK_SECRET"),
        ({"KL_TRIAGE_WEBHOOK_SECRET": ""}, "no_webhook_secret", "KL_TRIAGE_WEBHOOK_SECRET"),
        ({"KL_TRIAGE_APP_ID": "x"}, "no_app_id", "KL_TRIAGE_APP_ID"),
        ({"KL_TRIAGE_APP_ID": None}, "no_app_id", "KL_TRIAGE_APP_ID"),
        ({"KL_TRIAGE_APP_ID": "9" * 40}, "no_app_id", "KL_TRIAGE_APP_ID"),
        ({"KL_TRIAGE_APP_KEY": None}, "no_app_key", "KL_TRIAGE_APP_KEY"),
        ({"KL_TRIAGE_APP_KEY": "a\0b"}, "no_app_key", "KL_TRIAGE_APP_KEY"),
        ({"KL_TRIAGE_TOKEN": "github_pat_x"}, "two_credentials", "KL_TRIAGE_APP_ID and KL_TRIAGE_APP_KEY"),
        (
            {"KL_TRIAGE_TOKEN": "github_pat_x", "KL_TRIAGE_APP_KEY": None},
            "two_credentials",
            "KL_TRIAGE_TOKEN",
        ),
        ({"KL_TRIAGE_APP_ID": None, "KL_TRIAGE_APP_KEY": None}, "no_credentials", "kl-triage setup"),
        ({"KL_TRIAGE_APP_KEY": "absent.pem"}, "no_app_key", "KL_TRIAGE_APP_KEY"),
        ({"KL_TRIAGE_APP_KEY": "-----BEGIN PRIVATE KEY-----\nx"}, "no_app_key", "KL_TRIAGE_APP_KEY"),
        ({"KL_TRIAGE_DATABASE_URL": "postgresql://db/kl"}, "unsupported_database", "SQLite"),
        ({"KL_TRIAGE_DATABASE_URL": "nonsense"}, "bad_database_url", "sqlite:///"),
        ({"KL_TRIAGE_GITHUB_API": "notaurl"}, "bad_api", "https://api.github.com"),
        ({"KL_TRIAGE_POLL_SECONDS": "often"}, "bad_number", "KL_TRIAGE_POLL_SECONDS"),
        ({"KL_TRIAGE_GITHUB_API": "https://a@b"}, "bad_api", "https://api.github.com"),
        ({"KL_TRIAGE_SWEEP_SECONDS": "-1"}, "bad_number", "KL_TRIAGE_SWEEP_SECONDS"),
        ({"KL_TRIAGE_STOP": "maybe"}, "bad_switch", "KL_TRIAGE_STOP must be 1 or 0"),
        ({"KL_TRIAGE_POLL_SECONDS": "nan"}, "bad_number", "KL_TRIAGE_POLL_SECONDS"),
    ],
)
def test_a_wrong_one_is_named(changed, code, named):
    refusal = from_environment(environment(**changed))
    assert isinstance(refusal, Refusal)
    assert refusal.code == code and named in refusal.sentence


@pytest.mark.parametrize(
    ("text", "stop"),
    [("1", True), ("true", True), ("Yes", True), ("on", True)]
    + [(text, False) for text in ("", " ", "0", "off", "False", "no")],
)
def test_the_operators_stop_is_on_or_off(text, stop):
    settings = from_environment(environment(KL_TRIAGE_STOP=text))
    assert isinstance(settings, Settings) and settings.stop is stop


def token_environment(**changed: str | None) -> dict[str, str]:
    return environment(KL_TRIAGE_APP_ID=None, KL_TRIAGE_APP_KEY=None, **changed)


def test_a_token_takes_the_place_of_the_app():
    settings = from_environment(token_environment(KL_TRIAGE_TOKEN=" github_pat_x\n"))
    assert isinstance(settings, Settings)
    assert settings.credentials == TokenCredentials("github_pat_x", "https://api.github.com")
    assert "github_pat_x" not in repr(settings)


@pytest.mark.parametrize("text", ["two words", "a\r\nX-Header: b", "short"])
def test_what_is_no_token_is_not_shown(text):
    refusal = from_environment(token_environment(KL_TRIAGE_TOKEN=text))
    assert isinstance(refusal, Refusal) and refusal.code == "bad_token" and text not in refusal.sentence


@pytest.mark.parametrize("given", ["https://ghe.example/api/v3", "https://ghe.example/api/v3/"])
def test_an_enterprise_server_is_named_by_its_api(given):
    settings = from_environment(environment(KL_TRIAGE_GITHUB_API=given))
    assert isinstance(settings, Settings)
    assert settings.credentials.base_url == "https://ghe.example/api/v3"


def test_an_empty_address_is_the_public_one():
    settings = from_environment(environment(KL_TRIAGE_GITHUB_API=""))
    assert isinstance(settings, Settings) and settings.credentials.base_url == "https://api.github.com"


@pytest.mark.parametrize("value", ["12", "/srv/my keys/app.pem", "it's", "a$b`c`", "x#y"])
def test_a_file_of_settings_is_read_as_it_was_written(tmp_path, value):
    path = tmp_path / "kl.env"
    path.write_text(f"# ours\n\n{env_text({'KL_TRIAGE_APP_ID': value})}")
    assert read_env_file(path) == {"KL_TRIAGE_APP_ID": value}


def test_a_plain_value_is_written_without_quotes_for_docker():
    assert env_text({"KL_TRIAGE_APP_KEY": "/srv/kl/app.pem"}) == "KL_TRIAGE_APP_KEY=/srv/kl/app.pem\n"


@pytest.mark.parametrize(
    "line", ["PATH=/bin", "KL_TRIAGE_APP_ID=1 2", "KL_TRIAGE_APP_ID='1", "KL_TRIAGE_APP_ID", "hunter2"]
)
def test_a_line_that_is_no_setting_is_named_by_its_number_alone(tmp_path, line):
    path = tmp_path / "kl.env"
    path.write_text(f"export KL_TRIAGE_EXECUTOR_ID=a\n{line}\n")
    refusal = read_env_file(path)
    assert isinstance(refusal, Refusal)
    assert f"{path}:2:" in refusal.sentence and "hunter2" not in refusal.sentence


def test_a_misspelt_setting_is_named_with_the_nearest_one(tmp_path):
    path = tmp_path / "kl.env"
    path.write_text("KL_TRIAGE_WEBHOOK_SECRETT=hush\n")
    refusal = read_env_file(path)
    assert isinstance(refusal, Refusal) and "hush" not in refusal.sentence
    assert refusal.sentence.endswith(
        ":1: KL_TRIAGE_WEBHOOK_SECRETT is no setting; did you mean KL_TRIAGE_WEBHOOK_SECRET?"
    )
    assert unknown_settings([*SERVER, "KL_TRIAGE_STOPP", "PATH"]) == ["KL_TRIAGE_STOPP"]


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    refusal = read_env_file(tmp_path / "absent.env")
    assert isinstance(refusal, Refusal) and "No such file" in refusal.sentence


def test_secrets_are_not_in_the_representation():
    assert PEM.splitlines()[1] not in repr(from_environment(environment()))
