"""A crowd that plays on whatever becomes of the daemon, and keeps account of what it was shown.

Each duelist has an own model of the duel: every move is to be seen once, at the number that was
shown last. Whatever does not fit fails the test. How the daemon is run and what is done to it is
the tests' business.
"""

import collections
import contextlib
import math
import random
import re
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import attrs
import trio

NAME_PROMPT = "Your name (Enter for a guest name): "
MOVE_PROMPT = "Enter your chosen divisor: "
PATIENCE_SECONDS = 1.5  # after a restart; whoever has had no answer by then types it again
HALF_A_LINE = 0.25  # so often a line comes in two pieces

Connect = Callable[[], socket.socket]


@attrs.define
class Seen:
    """A duel as one of its players saw it."""

    opponent: str
    seat: int = 0
    start: int = 0
    number: int = 0
    turns: list[int] = attrs.field(factory=list)
    winner: int | None = None
    is_over: bool = False
    missed_the_end: bool = False
    """The process died between the last move and its telling."""
    recorded: int | None = None
    """By which number, if they were told."""

    @property
    def mover(self) -> int:
        return 1 + len(self.turns) % 2

    def key(self, name: str) -> tuple[object, ...]:
        players = (name, self.opponent) if self.seat == 1 else (self.opponent, name)
        return (*players, self.start, tuple(self.turns), self.winner)


@attrs.define
class Account:
    """What the whole crowd has seen."""

    moves: int = 0
    retold: int = 0
    late: int = 0
    """Moves that were read only after a restart."""
    retyped: int = 0
    cut_before_greeting: int = 0
    strikes: list[tuple[str, float]] = attrs.field(factory=list)
    """What was done to the daemon, and when."""
    gaps: dict[str, float] = attrs.field(factory=dict)
    """The longest time without a daemon, by how it was brought about. Two strikes in a row, the
    second before the daemon was there again, are not counted."""
    is_closing: bool = False
    is_cut_by_kills: bool = False
    """Without systemd; whoever was in a duel comes back with the code."""


