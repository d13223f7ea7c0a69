"""A storm of hostile clients around honest players: what it costs them, and what is left of it.

    python tests/storm.py          a small one, of seconds, as in the tests
    python tests/storm.py --full   all of it, three minutes, as `make storm` runs it

The daemon is a process of its own with its default limits. The honest come from a few addresses
and play duel after duel; a move's time is from sending the line until both sides have read it.
The strangers come from hundreds of addresses of 127.0.0.0/8, and some of them all from one, so
that every limit bites. The storm comes twice: what the first one cost in memory, the second must
find there. Nothing here asserts: it measures, and tests/test_strangers_storm.py judges.
"""

import argparse
import contextlib
import functools
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import trio
from terminal import Daemon, daemon

CAPTURES = Path(__file__).parent / "captures"
SENT_BYTES = 300_000  # of the largest inputs; the daemon has hung up long before
PATIENCE_SECONDS = 30.0  # an honest player without an answer for so long counts as cut
LOOK_SECONDS = 0.2  # between two looks at the daemon's memory and descriptors
MOMENT_SECONDS = 1.5  # for whoever does not come to stay
NAME = b"Your name (Enter for a guest name): "
PROMPT = b"Enter your chosen divisor: "


@attrs.frozen
class Size:
    """How many there are of each kind, and for how long."""

    pairs: int
    silent: int
    dripping: int
    deaf: int
    flooding: int
    random: int
    at_once: int
    """Of the catalogue's entries and of random bytes."""
    calm_seconds: float
    storm_seconds: float
    think_seconds: float
    """Before each move of the honest, more or less."""


SMALL = Size(5, 30, 20, 10, 2, 30, 8, 1.0, 2.0, 0.15)
FULL = Size(25, 300, 200, 100, 5, 1000, 60, 20.0, 60.0, 0.5)


@attrs.define
class Report:
    """What was seen."""

    calm: list[float] = attrs.field(factory=list)
    storm: list[float] = attrs.field(factory=list)
    after: list[float] = attrs.field(factory=list)
    duels: int = 0
    wrong: list[str] = attrs.field(factory=list)
    """What an honest player read, or did not, that is not right."""
    cut: int = 0
    strangers: Counter[str] = attrs.field(factory=Counter)
    rss_kib: dict[str, int] = attrs.field(factory=dict)
    descriptors: dict[str, int] = attrs.field(factory=dict)
    log: str = ""

    @property
    def tracebacks(self) -> int:
        return self.log.count("Traceback") + self.log.count("mistake of ours")

    @property
    def growth_kib(self) -> tuple[int, int]:
        """What the first storm left behind in the daemon's memory, and what the second added."""
        before, after, again = (self.rss_kib[when] for when in ("calm", "after", "again"))
        return after - before, again - after

    def table(self) -> str:
        rows = [("", "calm", "storm", "after")]
        for name, share in (("p50", 0.5), ("p99", 0.99), ("most", 1.0)):
            times = (self.calm, self.storm, self.after)
            rows.append((f"{name} of a move (ms)", *(f"{_at(t, share) * 1e3:.2f}" for t in times)))
        rows.append(("moves", *(str(len(t)) for t in (self.calm, self.storm, self.after))))
        rss = (self.rss_kib.get(when, 0) for when in ("calm", "most", "after"))
        rows.append(("memory of the daemon (KiB)", *map(str, rss)))
        rows.append(("after a second storm", "", "", str(self.rss_kib.get("again", 0))))
        fds = (self.descriptors.get(when, 0) for when in ("before", "most", "after"))
        rows.append(("its descriptors", *map(str, fds)))
        rows += [
            ("honest duels to the end", "", str(self.duels), ""),
            ("honest players cut", "", str(self.cut), ""),
            ("wrong answers", "", str(len(self.wrong)), ""),
            ("exceptions in the log", "", str(self.tracebacks), ""),
            ("lines in the log", "", str(self.log.count("\n")), ""),
            *((f"strangers: {kind}", "", str(n), "") for kind, n in sorted(self.strangers.items())),
        ]
        return "\n".join(f"{a:<36}{b:>10}{c:>10}{d:>10}" for a, b, c, d in rows)


