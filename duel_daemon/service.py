"""systemd: ready, status, watchdog, socket activation, and the store of open connections.

Under systemd the environment names a socket to talk to and the descriptors that were handed over.
Without it every method does nothing, so nobody else has to ask where the daemon runs. What is
kept and under which name is not decided here. The protocol: sd_notify(3), sd_listen_fds(3),
sd_watchdog_enabled(3).
"""

import errno
import logging
import os
import socket
import stat
import struct
import time
from collections.abc import Iterable, MutableMapping

import attrs
import trio

log = logging.getLogger("duel_daemon")

FIRST_DESCRIPTOR = 3  # after stdin, stdout, stderr
NAME_CHARACTERS = 255
FEEDS_PER_WATCHDOG = 3  # systemd's manual asks for two; the third is for a loop that is late once

# How long one message may hold up the event loop. The kernel queues few for systemd (11 by Linux's
# default; systemd raises it to some 500 at boot), then sendmsg waits until systemd has read one:
# 0.05 ms with 100 connections in the store, 2 ms with 3,000 (measured; it seems to compare each new
# one with all). Longer means that systemd is busy (a daemon-reload takes 0.2 s) or stuck.
SEND_SECONDS = 0.05
# A newcomer waits longer than that for systemd to take him, because nobody else waits with him.
ROOM_SECONDS = 1.0
BUSY = frozenset({errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS})

VARIABLES = (
    "NOTIFY_SOCKET",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
)


@attrs.frozen
class Message:
    """One datagram for systemd, and the descriptor that goes with it."""

    text: str
    descriptor: int | None = None
    keeps: str = ""  # the name under which the descriptor is to be stored


