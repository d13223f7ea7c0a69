"""One duel: opened, played, resigned, run out of time, left, stopped; each returns its events.

No clock, no socket, no text. An illegal call changes nothing. Whatever must survive is the game
and the list of turns: `replay` rebuilds the same duel from them.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import cycle

import attrs

from duel_daemon.events import (
    Ended,
    Event,
    Fault,
    Moved,
    Opened,
    Passed,
    Reason,
    Refused,
    Seat,
    Stuck,
    TurnBegan,
    TurnLost,
    Wrong,
)
from duel_daemon.rulebooks import RuleBook
from duel_daemon.survey import Restriction, Survey

Events = tuple[Event, ...]

REMEMBERED_MOVES = 8192


@attrs.frozen
class Game:
    """What is played: the settings of a duel."""

    book: RuleBook
    number: int
    restriction: Restriction = Restriction.ANY
    violations: int = 3
    """Invalid moves in a row by one player that forfeit, in books where they cost the turn."""

    def fault(self, number: int, divisor: int) -> Fault | None:
        """What is wrong with a move, if anything is."""
        wrong = self._wrong(number, divisor)
        return wrong and Fault(divisor, number, wrong, self.restriction)

    def _wrong(self, number: int, divisor: int) -> Wrong | None:
        if divisor == 0:
            return Wrong.ZERO
        if divisor == number:
            return Wrong.ITSELF
        if divisor > number:
            return Wrong.TOO_LARGE
        if divisor < self.book.lowest_divisor:
            return Wrong.ONE
        if number % divisor:
            return Wrong.NOT_A_DIVISOR
        if not self.restriction.allows(divisor):
            return Wrong.EXCLUDED
        return None

    def survey(self, number: int) -> Survey:
        return self.book.survey(number, self.restriction)


@attrs.frozen
class Turn:
    """A turn that was taken: a move, or a number that cost the turn."""

    seat: Seat
    divisor: int


def alternating(divisors: Iterable[int]) -> list[Turn]:
    """The turns in which these were chosen: Player 1 began, and every turn passes to the other."""
    return [Turn(seat, divisor) for seat, divisor in zip(cycle(Seat), divisors)]


@attrs.frozen
class Result:
    """Who won, if anybody, and why it ended."""

    winner: Seat | None
    reason: Reason


@attrs.define
class Duel:
    """A duel between two seats. Only its table changes it."""

    game: Game
    number: int = attrs.field(init=False)
    mover: Seat = attrs.field(default=Seat.ONE, init=False)
    turns: list[Turn] = attrs.field(factory=list, init=False)
    result: Result | None = attrs.field(default=None, init=False)
    _last_mover: Seat | None = attrs.field(default=None, init=False)
    _faults_in_a_row: list[int] = attrs.field(factory=lambda: [0] * 3, init=False)
    """By seat, the first being 1."""
    _is_open: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        game = self.game
        if not game.book.is_playable(game.number, game.restriction):
            # Whoever sets up a game has asked is_playable; here it would be a turn without an end.
            raise ValueError(f"{game.book.slug} has no duel at {game.number}")
        self.number = game.number

    @property
    def is_on(self) -> bool:
        """Whether it has been opened and has not ended."""
        return self._is_open and self.result is None

    def open(self) -> Events:
        if self._is_open:
            return ()
        self._is_open = True
        survey = self.game.survey(self.number)
        return (Opened(self.number), TurnBegan(self.mover, survey, is_first=True))

    def play(self, seat: Seat, divisor: int) -> Events:
        game = self.game
        if seat is self.mover and self.is_on:
            move = _plain_move(game.book, game.restriction, seat, self.number, divisor)
            if move is not None:
                moved, began = move
                self._take_turn(seat, divisor, moved.after)
                self.mover = began.mover
                return move
        fault = self.fault(seat, divisor)
        if fault is None:
            return self._move(seat, divisor)
        if fault.wrong in _NOT_A_TURN or not self.game.book.invalid_costs_turn:
            return (Refused(seat, fault),)
        return self._lose_turn(seat, fault)

    def fault(self, seat: Seat, divisor: int) -> Fault | None:
        """What speaks against this seat playing this divisor now."""
        if not self.is_on:
            return Fault(divisor, self.number, Wrong.OVER)
        if seat is not self.mover:
            return Fault(divisor, self.number, Wrong.NOT_YOUR_TURN)
        return self.game.fault(self.number, divisor)

    def faults_left(self, seat: Seat) -> int:
        """How many invalid moves in a row would forfeit now."""
        return self.game.violations - self._faults_in_a_row[seat]

    def resign(self, seat: Seat) -> Events:
        return self._forfeit(seat, Reason.RESIGNED)

    def run_out_of_time(self) -> Events:
        return self._forfeit(self.mover, Reason.TIME)

    def leave(self, seat: Seat) -> Events:
        return self._forfeit(seat, Reason.LEFT)

    def abandon(self) -> Events:
        """Both have left: nobody wins."""
        return self._end(None, Reason.LEFT, by=None) if self.is_on else ()

    def stop(self) -> Events:
        """The server ends it: nobody wins."""
        return self._end(None, Reason.STOPPED, by=None) if self.is_on else ()

    def _move(self, seat: Seat, divisor: int) -> Events:
        before, book = self.number, self.game.book
        self._take_turn(seat, divisor, book.result(before, divisor))
        moved = Moved(seat, divisor, before, self.number)
        survey = self.game.survey(self.number)
        if book.prime_wins and survey.is_prime:
            return (moved, *self._end(seat, Reason.PRIME_LEFT, by=seat))
        self.mover = seat.other
        return (moved, *self._begin_turn(survey))

    def _take_turn(self, seat: Seat, divisor: int, after: int) -> None:
        self.number = after
        self.turns.append(Turn(seat, divisor))
        self._faults_in_a_row[seat] = 0
        self._last_mover = seat

    def _lose_turn(self, seat: Seat, fault: Fault) -> Events:
        self.turns.append(Turn(seat, fault.attempt))
        self._faults_in_a_row[seat] += 1
        lost = TurnLost(seat, fault)
        if self._faults_in_a_row[seat] >= self.game.violations:
            return (lost, *self._end(seat.other, Reason.VIOLATIONS, by=seat))
        self.mover = seat.other
        return (lost, *self._begin_turn(self.game.survey(self.number)))

    def _begin_turn(self, survey: Survey) -> Events:
        if survey.count:
            return (TurnBegan(self.mover, survey, is_first=False),)
        if not self.game.book.stuck_passes:
            stuck = Stuck(self.mover, survey)
            return (stuck, *self._end(self.mover.other, Reason.NO_MOVE_LEFT, by=self.mover))
        # Neither side can move at this number any more: one pass each, as the book prints it.
        passes = (Passed(self.mover, survey), Passed(self.mover.other, survey))
        return (*passes, *self._end(self._last_mover, Reason.LAST_MOVE, by=self._last_mover))

    def _forfeit(self, seat: Seat, reason: Reason) -> Events:
        return self._end(seat.other, reason, by=seat) if self.is_on else ()

    def _end(self, winner: Seat | None, reason: Reason, by: Seat | None) -> Events:
        self.result = Result(winner, reason)
        return (Ended(winner, reason, by, self.number),)


@lru_cache(REMEMBERED_MOVES)
def _plain_move(
    book: RuleBook, restriction: Restriction, seat: Seat, number: int, divisor: int
) -> tuple[Moved, TurnBegan] | None:
    """A legal move after which it is the other one's turn, as nearly every move is.

    A class plays the same few numbers over and over, so what a move leads to is remembered.
    """
    if Game(book, number, restriction).fault(number, divisor) is not None:
        return None
    after = book.result(number, divisor)
    survey = book.survey(after, restriction)
    if not survey.count or (book.prime_wins and survey.is_prime):
        return None
    return Moved(seat, divisor, number, after), TurnBegan(seat.other, survey, is_first=False)


_NOT_A_TURN = frozenset({Wrong.OVER, Wrong.NOT_YOUR_TURN})


def replay(game: Game, turns: Iterable[Turn]) -> Duel:
    """The duel that these turns lead to. Turns that were never legal are a caller's mistake."""
    duel = Duel(game)
    duel.open()
    for turn in turns:
        events = duel.play(turn.seat, turn.divisor)
        if isinstance(events[0], Refused):
            raise ValueError(f"{turn} is no turn at {duel.number}")
    return duel
