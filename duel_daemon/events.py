"""What happens in a duel, as frozen records: said by the duel, told by the rule books.

No text, no clock, no socket. A seat is a place at the table, not a person.
"""

import enum

import attrs

from duel_daemon.survey import Restriction, Survey


class Seat(enum.IntEnum):
    """One of the two places in a duel. Player 1 always moves first."""

    ONE = 1
    TWO = 2

    @property
    def other(self) -> "Seat":
        return Seat.TWO if self is Seat.ONE else Seat.ONE

    @property
    def label(self) -> str:
        return "Player 1" if self is Seat.ONE else "Player 2"


class Reason(enum.Enum):
    """Why a duel ended. The values are stable names: they are stored and logged."""

    NO_MOVE_LEFT = "no-move-left"
    PRIME_LEFT = "prime-left"
    LAST_MOVE = "last-move"
    RESIGNED = "resigned"
    TIME = "time"
    LEFT = "left"
    VIOLATIONS = "violations"
    STOPPED = "stopped"

    @property
    def by_the_rules(self) -> bool:
        """Whether the rule book's own dialogue tells this end (else a house line does)."""
        return self in _BY_THE_RULES


_BY_THE_RULES = frozenset({Reason.NO_MOVE_LEFT, Reason.PRIME_LEFT, Reason.LAST_MOVE})


class Wrong(enum.Enum):
    """What is wrong with a number that was offered as a move."""

    NOT_A_DIVISOR = "not a divisor"
    ZERO = "zero"
    ONE = "one"
    ITSELF = "the number itself"
    TOO_LARGE = "larger than the number"
    EXCLUDED = "excluded by the variation"
    NOT_YOUR_TURN = "not your turn"
    OVER = "the duel is over"


@attrs.frozen
class Fault:
    """A number that is no move, the number in play, and what is wrong with it."""

    attempt: int
    number: int
    wrong: Wrong
    restriction: Restriction = Restriction.ANY


@attrs.frozen
class Opened:
    """The duel begins at this number."""

    number: int


@attrs.frozen
class TurnBegan:
    """The mover is asked for a divisor."""

    mover: Seat
    survey: Survey
    is_first: bool


@attrs.frozen
class Moved:
    """The mover chose a divisor, and the number fell."""

    mover: Seat
    divisor: int
    before: int
    after: int


@attrs.frozen
class Refused:
    """A number that is no move was offered; nothing changed, and only that seat hears of it."""

    seat: Seat
    fault: Fault


@attrs.frozen
class TurnLost:
    """A number that is no move was offered where that costs the turn."""

    mover: Seat
    fault: Fault


@attrs.frozen
class Stuck:
    """The mover has no allowed divisor, and loses by it."""

    mover: Seat
    survey: Survey


@attrs.frozen
class Passed:
    """The mover has no allowed divisor, and the turn goes on to the other."""

    mover: Seat
    survey: Survey


@attrs.frozen
class Ended:
    """Who won (or nobody), and why it ended: two facts.

    `by` is whose doing it was: the mover who was stuck or made the last move, or whoever
    resigned, left or ran out of time. Nobody's, if the server stopped.
    """

    winner: Seat | None
    reason: Reason
    by: Seat | None
    number: int


Event = Opened | TurnBegan | Moved | Refused | TurnLost | Stuck | Passed | Ended
