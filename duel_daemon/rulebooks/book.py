"""What a rule book is: the rules of a game and the words it is told in.

The rules are a few facts and one function; the words are one function per event. Whoever writes a
book fills in this form and nothing else. All text is lines that end in a newline; the prompt alone
ends in ": ", because the answer is typed after it.
"""

import abc
import random
from typing import ClassVar, Literal

from duel_daemon.events import (
    Ended,
    Event,
    Fault,
    Moved,
    Opened,
    Passed,
    Seat,
    Stuck,
    TurnBegan,
    TurnLost,
)
from duel_daemon.numbers import is_prime
from duel_daemon.survey import Restriction, Survey, survey

SMALLEST_COMPOSITE = 4

SHOWN_DIGITS = 20  # of a number that cannot be a move: those in play have 19 at most


class RuleBook(abc.ABC):
    """One rule book. Books carry no state: there is one of each, on the shelf."""

    slug: ClassVar[str]
    title: ClassVar[str]
    explanation: ClassVar[str]
    """The rules in our own words, for `rules`: under a screen, lines under 80 columns."""

    # The rules.

    start: ClassVar[int]
    operation: ClassVar[Literal["subtract", "divide"]]
    lowest_divisor: ClassVar[Literal[1, 2]] = 2
    prime_wins: ClassVar[bool] = False
    """Whether leaving a prime wins at once."""
    stuck_passes: ClassVar[bool] = False
    """Whether a player without a move passes (the last to have moved wins) instead of losing."""
    invalid_costs_turn: ClassVar[bool] = False
    """Whether an invalid move loses the turn instead of being refused."""

    def result(self, number: int, divisor: int) -> int:
        """The number after a move."""
        return number - divisor if self.operation == "subtract" else number // divisor

    def starting_number(self, restriction: Restriction, rng: random.Random) -> int:
        """Where a duel starts if nobody asked for a number."""
        return self.start

    @property
    def start_text(self) -> str:
        """The usual start, in words."""
        return str(self.start)

    def survey(self, number: int, restriction: Restriction) -> Survey:
        return survey(number, self.lowest_divisor, restriction)

    def is_playable(self, number: int, restriction: Restriction) -> bool:
        """Whether a duel can start here: the number is composite and has an allowed divisor."""
        if number < SMALLEST_COMPOSITE or is_prime(number):
            return False
        return _has_allowed_divisor(number, self.lowest_divisor, restriction)

    def nearest_playable(self, number: int, restriction: Restriction, highest: int) -> int:
        """A number near this one, up to `highest`, at which a duel can start."""
        number = max(SMALLEST_COMPOSITE, min(number, highest))
        for distance in range(max(number, highest) + 1):  # a step or three; then nothing is left
            for near in (number + distance, number - distance):
                if near <= highest and self.is_playable(near, restriction):
                    return near
        raise ValueError(f"no number up to {highest} is playable in {self.slug}")

    # The words, in the order in which a duel meets them.

    def opening(self, event: Opened) -> str:
        """What stands before the first turn."""
        return ""

    @abc.abstractmethod
    def turn(self, event: TurnBegan) -> str:
        """What both sides read before the mover is asked."""

    @abc.abstractmethod
    def prompt(self, mover: Seat) -> str:
        """The question, ending in ": "."""

    @abc.abstractmethod
    def moved(self, event: Moved, to_mover: bool) -> str:
        """What a move did."""

    def turn_lost(self, event: TurnLost) -> str:
        """Only told by books in which an invalid move costs the turn."""
        raise NotImplementedError(f"{self.slug} refuses invalid moves")

    def stuck(self, event: Stuck, to_mover: bool) -> str:
        """Only told by books in which a player without a move loses."""
        raise NotImplementedError(f"{self.slug} lets a stuck player pass")

    def passed(self, event: Passed) -> str:
        """Only told by books in which a player without a move passes."""
        raise NotImplementedError(f"{self.slug} never passes a turn")

    @abc.abstractmethod
    def ended(self, event: Ended) -> str:
        """The result, if the duel ended by the rules; any other end is told by the house."""

    def tell(self, event: Event, to_mover: bool) -> str:
        """The words for an event, as its mover reads them or as everybody else does."""
        match event:
            case TurnBegan():
                return self.turn(event)
            case Moved():
                return self.moved(event, to_mover)
            case Opened():
                return self.opening(event)
            case TurnLost():
                return self.turn_lost(event)
            case Stuck():
                return self.stuck(event, to_mover)
            case Passed():
                return self.passed(event)
            case Ended() if event.reason.by_the_rules:
                return self.ended(event)
        return ""  # a refusal, or an end that the house tells


def winner_of(event: Ended) -> str:
    """The winner's label. An end by the rules always has one."""
    assert event.winner is not None
    return event.winner.label


def attempt_of(fault: Fault) -> str:
    """What was typed, as the others read it: not all of it, if a cat typed it."""
    digits = str(fault.attempt)
    return digits if len(digits) <= SHOWN_DIGITS else f"{digits[:SHOWN_DIGITS]}..."


def _has_allowed_divisor(number: int, lowest: int, restriction: Restriction) -> bool:
    """For composite numbers, without a list of divisors: this runs on the event loop."""
    is_power_of_two = number & (number - 1) == 0
    match restriction:
        case Restriction.EVEN:
            return number % 2 == 0  # 2 itself, as the number is not 2
        case Restriction.ODD:
            return lowest == 1 or not is_power_of_two
        case _:
            return True  # a composite number has a prime divisor below itself
