"""What becomes of an investigation when GitHub fails for longer than a step is tried again."""

from __future__ import annotations

import sys

from urllib3 import Retry

from tests.lab.asserts import assert_ended
from tests.lab.conftest import lab, lab_database, lab_repository, pem, soon  # noqa: F401
from tests.lab.faults import refuse

connecting = sys.modules["bot.github.connect"]  # the package has a function of that name


def test_what_cannot_be_done_is_said_and_a_known_verdict_stays(lab, monkeypatch):  # noqa: F811
    monkeypatch.setattr(connecting, "_read_retry", lambda: Retry(total=0, raise_on_status=False))
    bench = lab(here=True)
    usual = list(bench.world.before)
    refuse(bench.world, "GET", "/artifacts$", 502)
    number = bench.red_pull()
    (given_up,) = bench.sticky(number)
    assert "NO VERDICT" in given_up and "the bot could not finish its work" in given_up
    assert [check.conclusion for check in bench.checks()] == ["neutral"]
    assert bench.kinds() == [None]

    bench.world.before[:] = usual
    refuse(bench.world, "GET", "/tarball/", 502)
    refuse(bench.world, "POST", "/git/blobs$", 502)
    bench.say(number, "/rerun-kl")
    bench.wait()
    (told,) = bench.sticky(number)
    assert bench.kinds() == [None, "noise"] and "NOISE" in told.splitlines()[2]
    assert "no pull request is open for it. GitHub did not answer long enough" in told
    assert "readings and chart could not be published" in told
    assert_ended(bench)
