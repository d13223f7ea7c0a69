"""Book 3, Divisor Duel (random start): book 1's game from a number that chance picks."""

import random

from duel_daemon.events import Ended, Moved, Seat, Stuck, TurnBegan
from duel_daemon.rulebooks.book import RuleBook, winner_of
from duel_daemon.survey import Restriction

LOWEST_START, HIGHEST_START = 10, 50


class DivisorDuelRandomStart(RuleBook):
    """The rules and the dialogue of book 3."""

    slug = "divisor-duel-random-start"
    title = "Divisor Duel (random start)"
    explanation = """\
There is one number for both of you; chance picks it, from 10 to 50.
On your turn, pick a number that divides it without remainder (not 1, and not
the number itself) and take it away. The rest is your opponent's number.

  From 12 you may take away 2, 3, 4 or 6.
  12 - 6 = 6, and your opponent goes on from 6.

If your number has no such divisor, you cannot move, and you lose.
That is so for every prime number: leave your opponent a prime and you win.

A number that is no divisor is refused with the reason, and you try again.
"""

    start = 12
    operation = "subtract"

    def starting_number(self, restriction: Restriction, rng: random.Random) -> int:
        candidates = range(LOWEST_START, HIGHEST_START + 1)
        return rng.choice([n for n in candidates if self.is_playable(n, restriction)])

    @property
    def start_text(self) -> str:
        return f"a random number ({LOWEST_START} to {HIGHEST_START})"

    def turn(self, event: TurnBegan) -> str:
        blank = "" if event.is_first else "\n"  # this book has no opening
        survey = event.survey
        return (
            f"{blank}{event.mover.label}'s turn.\n"
            f"Current number is {survey.number}.\n"
            f"{survey.kind} (excluding 1 and {survey.number}): {survey.listed(', ')}\n"
        )

    def prompt(self, mover: Seat) -> str:
        return "Enter the divisor to subtract: "

    def moved(self, event: Moved, to_mover: bool) -> str:
        who = "You subtract" if to_mover else f"{event.mover.label} subtracts"
        return f"{who} {event.divisor}. New current number is {event.after}.\n"

    def stuck(self, event: Stuck, to_mover: bool) -> str:
        who = "You" if to_mover else event.mover.label
        return (
            f"\n{event.mover.label}'s turn.\n"
            f"Current number is {event.survey.number}.\n"
            f"No {event.survey.kind.lower()}. {who} cannot make a move.\n"
        )

    def ended(self, event: Ended) -> str:
        assert event.by is not None
        return f"{event.by.label} loses. {winner_of(event)} wins!\n"


BOOK = DivisorDuelRandomStart()
