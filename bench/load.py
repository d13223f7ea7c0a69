"""The load client: both players of many duels in one process, on raw sockets and epoll.

Lean, so that it is the server that is measured: no task per player, no text, every answer compared
with the bytes that must come. It plays closed loop (the next line as soon as both sides have read
the last answer) or open loop (a move whenever one is due, late or not). It never sleeps: waking a
sleeping client is dear in a virtual machine, and would be charged to the server that sends.
"""

import dataclasses
import gc
import re
import select
import socket
import time
from collections import deque
from collections.abc import Callable

from scenario import NAME, OF_FIRST, OF_SECOND, Scenario, Step

CONNECTING_AT_ONCE = 64
QUIET_SECONDS = 0.15  # then an answer that is being learnt has come to its end
PATIENCE_SECONDS = 20.0  # less than a turn: what comes late is no answer
PAIRED = re.compile(rb"Your opponent is (p\d+)\b.*?You are Player (\d)", re.DOTALL)
VARYING = re.compile(rb"(?<=Recorded as duel )\d+|\b[0-9A-Z]{4}-[0-9A-Z]{4}\b")
VARIES = b"#"  # stands for what cannot be foretold: the number of a duel, a return code
RECORDED = b"* Recorded as duel #.\r\n"


class WrongAnswerError(Exception):
    """The server did not answer as it must."""


def split(step: Step) -> list[Step]:
    """That a result is stored is told when it is, after the move's answer: a step by itself."""
    assert step.answers is not None
    first, second = (VARYING.sub(VARIES, answer) for answer in step.answers)
    if not (first.endswith(RECORDED) and second.endswith(RECORDED)):
        return [dataclasses.replace(step, answers=(first, second))]
    cut = first.removesuffix(RECORDED), second.removesuffix(RECORDED)
    stored = Step(step.sender, b"", False, (RECORDED, RECORDED))
    return [dataclasses.replace(step, answers=cut), stored]


class Side:
    """One connection."""

    __slots__ = ("expected", "got", "name", "pair", "recv", "sock")

    def __init__(self, sock: socket.socket, name: bytes) -> None:
        self.sock = sock
        self.recv = sock.recv
        self.name = name
        self.got = b""
        self.expected = b""
        self.pair: Pair


class Pair:
    """One duel: its two sides, where in the cycle it is, and whose answers are missing."""

    __slots__ = ("at", "due", "missing", "sides")

    def __init__(self, first: Side, second: Side) -> None:
        self.sides = (first, second)
        first.pair = second.pair = self
        self.at = 0
        self.missing = 0
        self.due = 0.0


Done = Callable[[Pair], None]


@dataclasses.dataclass
class Played:
    """What a stretch of playing came to."""

    moves: int
    seconds: float
    own_cpu_seconds: float
    latencies: list[float] = dataclasses.field(default_factory=list)