def _at(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def rss_kib(pid: int) -> int:
    (line,) = (x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmRSS" in x)
    return int(line.split()[1])


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


# Addresses.


def stranger_address(number: int) -> str:
    """One of many: no two strangers need to share one."""
    return f"127.{64 + number // 62500}.{number // 250 % 250}.{number % 250 + 1}"


CROWD = "127.1.1.1"  # where those come from who are too many for one address


class Client:
    """A connection from an address of ours."""

    def __init__(self, sock: trio.socket.SocketType) -> None:
        self.sock = sock
        self.unread = b""

    @classmethod
    async def connect(cls, port: int, address: str) -> "Client":
        sock = trio.socket.socket()
        try:
            await sock.bind((address, 0))
            await sock.connect(("127.0.0.1", port))
        except BaseException:
            sock.close()
            raise
        return cls(sock)

    async def send(self, data: bytes) -> None:
        while data:
            data = data[await self.sock.send(data) :]

    async def reads(self, text: bytes) -> bytes:
        """Up to the end of this text; EOFError if the connection ends before."""
        while (found := self.unread.find(text)) < 0:
            data = await self.sock.recv(65536)
            if not data:
                raise EOFError(self.unread[-300:].decode(errors="replace"))
            self.unread += data
        end = found + len(text)
        read, self.unread = self.unread[:end], self.unread[end:]
        return read

    async def reads_to_the_end(self) -> bytes:
        with contextlib.suppress(EOFError, OSError):
            await self.reads(b"\0 never comes")
        return self.unread

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *exc: object) -> None:
        self.sock.close()


# The honest.


def divisors(number: int) -> list[int]:
    return [n for n in range(2, number) if number % n == 0]


def of_the_book(text: bytes) -> bytes:
    """Without the house's lines, before and after which a prompt is shown again.

    Strangers may come to watch, and the players are told.
    """
    lines = text.replace(PROMPT, b"").splitlines(keepends=True)
    return b"".join(line for line in lines if line.strip() and not line.startswith(b"* "))


@attrs.define(eq=False)
class Pair:
    """Two who play duel after duel, with a moment of thought before each move."""

    port: int
    number: int
    report: Report
    rng: random.Random
    think_seconds: float
    times: list[float]
    """Where the time of each move is put at the moment; the storm moves this on."""

    async def play(self, is_over: Callable[[], bool], ready: Callable[[], None]) -> None:
        address = f"127.2.0.{self.number % 5 + 1}"
        players = []
        try:
            for which in "ab":
                client = await Client.connect(self.port, address)
                players.append(client)
                await client.reads(NAME)
                await client.send(f"Honest-{self.number}{which}\n".encode())
                await client.reads(b"* Welcome")
            one, two = players  # who are paired at once, as nobody else is waiting yet
            ready()
            while not is_over():
                one, two = await self._duel(one, two)
        except (EOFError, OSError, trio.TooSlowError) as exc:
            self.report.cut += 1
            self.report.wrong.append(f"pair {self.number}: {exc!r}")
        finally:
            for client in players:
                client.sock.close()

    async def _duel(self, one: Client, two: Client) -> tuple[Client, Client]:
        """A duel by the rules, every answer compared; the players as they sit in the next one."""
        with trio.fail_after(PATIENCE_SECONDS):
            await one.reads(b"You are Player ")
            seat = (await one.reads(b";"))[:1]
            await two.reads(b"You are Player ")
        mover, other = (one, two) if seat == b"1" else (two, one)
        first = mover
        number = 60
        while True:
            with trio.fail_after(PATIENCE_SECONDS):
                await mover.reads(PROMPT)
            await trio.sleep(self.rng.uniform(0.5, 1.5) * self.think_seconds)
            divisor = self.rng.choice(divisors(number))
            number -= divisor
            told = f"Subtracting {divisor} from {number + divisor}. New N is {number}.\r\n".encode()
            began = time.perf_counter()
            with trio.fail_after(PATIENCE_SECONDS):
                await mover.send(b"%d\n" % divisor)
                shown = await mover.reads(told)
                seen = await other.reads(told)
            self.times.append(time.perf_counter() - began)
            if of_the_book(shown) != told or not seen.endswith(PROMPT + b"%d\r\n" % divisor + told):
                self.report.wrong.append(f"pair {self.number}: {shown!r} {seen!r}")
            mover, other = other, mover
            if not divisors(number):
                break
        with trio.fail_after(PATIENCE_SECONDS):
            await other.reads(b"* You won against")
            await mover.reads(b"won this duel")
            for client in (other, mover):
                await client.reads(b"* Recorded as duel ")
            await other.send(b"rematch\n")
            await mover.reads(b"asks for a rematch")
            await mover.send(b"rematch\n")
        self.report.duels += 1
        return (other, mover) if first is mover else (mover, other)


# The hostile.

Stranger = Callable[[Client, random.Random], Awaitable[None]]


async def silent(client: Client, rng: random.Random) -> None:
    await client.reads_to_the_end()


async def dripping(client: Client, rng: random.Random) -> None:
    """A byte a second, of a line that never ends or of many, or of telnet."""
    for byte in itertools.cycle(rng.choice((b"x", b"help\n", b"\xff\xf6", b"\xff\xfa\x18", b"\n"))):
        await client.send(bytes([byte]))
        await trio.sleep(1)


async def deaf(client: Client, rng: random.Random) -> None:
    """Makes the daemon talk, and does not read."""
    client.sock.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4096)
    await client.send(b"\n")
    while True:
        await client.send(b"help\nrules\nhelp play\nwho\n")
        await trio.sleep(0.2)


