"""Whatever several people type, send and cut off, in any order and at any time.

The whole daemon, on the virtual clock, with a journal and a store. After every step the hall's
books must balance, the journal must lead to what is going on, and nothing unprintable may have got
anywhere. `make fuzz` tries many more examples than the suite.
"""

import contextlib
import itertools
import logging
import math
import os
import random
import socket
import sqlite3
import string
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing
from conftest import _innermost
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from kit import bare_peer, inline
from test_wire import cut

from duel_daemon import aside, ledger, names
from duel_daemon import hall as hall_room
from duel_daemon import table as table_room
from duel_daemon.archivist import Archivist
from duel_daemon.commands import COMMANDS
from duel_daemon.door import Door
from duel_daemon.hall import Hall
from duel_daemon.journal import Journal
from duel_daemon.kept import Running
from duel_daemon.limits import Offence
from duel_daemon.memory import Memory, people
from duel_daemon.peer import RECEIVE_BYTES, Gone, Peer, PeerLimits
from duel_daemon.player import Player
from duel_daemon.rulebooks import SHELF
from duel_daemon.server import Server
from duel_daemon.settings import Settings
from duel_daemon.store import FILE, Store
from duel_daemon.table import Table
from duel_daemon.wire import Limits

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "60"))
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=tuple(set(Phase) - {Phase.explain}),
    print_blob=True,
    report_multiple_bugs=False,
)

LINE_BYTES = Limits().line_bytes
NAMES = ("Anna", "Ben", "Cleo", "Dora", "Ünal")
PERSONS = st.integers(0, len(NAMES) - 1)
NARROW_BYTES = 4096
LONG_SECONDS = 2 * 86400.0  # nobody is still expected back, or waited for
THOUGHT_SECONDS = 0.7  # of a thread that considers a large number


# What may not be on a terminal, in a log or in a file.

INVISIBLE = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\ufeff\uffa0")


def is_forbidden(char: str) -> bool:
    """Control, format, surrogate, private, unassigned, line separators: nothing for a terminal."""
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or (
        char in INVISIBLE
    )


def forbidden(text: str) -> set[str]:
    return set(filter(is_forbidden, text))


def without_telnet(data: bytes) -> bytes:
    """What a terminal shows: the daemon sends only IAC, a verb and an option."""
    shown, at = b"", 0
    while (found := data.find(b"\xff", at)) >= 0:
        assert data[found + 1] in (0xFB, 0xFC, 0xFD, 0xFE), data[found : found + 3]
        shown += data[at:found]
        at = found + 3
    return shown + data[at:]


# What people do.


@attrs.frozen
class Come:
    """Connect, if not connected; and give a name at once, or not."""

    who: int
    named: bool


@attrs.frozen
class ComeBack:
    """Connect again and give the last return code; also while the old connection is still there."""

    who: int
    right: bool


@attrs.frozen
class Type:
    who: int
    line: str


@attrs.frozen
class Move:
    """A legal move if there is one, the one of this place in the list; else just a number."""

    who: int
    place: int


@attrs.frozen
class Send:
    who: int
    data: bytes


@attrs.frozen
class Paste:
    """Several lines in one packet, and the beginning of another."""

    who: int
    lines: tuple[str, ...]
    rest: str


@attrs.frozen
class Cut:
    who: int
    how: str


@attrs.frozen
class Listen:
    """Read again, or no longer."""

    who: int
    reads: bool


@attrs.frozen
class Wait:
    seconds: float


@attrs.frozen
class Reconfigure:
    """SIGHUP, with other limits."""

    max_unnamed: int
    per_address: int
    lines_per_second: int
    line_seconds: float


Action = Come | ComeBack | Type | Move | Send | Paste | Cut | Listen | Wait | Reconfigure

