"""Who sits where at a table, what they have agreed on, who looks on; and how each is told so."""

import math

import attrs

from duel_daemon import scoreboard
from duel_daemon.contestant import Contestant, House
from duel_daemon.duel import Duel
from duel_daemon.events import Seat
from duel_daemon.finished import Finished
from duel_daemon.limits import SoOften
from duel_daemon.match import Match, Mirror, Series, Side
from duel_daemon.narrator import HOUSE, seconds
from duel_daemon.presence import Presence
from duel_daemon.retelling import last_turn
from duel_daemon.terms import Terms

# How often the players are told who comes and goes: so many times in so long.
WATCH_TELLINGS = 4
WATCH_SECONDS = 60.0


@attrs.frozen
class Pace:
    """How long a turn may take, and how long a lost connection's seat is kept."""

    turn_seconds: float
    first_turn_extra_seconds: float
    return_seconds: float


@attrs.define(eq=False)
class Seating:
    """Two sides, whose seats swap from duel to duel, and the watchers."""

    terms: Terms
    sides: tuple[Contestant, Contestant]
    ident: int
    uid: str
    """Unique over restarts."""
    codes: tuple[str, str]
    """What each must know to come back to the seat."""
    pace: Pace
    why_first: str
    """How it came that side A moves first, in a few words; {mover} is who that is."""
    duel: Duel = attrs.field(init=False)
    """The one that is on, was last on, or is about to begin."""
    finished: list[Finished] = attrs.field(factory=list, init=False)
    stored: dict[str, int] = attrs.field(factory=dict, init=False)
    """Which of them the players know to be stored, and under which number."""
    verdict: str = attrs.field(default="", init=False)
    """How the match as a whole ended, if there is more to say than of its last duel."""
    presence: Presence = attrs.field(init=False)
    series: Series = attrs.field(init=False)
    watchers: list[Contestant] = attrs.field(factory=list, init=False)
    is_over: bool = attrs.field(default=False, init=False)
    _told_watching: int = attrs.field(default=0, init=False)
    _watch_tellings: SoOften[None] = attrs.field(
        factory=lambda: SoOften(WATCH_TELLINGS, WATCH_SECONDS), init=False
    )

    @series.default
    def _as_agreed(self) -> Series:
        return Mirror() if self.terms.mirror else Match(self.terms.best_of)

    @presence.default
    def _everybody_is_there(self) -> Presence:
        return Presence(self.pace.return_seconds)

    def side_of(self, contestant: Contestant) -> Side:
        return Side.A if self.sides[Side.A] is contestant else Side.B

    def seat_of(self, contestant: Contestant) -> Seat:
        return self.series.seat(self.side_of(contestant))

    def code_of(self, contestant: Contestant) -> str:
        return self.codes[self.side_of(contestant)]

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

    # What they are told of all this.

    @property
    def game_text(self) -> str:
        """The terms with the number that was drawn, if one was."""
        return attrs.evolve(self.terms, number=self.duel.game.number).text

    def introduction(self, game: str) -> tuple[str, str]:
        """Who plays what, and who is who, in the duel that is on or was last on."""
        seats = self.finished[-1].seats if self.duel.result else {s: self.at(s) for s in Seat}
        one, two = seats[Seat.ONE].name, seats[Seat.TWO].name
        return f"{one} against {two}: {game}.", f"Player 1 is {one}."

    def introduce(self) -> None:
        """Everybody reads who plays whom, and what."""
        for side in Side:
            contestant, opponent = self.sides[side], self.sides[side.other]
            seat = self.series.seat(side)
            mover = "you" if seat is Seat.ONE else opponent.name
            order = f"{mover} {'move' if seat is Seat.ONE else 'moves'} first"
            contestant.house(
                f"Your opponent is {opponent.name}.",
                f"You are {seat.label}; {order} ({self.why_first.format(mover=mover)}).",
                f"{self.game_text}; {self._pace_text}.",
            )
            contestant.tell(self.if_lost(side))
        for watcher in self.watchers:  # whoever watched the last game of these two
            watcher.house("They play again.", *self.introduction(self.game_text))

    @property
    def _pace_text(self) -> str:
        if not self.pace.turn_seconds:
            return "take all the time you like"
        return f"{seconds(self.pace.turn_seconds)} a turn"

    def if_lost(self, side: Side) -> str:
        """How to come back. One line, however long: people copy from it."""
        if self.is_practice:
            return ""
        if not self.pace.return_seconds:
            return f"{HOUSE}Whoever leaves or loses the connection loses the duel.\n"
        return (
            f"{HOUSE}If you lose the connection, connect again and answer the name prompt with: "
            f"{self.sides[side].name} {self.codes[side]}\n"
        )

    def show_position(self, contestant: Contestant, seconds_left: float) -> None:
        """To somebody who is back: where things stand, and the question if it is their turn."""
        side, seat = self.side_of(contestant), self.seat_of(contestant)
        opponent = self.sides[side.other]
        contestant.house(f"You play {opponent.name}: {self.game_text}. You are {seat.label}.")
        if not self.duel.is_on and self.finished:  # its end may not have been read
            contestant.tell(self.finished[-1].told_again(contestant))
        if not self.terms.is_single:
            contestant.house(f"{scoreboard.score(self.series, self.names_by_side)}.")
        if self.presence.is_away(side.other):
            contestant.house(f"{opponent.name} is away; the seat is kept for a while.")
        if not self.duel.is_on:
            return
        contestant.tell(last_turn(self.duel.game, self.duel.turns, seat))
        if seconds_left < math.inf:
            who = "you" if self.duel.mover is seat else opponent.name
            contestant.house(f"{seconds(seconds_left)} left for {who}.")
        if self.duel.mover is seat:
            contestant.ask(self.duel.game.book.prompt(seat))

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
        if count == self._told_watching or self.is_over or self._watch_tellings.take(None, now):
            return
        self._told_watching = count
        texts = {0: "Nobody is watching any more.", 1: "1 person is watching."}
        for side in self.sides:
            side.house(texts.get(count, f"{count} people are watching."))
