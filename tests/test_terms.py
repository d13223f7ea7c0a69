"""The terms of a game, read from the words that people type."""

import random

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duel_daemon.match import HIGHEST_BEST_OF
from duel_daemon.rulebooks import BY_SLUG, SHELF
from duel_daemon.survey import Restriction
from duel_daemon.terms import Terms, Unclear, Wish, find_book, parse

DIVISOR_DUEL, RANDOM_START = BY_SLUG["divisor-duel"], BY_SLUG["divisor-duel-random-start"]
FACTOR_DUEL, NUMBER_FACTOR = BY_SLUG["factor-duel"], BY_SLUG["number-factor"]
USUAL = Terms.of(DIVISOR_DUEL, None)
HIGHEST = 10**12


def wish(words: str, default: Terms = USUAL) -> Wish:
    said = parse(words, default, HIGHEST)
    assert isinstance(said, Wish), said
    return said


def refusal(words: str, default: Terms = USUAL, highest: int = HIGHEST) -> str:
    said = parse(words, default, highest)
    assert isinstance(said, Unclear), said
    return said.sentence


# Any words at all.

A_GAME_WORD = """
    even odd prime any first mirror best of best-of- bestof best-of-x 60 61 4 3 0 ² ٣ factor duel
    number-factor -
"""
a_game_word = st.sampled_from([*A_GAME_WORD.split(), "best of 3"])
any_words = st.text() | st.lists(a_game_word).map(" ".join)


@given(any_words)
@example("9" * 10_000)
@example("best of " + "9" * 10_000)
@example("best-of-x")
@example("9" * 500 + " " + "9" * 500)
def test_any_words_are_a_wish_or_a_sentence(words: str) -> None:
    said = parse(words, USUAL, HIGHEST)
    if isinstance(said, Unclear):
        assert said.sentence.endswith((".", "?", "best of 3"))
        assert len(said.sentence) < 200
    else:
        assert said.terms.problem(HIGHEST) is None
        game = said.terms.game(3, random.Random(1))
        assert game.book.is_playable(game.number, game.restriction)


some_terms = st.builds(
    Terms.of,
    st.sampled_from(SHELF),
    st.none() | st.integers(min_value=0, max_value=10**6),
    st.sampled_from(Restriction),
    st.sampled_from(range(1, HIGHEST_BEST_OF + 1, 2)),
).filter(lambda terms: terms.problem(HIGHEST) is None)


@given(some_terms, st.booleans(), st.sampled_from([USUAL, Terms.of(NUMBER_FACTOR, None)]))
def test_the_words_of_a_wish_make_the_same_wish_again(
    terms: Terms, wants_first: bool, default: Terms
) -> None:
    made = Wish(terms, wants_first)
    assert wish(made.words, default) == made


@given(some_terms, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_words_does_not_matter(
    terms: Terms, mirror: bool, wants_first: bool, rng: random.Random
) -> None:
    made = Wish(attrs.evolve(terms, best_of=1, mirror=True) if mirror else terms, wants_first)
    words = made.words.replace("best of ", "best-of-").split()
    rng.shuffle(words)
    assert wish(" ".join(words)) == made


# What the words mean.


def test_no_words_are_the_usual_game() -> None:
    assert wish("") == Wish(USUAL)
    default = Terms.of(FACTOR_DUEL, 84, Restriction.ODD, 3)
    assert wish("  ", default) == Wish(default)


@pytest.mark.parametrize(
    ("words", "terms"),
    [
        ("72", Terms.of(DIVISOR_DUEL, 72)),
        ("even", Terms.of(DIVISOR_DUEL, None, Restriction.EVEN)),
        ("EVEN 84", Terms.of(DIVISOR_DUEL, 84, Restriction.EVEN)),
        ("factor-duel", Terms.of(FACTOR_DUEL, None)),
        ("factor-duel 84 best of 3", Terms.of(FACTOR_DUEL, 84, Restriction.ANY, 3)),
        ("best of 3 84 factor duel", Terms.of(FACTOR_DUEL, 84, Restriction.ANY, 3)),
        ("prime 72 Best-Of-5", Terms.of(DIVISOR_DUEL, 72, Restriction.PRIME, 5)),
        ("bestof21", Terms.of(DIVISOR_DUEL, None, Restriction.ANY, 21)),
        ("best 3", Terms.of(DIVISOR_DUEL, None, Restriction.ANY, 3)),
        ("mirror 48", Terms.of(DIVISOR_DUEL, 48, Restriction.ANY, 1, True)),
        ("random", Terms.of(RANDOM_START, None)),
        ("even even best of 3 best of 3", Terms.of(DIVISOR_DUEL, None, Restriction.EVEN, 3)),
        ("Divisor Duel (random start)", Terms.of(RANDOM_START, None)),
        ("random divisor duel", Terms.of(RANDOM_START, None)),
    ],
)
def test_words_in_any_order_make_a_game(words: str, terms: Terms) -> None:
    assert wish(words) == Wish(terms)


def test_the_first_turn_can_be_asked_for() -> None:
    assert wish("first 72") == Wish(Terms.of(DIVISOR_DUEL, 72), wants_first=True)


def test_another_book_brings_its_own_number_but_keeps_the_other_defaults() -> None:
    default = Terms.of(DIVISOR_DUEL, 84, Restriction.ODD, 3)
    assert wish("factor-duel", default).terms == Terms.of(FACTOR_DUEL, 100, Restriction.ODD, 3)
    assert wish("divisor-duel", default).terms == default
    assert wish("any best of 1", default).terms == Terms.of(DIVISOR_DUEL, 84)


def test_a_mirror_match_is_no_best_of_even_where_that_is_usual() -> None:
    default = Terms.of(DIVISOR_DUEL, None, Restriction.ANY, 5)
    assert wish("mirror", default).terms == Terms.of(DIVISOR_DUEL, 60, Restriction.ANY, 1, True)
    assert refusal("mirror best of 3") == (
        "A mirror match is two duels. Leave out mirror, or best of."
    )


def test_the_books_own_number_and_no_number_are_the_same_game() -> None:
    assert wish("60") == wish("")
    assert wish("number-factor 30") == wish("number-factor")


def test_where_chance_picks_the_number_none_is_not_any_one() -> None:
    assert wish("random").terms.number is None
    assert wish("random 12") != wish("random")


@pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)
@pytest.mark.parametrize("restriction", Restriction)
def test_every_book_can_be_played_from_its_own_number_with_any_variation(book, restriction) -> None:
    terms = wish(f"{book.slug} {restriction.value}").terms
    assert (terms.book, terms.restriction) == (book, restriction)
    for seed in range(20):
        game = terms.game(3, random.Random(seed))
        assert game.book.is_playable(game.number, restriction)


