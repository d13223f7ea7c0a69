"""Listeners, admission, lifecycle, and the one barrier at which our own mistakes end.

A bug in one connection ends that connection, is logged with its traceback, and costs nobody else
anything.
"""

import contextlib
import errno
import itertools
import logging
import random
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

import attrs
import trio

from duel_daemon.archivist import Archivist
from duel_daemon.door import Door
from duel_daemon.ears import Ears
from duel_daemon.hall import Hall
from duel_daemon.journal import Journal
from duel_daemon.kept import Running
from duel_daemon.memory import Memory
from duel_daemon.narrator import CLOSED, house
from duel_daemon.peer import Peer
from duel_daemon.player import Player
from duel_daemon.restoring import restore
from duel_daemon.service import Service
from duel_daemon.settings import Settings
from duel_daemon.textwidth import counted
from duel_daemon.timetable import Timetable
from duel_daemon.visit import go_on, visit

log = logging.getLogger("duel_daemon")

FAREWELL_SECONDS = 1.0  # for a connection's last words to go out
CLOSING = "The server is closing."
RESTARTING = "The server is restarting; please wait a moment."
ARCHIVE_SECONDS = 2.0  # for results that are not stored yet, before the process ends

# accept() fails like this when descriptors or memory run out; it is tried again when some are free.
SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
SHORTAGE_RETRY_SECONDS = 0.1

GONE = "gone"  # the address of whoever hung up while no process ran