FLOODS = (
    b"help\n" * 800,
    b"\n" * 4096,
    (b"x" * 600 + b"\n") * 7,
    b"\xff\xf6" * 2000 + b"\n",
    (b"\xff\xfb\x18\xff\xfd\x06" * 600 + b"\n"),
    b"\x7f" * 4000 + b"\n",
)


def flooding(number: int) -> Stranger:
    """As fast as it goes; the answers are read, or not."""
    data = FLOODS[number % len(FLOODS)]

    async def flood(client: Client, rng: random.Random) -> None:
        await client.send(b"\n")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.reads_to_the_end)
            while True:
                await client.send(data)

    return flood


def sends(data: bytes, named: bool, cut_after: int | None = None) -> Stranger:
    """These bytes, in packets of any size; then the end, or a hang-up in the middle."""

    async def send(client: Client, rng: random.Random) -> None:
        rest = (b"\n" if named else b"") + data[:cut_after]
        while rest:
            size = rng.choice((1, 7, 100, 4096))
            await client.send(rest[:size])
            rest = rest[size:]
            if rng.random() < 0.1:
                await trio.lowlevel.checkpoint()
        if cut_after is None:
            client.sock.shutdown(trio.socket.SHUT_WR)
            await client.reads_to_the_end()
        elif rng.random() < 0.5:
            linger = (1).to_bytes(4, sys.byteorder) + bytes(4)  # close() resets
            client.sock.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, linger)

    return send


def recordings() -> list[bytes]:
    """What real clients sent, those of other protocols among them."""
    found = []
    for path in sorted(CAPTURES.glob("*.hex")):
        events = (line.split("#")[0].split() for line in path.read_text().splitlines())
        found.append(b"".join(bytes.fromhex("".join(e[2:])) for e in events if e[1:2] == ["C"]))
    return found


def catalogue() -> list[bytes]:
    """The bad inputs, and the recordings."""
    entries = map(json.loads, (CAPTURES / "bad_inputs.jsonl").read_text().splitlines())
    parts = (entry.get("repeat") or [[entry["hex"], 1]] for entry in entries)
    bad = [b"".join(bytes.fromhex(part) * n for part, n in each)[:SENT_BYTES] for each in parts]
    return [*bad, *recordings()]


OTHER_PROTOCOLS = (
    b"GET / HTTP/1.1\r\nHost: duel\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 20\r\n\r\n\r\nMallory\r\nresign\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
)


def random_bytes(rng: random.Random) -> bytes:
    """Heavy in IAC, with ends of line now and then."""
    alphabet = [0xFF] * 40 + list(range(236, 255)) * 3 + [10, 13, 0, 6, 24] * 4 + list(range(256))
    return bytes(rng.choices(alphabet, k=rng.randrange(1, 3000)))


MOMENTS = (b"", b"A", b"\n", b"\nplay 90\n", b"\npractice\n", b"\npractice 90\n2", b"\nwatch 1\n",
           b"\nplay 90 best of 3\n", b"\nquit\n", b"\xff", b"\xff\xfa", b"\r")  # fmt: skip