any_bytes = st.lists(st.integers(0, 255), max_size=40).map(bytes)  # st.binary: an error by -bb
telnet_bytes = st.lists(
    st.one_of(
        st.sampled_from([0xFF, 0xFF, 0xFF, *range(0xEC, 0xFF), 0, 1, 6, 13, 10, 24, 31]),
        st.integers(0, 255),
    ),
    max_size=60,
).map(bytes)
nasty = st.text(
    st.one_of(
        st.sampled_from("\x1b\x07\x00\x08\x9b\x85\u202e\u2066\u200b\ufeff\u2028\u0301\U000e0041·"),
        st.characters(),
    ),
    max_size=20,
)
games = st.lists(
    st.sampled_from(
        ["90", "12", "97", "1000000007", "best of 3", "mirror", "first", "even", "odd", "prime",
         *(book.slug for book in SHELF)]
    ),
    max_size=3,
).map(" ".join)  # fmt: skip
words = st.one_of(
    st.just(""),
    st.sampled_from(NAMES),
    games,
    st.builds("{} {}".format, st.sampled_from(NAMES), games),
    st.sampled_from(
        ["1", "2", "9" * 500, "9" * 4000, "on", "off", "easy", "perfect", "Nele", "Unal"]
    ),
    nasty,
)
orders = st.builds("{} {}".format, st.sampled_from([c.name for c in COMMANDS]), words)
# What makes tables and breaks them up, more often than the rest.
frequent = st.one_of(
    st.builds("play {}".format, st.sampled_from(["", "", "90", "12 best of 3", "12 mirror"])),
    st.builds("challenge {} {}".format, st.sampled_from(NAMES), st.sampled_from(["", "12"])),
    st.builds("watch {}".format, st.sampled_from(NAMES)),
    st.sampled_from(
        ["accept", "accept", "rematch", "rematch", "practice", "practice 12", "retry", "review",
         "resign", "decline", "withdraw", "stop", "unwatch", "quit", "join Anna", "join Ben"]
    ),
)  # fmt: skip


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


lines = st.one_of(frequent, frequent, orders, nasty, st.just(""))
actions = st.one_of(
    st.builds(Come, PERSONS, st.sampled_from([True, True, True, False])),
    st.builds(Come, PERSONS, st.just(True)),
    st.builds(ComeBack, PERSONS, st.sampled_from([True, True, False])),
    st.builds(Type, PERSONS, lines),
    st.builds(Type, PERSONS, lines),
    st.builds(Type, PERSONS, lines),
    st.builds(Move, PERSONS, st.integers(0, 9)),
    st.builds(Move, PERSONS, st.integers(0, 9)),
    st.builds(Send, PERSONS, st.one_of(any_bytes, telnet_bytes)),
    st.builds(Paste, PERSONS, st.lists(lines, min_size=2, max_size=30).map(tuple), nasty),
    st.builds(Cut, PERSONS, st.sampled_from(["closes", "resets", "ends", "asks", "is kicked"])),
    st.builds(Listen, PERSONS, st.booleans()),
    st.builds(Wait, st.sampled_from([0.3, 1.0, 5.0, 11.0, 31.0, 61.0, 400.0])),
    st.builds(
        Reconfigure,
        st.sampled_from([1, 2, 100]),
        st.sampled_from([1, 3, 40]),
        st.sampled_from([4, 10_000]),
        st.sampled_from([1, 60]),
    ),
)
choices = st.fixed_dictionaries(
    {
        "rulebook": st.sampled_from([book.slug for book in SHELF]),
        "best_of": st.sampled_from([1, 1, 3]),
        "first_turn": st.sampled_from(["random", "first-come"]),
        "talk": st.sampled_from(["free", "canned", "off"]),
        "turn_seconds": st.sampled_from([0, 20, 60]),
        "return_seconds": st.sampled_from([0, 30, 30]),
        "lobby_idle_seconds": st.sampled_from([0, 300]),
        "outbox_bytes": st.sampled_from([4096, 65536]),
        "line_burst": st.sampled_from([10, 10_000]),
        "line_bytes": st.sampled_from([512, 4096]),
        "lines_per_second": st.sampled_from([4, 10_000]),
        "per_address": st.sampled_from([3, 40]),
        "max_unnamed": st.sampled_from([2, 100]),
        "trusted": st.sampled_from(["", "192.0.2.1"]),
    }
)


