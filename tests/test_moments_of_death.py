"""Whatever the moment of death: two play, and the daemon dies after every record of its journal.

What counts is what had been sent to the players when the file was as long as it was found: so it
does not matter when a record is written, only that it is there before anybody is told.
"""

import functools
import json
import logging
import os
import random
import re
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import trio
import trio.testing
from conftest import _innermost
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from kit import inline
from test_restarting import FakeStore, _silence

from duel_daemon import ledger, names
from duel_daemon.archivist import Archivist
from duel_daemon.duel import Turn
from duel_daemon.finished import Finished
from duel_daemon.hall import Hall
from duel_daemon.journal import Journal
from duel_daemon.kept import Running
from duel_daemon.memory import Memory
from duel_daemon.player import Player
from duel_daemon.records import DuelRecord
from duel_daemon.server import Server
from duel_daemon.service import Service
from duel_daemon.settings import Settings
from duel_daemon.table import Table

EXAMPLES = int(os.environ.get("DEATH_EXAMPLES", "25"))
PLAYERS = ("Anna", "Ben")
PROGRESS = tuple[int, int, bool]
"""Of a table: how many duels are over, turns in the one that is on, whether all is over."""

RECORDED = re.compile(r"\* Recorded as duel (\d+)\.")
CODE = re.compile(r"answer the name prompt with: (\S+) (\S{4}-\S{4})")
OUTCOME = re.compile(r"\* (?:You won against|.* won this duel|Nobody won)")


@attrs.frozen
class Known:
    """What somebody must think that the table is at which they sit, or sat last."""

    table: str
    """Its uid."""
    progress: PROGRESS


@attrs.frozen
class Sent:
    """What was sent to somebody, and how long the journal was at that moment."""

    journal_bytes: int
    name: str
    text: str
    known: Known | None


def progress(table: Table) -> PROGRESS:
    return len(table.finished), len(table.duel.turns) if table.duel.is_on else 0, table.is_over


def known(player: Player | None) -> Known | None:
    if player is None:
        return None
    tables = [t for t in (player.table, player.last_played, player.last_table) if t is not None]
    newest = max(tables, key=lambda table: table.ident, default=None)
    return Known(newest.uid, progress(newest)) if newest is not None else None


class Tapped(socket.socket):
    """The daemon's end of a connection, with somebody who looks at what it sends."""

    life: "FirstLife"
    name: str

    def send(self, data: bytes, flags: int = 0) -> int:  # type: ignore[override]
        sent = super().send(data, flags)
        self.life.note(self.name, data[:sent].decode())
        return sent


@attrs.define
class Shelf:
    """A store in memory. What was in it when, is known."""

    rows: dict[str, tuple[int, DuelRecord]] = attrs.field(factory=dict)
    journal: Path | None = None
    added_at: dict[str, int] = attrs.field(factory=dict)

    def add(self, records: list[DuelRecord]) -> list[int]:
        for record in records:
            if record.uid not in self.rows:
                self.rows[record.uid] = (len(self.rows) + 1, record)
                self.added_at[record.uid] = self.journal.stat().st_size if self.journal else 0
        return [self.rows[record.uid][0] for record in records]


def new_server(
    directory: Path, chosen: dict[str, object], shelf: Shelf, service: Service
) -> Server:
    memory = Memory(Journal(directory / "journal"), Archivist(shelf, inline))  # type: ignore[arg-type]
    return Server(Settings(**chosen), [], random.Random(7), memory, service)  # type: ignore[arg-type]


# The first life: what happens, and who is told of it when.


