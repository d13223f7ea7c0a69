"""systemd's protocols from the daemon's side, against an emulation of systemd."""

import contextlib
import logging
import os
import select
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing
from notify import Manager, spawn

from duel_daemon.listening import listen
from duel_daemon.server import Server
from duel_daemon.service import ROOM_SECONDS, SEND_SECONDS, VARIABLES, Message, Service
from duel_daemon.settings import Settings

PARROT = (sys.executable, str(Path(__file__).with_name("parrot.py")))


@attrs.define(eq=False)
class Ear:
    """Where systemd would listen."""

    sock: socket.socket
    address: str
    services: list[Service] = attrs.field(factory=list)

    def hears(self) -> str:
        return self.sock.recv(4096).decode()

    def hears_all(self) -> list[str]:
        heard = []
        while select.select([self.sock], [], [], 0)[0]:
            heard.append(self.hears())
        return heard

    def service(self, **variables: str) -> Service:
        service = Service.from_environment({"NOTIFY_SOCKET": self.address, **variables})
        self.services.append(service)
        return service


@pytest.fixture(params=["path", "abstract"])
def ear(request: pytest.FixtureRequest) -> Iterator[Ear]:
    with tempfile.TemporaryDirectory() as directory:  # tmp_path is too long for an address
        address = f"{directory}/notify" if request.param == "path" else f"@{directory}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(address.replace("@", "\0"))
            sock.settimeout(10)
            ear = Ear(sock, address)
            yield ear
            for service in ear.services:
                service.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, two = socket.socketpair()
    with one, two:
        yield one, two


# Without systemd, or with one that means somebody else.


async def test_without_systemd_nothing_happens(pair: tuple[socket.socket, socket.socket]) -> None:
    service = Service.from_environment({})
    assert not service.is_managed
    assert not service.listeners
    assert not service.stored
    service.ready()
    service.status("3 players")
    service.reloading()
    service.stopping()
    service.keep("c1", pair[0])
    service.forget("c1")
    await service.room()
    await service.feed_watchdog()


def test_children_of_the_daemon_inherit_none_of_it(ear: Ear) -> None:
    environ = {**dict.fromkeys(VARIABLES, "0"), "NOTIFY_SOCKET": ear.address, "HOME": "/"}
    Service.from_environment(environ).close()
    assert environ == {"HOME": "/"}


def test_what_is_meant_for_another_process_is_left_alone(ear: Ear) -> None:
    other = str(os.getppid())
    service = ear.service(
        LISTEN_PID=other, LISTEN_FDS="1", WATCHDOG_PID=other, WATCHDOG_USEC="1000000"
    )
    assert not service.listeners
    assert service.watchdog_seconds is None


def test_nobody_at_the_address_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert not Service.from_environment({"NOTIFY_SOCKET": "/nowhere"}).is_managed
    assert "systemd cannot be told anything at '/nowhere'" in caplog.text


# Messages.


def test_the_life_of_a_service_is_told(ear: Ear) -> None:
    service = ear.service()
    service.ready()
    assert ear.hears() == "READY=1"
    service.reloading()
    reloading, now = ear.hears().splitlines()
    assert reloading == "RELOADING=1"
    assert int(now.removeprefix("MONOTONIC_USEC=")) / 1e6 == pytest.approx(time.monotonic(), abs=5)
    service.stopping()
    assert ear.hears() == "STOPPING=1"


def test_the_status_is_one_line(ear: Ear) -> None:
    ear.service().status("Jürgen\nREADY=1\nplays")
    assert ear.hears() == "STATUS=Jürgen READY=1 plays"


def test_a_connection_is_stored_and_taken_out_by_its_name(
    ear: Ear, pair: tuple[socket.socket, socket.socket]
) -> None:
    service = ear.service()
    service.keep("c-17", pair[0])
    data, descriptors, *_ = socket.recv_fds(ear.sock, 4096, 4)
    assert data.decode().splitlines() == ["FDSTORE=1", "FDPOLL=0", "FDNAME=c-17"]
    (descriptor,) = descriptors
    pair[0].close()
    with socket.socket(fileno=descriptor) as stored:
        stored.send(b"still open")
    assert pair[1].recv(100) == b"still open"
    service.forget("c-17")
    assert ear.hears().splitlines() == ["FDSTOREREMOVE=1", "FDNAME=c-17"]


@pytest.mark.parametrize("name", ["", "a:b", "x" * 256, "Jürgen", "a\nb", "\x7f"])
def test_a_name_that_systemd_would_replace_is_refused(
    name: str, pair: tuple[socket.socket, socket.socket]
) -> None:
    service = Service.from_environment({})
    with pytest.raises(ValueError, match="no such name"):
        service.keep(name, pair[0])
    with pytest.raises(ValueError, match="no such name"):
        service.forget(name)


