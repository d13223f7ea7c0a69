"""The truth about every move of a duel: which kept the win, which gave it away, what was better.

Made from a game and its turns alone, so that a duel can be reviewed while it is on, when it has
ended, or years later. Every turn costs what `sage.outlook` costs, and every mistake what
`sage.winning_move` does: above `survey.HEAVY_NUMBER` this belongs in a thread.
"""

import enum
import textwrap
from collections.abc import Iterable, Iterator

import attrs

from duel_daemon import sage
from duel_daemon.duel import Game, Turn
from duel_daemon.events import Seat
from duel_daemon.sage import Outlook

WIDTH = 77  # a screen of 79 columns less the "* " that the house puts before its lines

SHOWN_NEAR = 10  # rows at the start, around the first mistake and at the end of a long duel


class Verdict(enum.Enum):
    """What a turn was worth, and how a row of the review says so."""

    KEPT = "keeps the win"
    GAVE_AWAY = "gives the win away"
    LOST_ALREADY = "every move loses"
    TURN_LOST = "turn lost"
    FORFEITED = "one lost turn too many"
    UNKNOWN = "nobody knows"


@attrs.frozen
class ReviewedTurn:
    """One turn, the number before and after it, and the truth about it."""

    place: int
    """Which turn of the duel it was, from 1."""
    seat: Seat
    number: int
    divisor: int
    after: int
    verdict: Verdict
    better: int | None
    """What would have kept the win, if this gave it away."""

    @property
    def is_mistake(self) -> bool:
        return self.better is not None

    @property
    def turned_the_duel(self) -> bool:
        """Whether a lost turn was lucky: it handed the opponent a number from which to lose."""
        return self.verdict is Verdict.TURN_LOST and not self.is_mistake


@attrs.frozen
class Review:
    """A duel, reviewed."""

    game: Game
    turns: tuple[ReviewedTurn, ...]

    @property
    def first_mistake(self) -> ReviewedTurn | None:
        return next((turn for turn in self.turns if turn.is_mistake), None)

    def first_mistake_of(self, seat: Seat) -> ReviewedTurn | None:
        return next((turn for turn in self.turns if turn.is_mistake and turn.seat is seat), None)

    def mistakes(self, seat: Seat) -> int:
        return sum(turn.is_mistake and turn.seat is seat for turn in self.turns)


def review(game: Game, turns: Iterable[Turn]) -> Review:
    """Turns that were never legal are a caller's mistake."""
    return Review(game, tuple(_reviewed(game, turns)))


def _reviewed(game: Game, turns: Iterable[Turn]) -> Iterator[ReviewedTurn]:
    number = game.number
    faults = {Seat.ONE: 0, Seat.TWO: 0}  # in a row, of each seat
    for place, turn in enumerate(turns, start=1):
        is_move = game.fault(number, turn.divisor) is None
        if not (is_move or game.book.invalid_costs_turn):
            raise ValueError(f"{turn} is no turn at {number}")
        after = game.book.result(number, turn.divisor) if is_move else number
        faults[turn.seat] = 0 if is_move else faults[turn.seat] + 1
        verdict = _verdict_on_fault(game, faults[turn.seat]) or _verdict(game, number, after)
        better = None if verdict is Verdict.KEPT else sage.winning_move(game, number)
        yield ReviewedTurn(place, turn.seat, number, turn.divisor, after, verdict, better)
        number = after


def _verdict_on_fault(game: Game, faults: int) -> Verdict | None:
    if not faults:
        return None
    return Verdict.FORFEITED if faults >= game.violations else Verdict.TURN_LOST


def _verdict(game: Game, number: int, after: int) -> Verdict:
    match sage.outlook(game, number), sage.outlook(game, after):
        case Outlook.LOSING, _:
            return Verdict.LOST_ALREADY
        case Outlook.WINNING, Outlook.LOSING:
            return Verdict.KEPT
        case Outlook.WINNING, Outlook.WINNING:
            return Verdict.GAVE_AWAY
    return Verdict.UNKNOWN


# The text.