# The people, and the house they come to.


@attrs.define(eq=False)
class Somebody:
    """A place at a desk: whoever sits there connects, types, and is cut off."""

    name: str
    socks: list[socket.socket] = attrs.field(factory=list)
    """The last one is in use; those before may still be open."""
    received: dict[socket.socket, bytearray] = attrs.field(factory=dict)
    reads: bool = True

    @property
    def sock(self) -> socket.socket | None:
        return self.socks[-1] if self.socks else None

    def send(self, data: bytes) -> None:
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.send(data)

    def take_in(self) -> bool:
        """Whether anything has come."""
        came = False
        for sock in self.socks if self.reads else ():
            with contextlib.suppress(OSError):
                while data := sock.recv(65536):
                    self.received[sock] += data
                    came = True
        return came

    @property
    def code(self) -> str:
        """The last return code that was shown."""
        shown = "".join(bytes(data).decode("utf-8", "replace") for data in self.received.values())
        _, _, after = shown.rpartition("answer the name prompt with: ")
        return after.split("\r\n")[0] if after else f"{self.name} AAAA-AAAA"

    def close(self) -> None:
        for sock in self.socks:
            sock.close()
        self.socks.clear()

    def check_screens(self) -> None:
        has_bell = any(b"* A bell rings when it is your turn." in x for x in self.received.values())
        for data in self.received.values():
            text = without_telnet(bytes(data)).decode("utf-8")
            text = text.replace("\r\n", "")
            if has_bell:
                text = text.replace("\a", "")
            assert not forbidden(text), text


class Listener(logging.Handler):
    """Everything that is logged."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def check(self) -> None:
        for record in self.records:
            assert record.levelno < logging.ERROR, self._told(record)
            assert record.exc_info is None, self._told(record)
            assert not forbidden(record.getMessage()), record.getMessage()
            assert "could not be read" not in record.getMessage()

    @staticmethod
    def _told(record: logging.LogRecord) -> str:
        return logging.Formatter().format(record)


def held(peer: Peer) -> int:
    """Bytes that a connection's decoder keeps: the line begun; its replies have been taken."""
    return len(peer._decoder._line) + len(peer._decoder._replies)


