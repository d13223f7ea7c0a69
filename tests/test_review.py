"""The review of a duel, against brute force and as a player reads it."""

import random

import pytest
from test_sage import LARGE, Unheard, allowed, brute_force, every_game

from duel_daemon import sage
from duel_daemon.duel import Duel, Game, Turn, replay
from duel_daemon.events import Reason, Seat
from duel_daemon.review import Verdict, lines, review
from duel_daemon.rulebooks import BY_SLUG, SHELF
from duel_daemon.survey import Restriction

ONE, TWO = Seat.ONE, Seat.TWO
DIVISOR_DUEL, NUMBER_FACTOR = BY_SLUG["divisor-duel"], BY_SLUG["number-factor"]


def turns(*divisors):
    return [Turn(TWO if place % 2 else ONE, divisor) for place, divisor in enumerate(divisors)]


def random_duel(game, rng, slips=0.2):
    """Played at random to its end; where that costs the turn, with numbers that are no move."""
    duel = Duel(game)
    duel.open()
    while duel.is_on:
        survey = game.survey(duel.number)
        divisor = rng.choice(survey.first + survey.last)
        if game.book.invalid_costs_turn and rng.random() < slips:
            divisor = rng.choice([0, 1, duel.number, duel.number + 1, 10**5000])
        duel.play(duel.mover, divisor)
    return duel


def random_duels(book, restriction, count):
    rng = random.Random(f"{book.slug} {restriction.value}")
    playable = [n for n in range(4, 2_000) if book.is_playable(n, restriction)]
    return [random_duel(Game(book, rng.choice(playable), restriction), rng) for _ in range(count)]


def expected(duel, place, number):
    """The verdict on a turn and whether it was a mistake, from brute force and the result alone."""
    game, turn = duel.game, duel.turns[place]
    truth = brute_force(game.book, game.restriction)
    if turn.divisor not in allowed(game.book, game.restriction, number):
        is_last = place + 1 == len(duel.turns) and duel.result.reason is Reason.VIOLATIONS
        return Verdict.FORFEITED if is_last else Verdict.TURN_LOST, truth[number]
    if not truth[number]:
        return Verdict.LOST_ALREADY, False
    kept = not truth[game.book.result(number, turn.divisor)]
    return Verdict.KEPT if kept else Verdict.GAVE_AWAY, not kept


@every_game
def test_the_review_of_a_hundred_random_duels_agrees_with_brute_force(book, restriction):
    truth = brute_force(book, restriction)
    for duel in random_duels(book, restriction, 100):
        reviewed = review(duel.game, duel.turns)
        assert [(t.seat, t.divisor) for t in reviewed.turns] == [
            (t.seat, t.divisor) for t in duel.turns
        ]
        for place, turn in enumerate(reviewed.turns):
            before = replay(duel.game, duel.turns[:place])
            assert turn.place == place + 1
            assert turn.number == before.number
            assert (turn.verdict, turn.is_mistake) == expected(duel, place, turn.number)
            if turn.better is not None:
                assert turn.better in allowed(book, restriction, turn.number)
                assert not truth[book.result(turn.number, turn.better)]
        assert not reviewed.turns or reviewed.turns[-1].after == duel.number


@every_game
def test_the_mistakes_are_counted_and_the_first_is_found(book, restriction):
    for duel in random_duels(book, restriction, 20):
        reviewed = review(duel.game, duel.turns)
        mistakes = [turn for turn in reviewed.turns if turn.is_mistake]
        assert reviewed.first_mistake == (mistakes[0] if mistakes else None)
        for seat in Seat:
            own = [turn for turn in mistakes if turn.seat is seat]
            assert reviewed.mistakes(seat) == len(own)
            assert reviewed.first_mistake_of(seat) == (own[0] if own else None)


@every_game
def test_who_loses_by_the_rules_either_was_losing_or_made_a_mistake(book, restriction):
    truth = brute_force(book, restriction)
    for duel in random_duels(book, restriction, 50):
        reviewed = review(duel.game, duel.turns)
        loser = duel.result.winner.other
        losing_from_the_start = (loser is TWO) is truth[duel.game.number]
        lucky = any(turn.turned_the_duel for turn in reviewed.turns)
        assert losing_from_the_start or reviewed.mistakes(loser) or lucky


@every_game
def test_the_text_fits_the_screen_and_any_terminal(book, restriction):
    duels = random_duels(book, restriction, 30)
    rng = random.Random(8)
    for number in LARGE:
        if book.is_playable(number, restriction):
            game = Game(book, number, restriction)
            duel = Duel(game)
            duel.open()
            for _ in range(45):  # long enough to be shortened, where the duel lasts
                if duel.is_on:
                    survey = game.survey(duel.number)
                    duel.play(duel.mover, rng.choice(survey.first + survey.last))
            duels.append(duel)
    for duel in duels:
        text = lines(review(duel.game, duel.turns))
        assert len(text) <= 80
        for line in text:
            assert line.isascii()
            assert line.isprintable()
            assert 0 < len(line) <= 77
            assert not line.startswith("*")