@attrs.define(eq=False)
class FirstLife:
    """Two who play."""

    server: Server
    journal: Path
    sent: list[Sent] = attrs.field(factory=list)
    tables: dict[str, Table] = attrs.field(factory=dict)
    ends: dict[str, socket.socket] = attrs.field(factory=dict)
    codes: dict[str, str] = attrs.field(factory=dict)
    were_away: set[str] = attrs.field(factory=set)

    @property
    def hall(self) -> Hall:
        return self.server.hall

    def player(self, name: str) -> Player | None:
        return self.hall._players.get(names.key(name))

    def note(self, name: str, text: str) -> None:
        self.tables |= {table.uid: table for table in self.hall.tables.values()}
        size = self.journal.stat().st_size
        self.sent.append(Sent(size, name, text, known(self.player(name))))
        self.codes |= dict(CODE.findall(text))

    async def comes(self, name: str, answer: str) -> None:
        ours, theirs = socket.socketpair()
        tapped = Tapped(fileno=theirs.detach())
        tapped.life, tapped.name = self, name
        self.ends[name] = ours
        self.server.admit(tapped, "127.0.0.1")
        await self.types(name, answer)

    async def types(self, name: str, *lines: str) -> None:
        if name in self.ends:
            self.ends[name].send("".join(f"{line}\n" for line in lines).encode())
        await trio.testing.wait_all_tasks_blocked()

    async def plays(self, script: "list[Action]") -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(self.server.run)
            for name in PLAYERS:
                await self.comes(name, name)
            for kind, who, choice in script:
                await ACTIONS[kind](self, PLAYERS[who], choice)
                await trio.testing.wait_all_tasks_blocked()
            _silence(self.server)
            nursery.cancel_scope.cancel()
        for end in self.ends.values():
            end.close()

    # What they do. What makes no sense at the moment is refused, which is as good a test.

    async def move(self, name: str, choice: int) -> None:
        """Whose turn it is."""
        for table in [*self.hall.tables.values()]:
            duel = table.duel
            if duel.is_on and isinstance(mover := table.at(duel.mover), Player):
                divisors = duel.game.survey(duel.number).first
                await self.types(mover.name, str(divisors[choice % len(divisors)]))
                return

    async def err(self, name: str, choice: int) -> None:
        for table in [*self.hall.tables.values()]:
            if table.duel.is_on:
                await self.types(table.at(table.duel.mover).name, str(table.duel.number + 1))
                return

    async def say_rematch(self, name: str, choice: int) -> None:
        for each in PLAYERS:
            await self.types(each, "rematch")

    async def wait(self, name: str, choice: int) -> None:
        await trio.sleep((1, 6, 25, 40)[choice % 4])

    async def is_cut(self, name: str, choice: int) -> None:
        if name in self.ends:
            self.were_away.add(name)
            self.ends.pop(name).close()

    async def comes_again(self, name: str, choice: int) -> None:
        if name not in self.ends:
            await self.comes(name, f"{name} {self.codes.get(name, '')}")
            if self.player(name) is None:
                await self.types(name, name)

    async def type(self, name: str, choice: int) -> None:
        lines = ("resign", "practice first", "play", "stop", "resign", "bell on", "name Carl")
        await self.types(name, lines[choice % len(lines)].replace("name Carl", f"name {name}"))

    async def moves_and_resigns(self, name: str, choice: int) -> None:
        """In one packet: nothing is sent in between."""
        player = self.player(name)
        if player is not None and player.table is not None:
            divisors = player.table.duel.game.survey(player.table.duel.number).first
            await self.types(name, *(str(d) for d in divisors[:1]), "resign")

    async def quits(self, name: str, choice: int) -> None:
        await self.types(name, "quit")
        if name in self.ends:
            self.ends.pop(name).close()


Action = tuple[str, int, int]
ACTIONS = {
    "move": FirstLife.move,
    "err": FirstLife.err,
    "rematch": FirstLife.say_rematch,
    "wait": FirstLife.wait,
    "cut": FirstLife.is_cut,
    "back": FirstLife.comes_again,
    "type": FirstLife.type,
    "both": FirstLife.moves_and_resigns,
    "quit": FirstLife.quits,
}
LIKELY = ["move"] * 8 + ["err"] * 4 + ["rematch"] * 2 + ["wait", "cut", "back", "type"] * 2
actions = st.tuples(
    st.sampled_from([*LIKELY, "both", "quit"]), st.integers(0, 1), st.integers(0, 11)
)
scripts = st.lists(actions, min_size=6, max_size=25)
games = st.fixed_dictionaries(
    {
        "rulebook": st.sampled_from(["divisor-duel", "number-factor"]),
        "number": st.sampled_from([6, 12, 30]),
        "best_of": st.sampled_from([1, 1, 3]),
        "turn_seconds": st.just(20),
        "first_turn_extra_seconds": st.just(0),
        "return_seconds": st.just(30),
        "violations": st.just(2),
        "first_turn": st.just("first-come"),
        "line_burst": st.just(10_000),
        "per_address": st.just(10_000),
        "new_per_minute": st.just(10_000),
    }
)


