"""What the person at the terminal sees: the steps, the reruns as they come in, and the ending."""

from __future__ import annotations

import re
import time
from statistics import median
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from bot.demo.ending import Ending
from bot.demo.play import Measured, Step


class Show:
    """Prints each step once; the bar of the reruns moves in a terminal and is one line a round elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._said = 0

    def __call__(self, event: Step | Measured) -> None:
        if isinstance(event, Step):
            self.step(event.title, event.detail)
        else:
            self._measured(event)

    def step(self, title: str, detail: str = "") -> None:
        self._console.print(
            f"[dim]{time.monotonic() - self._start:5.1f} s[/]  [bold]{title}[/]", highlight=False
        )
        if detail:
            self._console.print(f"         {detail}", markup=False, highlight=False, soft_wrap=True)

    def _measured(self, seen: Measured) -> None:
        text = f"reruns, round {seen.rounds}: {arms(seen)}"
        if not self._console.is_terminal:
            if seen.done >= seen.planned > self._said:
                self._said = seen.planned
                self.step(f"{seen.done} of {seen.planned} {text}")
            return
        if self._bar is None:
            columns = (
                BarColumn(30),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
            )
            self._bar = Progress(TextColumn("        "), *columns, console=self._console)
            self._bar.start()
            self._task = self._bar.add_task(text, total=seen.planned)
        if self._task is not None:
            self._bar.update(self._task, completed=seen.done, total=seen.planned, description=text)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def ending(self, ending: Ending, wrong: list[str], expected: str) -> None:
        """The verdict, the comment and the pull request as text, and whether it is the right end."""
        self.close()
        self.step("kl-triage has answered", str(ending.verdict.get("sentence", "")))
        for comment in ending.comments[:1]:
            self._document("The comment on the pull request", comment)
        for bump in ending.bumps[:1]:
            self._document(f"The draft pull request #{bump['number']}: {bump['title']}", bump)
            self._console.print(Panel(ending.diff, title="its whole diff", title_align="left"), markup=False)
        check = f"check run: {ending.checks[0]['conclusion']}" if ending.checks else "no check run"
        self._console.print(
            f"\n{check}; evidence: {len(ending.evidence)} files on kl-triage/evidence", highlight=False
        )
        for sentence in wrong:
            self._console.print(f"[bold red]wrong:[/] {sentence}", highlight=False, soft_wrap=True)
        if not wrong:
            self._console.print(
                f"[bold green]right:[/] {expected} was the answer to give here.", highlight=False
            )

    def _document(self, title: str, item: dict[str, Any]) -> None:
        self._console.print(Panel(Markdown(visible(item["body"] or "")), title=title, title_align="left"))
        self._console.print(item["html_url"], highlight=False, soft_wrap=True)


def arms(seen: Measured) -> str:
    """`head 0.00214 (12)  base 0.00209 (12)`: median and count of each arm."""
    parts = [f"{arm} {median(values):.5f} ({len(values)})" for arm, values in seen.values.items() if values]
    return "  ".join(parts) or "none measured yet"


def visible(markdown: str) -> str:
    """A comment without its hidden blocks, the folded parts named but not shown."""
    text = re.sub(r"<!--.*?-->", "", markdown, flags=re.DOTALL)
    folded = re.sub(
        r"<details>\s*<summary>(.*?)</summary>.*?</details>", r"(folded: \1)\n", text, flags=re.DOTALL
    )
    chart = re.sub(r"```mermaid.*?```", "(a chart of the runs)", folded, flags=re.DOTALL)
    return re.sub(r"<[^>\n]{1,80}>", "", chart).strip()
