import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from duel_daemon import rulebooks
from duel_daemon.duel import Duel, Game
from duel_daemon.events import (
    Ended,
    Event,
    Fault,
    Passed,
    Reason,
    Refused,
    Seat,
    Stuck,
    TurnBegan,
    TurnLost,
    Wrong,
)
from duel_daemon.rulebooks import BY_SLUG, SHELF, RuleBook
from duel_daemon.rulebooks.book import winner_of
from duel_daemon.survey import Restriction, survey

ANY, EVEN, ODD, PRIME = Restriction
ONE, TWO = Seat.ONE, Seat.TWO

ALL_UP_TO = 2000

NAIVE = {n: [d for d in range(1, n + 1) if n % d == 0] for n in range(1, ALL_UP_TO + 1)}

each_book = pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)
each_restriction = pytest.mark.parametrize("restriction", Restriction)

# What stands in the five rule books, written down once more.
AT_A_GLANCE = {
    "divisor-duel": {
        "title": "Divisor Duel",
        "start": 60,
        "operation": "subtract",
        "lowest_divisor": 2,
    },
    "divisor-duel-by-division": {
        "title": "Divisor Duel (by division)",
        "start": 60,
        "operation": "divide",
        "lowest_divisor": 2,
    },
    "divisor-duel-random-start": {
        "title": "Divisor Duel (random start)",
        "operation": "subtract",
        "lowest_divisor": 2,
    },
    "factor-duel": {
        "title": "Factor Duel",
        "start": 100,
        "operation": "subtract",
        "lowest_divisor": 1,
        "prime_wins": True,
    },
    "number-factor": {
        "title": "Number Factor",
        "start": 30,
        "operation": "divide",
        "lowest_divisor": 2,
        "stuck_passes": True,
        "invalid_costs_turn": True,
    },
}
UNUSUAL = ("prime_wins", "stuck_passes", "invalid_costs_turn")


def is_prime(number: int) -> bool:
    return len(NAIVE[number]) == 2


def allowed(book: RuleBook, number: int, restriction: Restriction) -> list[int]:
    passes = {
        ANY: lambda divisor: True,
        EVEN: lambda divisor: divisor % 2 == 0,
        ODD: lambda divisor: divisor % 2 == 1,
        PRIME: is_prime,
    }[restriction]
    return [d for d in NAIVE[number] if book.lowest_divisor <= d < number and passes(d)]


def is_playable(book: RuleBook, number: int, restriction: Restriction) -> bool:
    return len(NAIVE[number]) > 2 and bool(allowed(book, number, restriction))


def some_duels(book: RuleBook, restriction: Restriction) -> Iterator[list[Event]]:
    """The events of a random duel from every playable number up to a hundred."""
    rng = random.Random(book.slug)
    for number in range(4, 101):
        if not book.is_playable(number, restriction):
            continue
        duel = Duel(Game(book, number, restriction))
        events = list(duel.open())
        while duel.is_on:
            choice = allowed(book, duel.number, restriction)
            attempt = rng.choice([*choice, *choice, duel.number])
            events += duel.play(duel.mover, attempt)
        yield events


# The shelf.


@pytest.mark.parametrize("slug", AT_A_GLANCE)
def test_a_book_plays_by_its_rules(slug: str) -> None:
    book, facts = BY_SLUG[slug], AT_A_GLANCE[slug]
    assert {fact: getattr(book, fact) for fact in facts} == facts
    assert {fact for fact in UNUSUAL if getattr(book, fact)} == set(facts) & set(UNUSUAL)


def test_the_five_books_stand_in_the_users_order() -> None:
    assert [book.slug for book in SHELF[:5]] == list(AT_A_GLANCE)


def test_every_file_beside_the_form_is_a_book_on_the_shelf() -> None:
    folder = Path(rulebooks.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "book"}
    assert files == set(rulebooks.FILES)
    assert len(rulebooks.FILES) == len(SHELF) == len(files)


def test_every_book_is_found_by_its_slug_alone() -> None:
    assert [BY_SLUG[book.slug] for book in SHELF] == list(SHELF)
    assert len({book.title for book in SHELF}) == len(SHELF)


