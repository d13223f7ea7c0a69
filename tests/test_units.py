"""The unit files: read, judged by systemd-analyze, and tried out by a real systemd.

The real one needs root (see real-systemd); where it cannot run, its tests say so and why.
"""

import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import attrs
import pytest
from machine import UNITS, Machine, booted

from duel_daemon.settings import Settings

DAEMON = "duel-daemon.service"
PORT = "duel-daemon.socket"
Unit = dict[str, dict[str, list[str]]]


def unit(name: str) -> Unit:
    """Its sections, their directives, and the values of each in their order."""
    sections: Unit = {}
    for line in (UNITS / name).read_text("utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), defaultdict(list))
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            section[key].append(value)
    return sections


# On paper.

needs_analyze = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd-analyze is missing (Debian: systemd)"
)


def analyze(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        ["systemd-analyze", *words], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A file system in which the daemon is installed, and systemd's own targets."""
    units = tmp_path / "etc/systemd/system"
    shutil.copytree(UNITS, units, ignore=shutil.ignore_patterns("*.rst", "*.xml"))
    for program in ("opt/duel-daemon/bin/duel-daemon", "bin/kill"):
        path = tmp_path / program
        path.parent.mkdir(parents=True)
        path.touch(0o755)
    theirs = tmp_path / "usr/lib/systemd/system"
    theirs.mkdir(parents=True)
    for pattern in ("*.target", "*.slice"):
        for path in Path("/usr/lib/systemd/system").glob(pattern):
            shutil.copy(path, theirs)
    return tmp_path


def verify(installed: Path) -> tuple[int, str]:
    return analyze("verify", "--recursive-errors=yes", f"--root={installed}", PORT, DAEMON)


@needs_analyze
def test_systemd_finds_nothing_wrong_with_the_units(installed: Path) -> None:
    assert verify(installed) == (0, "")


@needs_analyze
def test_systemd_would_have_found_a_misspelt_directive(installed: Path) -> None:
    path = installed / "etc/systemd/system" / DAEMON
    path.write_text(path.read_text().replace("WatchdogSec", "WatchdogSecs"))
    code, output = verify(installed)
    assert code == 1
    assert "Unknown key 'WatchdogSecs'" in output


@needs_analyze
def test_the_daemon_is_exposed_to_little() -> None:
    code, output = analyze("security", "--offline=yes", "--threshold=15", str(UNITS / DAEMON))
    assert code == 0, output


def test_the_limits_fit_each_other() -> None:
    service, connections = unit(DAEMON)["Service"], Settings().max_connections
    (stored,), (files,) = service["FileDescriptorStoreMax"], service["LimitNOFILE"]
    assert connections < int(stored) < int(files)


def test_both_units_let_in_the_same_addresses() -> None:
    port, service = unit(PORT)["Socket"], unit(DAEMON)["Service"]
    for directive in ("IPAddressDeny", "IPAddressAllow"):
        assert port[directive] == service[directive]


def test_everybody_means_the_same_port() -> None:
    group = ElementTree.parse(UNITS / "duel-daemon.avahi.xml").getroot()
    announced = group.findtext("service/port")
    assert unit(PORT)["Socket"]["ListenStream"] == [announced] == [str(Settings().port)]
    assert group.findtext("service/type") == "_duel-daemon._tcp"


# What each directive of the service is seen to do.

PRIVATE_DEVICES = {
    *("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue"),
    *("hugepages", "log", "fd", "stdin", "stdout", "stderr", "char", "block", "console", "core"),
}
Expectation = Callable[[object], bool]


def is_(value: object) -> Expectation:
    return lambda seen: seen == value


REFUSED = is_("error: EPERM")
FIRST_DYNAMIC_USER, LAST_DYNAMIC_USER = 61184, 65519  # systemd's

# What the probe finds in the daemon's place.
PROBED: dict[str, Expectation] = {
    "CapabilityBoundingSet": is_(0),
    "DynamicUser": lambda user: FIRST_DYNAMIC_USER <= int(str(user)) <= LAST_DYNAMIC_USER,
    "LimitCORE": is_([0, 0]),
    "LimitNOFILE": is_([8192, 8192]),
    "LockPersonality": REFUSED,
    "MemoryDenyWriteExecute": REFUSED,
    "NoNewPrivileges": is_(1),
    "PrivateDevices": lambda devices: "marker" not in devices and set(devices) <= PRIVATE_DEVICES,
    "PrivateMounts": lambda namespace: str(namespace).startswith("mnt:"),
    "PrivateTmp": is_(False),
    "PrivateUsers": lambda users: int(str(users)) <= 2,
    "ProcSubset": is_(False),
    "ProtectClock": REFUSED,
    "ProtectControlGroups": is_(True),
    "ProtectHome": is_("error: EACCES"),
    "ProtectHostname": REFUSED,
    "ProtectKernelLogs": REFUSED,
    "ProtectKernelModules": is_("error: EACCES"),
    "ProtectProc": is_(False),
    "ProtectSystem": is_([True] * 4),
    "RemoveIPC": is_(13),  # characters written; that they are gone is seen afterwards
    "RestrictAddressFamilies": is_("error: EAFNOSUPPORT"),
    "RestrictAddressFamilies, allowed": is_(["allowed"] * 3),
    "RestrictNamespaces": REFUSED,
    "RestrictSUIDSGID": REFUSED,
    "StateDirectory": is_("/var/lib/duel-daemon"),
    "StateDirectoryMode": is_("0o700"),
    "SystemCallErrorNumber": REFUSED,
    "SystemCallFilter": REFUSED,
    "UMask": is_("0o600"),
}
# What the other tests below see at work.
SEEN = {
    *("Type", "NotifyAccess", "Sockets", "ExecStart", "ExecReload", "Restart", "RestartSec"),
    *(
        "WatchdogSec",
        "TimeoutStartSec",
        "FileDescriptorStoreMax",
        "IPAddressDeny",
        "IPAddressAllow",
    ),
    *("MemoryMax", "TasksMax"),
}
NOT_TO_BE_SEEN_HERE = {
    "AmbientCapabilities": "none is the default; written out so that it stays so",
    "DevicePolicy": "PrivateDevices= leaves no device that it would have to refuse",
    "KeyringMode": "private is systemd's default for services; written out for systemd-analyze",
    "ProtectKernelTunables": "/proc/sys and /sys are read-only in this sandbox for everybody",
    "RestrictRealtime": "root without the unit was refused too, in the sandbox this was written in",
    "SystemCallArchitectures": "takes a program for another architecture to try",
    "TimeoutStopSec": "takes a daemon that does not stop; its value is checked",
}
# Left out where nothing holds the probe back: it would set the clock.
TOO_REAL = ("ProtectClock",)
# Granted, not refused: the same with and without the unit.
GRANTED = {"RestrictAddressFamilies, allowed", "RemoveIPC", "StateDirectory"}


def test_every_directive_is_seen_at_work_or_named_as_not_to_be_seen() -> None:
    named = [*(name for name in PROBED if "," not in name), *SEEN, *NOT_TO_BE_SEEN_HERE]
    assert sorted(named) == sorted(unit(DAEMON)["Service"])


# On a real systemd.


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """With the parrot in the daemon's place, or what the test asks for as its parameter."""
    options = getattr(request, "param", ())
    with booted(tmp_path, options=options) as machine:
        version = machine.run("systemctl", "--version").split("(")[0].strip()
        say(request.config, f"real systemd: {version}, booted for these tests")
        machine.systemctl("start", "basic.target")  # it clears /tmp
        machine.run("mkdir", "-p", "/usr/lib/modules", "/home/marker")
        machine.run("touch", "/tmp/marker", "/dev/marker")
        runs(machine, "parrot")
        yield machine


@functools.cache  # once is enough
def say(config: pytest.Config, line: str) -> None:
    """On the terminal, whatever is captured: whether it was real must not be a guess."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")
    assert reporter is not None
    assert capture is not None
    with capture.global_and_fixture_disabled():
        reporter.ensure_newline()
        reporter.write_line(line)


def runs(machine: Machine, program: str, more: str = "") -> None:
    """Put another program into the daemon's place; everything else is as shipped."""
    start = f"ExecStart=\nExecStart=/opt/duel-daemon/bin/{program}"
    machine.edit(DAEMON, f"[Service]\n{start}\n{more}\n")


class Client:
    """Somebody connected to the parrot."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def says(self, line: str) -> tuple[int, str]:
        """The process that answered, and its answer."""
        self.sock.sendall(f"{line}\n".encode())
        pid, _, answer = self.sock.recv(4096).decode().strip().partition(" ")
        return int(pid), answer

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()


def visitor(machine: Machine, host: str = "127.0.0.1") -> Client:
    return Client(machine.connect(host))


ONCE = "Type=oneshot\nRestart=no\nWatchdogSec=0"


def probed(machine: Machine) -> dict[str, object]:
    machine.systemctl("start", DAEMON)
    found = json.loads(machine.run("cat", "/var/lib/duel-daemon/probe.json"))
    found["SystemCallErrorNumber"] = found["SystemCallFilter"]
    return dict(found)


def test_the_directives_are_enforced(machine: Machine) -> None:
    runs(machine, "probe", ONCE)
    found = probed(machine)
    assert {name: found[name] for name in PROBED if not PROBED[name](found[name])} == {}
    assert found["PrivateMounts"] != machine.run("readlink", "/proc/1/ns/mnt")
    assert machine.run("ls", "/dev/shm") == ""  # RemoveIPC=
    assert machine.show(DAEMON, "TimeoutStopUSec") == "5s"


def test_without_the_directives_nothing_of_it_is_refused(machine: Machine) -> None:
    """Else it would be the sandbox of the test that the probe has found."""
    bare = "[Service]\nType=oneshot\nStateDirectory=duel-daemon"
    program = f"ExecStart=/opt/duel-daemon/bin/probe {' '.join(TOO_REAL)}"
    machine.edit(DAEMON, "")
    path = f"/run/systemd/system/{DAEMON}"
    machine.run("sh", "-c", 'printf "%s\n" "$2" >"$1"', "sh", path, f"{bare}\n{program}")
    machine.systemctl("daemon-reload")
    found = probed(machine)
    found["PrivateMounts"] = found["PrivateMounts"] != machine.run("readlink", "/proc/1/ns/mnt")
    same = {name for name, value in found.items() if PROBED[name](value)}
    assert same == GRANTED
    assert machine.run("ls", "/dev/shm") == "duel-probe"


def test_only_this_network_gets_in(machine: Machine) -> None:
    for address in (
        "203.0.113.1/32",
        "192.168.7.1/32",
        "10.1.2.3/32",
        "fd00::1/128",
        "2001:db8::1/128",
    ):
        machine.run("ip", "address", "add", address, "dev", "lo")
    machine.systemctl("start", PORT)
    for host in ("127.0.0.1", "::1", "192.168.7.1", "10.1.2.3", "fd00::1"):
        with visitor(machine, host) as client:
            assert client.says("hello")[1] == "hello"
    for host in ("203.0.113.1", "2001:db8::1"):
        with pytest.raises(TimeoutError):
            machine.in_its_network(lambda host=host: socket.create_connection((host, 4000), 0.3))


def test_the_first_connection_starts_the_daemon(machine: Machine) -> None:
    machine.systemctl("start", PORT)
    assert not machine.is_active(DAEMON)
    with visitor(machine) as client:
        assert client.says("hello")[1] == "hello"
        assert machine.is_active(DAEMON)
        assert machine.show(DAEMON, "StatusText") == "0 came back"
        assert machine.show(DAEMON, "NFileDescriptorStore") == "1"


def test_starting_the_daemon_opens_the_port_too(machine: Machine) -> None:
    machine.systemctl("start", DAEMON)
    assert machine.is_active(PORT)
    with visitor(machine) as client:
        assert client.says("hello")[1] == "hello"


def test_a_reload_is_told_and_over(machine: Machine) -> None:
    machine.systemctl("start", DAEMON)
    pid = machine.show(DAEMON, "MainPID")
    for _ in range(3):
        machine.systemctl("reload", DAEMON)
    wait_for(lambda: machine.show(DAEMON, "StatusText") == "reloaded")
    wait_for(lambda: machine.is_active(DAEMON))
    assert machine.show(DAEMON, "MainPID") == pid


def wait_for(condition: Callable[[], bool]) -> None:
    """The bound is the test's own."""
    while not condition():
        time.sleep(0.01)


def test_connections_outlive_restarts_and_kills(machine: Machine) -> None:
    """The gap is what the client notices: from the signal to an answer to a line sent at once."""
    machine.systemctl("start", PORT)
    with visitor(machine) as client, visitor(machine) as other:
        pids = {client.says("hello")[0], other.says("hello")[0]}
        for number in range(6):
            if number % 2:
                machine.kill(DAEMON)
            else:
                machine.systemctl("restart", DAEMON)
            began = time.perf_counter()
            pids.add(client.says("still there?")[0])
            assert time.perf_counter() - began < 1
            assert other.says("and me?")[1] == "and me?"
            with visitor(machine) as newcomer:
                assert newcomer.says("hello")[1] == "hello"
        assert len(pids) == 7
        machine.systemctl("daemon-reexec")
        assert client.says("systemd itself was replaced")[0] in pids


def test_connections_outlive_a_hang(machine: Machine) -> None:
    runs(machine, "parrot", "WatchdogSec=1")
    machine.systemctl("start", PORT)
    with visitor(machine) as client, visitor(machine) as other:
        hung = client.says("hello")[0]
        other.sock.sendall(b"hang\n")
        other.sock.recv(100)  # "from now on"
        began = time.perf_counter()
        pid, answer = client.says("anybody?")
        assert (pid != hung, answer) == (True, "anybody?")
        assert time.perf_counter() - began < 1 + 2
    assert "Watchdog timeout" in machine.journal(DAEMON)


def test_connections_outlive_a_daemon_that_cannot_start(machine: Machine) -> None:
    """A broken upgrade, repaired after more tries than any start limit would have allowed."""
    machine.systemctl("start", PORT)
    with visitor(machine) as client:
        before = client.says("hello")[0]
        runs(machine, "no-such-program")
        machine.kill(DAEMON)
        wait_for(lambda: int(machine.show(DAEMON, "NRestarts")) >= 10)
        with visitor(machine) as newcomer:
            newcomer.sock.sendall(b"let me in\n")
            runs(machine, "parrot")
            assert newcomer.sock.recv(100).endswith(b"let me in\n")
        assert client.says("still there?")[0] != before


def test_connections_outlive_a_daemon_that_hangs_before_it_is_ready(machine: Machine) -> None:
    """The watchdog does not look after it yet; the time for a start does."""
    assert machine.show(DAEMON, "TimeoutStartUSec") == "30s"
    machine.systemctl("start", PORT)
    with visitor(machine) as client:
        client.says("hello")
        machine.edit(DAEMON, "[Service]\nExecStart=\nExecStart=sleep 1000\nTimeoutStartSec=1\n")
        machine.kill(DAEMON)
        wait_for(lambda: machine.show(DAEMON, "Result") == "timeout")
        runs(machine, "parrot")
        assert client.says("still there?")[1] == "still there?"


def test_whoever_hangs_up_while_nobody_runs_is_left_to_the_next_process(machine: Machine) -> None:
    """With FDPOLL=0; else the one that was reset would be missing without a word."""
    runs(machine, "parrot", "RestartSec=500ms")
    machine.systemctl("start", PORT)
    with visitor(machine) as stays, visitor(machine) as closes, visitor(machine) as resets:
        for client in (stays, closes, resets):
            client.says("hello")
        machine.kill(DAEMON)
        closes.sock.close()
        resets.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        resets.sock.close()
        assert machine.show(DAEMON, "NFileDescriptorStore") == "3"
        stays.says("still there?")
        wait_for(lambda: machine.show(DAEMON, "NFileDescriptorStore") == "1")
        assert machine.show(DAEMON, "StatusText") == "3 came back"


def test_stopping_closes_every_connection_and_keeps_the_port(machine: Machine) -> None:
    machine.systemctl("start", PORT)
    with visitor(machine) as client:
        client.says("hello")
        machine.systemctl("stop", DAEMON)
        assert client.sock.recv(100) == b""
    assert machine.is_active(PORT)
    with visitor(machine) as client:
        assert client.says("hello again")[1] == "hello again"
        assert machine.show(DAEMON, "StatusText") == "0 came back"


def memory_group(machine: Machine) -> Path:
    """Where the kernel counts the memory of the service, seen from here."""
    group = Path(f"/proc/{machine.pid}/root/sys/fs/cgroup/memory/system.slice/{DAEMON}")
    if not group.exists():
        pytest.skip("this kernel has no memory controller of cgroup v1")
    return group


with_memory_limits = pytest.mark.parametrize("machine", [("-1",)], indirect=True)


@with_memory_limits
def test_memory_and_tasks_are_bounded_and_an_oom_kill_cuts_nobody(machine: Machine) -> None:
    machine.systemctl("start", PORT)
    with visitor(machine) as client, visitor(machine) as other:
        before = client.says("hello")[0]
        assert int((memory_group(machine) / "memory.limit_in_bytes").read_text()) == 2**30
        assert machine.run("cat", f"/sys/fs/cgroup/pids/system.slice/{DAEMON}/pids.max") == "64"
        other.sock.sendall(b"eat\n")
        other.sock.recv(100)  # "from now on"
        assert client.says("still there?")[0] != before
    assert "code=killed, status=9/KILL" in machine.journal(DAEMON)


# The daemon itself.


@attrs.define(eq=False)
class Player:
    """Somebody connected to the daemon."""

    sock: socket.socket
    _unread: str = ""

    def reads(self, text: str) -> None:
        """Read on until this comes."""
        while text not in self._unread:
            data = self.sock.recv(4096)
            assert data, f"{text!r} did not come before the end of:\n{self._unread}"
            self._unread += data.decode()
        self._unread = self._unread.partition(text)[2]

    def types(self, line: str) -> None:
        self.sock.sendall(f"{line}\n".encode())

    def is_named(self, name: str) -> "Player":
        self.reads("Your name (Enter for a guest name): ")
        self.types(name)
        self.reads(f"* Welcome, {name}.")
        return self

    def __enter__(self) -> "Player":
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()


def player(machine: Machine, source: str = "127.0.0.1") -> Player:
    where, address = ("127.0.0.1", 4000), (source, 0)
    return Player(machine.in_its_network(lambda: socket.create_connection(where, 20, address)))


@pytest.fixture
def daemon(machine: Machine) -> Machine:
    machine.edit(DAEMON, "")
    return machine


def test_the_first_player_starts_the_daemon(daemon: Machine) -> None:
    daemon.systemctl("start", PORT)
    assert not daemon.is_active(DAEMON)
    with player(daemon) as anna:
        anna.is_named("Anna")
        assert daemon.is_active(DAEMON)
        wait_for(lambda: "1 player" in daemon.show(DAEMON, "StatusText"))
    assert "listening" in daemon.journal(DAEMON)


@pytest.mark.parametrize("with_the_socket", [True, False])
def test_the_daemon_can_be_stopped_and_started_again(
    daemon: Machine, with_the_socket: bool
) -> None:
    if not with_the_socket:
        daemon.run("ln", "-sf", "/dev/null", f"/run/systemd/system/{PORT}")  # masked
        daemon.systemctl("daemon-reload")
    for verb in ("start", "restart", "stop", "start", "reload"):
        daemon.systemctl(verb, DAEMON)
        if verb == "stop":
            assert not daemon.is_active(DAEMON)
        else:
            with player(daemon) as anna:
                anna.reads("Your name")
    assert daemon.show(DAEMON, "NRestarts") == "0"


DUELS = 4
STRANGERS = 90  # they may be 100
BIT_OF_MEMORY = 64 * 1024


@with_memory_limits
def test_an_oom_kill_of_the_daemon_cuts_nobody_and_every_duel_goes_on(daemon: Machine) -> None:
    """It is given a little more memory than it has, and then strangers come."""
    daemon.edit(DAEMON, "[Service]\nEnvironment=DUEL_FIRST_TURN=first-come\n")
    daemon.systemctl("start", PORT)
    with contextlib.ExitStack() as stack:
        players = [stack.enter_context(player(daemon)) for _ in range(2 * DUELS)]
        duels = list(zip(players[::2], players[1::2], strict=True))
        for number, (anna, ben) in enumerate(duels):
            anna.is_named(f"Anna{number}")
            ben.is_named(f"Ben{number}")
            anna.reads("Enter your chosen divisor: ")
            anna.types("15")
            ben.reads("New N is 45.")
        comes = (stack.enter_context(player(daemon, f"127.0.1.{n}")) for n in range(STRANGERS))
        is_killed_for_its_memory(daemon, comes)
        for anna, ben in duels:
            for each in (anna, ben):
                each.reads("* The server was restarted. Nothing is lost; your duel goes on.\r\n")
                each.reads("Proper divisors of 45: 3,5,9,15\r\n")
            ben.types("15")
            for each in (anna, ben):
                each.reads("Subtracting 15 from 45. New N is 30.\r\n")


def is_killed_for_its_memory(machine: Machine, strangers: Iterator[Player]) -> None:
    group, before = memory_group(machine), machine.show(DAEMON, "MainPID")
    victim = int((group / "cgroup.procs").read_text())  # as the host counts
    limit = int((group / "memory.usage_in_bytes").read_text()) + BIT_OF_MEMORY
    with kernel_log() as logged:
        machine.systemctl("set-property", "--runtime", DAEMON, f"MemoryMax={limit}")
        for _ in strangers:
            if machine.show(DAEMON, "MainPID") != before:
                break
        assert f"Memory cgroup out of memory: Killed process {victim} " in logged()
    # With cgroup v2 it would be "oom-kill"; of v1, systemd 252 hears nothing but the signal.
    wait_for(lambda: "Failed with result 'signal'" in machine.journal(DAEMON))
    machine.systemctl("set-property", "--runtime", DAEMON, "MemoryMax=1G")


@contextlib.contextmanager
def kernel_log() -> Iterator[Callable[[], str]]:
    """What the kernel has logged since, whoever asks."""
    try:
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as exc:
        pytest.skip(f"the kernel's log cannot be read: {exc.strerror}")
    try:
        os.lseek(log, 0, os.SEEK_END)
        yield lambda: "".join(records(log))
    finally:
        os.close(log)


def records(log: int) -> Iterator[str]:
    with contextlib.suppress(BlockingIOError):
        while True:
            yield os.read(log, 8192).decode(errors="replace")