# The second life, on what the first has left.


@attrs.frozen
class Rebuilt:
    """A table as it was rebuilt; the house may move on it at once."""

    uid: str
    codes: tuple[str, str]
    is_practice: bool
    finished: tuple[Finished, ...]
    turns: tuple[Turn, ...]

    @classmethod
    def of(cls, table: Table) -> "Rebuilt":
        turns = tuple(table.duel.turns) if table.duel.is_on else ()
        return cls(table.uid, table.codes, table.is_practice, tuple(table.finished), turns)


@attrs.define
class SecondLife:
    """What the daemon makes of it, before anything else happens; and what it says at once."""

    hall: Hall
    shelf: Shelf
    known: dict[str, Known | None] = attrs.field(init=False)
    tables: list["Rebuilt"] = attrs.field(init=False)
    """All that anybody knows of."""
    playing: set[str] = attrs.field(init=False)
    present: list[str] = attrs.field(init=False)
    waiting: list[str] = attrs.field(init=False)
    told: dict[str, str] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        players = self.hall.players
        self.known = {player.name: known(player) for player in players}
        on = [*self.hall.tables.values()]
        last = [table for p in players for table in (p.last_played, p.last_table) if table]
        self.tables = [Rebuilt.of(t) for t in {table.uid: table for table in (*on, *last)}.values()]
        self.playing = {name for table in on for name in table.names_by_side}
        self.present = [player.name for player in players]
        self.waiting = [player.name for player, _ in self.hall.matchmaker.lobby.offers()]
        for table in on:
            for side in table.sides:
                assert not isinstance(side, Player) or side.table is table


class Witness(FakeStore):
    """systemd, which is told that the daemon is ready when all is restored."""

    def __init__(self, kept: dict[str, socket.socket]) -> None:
        super().__init__(kept)
        self.has_seen: list[SecondLife] = []
        self.look: Callable[[], SecondLife]

    def ready(self) -> None:
        self.has_seen.append(self.look())


async def comes_to_life(
    directory: Path, chosen: dict[str, object], shelf: Shelf, connected: dict[str, str]
) -> SecondLife:
    """With the connections of these players, by their names; then whatever is said is read."""
    ends, kept = {}, {}
    for name, ident in connected.items():
        ends[name], kept[ident] = socket.socketpair()
        ends[name].setblocking(False)
    witness = Witness(kept)
    server = new_server(directory, chosen, shelf, witness)
    witness.look = lambda: SecondLife(server.hall, shelf)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        (life,) = witness.has_seen
        await trio.testing.wait_all_tasks_blocked()
        life.told = {name: _all_of(end) for name, end in ends.items()}
        _silence(server)
        nursery.cancel_scope.cancel()
    for sock in (*ends.values(), *kept.values()):
        sock.close()
    return life


def _all_of(end: socket.socket) -> str:
    data = b""
    try:
        while more := end.recv(65536):
            data += more
    except BlockingIOError:
        pass
    return data.decode().replace("\r\n", "\n")


async def come_back(
    directory: Path, chosen: dict[str, object], shelf: Shelf, codes: dict[str, str]
) -> dict[str, str]:
    """Without systemd: what each reads who comes with their code."""
    server, ends = new_server(directory, chosen, shelf, Service()), {}
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        for name, code in codes.items():
            ends[name], theirs = socket.socketpair()
            ends[name].setblocking(False)
            server.admit(theirs, "127.0.0.1")
            ends[name].send(f"{name} {code}\n".encode())
            await trio.testing.wait_all_tasks_blocked()
        told = {name: _all_of(end) for name, end in ends.items()}
        _silence(server)
        nursery.cancel_scope.cancel()
    for sock in ends.values():
        sock.close()
    return told


# What must be true.


