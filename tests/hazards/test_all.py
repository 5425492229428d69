"""The list is whole: none of the 32 hazards is without a story."""

from __future__ import annotations

import re
from pathlib import Path

HAZARDS = set(range(1, 33))


def test_every_hazard_has_a_test_named_for_it():
    sources = (path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    named = {
        int(number) for text in sources for number in re.findall(r"^def test_hazard_(\d\d)_", text, re.M)
    }
    assert named == HAZARDS
