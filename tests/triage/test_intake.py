"""What a delivery queues, and that its key is what it means."""

from bot.store import open_database
from bot.triage.intake import Outcome
from tests.github.test_events import main_run
from tests.web.test_webhook import CountingIntake


def test_a_run_of_the_default_branch_queues_one_harvest_for_each_attempt(tmp_path):
    intake = CountingIntake(open_database(f"sqlite:///{tmp_path}/kl.sqlite"))
    assert intake.receive("guid-0001", "workflow_run", main_run()) is Outcome.ACCEPTED
    assert intake.receive("guid-0001", "workflow_run", main_run()) is Outcome.DUPLICATE
    assert intake.receive("guid-0002", "workflow_run", main_run(head_branch="topic")) is Outcome.IGNORED
    assert intake.queued == ["harvest:acme/tinyserve:9:2"]
