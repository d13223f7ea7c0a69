"""One match being played: the only owner of its duel and of the turn clock.

Players act on it through their own tasks; the table's task keeps the time, moves for the house
and makes the pauses between the duels of a match.
"""

import random
from collections.abc import Callable, Iterable, Sequence

import attrs
import trio

from duel_daemon.aside import consider
from duel_daemon.contestant import Contestant, House
from duel_daemon.duel import Duel, Events, Game, Result, Turn
from duel_daemon.events import Ended, Reason, Seat, TurnBegan
from duel_daemon.match import Match, Mirror, Series, Side
from duel_daemon.narrator import house, seconds, tell
from duel_daemon.peer import Post
from duel_daemon.review import review
from duel_daemon.terms import Terms
from duel_daemon.turnclock import Alarm, TurnClock

PAUSE_SECONDS = 5.0  # between the duels of a match: time to read the score
TURNS_RETOLD = 100  # to somebody who begins to watch


@attrs.frozen
class Pace:
    """How long a turn may take."""

    turn_seconds: float
    first_turn_extra_seconds: float


@attrs.frozen
class Finished:
    """A duel that has ended, as its players remember it."""

    terms: Terms
    game: Game
    turns: tuple[Turn, ...]
    result: Result
    seats: dict[Seat, Contestant]
    """Who sat where."""

    @property
    def is_practice(self) -> bool:
        return any(isinstance(contestant, House) for contestant in self.seats.values())

    def seat_of(self, contestant: Contestant) -> Seat:
        return Seat.ONE if self.seats[Seat.ONE] is contestant else Seat.TWO