@attrs.define(eq=False)
class Duelist:
    """Somebody who plays duel after duel."""

    name: str
    account: Account
    crowd: list["Duelist"]
    rng: random.Random
    think_seconds: float
    duels_to_play: float = math.inf
    seen: list[Seen] = attrs.field(factory=list)
    screen: str = ""
    code: str = ""
    _sock: trio.socket.SocketType = attrs.field(init=False)
    _rest: str = ""
    _pending: int | None = None
    """A move that was typed and has not been seen."""
    _typed_at: float = 0.0
    _moves_at: float = math.inf
    _finishes_at: float = math.inf
    """When Enter is pressed, for a line that is typed already."""
    _restarted: bool = False
    _is_retold: bool = False
    _knows_the_end: bool = False
    """What is told now was read before."""
    _strikes_noticed: int = 0
    _turn_of: int = 0
    _choices: list[int] = attrs.field(factory=list)
    _is_named: bool = False
    _is_waiting: bool = False
    _wants_to_play: bool = False
    _has_quit: bool = False

    @property
    def duel(self) -> Seen | None:
        """The one that is on."""
        return self.seen[-1] if self.seen and not self.seen[-1].is_over else None

    def complain(self, what: str) -> NoReturn:
        duel = self.seen[-1] if self.seen else None
        raise AssertionError(f"{self.name}: {what}\n{duel}\n{self.screen[-2500:]}")

    # Living.

    async def plays(self, connect: Connect) -> None:
        while not self._has_quit:
            try:
                sock = connect()
            except OSError as exc:
                if not self.account.is_cut_by_kills:
                    self.complain(f"refused: {exc}")
                await trio.sleep(0.05)
                continue
            self._strikes_noticed = len(self.account.strikes)
            sock.setblocking(False)
            self._sock = trio.socket.from_stdlib_socket(sock)
            with self._sock:
                await self._stays()
            self._is_alone()

    def _is_alone(self) -> None:
        """The connection is gone, and what was typed into it."""
        self._rest, self._choices, self._is_named, self._is_waiting = "", [], False, False
        self._moves_at = self._finishes_at = math.inf
        self._restarted, self._is_retold, self._typed_at = True, True, -math.inf

    async def _stays(self) -> None:
        while True:
            data = b""
            with trio.move_on_at(self._wakes_at) as quiet, contextlib.suppress(OSError):
                data = await self._sock.recv(65536)
            if data:
                self._read(data.decode())
            elif not quiet.cancelled_caught:
                self._is_cut()
                return
            await self._finishes_line()
            await self._act()

    def _is_cut(self) -> None:
        """Who was greeted never is. A kill may hit the newcomer of that moment: Server.admit."""
        if self._has_quit or self.account.is_cut_by_kills:
            return
        is_killed = bool(self.account.strikes) and self.account.strikes[-1][0] != "restart"
        if self.screen or not is_killed:
            self.complain("cut")
        self.account.cut_before_greeting += 1

    @property
    def _wakes_at(self) -> float:
        """Later than now in any case: a deadline that has passed lets nothing be read."""
        now = trio.current_time()
        return max(now + 0.01, min(now + 0.2, self._moves_at, self._finishes_at))

    async def _types(self, line: str) -> None:
        """Some pause before they press Enter."""
        self.screen += f"<{line}>"
        if line.isdigit() and self.rng.random() < HALF_A_LINE:
            self._finishes_at = trio.current_time() + self.rng.uniform(0, 0.3)
            await self._sends(line)
        else:
            await self._sends(f"{line}\n")

    async def _finishes_line(self) -> None:
        if trio.current_time() >= self._finishes_at:
            self._finishes_at = math.inf
            await self._sends("\n")

    async def _sends(self, text: str) -> None:
        with contextlib.suppress(OSError):
            await self._sock.send(text.encode())

    async def _act(self) -> None:
        now = trio.current_time()
        if self._finishes_at < math.inf:
            return
        if self._asks_for_name:
            if not self._is_named or now > self._typed_at + PATIENCE_SECONDS:
                self._is_named, self._typed_at, self._rest = True, now, ""
                back = self.account.is_cut_by_kills and self.duel is not None
                await self._types(f"{self.name} {self.code}" if back else self.name)
        elif self._pending is not None:
            patience = 0 if self.account.is_cut_by_kills else PATIENCE_SECONDS
            if self._restarted and now > self._typed_at + patience and self._asks_for_move:
                self.account.retyped += 1
                self._restarted, self._typed_at = False, now
                await self._types(str(self._pending))
        elif self._asks_for_move:
            await self._moves()
        elif self.duel is None and self._is_named:
            await self._finds_something_to_do(now)

    @property
    def _asks_for_name(self) -> bool:
        return self._rest.endswith(NAME_PROMPT)

    @property
    def _asks_for_move(self) -> bool:
        duel = self.duel
        mine = duel is not None and duel.seat == self._turn_of == duel.mover
        return mine and bool(self._choices) and self._rest.endswith(MOVE_PROMPT)

    async def _moves(self) -> None:
        now = trio.current_time()
        if self._moves_at == math.inf:
            self._moves_at = now + self.rng.uniform(0, 2 * self.think_seconds)
        elif now >= self._moves_at:
            self._moves_at = math.inf
            self._pending, self._typed_at = self.rng.choice(self._choices), now
            self._restarted = False
            await self._types(str(self._pending))

    async def _finds_something_to_do(self, now: float) -> None:
        if now < self._typed_at + PATIENCE_SECONDS:
            return
        enough = self.account.is_closing or len(self.seen) >= self.duels_to_play
        if enough and (not self._is_waiting or self._nobody_plays):
            self._has_quit, self._typed_at = True, now
            await self._types("quit")
        elif self._wants_to_play and not self._is_waiting:
            self._typed_at = now
            await self._types("play")

    @property
    def _nobody_plays(self) -> bool:
        return self.account.is_closing and all(other.duel is None for other in self.crowd)

    # Reading.

    def _read(self, text: str) -> None:
        self.screen = (self.screen + text)[-20_000:]
        *lines, self._rest = (self._rest + text).split("\r\n")
        for line in lines:
            self._read_line(line.replace(NAME_PROMPT, "").replace(MOVE_PROMPT, ""))

    def _read_line(self, line: str) -> None:
        if line.isdigit() or not line:
            return  # the opponent's prompt, answered
        if self._knows_the_end and not line.startswith("* Next: "):
            return
        for pattern, read in LINES:
            found = pattern.fullmatch(line)
            if found:
                if read is not None:
                    read(self, *found.groups())
                return
        self.complain(f"read {line!r}")

    def _opponent(self, name: str) -> None:
        """Also read after a restart, if the duel had been agreed on but not begun."""
        if self.duel is None or self.duel.start or self.duel.opponent != name:
            self._begin(name)

    def _begin(self, name: str) -> None:
        if self.duel is not None:
            if not self.account.is_cut_by_kills:
                self.complain("not told of the end")
            self._miss_the_end()
        self.seen.append(Seen(name))
        self.code = ""
        self._pending, self._is_waiting, self._wants_to_play = None, False, False

    def _miss_the_end(self) -> None:
        duel = self.duel
        assert duel is not None
        if not self.account.strikes:
            self.complain("the end was not told")
        duel.is_over = duel.missed_the_end = True
        self._pending = None

    def _seat(self, seat: str) -> None:
        if self.duel is not None:
            self.duel.seat = int(seat)

    def _code(self, name: str, code: str) -> None:
        self.code = code
        if name != self.name:
            self.complain("a code for somebody else")

    def _position(self, opponent: str, start: str, seat: str) -> None:
        if self.duel is None or self.duel.opponent != opponent:
            self._begin(opponent)
        self._seat(seat)

    def _start(self, number: str) -> None:
        duel = self.duel
        if duel is not None and duel.turns:
            self._begin(duel.opponent)  # with the same one again
            duel = self.duel
        if duel is None:
            self.complain("a duel with nobody")
        duel.start = duel.number = int(number)

    def _moved(self, divisor: str, before: str, after: str) -> None:
        duel, d = self.duel, int(divisor)
        self._take_move_made_meanwhile(int(before))
        if duel is None:
            self.complain("a move in no duel")
        elif not duel.start and duel.number == 0:
            self.complain("a move before the beginning")
        elif int(before) == duel.number and int(after) == duel.number - d:
            self._take_move(duel, d)
        elif duel.turns and duel.turns[-1] == d and int(after) == duel.number:
            self.account.retold += 1
        else:
            self.complain(f"a move lost or doubled: {d} from {before} to {after}")

    def _take_move_made_meanwhile(self, before: int) -> None:
        """Our last move was not lost, and the other was back before us and has answered it."""
        if not (self._is_retold and self.account.is_cut_by_kills):
            return
        duel, mine = self.duel, self._pending
        if duel is not None and mine is not None and duel.number - mine == before:
            self._take_move(duel, mine)

    def _take_move(self, duel: Seen, divisor: int) -> None:
        if duel.mover == duel.seat:
            if self._pending != divisor:
                self.complain(f"moved {divisor}, but typed {self._pending}")
            self._pending = None
            self.account.moves += 1
        if self._is_retold:
            self.account.late += 1
        duel.turns.append(divisor)
        duel.number -= divisor

    def _turn(self, seat: str) -> None:
        self._turn_of, self._choices = int(seat), []
        if self.duel is not None and self.duel.mover != self._turn_of:
            self.complain(f"a turn of Player {seat}")

    def _divisors(self, number: str, listed: str) -> None:
        if self.duel is None or self.duel.number != int(number):
            self.complain(f"shown {number}")
        self._is_retold = False
        self._choices = [int(word) for word in listed.split(",")] if listed != "None" else []

    def _end(self, winner: str) -> None:
        duel = self.duel
        if duel is None:
            return  # told again after a restart
        duel.is_over, duel.winner = True, int(winner)
        if duel.winner == duel.mover or self._choices:
            self.complain("a wrong end")

    def _outcome(self, opponent: str) -> None:
        if not self.seen or self.seen[-1].opponent != opponent or not self.seen[-1].is_over:
            self.complain("a wrong outcome")

    def _recorded(self, number: str) -> None:
        for seen in reversed(self.seen):
            if seen.is_over and seen.recorded is None:
                seen.recorded = int(number)
                return
        self.complain("a record of nothing")

    def _next(self) -> None:
        self._wants_to_play, self._is_waiting, self._knows_the_end = True, False, False
        if self.duel is not None:
            self.complain("not told of the end")

    def _played(self, opponent: str) -> None:
        """How a duel ended is told after a restart, to whoever may not have read it."""
        self._knows_the_end = self.duel is None
        if not self.seen or self.seen[-1].opponent != opponent:
            self.complain("told of the wrong duel")

    def _waits(self) -> None:
        self._is_waiting = True

    def _was_restarted(self, rest: str | None) -> None:
        self._note_gap()
        self._is_named, self._restarted, self._choices = True, True, []
        self._is_retold, self._moves_at = True, math.inf
        self._typed_at = trio.current_time()  # what was typed may lie in the socket still
        if not rest:  # a lobby line: "You are still waiting" comes next, if that is so
            if self.duel is not None:
                self.complain("not told of the end")
            self._is_waiting, self._wants_to_play = False, True

    def _welcomed(self) -> None:
        """Asked for the name, for the first time or again."""
        if self._is_named:
            self._note_gap()

    def _note_gap(self) -> None:
        account, gaps = self.account, self.account.gaps
        if len(account.strikes) == self._strikes_noticed + 1:
            strike, struck_at = account.strikes[-1]
            gaps[strike] = max(trio.current_time() - struck_at, gaps.get(strike, 0.0))
        self._strikes_noticed = len(account.strikes)

    def _too_late(self) -> None:
        """The duel we wanted to come back to has ended: with the last move, which was kept."""
        if self.duel is not None:
            self._miss_the_end()
        self._is_named = False

    def _goodbye(self) -> None:
        if not self._has_quit:
            self.complain("sent away")

    def _garbled(self, attempt: str) -> None:
        """Half a line was kept, its end was lost, and it was typed again: once more, then."""
        if attempt != str(self._pending) * 2:
            self.complain(f"never typed {attempt}, but {self._pending}")
        self._restarted = True