class Load:
    """All connections to one server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.poller = select.epoll()
        self.sides: dict[int, Side] = {}
        self.pairs: list[Pair] = []
        self.steps: list[Step] = []

    # Connecting.

    def connect(self, pairs: int, ends: tuple[bytes, bytes] | None) -> float:
        """Connect, name and pair so many more; the seconds that took.

        `ends` is what Player 1 and Player 2 read last; None: nothing after the pairing itself.
        """
        first = len(self.sides)
        waiting = {NAME.format(first + n).encode() for n in range(2 * pairs)}
        coming = deque(sorted(waiting))
        halves: dict[bytes, tuple[Side, bytes, int]] = {}
        began = time.perf_counter()
        while waiting:
            while coming and len(waiting) - len(coming) < CONNECTING_AT_ONCE:
                self._connect(coming.popleft())
            for side in self._readable():
                side.got += side.recv(65536)
                found = PAIRED.search(side.got)
                if found is None:
                    continue
                number = int(found[2])
                if ends is None or side.got.endswith(ends[number - 1]):
                    side.got = b""
                    waiting.discard(side.name)
                    self._pair(side, found[1], number, halves)
        return time.perf_counter() - began

    def _connect(self, name: bytes) -> None:
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self.sides[sock.fileno()] = Side(sock, name)
        self.poller.register(sock.fileno(), select.EPOLLIN)
        sock.send(name + b"\n")

    def _readable(self) -> list[Side]:
        events = self.poller.poll(PATIENCE_SECONDS)
        if not events:
            silent = next(side for side in self.sides.values() if side.got or side.expected)
            raise WrongAnswerError(f"nothing more came: {silent.got!r} of {silent.expected!r}")
        return [self.sides[fd] for fd, _ in events]

    def _pair(
        self, side: Side, opponent: bytes, number: int, halves: dict[bytes, tuple[Side, bytes, int]]
    ) -> None:
        other = halves.pop(opponent, None)
        if other is None:
            halves[side.name] = (side, opponent, number)
            return
        if other[1] != side.name or other[2] == number:
            raise WrongAnswerError(f"{side.name!r} and {opponent!r} are not of one mind")
        first, second = (side, other[0]) if number == 1 else (other[0], side)
        self.pairs.append(Pair(first, second))

    # Learning what the server says.

    def learn(self, scenario: Scenario) -> list[Step]:
        """Play one cycle with the first pair, and keep what it read where that is not known."""
        (pair,) = self.pairs
        learnt = []
        for step in scenario.steps():
            pair.sides[step.sender].sock.send(step.line)
            heard = self._hear(pair, step)
            learnt += split(self._kept(pair, step, heard))
        return learnt

    def _hear(self, pair: Pair, step: Step) -> tuple[bytes, bytes]:
        heard = dict.fromkeys(pair.sides, b"")
        wanted = step.answers
        while wanted is None or tuple(heard.values()) != wanted:
            events = self.poller.poll(QUIET_SECONDS if wanted is None else 2.0)
            if not events:
                break
            for fd, _ in events:
                heard[self.sides[fd]] += self.sides[fd].recv(65536)
        first, second = (heard[side] for side in pair.sides)
        return first, second

    def _kept(self, pair: Pair, step: Step, heard: tuple[bytes, bytes]) -> Step:
        if step.answers is not None and heard != step.answers:
            raise WrongAnswerError(f"{step.line!r}: {heard!r} instead of {step.answers!r}")
        for answer, must in zip(heard, step.holds, strict=True):
            if must not in answer:
                raise WrongAnswerError(f"{step.line!r}: {must!r} is not in {answer!r}")
        names = [side.name for side in pair.sides]
        first, second = (a.replace(names[0], OF_FIRST).replace(names[1], OF_SECOND) for a in heard)
        has_names = (first, second) != heard
        return dataclasses.replace(step, answers=(first, second), has_names=has_names)

    # Playing.

    def begin(self, pair: Pair, done: Done) -> None:
        """Send the next line of this duel, if it is one and not only something to wait for."""
        step = self.steps[pair.at]
        first, second = pair.sides
        assert step.answers is not None
        first.expected, second.expected = step.answers
        if step.has_names:
            for side in pair.sides:
                text = side.expected.replace(OF_FIRST, first.name)
                side.expected = text.replace(OF_SECOND, second.name)
        pair.missing = bool(first.expected) + bool(second.expected)
        if step.line:
            pair.sides[step.sender].sock.send(step.line)
        for side in pair.sides:
            if side.got and side.expected:
                self._compare(side, done)

    def _hear_all(self, timeout: float, done: Done) -> bool:
        """Read whatever has come; `done` is told of each duel whose answers are complete."""
        events = self.poller.poll(timeout)
        sides = self.sides
        for fd, _ in events:
            side = sides[fd]
            data = side.recv(65536)
            if data == side.expected and not side.got:
                self._has_read(side, b"", done)
            elif not data:
                raise WrongAnswerError(f"closed after {side.got!r}, not {side.expected!r}")
            else:
                side.got += data
                if side.expected:
                    self._compare(side, done)
        return bool(events)

    def _compare(self, side: Side, done: Done) -> None:
        """The long way: a part of the answer, or more than it, or a number that varies."""
        expected, got = side.expected, side.got
        varies = VARIES in expected
        if varies:
            got = VARYING.sub(VARIES, got)
        if got.startswith(expected):
            self._has_read(side, got[len(expected) :], done)
        elif not expected.startswith(got) and not (varies and len(got) < len(expected)):
            raise WrongAnswerError(f"{side.got!r} instead of {side.expected!r}")

    def _has_read(self, side: Side, rest: bytes, done: Done) -> None:
        side.got, side.expected = rest, b""
        pair = side.pair
        pair.missing -= 1
        if not pair.missing:
            pair.at = (pair.at + 1) % len(self.steps)
            done(pair)

    def play_closed(
        self, seconds: float, at_end: Callable[[], None], lines_each: int = 0
    ) -> Played:
        """As fast as the server goes, for so long and until so many lines a duel are answered.

        `at_end` is called when that is over, before the last answers have come.
        """
        moves, is_over, running = 0, False, len(self.pairs)
        lines_left = lines_each * len(self.pairs)
        steps = self.steps

        def done(pair: Pair) -> None:
            nonlocal moves, running, lines_left
            moves += steps[pair.at - 1].is_move
            lines_left -= 1
            if is_over:
                running -= 1
            else:
                self.begin(pair, done)

        gc.collect()
        gc.disable()
        began, own = time.perf_counter(), time.process_time()
        for pair in self.pairs:
            self.begin(pair, done)
        while time.perf_counter() < began + seconds or lines_left > 0:
            self._hear_all(0, done)
        at_end()
        played = Played(moves, time.perf_counter() - began, time.process_time() - own)
        is_over = True
        while running:
            if not self._hear_all(PATIENCE_SECONDS, done):
                raise WrongAnswerError("nothing more came")
        gc.enable()
        return played

    def stagger(self) -> None:
        """Play each duel on by another number of lines, so that they do not all end at once."""
        cycle, running = len(self.steps), len(self.pairs)
        left = {pair: cycle * n // running for n, pair in enumerate(self.pairs)}

        def done(pair: Pair) -> None:
            nonlocal running
            left[pair] -= 1
            if left[pair] > 0 or not self.steps[pair.at].is_move:
                self.begin(pair, done)
            else:
                running -= 1

        for pair in self.pairs:
            self.begin(pair, done)
        while running:
            if not self._hear_all(PATIENCE_SECONDS, done):
                raise WrongAnswerError("nothing more came")

    def play_open(self, seconds: float, moves_per_second: float) -> Played:
        """A move is due at a steady rate, whether the server is ready or not.

        The time of a move counts from when it was due: a server that falls behind cannot hide it.
        """
        steps, latencies = self.steps, []
        idle, busy = deque(self.pairs), 0
        now = time.perf_counter

        def done(pair: Pair) -> None:
            nonlocal busy
            if steps[pair.at - 1].is_move:
                latencies.append(now() - pair.due)
            if steps[pair.at].is_move:
                idle.append(pair)
                busy -= 1
            else:
                self.begin(pair, done)  # a rematch is extra

        gc.collect()
        gc.disable()
        for pair in [pair for pair in self.pairs if not steps[pair.at].is_move]:
            idle.remove(pair)
            busy += 1
            self.begin(pair, done)
        began, own = now(), time.process_time()
        due, end = began, began + seconds
        while due < end and now() < end + seconds:
            while due <= now() and idle and due < end:
                pair = idle.popleft()
                pair.due = due
                due += 1 / moves_per_second
                busy += 1
                self.begin(pair, done)
            self._hear_all(0, done)
        while busy:
            if not self._hear_all(PATIENCE_SECONDS, done):
                raise WrongAnswerError("nothing more came")
        gc.enable()
        return Played(len(latencies), now() - began, time.process_time() - own, latencies)

    def close(self) -> None:
        for side in self.sides.values():
            side.sock.close()
        self.poller.close()
