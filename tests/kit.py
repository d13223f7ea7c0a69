"""The daemon in a test: a server without a port, and people who type and read.

Connections are socket pairs, whose bytes are there at once: so tests on the virtual clock see no
idleness where there is none. `Person.screen` is what their terminal shows, echo included.
"""

import contextlib
import random
import socket
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import attrs
import trio
import trio.testing

from duel_daemon.archivist import Archivist
from duel_daemon.ears import Ears
from duel_daemon.journal import Journal
from duel_daemon.memory import Memory
from duel_daemon.peer import Peer, PeerLimits, Post
from duel_daemon.server import Server
from duel_daemon.settings import Settings

NAME_PROMPT = "Your name (Enter for a guest name): "
PROMPT = "Enter your chosen divisor: "
"""Of the usual game."""
QUIET = {
    "return_seconds": 0,
    "line_burst": 10_000,
    "lines_per_second": 10_000,
    "per_address": 10_000,
    "new_per_minute": 10_000,
}
"""Unless a test asks for it: no seat is kept, and nobody is too many or too fast."""


T = TypeVar("T")


async def inline(work: Callable[[], T], /) -> T:
    """In place of an archivist's thread, which a virtual clock would take for idleness."""
    await trio.lowlevel.checkpoint()
    return work()


class HungUp(Exception):  # noqa: N818 - an end, not an error
    """The daemon closed the connection before the awaited text came."""


@attrs.define(eq=False)
class Person:
    """Somebody at a terminal."""

    sock: trio.socket.SocketType
    screen: str = ""
    """Everything read so far, with CR LF as newlines and what was typed where it was typed."""
    _seen: int = 0

    async def types(self, line: str, *, end: str = "\n") -> None:
        """And the daemon hears it, before anybody types anything else."""
        self.screen += line + "\n"
        await self.send((line + end).encode())
        await trio.testing.wait_all_tasks_blocked()

    async def send(self, data: bytes) -> None:
        await self.sock.send(data)

    async def reads(self, text: str) -> str:
        """Read until this text comes; what came since the last time, up to its end."""
        while (found := self.screen.find(text, self._seen)) < 0:
            await self._receive(text)
        start, self._seen = self._seen, found + len(text)
        return self.screen[start : self._seen]

    async def _receive(self, awaited: str) -> None:
        try:
            data = await self.sock.recv(65536)
        except OSError:
            data = b""
        if not data:
            raise HungUp(f"{awaited!r} did not come before the end of:\n{self.screen[-2000:]}")
        self.screen += data.decode(errors="replace").replace("\r\n", "\n")

    async def reads_to_the_end(self) -> str:
        """Everything until the daemon closes the connection."""
        start = self._seen
        with contextlib.suppress(HungUp):
            await self.reads("\0 never comes")
        self._seen = len(self.screen)
        return self.screen[start:]

    async def reads_for(self, seconds: float = 1.0) -> str:
        """What comes within some time; for the virtual clock."""
        start = self._seen
        with trio.move_on_after(seconds):
            await self.reads_to_the_end()
        self._seen = len(self.screen)
        return self.screen[start:]

    async def is_named(self, name: str) -> "Person":
        await self.reads(NAME_PROMPT)
        await self.types(name)
        await self.reads("* Welcome,")
        return self

    def hangs_up(self) -> None:
        self.sock.close()

    def says_no_more(self) -> None:
        """Half-close, as `nc -N` does at the end of its input."""
        self.sock.shutdown(socket.SHUT_WR)

    @property
    def dialogue(self) -> str:
        """The screen without the house's lines and the name prompt."""
        lines = self.screen.splitlines(keepends=True)
        kept = [x for x in lines if not x.startswith(("* ", NAME_PROMPT))]
        return "".join(kept)


@attrs.define(eq=False)
class Place:
    """A running daemon that people can come to."""

    server: Server
    people: list[Person] = attrs.field(factory=list)

    def comes(self, pair: tuple[socket.socket, socket.socket] | None = None) -> Person:
        """Somebody connects; the pair is theirs and the daemon's end, if not just any."""
        ours, theirs = pair or socket.socketpair()
        self.server.admit(theirs, "127.0.0.1")
        ours.setblocking(False)
        self.people.append(Person(trio.socket.from_stdlib_socket(ours)))
        return self.people[-1]

    async def comes_as(self, name: str) -> Person:
        return await self.comes().is_named(name)

    async def comes_idle(self, name: str) -> Person:
        """Somebody who is here and looks for nobody."""
        person = await self.comes_as(name)
        await person.types("stop")
        await person.reads("Type play to look again.\n")
        return person

    async def lobby(self, *names: str) -> list[Person]:
        return [await self.comes_idle(name) for name in names]

    async def pair(self, one: str = "Anna", two: str = "Ben") -> tuple[Person, Person]:
        """Two in a duel together; with first_turn="first-come" the first is Player 1."""
        first = await self.comes_as(one)
        second = await self.comes_as(two)
        await first.reads("* Your opponent is")
        await second.reads("* Your opponent is")
        return first, second


@contextlib.asynccontextmanager
async def bare_peer(sock: socket.socket, limits: PeerLimits) -> AsyncIterator[tuple[Peer, Post]]:
    """A peer without a house around it, but with the ears and the post that it needs."""
    post = Post()
    with contextlib.closing(Ears(post.deliver)) as ears:
        peer = Peer(sock, "c1", "192.0.2.1", post, ears, limits=limits)
        with contextlib.closing(peer):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ears.run)
                await nursery.start(_live, peer)
                yield peer, post
                nursery.cancel_scope.cancel()


async def _live(
    peer: Peer, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    async with trio.open_nursery() as nursery:
        peer.live_in(nursery)
        task_status.started()
        await trio.sleep_forever()


@contextlib.asynccontextmanager
async def open_house(memory: Memory | None = None, **settings: object) -> AsyncIterator[Place]:
    """A daemon with these settings (and a memory, if it is to have one), ended with the block."""
    chosen = Settings(**{"first_turn": "first-come", **QUIET, **settings})  # type: ignore[arg-type]
    server = Server(chosen, [], random.Random(7), memory or Memory(Journal(None), Archivist(None)))
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        place = Place(server)
        try:
            yield place
        finally:
            server.stop()
            for person in place.people:
                person.hangs_up()
