"""The fleet of a repository's self-hosted runners: one `workflow_dispatch` of kl-rerun.yml a plan.

A dispatch is a POST that starts GPU machines and cannot be taken back: it is sent at most once. The
request id stands in the run's name; before sending and after any unclear answer that mark is looked up.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from bot.verdict.answer import Refusal
from runners.fleets.artifact import read_artifact
from runners.fleets.fleet import Collected, Progress, State, Ticket, with_lost
from runners.fleets.job_log import readings_in_log
from runners.plan import RerunPlan

# A run shows up in the list of runs up to about 40 s after its dispatch was accepted.
APPEARS_WITHIN_S: Final = 60.0
LOOK_EVERY_S: Final = 5.0
MAX_PLAN_CHARACTERS: Final = 60_000
"""GitHub takes 65,535 characters for all inputs of a dispatch together."""


@dataclass(frozen=True, slots=True)
class RunState:
    """A workflow run as GitHub shows it: `conclusion` is None until `status` is 'completed'."""

    run_id: int
    status: str
    conclusion: str | None
    url: str | None


class DispatchRefused(Exception):
    """GitHub said no and nothing was started (403, 404, 422); the message is one sentence for the user."""


class DispatchLater(Exception):
    """GitHub takes no dispatch for a while and nothing was started; the cause says until when."""


class ActionsApi(Protocol):
    """What this fleet needs of GitHub. Reads may be retried inside; `dispatch` is one request, never two."""

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> int | None:
        """The run's id, or None when GitHub did not tell. Raises DispatchRefused or DispatchLater when it
        surely did not start; any other exception means that nobody knows."""
        ...

    def find_run(self, workflow: str, request_id: str) -> RunState | None:
        """The first run whose name carries the request id."""
        ...

    def run_state(self, run_id: int) -> RunState | None: ...

    def artifact(self, run_id: int, name: str) -> bytes | None:
        """The zip of a named artifact; None when there is none (any more) or it is too large."""
        ...

    def log(self, run_id: int) -> Iterable[bytes]:
        """The log of the run's first job, in pieces; none where there is none (any more)."""
        ...

    def cancel(self, run_id: int) -> None:
        """Raises when GitHub refuses."""
        ...


class GitHubActionsFleet:
    """`ref` is the branch the workflow is taken from (the default branch); `runner` the label it asks for."""

    def __init__(
        self,
        api: ActionsApi,
        *,
        ref: str,
        runner: str,
        workflow: str = "kl-rerun.yml",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api, self._ref, self._runner, self._workflow = api, ref, runner, workflow
        self._sleep = sleep

    def dispatch(self, plan: RerunPlan, *, maybe_sent: bool = False) -> Ticket | Refusal:
        """Find or create. A ticket without a handle: sent, not seen yet; `progress` goes on looking.

        Raises the cause of a DispatchLater.
        """
        inputs = {"request_id": plan.request, "plan": plan.to_json(), "runner": self._runner}
        if sum(map(len, inputs.values())) > MAX_PLAN_CHARACTERS:
            return Refusal(
                "plan_too_large", "The rerun plan is too large for one dispatch; ask for fewer launches."
            )
        found = self._look(plan, APPEARS_WITHIN_S if maybe_sent else 0)
        if found is not None:
            return _ticket(plan, found)
        try:
            run_id = self._api.dispatch(self._workflow, self._ref, inputs)
        except DispatchRefused as error:
            return Refusal("dispatch_refused", str(error))
        except DispatchLater as error:
            raise (error.__cause__ or error) from None
        except Exception:
            # The write may have happened before the answer was lost: look, never send again.
            run_id = None
        # It is sent: from here on a failing read must not look like a failed dispatch.
        state = None
        with contextlib.suppress(Exception):
            state = self._look(plan, APPEARS_WITHIN_S) if run_id is None else self._api.run_state(run_id)
        if state is not None:
            return _ticket(plan, state)
        return Ticket(plan, None if run_id is None else str(run_id))

    def progress(self, ticket: Ticket) -> Progress:
        state = self._state(ticket)
        planned = ticket.plan.planned
        if state is None:
            return Progress(State.LOST if ticket.handle else State.QUEUED, None, planned, ticket.url)
        if state.status == "completed":
            return Progress(State.FINISHED, None, planned, state.url, state.conclusion)
        running = State.RUNNING if state.status == "in_progress" else State.QUEUED
        return Progress(running, None, planned, state.url)

    def collect(self, ticket: Ticket) -> Collected:
        plan = ticket.plan
        state = self._state(ticket)
        if state is None:
            return _nothing(plan, "The rerun is not among the workflow runs of the repository.")
        data = self._api.artifact(state.run_id, f"kl-readings-{plan.request}")
        if data is None:
            return self._from_log(plan, state)
        readings = read_artifact(data, plan)
        if isinstance(readings, Refusal):
            return _nothing(plan, readings.sentence)
        every = with_lost(plan, readings, "the artifact has no record of this repeat")
        lost = len(every) - len(readings)
        return Collected(every, f"{lost} of {plan.planned} repeats left no record." if lost else None)

    def _from_log(self, plan: RerunPlan, state: RunState) -> Collected:
        """A job that was killed before its upload may still have said what it measured."""
        how = _ENDED.get(state.conclusion or "", f"is {state.conclusion or state.status}")
        told = f"The rerun on a runner with the label '{self._runner}' {how} and left no artifact"
        readings = readings_in_log(self._api.log(state.run_id), plan)
        if not readings:
            return _nothing(plan, f"{told}.")
        every = with_lost(plan, readings, "the log tells no value of this repeat")
        return Collected(every, f"{told}; values are those of its log, rounded and without prompts.")

    def cancel(self, ticket: Ticket) -> None:
        state = self._state(ticket)
        if state is not None and state.status != "completed":
            self._api.cancel(state.run_id)
        elif state is None and ticket.handle is not None:  # started, though GitHub does not show it
            self._api.cancel(int(ticket.handle))

    def _state(self, ticket: Ticket) -> RunState | None:
        if ticket.handle is None:
            return self._api.find_run(self._workflow, ticket.plan.request)
        return self._api.run_state(int(ticket.handle))

    def _look(self, plan: RerunPlan, for_s: float) -> RunState | None:
        """Looks at once, then again every few seconds."""
        while True:
            found = self._api.find_run(self._workflow, plan.request)
            if found is not None or for_s <= 0:
                return found
            self._sleep(LOOK_EVERY_S)
            for_s -= LOOK_EVERY_S


_ENDED: Final = {
    "success": "ended",
    "failure": "failed",
    "cancelled": "was cancelled",
    "timed_out": "ran into its time limit",
}


def _ticket(plan: RerunPlan, state: RunState) -> Ticket:
    return Ticket(plan, str(state.run_id), state.url)


def _nothing(plan: RerunPlan, sentence: str) -> Collected:
    return Collected(with_lost(plan, (), sentence), sentence)
