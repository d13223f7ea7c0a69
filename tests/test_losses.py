"""How a connection is lost, over a network of the test's own: closed, reset, or not a word more.

The daemon has a network namespace and Anna another one, with a cable between them; Ben sits at the
daemon's machine. It takes root; where there can be none, the tests are skipped and say why.
"""

import contextlib
import ctypes
import os
import random
import socket
import struct
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import attrs
import pytest
import trio
from kit import NAME_PROMPT, QUIET, Person
from test_returning import PROMPT, code_of

from duel_daemon.listening import listen
from duel_daemon.server import Server
from duel_daemon.settings import Settings

HERE, THERE = "192.0.2.1", "192.0.2.2"
NO_LINGERING = struct.pack("ii", 1, 0)
LOST = "* Anna has lost the connection; the seat is kept for 60 seconds.\n"

T = TypeVar("T")


# Two machines and a cable.


@attrs.define(eq=False)
class Network:
    """A network namespace, as long as the process that is its only inhabitant lives."""

    pid: int
    _thread: ThreadPoolExecutor

    def run(self, *command: str) -> None:
        where = ("nsenter", "--net", "--target", str(self.pid))
        subprocess.run([*where, *command], check=True, capture_output=True)

    def makes(self, action: Callable[[], T]) -> T:
        """Sockets made by this action belong to this network, whoever uses them later."""
        return self._thread.submit(action).result()


@contextlib.contextmanager
def network() -> Iterator[Network]:
    command = ["unshare", "--net", "sh", "-c", "echo made; exec cat"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as inhabitant:  # type: ignore[call-overload]
        if inhabitant.stdout.readline() != "made\n":
            pytest.skip(f"no network namespace: {inhabitant.stderr.read().strip()}")
        pid = inhabitant.pid
        with ThreadPoolExecutor(1, initializer=enter, initargs=(pid,)) as thread:
            yield Network(pid, thread)
        inhabitant.stdin.close()


def enter(pid: int) -> None:
    """For this thread. os.setns is of Python 3.12."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net", "rb") as namespace:
        if libc.setns(namespace.fileno(), 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attrs.frozen
class Cable:
    """What connects the daemon's machine with Anna's."""

    daemons: Network
    annas: Network

    def goes_silent(self) -> None:
        """Whatever Anna's machine would send is swallowed; the link stays up, as with Wi-Fi."""
        self.annas.run("ip", "route", "add", "blackhole", HERE)

    def is_good_again(self) -> None:
        self.annas.run("ip", "route", "delete", "blackhole", HERE)


@pytest.fixture
def cable() -> Iterator[Cable]:
    with network() as daemons, network() as annas:
        make = ["ip", "link", "add", "cable", "netns", str(daemons.pid)]
        make += ["type", "veth", "peer", "name", "cable", "netns", str(annas.pid)]
        made = subprocess.run(make, capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no cable between network namespaces: {made.stderr.strip()}")
        for end, address in ((daemons, HERE), (annas, THERE)):
            end.run("ip", "address", "add", f"{address}/24", "dev", "cable")
            end.run("ip", "link", "set", "cable", "up")
            end.run("ip", "link", "set", "lo", "up")
        yield Cable(daemons, annas)


# The daemon at one end of it, and Anna at the other.


@attrs.define(eq=False)
class Classroom:
    """A daemon, and who has come to it."""

    cable: Cable
    server: Server
    people: list[Person] = attrs.field(factory=list)

    async def comes(self, network: Network) -> Person:
        sock = trio.socket.from_stdlib_socket(network.makes(socket.socket))
        await sock.connect(self.server.listeners[0].getsockname())
        self.people.append(Person(sock))
        return self.people[-1]

    async def duel(self) -> tuple[Person, Person]:
        """Anna, whose turn it is, and Ben."""
        anna = await (await self.comes(self.cable.annas)).is_named("Anna")
        ben = await (await self.comes(self.cable.daemons)).is_named("Ben")
        await anna.reads(PROMPT)
        await ben.reads("2,3,4,5,6,10,12,15,20,30\n")
        return anna, ben

    async def comes_back(self, anna: Person, ben: Person) -> None:
        """Anna does, with the code, and they play on."""
        back = await self.comes(self.cable.annas)
        await back.reads(NAME_PROMPT)
        await back.types(f"Anna {code_of(anna)}")
        await back.reads("* You play Ben: Divisor Duel from 60. You are Player 1.\n")
        await ben.reads("* Anna is back.\n")
        await back.reads(PROMPT)
        await back.types("15")
        for person in (back, ben):
            await person.reads("Subtracting 15 from 60. New N is 45.\n")


@contextlib.asynccontextmanager
async def classroom(cable: Cable, **settings: float) -> AsyncIterator[Classroom]:
    chosen = {
        **QUIET,
        "first_turn": "first-come",
        "return_seconds": 60,
        "turn_seconds": 3600,  # so that nothing is said about the time
        **settings,
    }
    listeners = cable.daemons.makes(lambda: listen((HERE,), 0))
    server = Server(Settings(**chosen), listeners, random.Random(7))  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        place = Classroom(cable, server)
        try:
            yield place
        finally:
            server.stop()
            for person in place.people:
                person.hangs_up()


@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
async def test_a_connection_that_ends_is_told_in_one_line_and_the_seat_is_kept(
    cable: Cable, is_reset: bool
) -> None:
    async with classroom(cable) as place:
        anna, ben = await place.duel()
        if is_reset:
            anna.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGERING)
        anna.hangs_up()
        assert await ben.reads(LOST) == LOST
        await place.comes_back(anna, ben)


async def test_a_player_who_vanished_is_noticed_though_nothing_is_said(cable: Cable) -> None:
    """By the keepalive."""
    async with classroom(cable, send_seconds=2) as place:
        anna, ben = await place.duel()
        cable.goes_silent()
        assert await ben.reads(LOST) == LOST
        cable.is_good_again()
        await place.comes_back(anna, ben)


async def test_a_player_who_vanished_is_noticed_when_something_is_said(cable: Cable) -> None:
    """By what is not acknowledged; TCP sends no probes then."""
    async with classroom(cable, send_seconds=2) as place:
        anna, ben = await place.duel()
        cable.goes_silent()
        await ben.types("say 1")
        assert (await ben.reads(LOST)).endswith(LOST)
        cable.is_good_again()
        await place.comes_back(anna, ben)


async def test_probes_that_are_lost_cost_nobody_the_connection(cable: Cable) -> None:
    """They are sent after 4, 5, 6 and 7 seconds, and after 8 it is too late."""
    async with classroom(cable, send_seconds=8) as place:
        anna, ben = await place.duel()
        sock = place.server.hall.find("Anna").peer._sock
        cable.goes_silent()
        await until(lambda: unanswered(sock) == 2)
        cable.is_good_again()
        await until(lambda: unanswered(sock) == 0)
        await anna.types("15")
        await ben.reads("Subtracting 15 from 60. New N is 45.\n")


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody is told
        await trio.sleep(0.01)


def unanswered(sock: socket.socket) -> int:
    """How many of the keepalive's probes, of late."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)[3]
