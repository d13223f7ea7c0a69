"""Text that fits a screen: lines wrapped and columns aligned by what a terminal shows."""

import textwrap
from collections.abc import Iterable, Sequence

from duel_daemon.wire import columns

SCREEN_COLUMNS = 77  # of 80: the house's "* " comes before, and the last column stays free


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, SCREEN_COLUMNS, break_long_words=False, break_on_hyphens=False)


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
