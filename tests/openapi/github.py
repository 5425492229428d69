"""`python -m tests.openapi.github …`: `bot.demo.github` with the checker on, for end-to-end tests."""

from __future__ import annotations

import sys

from bot.demo.github.__main__ import main
from tests.openapi.watch import watch

if __name__ == "__main__":
    sys.exit(main(prepare=watch))
