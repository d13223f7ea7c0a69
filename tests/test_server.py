"""Listening, admission, the barrier for our own mistakes, and stopping."""

import errno
import logging
import random
import re
import socket
import struct
import sys

import pytest
import trio
import trio.testing
from kit import NAME_PROMPT, QUIET, Person, open_house

from duel_daemon import server as server_room
from duel_daemon import wire
from duel_daemon.hall import Hall
from duel_daemon.listening import CannotListen, listen
from duel_daemon.server import Server
from duel_daemon.settings import Settings
from duel_daemon.table import Table

PROMPT = "Enter your chosen divisor: "
SORRY = "* Something went wrong on our side, sorry. The connection is closed.\n"


def errors(caplog):
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


# Listening.


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=needs_ipv6)])
async def test_two_play_over_tcp(host):
    listeners = listen((host,), 0)
    port = listeners[0].getsockname()[1]
    server = Server(Settings(first_turn="first-come", **QUIET), listeners, random.Random(7))
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        people = []
        for name in ("Anna", "Ben"):
            stream = await trio.open_tcp_stream(host, port)
            people.append(await Person(stream.socket).is_named(name))
        anna, ben = people
        await anna.reads(PROMPT)
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")
        # Not politely: a reset, as when somebody pulls the plug.
        linger = struct.pack("ii", 1, 0)
        anna.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        anna.hangs_up()
        text = await ben.reads("Next: ")
        assert text.count("* Player 1 has left the duel. Player 2 wins!\n") == 1
        server.stop()
        assert (await ben.reads_to_the_end()).count("The server is closing") == 1
        ben.hangs_up()
    assert all(listener.fileno() == -1 for listener in listeners)


async def test_the_daemon_listens_on_ipv4_and_ipv6_by_default():
    listeners = listen((), 0)
    families = [listener.family for listener in listeners]
    for listener in listeners:
        listener.close()
    assert families[0] == socket.AF_INET
    if has_ipv6():
        assert families == [socket.AF_INET, socket.AF_INET6]


def test_a_port_in_use_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen) as caught:
            listen(("127.0.0.1",), port)
    assert str(caught.value) == f"Port {port} is in use already; try another one with --port."


class Forbidden(socket.socket):
    """What the kernel says to those who want port 80 and may not."""

    def bind(self, address):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_missing_permission_is_one_sentence(monkeypatch):
    monkeypatch.setattr(server_room.socket, "socket", Forbidden)
    with pytest.raises(CannotListen, match=r"^Port 80 needs more rights [^\n]*\.$"):
        listen(("127.0.0.1",), 80)


@pytest.mark.parametrize("host", ["203.0.113.7", "999.1.1.1", "no.such.host.invalid", "x" * 300])
def test_a_bad_address_is_one_sentence(host):
    with pytest.raises(CannotListen, match=r"is no address of this machine; [^\n]*\.$"):
        listen((host,), 0)


# Accepting.


class Exhausted(socket.socket):
    """A listener to which somebody comes while no descriptor is free."""

    failures = 0
    code = errno.EMFILE

    def accept(self):
        if self.failures:
            self.failures -= 1
            raise OSError(self.code, "Too many open files")
        return super().accept()


async def serve_with(listener, nursery):
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    listener.setblocking(False)
    server = Server(Settings(**QUIET), [listener], random.Random(7))
    await nursery.start(server.run)
    return server


async def test_out_of_descriptors_newcomers_wait_and_the_log_is_quiet(autojump_clock, caplog):
    listener = Exhausted()
    listener.failures = 1500  # ten a second: two and a half minutes
    async with trio.open_nursery() as nursery:
        server = await serve_with(listener, nursery)
        stream = await trio.open_tcp_stream(*listener.getsockname())
        somebody = Person(stream.socket)
        await somebody.reads(NAME_PROMPT)
        assert trio.current_time() == pytest.approx(150, abs=1)
        server.stop()
        somebody.hangs_up()
    warnings = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    once = "cannot accept connections for now: Too many open files"
    assert warnings == [
        once,
        f"{once} (599 more before)",
        f"{once} (600 more before)",
    ]


