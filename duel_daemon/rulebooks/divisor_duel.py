"""Book 1, Divisor Duel: subtract a proper divisor; whoever cannot move loses."""

from duel_daemon.events import Ended, Moved, Opened, Seat, Stuck, TurnBegan
from duel_daemon.rulebooks.book import RuleBook, winner_of


class DivisorDuel(RuleBook):
    """The rules and the dialogue of book 1."""

    slug = "divisor-duel"
    title = "Divisor Duel"
    explanation = """\
There is one number for both of you. On your turn, pick a number that divides
it without remainder (not 1, and not the number itself) and take it away.
The rest is your opponent's number.

  From 60 you may take away 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30.
  60 - 15 = 45, and your opponent goes on from 45.

If your number has no such divisor, you cannot move, and you lose.
That is so for every prime number: leave your opponent a prime and you win.

A number that is no divisor is refused with the reason, and you try again.
"""

    start = 60
    operation = "subtract"

    def opening(self, event: Opened) -> str:
        return f"Game Start! Current Number (N): {event.number}\n"

    def turn(self, event: TurnBegan) -> str:
        survey = event.survey
        return (
            f"\n{event.mover.label}'s turn.\n"
            f"{survey.kind} of {survey.number}: {survey.listed(',')}\n"
        )

    def prompt(self, mover: Seat) -> str:
        return "Enter your chosen divisor: "

    def moved(self, event: Moved, to_mover: bool) -> str:
        return f"Subtracting {event.divisor} from {event.before}. New N is {event.after}.\n"

    def stuck(self, event: Stuck, to_mover: bool) -> str:
        survey = event.survey
        return f"\n{event.mover.label}'s turn.\n{survey.kind} of {survey.number}: None\n"

    def ended(self, event: Ended) -> str:
        return f"No valid moves left. {winner_of(event)} wins!\n"


BOOK = DivisorDuel()
