"""Who is winning, which moves keep the win, and why, in every game on the shelf.

All of them are solved: THEORIES names the theory of each game, and a book whose facts fit none of
them is searched. A sage looks at a number, not at a duel: lost turns are mistakes, not strategy,
and a pass changes nothing, because whoever is stuck has not made the last move.

Above `survey.HEAVY_NUMBER`, run in a thread whatever says that it factors (up to 16 ms) or that
it lists divisors (up to 150 ms). The rest is arithmetic: a tenth of a millisecond.
"""

import abc
import enum
from functools import lru_cache

from duel_daemon import numbers
from duel_daemon.duel import Game
from duel_daemon.rulebooks import RuleBook
from duel_daemon.survey import Restriction, allowed_divisors

SEARCH_LIMIT = 10_000
"""The largest number that is searched where no theory is known: 30 ms at worst."""

LISTED_PRIMES = 6  # as many prime factors as a sentence names; of more it only gives the count


class Outlook(enum.Enum):
    """What perfect play comes to for the side to move."""

    WINNING = "winning"
    LOSING = "losing"
    UNKNOWN = "unknown"  # only where there is no theory, and the number is too large to search


def outlook(game: Game, number: int) -> Outlook:
    """Lost is also where there is no move, or it is over. Factors if one divides by primes."""
    theory = _theory(game.book, game.restriction)
    if not theory.knows(number):
        return Outlook.UNKNOWN
    return Outlook.WINNING if theory.wins(number) else Outlook.LOSING


def keeps_the_win(game: Game, number: int, divisor: int) -> bool:
    """Whether it is a move, and leaves a lost number. Factors if one divides by primes."""
    if game.fault(number, divisor) is not None:
        return False
    return outlook(game, game.book.result(number, divisor)) is Outlook.LOSING


def winning_move(game: Game, number: int) -> int | None:
    """The move that shows best why the number is won, or None if it is not (or not known to be).

    Factors if it needs a prime factor and none below 1,000 can be found.
    """
    if outlook(game, number) is not Outlook.WINNING:
        return None
    return _theory(game.book, game.restriction).move(number)


def why(game: Game, number: int) -> str:
    """Whether the side to move ("you") is winning, and the idea that makes it so.

    It does not name the move unless the idea is always the same move: it is the first of two
    hints. Factors if one divides by primes.
    """
    theory = _theory(game.book, game.restriction)
    match outlook(game, number):
        case Outlook.WINNING:
            return f"{number} is a winning number: {theory.idea(number)}"
        case Outlook.LOSING:
            idea = _why_over(game, number) or theory.idea(number)
            return f"{number} is a losing number: {idea}"
    return f"{number} is too large: nobody has worked out this game so far."


def _why_over(game: Game, number: int) -> str | None:
    book, restriction = game.book, game.restriction
    if book.prime_wins and numbers.is_prime(number):
        return "it is a prime, and whoever made it has already won."
    if game.fault(number, book.lowest_divisor) is None or book.is_playable(number, restriction):
        return None
    kind = "" if restriction is Restriction.ANY else f"{restriction.value} "
    return f"it has no {kind}divisor that you may choose, so you cannot move."


class Theory(abc.ABC):
    """What is known of a game, under one restriction."""

    def knows(self, number: int) -> bool:
        return True

    @abc.abstractmethod
    def wins(self, number: int) -> bool:
        """Whether the side to move wins."""

    @abc.abstractmethod
    def move(self, number: int) -> int:
        """A move that keeps the win, at a winning number."""

    @abc.abstractmethod
    def idea(self, number: int) -> str:
        """Why the number is won, or why it is lost although there are moves."""


class TakeOdd(Theory):
    """Only odd divisors, without 1: even numbers win if they have one.

    From an odd number a divisor d leaves an even multiple of d, so d can be taken again.
    """

    def wins(self, number: int) -> bool:
        return number % 2 == 0 and not numbers.is_power_of_two(number)

    def move(self, number: int) -> int:
        return _odd_part(number)  # found by halving: no factoring, for people either

    def idea(self, number: int) -> str:
        if number % 2 == 0:
            return (
                "it is even and has an odd divisor. Take that away: the rest is odd, "
                "and from an odd number any move leads back to an even one with an odd divisor."
            )
        return (
            "it is odd, and so is every divisor of it. Take one away and the rest is even; "
            "your opponent can take the same one again, and you get an odd number."
        )


