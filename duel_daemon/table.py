"""One match being played: the only owner of its duel and of the turn clock.

Players act on it through their own tasks; the table's task keeps the time, gives up the seats of
those who do not come back, moves for the house and makes the pauses between the duels of a match.
"""

import math
import random
from collections.abc import Callable

import attrs
import trio

from duel_daemon import ledger, scoreboard
from duel_daemon.aside import consider
from duel_daemon.contestant import Contestant, House
from duel_daemon.duel import Duel, Events, Game, Result, alternating, replay
from duel_daemon.events import Ended, Reason, Refused, Seat, TurnBegan, TurnLost
from duel_daemon.finished import Finished
from duel_daemon.journal import Journal
from duel_daemon.kept import KeptDuel, KeptTable
from duel_daemon.match import Mirror, Side
from duel_daemon.narrator import Telling, house, seconds, tell
from duel_daemon.peer import Post
from duel_daemon.retelling import transcript
from duel_daemon.review import review
from duel_daemon.seating import Pace, Seating
from duel_daemon.survey import HEAVY_NUMBER
from duel_daemon.timetable import Reminder, Timetable
from duel_daemon.turnclock import Alarm, Ticker

PAUSE_SECONDS = 5.0  # between the duels of a match: time to read the score
READING_SECONDS = 20.0  # and once more so much, if one of them looks how the last duel went


@attrs.frozen
class Venue:
    """What the tables of a hall share."""

    rng: random.Random
    post: Post
    journal: Journal
    timetable: Timetable
    now: Callable[[], float]
    """The wall clock, for the record."""
    start: Callable[["Table"], None]
    """Have it see to what is due, in a task."""
    on_duel_over: Callable[["Table", Finished], None]
    on_over: Callable[["Table"], None]