@attrs.define(eq=False, repr=False)
class House:
    """The daemon, everything it writes, and five desks."""

    server: Server
    directory: Path
    log: Listener
    desks: list[Somebody]
    thoughts: list[object]
    """That are being considered right now."""

    @property
    def hall(self) -> Hall:
        return self.server.hall

    @property
    def door(self) -> Door:
        return self.server.door

    def connect(self, somebody: Somebody) -> None:
        ours, theirs = socket.socketpair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, NARROW_BYTES)
        ours.setblocking(False)
        somebody.socks.append(ours)
        somebody.received[ours] = bytearray()
        somebody.reads = True
        self.server.admit(theirs, f"192.0.2.{self.desks.index(somebody) // 2}")

    def act(self, action: Action) -> None:
        if isinstance(action, Reconfigure):
            self.server.reconfigure(attrs.evolve(self.server.settings, **attrs.asdict(action)))
        elif not isinstance(action, Wait):
            HOW[type(action)](self, self.desks[action.who], action)

    def come(self, somebody: Somebody, action: Come) -> None:
        if somebody.sock is None:
            self.connect(somebody)
            if action.named:
                somebody.send(f"{somebody.name}\n".encode())

    def come_back(self, somebody: Somebody, action: ComeBack) -> None:
        if len(somebody.socks) < 3:
            self.connect(somebody)
            code = somebody.code if action.right else f"{somebody.name} AAAA-AAAA"
            somebody.send(f"{code}\r\n".encode())

    def type(self, somebody: Somebody, action: Type) -> None:
        somebody.send(f"{action.line}\r\n".encode("utf-8", "surrogatepass"))

    def paste(self, somebody: Somebody, action: Paste) -> None:
        text = "\n".join((*action.lines, action.rest))
        somebody.send(text.encode("utf-8", "surrogatepass"))

    def move(self, somebody: Somebody, action: Move) -> None:
        player = self.hall.find(somebody.name)
        table = player.table if player is not None else None
        divisor = action.place
        if table is not None and table.duel.is_on:
            found = table.duel.game.survey(table.duel.number).first
            divisor = found[action.place % len(found)]
        somebody.send(f"{divisor}\n".encode())

    def send(self, somebody: Somebody, action: Send) -> None:
        somebody.send(action.data)

    def cut(self, somebody: Somebody, action: Cut) -> None:
        sock = somebody.sock
        if sock is None:
            return
        if action.how == "ends":
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
            return
        player = self.hall.find(somebody.name)
        if action.how == "is kicked" and player is not None and player.connection is not None:
            player.connection.drop("kicked")
        if action.how == "asks":
            somebody.send(b"\xff\xfd\x01" + b"\xff\xf6\n")  # and does not wait for the answers
        if action.how == "closes":
            somebody.take_in()  # else what is unread makes it a reset
        somebody.socks.pop().close()

    def listen(self, somebody: Somebody, action: Listen) -> None:
        somebody.reads = action.reads

    async def settle(self) -> None:
        """Until everybody has read everything, and nobody has anything to do at this moment."""
        await trio.testing.wait_all_tasks_blocked()
        while sum(somebody.take_in() for somebody in self.desks):
            await trio.testing.wait_all_tasks_blocked()

    # The books.

    def check(self) -> None:
        self.log.check()
        self.check_door()
        self.check_people()
        self.check_tables()
        self.check_lobby()
        self.check_journal()
        if not self.thoughts:  # whoever considers a large number sends what was said after it
            assert not any(any(peer._said) for peer in self.hall.post._waiting), "said, not sent"

    def check_door(self) -> None:
        door, inside = self.door, self.door.inside
        counted = Counter(peer.address for peer in inside)
        assert door._gate._connected == counted
        named = {player.connection for player in self.hall.players}
        ending = {peer for peer in inside if peer._is_sent_away or peer.lost}
        unnamed = set(door._unnamed)
        assert unnamed <= inside
        assert not unnamed & named
        # Whoever is neither is on the way out: a farewell takes up to a second.
        leaving = inside - named - unnamed - ending
        assert all(peer._nursery is not None for peer in leaving)
        for peer in inside:
            assert len(peer._backlog) <= self.server.settings.outbox_bytes
            assert held(peer) <= self.server.settings.line_bytes
            assert len(peer._lines) <= 4096
        assert len(self.server._nursery.child_tasks) == len(inside)

    def check_people(self) -> None:
        hall = self.hall
        for key, player in hall._players.items():
            assert names.key(player.name) == key
            if player.connection is None:
                table = player.table
                assert table is not None
                assert table.presence.is_away(table.side_of(player))
                assert not table.is_practice
            else:
                assert player.connection in self.door.inside
                assert self.thoughts or not player.connection.lost
                self.check_prompt(player, player.connection)
            if player.table is not None:
                assert hall.tables.get(player.table.ident) is player.table
                assert player.watching is None
            if player.watching is not None:
                assert player.watching.watchers.count(player) == 1
        connections = [p.connection for p in hall.players if p.connection is not None]
        assert len(set(connections)) == len(connections)

    def check_prompt(self, player: Player, peer: Peer) -> None:
        """Whoever is to move is asked, and nobody else is."""
        table = player.table
        if table is None or not table.duel.is_on:
            assert peer._prompt is None
            return
        seat = table.seat_of(player)
        asked = table.duel.game.book.prompt(seat) if table.duel.mover is seat else None
        assert peer._prompt == asked

    def check_tables(self) -> None:
        hall = self.hall
        for ident, table in hall.tables.items():
            assert table.ident == ident
            assert not table.is_over
            assert table.sides[0] is not table.sides[1]
            for player in people(table.sides):
                assert player.table is table
                assert hall._players[names.key(player.name)] is player
                is_away = table.presence.is_away(table.side_of(player))
                assert is_away == (player.connection is None)
            for watcher in table.watchers:
                assert isinstance(watcher, Player)
                assert watcher.watching is table
                assert hall._players[names.key(watcher.name)] is watcher
            self.check_duel(table)
            self.check_reminder(table)

    def check_reminder(self, table: Table) -> None:
        """Nothing that is due at a table is forgotten, unless it is being seen to."""
        reminder = table._reminder
        reminded_at = math.inf if reminder is None else reminder.at
        assert table._is_busy or reminded_at <= table._due()

    def check_duel(self, table: Table) -> None:
        duel = table.duel
        if duel.is_on:
            assert duel.result is None
            # The other may be lost in the very moment in which the time is over.
            assert table.seconds_left() > 0 or table._ticker._stands_since is not None
            assert duel.number > 0
            assert duel.game.survey(duel.number).first, "nobody can move"
        assert len(table.finished) <= table.terms.best_of + 2 * table.terms.mirror

    def check_lobby(self) -> None:
        hall = self.hall
        here = set(hall.players)
        offers = dict(hall.matchmaker.lobby.offers())
        for player, wish in offers.items():
            assert player in here
            assert player.is_free or player.is_practising
            fitting = hall.matchmaker.lobby.fitting(player, wish)
            assert not (player.is_free and any(other.is_free for other in fitting))
        for challenger in here:
            challenge = hall.matchmaker.lobby.challenge_by(challenger)
            if challenge is not None:
                assert challenge.challenged in here
                assert challenge.challenged is not challenger
                assert challenger.is_free or challenger.is_practising
        assert len(hall.matchmaker.lobby._challenges) == sum(
            hall.matchmaker.lobby.challenge_by(p) is not None for p in here
        )
        for asking, asked in hall.matchmaker.rematches.items():
            assert {asking, asked} <= here
            assert asking.last_table is asked.last_table is not None

    def check_journal(self) -> None:
        text = (self.directory / "journal").read_bytes().decode("ascii")
        assert not forbidden(text.replace("\n", "")), text
        kept, unreadable = ledger.fold(text.splitlines())
        assert unreadable == 0, text
        assert comparable(kept) == comparable(self.hall.snapshot()), text

    def check_store(self) -> None:
        with contextlib.closing(sqlite3.connect(self.directory / FILE)) as db:
            text = "".join(db.iterdump())
        assert not forbidden(text.replace("\n", "")), text

    def check_all_is_empty(self) -> None:
        hall, door = self.hall, self.door
        for left in (
            hall._players, hall.tables, hall.matchmaker.rematches, hall.matchmaker.lobby.offers(),
            hall.matchmaker.lobby._challenges, hall.matchmaker._asked, hall.matchmaker._called,
            hall.nursery.child_tasks, door.inside, door._unnamed, door._gate._connected,
            hall.memory._over, hall.memory._undone, self.server._nursery.child_tasks,
        ):  # fmt: skip
            assert not left, left