@attrs.define(eq=False)
class Service:
    """The daemon as systemd sees it, and what systemd gave it at its start."""

    listeners: list[socket.socket] = attrs.field(factory=list)
    """From the .socket unit; none: the daemon opens its own port."""
    stored: dict[str, socket.socket] = attrs.field(factory=dict)
    """Connections of the process before this one, by the names it gave them. They stay stored."""
    watchdog_seconds: float | None = None
    """systemd kills the daemon when it was not fed for so long."""
    _socket: socket.socket | None = None
    _is_stuck: bool = attrs.field(default=False, init=False)
    _has_no_room: bool = attrs.field(default=False, init=False)
    _asking_for_room: trio.Lock = attrs.field(factory=trio.Lock, init=False)
    _waiting: list[Message] = attrs.field(factory=list, init=False)

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str]) -> "Service":
        """Take what systemd left there; a child of ours must not take it for its own."""
        taken = {name: environ.pop(name, "") for name in VARIABLES}
        service = cls(socket=_connected(taken["NOTIFY_SOCKET"]))
        me = str(os.getpid())
        if taken["LISTEN_PID"] == me:
            names = taken["LISTEN_FDNAMES"].split(":")
            service._adopt(_number(taken["LISTEN_FDS"]), names)
        if service.is_managed and taken["WATCHDOG_PID"] in ("", me):
            service.watchdog_seconds = _number(taken["WATCHDOG_USEC"]) / 1e6 or None
        return service

    @property
    def is_managed(self) -> bool:
        return self._socket is not None

    def _adopt(self, count: int, names: Iterable[str]) -> None:
        unnamed = [""] * count
        for number, name in zip(range(count), [*names, *unnamed], strict=False):
            descriptor = FIRST_DESCRIPTOR + number
            os.set_inheritable(descriptor, False)
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                log.warning("systemd handed over %r, which is no socket", name)
                os.close(descriptor)
                continue
            sock = socket.socket(fileno=descriptor)
            sock.setblocking(False)
            if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                self.listeners.append(sock)
            else:
                self.stored[name] = sock

    # What systemd is told.

    def ready(self) -> None:
        """Started, or done with reloading."""
        self._tell(Message("READY=1"))

    def reloading(self) -> None:
        """ready() must follow. The time is for systemd 253 and later."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._tell(Message(f"RELOADING=1\nMONOTONIC_USEC={now}"))

    def stopping(self) -> None:
        self._tell(Message("STOPPING=1"))

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._tell_now(Message(f"STATUS={' '.join(text.split())}"))

    async def feed_watchdog(self) -> None:
        """Feed it for ever, from the event loop: a loop that is stuck does not."""
        if self.watchdog_seconds is None:
            return  # noqa: ASYNC910 - nothing to do
        while True:
            self._tell_now(Message("WATCHDOG=1"))
            await trio.sleep(self.watchdog_seconds / FEEDS_PER_WATCHDOG)

    def close(self) -> None:
        """Systemd hears no more of us; what is stored stays stored."""
        for message in self._waiting:
            _close(message)
        self._waiting.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    # The store. What is in it outlives this process.

    async def room(self) -> None:
        """Wait until keep() would not have to: whoever is not accepted yet cannot be cut by a kill.

        A systemd that takes too long is not waited for again before it has taken something.
        """
        async with self._asking_for_room:  # trio lets one at a time wait for a socket
            if self._socket is not None and not self._has_no_room:
                with trio.move_on_after(ROOM_SECONDS) as scope:
                    await trio.lowlevel.wait_writable(self._socket)
                self._has_no_room = scope.cancelled_caught

    def keep(self, name: str, sock: socket.socket) -> None:
        """Keep this connection open whatever becomes of us; the name must be no other's.

        FDPOLL=0: only forget() takes it out again. Else systemd drops a connection the moment it
        is reset, and the next process would have to tell a player who hung up meanwhile from one
        who was never stored; so it finds the end by reading, as with any connection.
        """
        _check(name)
        if self._socket is not None:
            text = f"FDSTORE=1\nFDPOLL=0\nFDNAME={name}"
            message = Message(text, sock.fileno(), keeps=name)
            if not self._tell_now(message):
                # Its number may be another connection's by the time it is sent.
                self._waiting.append(attrs.evolve(message, descriptor=os.dup(sock.fileno())))

    def forget(self, name: str) -> None:
        """Take it out. Until then the other side sees no end, unless shutdown() came first."""
        _check(name)
        waiting = [message for message in self._waiting if message.keeps == name]
        for message in waiting:  # it never got there
            self._waiting.remove(message)
            _close(message)
        if not waiting:
            self._tell(Message(f"FDSTOREREMOVE=1\nFDNAME={name}"))

    # Sending. It neither raises nor blocks for long. What could not be sent and matters waits for
    # the next message (the watchdog's, if nobody else's), in its order; it is bounded, because
    # there is at most one such message for each connection here or in the store.

    def _tell(self, message: Message) -> None:
        if not self._tell_now(message):
            self._waiting.append(message)

    def _tell_now(self, message: Message) -> bool:
        """Whether it was sent, after all that waited. Without systemd there is nobody to tell."""
        while self._waiting:
            if not self._send(self._waiting[0]):
                return False
            _close(self._waiting.pop(0))
        return self._send(message)

    def _send(self, message: Message) -> bool:
        if self._socket is None:
            return True
        flags = socket.MSG_DONTWAIT if self._is_stuck else 0  # one long wait is enough
        rights = []
        if message.descriptor is not None:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", message.descriptor))]
        try:
            self._socket.sendmsg([message.text.encode()], rights, flags)
        except OSError as exc:
            self._is_stuck = exc.errno in BUSY
            if self._is_stuck:
                return False
            log.warning("systemd was not told %r: %s", message.text, exc.strerror)
        else:
            self._is_stuck = self._has_no_room = False
        return True


def _connected(address: str) -> socket.socket | None:
    """The socket to systemd; an address that begins with @ is an abstract one."""
    if not address:
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    # Blocking, with a bound: a connection is stored before its player is welcomed, or a kill in
    # between would cut it. Without blocking, the twelfth of a burst was left over (measured).
    sock.setsockopt(
        socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, int(SEND_SECONDS * 1e6))
    )
    try:
        sock.connect(f"\0{address[1:]}" if address.startswith("@") else address)
    except OSError as exc:
        log.warning("systemd cannot be told anything at %r: %s", address, exc.strerror)
        sock.close()
        return None
    return sock


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _check(name: str) -> None:
    """systemd would store it as "stored", with everybody else's, and say nothing."""
    good = 0 < len(name) <= NAME_CHARACTERS and name.isascii() and name.isprintable()
    if not good or ":" in name:
        raise ValueError(f"systemd takes no such name: {name!r}")


def _close(message: Message) -> None:
    if message.descriptor is not None:
        os.close(message.descriptor)
