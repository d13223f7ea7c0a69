"""The house's players, playing real duels."""

import random

import pytest
from test_sage import SEMIPRIME, Unheard, allowed, brute_force, every_game

from duel_daemon import sage
from duel_daemon.duel import Duel, Game
from duel_daemon.events import Seat
from duel_daemon.opponents import COMPARED_MOVES, Strength, choose
from duel_daemon.rulebooks import SHELF
from duel_daemon.survey import Restriction

EASY, MEDIUM, PERFECT = Strength
MOST_DIVISORS = 897612484786617600


def played(game, one, two, rng):
    """A duel between two house players, played to its end."""
    duel = Duel(game)
    duel.open()
    strengths = {Seat.ONE: one, Seat.TWO: two}
    while duel.is_on:
        divisor = choose(strengths[duel.mover], game, duel.number, rng)
        assert game.fault(duel.number, divisor) is None
        duel.play(duel.mover, divisor)
    return duel


def starts(book, restriction, rng, count=40):
    playable = [n for n in range(4, 3_000) if book.is_playable(n, restriction)]
    return rng.sample(playable, count)


@every_game
@pytest.mark.parametrize("other", [EASY, MEDIUM, PERFECT])
def test_a_perfect_player_never_loses_a_won_duel(book, restriction, other):
    rng = random.Random(f"{book.slug} {restriction.value} {other.value}")
    truth = brute_force(book, restriction)
    for number in starts(book, restriction, rng):
        game = Game(book, number, restriction)
        if truth[number]:
            assert played(game, PERFECT, other, rng).result.winner is Seat.ONE
        else:
            assert played(game, other, PERFECT, rng).result.winner is Seat.TWO


@every_game
def test_every_player_has_a_move_at_a_large_number(book, restriction):
    rng = random.Random(1)
    for number in (10**18, SEMIPRIME, MOST_DIVISORS, 2**59):
        game = Game(book, number, restriction)
        if book.is_playable(number, restriction):
            for strength in Strength:
                assert game.fault(number, choose(strength, game, number, rng)) is None


@pytest.mark.parametrize("strength", Strength)
def test_the_same_rng_gives_the_same_duel(strength):
    game = Game(SHELF[0], 2520)
    first, second = (played(game, strength, strength, random.Random(7)) for _ in range(2))
    assert first.turns == second.turns


def test_an_easy_player_may_choose_any_divisor():
    game, rng = Game(SHELF[0], 60), random.Random(3)
    chosen = {choose(EASY, game, 60, rng) for _ in range(500)}
    assert sorted(chosen) == allowed(SHELF[0], Restriction.ANY, 60)


def test_a_medium_player_is_blind_about_half_of_the_time():
    game, rng = Game(SHELF[1], 2310), random.Random(4)  # 5 right moves of 30
    right = sum(
        sage.keeps_the_win(game, 2310, choose(MEDIUM, game, 2310, rng)) for _ in range(1_000)
    )
    assert 500 < right < 680


@every_game
def test_a_lost_perfect_player_leaves_the_fewest_right_answers(book, restriction):
    truth, rng = brute_force(book, restriction), random.Random(5)

    def right_answers(number, divisor):
        after = book.result(number, divisor)
        answers = allowed(book, restriction, after)
        return sum(not truth[book.result(after, a)] for a in answers) / len(answers)

    for number in (n for n in range(4, 3_000) if not truth[n]):
        moves = allowed(book, restriction, number)[:COMPARED_MOVES]
        if moves:
            chosen = choose(PERFECT, Game(book, number, restriction), number, rng)
            fewest = min(right_answers(number, move) for move in moves)
            assert right_answers(number, chosen) == fewest


def test_where_the_numbers_are_too_large_to_know_the_number_is_kept_large():
    game, number = Game(Unheard(), 60), 12 * sage.SEARCH_LIMIT
    assert choose(PERFECT, game, number, random.Random(6)) == 1