@each_book
def test_a_slug_is_easily_typed(book: RuleBook) -> None:
    assert all(word.isalpha() for word in book.slug.split("-"))
    assert book.slug == book.slug.lower()
    assert book.slug.isascii()


@each_book
def test_an_explanation_fits_on_a_terminal(book: RuleBook) -> None:
    lines = book.explanation.splitlines()
    assert 3 <= len(lines) < 23
    assert all(len(line) < 80 for line in lines)
    assert book.explanation.isascii()
    assert book.explanation.endswith(".\n")


# Where a duel can start.


@each_book
@each_restriction
def test_a_duel_starts_at_composites_with_an_allowed_divisor(
    book: RuleBook, restriction: Restriction
) -> None:
    for number in range(1, ALL_UP_TO + 1):
        expected = is_playable(book, number, restriction)
        assert book.is_playable(number, restriction) == expected, number


@each_book
@each_restriction
def test_the_usual_start_is_playable_in_every_variation(
    book: RuleBook, restriction: Restriction
) -> None:
    assert book.is_playable(book.start, restriction)
    for seed in range(20):
        start = book.starting_number(restriction, random.Random(seed))
        assert book.is_playable(start, restriction)


@each_restriction
def test_the_random_start_is_any_playable_number_from_10_to_50(restriction: Restriction) -> None:
    book = BY_SLUG["divisor-duel-random-start"]
    rng = random.Random(3)
    drawn = {book.starting_number(restriction, rng) for _ in range(2000)}
    assert drawn == {n for n in range(10, 51) if is_playable(book, n, restriction)}


def test_the_usual_start_can_be_put_in_words() -> None:
    assert BY_SLUG["divisor-duel"].start_text == "60"
    assert BY_SLUG["divisor-duel-random-start"].start_text == "a random number (10 to 50)"


@each_book
@each_restriction
@pytest.mark.parametrize("highest", [6, 7, 50, 97, 1000])
def test_no_playable_number_is_nearer_than_the_one_named(
    book: RuleBook, restriction: Restriction, highest: int
) -> None:
    playable = [n for n in range(4, highest + 1) if is_playable(book, n, restriction)]
    for number in range(1, highest + 20):
        near = book.nearest_playable(number, restriction, highest)
        wanted = min(number, highest)
        assert near in playable
        assert abs(near - wanted) == min(abs(n - wanted) for n in playable), number


@each_book
@pytest.mark.parametrize("highest", [-1, 0, 3])
def test_where_nothing_is_playable_the_search_for_it_ends(book: RuleBook, highest: int) -> None:
    with pytest.raises(ValueError, match="no number up to"):
        book.nearest_playable(60, ANY, highest)


def test_the_search_ends_where_only_the_variation_leaves_nothing() -> None:
    with pytest.raises(ValueError, match="no number up to 5"):
        BY_SLUG["divisor-duel"].nearest_playable(60, ODD, 5)


@each_restriction
def test_factor_duel_never_leaves_a_player_stuck(restriction: Restriction) -> None:
    """1 is odd, an even number above 2 has the divisor 2, and a composite one a prime."""
    book = BY_SLUG["factor-duel"]
    for number in range(4, ALL_UP_TO + 1):
        if not book.is_playable(number, restriction):
            continue
        for divisor in allowed(book, number, restriction):
            after = number - divisor
            assert is_prime(after) or allowed(book, after, restriction)


# The words.


@each_book
@each_restriction
def test_all_that_a_book_says_is_whole_lines(book: RuleBook, restriction: Restriction) -> None:
    for events in some_duels(book, restriction):
        for event in events:
            for to_mover in (True, False):
                text = book.tell(event, to_mover)
                assert text == "" or text.endswith("\n")
                assert all(line == line.strip() for line in text.splitlines())
                assert text.replace("÷", "/").isascii()
                assert not any(line.startswith("*") for line in text.splitlines())


@each_book
@each_restriction
def test_only_a_refusal_or_an_opening_may_be_silent(
    book: RuleBook, restriction: Restriction
) -> None:
    for events in some_duels(book, restriction):
        silent = [event for event in events[1:] if not book.tell(event, to_mover=True)]
        assert all(
            isinstance(event, Refused)
            or (isinstance(event, Ended) and event.reason is Reason.VIOLATIONS)
            for event in silent
        )


