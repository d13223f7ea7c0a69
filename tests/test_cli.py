"""The command line of the real daemon: what it prints, and with which exit code it ends."""

import contextlib
import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import (
    CTRL_C,
    DAEMON,
    DEADLINE_SECONDS,
    Terminal,
    daemon,
    free_port,
    needs,
    needs_ipv6,
    usual_environ,
)

from duel_daemon import __version__, cli
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.settings import help_text

UNPRIVILEGED = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")


def run(*options: str, program: tuple[str, ...] = DAEMON, **environ: str) -> tuple[int, str, str]:
    """Exit code, output, and what went to the error stream."""
    done = subprocess.run(
        (*program, *options),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        env=usual_environ() | environ,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


# What only asks.


def test_help_shows_every_setting_and_ends() -> None:
    assert run("--help") == (0, f"{help_text(tuple(BY_SLUG))}\n", "")
    assert run("-h") == run("--help")


def test_version_says_the_version_and_ends() -> None:
    assert run("--version") == (0, f"duel-daemon {__version__}\n", "")


def test_the_installed_command_is_the_same_program() -> None:
    command = Path(sys.executable).with_name("duel-daemon")
    if not command.exists():
        pytest.skip(f"{command} is not installed")
    assert run("--help", program=(str(command),)) == run("--help")


def test_check_names_the_file_that_is_good(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text("port = 4100\n")
    good = f"The configuration is good (read from {file}).\n"
    assert run("--check", "--config", str(file)) == (0, good, "")
    assert run("--check", DUEL_CONFIG=str(file)) == (0, good, "")


def test_check_listens_nowhere() -> None:
    with taken_port() as port:
        code, said, _ = run("--check", "--host", "127.0.0.1", "--port", str(port))
    assert code == 0
    assert said.startswith("The configuration is good")


# What is wrong.


@pytest.mark.parametrize("only_check", [("--check",), ()], ids=["--check", "start"])
def test_everything_wrong_is_told_at_once(only_check: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text('turn_secnds = 30\nrulebook = "chess"\n')
    options = ("--config", str(file), "--best-of", "4", "--prot", "4000")
    code, said, complaint = run(*only_check, *options, DUEL_PORT="99999")
    assert (code, said) == (2, "")
    assert complaint.splitlines() == [
        "--prot: unknown; did you mean --port?",
        "--best-of: 4 is not an odd number from 1 to 21",
        "DUEL_PORT: 99999 is not a port (1 to 65535)",
        "duel.toml: turn_secnds: unknown; did you mean turn_seconds?",
        f"duel.toml: rulebook: 'chess' is not a rule book ({', '.join(BY_SLUG)})",
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--nonsense",), "--nonsense: unknown; see --help"),
        (("4000",), "4000: unexpected; write options, such as --port 4000"),
        (("--port",), "--port: needs a value, such as --port 4000"),
        (("--check=yes",), "--check: takes no value"),
        (("--config", "/nowhere/duel.toml"), "--config: '/nowhere/duel.toml' cannot be read"),
        (("--number", "7"), "--number: 7 is a prime number, so there is nothing to play. Try 8."),
        (("--number", "9", "--divisors", "even"), "--number: 9 has no even divisor to choose"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_sentence_and_exit_code_2(options: tuple[str, ...], sentence: str) -> None:
    code, said, complaint = run(*options)
    assert (code, said) == (2, "")
    assert complaint.startswith(sentence)
    assert complaint.count("\n") == 1


# What keeps it from starting.


@contextlib.contextmanager
def taken_port(host: str = "127.0.0.1") -> Iterator[int]:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as sock:
        sock.bind((host, 0))
        sock.listen()
        yield sock.getsockname()[1]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ""], ids=["one", "a name", "all"])
def test_a_port_in_use_is_one_sentence(host: str) -> None:
    with taken_port() as port:
        cannot_start = run("--host", host, "--port", str(port))
    sentence = f"Port {port} is in use already; try another one with --port.\n"
    assert cannot_start == (1, "", sentence)


def test_a_port_in_use_on_ipv6_alone_is_in_use() -> None:
    needs_ipv6()
    with taken_port("::1") as port:
        code, _, complaint = run("--port", str(port))
    assert code == 1
    assert complaint == f"Port {port} is in use already; try another one with --port.\n"


def test_an_address_of_another_machine_is_one_sentence() -> None:
    sentence = "192.0.2.1 is no address of this machine; --host takes one, such as 127.0.0.1.\n"
    assert run("--host", "192.0.2.1", "--port", str(free_port())) == (1, "", sentence)


def test_a_name_of_no_machine_is_one_sentence() -> None:
    sentence = "a.invalid is no address of this machine; --host takes one, such as 127.0.0.1.\n"
    assert run("--host", "a.invalid", "--port", str(free_port())) == (1, "", sentence)


def test_a_port_that_needs_more_rights_is_one_sentence() -> None:
    if int(UNPRIVILEGED.read_text()) <= 80:
        pytest.skip("on this machine everybody may listen on every port")
    program = DAEMON
    if os.geteuid() == 0:
        needs("setpriv")
        program = ("setpriv", "--bounding-set", "-net_bind_service", *DAEMON)
    sentence = "Port 80 needs more rights than this user has; ports from 1024 on do not.\n"
    assert run("--host", "127.0.0.1", "--port", "80", program=program) == (1, "", sentence)


# What the operator reads on a terminal.


def test_on_a_terminal_the_operator_reads_what_pupils_type_and_what_is_played() -> None:
    port = free_port()
    game = ("--rulebook", "factor-duel", "--number", "84")
    with Terminal(*DAEMON, "--host", "127.0.0.1", "--port", str(port), *game) as operator:
        shown = operator.waits_for("listening")
        assert f"duel-daemon {__version__}\n" in shown
        assert f"nc 127.0.0.1 {port} " in shown
        assert "Factor Duel from 84\n" in shown
        operator.types(CTRL_C)
        assert operator.ends() == 0
        assert "Traceback" not in operator.shown()


def test_without_an_address_the_operator_reads_those_of_this_machine() -> None:
    port = free_port()
    with Terminal(*DAEMON, "--port", str(port)) as operator:
        shown = operator.waits_for("listening")
    addresses = re.findall(rf"nc (\S+) {port}\b", shown)
    assert addresses
    for address in addresses:
        with socket.socket() as sock:
            sock.bind((address, 0))  # which only an address of this machine lets one do


def test_without_a_terminal_there_are_only_log_lines() -> None:
    with daemon() as running:
        assert running.log.text.count("\n") == 1


# The limit of open files.

NO_LIMIT = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("limit", "raised", "fit"),
    [
        ((1024, 4096), 2064, None),
        ((2064, 4096), None, None),
        ((2063, 2064), 2064, None),
        ((4096, 4096), None, None),
        ((1024, 2063), 2063, 1999),
        ((1024, 1024), None, 960),
        ((20, 50), 50, 0),
        ((1024, NO_LIMIT), 2064, None),
        ((NO_LIMIT, NO_LIMIT), None, None),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_it_goes_and_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    limit: tuple[int, int],
    raised: int | None,
    fit: int | None,
) -> None:
    """2000 connections, and 64 for everything else."""
    asked: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", {resource.RLIMIT_NOFILE: limit}.get)
    monkeypatch.setattr(resource, "setrlimit", lambda *args: asked.append(args))
    cli._raise_descriptor_limit(2000)
    assert asked == ([] if raised is None else [(resource.RLIMIT_NOFILE, (raised, limit[1]))])
    said = [record.getMessage() for record in caplog.records]
    text = f"only {fit} of 2000 connections fit: the limit of open files"
    assert said == ([] if fit is None else [text])


@contextlib.contextmanager
def files_limited_to(count: int) -> Iterator[None]:
    """For what is started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux: prlimit")
def test_the_daemon_may_open_as_many_files_as_its_connections_need() -> None:
    with files_limited_to(256), daemon("--max-connections", "500") as running:
        soft, _ = resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE)
        assert soft == 564
        assert "fit" not in running.log.text


def test_the_operator_reads_how_many_connections_the_limit_of_files_allows() -> None:
    limited = ("sh", "-c", 'ulimit -n 200; exec "$@"', "sh", *DAEMON)
    with taken_port() as port:
        where = ("--host", "127.0.0.1", "--port", str(port), "--state", "none")
        _, _, said = run(*where, "--max-connections", "500", program=limited)
    assert "only 136 of 500 connections fit: the limit of open files\n" in said