@attrs.define(eq=False)
class Server:
    """The daemon without its command line: listens, serves, stops."""

    settings: Settings
    listeners: list[socket.socket]
    rng: random.Random = attrs.field(factory=random.SystemRandom)
    memory: Memory = attrs.field(factory=lambda: Memory(Journal(None), Archivist(None)))
    service: Service = attrs.field(factory=Service)
    hall: Hall = attrs.field(init=False)
    _ears: Ears = attrs.field(init=False)
    _timetable: Timetable = attrs.field(factory=Timetable, init=False)
    _nursery: trio.Nursery = attrs.field(init=False)
    door: Door = attrs.field(init=False)
    _stop_asked: trio.Event = attrs.field(factory=trio.Event, init=False)
    _idents: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)

    def __attrs_post_init__(self) -> None:
        self.door = Door(self.settings)

    async def run(  # noqa: ASYNC128 - _serve_all calls task_status.started()
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until stop() is called."""
        with contextlib.closing(Ears(self.memory.post.deliver)) as self._ears:
            async with trio.open_nursery() as background:
                await background.start(self.memory.archivist.run)
                background.start_soon(self.service.feed_watchdog)
                background.start_soon(self._ears.run)
                background.start_soon(self._timetable.run)
                await self._serve_all(task_status)
                with trio.move_on_after(ARCHIVE_SECONDS):
                    await self.memory.archivist.finish()
                background.cancel_scope.cancel()
        self.memory.journal.close()

    async def _serve_all(self, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as tables, trio.open_nursery() as connections:
            self.hall = Hall(self.settings, tables, self.rng, self.memory, self._timetable)
            self.hall.post.on_mistake = self.door.log_mistake
            self._nursery = connections
            self._go_on()
            if self.service.is_managed:
                self.hall.on_change = self._report
            self.hall.on_named = self.door.is_named
            self._report()
            acceptors = trio.CancelScope()
            connections.start_soon(self._accept_all, acceptors)
            self.service.ready()
            task_status.started()
            await self._stop_asked.wait()
            acceptors.cancel()
            self.service.stopping()
            self._say_goodbye()
            connections.cancel_scope.cancel()
        # The tables' nursery ends by itself: a stopped table's task has nothing left to do.

    def _go_on(self) -> None:
        """Take up what the process before this one was doing."""
        running = self.memory.journal.load()
        self._idents = itertools.count(_highest_ident(running, self.service.stored) + 1)
        restored = restore(self.hall, running, self._reconnect)
        self.memory.journal.open(self.hall.snapshot)
        for player in restored.connected:
            self.door.came_in(player.peer)
            self.door.is_named(player.peer)
            self._nursery.start_soon(self._serve, player.peer, partial(go_on, self.hall, player))
        restored.greet()
        for ident, sock in self.service.stored.items():  # they were still asked for their name
            self._admit(sock, ident, self._address_of(sock))
        self.service.stored.clear()
        self.hall.post.deliver()

    def _reconnect(self, ident: str) -> Peer | None:
        sock = self.service.stored.pop(ident, None)
        return self._peer(sock, ident, self._address_of(sock)) if sock is not None else None

    def _address_of(self, sock: socket.socket) -> str:
        """Where a connection of the last process comes from; it counts, but is not turned away."""
        try:
            name = sock.getpeername()
        except OSError:
            name = GONE  # found out by reading, as with any connection
        address = str(name[0]) if isinstance(name, tuple) else GONE
        self.door.was_here(address)
        return address

    def _report(self) -> None:
        """For `systemctl status`."""
        players, tables = self.hall.player_count, len(self.hall.tables)
        self.service.status(f"{counted(players, 'player')}, {counted(tables, 'duel')}")

    def stop(self) -> None:
        self._stop_asked.set()

    def reconfigure(self, settings: Settings) -> None:
        """From now on; what is being played goes on under the terms it began with."""
        self.settings = settings
        self.hall.reconfigure(settings)
        self.door.reconfigure(settings)

    def _say_goodbye(self) -> None:
        inside = self.door.inside
        connections, tables = counted(len(inside), "connection"), len(self.hall.tables)
        log.info("stopping: %s, %s", connections, counted(tables, "table"))
        named = {player.connection for player in self.hall.players}
        for peer in inside - named:
            peer.ask(None)
            peer.say(house(RESTARTING if self.service.is_managed else f"{CLOSING} {CLOSED}"))
        self.hall.stop(self._last_line)

    def _last_line(self, player: Player) -> str:
        """systemd does not say whether this is a stop or a restart: so it is no goodbye."""
        if self.service.is_managed:
            return RESTARTING
        table = player.table
        if table is None or table.is_practice:
            return f"{CLOSING} {CLOSED}"
        if not self.memory.journal.keeps:
            return f"The server is closing; duels end without a winner. {CLOSED}"
        return f"{CLOSING} Come back with: {player.name} {table.code_of(player)}. {CLOSED}"

    # Accepting.

    def admit(self, sock: socket.socket, address: str) -> None:
        """Serve this new connection, in a task and a nursery of its own; or turn it away.

        The first thing is to have systemd hold it too. A kill -9 between accept() and that cuts it,
        and nothing can help: these are two system calls, and SIGKILL comes between any two. Whoever
        is cut there has read nothing yet. But to store what is refused costs systemd two messages,
        so while a crowd is being turned away the door is asked first.
        """
        ident = f"c{next(self._idents)}"
        is_kept = not self.door.is_refusing
        if is_kept:
            self.service.keep(ident, sock)
        refusal = self.door.refusal(address)
        if refusal is not None:
            self.door.turn_away(sock, refusal)
            if is_kept:
                self.service.forget(ident)
            return
        if not is_kept:
            self.service.keep(ident, sock)
        self._admit(sock, ident, address)

    def _admit(self, sock: socket.socket, ident: str, address: str) -> None:
        log.debug("%s connects from %s", ident, address)
        peer = self._peer(sock, ident, address)
        self._nursery.start_soon(self._serve, peer, partial(visit, self.hall, peer))
        self.door.came_in(peer)

    def _peer(self, sock: socket.socket, ident: str, address: str) -> Peer:
        limits = self.door.peer_limits
        return Peer(sock, ident, address, self.hall.post, self._ears, limits=limits)

    async def _accept_all(self, scope: trio.CancelScope) -> None:
        try:
            with scope:
                async with trio.open_nursery() as nursery:
                    for listener in self.listeners:
                        nursery.start_soon(self._accept, listener)
        finally:
            for listener in self.listeners:
                listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            await trio.lowlevel.wait_readable(listener)
            await self.service.room()
            try:
                sock, address = listener.accept()
            except BlockingIOError:
                continue
            except OSError as exc:
                if exc.errno in SHORTAGES:
                    self._log_shortage(exc)
                    await trio.sleep(SHORTAGE_RETRY_SECONDS)
                continue  # whatever else it is, it is that connection's trouble
            self.admit(sock, str(address[0]))

    def _log_shortage(self, exc: OSError) -> None:
        text = "cannot accept connections for now: %s"
        self.door.log_once(logging.WARNING, "shortage", text, exc.strerror)

    # Serving.

    async def _serve(self, peer: Peer, serve: Callable[[], Awaitable[None]]) -> None:
        """One connection, whatever happens in it."""
        try:
            async with trio.open_nursery() as nursery:
                peer.live_in(nursery)
                try:
                    await self._serve_safely(peer, serve)
                finally:
                    with trio.move_on_after(FAREWELL_SECONDS, shield=True):
                        await self._finish(peer)
                    self._part(peer)
                    nursery.cancel_scope.cancel()
        except* Exception as group:  # from a task beside the visit
            self.door.log_mistake(peer, group)
        finally:
            self.door.left(peer)

    async def _serve_safely(self, peer: Peer, serve: Callable[[], Awaitable[None]]) -> None:
        try:
            await serve()
        except Exception as exc:
            self.door.log_mistake(peer, exc)
            peer.ask(None)
            peer.say(house(f"Something went wrong on our side, sorry. {CLOSED}"))
        finally:
            if peer.is_dropped:
                self.door.log_end(peer)

    @property
    def _hands_over(self) -> bool:
        """Whether the connections are to outlive this process: systemd holds them too."""
        return self.hall.is_stopping and self.service.is_managed

    async def _finish(self, peer: Peer) -> None:
        if not self._hands_over:
            await peer.finish()

    def _part(self, peer: Peer) -> None:
        """The end of a connection, or of this process's part in it."""
        if self._hands_over:
            peer.let_go()
        else:
            peer.close()
            self.service.forget(peer.ident)


def _highest_ident(running: Running, stored: Iterable[str]) -> int:
    """Connections keep their names over a restart, so no new one may get the same."""
    idents = [*stored, *(player.connection for player in running.players.values())]
    numbers = [int(ident[1:]) for ident in idents if ident[1:].isdecimal()]
    return max(numbers, default=0)
