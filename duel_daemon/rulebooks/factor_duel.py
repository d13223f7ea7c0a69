"""Book 4, Factor Duel: subtract a divisor, 1 included; whoever makes a prime wins at once.

The book's first example gives the win to the wrong player; its rules 4 and 5 and its second
example agree with each other, so they stand. Leaving 1 loses by the book, but 1 can only be
reached from 2, a prime, where the duel is already over: no code is needed for it.
"""

from duel_daemon.events import Ended, Moved, Opened, Reason, Seat, Stuck, TurnBegan
from duel_daemon.rulebooks.book import RuleBook, winner_of


class FactorDuel(RuleBook):
    """The rules and the dialogue of book 4."""

    slug = "factor-duel"
    title = "Factor Duel"
    explanation = """\
There is one number for both of you. On your turn, pick a number that divides
it without remainder (1 is allowed, the number itself is not) and take it
away. The rest is your opponent's number.

  From 30 you may take away 1, 2, 3, 5, 6, 10 or 15.
  30 - 15 = 15, and your opponent goes on from 15.

Whoever makes the number a prime wins at once: 10 - 5 = 5, and it is over.
(Making it 1 would lose; but on the way there is always a prime first.)

A number that is no divisor is refused with the reason, and you try again.
"""

    start = 100
    operation = "subtract"
    lowest_divisor = 1
    prime_wins = True

    def opening(self, event: Opened) -> str:
        return f"Starting Number: {event.number}\n"

    def turn(self, event: TurnBegan) -> str:
        survey = event.survey
        return (
            f"\n{event.mover.label}'s turn.\n"
            f"{survey.kind} of {survey.number}: {survey.listed(', ')}\n"
        )

    def prompt(self, mover: Seat) -> str:
        return "Choose a proper divisor to subtract: "

    def moved(self, event: Moved, to_mover: bool) -> str:
        return (
            f"{event.mover.label} subtracts {event.divisor}: "
            f"{event.before} - {event.divisor} = {event.after}\n"
        )

    def stuck(self, event: Stuck, to_mover: bool) -> str:
        survey = event.survey
        return f"\n{event.mover.label}'s turn.\n{survey.kind} of {survey.number}: None\n"

    def ended(self, event: Ended) -> str:
        if event.reason is Reason.PRIME_LEFT:
            return f"{event.number} is a prime number. {winner_of(event)} wins!\n"
        assert event.by is not None
        return f"{event.by.label} cannot make a valid move. {winner_of(event)} wins!\n"


BOOK = FactorDuel()