class TakeAny(TakeOdd):
    """Any divisor but 1: as with odd ones, but powers of two can be halved.

    From 2^k, anything but half leaves an even number with an odd divisor, which wins; so both
    sides halve, and whoever gets 2 is stuck.
    """

    def wins(self, number: int) -> bool:
        if numbers.is_power_of_two(number):
            return number > 1 and number.bit_length() % 2 == 1  # 4, 16, 64: an even number of 2s
        return super().wins(number)

    def move(self, number: int) -> int:
        return number // 2 if numbers.is_power_of_two(number) else super().move(number)

    def idea(self, number: int) -> str:
        if not numbers.is_power_of_two(number):
            return super().idea(number)
        if number == 4:
            return "take half of it, and your opponent cannot move at 2."
        if self.wins(number):
            return (
                f"take half of it. From {number // 2} your opponent can only halve again, "
                "or leave an even number with an odd divisor. You win from both."
            )
        return (
            f"take half and your opponent halves {number // 2}, until you are stuck at 2. "
            "Take less and you leave an even number with an odd divisor to take."
        )


class TakeEven(Theory):
    """Only even divisors: multiples of 4 win.

    Every even divisor of 2 * odd is itself 2 * odd, so it leaves a multiple of 4.
    """

    def wins(self, number: int) -> bool:
        return number % 4 == 0

    def move(self, number: int) -> int:
        return 2

    def idea(self, number: int) -> str:
        if self.wins(number):
            return (
                "it is a multiple of 4. Take away 2: the rest is twice an odd number, "
                "and any even divisor taken from that leaves you a multiple of 4 again."
            )
        return (
            "it is twice an odd number, and so is every even divisor of it. "
            "Any move leaves a multiple of 4, and your opponent can take 2 from that."
        )


class TakePrime(TakeOdd):
    """Only prime divisors: even numbers win if they have an odd one; so does 4."""

    def wins(self, number: int) -> bool:
        return number == 4 or super().wins(number)

    def move(self, number: int) -> int:
        return 2 if number == 4 else _prime_factor(_odd_part(number))

    def idea(self, number: int) -> str:
        if number == 4:
            return "take away 2, and your opponent cannot go on from 2."
        if numbers.is_power_of_two(number):
            return (
                f"you can only take 2, and an odd prime divides {number - 2}. "
                "Your opponent takes that one and leaves you an odd number."
            )
        return super().idea(number).replace("odd divisor", "odd prime divisor")


class TakeForAPrime(Theory):
    """1 is allowed (and all or the odd divisors), and leaving a prime wins: even numbers win.

    From an odd number every move leaves an even one, which is no prime because it is not 2.
    """

    def wins(self, number: int) -> bool:
        return number % 2 == 0 and number > 2

    def move(self, number: int) -> int:
        half = number // 2  # if it is a prime, it wins at once
        return half if half % 2 and numbers.is_prime(half) else 1

    def idea(self, number: int) -> str:
        if self.wins(number):
            return (
                "it is even. Take away 1 and the rest is odd: either a prime, and you win, "
                "or your opponent has to leave you an even number again, never a prime."
            )
        return (
            "it is odd, and so is every divisor of it. Any move leaves an even number above 2, "
            "never a prime, and your opponent can take 1 from that."
        )


class DivideAny(Theory):
    """Any divisor but 1: one move leaves a prime. `move` may factor."""

    def wins(self, number: int) -> bool:
        return number > 1 and not numbers.is_prime(number)

    def move(self, number: int) -> int:
        return number // _prime_factor(number)

    def idea(self, number: int) -> str:
        return (
            "it is not a prime, so one division can leave just one of its prime factors, "
            "and at a prime your opponent cannot move."
        )


class DivideOdd(DivideAny):
    """Only odd divisors: one move leaves nothing but 2s, or a prime. `move` may factor."""

    def wins(self, number: int) -> bool:
        return super().wins(number) and not numbers.is_power_of_two(number)

    def move(self, number: int) -> int:
        return super().move(number) if number % 2 else _odd_part(number)

    def idea(self, number: int) -> str:
        if number % 2:
            return super().idea(number)
        return (
            "divide by its largest odd divisor, and nothing but 2s is left: "
            "no odd divisor, so your opponent cannot move."
        )


class DivideEven(Theory):
    """Only even divisors: one move takes all the 2s away, or all but one."""

    def wins(self, number: int) -> bool:
        return number % 2 == 0 and number > 2

    def move(self, number: int) -> int:
        return number // 2 if numbers.is_power_of_two(number) else number // _odd_part(number)

    def idea(self, number: int) -> str:
        if numbers.is_power_of_two(number):
            return "one division can leave just 2, and at 2 your opponent cannot move."
        return (
            "it is even, and one division can take out all its 2s. "
            "The rest is odd and has no even divisor, so your opponent cannot move."
        )