# A systemd that does not read.


@pytest.fixture
def stuck(ear: Ear) -> Service:
    """A service whose systemd has read nothing for long: no further message fits."""
    service = ear.service()
    while not service._waiting:
        service.ready()
    service._waiting.clear()
    service._is_stuck = False
    return service


def test_the_event_loop_waits_once_and_not_for_long(stuck: Service) -> None:
    began = time.perf_counter()
    for _ in range(1000):
        stuck.status("busy")
        stuck.ready()
    assert SEND_SECONDS / 2 < time.perf_counter() - began < SEND_SECONDS * 5


def test_what_matters_is_sent_later_in_its_order(
    stuck: Service, ear: Ear, pair: tuple[socket.socket, socket.socket]
) -> None:
    stuck.keep("c1", pair[0])
    stuck.status("forgotten: the next one says more")
    stuck.forget("c2")
    pair[0].close()  # a copy waits, under a number that nobody else gets
    ear.hears_all()
    stuck.status("alive")
    data, descriptors, *_ = socket.recv_fds(ear.sock, 4096, 4)
    assert data.endswith(b"FDNAME=c1")
    assert len(descriptors) == 1
    os.close(descriptors[0])
    assert ear.hears_all() == ["FDSTOREREMOVE=1\nFDNAME=c2", "STATUS=alive"]


def test_what_never_got_there_need_not_be_taken_out(
    stuck: Service, ear: Ear, pair: tuple[socket.socket, socket.socket]
) -> None:
    stuck.keep("c1", pair[0])
    stuck.forget("c1")
    assert not stuck._waiting
    pair[0].close()
    assert pair[1].recv(1) == b""


def test_a_systemd_that_is_gone_is_a_warning(ear: Ear, caplog: pytest.LogCaptureFixture) -> None:
    service = ear.service()
    ear.sock.close()
    with caplog.at_level(logging.WARNING):
        service.ready()
    assert "systemd was not told 'READY=1': Connection refused" in caplog.text


# Room for one more.


async def test_a_newcomer_is_accepted_once_systemd_can_hold_the_connection(
    stuck: Service, ear: Ear, mock_clock: trio.testing.MockClock
) -> None:
    listeners = listen(("127.0.0.1",), 0)
    server = Server(Settings(state="none"), listeners, service=stuck)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        async with await trio.open_tcp_stream(*listeners[0].getsockname()) as newcomer:
            await trio.testing.wait_all_tasks_blocked()
            assert not server.door.inside
            heard = ear.hears_all()
            assert (await newcomer.receive_some()).startswith(b"* Welcome")
            assert "FDNAME=c1" not in "".join(heard)
            assert "FDSTORE=1\nFDPOLL=0\nFDNAME=c1" in ear.hears_all()
            server.stop()


async def test_one_long_wait_for_room_is_enough(
    stuck: Service, ear: Ear, autojump_clock: trio.testing.MockClock
) -> None:
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(3):  # at several ports
            nursery.start_soon(stuck.room)
    await stuck.room()
    assert trio.current_time() - began == ROOM_SECONDS
    ear.hears_all()
    await stuck.room()
    stuck.status("systemd reads again")
    while stuck._send(Message("READY=1")):
        pass
    await stuck.room()
    assert trio.current_time() - began == 2 * ROOM_SECONDS


# The watchdog.


async def test_the_watchdog_is_fed_three_times_in_its_interval(
    ear: Ear, autojump_clock: trio.testing.MockClock
) -> None:
    service = ear.service(WATCHDOG_USEC="9000000", WATCHDOG_PID=str(os.getpid()))
    assert service.watchdog_seconds == 9
    with trio.move_on_after(10):
        await service.feed_watchdog()
    assert ear.hears_all() == ["WATCHDOG=1"] * 4  # at 0, 3, 6 and 9 seconds


async def test_a_watchdog_that_nobody_asked_for_is_not_fed(ear: Ear) -> None:
    await ear.service().feed_watchdog()
    assert not ear.hears_all()


# A whole service, run by the emulation: see parrot and notify.


@attrs.define(eq=False)
class Client:
    """Somebody connected to the parrot."""

    sock: trio.socket.SocketType

    async def says(self, line: str) -> tuple[int, str]:
        """The process that answered, and its answer."""
        await self.sock.send(f"{line}\n".encode())
        pid, _, answer = (await self.sock.recv(4096)).decode().strip().partition(" ")
        return int(pid), answer


@attrs.define(eq=False)
class Cage:
    """A parrot, and who looks after it."""

    manager: Manager
    address: tuple[str, int]
    visitors: list[Client] = attrs.field(factory=list)

    async def visitor(self) -> Client:
        client = Client(trio.socket.socket())
        self.visitors.append(client)
        await client.sock.connect(self.address)
        return client


