"""duel-daemon beside two relays that play no game: `python bench/run.py` (or `make bench`).

Everything is measured in one run, interleaved, in several rounds; the table shows medians. See
README.rst in this folder for how to read it. Loopback only; it ends by itself.
"""

import argparse
import collections
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable

import servers
from load import Load
from relays import reply_of
from scenario import CLASSROOM, LONG, Scenario, Step, average_answer, relayed

OFFERED_PER_SECOND = 5000
LATENCY_DUELS = 50
LINES_EACH = 2 * (len(CLASSROOM.moves) + 2)  # at least: else thousands of duels would never end
IDLE_SECONDS = 5.0
SPARE_DESCRIPTORS = 100

Key = tuple[str, str]  # kind of server, what was measured
Results = dict[Key, list[float]]


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.results: Results = collections.defaultdict(list)
        self.steps: dict[str, list[Step]] = {}
        self.reply_bytes: dict[str, int] = {}

    def note(self, kind: str, what: str, value: float) -> None:
        self.results[kind, what].append(value)

    def median(self, kind: str, what: str) -> float | None:
        values = self.results.get((kind, what))
        return statistics.median(values) if values else None

    # One server, one size.

    def learn(self, scenario: Scenario) -> None:
        """What the daemon says, and so how long the relays' replies are to be."""
        with servers.running("daemon", extra=scenario.settings) as server:
            load = Load(server.port)
            load.connect(1, scenario.ends_of_pairing())
            self.steps[scenario.name] = load.learn(scenario)
            load.close()
        self.reply_bytes[scenario.name] = average_answer(self.steps[scenario.name])

    def session(self, kind: str, scenario: Scenario, duels: int, *, latency: bool) -> None:
        """Connect so many duels to a fresh server and play."""
        length, tag = self.reply_bytes[scenario.name], f"{scenario.name} {duels}"
        is_daemon = kind == "daemon"
        with servers.running(kind, length, scenario.settings) as server:
            load = Load(server.port)
            steps = self.steps[scenario.name]
            load.steps = steps if is_daemon else relayed(steps, reply_of(length))
            bare = server.memory_bytes()
            ends = scenario.ends_of_pairing() if is_daemon else None
            seconds = load.connect(duels, ends)
            self.note(kind, f"{tag} connections/s", 2 * duels / seconds)
            self.note(kind, f"{tag} memory", (server.memory_bytes() - bare) / (2 * duels))
            self._play(kind, tag, server, load)
            if latency:
                self._time_moves(kind, tag, load)
            load.close()

    def _play(self, kind: str, tag: str, server: servers.Server, load: Load) -> None:
        at_end: list[float] = []
        load.play_closed(self.options.seconds / 4, lambda: None)  # caches fill, memory settles
        before = server.cpu_seconds()
        played = load.play_closed(
            self.options.seconds, lambda: at_end.append(server.cpu_seconds()), LINES_EACH
        )
        self.note(kind, f"{tag} moves/s", played.moves / played.seconds)
        self.note(kind, f"{tag} cpu", (at_end[0] - before) / played.moves)
        self.note("client", "busy", played.own_cpu_seconds / played.seconds)

    def _time_moves(self, kind: str, tag: str, load: Load) -> None:
        load.stagger()
        played = load.play_open(self.options.seconds, OFFERED_PER_SECOND)
        ordered = sorted(played.latencies)
        for percent in (50, 99):
            at = min(len(ordered) - 1, len(ordered) * percent // 100)
            self.note(kind, f"{tag} p{percent}", ordered[at])

    # Starting and being idle.

    def start_up(self, times: int) -> None:
        line = [sys.executable, "-c", "import trio"]
        for _ in range(times):
            began = time.perf_counter()
            servers.start(line).wait()
            self.note("import trio", "start", time.perf_counter() - began)
            for kind in servers.KINDS:
                self._start_server(kind)

    def _start_server(self, kind: str) -> None:
        port = servers.free_port()
        with tempfile.TemporaryDirectory(prefix="duel-bench-") as folder:
            line = servers.command(kind, port, 200, folder, ())
            began = time.perf_counter()
            process = servers.start(line, subprocess.DEVNULL)
            try:
                servers.wait_until_listening(process, port)
                self.note(kind, "start", time.perf_counter() - began)
            finally:
                process.kill()
                process.wait()

    def idle(self, kind: str) -> None:
        """Wake-ups while 25 duels wait for somebody to type."""
        length = self.reply_bytes[CLASSROOM.name]
        with servers.running(kind, length) as server:
            load = Load(server.port)
            load.connect(25, CLASSROOM.ends_of_pairing() if kind == "daemon" else None)
            time.sleep(1.0)
            before = server.wake_ups()
            time.sleep(IDLE_SECONDS)
            self.note(kind, "idle", server.wake_ups() - before)
            load.close()

    # The shares of one move.

    def profile(self, scenario: Scenario) -> collections.Counter[tuple[str, str]]:
        with tempfile.TemporaryDirectory(prefix="duel-bench-") as folder:
            output = pathlib.Path(folder, "samples.json")
            wrapper = (str(servers.HERE / "sampled.py"), str(output))
            with servers.running("daemon", extra=scenario.settings, wrapper=wrapper) as server:
                load = Load(server.port)
                load.steps = self.steps[scenario.name]
                load.connect(LATENCY_DUELS, scenario.ends_of_pairing())
                server.process.send_signal(signal.SIGUSR1)
                load.play_closed(2 * self.options.seconds, lambda: None)
                server.process.terminate()
                server.process.wait(20)
                load.close()
            rows = json.loads(output.read_text())
        return collections.Counter({(share, name): count for share, name, count in rows})


# The report.


def us(value: float) -> str:
    return f"{value * 1e6:,.0f} us"


def ms(value: float) -> str:
    return f"{value * 1e3:,.0f} ms"


def plain(value: float) -> str:
    return f"{value:,.0f}"


def kib(value: float) -> str:
    return f"{value / 1024:.1f} KiB"


def ratio(value: float | None, yardstick: float | None) -> str:
    return f"{value / yardstick:.2f}" if value is not None and yardstick else "-"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A simple table of reStructuredText, to be copied into README.rst."""
    cells = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in cells
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def comparison(bench: Bench) -> str:
    big = max((d for d in bench.options.duels if d <= 2500), default=min(bench.options.duels))
    small = CLASSROOM.name, min(bench.options.duels, key=lambda d: abs(d - LATENCY_DUELS))
    rows = []
    for scenario in (CLASSROOM, LONG):
        for duels in bench.options.duels:
            key = f"{scenario.name} {duels} moves/s"
            rows.append((f"moves a second, {scenario.name}, {duels:,} duels", key, plain))
    tag = f"{small[0]} {small[1]}"
    long_tag = f"{LONG.name} {small[1]}"
    rows += [
        (f"p50 of a move, {tag} duels", f"{tag} p50", us),
        (f"p99 of a move, {tag} duels", f"{tag} p99", us),
        (f"p50 of a move, {long_tag} duels", f"{long_tag} p50", us),
        (f"p99 of a move, {long_tag} duels", f"{long_tag} p99", us),
        (f"CPU per move, {tag} duels", f"{tag} cpu", us),
        (f"CPU per move, {long_tag} duels", f"{long_tag} cpu", us),
        (f"memory per connection, {2 * big:,}", f"classroom {big} memory", kib),
        ("connections named and paired a second", f"classroom {big} connections/s", plain),
        ("start-up until listening", "start", ms),
        (f"wake-ups in {IDLE_SECONDS:.0f} s idle", "idle", plain),
    ]
    shown = []
    for label, key, unit in rows:
        values = [bench.median(kind, key) for kind in servers.KINDS]
        if values[0] is None:
            continue
        texts = [unit(value) if value is not None else "-" for value in values]
        ratios = [ratio(value, values[0]) for value in values[1:]]
        shown.append([label, *texts, *ratios])
    head = ("", "trio relay", "asyncio relay", "daemon", "asyncio/trio", "daemon/trio")
    return table(head, shown)


def cost_against_size(bench: Bench) -> str:
    sizes = bench.options.duels
    base = min(sizes, key=lambda d: abs(d - LATENCY_DUELS))
    rows = []
    for duels in sizes:
        row = [f"{duels:,}"]
        for kind in servers.KINDS:
            for scenario in (CLASSROOM, LONG):
                value = bench.median(kind, f"{scenario.name} {duels} cpu")
                first = bench.median(kind, f"{scenario.name} {base} cpu")
                row.append(f"{us(value)} ({ratio(value, first)})" if value is not None else "-")
        rows.append(row)
    head = ("duels", *(f"{k}, {s}" for k in servers.KINDS for s in ("classroom", "long")))
    return table(head, rows)


def shares(samples: collections.Counter[tuple[str, str]], functions: int) -> str:
    total = sum(samples.values())
    by_share: collections.Counter[str] = collections.Counter()
    for (share, _), count in samples.items():
        by_share[share] += count
    rows = [[share, f"{count / total:.1%}"] for share, count in by_share.most_common()]
    top = [
        [f"{share}: {name}", f"{count / total:.1%}"]
        for (share, name), count in samples.most_common(functions)
    ]
    return table(("share of one move", ""), rows) + "\n\n" + table(("most samples in", ""), top)


def report(bench: Bench) -> None:
    print(f"\nMedians of {bench.options.rounds} rounds of {bench.options.seconds:g} s each.")
    print(f"Replies of the relays: {bench.reply_bytes}, as the daemon's average.\n")
    print(comparison(bench))
    imported, daemon = bench.median("import trio", "start"), bench.median("daemon", "start")
    if imported and daemon:
        print(f"\nStart-up against `import trio` ({ms(imported)}): {ratio(daemon, imported)}")
    print("\nCPU per move against the number of duels (and against 50 duels):\n")
    print(cost_against_size(bench))
    busy = max(bench.results["client", "busy"])
    print(f"\nThe client was busy for at most {busy:.0%} of the time.")
    if busy > 0.9:
        print("It was the bottleneck somewhere: the fastest server is faster than shown.")


# The run.


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each stretch of playing")
    parser.add_argument("--duels", type=int, nargs="+", default=[10, 50, 100, 1000, 2500, 5000])
    parser.add_argument("--quick", action="store_true", help="one short round, small sizes")
    parser.add_argument("--profile", action="store_true", help="only the shares of one move")
    parser.add_argument("--functions", type=int, default=25, help="listed below the shares")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.seconds, chosen.duels = 1, 1.0, [10, 50, 200]
    return chosen


def prepare(duels: list[int]) -> None:
    server_core, client_core = servers.CORES
    os.sched_setaffinity(0, {client_core})
    print(f"Python {sys.version.split()[0]}, {os.uname().sysname} {os.uname().release};", end=" ")
    print(f"server on core {server_core}, client on core {client_core}")
    if server_core == client_core:
        print("There is only one core: server and client share it, so the ratios are too near 1.")
    load, _, _ = os.getloadavg()
    if load > 0.5:
        print(f"The machine is busy with something else (load {load}): expect noise.")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < 2 * max(duels) + SPARE_DESCRIPTORS:
        raise SystemExit(f"only {hard} open files are allowed: too few for {max(duels)} duels")


def one_round(bench: Bench) -> None:
    for scenario in (CLASSROOM, LONG):
        for duels in bench.options.duels:
            for kind in servers.KINDS:
                bench.session(kind, scenario, duels, latency=duels == LATENCY_DUELS)
    bench.start_up(times=3)


def main() -> None:
    chosen = options()
    prepare(chosen.duels)
    bench = Bench(chosen)
    for scenario in (CLASSROOM, LONG):
        bench.learn(scenario)
    if not chosen.profile:
        for number in range(chosen.rounds):
            print(f"round {number + 1} of {chosen.rounds} ...", file=sys.stderr)
            one_round(bench)
        for kind in servers.KINDS:
            bench.idle(kind)
        report(bench)
    for scenario in (CLASSROOM, LONG):
        print(f"\nOne move, {scenario.name}, {LATENCY_DUELS} duels (sampled):\n")
        print(shares(bench.profile(scenario), chosen.functions))


if __name__ == "__main__":
    main()
