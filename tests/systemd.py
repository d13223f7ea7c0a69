"""A real systemd for tests: boot it, run commands in it, connect to what listens in it.

The units are the ones that are shipped, unchanged, and so is the path they start the daemon
from: the checkout is mounted where `make install` would have put it. The clients of a test stay in
the test; only their sockets belong to the other network.
"""

import contextlib
import ctypes
import select
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import attrs
import pytest
import trio

ROOT = Path(__file__).parent.parent
UNITS = ROOT / "systemd"
CANNOT_RUN_HERE = 77
BOOT_SECONDS = 15
PORT = 4000

T = TypeVar("T")

# A virtual environment may point into a home directory, which ProtectHome= hides from the daemon.
LAUNCHER = """\
#!/bin/sh
export LD_LIBRARY_PATH=/opt/python/lib
export PYTHONPATH=/opt/duel-daemon/checkout:/opt/duel-daemon/site-packages
exec /opt/python/bin/python{0.major}.{0.minor} {1} "$@"
"""
PROGRAMS = {
    "duel-daemon": '-c "from duel_daemon.cli import main; main()"',
    "parrot": "/opt/duel-daemon/checkout/tests/parrot.py",
}


@attrs.define(eq=False)
class Machine:
    """A booted systemd."""

    pid: int
    """Of its PID 1, as the host counts."""
    _threads: ThreadPoolExecutor

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command inside; what it printed, without the last newline."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.pid), "-a", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}")
        return done.stdout.rstrip("\n")

    def systemctl(self, *words: str) -> str:
        return self.run("systemctl", *words)

    def show(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.systemctl("show", "--value", f"--property={name}", unit)

    def is_active(self, unit: str) -> bool:
        return self.show(unit, "ActiveState") == "active"

    def journal(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", "--output=cat", f"--unit={unit}")

    def edit(self, unit: str, text: str) -> None:
        """Add to a unit, as `systemctl edit` does."""
        path = f"/run/systemd/system/{unit}.d/test.conf"
        self.run("sh", "-c", 'mkdir -p "${1%/*}"; printf %s "$2" >"$1"', "sh", path, text)
        self.systemctl("daemon-reload")

    def kill(self, unit: str, signal: str = "KILL") -> None:
        self.systemctl("kill", "--kill-who=main", f"--signal={signal}", unit)

    def in_its_network(self, action: Callable[[], T]) -> T:
        """Sockets made by this action belong to the machine's network, whoever uses them later."""
        return self._threads.submit(action).result()

    def connect(self, host: str = "127.0.0.1", port: int = PORT) -> socket.socket:
        return self.in_its_network(lambda: socket.create_connection((host, port), timeout=20))


@contextlib.contextmanager
def booted(
    directory: Path, *, seconds: int = 100, options: tuple[str, ...] = ()
) -> Iterator[Machine]:
    """A systemd with our units, none of them started; skips the test where there can be none."""
    binds = _install(directory)
    command = [str(ROOT / "tests/real-systemd"), "-t", str(seconds), *options]
    command += ["-u", str(directory / "units"), *(word for bind in binds for word in ("-b", bind))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        readable, _, _ = select.select([process.stdout], [], [], BOOT_SECONDS)
        pid = process.stdout.readline().strip() if readable else ""
        if not pid:
            if not readable:
                process.terminate()
            why = process.stderr.read().strip()
            if process.wait() == CANNOT_RUN_HERE:
                pytest.skip(why)
            raise AssertionError(why)
        threads = ThreadPoolExecutor(1, initializer=_enter_network, initargs=(int(pid),))
        with threads:
            yield Machine(int(pid), threads)
        process.stdin.close()  # which ends it


def _install(directory: Path) -> list[str]:
    """What is mounted where inside."""
    opt = directory / "opt"
    for name in ("bin", "checkout/duel_daemon", "checkout/tests", "site-packages"):
        (opt / name).mkdir(parents=True)
    for name, arguments in PROGRAMS.items():
        path = opt / "bin" / name
        path.write_text(LAUNCHER.format(sys.version_info, arguments))
        path.chmod(0o755)
    units = directory / "units"
    units.mkdir()
    for path in (*UNITS.glob("*.socket"), *UNITS.glob("*.service")):
        shutil.copy(path, units)
    return [
        f"{opt}:/opt/duel-daemon",
        f"{sys.base_prefix}:/opt/python",
        f"{ROOT / 'duel_daemon'}:/opt/duel-daemon/checkout/duel_daemon",
        f"{ROOT / 'tests'}:/opt/duel-daemon/checkout/tests",
        f"{Path(trio.__file__).parent.parent}:/opt/duel-daemon/site-packages",
    ]


def _enter_network(pid: int) -> None:
    """This thread's sockets are made in the network of that process. os.setns is of 3.12."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net", "rb") as namespace:
        if libc.setns(namespace.fileno(), 0):
            raise OSError(ctypes.get_errno(), "setns")