HOW: dict[type, Callable[[House, Somebody, object], None]] = {
    Come: House.come,
    ComeBack: House.come_back,
    Type: House.type,
    Paste: House.paste,
    Move: House.move,
    Send: House.send,
    Cut: House.cut,
    Listen: House.listen,
}  # type: ignore[dict-item]


def comparable(running: Running) -> Running:
    """Without what cannot be the same: times are rounded in the journal."""
    running.last_table = 0
    for table in running.tables.values():
        for duel in table.duels:
            duel.turns = [(divisor, round(took, 3)) for divisor, took in duel.turns]
            duel.started = round(duel.started, 3)
    return running


@contextlib.contextmanager
def slow_arithmetic(heavy_number: int | None) -> Iterator[list[object]]:
    """Arithmetic from this number on takes its time, during which anything can happen.

    Not in a thread: the virtual clock would take it for idleness.
    """

    thoughts: list[object] = []

    async def considers(work: Callable[..., object], *args: object, limiter: object) -> object:
        thoughts.append(work)
        await trio.sleep(THOUGHT_SECONDS)
        thoughts.remove(work)
        return work(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio.to_thread, "run_sync", considers)
        for room in (aside, hall_room, table_room):
            if heavy_number is not None and hasattr(room, "HEAVY_NUMBER"):
                patch.setattr(room, "HEAVY_NUMBER", heavy_number)
        yield thoughts


