"""Text for a terminal: wrapped to a width, with colour or without, and in ASCII where it must be."""

from __future__ import annotations

import io
from typing import Final

from rich.console import Console
from rich.table import Table

_ASCII: Final = str.maketrans(
    {"×": "x", "·": ".", "│": "|", "┊": "'", "–": "-", "—": "-", "…": "~", "≤": "<=", "’": "'"}
)


def console(width: int, color: bool) -> Console:
    """Keeps what is printed; `finished` gives it back."""
    return Console(
        file=io.StringIO(),
        record=True,
        width=max(width, 40),
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def finished(printed: Console) -> str:
    text = printed.export_text(styles=bool(printed.color_system))
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    """`right`: places of the columns that stand flush right."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        drawn.add_column(name, justify="right" if place in right else "left", header_style="dim")
    return drawn


def ascii_text(text: str) -> str:
    """For a stream that takes no UTF-8: our own signs in ASCII, any other as a question mark."""
    return text.translate(_ASCII).encode("ascii", "replace").decode()
