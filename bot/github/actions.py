"""Workflow runs through PyGithub: what the fleet of self-hosted runners asks of GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from github import GithubException, UnknownObjectException
from github.Repository import Repository
from github.Workflow import Workflow
from github.WorkflowRun import WorkflowRun

from bot.github.blobs import BlobStream, fetched, job_log
from bot.github.events import RERUN_TITLE
from bot.github.patience import limited_until
from runners.fleets.artifact import MAX_ZIP_BYTES
from runners.fleets.github_actions import DispatchLater, DispatchRefused, RunState

RUNS_LOOKED_AT: Final = 200
RUN_DETAILS: Final = "return_run_details"


class Actions:
    """`runners.fleets.github_actions.ActionsApi` over one repository."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> int | None:
        """One POST that may start a run. Older servers do not tell the run's id; then None.

        Raises DispatchLater for a spent rate limit.
        """
        try:
            started = _started(self._repo.get_workflow(workflow), ref, dict(inputs))
        except GithubException as error:
            if limited_until(error, datetime.now(UTC)) is not None:
                raise DispatchLater from error
            if error.status == 404:
                raise DispatchRefused(
                    f"{workflow} is not on the branch {ref}; `kl-triage init` writes it."
                ) from error
            if error.status == 422:
                label = inputs.get("runner", "")
                raise DispatchRefused(
                    f"GitHub refused to start {workflow} for the runner label '{label}' (HTTP 422): it must "
                    "be among the options of that file's input 'runner'; `kl-triage init` writes it anew."
                ) from error
            if error.status in (401, 403):
                raise DispatchRefused(f"GitHub refused to start {workflow} (HTTP {error.status}).") from error
            raise
        return started.id if isinstance(started, WorkflowRun) else None

    def find_run(self, workflow: str, request_id: str) -> RunState | None:
        """By the request id in the run's name, never 'the newest'."""
        try:
            runs = self._repo.get_workflow(workflow).get_runs(event="workflow_dispatch")
            for run in islice(runs, RUNS_LOOKED_AT):
                title = RERUN_TITLE.fullmatch(run.display_title or "")
                if title is not None and title.group(1) == request_id:
                    return _state(run)
        except UnknownObjectException:
            pass
        return None

    def run_state(self, run_id: int) -> RunState | None:
        try:
            return _state(self._repo.get_workflow_run(run_id))
        except UnknownObjectException:
            return None

    def artifact(self, run_id: int, name: str) -> bytes | None:
        """The redirect leads to a blob store, which is asked without our token."""
        run = self._repo.get_workflow_run(run_id)
        for artifact in islice(run.get_artifacts(), 100):
            if artifact.name == name and not artifact.expired and artifact.size_in_bytes <= MAX_ZIP_BYTES:
                headers, _ = self._repo.requester.requestBlobAndCheck("GET", artifact.archive_download_url)
                return _artifact(str(headers["location"]))
        return None

    def log(self, run_id: int) -> Iterator[bytes]:
        """Of the first job, which is the only one of kl-rerun.yml."""
        for job in islice(self._repo.get_workflow_run(run_id).jobs(), 1):
            with job_log(self._repo, job.id) as stream:
                yield from stream or ()

    def cancel(self, run_id: int) -> None:
        """Asks that the run ends. Where GitHub does not take that from a run that goes on, it is forced."""
        try:
            self._end(run_id, "cancel")
        except GithubException as error:
            if error.status != 409 and error.status < 500:
                raise
            state = self.run_state(run_id)
            if state is not None and state.status != "completed":
                self._end(run_id, "force-cancel")

    def _end(self, run_id: int, how: str) -> None:
        """PyGithub's own `cancel` answers False to a refusal and raises nothing."""
        self._repo.requester.requestJsonAndCheck("POST", f"{self._repo.url}/actions/runs/{run_id}/{how}")


def _started(workflow: Workflow, ref: str, inputs: dict[str, str]) -> object:
    """A server that does not know `return_run_details` refuses and starts nothing: then without."""
    try:
        return workflow.create_dispatch(ref, inputs, throw=True, return_run_details=True)
    except GithubException as error:
        if error.status not in (400, 422) or RUN_DETAILS not in str(error.data):
            raise
    return workflow.create_dispatch(ref, inputs, throw=True)


def _state(run: WorkflowRun) -> RunState:
    return RunState(run.id, run.status, run.conclusion, run.html_url)


def _artifact(url: str) -> bytes | None:
    with fetched(url) as response:
        if response is None:
            return None
        pieces = BlobStream(response, max_bytes=MAX_ZIP_BYTES)
        data = b"".join(pieces)
        return None if pieces.cut else data
