"""Book 2, Divisor Duel (by division): divide by a proper divisor; whoever cannot move loses."""

from duel_daemon.events import Ended, Moved, Seat, Stuck, TurnBegan
from duel_daemon.rulebooks.book import RuleBook, winner_of


class DivisorDuelByDivision(RuleBook):
    """The rules and the dialogue of book 2."""

    slug = "divisor-duel-by-division"
    title = "Divisor Duel (by division)"
    explanation = """\
There is one number for both of you. On your turn, pick a number that divides
it without remainder (not 1, and not the number itself) and divide by it.
The result is your opponent's number.

  60 may be divided by 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30.
  60 / 5 = 12, and your opponent goes on from 12.

If your number has no such divisor, you cannot move, and you lose.
That is so for every prime number: leave your opponent a prime and you win.

A number that is no divisor is refused with the reason, and you try again.
"""

    start = 60
    operation = "divide"

    def turn(self, event: TurnBegan) -> str:
        blank = "" if event.is_first else "\n"  # this book has no opening
        survey = event.survey
        return (
            f"{blank}Current Shared Number: {survey.number}\n"
            f"Available Divisors: {survey.listed(', ')}\n"
        )

    def prompt(self, mover: Seat) -> str:
        return f"{mover.label}, enter your chosen divisor: "

    def moved(self, event: Moved, to_mover: bool) -> str:
        return (
            f"{event.before} divided by {event.divisor} equals {event.after}.\n"
            f"New Shared Number is {event.after}.\n"
        )

    def stuck(self, event: Stuck, to_mover: bool) -> str:
        return "\n"

    def ended(self, event: Ended) -> str:
        assert event.by is not None
        return f"{event.by.label} has no valid moves. {winner_of(event)} wins!\n"


BOOK = DivisorDuelByDivision()