@pytest.mark.parametrize("code", [errno.ECONNABORTED, errno.EPROTO, errno.ENETDOWN])
async def test_a_connection_that_is_gone_before_it_is_accepted_is_no_matter(code, caplog):
    listener = Exhausted()
    listener.failures, listener.code = 3, code
    async with trio.open_nursery() as nursery:
        server = await serve_with(listener, nursery)
        stream = await trio.open_tcp_stream(*listener.getsockname())
        somebody = Person(stream.socket)
        await somebody.reads(NAME_PROMPT)
        server.stop()
        somebody.hangs_up()
    assert errors(caplog) == []


async def test_one_too_many_reads_why_and_whoever_is_here_goes_on(autojump_clock):
    async with open_house(max_connections=2) as place:
        anna, ben = await place.pair()
        third = place.comes()
        text = await third.reads_to_the_end()
        assert re.fullmatch(r"\* Too many people [^\n]*\. The connection is closed\.\n", text)
        third.hangs_up()
        await anna.reads(PROMPT)
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")
        anna.hangs_up()
        await trio.sleep(2)
        await place.comes_as("Cleo")


# Our own mistakes.


async def test_a_mistake_in_one_connection_ends_that_connection_alone(monkeypatch, caplog):
    right = Table.play_at_once

    def wrong(table, contestant, divisor):
        if divisor == 13:
            raise RuntimeError("a bug")
        return right(table, contestant, divisor)

    monkeypatch.setattr(Table, "play_at_once", wrong)
    async with open_house() as place:
        anna, ben = await place.pair()
        cleo, dora = await place.pair("Cleo", "Dora")
        await anna.reads(PROMPT)
        await anna.types("13")
        assert (await anna.reads_to_the_end()).endswith(SORRY)
        assert (await ben.reads("Next: ")).count("has left") == 1
        await cleo.types("30")
        await dora.reads(f"{PROMPT}30\n")
        await ben.types("play")
        await ben.reads("* Waiting for an opponent")
        anna.hangs_up()
    (record,) = errors(caplog)
    assert record.getMessage() == "c1: a mistake of ours"
    assert "RuntimeError: a bug" in caplog.text
    assert "a bug" not in anna.screen


async def test_a_mistake_before_there_is_a_name_ends_that_connection_alone(monkeypatch, caplog):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        monkeypatch.setattr(Hall, "enter", None)
        ben = place.comes()
        await ben.reads(NAME_PROMPT)
        await ben.types("Ben")
        assert (await ben.reads_to_the_end()).endswith(SORRY)
        monkeypatch.undo()
        await anna.types("who")
        await anna.reads("1 person is here")
    assert len(errors(caplog)) == 1


async def test_the_same_mistake_is_logged_once_and_counted(autojump_clock, monkeypatch, caplog):
    """Whoever has found out how to make one must not be able to fill the disk with tracebacks."""
    async with open_house() as place:
        monkeypatch.setattr(Hall, "enter", None)
        for _ in range(20):
            ben = place.comes()
            await ben.types("Ben")
            assert (await ben.reads_to_the_end()).endswith(SORRY)
            ben.hangs_up()
        monkeypatch.setattr(Hall, "enter", lambda hall, *_: 1 / 0)  # another one
        for _ in range(20):
            ben = place.comes()
            await ben.types("Ben")
            await ben.reads_to_the_end()
            ben.hangs_up()
        await trio.sleep(60)
        ben = place.comes()
        await ben.types("Ben")
        await ben.reads_to_the_end()
    told = [record.getMessage() for record in errors(caplog)]
    assert told == [
        "c1: a mistake of ours",
        "c21: a mistake of ours",
        "c41: a mistake of ours (19 more before)",
    ]
    assert all(record.exc_info for record in errors(caplog))


async def test_a_mistake_beside_a_visit_ends_that_connection_alone(monkeypatch, caplog):
    async def wrong():
        raise RuntimeError("a bug")

    async with open_house() as place:
        anna = await place.comes_as("Anna")
        ben = await place.comes_as("Ben")
        place.server.hall.find("Anna").peer._nursery.start_soon(wrong)
        await anna.reads_to_the_end()
        assert (await ben.reads("Next: ")).count("has left") == 1
    assert len(errors(caplog)) == 1


