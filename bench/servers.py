"""Starting the servers that are measured, on a core of their own, and reading what they cost.

What a server costs is read from /proc: its own CPU time, memory and wake-ups, not the client's.
"""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent
TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
START_SECONDS = 20.0

DAEMON = "from duel_daemon.cli import main; main()"
_FREE = sorted(os.sched_getaffinity(0))
CORES = _FREE[0], _FREE[-1]  # the server's and the client's; the same one if there is only one

KINDS = ("trio", "asyncio", "daemon")

# The only settings that differ from the defaults: how much one address may do, and how many fit.
# Whichever the daemon does not know (yet) is left out.
RAISED = {
    "max_connections": 50_000,
    "max_unnamed": 50_000,
    "per_address": 50_000,
    "new_per_minute": 100_000,
    "line_burst": 1_000_000,
    "lines_per_second": 1_000_000,
}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Server:
    """One running server process."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port
        self._proc = pathlib.Path("/proc", str(process.pid))

    def cpu_seconds(self) -> float:
        fields = (self._proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_SECONDS

    def memory_bytes(self) -> int:
        return int((self._proc / "statm").read_text().split()[1]) * PAGE_BYTES

    def wake_ups(self) -> int:
        """How often any of its threads had waited and went on."""
        total = 0
        for status in self._proc.glob("task/*/status"):
            lines = status.read_text().splitlines()
            total += next(
                int(x.split()[1]) for x in lines if x.startswith("voluntary_ctxt_switches")
            )
        return total


def command(kind: str, port: int, reply_bytes: int, state: str, extra: Sequence[str]) -> list[str]:
    if kind != "daemon":
        return [sys.executable, str(HERE / "relays.py"), kind, str(port), str(reply_bytes)]
    known = [
        word
        for name, value in RAISED.items()
        if name in settings_known()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    where = ["--host", "127.0.0.1", "--port", str(port), "--state", state]
    return [sys.executable, "-c", DAEMON, *where, *known, *extra]


def settings_known() -> set[str]:
    if not _known:
        run = [sys.executable, "-c", DAEMON, "--help"]
        text = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        words = [line.split()[0] for line in text.splitlines() if line.startswith("  --")]
        _known.update(word[2:].replace("-", "_") for word in words)
    return _known


_known: set[str] = set()


@contextlib.contextmanager
def running(
    kind: str, reply_bytes: int = 200, extra: Sequence[str] = (), wrapper: Sequence[str] = ()
) -> Iterator[Server]:
    """A server, from listening until killed. Its log goes to a file, as on a terminal-less day."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="duel-bench-") as folder:
        line = command(kind, port, reply_bytes, f"{folder}/state", extra)
        if wrapper:
            line = [sys.executable, *wrapper, *line[3:]]
        log_path = pathlib.Path(folder, "log")
        with log_path.open("wb") as log:
            process = start(line, log.fileno())
        try:
            wait_until_listening(process, port, log_path)
            yield Server(process, port)
        finally:
            process.kill()
            process.wait()
        check_log(log_path)


def start(line: Sequence[str], log: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """On the server's core: a child runs where its parent ran when it was born."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CORES[0]})
    try:
        return subprocess.Popen(line, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    finally:
        os.sched_setaffinity(0, ours)


def wait_until_listening(
    process: subprocess.Popen[bytes], port: int, log: pathlib.Path | None = None
) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.0005)
        else:
            return
    raise SystemExit(f"the server did not start: {log.read_text() if log else ''}")


def check_log(path: pathlib.Path) -> None:
    """A mistake in the server would make it look faster than it is."""
    text = path.read_text(errors="replace")
    if "Traceback" in text:
        raise SystemExit("the server failed:\n" + text[text.index("Traceback") :][:3000])
