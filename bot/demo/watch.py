"""Watching the story through GitHub's own API, as the developer would, plus the running job's log."""

from __future__ import annotations

import re
from typing import Any, Final

import requests

from bot.demo.project import NAME, OWNER

BOT: Final = "kl-triage[bot]"
_READING: Final = re.compile(r"kl-triage: (head|base) launch \d+/\d+ repeat \d+/\d+ .*?value=(\S+)")


class Watcher:
    """A person's view; every call is one or two requests."""

    def __init__(self, github_url: str, token: str) -> None:
        self._url = github_url
        self._api = f"{github_url}/repos/{OWNER}/{NAME}"
        self._http = requests.Session()
        self._http.headers["Authorization"] = f"Bearer {token}"

    def open_pull(self, title: str, body: str, branch: str) -> dict[str, Any]:
        return self._post("/pulls", {"title": title, "body": body, "head": branch, "base": "main"})

    def say(self, number: int, body: str) -> dict[str, Any]:
        return self._post(f"/issues/{number}/comments", {"body": body})

    def comments(self, number: int) -> list[dict[str, Any]]:
        """The bot's comments on a pull request."""
        return [c for c in self._get(f"/issues/{number}/comments?per_page=100") if c["user"]["login"] == BOT]

    def checks(self, sha: str) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = self._get(f"/commits/{sha}/check-runs")["check_runs"]
        return [run for run in runs if run["name"] == "kl-triage"]

    def bump_pulls(self) -> list[dict[str, Any]]:
        pulls = self._get("/pulls?state=all&per_page=100")
        return [pull for pull in pulls if pull["user"]["login"] == BOT]

    def jobs(self, sha: str, workflow: str) -> list[dict[str, Any]]:
        """Jobs of a workflow on a commit, newest run first."""
        runs = self._get(f"/actions/runs?head_sha={sha}&per_page=100")["workflow_runs"]
        mine = [run for run in runs if run["path"].endswith(workflow)]
        return [job for run in mine for job in self._get(f"/actions/runs/{run['id']}/jobs")["jobs"]]

    def reruns(self) -> list[dict[str, Any]]:
        """All dispatched runs."""
        runs: list[dict[str, Any]] = self._get("/actions/runs?event=workflow_dispatch&per_page=100")[
            "workflow_runs"
        ]
        return runs

    def readings_so_far(self, run_id: int) -> list[tuple[str, float]]:
        """(arm, value) of each reading that the log of a rerun shows yet."""
        jobs = self._get(f"/actions/runs/{run_id}/jobs")["jobs"]
        found = _READING.findall(self.log(jobs[0]["id"])) if jobs else []
        return [(arm, float(value)) for arm, value in found]

    def log(self, job_id: int) -> str:
        """The log so far, also of a running job; the blob store behind the redirect wants no token."""
        answer = self._http.get(f"{self._api}/actions/jobs/{job_id}/logs", allow_redirects=False, timeout=10)
        if answer.status_code != 302:
            return ""
        return requests.get(answer.headers["location"], timeout=10).content.decode("utf-8-sig", "replace")

    def tell_of_push(self) -> None:
        """The stand-in does not watch its repository's folder; GitHub would have received the push itself."""
        self._http.post(f"{self._url}/_demo/refresh", json={"user": "dev-a"}, timeout=30).raise_for_status()

    def post_recorded_job(self, document: dict[str, Any]) -> None:
        self._http.post(f"{self._url}/_demo/recorded-job", json=document, timeout=30).raise_for_status()

    def _get(self, path: str) -> Any:
        answer = self._http.get(self._api + path, timeout=15)
        answer.raise_for_status()
        return answer.json()

    def _post(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        answer = self._http.post(self._api + path, json=document, timeout=15)
        answer.raise_for_status()
        created: dict[str, Any] = answer.json()
        return created