# What cannot be.


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("61", "61 is a prime number, so there is nothing to play. Try 62."),
        ("2", "2 is too small, so there is nothing to play. Try 4."),
        ("0", "0 is too small, so there is nothing to play. Try 4."),
        ("63 even", "63 has no even divisor to choose, so there is nothing to play. Try 64."),
        ("odd 64", "64 has no odd divisor to choose, so there is nothing to play. Try 65."),
        ("9999999999999", "9999999999999 is too large: numbers go up to 1000000000000 here."),
        ("9" * 300, "That number is too large: numbers go up to 1000000000000 here."),
        ("60 72", "You named two numbers, and a game starts from one. Choose one."),
        ("even odd", "You named two kinds of divisors, even and odd. Choose one."),
        ("any 72 prime", "You named two kinds of divisors, any and prime. Choose one."),
        ("best of 3 best of 5", "You said best of 3 and best of 5. Choose one."),
        (
            "number-factor factor-duel",
            "You named 2 games, factor-duel and number-factor. Choose one.",
        ),
        ("best of 4", "Best of how many? An odd number up to 21, such as: best of 3"),
        ("best of 0", "Best of how many? An odd number up to 21, such as: best of 3"),
        ("best of 23", "Best of how many? An odd number up to 21, such as: best of 3"),
        ("best of three", "Best of how many? An odd number up to 21, such as: best of 3"),
        ("best", "Best of how many? An odd number up to 21, such as: best of 3"),
    ],
)
def test_what_cannot_be_is_refused_with_what_could(words: str, sentence: str) -> None:
    assert refusal(words) == sentence


@given(
    st.sampled_from(SHELF),
    st.sampled_from(Restriction),
    st.integers(min_value=0, max_value=5_000),
)
def test_the_number_that_is_suggested_can_be_played(book, restriction, number) -> None:
    said = parse(f"{book.slug} {restriction.value} {number}", USUAL, 5_000)
    if isinstance(said, Unclear):
        nearby = int(said.sentence.rsplit("Try ", 1)[1].rstrip("."))
        assert abs(nearby - max(number, 4)) <= 3
        assert wish(f"{book.slug} {restriction.value} {nearby}").terms.number == nearby


def test_the_suggestion_is_not_too_large_itself() -> None:
    assert refusal("97", highest=97).endswith("Try 96.")


# Books.


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("divisor-duel", "divisor-duel"),
        ("Divisor Duel", "divisor-duel"),
        ("by-division", "divisor-duel-by-division"),
        ("random", "divisor-duel-random-start"),
        ("factor-duel", "factor-duel"),
        ("fac", "factor-duel"),
        ("number", "number-factor"),
    ],
)
def test_a_book_is_found_by_its_name_or_a_part_that_only_it_has(words: str, slug: str) -> None:
    assert find_book(words) is BY_SLUG[slug]


@pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)
def test_every_slug_finds_its_own_book(book) -> None:
    assert find_book(book.slug.upper()) is book


def test_a_part_that_several_have_lists_them() -> None:
    assert find_book("division") is BY_SLUG["divisor-duel-by-division"]
    assert find_book("duel-") == Unclear(
        "Which one: divisor-duel-by-division or divisor-duel-random-start?"
    )


def test_a_word_that_no_book_has_is_answered_with_all_of_them() -> None:
    found = find_book("chess")
    assert isinstance(found, Unclear)
    assert found.sentence.startswith("There is no game 'chess'. The games: ")
    assert all(slug in found.sentence for slug in BY_SLUG)


# How a game is told.


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("", "Divisor Duel from 60"),
        ("84 odd", "Divisor Duel from 84, only odd divisors"),
        ("factor-duel best of 5", "Factor Duel from 100, best of 5"),
        ("random", "Divisor Duel (random start) from a random number (10 to 50)"),
        ("48 mirror", "Divisor Duel from 48, mirror match (one number, a duel from each side)"),
        ("48 first", "Divisor Duel from 48; you move first"),
    ],
)
def test_both_sides_read_the_full_terms(words: str, text: str) -> None:
    assert wish(words).text == text
