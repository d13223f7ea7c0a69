"""Book 5, Number Factor: divide by a proper divisor; the last successful move wins.

The book speaks of reducing N to 1, but N itself is never a proper divisor, so the win always
comes by the last successful move.
"""

from duel_daemon.events import Ended, Moved, Opened, Passed, Seat, TurnBegan, TurnLost, Wrong
from duel_daemon.rulebooks.book import RuleBook, attempt_of, winner_of


class NumberFactor(RuleBook):
    """The rules and the dialogue of book 5."""

    slug = "number-factor"
    title = "Number Factor"
    explanation = """\
There is one number for both of you. On your turn, pick a number that divides
it without remainder (not 1, and not the number itself) and divide by it.
The result is your opponent's number.

  30 may be divided by 2, 3, 5, 6, 10 or 15.
  30 / 5 = 6, and your opponent goes on from 6.

When nobody can move any more, each of you passes once,
and whoever made the last move wins: leave a prime and it is you.

Careful: a number that is no divisor costs you your turn, and several such in
a row cost you the duel. A slip that is no number at all costs nothing.
"""

    start = 30
    operation = "divide"
    stuck_passes = True
    invalid_costs_turn = True

    def opening(self, event: Opened) -> str:
        return f"Welcome to Number Factor!\nStarting number (N) is {event.number}.\n"

    def turn(self, event: TurnBegan) -> str:
        survey = event.survey
        return (
            f"\n{event.mover.label}'s turn.\n"
            f"Current N: {survey.number}\n"
            f"{survey.kind} of {survey.number} are: {survey.listed(', ')}\n"
        )

    def prompt(self, mover: Seat) -> str:
        return "Choose a proper divisor to divide N: "

    def moved(self, event: Moved, to_mover: bool) -> str:
        who = "You" if to_mover else event.mover.label
        return (
            f"{who} chose {event.divisor}. Calculating {event.before} ÷ {event.divisor}...\n"
            f"New N is {event.after}.\n"
        )

    def turn_lost(self, event: TurnLost) -> str:
        fault = event.fault
        excluded = f"{fault.restriction.value} " if fault.wrong is Wrong.EXCLUDED else ""
        article = "an" if excluded[:1] in ("e", "o") else "a"
        return (
            f"{attempt_of(fault)} is not {article} {excluded}proper divisor of {fault.number}. "
            "Turn lost.\n"
        )

    def passed(self, event: Passed) -> str:
        survey = event.survey
        why = (
            f"{survey.number} is a prime number. No proper divisors."
            if survey.is_prime
            else f"{survey.number} has no {survey.kind.lower()}."
        )
        return f"\n{event.mover.label}'s turn.\nCurrent N: {survey.number}\n{why} Turn passed.\n"

    def ended(self, event: Ended) -> str:
        return (
            "\nNo valid moves remaining.\n"
            f"Last successful move was made by {winner_of(event)}.\n"
            f"Congratulations, {winner_of(event)} wins the game!\n"
        )


BOOK = NumberFactor()
