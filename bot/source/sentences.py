"""Words of refusals: line numbers as a list, and untrusted names made short and printable."""

from __future__ import annotations

MAX_NAME = 200


def line_list(numbers: list[int]) -> str:
    """'3 and 9', '3, 9 and 12'; the first five."""
    shown = [str(number) for number in numbers[:5]]
    return " and ".join(shown) if len(shown) < 3 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def shortened(untrusted: str) -> str:
    printable = "".join(c if c.isprintable() else "?" for c in untrusted)
    return printable if len(printable) <= MAX_NAME else printable[: MAX_NAME - 3] + "..."


def of_file(path: str, own: str) -> str:
    """' of kits/kl.py' behind a line number that is not one of the test's own file."""
    return "" if path == own else f" of {shortened(path)}"