@attrs.define(eq=False)
class Table:
    """Two contestants and a series of duels between them. Side A moves first in the first."""

    ident: int
    terms: Terms
    sides: tuple[Contestant, Contestant]
    pace: Pace
    violations: int
    rng: random.Random
    post: Post
    on_over: Callable[["Table"], None]
    why_first: str
    """How it came that side A moves first, in a few words."""

    series: Series = attrs.field(init=False)
    duel: Duel = attrs.field(init=False)
    finished: list[Finished] = attrs.field(factory=list, init=False)
    watchers: list[Contestant] = attrs.field(factory=list, init=False)
    is_over: bool = attrs.field(default=False, init=False)
    _has_begun: bool = attrs.field(default=False, init=False)
    _clock: TurnClock = attrs.field(default=TurnClock(0.0, 0.0), init=False)
    _warned_at: float = attrs.field(default=0.0, init=False)
    """The last alarm that was rung for this turn, or its beginning."""
    _resume_at: float = attrs.field(default=0.0, init=False)
    """When the next duel of the match begins."""
    _sleep: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)

    def __attrs_post_init__(self) -> None:
        self.series = Mirror() if self.terms.mirror else Match(self.terms.best_of)
        self.duel = Duel(self._next_game())

    # Who sits where.

    def seat_of(self, contestant: Contestant) -> Seat:
        return self.series.seat(Side.A if self.sides[Side.A] is contestant else Side.B)

    def at(self, seat: Seat) -> Contestant:
        return self.sides[self.series.side(seat)]

    def opponent_of(self, contestant: Contestant) -> Contestant:
        return self.sides[Side.B] if self.sides[Side.A] is contestant else self.sides[Side.A]

    @property
    def is_practice(self) -> bool:
        return any(isinstance(side, House) for side in self.sides)

    @property
    def names(self) -> str:
        return f"{self.at(Seat.ONE).name} against {self.at(Seat.TWO).name}"

    @property
    def seating(self) -> str:
        """Who is who, in the duel that is on or was last on."""
        seats = self.finished[-1].seats if self.duel.result else {s: self.at(s) for s in Seat}
        return f"Player 1 is {seats[Seat.ONE].name}, Player 2 is {seats[Seat.TWO].name}"

    # What the players do.

    def begin(self) -> None:
        """Tell both who they are and open the first duel."""
        self._has_begun = True
        for side in Side:
            contestant, opponent = self.sides[side], self.sides[side.other]
            seat = self.series.seat(side)
            order = "you move first" if seat is Seat.ONE else f"{opponent.name} moves first"
            contestant.house(
                f"Your opponent is {opponent.name}.",
                f"You are {seat.label}; {order} ({self.why_first}).",
                f"{self._game_text()}; {self._pace_text()}.",
                *self._forfeit_lines(),
            )
        for watcher in self.watchers:  # whoever watched the last game of these two
            watcher.house("They play again.", f"{self.seating}. {self._game_text()}.")
        if self.watchers:
            self._tell_watch_count()
        self._open_duel()

    def _game_text(self) -> str:
        """The terms with the number that was drawn, if one was."""
        return attrs.evolve(self.terms, number=self.duel.number).text

    def _pace_text(self) -> str:
        if not self.pace.turn_seconds:
            return "take all the time you like"
        return f"{seconds(self.pace.turn_seconds)} a turn"

    def _forfeit_lines(self) -> Iterable[str]:
        if not self.is_practice:
            yield "Whoever leaves or loses the connection loses the duel."

    async def play(self, contestant: Contestant, divisor: int) -> None:
        """A number was typed by somebody who sits here."""
        seat, duel = self.seat_of(contestant), self.duel
        if duel.fault(seat, divisor) is None:
            after = duel.game.book.result(duel.number, divisor)
            await consider(after, duel.game.survey, after)
        if duel.is_on:  # it may have ended while a large number was considered
            self._follow(duel.play(seat, divisor))

    def resign(self, contestant: Contestant) -> None:
        """Give up the duel that is on; between duels, the match."""
        if self.duel.is_on:
            self._follow(self.duel.resign(self.seat_of(contestant)))
        else:
            self._forfeit_match(contestant, "(resigned)")

    def leave(self, contestant: Contestant) -> None:
        """Leave for good: the duel is lost, and the match with it."""
        if self.duel.is_on:
            self._follow(self.duel.leave(self.seat_of(contestant)))
        if not self.is_over:
            self._forfeit_match(contestant)

    def stop(self) -> None:
        """The server closes. It tells the players itself."""
        self.duel.stop()
        self.is_over = True
        self._sleep.cancel()

    def watch(self, watcher: Contestant) -> None:
        self.watchers.append(watcher)
        self._tell_watch_count()

    def unwatch(self, watcher: Contestant) -> None:
        self.watchers.remove(watcher)
        self._tell_watch_count()

    def _tell_watch_count(self) -> None:
        if self.is_over:
            return
        count = len(self.watchers)
        texts = {0: "Nobody is watching any more.", 1: "1 person is watching."}
        for side in self.sides:
            side.house(texts.get(count, f"{count} people are watching."))

    async def transcript(self) -> str:
        """The duel that is on, or was last on, as a watcher has read it up to this moment."""
        while True:
            duel, turns = self.duel, tuple(self.duel.turns)
            if not duel.is_on and duel.result is None:
                return ""  # it is about to be opened
            text = await consider(duel.game.number, transcript, duel.game, turns, duel.result)
            if duel is self.duel and len(turns) == len(duel.turns):  # else it has gone on meanwhile
                break
        return text if duel.is_on else f"{text}{house(f'{self._score()}.')}"

    # The table's own task: the time, the house's moves, the pauses.

    async def run(self) -> None:
        while not self.is_over:
            await self._next_step()
            self.post.deliver()

    async def _next_step(self) -> None:
        mover = self.at(self.duel.mover)
        if not self._has_begun:
            await consider(self.duel.number, self.duel.game.survey, self.duel.number)
            if not self.is_over:
                self.begin()
        elif not self.duel.is_on:
            await self._between_duels()
        elif isinstance(mover, House):
            game, number = self.duel.game, self.duel.number
            await self.play(mover, await consider(number, mover.choose, game, number))
        else:
            await self._keep_time()

    def seconds_left(self) -> float:
        """Of the turn that is on; infinite without a clock."""
        return self._clock.left(trio.current_time())

    def _set_clock(self, extra_seconds: float = 0.0) -> None:
        """A turn begins.

        This does not wake the table's task, as the next turn's alarms come later than the one it
        sleeps for: a turn costs no deadline. Only after the longer first turn they may not.
        """
        given = self.pace.turn_seconds and self.pace.turn_seconds + extra_seconds
        self._clock = TurnClock(trio.current_time(), given)
        self._warned_at = self._clock.began
        first_alarm = self._clock.next_alarm(self._warned_at).at
        if first_alarm < self._sleep.deadline:
            self._sleep.deadline = first_alarm

    async def _keep_time(self) -> None:
        """Ring the alarm that is due, or sleep until one is."""
        alarm = self._clock.next_alarm(self._warned_at)
        if trio.current_time() < alarm.at:
            await self._rest(alarm.at)
        else:
            self._warned_at = alarm.at
            self._ring(alarm)

    def _ring(self, alarm: Alarm) -> None:
        if alarm.seconds_left:
            self.at(self.duel.mover).house(f"{seconds(alarm.seconds_left)} left for this turn.")
        else:
            self._follow(self.duel.run_out_of_time())

    async def _rest(self, until: float) -> None:
        """Sleep, unless something happens that this task must see to."""
        with trio.CancelScope(deadline=until) as self._sleep:
            await trio.sleep_forever()

    async def _between_duels(self) -> None:
        if isinstance(self.series, Mirror) and self.series.needs_mistakes:
            await self._count_mistakes(self.series)
            if not self.is_over:  # somebody may have left meanwhile
                self._announce_match()
        elif trio.current_time() < self._resume_at:
            await self._rest(self._resume_at)
        else:
            self.duel = Duel(self._next_game())
            await consider(self.duel.number, self.duel.game.survey, self.duel.number)
            if not self.is_over:
                self._open_duel()

    async def _count_mistakes(self, mirror: Mirror) -> None:
        mistakes = [0, 0]
        for duel in self.finished:
            reviewed = await consider(duel.game.number, review, duel.game, duel.turns)
            for side in Side:
                mistakes[side] += reviewed.mistakes(duel.seat_of(self.sides[side]))
        mirror.mistakes = mistakes

    def _next_game(self) -> Game:
        if self.terms.mirror and self.finished:
            return self.finished[0].game
        return self.terms.game(self.violations, self.rng)

    # What follows from it all.

    def _open_duel(self) -> None:
        self._set_clock(self.pace.first_turn_extra_seconds)
        self._follow(self.duel.open())

    def _follow(self, events: Events) -> None:
        """Tell everybody, ask the mover, and see to what comes next."""
        self._tell(events)
        last = events[-1]
        if isinstance(last, Ended):
            self._conclude(last)
        elif isinstance(last, TurnBegan):
            if not last.is_first:
                self._set_clock()
            self._ask(last.mover)

    def _tell(self, events: Events) -> None:
        telling = tell(self.duel.game, events)
        self.at(Seat.ONE).tell(telling.one)
        self.at(Seat.TWO).tell(telling.two)
        for watcher in self.watchers:
            watcher.tell(telling.watchers)

    def _ask(self, mover: Seat) -> None:
        self.at(mover.other).ask(None)
        self.at(mover).ask(self.duel.game.book.prompt(mover))
        if isinstance(self.at(mover), House):
            self._sleep.cancel()

    def _conclude(self, ended: Ended) -> None:
        """The duel is over: remember it, tell both how it went, and go on or end."""
        seats = {seat: self.at(seat) for seat in Seat}
        result = Result(ended.winner, ended.reason)
        self.finished.append(
            Finished(self.terms, self.duel.game, tuple(self.duel.turns), result, seats)
        )
        for seat, contestant in seats.items():
            contestant.ask(None)
            contestant.house(_outcome(seat, ended, seats[seat.other].name))
        self.series.record(ended.winner)
        if (
            ended.reason is Reason.LEFT
            and ended.by is not None
            and not self._is_lost_by(seats[ended.by])
        ):
            self._tell_all(f"{seats[ended.by.other].name} wins the match.")
            self._close()
        elif not self.series.is_over:
            self._announce_next_duel()
        elif isinstance(self.series, Mirror) and self.series.needs_mistakes:
            self._sleep.cancel()
        else:
            self._announce_match()

    def _is_lost_by(self, leaver: Contestant) -> bool:
        """Whether the match is decided for the other side already, without the leaving."""
        winner = self.series.winner
        return winner is not None and self.sides[winner] is not leaver

    def _announce_next_duel(self) -> None:
        self._resume_at = trio.current_time() + PAUSE_SECONDS
        first = self.at(Seat.ONE)
        self._tell_all(
            f"{self._score()}.",
            f"The next duel begins in {seconds(PAUSE_SECONDS)}; {first.name} is Player 1 then.",
        )
        for side in self.sides:
            side.house("Type review to see how this one went.")
        self._sleep.cancel()

    def _announce_match(self) -> None:
        if self.series.played > 1:
            self._tell_all(f"{self._score()}. {self._match_result()}")
        self._close()

    def _score(self) -> str:
        a, b = (f"{self.sides[side].name} {self.series.wins[side]}" for side in Side)
        return f"The score: {a}, {b}"

    def _match_result(self) -> str:
        winner, series = self.series.winner, self.series
        by_mistakes = ""
        if isinstance(series, Mirror) and series.mistakes is not None:
            a, b = (f"{self.sides[side].name} {series.mistakes[side]}" for side in Side)
            by_mistakes = f" (mistakes: {a}, {b})"
        if winner is None:
            return f"The match is drawn{by_mistakes}."
        return f"{self.sides[winner].name} wins the match{by_mistakes}."

    def _forfeit_match(self, leaver: Contestant, how: str = "") -> None:
        left = " ".join(filter(None, (f"{leaver.name} has left the match", how)))
        self._tell_all(f"{left}. {self.opponent_of(leaver).name} wins the match.")
        self._close()

    def _tell_all(self, *lines: str) -> None:
        text = house(*lines)
        for contestant in (*self.sides, *self.watchers):
            contestant.tell(text)

    def _close(self) -> None:
        self.is_over = True
        self._sleep.cancel()
        self.on_over(self)