class DividePrime(Theory):
    """Only prime divisors: each move takes one prime factor, so their count decides. Factors."""

    def wins(self, number: int) -> bool:
        count = len(_prime_factors(number))
        return count > 0 and count % 2 == 0

    def move(self, number: int) -> int:
        return _prime_factor(number)  # any will do: the count is what it is

    def idea(self, number: int) -> str:
        primes = _prime_factors(number)
        count = len(primes)
        listed = f" ({' x '.join(map(str, primes))})" if count <= LISTED_PRIMES else ""
        last = "odd: your opponent makes" if count % 2 else "even: you make"
        return (
            f"it is {count} primes multiplied{listed}. "
            f"Each move takes one away until one is left, and {count} is {last} the last move."
        )


class Search(Theory):
    """A search with memory, up to SEARCH_LIMIT, for any rules under which numbers fall."""

    def __init__(self, book: RuleBook, restriction: Restriction) -> None:
        self._book = book
        self._restriction = restriction
        # Filled with facts only, in any order: threads that search at once do no harm.
        self._known: dict[int, bool] = {}

    def knows(self, number: int) -> bool:
        return number <= SEARCH_LIMIT

    def wins(self, number: int) -> bool:
        known = self._known  # with a trail of our own: a duel can be deeper than Python's stack
        trail = [] if number in known else [(number, self._afters(number))]
        while trail:
            current, untried = trail[-1]
            opponent_wins = known.get(untried[-1]) if untried else False
            if opponent_wins:
                untried.pop()
            elif opponent_wins is None:
                trail.append((untried[-1], self._afters(untried[-1])))
            else:
                known[current] = bool(untried)
                trail.pop()
        return known[number]

    def move(self, number: int) -> int:
        return next(d for d in self._moves(number) if not self.wins(self._book.result(number, d)))

    def idea(self, number: int) -> str:
        shows = "a move that wins" if self.wins(number) else "that every move loses"
        return f"trying out everything that can follow shows {shows}."

    def _afters(self, number: int) -> list[int]:
        return [self._book.result(number, divisor) for divisor in self._moves(number)]

    def _moves(self, number: int) -> list[int]:
        """A move that lowers nothing settles nothing, and would be searched for ever."""
        if self._book.prime_wins and numbers.is_prime(number):
            return []  # over: whoever left it has won
        allowed = allowed_divisors(number, self._book.lowest_divisor, self._restriction)
        return [divisor for divisor in allowed if self._book.result(number, divisor) < number]


TAKE: dict[Restriction, Theory] = {
    Restriction.ANY: TakeAny(),
    Restriction.EVEN: TakeEven(),
    Restriction.ODD: TakeOdd(),
    Restriction.PRIME: TakePrime(),
}
# 1 is neither even nor prime, so allowing it changes only the other two.
TAKE_FOR_A_PRIME = {**TAKE, Restriction.ANY: TakeForAPrime(), Restriction.ODD: TakeForAPrime()}
DIVIDE: dict[Restriction, Theory] = {
    Restriction.ANY: DivideAny(),
    Restriction.EVEN: DivideEven(),
    Restriction.ODD: DivideOdd(),
    Restriction.PRIME: DividePrime(),
}

THEORIES = {
    # operation, lowest divisor, whether a prime wins: without 1 it wins anyway, by leaving no move
    ("subtract", 2, False): TAKE,
    ("subtract", 2, True): TAKE,
    ("subtract", 1, True): TAKE_FOR_A_PRIME,
    ("divide", 2, False): DIVIDE,
    ("divide", 2, True): DIVIDE,
}


@lru_cache(maxsize=64)
def _theory(book: RuleBook, restriction: Restriction) -> Theory:
    theories = THEORIES.get((book.operation, book.lowest_divisor, book.prime_wins))
    if theories is None or type(book).result is not RuleBook.result:  # a move of its own making
        return Search(book, restriction)
    return theories[restriction]


def _odd_part(number: int) -> int:
    return number // (number & -number)


def _prime_factor(number: int) -> int:
    """The smallest prime factor. Factors only if none of the small primes is one."""
    for prime in numbers.SMALL_PRIMES:
        if number % prime == 0:
            return prime
    return numbers.factorise(number)[0][0]


@lru_cache(maxsize=1024)  # it is asked for the same few numbers over and over
def _prime_factors(number: int) -> tuple[int, ...]:
    return tuple(p for p, exponent in numbers.factorise(number) for _ in range(exponent))
