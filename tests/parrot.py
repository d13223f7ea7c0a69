"""The smallest daemon that lives off duel_daemon.service: it repeats lines, and outlives itself.

Run by the emulation and by a real systemd, so that both are held to the same facts. A client
reads its line again, after the process id of whoever repeats it. Some lines are orders:
`hang` blocks the event loop, `bye` closes the connection, `close` closes it without a word to the
store, `eat` takes memory until it is killed, `burst N` stores that many sockets at once and says
how long that took.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable

import trio

from duel_daemon.service import Service

service = Service.from_environment(os.environ)
sockets: list[socket.socket] = []  # of bursts: one end is stored, both stay open


def hang(name: str, sock: socket.socket, rest: str) -> str:
    sock.send(b"from now on\n")
    time.sleep(1000)
    return "never said"


def bye(name: str, sock: socket.socket, rest: str) -> str:
    sock.shutdown(socket.SHUT_RDWR)
    service.forget(name)
    return ""


def burst(name: str, sock: socket.socket, rest: str) -> str:
    pairs = [socket.socketpair() for _ in range(int(rest))]
    sockets.extend(end for pair in pairs for end in pair)
    began, slowest = time.perf_counter(), 0.0
    for number, (end, _) in enumerate(pairs):
        before = time.perf_counter()
        service.keep(f"burst-{os.getpid()}-{len(sockets)}-{number}", end)
        slowest = max(slowest, time.perf_counter() - before)
    took = time.perf_counter() - began
    waiting = len(service._waiting)
    return f"{took * 1000:.1f} ms, the slowest {slowest * 1000:.1f} ms, {waiting} waiting"


def eat(name: str, sock: socket.socket, rest: str) -> str:
    sock.send(b"from now on\n")
    eaten = []
    while True:
        eaten.append(b"x" * 2**20)


def close(name: str, sock: socket.socket, rest: str) -> str:
    return ""


ORDERS: dict[str, Callable[[str, socket.socket, str], str]] = {
    "hang": hang,
    "eat": eat,
    "bye": bye,
    "burst": burst,
    "close": close,
}


async def serve(name: str, sock: socket.socket) -> None:
    with sock:
        while True:  # noqa: ASYNC913 - each round waits
            await trio.lowlevel.wait_readable(sock)
            try:
                line = sock.recv(4096).decode().strip()
            except OSError as exc:
                print(f"{name}: {exc.strerror}", file=sys.stderr)
                line = ""
            if not line:
                service.forget(name)
                return
            order, _, rest = line.partition(" ")
            answer = ORDERS[order](name, sock, rest) if order in ORDERS else line
            if not answer:
                return
            sock.send(f"{os.getpid()} {answer}\n".encode())


async def accept(listener: socket.socket, nursery: trio.Nursery) -> None:
    while True:
        await trio.lowlevel.wait_readable(listener)
        sock, _ = listener.accept()
        sock.setblocking(False)
        name = f"parrot-{os.getpid()}-{sock.fileno()}-{time.monotonic_ns()}"
        service.keep(name, sock)
        nursery.start_soon(serve, name, sock)


async def main() -> None:
    async with trio.open_nursery() as nursery:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            nursery.start_soon(service.feed_watchdog)
            for name, sock in service.stored.items():
                nursery.start_soon(serve, name, sock)
            for listener in service.listeners:
                nursery.start_soon(accept, listener, nursery)
            service.status(f"{len(service.stored)} came back")
            service.ready()
            print("came back:", *sorted(service.stored), file=sys.stderr)
            async for number in signals:
                if number == signal.SIGTERM:
                    break
                service.reloading()
                service.status("reloaded")
                service.ready()
            service.stopping()
            nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
