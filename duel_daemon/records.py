"""What is remembered of a finished duel, in plain values: the store keeps it, `review` reads it.

Pure. A record that could not be stored cannot be made either, so that a mistake shows where it is
made and never in the store's own task.
"""

import math
from typing import Any

import attrs

LARGEST_START = 2**63 - 1  # what a database's integer holds; games stay below 10^18
LONGEST_DIVISOR_BITS = 2048  # a move of 512 digits, the longest, has 1,701

Names = tuple[str, str]
Turns = tuple[tuple[int, float], ...]


def _is_text(record: object, field: "attrs.Attribute[Any]", value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{field.name} is {value!r}")
    value.encode()  # half a surrogate pair is no text


def _is_time(record: object, field: "attrs.Attribute[Any]", value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{field.name} is {value}")


def _are_names(record: object, field: "attrs.Attribute[Any]", value: Names) -> None:
    for name in value:
        _is_text(record, field, name)


def _are_turns(record: object, field: "attrs.Attribute[Any]", value: Turns) -> None:
    for divisor, seconds in value:
        if divisor.bit_length() > LONGEST_DIVISOR_BITS or not math.isfinite(seconds):
            raise ValueError("a turn has a number that nobody can have typed, or no length")


@attrs.frozen
class DuelRecord:
    """Everything about a finished duel. Practice is never recorded."""

    uid: str = attrs.field(validator=_is_text)
    """Its own for all time, over restarts too. What is handed in twice is stored once."""
    started: float = attrs.field(validator=_is_time)
    """By the wall clock, in Unix seconds, as is `ended`: to be shown, never to be reckoned with."""
    ended: float = attrs.field(validator=_is_time)
    players: Names = attrs.field(validator=_are_names)
    """Player 1 and Player 2, by the names they had then."""
    rulebook: str = attrs.field(validator=_is_text)
    start: int = attrs.field(
        validator=[attrs.validators.ge(-LARGEST_START), attrs.validators.le(LARGEST_START)]
    )
    restriction: str = attrs.field(validator=_is_text)
    violations: int = attrs.field(
        validator=[attrs.validators.ge(0), attrs.validators.le(LARGEST_START)]
    )
    turns: Turns = attrs.field(validator=_are_turns)
    """The number chosen in each turn, and how many seconds that took. Player 1 began."""
    winner: int | None = attrs.field(validator=attrs.validators.in_((1, 2, None)))
    reason: str = attrs.field(validator=_is_text)
    match: str | None = attrs.field(default=None, validator=attrs.validators.optional(_is_text))
    """What the duels of one match have in common; None for a single duel."""
    match_terms: str = attrs.field(default="", validator=_is_text)
    """What was agreed on, in the words one would type."""


@attrs.frozen
class Standing:
    """How somebody has fared. Duels that nobody won are not counted."""

    name: str
    wins: int
    duels: int
    streak: int
    """Wins in a row up to now; losses in a row are negative."""

    @property
    def win_rate(self) -> float:
        return self.wins / self.duels