@contextlib.asynccontextmanager
async def cage(watchdog_seconds: float | None = None, store_max: int = 10) -> AsyncIterator[Cage]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
        manager = Manager(
            PARROT,
            [listener],
            environ,
            watchdog_seconds=watchdog_seconds,
            store_max=store_max,
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(manager.run)
            place = Cage(manager, listener.getsockname())
            try:
                yield place
            finally:
                nursery.cancel_scope.cancel()
                for client in place.visitors:
                    client.sock.close()


async def test_the_first_connection_starts_the_service() -> None:
    async with cage() as place:
        assert place.manager.starts == 0
        client = await place.visitor()
        assert await client.says("hello") == (place.manager.pid, "hello")
        assert place.manager.starts == 1
        await place.manager.until(lambda: place.manager.status == "0 came back")


async def test_a_connection_outlives_restarts_and_kills() -> None:
    async with cage() as place:
        clients = [await place.visitor(), await place.visitor()]
        pids = [await client.says("hello") for client in clients]
        for end in (place.manager.restart, place.manager.kill, place.manager.kill):
            await end()
            assert place.manager.status == "2 came back"
            for client in clients:
                answer = await client.says("still there?")
                assert answer == (place.manager.pid, "still there?")
                pids.append(answer)
        assert len({pid for pid, _ in pids}) == 4


async def test_a_line_sent_while_nobody_runs_is_answered_by_the_next() -> None:
    async with cage() as place:
        client = await place.visitor()
        dying, _ = await client.says("hello")
        os.kill(dying, 9)
        pid, answer = await client.says("anybody?")
        assert answer == "anybody?"
        assert pid != dying


async def test_a_stuck_event_loop_is_killed_by_the_watchdog() -> None:
    async with cage(watchdog_seconds=0.5) as place:
        one, two = await place.visitor(), await place.visitor()
        stuck, _ = await two.says("hello")
        await one.sock.send(b"hang\n")
        await one.sock.recv(100)  # "from now on"
        pid, answer = await two.says("anybody?")
        assert answer == "anybody?"
        assert pid != stuck


async def test_whoever_leaves_is_out_of_the_store() -> None:
    async with cage() as place:
        leaves, closes = await place.visitor(), await place.visitor()
        await leaves.says("hello")
        await closes.says("hello")
        await place.manager.until(lambda: len(place.manager.stored) == 2)
        await leaves.sock.send(b"bye\n")
        assert await leaves.sock.recv(100) == b""
        closes.sock.close()
        await place.manager.until(lambda: not place.manager.stored)


async def test_whoever_hung_up_meanwhile_is_found_out_by_reading() -> None:
    async with cage() as place:
        client = await place.visitor()
        await client.says("hello")
        client.sock.close()
        await place.manager.kill()
        await place.manager.until(lambda: not place.manager.stored)


async def test_a_connection_over_the_limit_of_the_store_is_cut_by_a_restart() -> None:
    async with cage(store_max=1) as place:
        kept, cut = await place.visitor(), await place.visitor()
        await kept.says("hello")
        await cut.says("hello")
        await place.manager.restart()
        assert await cut.sock.recv(100) == b""
        assert await kept.says("lucky") == (place.manager.pid, "lucky")


async def test_stopping_closes_what_was_stored() -> None:
    async with cage() as place:
        client = await place.visitor()
        await client.says("hello")
        place.manager.stop()
        assert await client.sock.recv(100) == b""
        await place.manager.until(lambda: place.manager.pid is None)
        assert {"STOPPING": "1"} in place.manager.messages


LISTS_ITS_DESCRIPTORS = """
import os
from duel_daemon.service import Service
service = Service.from_environment(os.environ)
given = [*service.listeners, *service.stored.values()]
assert len(service.listeners) == 1
assert not any(sock.getblocking() or sock.get_inheritable() for sock in given)
service.stored["c1"].send(f"{len(given)} {sorted(service.stored)}".encode())
"""


def test_listeners_and_stored_connections_are_told_apart(tmp_path: Path) -> None:
    """A file, which nobody here ever stored, is closed."""
    one, two = socket.socketpair()
    with one, two, socket.create_server(("127.0.0.1", 0)) as listener, open(os.devnull) as file:
        variables = {"LISTEN_FDS": "4", "LISTEN_FDNAMES": "listener:c1:file:c2"}
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **variables}
        command = (sys.executable, "-c", LISTS_ITS_DESCRIPTORS)
        pid = spawn(command, [listener, two, file, two], environ)
        assert one.recv(100) == b"3 ['c1', 'c2']"
        assert os.waitpid(pid, 0) == (pid, 0)
