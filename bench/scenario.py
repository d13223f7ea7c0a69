"""What the load client plays, and what it must read in answer to every line.

A scenario is a cycle of two duels with the sides swapped: the moves, then `rematch` by both. The
answers to moves are worked out here from the rule book's printed dialogue. What the house says
around them (the end of a duel, the rematch) is learnt from one slow duel before the measurement
and checked for what must be in it. At full speed every answer must then be equal, byte for byte.
"""

import dataclasses
from collections.abc import Iterator

PROMPT = "Enter your chosen divisor: "
NAME = "p{:05d}"
OF_FIRST, OF_SECOND = b"\0" * 6, b"\1" * 6  # stand for the names in what was learnt


@dataclasses.dataclass(frozen=True)
class Step:
    """A line by one side, and what both then read."""

    sender: int
    line: bytes
    is_move: bool
    answers: tuple[bytes, bytes] | None
    """By side; None: to be learnt."""
    holds: tuple[bytes, bytes] = (b"", b"")
    """What must be in a learnt answer, by side."""
    has_names: bool = False


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    start: int
    moves: tuple[int, ...]

    @property
    def settings(self) -> tuple[str, ...]:
        return () if self.start == 60 else ("--number", str(self.start))

    def steps(self) -> list[Step]:
        return [*self._duel(first=0), *self._duel(first=1)]

    def _duel(self, first: int) -> Iterator[Step]:
        number = self.start
        for turn, divisor in enumerate(self.moves):
            before, number = number, number - divisor
            yield _move(
                (first + turn) % 2, turn % 2 + 1, before, divisor, turn + 1 < len(self.moves)
            )
        opening = f"Proper divisors of {self.start}: {listed(self.start)}\r\n".encode()
        asked = [opening, opening]
        asked[1 - first] += PROMPT.encode()
        yield Step(0, b"rematch\n", False, None)
        yield Step(1, b"rematch\n", False, None, (asked[0], asked[1]))

    def ends_of_pairing(self) -> tuple[bytes, bytes]:
        """What the two read last, once they are paired."""
        opening = f"Proper divisors of {self.start}: {listed(self.start)}\r\n".encode()
        return opening + PROMPT.encode(), opening


def _move(mover: int, seat: int, before: int, divisor: int, goes_on: bool) -> Step:
    after = before - divisor
    line = f"{divisor}\n".encode()
    text = f"Subtracting {divisor} from {before}. New N is {after}.\n"
    if not goes_on:
        end = f"Player {seat} wins!".encode()
        return Step(mover, line, True, None, (end, end))
    text += f"\nPlayer {3 - seat}'s turn.\nProper divisors of {after}: {listed(after)}\n"
    answers = [b"", b""]
    answers[mover] = text.replace("\n", "\r\n").encode()
    answers[1 - mover] = f"{PROMPT}{divisor}\n{text}{PROMPT}".replace("\n", "\r\n").encode()
    return Step(mover, line, True, (answers[0], answers[1]))


def listed(number: int) -> str:
    """The proper divisors without 1, worked out as a pupil would."""
    return ",".join(str(d) for d in range(2, number) if number % d == 0)


def relayed(steps: list[Step], reply: bytes) -> list[Step]:
    """The same lines to a server that answers all of them alike."""
    return [
        dataclasses.replace(step, answers=(reply, reply), has_names=False)
        for step in steps
        if step.line
    ]


def average_answer(steps: list[Step]) -> int:
    """In bytes, over all lines and both sides."""
    lines = sum(bool(step.line) for step in steps)
    return round(sum(len(answer) for step in steps for answer in step.answers or ()) / lines / 2)


# A duel as in a classroom, which is what the default settings play; and one that is all moves.
CLASSROOM = Scenario("classroom", 60, (15, 15, 15, 5, 5))
LONG = Scenario("long", 400, (2,) * 199)
