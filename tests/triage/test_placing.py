"""How high a value may be that an earlier verdict answers."""

import pytest

from bot.triage.red.placing import _ceiling


def reading(arm, value, label, status="ok"):
    return {"arm": arm, "test": "t.py::T.test_a", "status": status, "value": value, "label": label}


RECORDS = [
    reading("head", 0.0024, "first"),
    reading("base", 0.0031, "first"),
    reading("head", 0.0033, None),
    reading("base", 0.0180, "second"),
    reading("head", None, None, "lost"),
]


@pytest.mark.parametrize(("label", "highest"), [("first", 0.0033), ("second", 0.0180), (None, 0.0180)])
def test_the_ceiling_is_that_of_the_judged_check(label, highest):
    assert _ceiling(RECORDS, label) == highest


def test_where_the_judged_check_gave_no_value_there_is_none():
    assert _ceiling(RECORDS[3:], "first") is None