@each_book
@pytest.mark.parametrize("seat", Seat)
def test_a_prompt_waits_for_its_answer_on_the_same_line(book: RuleBook, seat: Seat) -> None:
    prompt = book.prompt(seat)
    assert prompt.endswith(": ")
    assert "\n" not in prompt


@each_book
def test_the_first_line_of_a_duel_is_no_blank_one(book: RuleBook) -> None:
    events = Duel(Game(book, book.start)).open()
    text = "".join(book.tell(event, to_mover=True) for event in events)
    assert text.lstrip("\n") == text


@each_book
def test_a_blank_line_stands_between_turns(book: RuleBook) -> None:
    event = TurnBegan(TWO, book.survey(60, ANY), is_first=False)
    assert book.tell(event, to_mover=True).startswith("\n")


@each_book
@pytest.mark.parametrize("reason", [reason for reason in Reason if not reason.by_the_rules])
def test_an_end_that_is_not_by_the_rules_is_left_to_the_house(
    book: RuleBook, reason: Reason
) -> None:
    assert book.tell(Ended(ONE, reason, TWO, 60), to_mover=True) == ""


@each_book
def test_a_refusal_is_left_to_the_house(book: RuleBook) -> None:
    refused = Refused(ONE, Fault(7, 60, Wrong.NOT_A_DIVISOR))
    assert book.tell(refused, to_mover=True) == ""


@each_book
def test_a_book_has_no_words_for_what_cannot_happen_in_it(book: RuleBook) -> None:
    if not book.invalid_costs_turn:
        with pytest.raises(NotImplementedError, match="refuses"):
            book.tell(TurnLost(ONE, Fault(7, 60, Wrong.NOT_A_DIVISOR)), to_mover=True)
    if book.stuck_passes:
        with pytest.raises(NotImplementedError, match="pass"):
            book.tell(Stuck(ONE, book.survey(7, ANY)), to_mover=True)
    else:
        with pytest.raises(NotImplementedError, match="never passes"):
            book.tell(Passed(ONE, book.survey(7, ANY)), to_mover=True)


def test_factor_duel_could_tell_of_a_stuck_player_all_the_same() -> None:
    book = BY_SLUG["factor-duel"]
    stuck = Stuck(TWO, survey(15, 1, EVEN))
    ended = Ended(ONE, Reason.NO_MOVE_LEFT, TWO, 15)
    assert book.tell(stuck, to_mover=True) + book.tell(ended, to_mover=True) == (
        "\nPlayer 2's turn.\n"
        "Even proper divisors of 15: None\n"
        "Player 2 cannot make a valid move. Player 1 wins!\n"
    )


@pytest.mark.parametrize(
    ("attempt", "wrong", "restriction", "sentence"),
    [
        (7, Wrong.NOT_A_DIVISOR, ANY, "7 is not a proper divisor of 60. Turn lost.\n"),
        (1, Wrong.ONE, ANY, "1 is not a proper divisor of 60. Turn lost.\n"),
        (60, Wrong.ITSELF, ANY, "60 is not a proper divisor of 60. Turn lost.\n"),
        (7, Wrong.NOT_A_DIVISOR, EVEN, "7 is not a proper divisor of 60. Turn lost.\n"),
        (3, Wrong.EXCLUDED, EVEN, "3 is not an even proper divisor of 60. Turn lost.\n"),
        (4, Wrong.EXCLUDED, ODD, "4 is not an odd proper divisor of 60. Turn lost.\n"),
        (6, Wrong.EXCLUDED, PRIME, "6 is not a prime proper divisor of 60. Turn lost.\n"),
    ],
)
def test_a_lost_turn_says_what_the_number_is_not(
    attempt: int, wrong: Wrong, restriction: Restriction, sentence: str
) -> None:
    event = TurnLost(ONE, Fault(attempt, 60, wrong, restriction))
    for to_mover in (True, False):
        assert BY_SLUG["number-factor"].tell(event, to_mover) == sentence


def test_an_end_by_the_rules_has_a_winner() -> None:
    assert winner_of(Ended(TWO, Reason.NO_MOVE_LEFT, ONE, 5)) == "Player 2"
    with pytest.raises(AssertionError):
        winner_of(Ended(None, Reason.STOPPED, None, 5))
