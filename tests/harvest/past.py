"""A past of CI runs on the stand-in: runs, attempts, jobs and their logs, told to nobody."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from flask import request

from bot.demo.executor import Runner
from bot.demo.github import World
from bot.demo.github.state import Job, LogFault, Run
from bot.demo.github.workflows import register

PATH = "test/registered/kl/test_a.py"
TEST = f"{PATH}::TestA.test_decode"
CONFIG = "extends: reference\nmode: comment\n"


def block(*values: float, method: str = "test_decode") -> list[str]:
    """A green check that printed these per-prompt values; its value is their mean."""
    mean = sum(values) / len(values)
    return [
        f"[CI Test Method] TestA.{method}",
        f"kl_divs={list(values)}",
        f"avg_kl_div={mean}",
        "ACC_THRESHOLDS={'kl_div': 0.003}",
    ]


def log(*lines: str, path: str = PATH) -> str:
    """The whole log of a job that ran one test file."""
    head = [
        "Current runner version: '2.330.0'",
        "Runner name: 'from-the-log'",
        "Begin (0/0):",
        f"python3 /r/_work/x/x/{path}",
    ]
    return "\n".join([*head, *lines, "End (0/0):", "Cleaning up orphan processes", ""])


def green(value: float = 0.002) -> str:
    return log(*block(value - 0.001, value + 0.001))


def ago(**time: float) -> datetime:
    return (datetime.now(UTC) - timedelta(**time)).replace(microsecond=0)


@dataclass
class PastCI:
    """Makes runs newest last; counts what is asked for."""

    world: World
    asked: list[str] = field(default_factory=list)
    """Paths of the API requests so far, without the repository's own."""

    def __post_init__(self) -> None:
        prefix = f"/repos/{self.world.config.full_name}"
        self.world.before.append(lambda: self.asked.append(request.path.removeprefix(prefix)))

    def run(
        self,
        *logs: str,
        at: datetime | None = None,
        event: str = "push",
        branch: str = "main",
        workflow: str = "ci.yml",
        conclusion: str = "success",
        fork: str | None = None,
        **job: object,
    ) -> Run:
        """An ended run with one job for each log."""
        w, at = self.world, at or ago(days=2)
        path = f".github/workflows/{workflow}"
        number = w.state.next_id("run")
        suite = w.state.suite(f"github-actions/{number}", w.default_sha)
        sha, who = w.default_sha, w.owner
        made = Run(number, 1, register(w, path, None), event, "A run", branch, sha, who, suite, at, at)
        made.status, made.conclusion, made.head_repository = "completed", conclusion, fork
        w.state.runs[made.id] = made
        for text in logs:
            self.job(made, text, **job)
        return made

    def job(
        self,
        run: Run,
        text: str,
        name: str = "kl (1)",
        labels: tuple[str, ...] = ("self-hosted", "kl-cpu"),
        conclusion: str = "success",
        runner: str = "runner-1",
        fault: LogFault | None = None,
    ) -> Job:
        """An ended job of the run's latest attempt, begun a second after the one before it."""
        w = self.world
        at = run.created_at + timedelta(seconds=sum(job.run is run for job in w.state.jobs.values()))
        job = Job(w.state.next_id("check"), run, name, labels, at, "completed", conclusion, at, at)
        job.runner, job.attempts, job.log_fault = Runner(1, runner, labels), (run.attempt,), fault
        job.log += text.encode()
        w.state.jobs[job.id] = job
        return job

    def rerun(self, run: Run, *, new_ids: bool = False) -> None:
        """Begins another attempt, into which the jobs that passed are carried over: as they are, or as
        copies that have ids of their own."""
        state, run.attempt = self.world.state, run.attempt + 1
        for job in [job for job in state.jobs.values() if job.run is run and job.conclusion == "success"]:
            if new_ids:
                number = state.next_id("check")
                state.jobs[number] = replace(job, id=number, attempts=(run.attempt,))
            else:
                job.attempts = (*job.attempts, run.attempt)

    def logs_asked(self) -> list[int]:
        """Ids of the jobs whose logs were asked for, in order."""
        return [int(path.split("/")[3]) for path in self.asked if path.endswith("/logs")]
