"""A series of duels between two sides: a match (best of K) or a mirror match.

Pure. A side stays the same person throughout; the seats swap, because the first turn alternates.
"""

import enum
from typing import ClassVar

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


_SIDES = (Side.A, Side.B)
_SEATS = (Seat.ONE, Seat.TWO)


@attrs.define
class Series:
    """Duels between the same two sides, the first turn alternating."""

    wins: list[int] = attrs.field(factory=lambda: [0, 0], kw_only=True)
    played: int = attrs.field(default=0, kw_only=True)
    """Duels that ended, those without a winner included."""

    @property
    def is_over(self) -> bool:
        raise NotImplementedError

    @property
    def winner(self) -> Side | None:
        """Who has won it; nobody, while it goes on or when it is drawn."""
        raise NotImplementedError

    def seat(self, side: Side) -> Seat:
        """Where a side sits in the duel that is on, or next."""
        return _SEATS[(side + self.played) % 2]

    def side(self, seat: Seat) -> Side:
        return _SIDES[(seat - Seat.ONE + self.played) % 2]

    def record(self, winner: Seat | None) -> None:
        """A duel has ended; a series that is over takes no more."""
        if self.is_over:
            return
        if winner is not None:
            self.wins[self.side(winner)] += 1
        self.played += 1


@attrs.define
class Match(Series):
    """Best of K: first to win more than half. `best_of` is odd; 1 is a single duel."""

    best_of: int = 1

    def __attrs_post_init__(self) -> None:
        if not (self.best_of % 2 == 1 and 1 <= self.best_of <= HIGHEST_BEST_OF):
            raise ValueError(f"best of {self.best_of}: an odd number up to {HIGHEST_BEST_OF}")

    @property
    def needed(self) -> int:
        """The wins that decide it."""
        return self.best_of // 2 + 1

    @property
    def is_over(self) -> bool:
        return max(self.wins) >= self.needed

    @property
    def winner(self) -> Side | None:
        return _leader(self.wins) if self.is_over else None


@attrs.define
class Mirror(Series):
    """The same number twice with the sides swapped, because the first player usually can win.

    Won by whoever wins both; if each wins one, by whoever made fewer mistakes; else drawn.
    """

    mistakes: list[int] | None = None
    """Per side, over both duels; counted only if the wins do not decide."""

    DUELS: ClassVar[int] = 2

    @property
    def is_over(self) -> bool:
        return self.played >= self.DUELS

    @property
    def needs_mistakes(self) -> bool:
        return self.is_over and self.wins[Side.A] == self.wins[Side.B] and self.mistakes is None

    @property
    def winner(self) -> Side | None:
        if not self.is_over:
            return None
        by_wins = _leader(self.wins)
        if by_wins is not None or self.mistakes is None:
            return by_wins
        return _leader([-count for count in self.mistakes])


def _leader(points: list[int]) -> Side | None:
    if points[Side.A] == points[Side.B]:
        return None
    return Side.A if points[Side.A] > points[Side.B] else Side.B