async def live(house: House, script: list[Action]) -> None:
    async with trio.open_nursery() as nursery:
        await nursery.start(house.server.run)
        await house.settle()
        for action in script:
            if isinstance(action, Wait):
                await trio.sleep(action.seconds)
            house.act(action)
            await house.settle()
            house.check()
        for somebody in house.desks:
            somebody.check_screens()
            somebody.close()
        await trio.sleep(LONG_SECONDS)
        await house.settle()
        house.check()
        house.check_store()
        house.check_all_is_empty()
        house.server.stop()
    assert trio.current_time() < 100 * LONG_SECONDS


runs = 0


def run(
    script: list[Action],
    chosen: dict[str, object],
    compact_bytes: int,
    heavy_number: int | None,
    seed: int,
) -> None:
    global runs  # noqa: PLW0603 - to be told by make fuzz, which nothing else knows
    runs += 1
    log = Listener()
    logger = logging.getLogger("duel_daemon")
    before = logger.level
    logger.addHandler(log)
    logger.setLevel(logging.DEBUG)
    desks = [Somebody(name) for name in NAMES]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        store = Store.open(directory, now=time.time)
        journal = Journal(directory / "journal", compact_bytes)
        memory = Memory(journal, Archivist(store, inline))
        server = Server(Settings(**chosen), [], random.Random(seed), memory)  # type: ignore[arg-type]
        try:
            clock = trio.testing.MockClock(autojump_threshold=0)
            with slow_arithmetic(heavy_number) as thoughts:
                house = House(server, directory, log, desks, thoughts)
                trio.run(live, house, script, clock=clock)
        except* AssertionError as group:
            raise _innermost(group) from None  # which hypothesis notes the script on
        finally:
            logger.removeHandler(log)
            logger.setLevel(before)
            store.close()
            for somebody in desks:
                somebody.close()


@fuzzed
@given(
    st.builds(
        list.__add__,
        st.integers(0, len(NAMES)).map(lambda n: [Come(who, True) for who in range(n)]),
        st.lists(st.lists(actions, min_size=5, max_size=15), max_size=5).map(
            lambda parts: [*itertools.chain(*parts)]
        ),
    ),
    choices,
    st.sampled_from([300, 10**6]),
    st.sampled_from([None, 1, 20]),
    st.integers(0, 3),
)
def test_whatever_people_do_the_books_balance(script, chosen, compact_bytes, heavy, seed):
    run(script, chosen, compact_bytes, heavy, seed)


# The same lines, however the bytes are cut.


async def heard(packets: list[bytes]) -> tuple[list[str], str]:
    """The lines that come out of a connection, and why it ended."""
    ours, theirs = socket.socketpair()
    came: list[str] = []
    why = ""

    async def hear(peer: Peer) -> None:
        nonlocal why
        try:
            while True:
                came.append(await peer.line())
        except Gone as exc:
            why = str(exc)
        peer.close()

    with ours:
        async with bare_peer(theirs, PeerLimits(line_burst=10**6)) as (peer, _):
            assert peer._nursery is not None
            peer._nursery.start_soon(hear, peer)
            for packet in packets:
                await trio.testing.wait_all_tasks_blocked()
                with contextlib.suppress(OSError):
                    ours.send(packet)
                    ours.setblocking(False)
                    while ours.recv(65536):
                        pass
            await trio.testing.wait_all_tasks_blocked()
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_WR)
            await trio.testing.wait_all_tasks_blocked()
    return came, why