def _lines() -> Iterator[tuple[re.Pattern[str], Callable[..., None] | None]]:
    d = Duelist
    for pattern, read in (
        (r"Subtracting (\d+) from (\d+)\. New N is (\d+)\.", d._moved),
        (r"Player ([12])'s turn\.", d._turn),
        (r"Proper divisors of (\d+): (None|[\d,]+)", d._divisors),
        (r"Game Start! Current Number \(N\): (\d+)", d._start),
        (r"No valid moves left\. Player ([12]) wins!", d._end),
        (r"\* You won against (\S+)!", d._outcome),
        (r"\* (\S+) won this duel\.", d._outcome),
        (r"\* Your opponent is (\S+)\.", d._opponent),
        (r"\* You are Player ([12]); .*", d._seat),
        (r"\* You play (\S+): Divisor Duel from (\d+)\. You are Player ([12])\.", d._position),
        (r"\* If you lose the connection, .* with: (\S+) (\S{4}-\S{4})", d._code),
        (r"\* Recorded as duel (\d+)\.", d._recorded),
        (r"\* Next: .*", d._next),
        (r"\* Waiting for an opponent: .*", d._waits),
        (r"\* You are (?:still )?waiting .*", d._waits),
        (r"\* The server was restarted\. Nothing is lost(; your duel (?:goes on|is over))?\.",
         d._was_restarted),
        (r"\* Your duel is over\.", None),
        (r"\* You played (\S+): Divisor Duel from \d+\. You were Player [12]\.", d._played),
        (r"\* Nobody of that name can come back with that code\.", d._too_late),
        (r"\* Goodbye!.*", d._goodbye),
        # What was typed again, though the first was not lost.
        (r"\* (?:It is not your turn|You are playing\.|You are not in a duel\.).*", None),
        (r"\* (\d+) (?:is larger than|does not divide) .*", d._garbled),
        (r"\* Welcome to duel-daemon\..*", d._welcomed),
        (r"\* (?:Welcome, |The game is |Divisor Duel from |Nobody yet|\S+ is back).*", None),
        (r"\* (?:Someone here is called|The seat of \S+ is kept).*", None),
        (r"\* (?:The server is restarting|\d+ seconds left for ).*", None),
        (r"\* (?:\S+ is away;|\S+ has lost the connection;|The server is closing\.).*", None),
        (r"\* Type play to look for an opponent.*", None),
        (r"  .*", None),  # the rest of a long line
    ):  # fmt: skip
        yield re.compile(pattern), read


