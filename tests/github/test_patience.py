"""Which answers are about a rate limit, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from github import GithubException
from hypothesis import given
from hypothesis import strategies as st

from bot.github.patience import LONGEST_WAIT, limited_until

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
RESET = str(int(NOW.timestamp()) + 90)
PRIMARY = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": RESET}


def wait(status: int, headers: dict[str, str], message: str = "no") -> float | None:
    until = limited_until(GithubException(status, {"message": message}, headers), NOW)
    return None if until is None else (until - NOW).total_seconds()


@pytest.mark.parametrize(
    ("status", "headers", "message", "seconds"),
    [
        (403, PRIMARY, "API rate limit exceeded", 91.0),
        (429, PRIMARY, "API rate limit exceeded", 91.0),
        (403, {"Retry-After": "30", "X-RateLimit-Remaining": "4000"}, "no", 30.0),
        (403, {}, "You have exceeded a secondary rate limit.", 60.0),
        (429, {}, "Too many requests", 60.0),
        (403, {"X-RateLimit-Remaining": "0"}, "no", 60.0),
        (403, PRIMARY | {"X-RateLimit-Reset": "1"}, "no", 1.0),
        (403, {"Retry-After": "999999999999"}, "no", LONGEST_WAIT.total_seconds()),
        (403, PRIMARY | {"X-RateLimit-Reset": "9" * 30}, "no", LONGEST_WAIT.total_seconds()),
        (403, {"X-RateLimit-Remaining": "4000"}, "Resource not accessible by integration", None),
        (404, PRIMARY, "Not Found", None),
        (502, {"Retry-After": "30"}, "Bad gateway", None),
    ],
)
def test_the_time_to_wait_is_what_the_answer_says(status, headers, message, seconds):
    assert wait(status, headers, message) == seconds


@given(
    st.sampled_from([401, 403, 404, 429, 500]),
    st.dictionaries(
        st.sampled_from(["Retry-After", "X-RateLimit-Remaining", "x-ratelimit-reset"]), st.text(max_size=12)
    ),
)
def test_no_header_raises_or_makes_it_wait_for_days(status, headers):
    seconds = wait(status, headers)
    assert seconds is None or 0 <= seconds <= timedelta(hours=2).total_seconds()
