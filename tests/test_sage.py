"""Perfect play, against a brute force that knows only the rules and a sieve of divisors."""

import functools
import random
import re

import pytest

from duel_daemon import sage
from duel_daemon.duel import Game
from duel_daemon.rulebooks import BY_SLUG, SHELF, RuleBook
from duel_daemon.sage import Outlook
from duel_daemon.survey import Restriction, allowed_divisors

HIGHEST = 5_000

DIVISORS: list[list[int]] = [[] for _ in range(HIGHEST + 1)]  # proper ones, 1 included
for divisor in range(1, HIGHEST + 1):
    for multiple in range(2 * divisor, HIGHEST + 1, divisor):
        DIVISORS[multiple].append(divisor)
PRIMES = {number for number in range(2, HIGHEST + 1) if DIVISORS[number] == [1]}

ALLOWED = {
    Restriction.ANY: lambda divisor: True,
    Restriction.EVEN: lambda divisor: divisor % 2 == 0,
    Restriction.ODD: lambda divisor: divisor % 2 == 1,
    Restriction.PRIME: PRIMES.__contains__,
}

GAMES = [
    pytest.param(book, restriction, id=f"{book.slug}-{restriction.value}")
    for book in SHELF
    for restriction in Restriction
]
every_game = pytest.mark.parametrize(("book", "restriction"), GAMES)


def winning_moves(game: Game, number: int) -> list[int]:
    """Every move that keeps the win, ascending."""
    moves = allowed_divisors(number, game.book.lowest_divisor, game.restriction)
    return [divisor for divisor in moves if sage.keeps_the_win(game, number, divisor)]


SEMIPRIME = 999999937 * 999999929  # the hardest kind to factor below 10^18
LARGE = [
    10**18,
    10**18 - 1,
    10**18 - 2,
    2**58,
    2**59,
    3**37,
    SEMIPRIME,
    2 * 499999993 * 999999929,
    4 * 249999999999999961,  # four times a prime
    999999999999999989,  # a prime
    897612484786617600,  # the most divisors below 10^18: 103,680
    2 * 3 * 5 * 7 * 11 * 432900432900418,
    2 * 2 * 3 * 3 * 27777777777777739,
    4003 * 4007 * 4013 * 4019 * 3989,
    1009 * 1013 * 1019 * 1021 * 1031 * 911,
]


def allowed(book: RuleBook, restriction: Restriction, number: int) -> list[int]:
    """The moves at a number; none where a prime has already won."""
    is_over = book.prime_wins and number in PRIMES
    return [] if is_over else unless_over(book, restriction, number)


def unless_over(book: RuleBook, restriction: Restriction, number: int) -> list[int]:
    may = ALLOWED[restriction]
    return [d for d in DIVISORS[number] if d >= book.lowest_divisor and may(d)]


@functools.cache
def brute_force(book: RuleBook, restriction: Restriction) -> list[bool]:
    """For each number whether the side to move wins; the number itself is the index."""
    wins = [False]
    for number in range(1, HIGHEST + 1):
        moves = allowed(book, restriction, number)
        wins.append(any(not wins[book.result(number, move)] for move in moves))
    return wins


def winning(game: Game, number: int) -> bool:
    return sage.outlook(game, number) is Outlook.WINNING


def some_allowed(game: Game, number: int) -> list[int]:
    survey = game.survey(number)
    return [*survey.first, *survey.last]


class Unheard(type(BY_SLUG["divisor-duel"])):
    """A sixth book of a kind that has no theory: 1 may be taken, and a prime is nothing special."""

    slug = "unheard"
    lowest_divisor = 1


class OneByOne(type(BY_SLUG["divisor-duel"])):
    """A book with the facts of book 1, but a move of its own."""

    def result(self, number: int, divisor: int) -> int:
        return number - 1


class DivideByOne(type(BY_SLUG["number-factor"])):
    """A book that should not be: a move may change nothing."""

    lowest_divisor = 1


class Sixth(type(BY_SLUG["number-factor"])):
    """A sixth book whose prime wins, which without 1 it does anyway."""

    prime_wins = True


# Every number up to 5,000.


