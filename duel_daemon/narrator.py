"""Events -> what each side reads: the rule book's dialogue, and the house's own lines.

The mover reads the book to the letter. Everybody else, the opponent and the watchers, reads the
same lines at the same moments; the prompt line reaches them when it has been answered, completed
with the divisor. What the house says starts with "* ", which no rule book's line does. Pure.
"""

from collections.abc import Sequence
from functools import lru_cache

import attrs

from duel_daemon.duel import Game
from duel_daemon.events import (
    Ended,
    Event,
    Fault,
    Moved,
    Reason,
    Refused,
    Seat,
    TurnBegan,
    TurnLost,
    Wrong,
)
from duel_daemon.rulebooks import RuleBook
from duel_daemon.rulebooks.book import attempt_of
from duel_daemon.survey import Restriction
from duel_daemon.textwidth import counted, short_number, wrapped

HOUSE = "* "
CLOSED = "The connection is closed."  # the last words to anybody: some clients do not say it
REMEMBERED_MOVES = 2048  # two texts of at most some 2 KB each


def house(*lines: str) -> str:
    """Lines of the house."""
    return "".join(f"{HOUSE}{line}\n" for line in lines)


@attrs.frozen
class Telling:
    """The same events as Player 1, Player 2 and the watchers read them."""

    one: str
    two: str
    watchers: str

    def to(self, seat: Seat) -> str:
        return self.one if seat is Seat.ONE else self.two


def tell(game: Game, events: Sequence[Event]) -> Telling:
    first, last = events[0], events[-1]
    if type(first) is Moved and type(last) is TurnBegan:
        return _tell_move(game.book, game.restriction, first.mover, first.before, first.divisor)
    one: list[str] = []
    two: list[str] = []
    watchers: list[str] = []
    for event in events:
        if type(event) is Refused:
            rows = wrapped(fault_sentence(event.fault), indent="  ")
            (one if event.seat is Seat.ONE else two).append(house(*rows))
            continue
        text = _to_others(game, event)
        watchers.append(text)
        mover = _whose_words(event)
        one.append(game.book.tell(event, to_mover=True) if mover is Seat.ONE else text)
        two.append(game.book.tell(event, to_mover=True) if mover is Seat.TWO else text)
    return Telling("".join(one), "".join(two), "".join(watchers))


@lru_cache(REMEMBERED_MOVES)
def _tell_move(
    book: RuleBook, restriction: Restriction, mover: Seat, before: int, divisor: int
) -> Telling:
    """A move and the next turn: nearly every telling, and most have been told before."""
    after = book.result(before, divisor)
    moved = Moved(mover, divisor, before, after)
    turn = book.turn(TurnBegan(mover.other, book.survey(after, restriction), is_first=False))
    own = f"{book.moved(moved, to_mover=True)}{turn}"
    others = f"{book.prompt(mover)}{divisor}\n{book.moved(moved, to_mover=False)}{turn}"
    return Telling(own, others, others) if mover is Seat.ONE else Telling(others, own, others)


def _whose_words(event: Event) -> Seat | None:
    """The seat that reads this event in the second person, if there is one."""
    return None if isinstance(event, Ended) else getattr(event, "mover", None)


def _to_others(game: Game, event: Event) -> str:
    text = game.book.tell(event, to_mover=False)
    match event:
        case Moved():
            return f"{game.book.prompt(event.mover)}{event.divisor}\n{text}"
        case TurnLost():
            return f"{game.book.prompt(event.mover)}{attempt_of(event.fault)}\n{text}"
        case Ended() if not event.reason.by_the_rules:
            return house(end_sentence(event, game))
        case _:
            return text


def end_sentence(event: Ended, game: Game) -> str:
    """How a duel ended otherwise than by the rules."""
    if event.by is None or event.winner is None:
        return f"{_NOBODY[event.reason]} Nobody wins."
    return f"{_HOW[event.reason].format(who=event.by.label, n=game.violations)} " + (
        f"{event.winner.label} wins!"
    )


_NOBODY = {
    Reason.STOPPED: "The duel has been stopped.",
    Reason.LEFT: "Both players have left.",
}

_HOW = {
    Reason.RESIGNED: "{who} has left the duel (resigned).",
    Reason.TIME: "{who} ran out of time.",
    Reason.LEFT: "{who} has left the duel.",
    Reason.VIOLATIONS: "{who} forfeits: {n} invalid moves in a row.",
}


def fault_sentence(fault: Fault) -> str:
    """Why a number is no move, and what would be."""
    return _FAULTS[fault.wrong].format(
        attempt=short_number(fault.attempt),
        number=fault.number,
        rest=fault.number % fault.attempt if fault.attempt else 0,
        kind=fault.restriction.value,
    )


_FAULTS = {
    Wrong.NOT_A_DIVISOR: "{attempt} does not divide {number}: {rest} is left over. Try another.",
    Wrong.ZERO: "0 does not divide anything. Choose a divisor of {number}.",
    Wrong.ONE: "1 is not allowed in this game. Choose a larger divisor of {number}.",
    Wrong.ITSELF: "{attempt} is the number itself. Choose a smaller divisor.",
    Wrong.TOO_LARGE: "{attempt} is larger than {number}. Choose a divisor of {number}.",
    Wrong.EXCLUDED: "{attempt} divides {number}, but only {kind} divisors are allowed here.",
    Wrong.NOT_YOUR_TURN: "It is not your turn yet.",
    Wrong.OVER: "The duel is over.",
}


def seconds(number: float) -> str:
    """A duration as people say it."""
    return counted(max(0, round(number)), "second")
