"""Recorded duels: reads the files of playthroughs/, whose README says how they are written.

Nothing here plays or tells a duel; that is for the tests that compare.
"""

from collections.abc import Callable
from pathlib import Path

import attrs

from duel_daemon.duel import Game, Result
from duel_daemon.events import Reason, Seat
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.survey import Restriction

FOLDER = Path(__file__).parent / "playthroughs"


@attrs.frozen
class Line:
    """A line of dialogue: as the mover reads it, and as everybody else does."""

    to_mover: str
    to_others: str

    @property
    def mover(self) -> Seat:
        """Whose line it is, where the two differ: only the others are told a name."""
        (mover,) = (seat for seat in Seat if seat.label in self.to_others)
        return mover

    def read_by(self, seat: Seat | None) -> str:
        if self.to_mover == self.to_others:
            return self.to_mover
        return self.to_mover if seat is self.mover else self.to_others


@attrs.frozen
class Playthrough:
    """One recorded duel."""

    name: str
    source: str
    game: Game
    moves: tuple[int, ...]
    """The numbers typed, the players taking turns."""
    result: Result
    lines: tuple[Line, ...]

    def movers_screen(self) -> str:
        """What whoever has the turn reads: the rule book's own sample."""
        return _screen(self.lines, lambda line: line.to_mover)

    def screen(self, seat: Seat | None) -> str:
        """What one player's terminal shows in the end, or (None) a watcher's."""
        return _screen(self.lines, lambda line: line.read_by(seat))


def _screen(lines: tuple[Line, ...], reading: Callable[[Line], str]) -> str:
    return "".join(f"{reading(line)}\n" for line in lines)


def every_playthrough() -> list[Playthrough]:
    return [parse(path.stem, path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.txt"))]


def parse(name: str, text: str) -> Playthrough:
    head, _, dialogue = text.partition("\n\n")
    facts = dict(line.removeprefix("# ").split(": ", 1) for line in head.splitlines())
    book = BY_SLUG[facts.pop("game")]
    playthrough = Playthrough(
        name=name,
        source=facts.pop("source"),
        game=Game(book, int(facts.pop("start")), Restriction(facts.pop("restriction"))),
        moves=tuple(int(move) for move in facts.pop("moves").split(", ")),
        result=_parse_result(facts.pop("result")),
        lines=tuple(_parse_line(line) for line in dialogue.splitlines()),
    )
    assert not facts, f"{name}: what is {', '.join(facts)}?"
    return playthrough


def _parse_result(text: str) -> Result:
    winner, reason = text.split(" wins, ")
    (seat,) = (seat for seat in Seat if seat.label == winner)
    return Result(seat, Reason(reason))


def _parse_line(line: str) -> Line:
    to_mover, bar, to_others = line.partition(" | ")
    return Line(to_mover.rstrip(), to_others) if bar else Line(line, line)