def lines(review: Review) -> list[str]:
    """What a player reads: a row for each turn, the count of mistakes, and the lesson."""
    paragraphs = (_count(review), *_lesson(review))
    return [*_table(review), *(line for text in paragraphs for line in textwrap.wrap(text, WIDTH))]


def _table(review: Review) -> Iterator[str]:
    """The rows; of a long duel only some, each gap saying how much it leaves out."""
    shown = _shown(review)
    heads = {turn.place: _head(review.game, turn) for turn in shown}
    room = WIDTH - 2 - max((len(_ruling(turn)) for turn in shown), default=0)
    column = max((len(head) for head in heads.values() if len(head) <= room), default=0)
    last = 0
    for turn in shown:
        if left_out := turn.place - last - 1:
            yield f"... {left_out} {'turn' if left_out == 1 else 'turns'} left out ..."
        yield from _row(heads[turn.place], _ruling(turn), column)
        last = turn.place


def _shown(review: Review) -> list[ReviewedTurn]:
    turns, near = review.turns, SHOWN_NEAR
    if len(turns) <= 3 * near:
        return list(turns)
    mistake = review.first_mistake
    middle = max(0, mistake.place - near // 2) if mistake else 0
    parts = (*turns[:near], *turns[middle : middle + near], *turns[-near:])
    return sorted(set(parts), key=lambda turn: turn.place)


def _row(head: str, ruling: str, column: int) -> list[str]:
    """On one line with the others if the numbers are short enough, else on two."""
    row = f"{head:<{column}}  {ruling}"
    return [row] if len(row) <= WIDTH else [head, f"     {ruling}"]


def _head(game: Game, turn: ReviewedTurn) -> str:
    start = f"{turn.place}. {turn.seat.label}: "
    if turn.verdict not in (Verdict.TURN_LOST, Verdict.FORFEITED):
        return start + _move(game, turn.number, turn.divisor)
    # What was typed can be longer than any line.
    typed = "a larger number" if turn.divisor > turn.number else str(turn.divisor)
    return f"{start}{turn.number}, and {typed} is no move"


def _ruling(turn: ReviewedTurn) -> str:
    ruling: str = turn.verdict.value
    if turn.verdict is Verdict.TURN_LOST:
        ruling += ", luckily" if turn.turned_the_duel else ", and the win"
    return ruling


def _move(game: Game, number: int, divisor: int) -> str:
    sign = "-" if game.book.operation == "subtract" else "/"
    return f"{number} {sign} {divisor} = {game.book.result(number, divisor)}"


def _count(review: Review) -> str:
    if not review.turns:
        return "No move was made."
    if review.first_mistake is None:
        return ""
    one, two = (_times(review.mistakes(seat)) for seat in Seat)
    return f"Mistakes: {Seat.ONE.label} made {one}, {Seat.TWO.label} made {two}."


def _times(count: int) -> str:
    return str(count) if count else "none"


def _lesson(review: Review) -> tuple[str, ...]:
    """The first mistake and what was better; or that there was none, and who was winning."""
    game, mistake = review.game, review.first_mistake
    if mistake is not None and mistake.better is not None:
        better = _move(game, mistake.number, mistake.better)
        what = f"First mistake: turn {mistake.place}, {mistake.seat.label}. Better: {better}."
        return what, sage.why(game, mistake.number)
    winner = _winner_at_the_start(game)
    if winner is None:
        return ("Nobody can tell who was winning: the numbers were too large.",)
    lucky = next((turn for turn in review.turns if turn.turned_the_duel), None)
    if lucky is not None:
        what = f"the turn that {lucky.seat.label} lost at {lucky.number} turned the duel round."
        return f"No move gave the win away, but {what}", sage.why(game, lucky.number)
    opening = "Nobody made a mistake: " if review.turns else ""
    return f"{opening}{winner.label} was winning from the start.", sage.why(game, game.number)


def _winner_at_the_start(game: Game) -> Seat | None:
    winners = {Outlook.WINNING: Seat.ONE, Outlook.LOSING: Seat.TWO}
    return winners.get(sage.outlook(game, game.number))