def _outcome(seat: Seat, ended: Ended, opponent: str) -> str:
    if ended.winner is None:
        return "Nobody won this duel."
    return f"You won against {opponent}!" if ended.winner is seat else f"{opponent} won this duel."


def transcript(game: Game, turns: Sequence[Turn], result: Result | None = None) -> str:
    """A duel retold to a watcher; of a very long one only the last turns."""
    left_out = max(0, len(turns) - TURNS_RETOLD) // 2 * 2  # even, so that Player 1 comes next
    number = game.number
    for turn in turns[:left_out]:
        if game.fault(number, turn.divisor) is None:
            number = game.book.result(number, turn.divisor)
    duel = Duel(attrs.evolve(game, number=number))
    opened, began = duel.open()
    told = [tell(game, (opened,)).watchers, tell(game, (began,)).watchers]
    if left_out:
        told[0] = house(f"({left_out} earlier turns are left out)")
    told += [tell(game, duel.play(turn.seat, turn.divisor)).watchers for turn in turns[left_out:]]
    if result is not None and result.winner is not None and duel.is_on:
        # Not by the rules: whoever did not win had enough, or no time left.
        ended = Ended(result.winner, result.reason, result.winner.other, duel.number)
        told.append(tell(game, (ended,)).watchers)
    return "".join(told)
