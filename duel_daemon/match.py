"""A match: a series of duels between two sides, won by whoever wins more than half of them.

Pure. A side stays the same person throughout; the seats swap, because the first turn alternates.
"""

import enum

import attrs

from duel_daemon.events import Seat

HIGHEST_BEST_OF = 21


class Side(enum.IntEnum):
    """One of the two contestants. Side A is Player 1 in the first duel."""

    A = 0
    B = 1

    @property
    def other(self) -> "Side":
        return Side.B if self is Side.A else Side.A


@attrs.define
class Match:
    """The score so far. `best_of` is odd; 1 is a single duel."""

    best_of: int = 1
    wins: list[int] = attrs.field(factory=lambda: [0, 0])
    played: int = 0
    """Duels that ended, those without a winner included."""

    def __attrs_post_init__(self) -> None:
        if not (self.best_of % 2 == 1 and 1 <= self.best_of <= HIGHEST_BEST_OF):
            raise ValueError(f"best of {self.best_of}: an odd number up to {HIGHEST_BEST_OF}")

    @property
    def needed(self) -> int:
        """The wins that decide it."""
        return self.best_of // 2 + 1

    @property
    def winner(self) -> Side | None:
        for side in Side:
            if self.wins[side] >= self.needed:
                return side
        return None

    def seat(self, side: Side) -> Seat:
        """Where a side sits in the duel that is on, or next."""
        plays_first = (side is Side.A) == (self.played % 2 == 0)
        return Seat.ONE if plays_first else Seat.TWO

    def side(self, seat: Seat) -> Side:
        return Side.A if self.seat(Side.A) is seat else Side.B

    def record(self, winner: Seat | None) -> None:
        """A duel has ended; a decided match takes no more."""
        if self.winner is not None:
            return
        if winner is not None:
            self.wins[self.side(winner)] += 1
        self.played += 1
