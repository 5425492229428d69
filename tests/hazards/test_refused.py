"""What GitHub refuses for good takes nothing else away."""

import time

from flask import request

from tests.lab.asserts import assert_ended, assert_once
from tests.lab.faults import refuse
from tests.lab.project import red_log
from tests.lab.runner import Answer


def test_two_sites_red_at_once_in_a_locked_conversation_keep_their_verdicts_and_checks(lab):
    bench = lab(Answer())
    number = bench.open_pull()
    locked = refuse(bench.world, "PATCH", "/issues/comments/", 403, "The issue is locked.")
    bench.world.before.append(lambda: time.sleep(0.3) if "/compare/" in request.path else None)
    bench.red(number)
    bench.red(number, log=red_log("TestHybridCacheKLHiCache"))
    bench.wait()
    assert locked and bench.codes().count("comment_refused") == 2
    assert bench.kinds() == ["noise", "noise"]
    assert len({check.name for check in bench.checks()}) == 2
    assert {check.conclusion for check in bench.checks()} == {"success"}
    assert_once(bench)
    assert_ended(bench)
