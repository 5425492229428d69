"""The base class of CI tests: names each method in the log and gives it a second try."""

from __future__ import annotations

import sys
import time
import traceback
import unittest
from collections.abc import Callable
from typing import Any


def retry(attempt: Callable[[], Any], max_retry: int, delay: float) -> Any:
    """Calls `attempt` until it passes, at most 1 + `max_retry` times with `delay` seconds between them."""
    number = 0
    while True:
        try:
            return attempt()
        except unittest.SkipTest:
            raise
        except Exception as error:
            traceback.print_exc()
            if number == max_retry:
                # Chained, not "from": the log shows the KL failure and then this one.
                raise Exception("retry() exceed maximum number of retries.")  # noqa: B904
            print(
                f"retry() failed once ({number}th try, maximum {max_retry} retries). "
                f"Will delay {delay:.2f}s and retry. Error: {error}",
                file=sys.stderr,
            )
            time.sleep(delay)
            number += 1


class CITestCase(unittest.TestCase):
    max_retry = 1
    retry_delay = 0.02

    def setUp(self) -> None:
        # Flushed, so that the name stands before what stderr says about the method.
        print(f"[CI Test Method] {type(self).__name__}.{self._testMethodName}", flush=True)

    def _callTestMethod(self, method: Callable[[], Any]) -> None:
        retry(lambda: super(CITestCase, self)._callTestMethod(method), self.max_retry, self.retry_delay)