@attrs.define
class Death:
    """A moment: so much is in the journal, and so much may have been sent and stored by then."""

    first: FirstLife
    journal: bytes
    is_late: bool
    """All was sent that was sent before the next record; else nothing since the last."""
    running: Running = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.running, unreadable = ledger.fold(self.journal.decode().splitlines())
        assert not unreadable

    def has_happened(self, journal_bytes: int) -> bool:
        size = len(self.journal)
        return journal_bytes <= size if self.is_late else journal_bytes < size

    @functools.cached_property
    def _uids(self) -> set[str]:
        return {table.uid for table in self.running.tables.values()}

    @functools.cached_property
    def seen(self) -> list[Sent]:
        return [sent for sent in self.first.sent if self.has_happened(sent.journal_bytes)]

    def text(self, name: str) -> str:
        return "".join(sent.text for sent in self.seen if sent.name == name).replace("\r\n", "\n")

    def known(self, name: str) -> Known | None:
        return next((sent.known for sent in reversed(self.seen) if sent.name == name), None)

    def shelf(self) -> Shelf:
        first = self.first.server.memory.archivist._store
        rows = {u: r for u, r in first.rows.items() if self.has_happened(first.added_at[u])}
        return Shelf(rows)

    def next_progress(self, table: str) -> PROGRESS:
        """How far it had come when anybody was next told anything of it."""
        later = [
            sent.known.progress
            for sent in self.first.sent
            if sent.known is not None and sent.known.table == table
            and not self.has_happened(sent.journal_bytes)
        ]  # fmt: skip
        return later[0] if later else progress(self.first.tables[table])

    @property
    def connected(self) -> dict[str, str]:
        players = self.running.players.values()
        return {player.name: player.connection for player in players if player.connection}

    def check(self, second: SecondLife) -> None:
        for table in second.tables:
            if table.uid in self._uids:  # else two who waited have been brought together
                self._check_table(table)
        for name in self.connected:
            self._check_player(name, second)
        assert {*self.connected} <= {*second.present} <= {*self.connected} | second.playing
        assert len({*second.present}) == len(second.present)
        self._check_results(second)

    def _check_table(self, table: Rebuilt) -> None:
        """Every turn is one that was taken, and the codes are those that were given."""
        true = self.first.tables[table.uid]
        assert table.codes == true.codes
        duels = [*(duel.turns for duel in true.finished), tuple(true.duel.turns), ()]
        for index, duel in enumerate(table.finished):
            assert duel.turns == duels[index]
            assert duel.result == true.finished[index].result
        assert table.turns == duels[len(table.finished)][: len(table.turns)]

    def _check_player(self, name: str, second: SecondLife) -> None:
        seen, now, told = self.known(name), second.known[name], second.told[name]
        if now is not None and now.table not in self._uids:
            assert seen is None or seen.progress[2]
            assert "* Your opponent is " in told
            return
        if seen is not None:
            assert now is not None
            if now.table == seen.table:
                most = max(seen.progress, self.next_progress(now.table))
                assert seen.progress <= now.progress <= most
            else:
                assert self.first.tables[now.table].ident > self.first.tables[seen.table].ident
        if now is not None and not now.progress[2]:
            assert "goes on.\n" in told
        elif now is not None:
            self._check_end(now.table, name, told)
        has_stopped = ledger.line(ledger.offer(name, None)).encode() in self.journal
        if now is None and not has_stopped:
            assert name in second.waiting

    def _check_end(self, table: str, name: str, told: str) -> None:
        """It is told at least once, and not again when all was told."""
        true = self.first.tables[table]
        if not true.finished:
            return
        kept = next(kept for kept in self.running.tables.values() if kept.uid == table)
        is_told = kept.is_closed or f"{table}.{len(kept.duels)}" in kept.stored
        assert bool(OUTCOME.search(told)) != is_told, (is_told, told)
        text = self.text(name)
        if is_told:
            assert OUTCOME.search(text) or name in self.first.were_away
        if not kept.is_closed:
            assert true.verdict in told.replace("\n  ", " ")
            assert "* Next: " in told

    def _check_results(self, second: SecondLife) -> None:
        """Every duel that is over is stored once, and those who are here were told so."""
        over = [t for t in second.tables if t.uid in self._uids and not t.is_practice]
        ended = {duel.uid for table in over for duel in table.finished}
        for uid in ended:
            number, record = second.shelf.rows[uid]
            table = self.first.tables[uid.partition(".")[0]]
            true = next(duel for duel in table.finished if duel.uid == uid)
            assert [divisor for divisor, _ in record.turns] == [t.divisor for t in true.turns]
            assert record.reason == true.result.reason.value
            kept = next(k for k in self.running.tables.values() if k.uid == table.uid)
            is_marked = uid in kept.stored
            for name in self.connected:
                if kept.ident not in {p.table for p in self.running.players[name].places}:
                    continue  # it may be somebody else of that name
                before = RECORDED.findall(self.text(name)).count(str(number))
                after = RECORDED.findall(second.told[name]).count(str(number))
                assert after == (0 if is_marked else 1)
                assert not is_marked or before == 1 or name in self.first.were_away
        for name in PLAYERS:
            for number in RECORDED.findall(self.text(name)):
                assert int(number) in {n for n, _ in second.shelf.rows.values()}

    def check_return(self, told: dict[str, str]) -> None:
        """Whoever knows a code for a duel that is not over for them can come back to it."""
        for name, text in told.items():
            seen = self.known(name)
            if seen is None or seen.progress[2] or self.first.tables[seen.table].is_practice:
                continue
            if name in self.running.players:  # else they were waited for long enough
                assert "can come back with that code" not in text, text


