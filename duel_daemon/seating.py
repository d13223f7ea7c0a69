"""Who sits where at a table, and who looks on."""

import math

import attrs

from duel_daemon.contestant import Contestant, House
from duel_daemon.events import Seat
from duel_daemon.match import Match, Mirror, Series, Side
from duel_daemon.terms import Terms

# How often the players are told who comes and goes: so many times in so long.
WATCH_TELLINGS = 4
WATCH_SECONDS = 60.0


@attrs.define(eq=False)
class Seating:
    """Two sides, whose seats swap from duel to duel, and the watchers."""

    terms: Terms
    sides: tuple[Contestant, Contestant]
    series: Series = attrs.field(init=False)
    watchers: list[Contestant] = attrs.field(factory=list, init=False)
    is_over: bool = attrs.field(default=False, init=False)
    _told_watching: int = attrs.field(default=0, init=False)
    _told_at: tuple[float, ...] = attrs.field(default=(-math.inf,) * WATCH_TELLINGS, init=False)

    @series.default
    def _as_agreed(self) -> Series:
        return Mirror() if self.terms.mirror else Match(self.terms.best_of)

    def side_of(self, contestant: Contestant) -> Side:
        return Side.A if self.sides[Side.A] is contestant else Side.B

    def seat_of(self, contestant: Contestant) -> Seat:
        return self.series.seat(self.side_of(contestant))

    def at(self, seat: Seat) -> Contestant:
        return self.sides[self.series.side(seat)]

    def opponent_of(self, contestant: Contestant) -> Contestant:
        a, b = self.sides
        return b if a is contestant else a

    @property
    def is_practice(self) -> bool:
        return any(isinstance(side, House) for side in self.sides)

    @property
    def names(self) -> str:
        return f"{self.at(Seat.ONE).name} against {self.at(Seat.TWO).name}"

    @property
    def names_by_side(self) -> tuple[str, str]:
        return self.sides[Side.A].name, self.sides[Side.B].name

    def tell_all(self, *lines: str) -> None:
        """Lines of the house to everybody here."""
        for contestant in (*self.sides, *self.watchers):
            contestant.house(*lines)

    def watch(self, watcher: Contestant, now: float) -> None:
        self.watchers.append(watcher)
        self.tell_watch_count(now)

    def unwatch(self, watcher: Contestant, now: float) -> None:
        self.watchers.remove(watcher)
        self.tell_watch_count(now)

    def tell_watch_count(self, now: float) -> None:
        """To the two who are watched, while they play; but not each time.

        Nobody can flood them by coming and going. What is not told at once is told with a turn.
        """
        count = len(self.watchers)
        if count == self._told_watching or self.is_over or now < self._told_at[0] + WATCH_SECONDS:
            return
        self._told_watching, self._told_at = count, (*self._told_at[1:], now)
        texts = {0: "Nobody is watching any more.", 1: "1 person is watching."}
        for side in self.sides:
            side.house(texts.get(count, f"{count} people are watching."))
