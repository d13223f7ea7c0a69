"""The house's players: three strengths, all their chance from the rng that is handed in.

They choose from the divisors that a player is shown, at most a hundred: the duel has surveyed the
number already, so that costs nothing, and a number with a hundred thousand divisors is no trouble.
"""

import enum
import random

from duel_daemon import sage
from duel_daemon.duel import Game

COUNTED_NUMBER = 10**9
"""Up to here a lost player compares moves by their answers: 1 ms. Above, only by size."""

COMPARED_MOVES = 6  # the smallest divisors: they make the duel longest


class Strength(enum.Enum):
    """How well a house player plays."""

    EASY = "easy"
    MEDIUM = "medium"
    PERFECT = "perfect"


BLIND_SHARE = {Strength.EASY: 1.0, Strength.MEDIUM: 0.5, Strength.PERFECT: 0.0}
"""How many of its moves a player makes without thinking."""


def choose(strength: Strength, game: Game, number: int, rng: random.Random) -> int:
    """A move at a number that has one. Factors as `sage.winning_move` does."""
    if rng.random() < BLIND_SHARE[strength]:
        return rng.choice(_shown(game, number))
    return sage.winning_move(game, number) or _stubborn_move(game, number)


def _shown(game: Game, number: int) -> tuple[int, ...]:
    survey = game.survey(number)
    return survey.first + survey.last


def _stubborn_move(game: Game, number: int) -> int:
    """In a lost position: the move to which the fewest of the answers are right."""
    moves = _shown(game, number)
    if number > COUNTED_NUMBER:
        return moves[0]  # leaves the most, and so the longest way on which to go wrong
    return min(moves[:COMPARED_MOVES], key=lambda divisor: _right_answers(game, number, divisor))


def _right_answers(game: Game, number: int, divisor: int) -> float:
    """The share of the opponent's answers that keep the win; 1 if there is nothing to answer."""
    after = game.book.result(number, divisor)
    answers = _shown(game, after)
    right = sum(sage.keeps_the_win(game, after, answer) for answer in answers)
    return right / len(answers) if answers else 1.0