@every_game
def test_the_theory_agrees_with_brute_force(book, restriction):
    game, truth = Game(book, 60, restriction), brute_force(book, restriction)
    assert [winning(game, n) for n in range(1, HIGHEST + 1)] == truth[1:]


@every_game
def test_the_search_agrees_with_brute_force_and_so_with_the_theory(book, restriction):
    search, truth = sage.Search(book, restriction), brute_force(book, restriction)
    assert [search.wins(n) for n in range(HIGHEST, 0, -1)] == truth[:0:-1]


@every_game
def test_the_winning_moves_are_those_of_brute_force(book, restriction):
    game, truth = Game(book, 60, restriction), brute_force(book, restriction)
    for number in range(1, 2_001):
        moves = allowed(book, restriction, number)
        right = [d for d in moves if not truth[book.result(number, d)]]
        if moves:  # where it is over nobody asks
            assert [d for d in moves if sage.keeps_the_win(game, number, d)] == right
        best = sage.winning_move(game, number)
        assert best in right if right else best is None


@every_game
def test_what_is_no_move_never_keeps_the_win(book, restriction):
    game = Game(book, 60, restriction)
    for number in range(1, 200):
        moves = set(unless_over(book, restriction, number))
        no_moves = {-1, 0, number, number + 1, 2 * number, *range(1, number)} - moves
        assert not any(sage.keeps_the_win(game, number, d) for d in no_moves)


def test_the_worked_examples_of_the_rule_books():
    first, divide, factor = (Game(SHELF[i], 60) for i in (0, 1, 3))
    assert sage.winning_move(first, 60) == 15
    assert winning_moves(first, 12) == [3, 4]  # 4 leaves 8, from which everything loses
    assert winning_moves(first, 8) == []
    assert winning_moves(divide, 60) == [12, 20, 30]
    assert sage.winning_move(factor, 10) == 5  # a prime at once, rather than taking 1


# Which theory.


@every_game
def test_no_game_on_the_shelf_lacks_a_theory(book, restriction):
    assert not isinstance(sage._theory(book, restriction), sage.Search)


def test_every_kind_of_game_has_a_theory_for_every_restriction():
    for theories in sage.THEORIES.values():
        assert set(theories) == set(Restriction)


@pytest.mark.parametrize("restriction", Restriction)
def test_a_sixth_book_with_known_facts_needs_nothing_here(restriction):
    book = Sixth()
    game, truth = Game(book, 60, restriction), brute_force(book, restriction)
    assert not isinstance(sage._theory(book, restriction), sage.Search)
    assert [winning(game, n) for n in range(1, HIGHEST + 1)] == truth[1:]


@pytest.mark.parametrize("restriction", Restriction)
@pytest.mark.parametrize("book", [Unheard(), OneByOne()], ids=["unheard", "one-by-one"])
def test_a_book_of_an_unknown_kind_is_searched(book, restriction):
    game, truth = Game(book, 60, restriction), brute_force(book, restriction)
    assert isinstance(sage._theory(book, restriction), sage.Search)
    for number in range(1, 2_001):
        assert winning(game, number) is truth[number]
        best = sage.winning_move(game, number)
        assert (best is not None) is truth[number]
        assert best is None or sage.keeps_the_win(game, number, best)


def test_a_search_may_go_deeper_than_the_stack():
    class Countdown(OneByOne):
        lowest_divisor = 1

    assert sage.Search(Countdown(), Restriction.ANY).wins(sage.SEARCH_LIMIT) is True


def test_a_move_that_changes_nothing_does_not_catch_the_search():
    search, truth = (
        sage.Search(DivideByOne(), Restriction.ANY),
        brute_force(SHELF[4], Restriction.ANY),
    )
    assert [search.wins(n) for n in range(1, 500)] == truth[1:500]


def test_a_search_says_where_it_does_not_know():
    game, too_large = Game(Unheard(), 60), sage.SEARCH_LIMIT + 1
    assert sage.outlook(game, too_large) is Outlook.UNKNOWN
    assert sage.winning_move(game, too_large) is None
    assert winning_moves(game, 2 * too_large) == []
    assert not sage.keeps_the_win(game, 3 * too_large, 1)
    assert (
        sage.why(game, too_large) == "10001 is too large: nobody has worked out this game so far."
    )


