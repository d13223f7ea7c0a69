"""What is announced about a match: who won a duel, the score, the end. Pure."""

from collections.abc import Sequence

from duel_daemon.events import Ended, Seat
from duel_daemon.match import Mirror, Series, Side


def outcome(seat: Seat, ended: Ended, opponent: str) -> str:
    """How a duel went, to whoever sat there."""
    if ended.winner is None:
        return "Nobody won this duel."
    return f"You won against {opponent}!" if ended.winner is seat else f"{opponent} won this duel."


def score(series: Series, names: Sequence[str]) -> str:
    a, b = (f"{names[side]} {series.wins[side]}" for side in Side)
    return f"The score: {a}, {b}"


def match_result(series: Series, names: Sequence[str]) -> str:
    mistakes = ""
    if isinstance(series, Mirror) and series.mistakes is not None:
        a, b = (f"{names[side]} {series.mistakes[side]}" for side in Side)
        mistakes = f" (mistakes: {a}, {b})"
    if series.winner is None:
        return f"The match is drawn{mistakes}."
    return f"{names[series.winner]} wins the match{mistakes}."
