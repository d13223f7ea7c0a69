"""A duel that has ended, as its players remember it. Pure."""

import attrs

from duel_daemon.contestant import Contestant, House
from duel_daemon.duel import Game, Result, Turn
from duel_daemon.events import Seat
from duel_daemon.narrator import house
from duel_daemon.retelling import ending
from duel_daemon.scoreboard import outcome
from duel_daemon.terms import Terms


@attrs.frozen
class Finished:
    """What was played, by whom, and how it ended."""

    uid: str
    """Unique over restarts: the match's, and which duel of it this was."""
    terms: Terms
    game: Game
    turns: tuple[Turn, ...]
    turn_seconds: tuple[float, ...]
    result: Result
    seats: dict[Seat, Contestant]
    """Who sat where."""
    started: float
    ended: float
    """By the wall clock."""

    @property
    def is_practice(self) -> bool:
        return any(isinstance(contestant, House) for contestant in self.seats.values())

    def seat_of(self, contestant: Contestant) -> Seat:
        return Seat.ONE if self.seats[Seat.ONE] is contestant else Seat.TWO

    def told_again(self, contestant: Contestant) -> str:
        """How it ended, to a player who may not have read it."""
        seat = self.seat_of(contestant)
        won = outcome(seat, self.result, self.seats[seat.other].name)
        return f"{ending(self.game, self.turns, self.result, seat)}{house(won)}"
