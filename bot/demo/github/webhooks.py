"""Webhooks: signed, sent in order by one background thread, recorded, never sent again by themselves."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import logging
import queue
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import requests

from bot.demo.github.config import DemoHook

log = logging.getLogger(__name__)
TIMEOUT_S = 10
KEPT = 2000
USER_AGENT = "GitHub-Hookshot/kl-demo"


@dataclass(slots=True)
class Delivery:
    """`status` is the receiver's, or None while it waits or when there was no answer (`error` says why)."""

    guid: str
    event: str
    payload: dict[str, Any]
    created_at: datetime
    status: int | None = None
    duration_s: float | None = None
    error: str | None = None
    redelivery: bool = False
    number: int = field(default_factory=itertools.count(1).__next__)

    @property
    def arrived(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    def as_dict(self) -> dict[str, object]:
        return {
            "guid": self.guid,
            "event": self.event,
            "action": self.payload.get("action"),
            "created_at": self.created_at.isoformat(),
            "status": self.status,
            "duration_s": self.duration_s,
            "error": self.error,
            "redelivery": self.redelivery,
            "payload": self.payload,
        }


class Webhooks:
    """Without a hook an event goes nowhere, as on GitHub; `observers` see every payload all the same."""

    def __init__(self, hook: DemoHook | None, app_id: int) -> None:
        self.hook = hook
        self.observers: list[Callable[[str, dict[str, Any]], None]] = []
        self._app_id = app_id
        self._deliveries: deque[Delivery] = deque(maxlen=KEPT)
        self._waiting: queue.Queue[Delivery | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def emit(self, event: str, payload: dict[str, Any]) -> None:
        """Queues a delivery. The payload is copied: later changes of state do not show in it."""
        copy = json.loads(json.dumps(payload))
        for observer in self.observers:
            observer(event, copy)
        if self.hook is not None:
            self._queue(Delivery(str(uuid.uuid4()), event, copy, datetime.now(UTC)))

    def redeliver(self, guid: str) -> bool:
        """Sends a recorded delivery again under its GUID, as the button on GitHub does."""
        for old in self.deliveries():
            if old.guid == guid:
                self._queue(Delivery(guid, old.event, old.payload, datetime.now(UTC), redelivery=True))
                return True
        return False

    def deliveries(self) -> list[Delivery]:
        return list(self._deliveries)

    def settle(self, timeout_s: float) -> bool:
        """Waits until nothing is queued or on its way."""
        deadline = time.monotonic() + timeout_s
        while self._waiting.unfinished_tasks:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join(timeout=TIMEOUT_S + 1)

    def _queue(self, delivery: Delivery) -> None:
        self._deliveries.append(delivery)
        self._waiting.put(delivery)

    def _run(self) -> None:
        while (delivery := self._waiting.get()) is not None:
            self._send(delivery)
            self._waiting.task_done()
        self._waiting.task_done()

    def _send(self, delivery: Delivery) -> None:
        hook = self.hook
        if hook is None:
            delivery.error = "no hook"
            return
        body = json.dumps(delivery.payload, ensure_ascii=False, separators=(",", ":")).encode()
        signature = hmac.new(hook.secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "X-GitHub-Delivery": delivery.guid,
            "X-GitHub-Event": delivery.event,
            "X-GitHub-Hook-ID": "1",
            "X-GitHub-Hook-Installation-Target-ID": str(self._app_id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature-256": f"sha256={signature}",
        }
        started = time.monotonic()
        try:
            answer = requests.post(
                hook.url, data=body, headers=headers, timeout=TIMEOUT_S, allow_redirects=False
            )
            delivery.status = answer.status_code
        except requests.RequestException as error:
            delivery.error = type(error).__name__
            log.warning("webhook %s %s not delivered: %s", delivery.event, delivery.guid, error)
        delivery.duration_s = round(time.monotonic() - started, 4)
