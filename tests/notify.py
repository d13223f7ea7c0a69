"""As much of systemd as a service can notice, for machines without root.

An emulation of the service manager's side of notify, socket activation, fd store and watchdog, as
far as duel_daemon.service relies on them. test_units holds a real systemd to the same
scenarios, so what is said here about systemd 252 is not only said here:

- the service is started by the first connection, if there are listeners, and again whenever it
  ends, whatever the reason, until it is stopped;
- what is stored survives every end of the process and is handed over at each start, after the
  listeners; stop() lets go of it;
- what a process sent before it died counts, even if it is dead by the time that it is read;
- over the limit of the store, descriptors are dropped without a word.
"""

import fcntl
import os
import re
import signal
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import IO, NoReturn

import attrs
import trio

SHELL = "/bin/sh"
# exec keeps the process id, so the shell can tell the service its own.
WITH_ITS_PID = 'LISTEN_PID=$$ WATCHDOG_PID=$$ exec "$@"'
LARGEST_MESSAGE = 4096
DESCRIPTORS_AT_ONCE = 16
GOOD_NAME = re.compile(r"[ -9;-~]{1,255}")  # printable ASCII but the colon


@attrs.frozen
class Stored:
    """A descriptor in the store."""

    name: str
    sock: socket.socket


@attrs.define(eq=False)
class Manager:
    """Runs one service. Use it as `async with trio.open_nursery(): nursery.start(manager.run)`."""

    command: Sequence[str]
    listeners: Sequence[socket.socket] = ()
    environ: Mapping[str, str] = attrs.field(factory=lambda: dict(os.environ))
    watchdog_seconds: float | None = None
    store_max: int = 4096

    pid: int | None = attrs.field(default=None, init=False)
    """Of the process that runs, if one does."""
    starts: int = attrs.field(default=0, init=False)
    is_ready: bool = attrs.field(default=False, init=False)
    status: str = attrs.field(default="", init=False)
    stored: list[Stored] = attrs.field(factory=list, init=False)
    messages: list[dict[str, str]] = attrs.field(factory=list, init=False)
    """All that the service ever told."""
    _fed_at: float = attrs.field(default=0, init=False)
    _is_stopping: bool = attrs.field(default=False, init=False)
    _before_first: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    _onlookers: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot, init=False)
    _socket: socket.socket = attrs.field(init=False)

    # What an operator does.

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Until stop() is called."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as self._socket:
            self._socket.bind("")  # the kernel finds an abstract address
            self._socket.setblocking(False)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._listen)
                nursery.start_soon(self._watch)
                task_status.started()
                try:
                    await self._supervise()
                finally:
                    self._empty_the_store()
                nursery.cancel_scope.cancel()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the service tells, or for its start or end."""
        while not condition():
            await self._onlookers.park()

    async def restart(self) -> None:
        await self._signal(signal.SIGTERM)

    async def kill(self) -> None:
        await self._signal(signal.SIGKILL)

    async def _signal(self, number: int) -> None:
        starts = self.starts
        assert self.pid is not None
        os.kill(self.pid, number)
        await self.until(lambda: self.starts > starts and self.is_ready)

    def stop(self) -> None:
        self._is_stopping = True
        self._before_first.cancel()
        if self.pid is not None:
            os.kill(self.pid, signal.SIGTERM)

    # The process.

    async def _supervise(self) -> None:
        if self.listeners:
            with self._before_first:
                await self._first_connection()
        while not self._is_stopping:
            self._start()
            try:
                await self._end_of_process()
            finally:
                self._bury()

    async def _first_connection(self) -> None:
        async with trio.open_nursery() as nursery:
            for listener in self.listeners:
                nursery.start_soon(self._connection_at, listener, nursery.cancel_scope)

    async def _connection_at(self, listener: socket.socket, rest: trio.CancelScope) -> None:
        await trio.lowlevel.wait_readable(listener)
        rest.cancel()

    def _start(self) -> None:
        names = [*("listener" for _ in self.listeners), *(each.name for each in self.stored)]
        given = [*self.listeners, *(each.sock for each in self.stored)]
        self.is_ready, self._fed_at = False, trio.current_time()
        self.pid = spawn(self.command, given, {**self.environ, **self._variables(names)})
        self.starts += 1
        self._onlookers.unpark_all()

    def _variables(self, names: Sequence[str]) -> dict[str, str]:
        variables = {"NOTIFY_SOCKET": self._socket.getsockname().replace(b"\0", b"@", 1).decode()}
        if names:
            variables |= {"LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}
        if self.watchdog_seconds:
            variables["WATCHDOG_USEC"] = str(int(self.watchdog_seconds * 1e6))
        return variables

    async def _end_of_process(self) -> None:
        descriptor = os.pidfd_open(self.pid)
        try:
            await trio.lowlevel.wait_readable(descriptor)
        finally:
            os.close(descriptor)

    def _bury(self) -> None:
        """It has ended, or the test has."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._hear_all()
        self.pid, self.is_ready = None, False
        self._onlookers.unpark_all()

    async def _watch(self) -> NoReturn:
        while True:
            due = self._fed_at + (self.watchdog_seconds or float("inf"))
            if self.pid is not None and trio.current_time() >= due:
                os.kill(self.pid, signal.SIGABRT)
                os.kill(self.pid, signal.SIGCONT)  # as systemd does: a stopped process dies too
                await self._onlookers.park()  # something happens next: its end
            else:
                with trio.move_on_at(due if self.pid is not None else float("inf")):
                    await self._onlookers.park()

    # What it tells.

    async def _listen(self) -> NoReturn:
        while True:
            await trio.lowlevel.wait_readable(self._socket)
            self._hear_all()

    def _hear_all(self) -> None:
        room = socket.CMSG_SPACE(DESCRIPTORS_AT_ONCE * 4)
        flags = socket.MSG_CMSG_CLOEXEC
        while True:
            try:
                data, ancillary, *_ = self._socket.recvmsg(LARGEST_MESSAGE, room, flags)
            except BlockingIOError:
                break
            rights = b"".join(rights for _, _, rights in ancillary)
            descriptors = struct.unpack(f"{len(rights) // 4}i", rights)
            self._hear(data.decode(), [socket.socket(fileno=number) for number in descriptors])
        self._onlookers.unpark_all()

    def _hear(self, text: str, sockets: list[socket.socket]) -> None:
        told = dict(line.split("=", 1) for line in text.splitlines())
        self.messages.append(told)
        self.status = told.get("STATUS", self.status)
        if told.get("READY") == "1":
            self.is_ready = True
        if "WATCHDOG" in told or "READY" in told:
            self._fed_at = trio.current_time()
        if told.get("FDSTOREREMOVE") == "1":
            self._remove(told["FDNAME"])
        elif told.get("FDSTORE") == "1":
            name = told.get("FDNAME", "")
            self._add(name if GOOD_NAME.fullmatch(name) else "stored", sockets)
            return
        for sock in sockets:
            sock.close()

    def _add(self, name: str, sockets: list[socket.socket]) -> None:
        for sock in sockets:
            if len(self.stored) < self.store_max:
                self.stored.append(Stored(name, sock))
            else:
                sock.close()

    def _remove(self, name: str) -> None:
        for each in [each for each in self.stored if each.name == name]:
            self.stored.remove(each)
            each.sock.close()

    def _empty_the_store(self) -> None:
        for each in self.stored:
            each.sock.close()
        self.stored.clear()


def spawn(
    command: Sequence[str], given: Sequence[socket.socket | IO[str]], environ: Mapping[str, str]
) -> int:
    """Start a process that finds these sockets as its descriptors from 3 on; its process id."""
    beyond = 3 + len(given)  # out of the way of the numbers they will get
    copies = [fcntl.fcntl(sock.fileno(), fcntl.F_DUPFD_CLOEXEC, beyond) for sock in given]
    moves = [(os.POSIX_SPAWN_DUP2, copy, 3 + number) for number, copy in enumerate(copies)]
    try:
        arguments = [SHELL, "-c", WITH_ITS_PID, SHELL, *command]
        return os.posix_spawn(SHELL, arguments, environ, file_actions=moves)
    finally:
        for copy in copies:
            os.close(copy)