@attrs.define(eq=False)
class Table(Seating):
    """Two contestants and a series of duels between them. Side A moves first in the first."""

    violations: int
    venue: Venue
    _has_begun: bool = attrs.field(default=False, init=False)
    _started: float = attrs.field(default=0.0, init=False)
    _turn_seconds: list[float] = attrs.field(factory=list, init=False)
    _ticker: Ticker = attrs.field(factory=Ticker, init=False)
    _resume_at: float = attrs.field(default=0.0, init=False)
    """When the next duel of the match begins."""
    _has_waited_for_reader: bool = attrs.field(default=False, init=False)
    _is_busy: bool = attrs.field(default=False, init=False)
    """A task sees to what is due."""
    _reminder: Reminder | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.duel = Duel(self._next_game())

    @classmethod
    def rebuilt(
        cls, kept: KeptTable, sides: tuple[Contestant, Contestant], pace: Pace, venue: Venue
    ) -> "Table":
        """The table as it was, from what the journal has kept. Both are away until they are back.

        A duel whose end was not written down any more has ended all the same, if its last move
        ended it.
        """
        table = cls(
            kept.terms, sides, kept.ident, kept.uid, kept.codes, pace, kept.why_first,
            kept.violations, venue,
        )  # fmt: skip
        table.stored, table.presence.losses = kept.stored, [*kept.losses]
        for duel in kept.duels:
            table._take_up(duel)
        if not table.duel.is_on and not table.series.is_over:
            table._resume_at = trio.current_time() + PAUSE_SECONDS
        return table

    def _take_up(self, kept: KeptDuel) -> None:
        self._has_begun = True
        game = attrs.evolve(self.terms.game(self.violations, self.venue.rng), number=kept.number)
        self.duel = replay(game, alternating(divisor for divisor, _ in kept.turns))
        self._started = kept.started
        self._turn_seconds = [took for _, took in kept.turns]
        result = self.duel.result
        if kept.ended is not None:
            result = Result(Seat(kept.winner) if kept.winner else None, Reason(kept.reason))
            self.duel.result = result
        if result is not None:
            self._remember(result, kept.ended or self._ends_at())
        else:
            extra = 0.0 if kept.turns else self.pace.first_turn_extra_seconds
            self._set_clock(extra)

    # What the players do.

    def begin(self) -> None:
        """Tell both who they are and open the first duel."""
        self._has_begun = True
        self.introduce()
        self.tell_watch_count(trio.current_time())
        self._open_duel()

    async def play(self, contestant: Contestant, divisor: int) -> None:
        """A number was typed by somebody who sits here."""
        seat, duel = self.seat_of(contestant), self.duel
        if duel.number > HEAVY_NUMBER and duel.fault(seat, divisor) is None:
            after = duel.game.book.result(duel.number, divisor)
            await consider(after, duel.game.survey, after)
            if not duel.is_on:  # it may have ended meanwhile
                return
        self._play(contestant, seat, divisor)

    def play_at_once(self, contestant: Contestant, divisor: int) -> bool:
        """The same, unless there is no duel on or it takes thinking; whether it is done."""
        if self.duel.number > HEAVY_NUMBER or not self.duel.is_on:
            return False
        self._play(contestant, self.seat_of(contestant), divisor)
        return True

    def _play(self, contestant: Contestant, seat: Seat, divisor: int) -> None:
        duel = self.duel
        events = duel.play(seat, divisor)
        if type(events[0]) is not Refused:
            self._keep_turn(divisor)
        self._follow(events)
        if duel.is_on and type(events[0]) is TurnLost and duel.faults_left(seat) == 1:
            contestant.house("One more invalid move in a row, and you lose the duel.")

    def _keep_turn(self, divisor: int) -> None:
        """Nothing is told before it is kept."""
        took = self._ticker.used(trio.current_time())
        self._turn_seconds.append(took)
        self.venue.journal.write_soon(ledger.turn_line(self.ident, divisor, took))

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

    def lose(self, contestant: Contestant) -> None:
        """A connection is lost; the seat may be kept for a while."""
        side = self.side_of(contestant)
        if self.is_practice or not self.presence.lose(side, trio.current_time()):
            self.leave(contestant)
            return
        for reader in (self.sides[side.other], *self.watchers):
            reader.house(
                f"{contestant.name} has lost the connection; the seat is kept for "
                f"{seconds(self.pace.return_seconds)}."
            )
        self._stand_or_go_on()
        self.wake()

    def wait_for(self, contestant: Contestant) -> None:
        """Somebody is away through no fault of theirs: our restart costs nobody time."""
        self.presence.excuse(self.side_of(contestant), trio.current_time())
        self._stand_or_go_on()

    def come_back(self, contestant: Contestant) -> None:
        """A player is here again, on a new screen; or on the old one, after a restart."""
        side = self.side_of(contestant)
        if self.presence.is_away(side):
            self.presence.come_back(side)
            for reader in (self.sides[side.other], *self.watchers):
                reader.house(f"{contestant.name} is back.")
        self._stand_or_go_on()
        if self._has_begun:  # else all that is still to be told
            self.show_position(contestant, self.seconds_left())
        self.wake()

    @property
    def unfinished(self) -> KeptDuel:
        """The duel that is on, as the journal keeps it."""
        turns = zip(self.duel.turns, self._turn_seconds, strict=True)
        timed = [(turn.divisor, round(took, 3)) for turn, took in turns]
        return KeptDuel(self.duel.game.number, self._started, timed)

    def stop(self) -> None:
        """The server closes, or something better came up. Whoever stops it tells the players."""
        self.duel.stop()
        self._be_over()

    async def transcript(self) -> str:
        """The duel that is on, or was last on, as a watcher has read it up to this moment."""
        while True:
            duel, turns = self.duel, tuple(self.duel.turns)
            if not duel.is_on and duel.result is None:
                return ""  # it is about to be opened
            text = await consider(duel.game.number, transcript, duel.game, turns, duel.result)
            if duel is self.duel and len(turns) == len(duel.turns):  # else it has gone on meanwhile
                break
        score = scoreboard.score(self.series, self.names_by_side)
        return text if duel.is_on else f"{text}{house(f'{score}.')}"

    # What nobody else sees to: the time, the house's moves, the pauses.

    def wake(self) -> None:
        """See to what is due, in a task; or when something will be."""
        if self._is_busy or self.is_over:
            return
        due = self._due()
        if due <= trio.current_time():
            self._is_busy = True
            self.venue.start(self)
        else:
            self._remind(due)

    def _due(self) -> float:
        if not self._has_begun:
            return -math.inf
        if not self.duel.is_on:
            due = -math.inf if self.series.is_over else self._resume_at
        elif isinstance(self.at(self.duel.mover), House):
            due = -math.inf
        else:
            due = self._ticker.alarm.at
        return min(due, self.presence.due)

    def _remind(self, due: float) -> None:
        """A reminder that comes too early does no harm: what is due is looked at then."""
        if self._reminder is not None:
            if self._reminder.at <= due:
                return
            self._reminder.cancel()
        if due < math.inf:
            self._reminder = self.venue.timetable.remind(due, self._on_reminder)

    def _on_reminder(self) -> None:
        self._reminder = None
        self.wake()

    async def run(self) -> None:
        """All that is due."""
        while not self.is_over and self._due() <= trio.current_time():  # noqa: ASYNC913
            await self._next_step()
            self.venue.post.deliver()
        self._is_busy = False
        self.wake()

    async def _next_step(self) -> None:
        mover = self.at(self.duel.mover)
        if not self._has_begun:
            await consider(self.duel.number, self.duel.game.survey, self.duel.number)
            if not self.is_over:
                self.begin()
        elif self.presence.due <= trio.current_time():
            self._give_up_seats()
        elif not self.duel.is_on:
            await self._between_duels()
        elif isinstance(mover, House):
            game, number = self.duel.game, self.duel.number
            await self.play(mover, await consider(number, mover.choose, game, number))
        else:
            self._ring(self._ticker.ring())

    def seconds_left(self) -> float:
        """Of the turn that is on; infinite without a clock."""
        return self._ticker.left(trio.current_time())

    def _set_clock(self, extra_seconds: float = 0.0) -> None:
        """A turn begins.

        The reminder that there is comes no later than this turn's alarms, and so it stays: a turn
        costs no place in the timetable. Only after the longer first turn they may come before.
        """
        given = self.pace.turn_seconds and self.pace.turn_seconds + extra_seconds
        self._ticker.set(trio.current_time(), given)
        if self.presence.anybody_is_away:
            self._stand_or_go_on()
        self._remind(self._ticker.first_alarm_at)

    def _stand_or_go_on(self) -> None:
        runs = self.presence.clock_runs_for(self.series.side(self.duel.mover))
        (self._ticker.go_on if runs else self._ticker.stand)(trio.current_time())

    def _ring(self, alarm: Alarm) -> None:
        if alarm.seconds_left:
            self.at(self.duel.mover).house(f"{seconds(alarm.seconds_left)} left for this turn.")
        else:
            self._follow(self.duel.run_out_of_time())

    def _give_up_seats(self) -> None:
        """Whoever is away has been waited for long enough."""
        if not self.presence.both_are_away:
            for side in self.presence.overdue(trio.current_time()):
                self.leave(self.sides[side])
        elif self.duel.is_on:
            self._follow(self.duel.abandon())
        else:
            self._close()

    async def _between_duels(self) -> None:
        if self.series.is_over:
            if isinstance(self.series, Mirror) and self.series.needs_mistakes:
                await self._count_mistakes(self.series)
            if not self.is_over:  # somebody may have left meanwhile
                self._announce_match()
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
        return self.terms.game(self.violations, self.venue.rng)

    # What follows from it all.

    def _open_duel(self) -> None:
        self._started, self._turn_seconds = self.venue.now(), []
        self.venue.journal.write(ledger.begin(self.ident, self.duel.number, self._started))
        self.presence.begin_duel()
        events = self.duel.open()
        self._set_clock(self.pace.first_turn_extra_seconds)
        self._follow(events)

    def _follow(self, events: Events) -> None:
        """Tell everybody, ask the mover, and see to what comes next."""
        telling, last = tell(self.duel.game, events), events[-1]
        if type(last) is TurnBegan:
            self._begin_turn(last, telling)
            return
        self.at(Seat.ONE).tell(telling.one)
        self.at(Seat.TWO).tell(telling.two)
        for watcher in self.watchers:
            watcher.tell(telling.watchers)
        if type(last) is Ended:
            self._conclude(last)

    def _begin_turn(self, began: TurnBegan, telling: Telling) -> None:
        seat = began.mover
        mover = self.at(seat)
        mover.ask(self.duel.game.book.prompt(seat), telling.to(seat))
        self.opponent_of(mover).ask(None, telling.to(seat.other))
        for watcher in self.watchers:
            watcher.tell(telling.watchers)
        if not began.is_first:
            self._set_clock()
        if len(self.watchers) != self._told_watching:
            self.tell_watch_count(trio.current_time())
        if type(mover) is House:
            self.wake()

    def _conclude(self, ended: Ended) -> None:
        """The duel is over: remember it, tell both how it went, and go on or end."""
        now = self._ends_at()
        self.venue.journal.write(ledger.end(self.ident, ended.winner, ended.reason.value, now))
        seats = {seat: self.at(seat) for seat in Seat}
        result = Result(ended.winner, ended.reason)
        self._remember(result, now)
        for seat, contestant in seats.items():
            contestant.ask(None)
            contestant.house(scoreboard.outcome(seat, result, seats[seat.other].name))
        leaver = seats[ended.by] if ended.reason is Reason.LEFT and ended.by else None
        if ended.reason is Reason.LEFT and leaver is None:
            self._close()  # both have left
        elif leaver is not None and not self._is_lost_by(leaver):
            self._close(f"{self.opponent_of(leaver).name} wins the match.")
        elif not self.series.is_over:
            self._announce_next_duel()
        elif isinstance(self.series, Mirror) and self.series.needs_mistakes:
            self.wake()
        else:
            self._announce_match()

    def _ends_at(self) -> float:
        """Now, but never before it began: somebody may have set the clock."""
        return max(self._started, self.venue.now())

    def _remember(self, result: Result, ended: float) -> None:
        finished = Finished(
            f"{self.uid}.{len(self.finished) + 1}",
            self.terms,
            self.duel.game,
            tuple(self.duel.turns),
            tuple(self._turn_seconds),
            result,
            {seat: self.at(seat) for seat in Seat},
            self._started,
            ended,
        )
        self.finished.append(finished)
        self.series.record(result.winner)
        self.venue.on_duel_over(self, finished)

    def _is_lost_by(self, leaver: Contestant) -> bool:
        """Whether the match is decided for the other side already, without the leaving."""
        winner = self.series.winner
        return winner is not None and self.sides[winner] is not leaver

    def _announce_next_duel(self) -> None:
        self._resume_at = trio.current_time() + PAUSE_SECONDS
        self._has_waited_for_reader = False
        first = self.at(Seat.ONE)
        self.tell_all(
            f"{scoreboard.score(self.series, self.names_by_side)}.",
            f"The next duel begins in {seconds(PAUSE_SECONDS)}; {first.name} is Player 1 then.",
        )
        for side in self.sides if not self.terms.mirror else ():
            side.house("Type review to see how this one went.")
        self.wake()

    def wait_for_reader(self) -> None:
        """Between two duels somebody reads how the last one went: the next one waits, once."""
        if not (self._has_waited_for_reader or self.series.is_over):
            self._has_waited_for_reader = True
            self._resume_at = trio.current_time() + READING_SECONDS
            self.tell_all(f"The next duel begins in {seconds(READING_SECONDS)}: time to read.")

    def _announce_match(self) -> None:
        self._close(scoreboard.verdict(self.series, self.names_by_side))

    def _forfeit_match(self, leaver: Contestant, how: str = "") -> None:
        left = " ".join(filter(None, (f"{leaver.name} has left the match", how)))
        self._close(f"{left}. {self.opponent_of(leaver).name} wins the match.")

    def _close(self, verdict: str = "") -> None:
        self._be_over()
        self.verdict = verdict
        if verdict:
            self.tell_all(verdict)
        self.venue.on_over(self)

    def _be_over(self) -> None:
        self.is_over = True
        if self._reminder is not None:
            self._reminder.cancel()