def deaths(first: FirstLife) -> Iterator[Death]:
    """After every record, each as early and as late as can be."""
    size = 0
    for line in [b"", *first.journal.read_bytes().splitlines(keepends=True)]:
        size += len(line)
        for is_late in (False, True):
            yield Death(first, first.journal.read_bytes()[:size], is_late)


def check_torn(journal: bytes) -> None:
    """Wherever a write was cut off, it is as if it had not begun, or been whole."""
    lines = journal.decode().splitlines()
    for index, line in enumerate(lines):
        before, after = ledger.fold(lines[:index])[0], ledger.fold(lines[: index + 1])[0]
        for cut in {1, len(line) // 2, len(line) - 1, len(line)}:
            torn, unreadable = ledger.fold([*lines[:index], line[:cut]])
            assert (torn, unreadable) in ((before, 1), (after, 0))


class Complaints(logging.Handler):
    """What is logged as our own mistake."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            raise AssertionError(record.getMessage()) from (record.exc_info or (None, None))[1]


def on_virtual_time(function, *args):  # type: ignore[no-untyped-def]
    try:
        return trio.run(function, *args, clock=trio.testing.MockClock(autojump_threshold=0))
    except* AssertionError as group:
        raise _innermost(group) from None


def live_and_die(script: list[Action], chosen: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        journal = Path(one) / "journal"
        server = new_server(Path(one), chosen, Shelf(journal=journal), Service())
        first = FirstLife(server, journal)
        on_virtual_time(first.plays, script)
        check_torn(journal.read_bytes())
        for death in deaths(first):
            (Path(two) / "journal").write_bytes(death.journal)
            second = on_virtual_time(
                comes_to_life, Path(two), chosen, death.shelf(), death.connected
            )
            death.check(second)
            if death.is_late:
                (Path(two) / "journal").write_bytes(death.journal)
                codes = dict(CODE.findall("".join(map(death.text, PLAYERS))))
                told = on_virtual_time(come_back, Path(two), chosen, death.shelf(), codes)
                death.check_return(told)
        for line in map(json.loads, journal.read_text().splitlines()):
            event(line["k"])


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[*HealthCheck],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # to shrink would take minutes
    print_blob=True,
)
@given(scripts, games)
def test_whatever_the_moment_of_death_nothing_is_lost_and_nothing_doubled(
    script: list[Action], chosen: dict[str, object]
) -> None:
    complaints, logger = Complaints(), logging.getLogger("duel_daemon")
    logger.addHandler(complaints)
    try:
        live_and_die(script, chosen)
    finally:
        logger.removeHandler(complaints)
