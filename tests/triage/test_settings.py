"""Settings from the environment: each missing one is a sentence that names it."""

import pytest

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
    assert (settings.app.app_id, settings.poll_s) == (12, 2.0)


def test_the_key_may_be_a_file(tmp_path):
    (tmp_path / "app.pem").write_text(PEM)
    settings = from_environment(environment(KL_TRIAGE_APP_KEY=str(tmp_path / "app.pem")))
    assert isinstance(settings, Settings) and settings.app.private_key == PEM


@pytest.mark.parametrize(
    ("changed", "code", "named"),
    [
        ({"KL_TRIAGE_WEBHOOK_SECRET": None}, "no_webhook_secret", "KL_TRIAGE_WEBHOOK_SECRET"),
        ({"KL_TRIAGE_WEBHOOK_SECRET": ""}, "no_webhook_secret", "KL_TRIAGE_WEBHOOK_SECRET"),
        ({"KL_TRIAGE_APP_ID": "x"}, "no_app_id", "KL_TRIAGE_APP_ID"),
        ({"KL_TRIAGE_APP_KEY": None}, "no_app_key", "KL_TRIAGE_APP_KEY"),
        ({"KL_TRIAGE_APP_KEY": "absent.pem"}, "no_app_key", "KL_TRIAGE_APP_KEY"),
        ({"KL_TRIAGE_APP_KEY": "-----BEGIN PRIVATE KEY-----\nx"}, "no_app_key", "KL_TRIAGE_APP_KEY"),
        ({"KL_TRIAGE_DATABASE_URL": "postgresql://db/kl"}, "unsupported_database", "SQLite"),
        ({"KL_TRIAGE_DATABASE_URL": "nonsense"}, "bad_database_url", "sqlite:///"),
        ({"KL_TRIAGE_GITHUB_API": "notaurl"}, "bad_api", "https://api.github.com"),
        ({"KL_TRIAGE_POLL_SECONDS": "often"}, "bad_number", "KL_TRIAGE_POLL_SECONDS"),
        ({"KL_TRIAGE_POLL_SECONDS": "nan"}, "bad_number", "KL_TRIAGE_POLL_SECONDS"),
    ],
)
def test_a_wrong_one_is_named(changed, code, named):
    refusal = from_environment(environment(**changed))
    assert isinstance(refusal, Refusal)
    assert refusal.code == code and named in refusal.sentence


def test_secrets_are_not_in_the_representation():
    assert PEM.splitlines()[1] not in repr(from_environment(environment()))