TOKEN = "!#$%&'*+-.^_`|~" + string.ascii_letters + string.digits
URL = "/:?#[]@!$&'()*+,;=-._~%" + string.ascii_letters + string.digits
requests = st.builds(
    lambda method, space, target, more, version, end: (
        f"{method}{space}{target}{more * 'a'}{space}{version}{end}"
        f"Host: x{end}X: y{end}{end}play 90{end}who{end}Mallory{end}quit{end}"
    ).encode(),
    st.text(TOKEN, min_size=1, max_size=12) | st.sampled_from(["GET", "get", "who", "play", "say"]),
    st.sampled_from([" ", "  ", "\t"]),
    st.text(URL, min_size=1, max_size=40) | st.sampled_from(["/", "*", "http://x/", "x:4000"]),
    st.sampled_from([0, 0, 0, 300, 511, 3000, 4096, 9000]),
    st.sampled_from(["HTTP/1.1", "HTTP/1.0", "http/1.1", "HTTP/2.0", "HTTP/3"]),
    st.sampled_from(["\r\n", "\n"]),
)


@fuzzed
@given(
    st.lists(st.sampled_from([b"\r\n", b"\n", b"\r\0", b" \n"]), max_size=6).map(b"".join),
    requests,
    st.lists(st.integers(0, 10**4), max_size=10),
)
@example(b"", b"FOO /" + b"a" * 300 + b" HTTP/1.1\r\nHost: x\r\n\r\nplay 90\r\nwho\r\n", [])
def test_nothing_of_a_web_request_is_executed_however_it_begins_and_is_cut(before, data, places):
    """Nothing but an Enter before it, which is a person's until more comes."""
    came, why = trio.run(heard, cut(before + data, places))
    assert not "".join(came).strip()
    assert len(came) <= before.count(b"\n") + before.count(b"\r\0")
    assert why.startswith("spoke ") or (len(data) > 4096 and why == Offence.TOO_MUCH.text)


@fuzzed
@given(
    st.lists(st.one_of(any_bytes, telnet_bytes, lines.map(as_bytes)), max_size=8).map(b"\n".join),
    st.lists(st.integers(0, 10**6), max_size=10),
)
@example(b"\xff\xec\nmore\n", [7])  # nothing comes after a telnet end of file
def test_the_same_lines_come_out_however_the_bytes_are_cut(data, places):
    data = b"Anna\n" + data  # the first line is looked at for other protocols, as far as it came
    whole = trio.run(heard, [data])
    assert trio.run(heard, cut(data, places)) == whole
    assert not any(forbidden(line) for line in whole[0])


def test_nothing_in_an_endless_flood_is_kept():
    """Whatever is sent, the daemon's memory for a connection has a bound."""

    async def flood(data: bytes) -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours, trio.move_on_after(100) as scope:
            async with bare_peer(theirs, PeerLimits()) as (peer, _):
                assert peer._nursery is not None
                peer._nursery.start_soon(flooder, ours, data, scope)
                with contextlib.suppress(Gone):
                    while True:
                        await peer.line()
                        assert len(peer._lines) <= RECEIVE_BYTES
                        assert held(peer) <= LINE_BYTES
                        assert len(peer._backlog) <= PeerLimits().outbox_bytes
                scope.cancel()

    async def flooder(ours: socket.socket, data: bytes, scope: trio.CancelScope) -> None:
        while not scope.cancel_called:
            with contextlib.suppress(BlockingIOError):
                ours.send(data)
            await trio.sleep(1)

    for data in (
        b"\n" * 5000, b"x" * 70_000, b"\xff\xf6" * 3000, b"\xff\xfd\x06" * 3000 + b"\n",
        b"\xff\xfa" + b"x" * 5000, b"x" * 600 + b"\n", b"\0" * 70_000, b"\xff" * 70_000,
    ):  # fmt: skip
        clock = trio.testing.MockClock(autojump_threshold=0)
        with contextlib.suppress(OSError):  # the daemon hung up
            trio.run(flood, data, clock=clock)


if __name__ == "__main__":  # make fuzz: without pytest, which bounds the time of a test
    test_the_same_lines_come_out_however_the_bytes_are_cut()
    test_nothing_in_an_endless_flood_is_kept()
    test_whatever_people_do_the_books_balance()
    print(f"{EXAMPLES} examples of each, {runs} days in the house: nothing was found.")
