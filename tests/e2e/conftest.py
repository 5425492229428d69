"""A stage whose GitHub checks every request and answer against GitHub's published description."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from bot.demo.stage import Stage


@pytest.fixture
def stage(tmp_path) -> Iterator[Stage]:
    stage = Stage(tmp_path, github_module="tests.openapi.github")
    stage.build()
    stage.start_github()
    try:
        stage.start_bot()
        yield stage
        violations = requests.get(f"{stage.github_url}/_demo/violations", timeout=10).json()
        assert violations == [], violations
    finally:
        stage.close()