# Large numbers.


@every_game
@pytest.mark.parametrize("number", LARGE)
def test_a_large_number_is_won_exactly_if_a_move_leaves_a_lost_one(book, restriction, number):
    game = Game(book, number, restriction)
    best = sage.winning_move(game, number)
    assert (best is not None) is winning(game, number)
    if best is not None:
        assert sage.keeps_the_win(game, number, best)
    else:
        assert not any(sage.keeps_the_win(game, number, d) for d in some_allowed(game, number))


def test_all_moves_of_a_large_number_can_be_listed():
    game = Game(SHELF[0], 10**18)
    odd = [5**power for power in range(1, 19)]
    assert winning_moves(game, 10**18) == odd
    assert sage.winning_move(game, 10**18) == 5**18
    assert winning_moves(Game(SHELF[1], SEMIPRIME), SEMIPRIME) == [999999929, 999999937]


# The reasons.


JARGON = re.compile(r"parity|modul|congruen|exponent|composite|theorem|proper|power|nim", re.I)


@functools.cache
def reasons(book, restriction):
    game = Game(book, 60, restriction)
    return [(number, sage.why(game, number)) for number in (*range(1, HIGHEST + 1), *LARGE)]


@every_game
def test_a_reason_is_short_and_plain(book, restriction):
    for _, text in reasons(book, restriction):
        assert text.isascii()
        assert text.isprintable()
        assert len(text) < 200
        assert text.endswith(".")
        assert not JARGON.search(text)


@every_game
def test_a_reason_says_who_is_winning(book, restriction):
    game = Game(book, 60, restriction)
    for number, text in reasons(book, restriction):
        kind = "winning" if winning(game, number) else "losing"
        assert text.startswith(f"{number} is a {kind} number: ")


@every_game
def test_a_reason_names_only_moves_that_keep_the_win(book, restriction):
    game = Game(book, 60, restriction)
    for number, text in reasons(book, restriction):
        if not winning(game, number):
            continue
        named = [int(move) for move in re.findall(r"take away (\d+)", text, re.I)]
        named += [number // 2] if "take half" in text else []
        named += [number // (number & -number)] if "largest odd divisor" in text else []
        assert all(sage.keeps_the_win(game, number, move) for move in named)


@every_game
def test_where_an_odd_divisor_is_the_reason_every_one_keeps_the_win(book, restriction):
    game = Game(book, 60, restriction)
    for number, text in reasons(book, restriction):
        if "is even and has an odd" in text:
            odd = [d for d in some_allowed(game, number) if d % 2]
            assert odd
            assert all(sage.keeps_the_win(game, number, d) for d in odd)


@every_game
def test_a_reason_says_that_there_is_no_move_exactly_where_there_is_none(book, restriction):
    for number, text in reasons(book, restriction)[:HIGHEST]:
        over = "you cannot move" in text or "has already won" in text
        assert over is not bool(allowed(book, restriction, number))
        assert ("you can only take 2" not in text) or allowed(book, restriction, number) == [2]


@every_game
def test_an_opponent_can_repeat_what_is_taken_from_an_odd_number(book, restriction):
    game = Game(book, 60, restriction)
    for number, text in reasons(book, restriction)[:HIGHEST]:
        if "take the same one again" in text:
            for move in allowed(book, restriction, number):
                assert sage.keeps_the_win(game, number - move, move)


def test_the_primes_that_are_listed_multiply_to_the_number():
    for number, text in reasons(SHELF[1], Restriction.PRIME):
        listed = re.search(r"it is (\d+) primes multiplied \((.+)\)", text)
        if listed:
            primes = [int(prime) for prime in listed[2].split(" x ")]
            assert len(primes) == int(listed[1])
            assert functools.reduce(int.__mul__, primes) == number


def test_a_searched_game_gives_its_reason_too():
    game = Game(Unheard(), 60)
    rng = random.Random(2)
    for number in [1, *rng.sample(range(2, HIGHEST), 50)]:
        text = sage.why(game, number)
        assert ("a move that wins" in text) is winning(game, number)
        assert ("you cannot move" in text) is (number == 1)
