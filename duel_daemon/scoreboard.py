"""What is announced about a match: who won a duel, the score, the end. Pure."""

from collections.abc import Sequence

from duel_daemon.duel import Result
from duel_daemon.events import Seat
from duel_daemon.match import Mirror, Series, Side


def outcome(seat: Seat, result: Result, opponent: str) -> str:
    """How a duel went, to whoever sat there."""
    if result.winner is None:
        return "Nobody won this duel."
    if result.winner is seat:
        return f"You won against {opponent}!"
    return f"{_first_word_large(opponent)} won this duel."


def score(series: Series, names: Sequence[str]) -> str:
    a, b = (f"{names[side]} {series.wins[side]}" for side in Side)
    return f"The score: {a}, {b}"


def verdict(series: Series, names: Sequence[str]) -> str:
    """How a series ended; of a single duel there is nothing more to say."""
    return f"{score(series, names)}. {match_result(series, names)}" if series.played > 1 else ""


def match_result(series: Series, names: Sequence[str]) -> str:
    mistakes = ""
    if isinstance(series, Mirror) and series.mistakes is not None:
        a, b = (f"{names[side]} {series.mistakes[side]}" for side in Side)
        mistakes = f" (mistakes: {a}, {b})"
    if series.winner is None:
        return f"The match is drawn{mistakes}."
    return f"{_first_word_large(names[series.winner])} wins the match{mistakes}."


def _first_word_large(name: str) -> str:
    """The house has no name, and may begin a sentence; a name (one word) stays as it was given."""
    return name[:1].upper() + name[1:] if " " in name else name
