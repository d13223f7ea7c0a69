"""What can be played at a number: which divisors are allowed there, and how many there are.

A survey keeps at most a hundred of the divisors, as many as a screen shows, because an 18-digit
number can have a hundred thousand. Whether a move is allowed is a question of arithmetic and needs
no list.
"""

import enum
from collections.abc import Callable
from functools import lru_cache

import attrs

from duel_daemon import numbers

SHOWN_EACH_END = 50  # of a list of over twice as many divisors, this many at each end are shown

HEAVY_NUMBER = 10**12
"""Up to here a survey takes a millisecond or two at worst; above, up to 40 (two 9-digit primes,
or 103,680 divisors): such a number is surveyed in a thread before the duel asks for it."""

CACHED_SURVEYS = 2048  # each is at most some 6 KB, so the cache stays below 12 MB


class Restriction(enum.Enum):
    """Which divisors a variation of a game allows."""

    ANY = "any"
    EVEN = "even"
    ODD = "odd"
    PRIME = "prime"

    __hash__ = object.__hash__  # there is one of each; Enum's own takes as long as a division

    def allows(self, divisor: int) -> bool:
        return _ALLOWS[self](divisor)


_ALLOWS: dict[Restriction, Callable[[int], bool]] = {
    Restriction.ANY: lambda divisor: True,
    Restriction.EVEN: lambda divisor: divisor % 2 == 0,
    Restriction.ODD: lambda divisor: divisor % 2 == 1,
    Restriction.PRIME: numbers.is_prime,
}


_KINDS = {
    Restriction.ANY: "Proper divisors",
    Restriction.EVEN: "Even proper divisors",
    Restriction.ODD: "Odd proper divisors",
    Restriction.PRIME: "Prime proper divisors",
}


@attrs.frozen
class Survey:
    """The divisors a player may choose from at a number, or as many of them as are shown."""

    number: int
    restriction: Restriction
    is_prime: bool
    count: int
    first: tuple[int, ...]
    """All of them, or the first fifty if `last` is not empty."""
    last: tuple[int, ...]

    @property
    def kind(self) -> str:
        """What the list is called: "Proper divisors", or "Even proper divisors"."""
        return _KINDS[self.restriction]

    def listed(self, separator: str) -> str:
        if not self.last:
            return separator.join(map(str, self.first))
        first, last = separator.join(map(str, self.first)), separator.join(map(str, self.last))
        return f"{first}{separator}...{separator}{last} ({self.count} in all)"


def allowed_divisors(number: int, lowest: int, restriction: Restriction) -> list[int]:
    """Every divisor from `lowest` (1 or 2) up to, but not including, the number itself."""
    return _allowed(numbers.factorise(number), lowest, restriction)


def _allowed(factors: numbers.Factors, lowest: int, restriction: Restriction) -> list[int]:
    if restriction is Restriction.PRIME:  # they are known already: no list of all, no test of each
        return [] if _is_one_prime(factors) else [prime for prime, _ in factors]
    proper = numbers.divisors(factors)[:-1]
    allows = restriction.allows
    return [divisor for divisor in proper if divisor >= lowest and allows(divisor)]


def _is_one_prime(factors: numbers.Factors) -> bool:
    return len(factors) == 1 and factors[0][1] == 1


@lru_cache(maxsize=CACHED_SURVEYS)
def survey(number: int, lowest: int, restriction: Restriction) -> Survey:
    factors = numbers.factorise(number)
    found = _allowed(factors, lowest, restriction)
    long = len(found) > 2 * SHOWN_EACH_END
    return Survey(
        number=number,
        restriction=restriction,
        is_prime=_is_one_prime(factors),
        count=len(found),
        first=tuple(found[:SHOWN_EACH_END] if long else found),
        last=tuple(found[-SHOWN_EACH_END:] if long else ()),
    )
