"""The bot's own connection to a stand-in over a real repository."""

from tests.demo_github.conftest import pem, receiver, seeded, stage  # noqa: F401
from tests.github.conftest import installations, repo  # noqa: F401