async def test_a_mistake_in_what_one_is_sent_costs_nobody_else_a_line(monkeypatch, caplog):
    right = wire.encode

    def wrong(text, ascii_only):
        if ascii_only:
            raise RuntimeError("a bug")
        return right(text, ascii_only)

    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.types("ascii")
        await anna.reads("Plain letters only")
        monkeypatch.setattr(wire, "encode", wrong)
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")
        await ben.reads("Player 1 has left the duel")
        await anna.reads_to_the_end()
    (record,) = errors(caplog)
    assert record.getMessage() == "c1: a mistake of ours"


# Stopping.


def deaf_pair():
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return ours, theirs


async def test_stopping_takes_less_than_five_seconds_whoever_does_not_read(autojump_clock):
    async with open_house(outbox_bytes=2**20) as place:
        anna, ben = await place.pair()
        deaf = await place.comes(deaf_pair()).is_named("Deaf")
        peer = place.server.hall.find("Deaf").peer
        while not peer._backlog:
            await deaf.send(b"help\n")
            await trio.testing.wait_all_tasks_blocked()
        nameless = place.comes()
        await nameless.reads(NAME_PROMPT)
        began = trio.current_time()
        place.server.stop()
        for person in (anna, ben, nameless):
            assert (await person.reads_to_the_end()).count("* The server is closing") == 1
        await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(4.9)
        assert not place.server.door.inside
    assert trio.current_time() - began < 5


async def test_the_server_ends_when_everybody_has_been_told(autojump_clock):
    server = Server(Settings(**QUIET), [], random.Random(7))
    people = []
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        for pair in (socket.socketpair, socket.socketpair, deaf_pair):
            ours, theirs = pair()
            ours.setblocking(False)
            server.admit(theirs, "127.0.0.1")
            people.append(Person(trio.socket.from_stdlib_socket(ours)))
            await people[-1].is_named(f"Player-of-{len(people)}")
        server.stop()
    assert trio.current_time() <= 5  # run() has returned, with every table and connection
    for person in people:
        person.hangs_up()


async def test_stop_is_heard_though_somebody_sends_without_end(autojump_clock):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        await anna.send(b"x" * 30_000)
        place.server.stop()
        await anna.reads_to_the_end()
        assert trio.current_time() <= 5


async def test_whoever_comes_while_the_server_stops_is_not_kept(autojump_clock):
    async with open_house() as place:
        place.server.stop()
        somebody = place.comes()
        await somebody.reads_to_the_end()
        assert trio.current_time() <= 5


async def test_new_settings_hold_for_newcomers(autojump_clock):
    async with open_house(rulebook="divisor-duel") as place:
        place.server.reconfigure(Settings(rulebook="factor-duel", name_seconds=5, **QUIET))
        somebody = place.comes()
        assert "Factor Duel" in await somebody.reads(NAME_PROMPT)
        assert "* No name within 5 seconds." in await somebody.reads_to_the_end()


if sys.platform == "linux":

    def settable(sock: socket.socket) -> tuple[int, ...]:
        """What of a socket's options follows from a setting."""
        names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "SO_SNDBUF", "TCP_USER_TIMEOUT")
        levels = {"TCP": socket.IPPROTO_TCP, "SO": socket.SOL_SOCKET}
        return tuple(
            sock.getsockopt(levels[name.split("_")[0]], getattr(socket, name)) for name in names
        )

    async def test_a_connection_has_its_options_set():
        (listener,) = listen(("127.0.0.1",), 0)
        server = Server(Settings(**QUIET), [listener], random.Random(7))
        async with trio.open_nursery() as nursery:
            await nursery.start(server.run)
            stream = await trio.open_tcp_stream(*listener.getsockname())
            somebody = Person(stream.socket)
            await somebody.reads(NAME_PROMPT)
            (peer,) = server.door.inside
            sock = peer._sock
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE) == 1
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
            assert settable(sock) == (15, 3, 4, 2 * 64 * 1024, 30_000)
            chosen = Settings(outbox_bytes=8192, send_seconds=40)
            server.reconfigure(chosen)  # which a connection that is here already feels, too
            assert settable(sock) == (20, 5, 4, 2 * 8192, 40_000)
            server.stop()
            somebody.hangs_up()