def test_a_duel_with_a_mistake_reads_like_this():
    reviewed = review(Game(DIVISOR_DUEL, 60), turns(15, 9, 18, 6, 6, 2, 2))
    assert lines(reviewed) == [
        "1. Player 1: 60 - 15 = 45  keeps the win",
        "2. Player 2: 45 - 9 = 36   every move loses",
        "3. Player 1: 36 - 18 = 18  gives the win away",
        "4. Player 2: 18 - 6 = 12   gives the win away",
        "5. Player 1: 12 - 6 = 6    gives the win away",
        "6. Player 2: 6 - 2 = 4     gives the win away",
        "7. Player 1: 4 - 2 = 2     keeps the win",
        "Mistakes: Player 1 made 2, Player 2 made 2.",
        "First mistake: turn 3, Player 1. Better: 36 - 9 = 27.",
        "36 is a winning number: it is even and has an odd divisor. Take that away:",
        "the rest is odd, and from an odd number any move leads back to an even one",
        "with an odd divisor.",
    ]


def test_a_duel_without_a_mistake_says_who_was_winning():
    reviewed = review(Game(DIVISOR_DUEL, 15), turns(5, 5))
    assert lines(reviewed) == [
        "1. Player 1: 15 - 5 = 10  every move loses",
        "2. Player 2: 10 - 5 = 5   keeps the win",
        "Nobody made a mistake: Player 2 was winning from the start.",
        "15 is a losing number: it is odd, and so is every divisor of it. Take one",
        "away and the rest is even; your opponent can take the same one again, and you",
        "get an odd number.",
    ]


def test_a_lost_turn_gives_the_win_away():
    reviewed = review(Game(NUMBER_FACTOR, 30), turns(7, 15))
    assert lines(reviewed)[:4] == [
        "1. Player 1: 30, and 7 is no move  turn lost, and the win",
        "2. Player 2: 30 / 15 = 2           keeps the win",
        "Mistakes: Player 1 made 1, Player 2 made none.",
        "First mistake: turn 1, Player 1. Better: 30 / 15 = 2.",
    ]


def test_a_turn_lost_at_a_losing_number_turns_the_duel():
    reviewed = review(Game(NUMBER_FACTOR, 8, Restriction.PRIME), turns(4, 2, 2))
    assert reviewed.first_mistake is None
    assert lines(reviewed) == [
        "1. Player 1: 8, and 4 is no move  turn lost, luckily",
        "2. Player 2: 8 / 2 = 4            every move loses",
        "3. Player 1: 4 / 2 = 2            keeps the win",
        "No move gave the win away, but the turn that Player 1 lost at 8 turned the",
        "duel round.",
        "8 is a losing number: it is 3 primes multiplied (2 x 2 x 2). Each move takes",
        "one away until one is left, and 3 is odd: your opponent makes the last move.",
    ]


def test_the_lost_turn_that_forfeits_is_named():
    game = Game(NUMBER_FACTOR, 30, violations=2)
    reviewed = review(game, turns(7, 7, 10**5000))
    assert [turn.verdict for turn in reviewed.turns] == [
        Verdict.TURN_LOST,
        Verdict.TURN_LOST,
        Verdict.FORFEITED,
    ]
    text = "3. Player 1: 30, and a larger number is no move  one lost turn too many"
    assert lines(reviewed)[2] == text


def test_a_duel_without_a_move_still_says_who_was_winning():
    assert lines(review(Game(DIVISOR_DUEL, 8), []))[:2] == [
        "No move was made.",
        "Player 2 was winning from the start.",
    ]


@pytest.mark.parametrize("mistake", [None, 0, 40, 150, 196])
def test_a_long_duel_is_shortened_around_its_first_mistake(mistake):
    # From 4k only 2 is right, from 4k + 2 everything loses: taking 4 is the mistake.
    divisors = [2] * 200
    if mistake is not None:
        divisors[mistake] = 4
    reviewed = review(Game(DIVISOR_DUEL, 1_000, Restriction.EVEN), turns(*divisors))
    text = lines(reviewed)
    rows = [line for line in text if line[0].isdigit() and ". Player" in line]
    left_out = [int(line.split()[1]) for line in text if line.startswith("...")]
    assert len(rows) <= 30
    assert len(rows) + sum(left_out) == 200
    assert rows[0].startswith("1. ")
    assert rows[-1].startswith("200. ")
    if mistake is not None:
        assert any(row.startswith(f"{mistake + 1}. ") and "gives" in row for row in rows)


def test_a_turn_that_was_never_legal_is_a_callers_mistake():
    with pytest.raises(ValueError, match="is no turn at 60"):
        review(Game(DIVISOR_DUEL, 60), turns(7))


def test_where_nobody_knows_nobody_is_blamed():
    game = Game(Unheard(), 10 * sage.SEARCH_LIMIT)
    reviewed = review(game, turns(1, 1))
    assert [turn.verdict for turn in reviewed.turns] == [Verdict.UNKNOWN] * 2
    assert reviewed.first_mistake is None
    assert lines(reviewed) == [
        "1. Player 1: 100000 - 1 = 99999  nobody knows",
        "2. Player 2: 99999 - 1 = 99998   nobody knows",
        "Nobody can tell who was winning: the numbers were too large.",
    ]


def test_a_running_duel_can_be_reviewed():
    reviewed = review(Game(SHELF[3], 100), turns(1))
    assert lines(reviewed)[:2] == [
        "1. Player 1: 100 - 1 = 99  keeps the win",
        "Nobody made a mistake: Player 1 was winning from the start.",
    ]
