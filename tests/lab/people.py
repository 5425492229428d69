"""The people of a story, over the stand-in's own REST interface and controls."""

from __future__ import annotations

from typing import Any

import requests

from bot.demo.github import DemoConfig


class People:
    """Each acts with a token of their own."""

    def __init__(self, url: str, config: DemoConfig) -> None:
        self._url, self._config = url, config
        self._session = requests.Session()

    def ask(self, method: str, path: str, who: str, /, **fields: Any) -> Any:
        """A call below /repos/{owner}/{repo}; the JSON that comes back."""
        token = self._config.users[who].token
        answer = self._session.request(
            method,
            f"{self._url}/repos/{self._config.full_name}/{path}",
            json=fields or None,
            headers={"Authorization": f"token {token}"},
            timeout=10,
        )
        assert answer.ok, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def control(self, name: str, /, **fields: Any) -> Any:
        """One of the stand-in's own controls, POST /_demo/{name}."""
        answer = self._session.post(f"{self._url}/_demo/{name}", json=fields, timeout=10)
        assert answer.ok, (name, answer.status_code, answer.text)
        return answer.json()

    def open_pull(self, branch: str, base: str = "main", who: str = "dev-a") -> int:
        made = self.ask("POST", "pulls", who, base=base, head=branch, title="A change", body="Why not.")
        return int(made["number"])

    def say(self, number: int, body: str, who: str = "dev-a") -> int:
        return int(self.ask("POST", f"issues/{number}/comments", who, body=body)["id"])

    def edit(self, comment: int, body: str, who: str = "dev-a") -> None:
        self.ask("PATCH", f"issues/comments/{comment}", who, body=body)

    def close(self, number: int, who: str = "dev-a") -> None:
        self.ask("PATCH", f"pulls/{number}", who, state="closed")