@attrs.define(eq=False)
class Storm:
    """All the strangers."""

    port: int
    size: Size
    report: Report
    rng: random.Random = attrs.field(factory=functools.partial(random.Random, 7))
    _addresses: "itertools.count[int]" = attrs.field(factory=itertools.count)

    async def rage(self) -> None:
        """Until cancelled."""
        size = self.size
        async with trio.open_nursery() as nursery:
            again = functools.partial(nursery.start_soon, self._again)
            for kind, count, stranger in (
                ("silent", size.silent, silent),
                ("a byte a second", size.dripping, dripping),
                ("never read", size.deaf, deaf),
            ):
                for number in range(count):
                    again(kind, stranger, CROWD if number % 6 == 0 else "")
            for number in range(size.flooding):
                again("flood", flooding(number), "")
            nursery.start_soon(self._once, nursery)

    async def _again(self, kind: str, stranger: Stranger, address: str) -> None:
        """One stranger, who comes again and again."""
        while True:
            await self._visit(kind, stranger, address)
            await trio.sleep(self.rng.uniform(0.5, 2))

    async def _visit(self, kind: str, stranger: Stranger, address: str = "") -> None:
        address = address or stranger_address(next(self._addresses))
        try:
            with await Client.connect(self.port, address) as client:
                self.report.strangers[kind] += 1
                await stranger(client, self.rng)
        except* (OSError, trio.ClosedResourceError):
            pass  # the daemon has hung up, and rightly so

    async def _once(self, nursery: trio.Nursery) -> None:
        """The catalogue over and over, and whatever comes and goes at once."""
        free = trio.Semaphore(self.size.at_once)

        async def one(kind: str, stranger: Stranger, address: str) -> None:
            with trio.move_on_after(MOMENT_SECONDS):
                await self._visit(kind, stranger, address)
            free.release()

        for kind, stranger in itertools.chain.from_iterable(iter(self._round, None)):
            address = CROWD if self.rng.random() < 0.1 else ""
            await free.acquire()
            nursery.start_soon(one, kind, stranger, address)
            await trio.sleep(0.002)

    def _round(self) -> list[tuple[str, Stranger]]:
        found = [("other protocols", sends(data, False)) for data in OTHER_PROTOCOLS]
        for data in catalogue():
            found += [("catalogue", sends(data, named)) for named in (False, True)]
        for _ in range(self.size.random):
            data, named = random_bytes(self.rng), self.rng.random() < 0.5
            found.append(("random bytes", sends(data, named)))
        for data in MOMENTS:
            found.append(("gone at once", sends(data, False, len(data))))
        self.rng.shuffle(found)
        return found


# All of it.


async def _watch(pid: int, report: Report) -> None:
    while True:
        report.rss_kib["most"] = max(report.rss_kib.get("most", 0), rss_kib(pid))
        report.descriptors["most"] = max(report.descriptors.get("most", 0), descriptors(pid))
        await trio.sleep(LOOK_SECONDS)


async def _read_log(running: Daemon) -> None:
    """So that the daemon never waits for its log to be read."""
    while True:
        await trio.lowlevel.wait_readable(running.log.fd)
        running.log.receives(0)


async def _weather(running: Daemon, size: Size, report: Report) -> None:
    pid = running.process.pid
    report.descriptors["before"] = descriptors(pid)
    is_over = trio.Event()
    pairs = [
        Pair(running.port, n, report, random.Random(n), size.think_seconds, report.calm)
        for n in range(size.pairs)
    ]
    async with trio.open_nursery() as background:
        background.start_soon(_read_log, running)
        background.start_soon(_watch, pid, report)
        async with trio.open_nursery() as honest:
            for pair in pairs:
                seated = trio.Event()
                honest.start_soon(pair.play, is_over.is_set, seated.set)
                with trio.move_on_after(PATIENCE_SECONDS):
                    await seated.wait()
            await trio.sleep(size.calm_seconds)
            report.rss_kib["calm"], playing = rss_kib(pid), descriptors(pid)
            for when in ("after", "again"):
                for pair in pairs:
                    pair.times = report.storm
                with trio.move_on_after(size.storm_seconds):
                    await Storm(running.port, size, report).rage()
                for pair in pairs:
                    pair.times = report.after
                await trio.sleep(size.calm_seconds)
                await _until_calm(pid, playing)
                report.rss_kib[when] = rss_kib(pid)
            is_over.set()
        await _until_calm(pid, report.descriptors["before"])
        background.cancel_scope.cancel()
    report.descriptors["after"] = descriptors(pid)


async def _until_calm(pid: int, expected: int) -> None:
    """The last farewells take a second."""
    for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
        if descriptors(pid) <= expected:
            break
        await trio.sleep(LOOK_SECONDS)


def storm(size: Size) -> Report:
    """Run a daemon through all of it."""
    report = Report()
    with (
        tempfile.TemporaryDirectory() as state,
        daemon("--state", state, "--rulebook", "divisor-duel") as running,
    ):
        trio.run(_weather, running, size, report)
        running.process.terminate()
        running.ends()
        report.log = running.log.text
    return report


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    report = storm(FULL if parser.parse_args().full else SMALL)
    print(report.table())
    for wrong in report.wrong[:20]:
        print(wrong)
    if report.tracebacks:
        print(report.log[:20_000])
    ratio = statistics.median(report.storm) / statistics.median(report.calm)
    print(f"\nThe median of a move in the storm is {ratio:.2f} times that without.")
    first, second = report.growth_kib
    print(f"The first storm left {first} KiB of memory behind, the second one {second} more.")
    sys.exit(bool(report.tracebacks or report.cut or report.wrong))


if __name__ == "__main__":
    main()