LINES = tuple(_lines())


# What was recorded.


def recorded(file: Path) -> dict[int, tuple[object, ...]]:
    """All the results in the file, by their numbers; it must be sound."""
    db = sqlite3.connect(file)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = db.execute(
            "SELECT number, one.name, two.name, start, turns, one.won, reason FROM duels"
            " JOIN seats AS one ON one.duel = number AND one.seat = 1"
            " JOIN seats AS two ON two.duel = number AND two.seat = 2"
        ).fetchall()
    finally:
        db.close()
    found = {}
    for number, one, two, start, turns, one_won, reason in rows:
        divisors = tuple(int(pair.split(",")[0]) for pair in re.findall(r"\[(\d+,[^]]*)\]", turns))
        if reason == "left" and not divisors:
            continue  # it was begun at the moment of death: nobody has seen it, and nobody came
        assert reason == "no-move-left", (number, reason)
        found[number] = (one, two, start, divisors, 1 if one_won else 2)
    return found


def differences(crowd: list[Duelist], rows: dict[int, tuple[object, ...]]) -> list[str]:
    """Whatever the players saw otherwise than it is recorded, once and for each of them."""
    found = []
    for seat in (1, 2):
        saw = collections.Counter(rows.values())
        for duelist in crowd:
            for seen in duelist.seen:
                if seen.seat not in (seat, 0):
                    continue
                key = _with_the_end(duelist.name, seen, saw) if seen.missed_the_end else None
                key = key or seen.key(duelist.name)
                saw[key] -= 1
                if seen.recorded is not None and rows.get(seen.recorded) != key:
                    found.append(f"duel {seen.recorded} is {rows.get(seen.recorded)}, not {key}")
        found += [
            f"Player {seat} saw {-count:+} more than is recorded of {key}"
            for key, count in saw.items()
            if count
        ]
    return found


def _with_the_end(
    name: str, seen: Seen, rows: "collections.Counter[tuple[object, ...]]"
) -> tuple[object, ...] | None:
    """The recorded duel that is this one and a last move; or two, if one was away for both."""
    begun = tuple(seen.turns)
    for key, count in rows.items():
        one, two, _, turns, _ = key
        mine = name in (one, two) and seen.opponent in (one, two)
        if count > 0 and mine and turns[: len(begun)] == begun and len(turns) <= len(begun) + 2:
            return key
    return None
