"""Text that fits a screen: lines wrapped and columns aligned by what a terminal shows."""

from collections.abc import Iterable, Sequence

from duel_daemon.wire import columns

SCREEN_COLUMNS = 77  # of 80: the house's "* " comes before, and the last column stays free
SHOWN_CHARACTERS = 20  # of what was typed and is not known


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines that fit, the later ones indented. A word longer than a line stays where it is."""
    if len(text) <= SCREEN_COLUMNS and text.isascii():
        return [text]
    lines: list[str] = []
    room = 0
    for word in text.split(" "):
        width = columns(word)
        if lines and (width < room or width > SCREEN_COLUMNS):
            lines[-1] += f" {word}"
            room -= 1 + width
        else:
            start = indent if lines else ""
            lines.append(start + word)
            room = SCREEN_COLUMNS - len(start) - width
    return lines


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, every column as wide as its widest cell."""
    table = [list(row) for row in rows]
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in table
    ]


def counted(number: int, thing: str) -> str:
    """`1 table`, `2 tables`."""
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"


def short(typed: str) -> str:
    """What somebody typed, to be said back to them: not all of it, if a cat did."""
    return typed if len(typed) <= SHOWN_CHARACTERS else f"{typed[:SHOWN_CHARACTERS]}..."


def short_number(typed: int) -> str:
    """The same for the beginning of a sentence about a number."""
    return str(typed) if typed < 10**SHOWN_CHARACTERS else "That number"


def either(names: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
