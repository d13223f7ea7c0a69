"""The daemon without systemd, in a process of its own, on a state directory that sees trouble.

kill -9 at random moments (`make restarts` runs the full number of them), a full disk, a read-only
one, a damaged file, another daemon: each as players and the operator see it.
"""

import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
from pathlib import Path

import attrs
import pytest
import trio
from crowd import Account, Duelist, differences, recorded
from terminal import DAEMON, DEADLINE_SECONDS, Daemon, Guest, daemon, free_port, usual_environ
from test_store import fill, mount, small_disk
from test_units import say

from duel_daemon.store import FILE

__all__ = ["small_disk"]  # a fixture

KILLS = int(os.environ.get("DUEL_TEST_KILLS", "15"))
PLAYERS = 8
SECONDS_PER_KILL = 4
PROMPT = "Enter your chosen divisor: "


# A kill at any moment.


@attrs.define(eq=False)
class Victim:
    """A daemon on one port and one state directory, killed and started again."""

    state: Path
    port: int = attrs.field(factory=free_port)
    _process: Daemon | None = None

    def start(self) -> None:
        where = ("--host", "127.0.0.1", "--port", str(self.port), "--log-level", "error")
        self._process = Daemon(self.port, (*where, "--state", str(self.state)), {})

    def kill(self) -> None:
        assert self._process is not None
        self._process.is_gone()
        self._process.log.fd = -1
        self._process = None

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), DEADLINE_SECONDS)


async def killed_again_and_again(victim: Victim) -> tuple[Account, list[Duelist]]:
    rng, account, crowd = random.Random(), Account(is_cut_by_kills=True), []
    victim.start()
    with trio.fail_after(60 + KILLS * SECONDS_PER_KILL):
        async with trio.open_nursery() as nursery:
            for number in range(PLAYERS):
                crowd.append(Duelist(f"p{number}", account, crowd, rng, 0.05))
                nursery.start_soon(crowd[-1].plays, victim.connect)
            for _ in range(KILLS):
                await trio.sleep(rng.uniform(0.2, 1.2))
                account.strikes.append(("kill -9", trio.current_time()))
                victim.kill()
                shown = _told_so_far(crowd)
                rows = recorded(victim.state / FILE) if (victim.state / FILE).exists() else {}
                assert {number: rows.get(number) for number in shown} == shown
                victim.start()
            await trio.sleep(1)
            account.is_closing = True
    return account, crowd


def _told_so_far(crowd: list[Duelist]) -> dict[int, tuple[object, ...]]:
    """What was said to be recorded, and is what the players saw."""
    return {
        seen.recorded: seen.key(duelist.name)
        for duelist in crowd
        for seen in duelist.seen
        if seen.recorded is not None and not seen.missed_the_end
    }


def test_a_kill_at_any_moment_loses_nothing_that_was_shown(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    signal.alarm(90 + KILLS * SECONDS_PER_KILL)
    victim = Victim(tmp_path)
    account, crowd = trio.run(killed_again_and_again, victim)
    victim.kill()
    rows = recorded(tmp_path / FILE)
    assert differences(crowd, rows) == []
    missed = sum(seen.missed_the_end for duelist in crowd for seen in duelist.seen)
    say(
        request.config,
        f"without systemd: {KILLS} kill -9, {account.moves} moves, 0 lost or doubled, {len(rows)} "
        f"duels recorded; {account.retold} positions shown again, {account.late} moves and "
        f"{missed} ends told late, {account.retyped} lines typed again",
    )


# A state directory in trouble.


def two(port: int) -> tuple[Guest, Guest]:
    """Anna and Ben in a duel; Anna is Player 1."""
    anna = Guest(port).is_named("Anna")
    ben = Guest(port).is_named("Ben")
    anna.waits_for(PROMPT, last=True)
    return anna, ben


def again(one: Guest, other: Guest) -> None:
    """A rematch, which `other` begins."""
    since = len(other.shown())
    for guest in (one, other):
        guest.types("rematch")
    other.waits_for("Game Start!", since=since)
    other.waits_for(PROMPT, last=True)


def warnings(running: Daemon) -> list[str]:
    while running.log.receives(0):
        pass
    return re.findall(r" warning (.*)", running.log.text)


def turns_recorded(state: Path) -> list[tuple[int, ...]]:
    """The divisors of each duel."""
    db = sqlite3.connect(state / FILE)
    try:
        rows = [json.loads(text) for (text,) in db.execute("SELECT turns FROM duels")]
    finally:
        db.close()
    return [tuple(divisor for divisor, _ in turns) for turns in rows]


def test_on_a_full_disk_duels_go_on_and_results_wait_for_room(small_disk: Path) -> None:
    with daemon("--state", str(small_disk)) as running:
        anna, ben = two(running.port)
        with anna, ben:
            anna.types("resign")
            ben.waits_for("* Recorded as duel 1.\n")
            filler = fill(small_disk)
            for one, other in ((anna, ben), (ben, anna)):
                again(one, other)
                since, before = len(other.shown()), len(one.shown())
                other.types("30")
                one.waits_for("Subtracting 30 from 60. New N is 30.\n", since=before)
                one.types("resign")
                assert "Recorded" not in other.waits_for("* Next: ", since=since)
            ben.types("history")
            ben.waits_for("* The last duels of Ben:\n")  # what is stored can be read
            about_results = [line for line in warnings(running) if line.startswith("Results")]
            assert len(about_results) == 1
            assert about_results[0].endswith(
                "(database or disk is full). Results wait in memory; storing them is tried every "
                "10 seconds."
            )
            filler.unlink()
            ben.waits_for("* Recorded as duel 2.\n* Recorded as duel 3.\n")
        assert "Results are stored again; none was lost." in warnings(running)
    assert turns_recorded(small_disk) == [(), (30,), (30,)]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_an_end_on_a_full_disk_costs_no_duel(small_disk: Path, end: signal.Signals) -> None:
    with daemon("--state", str(small_disk)) as running:
        anna, ben = two(running.port)
        with anna, ben:
            anna.types("15")
            ben.waits_for(PROMPT, last=True)
            code = re.findall(r"name prompt with: Ben (\S+)", ben.shown())[0]
            filler = fill(small_disk)
            running.process.send_signal(end)
            running.ends()
    with daemon("--state", str(small_disk)) as running, Guest(running.port) as ben:
        ben.waits_for("Your name")
        ben.types(f"Ben {code}")
        ben.waits_for("Proper divisors of 45")
        ben.waits_for(PROMPT, last=True)
        filler.unlink()
        ben.types("resign")
        ben.waits_for("* Recorded as duel 1.\n")


def refusal(*options: str) -> str:
    """What a daemon says that does not start; it ends with 1."""
    where = ("--host", "127.0.0.1", "--port", str(free_port()))
    done = subprocess.run(
        (*DAEMON, *where, *options),
        capture_output=True,
        text=True,
        env=usual_environ(),
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


def test_another_daemon_on_the_same_state_is_told_so_and_the_first_plays_on(tmp_path: Path) -> None:
    with daemon("--state", str(tmp_path)) as running:
        anna, ben = two(running.port)
        with anna, ben:
            assert refusal("--state", str(tmp_path)) == (
                f"Another duel-daemon (process {running.process.pid}) keeps its results in "
                f"{tmp_path}; stop it, or name another directory with --state."
            )
            anna.types("15")
            ben.waits_for("New N is 45.\n")
            ben.types("resign")
            anna.waits_for("* Recorded as duel 1.\n")


def test_a_read_only_state_is_told_in_a_sentence(small_disk: Path) -> None:
    assert mount("-o", "remount,ro", small_disk)
    assert refusal("--state", str(small_disk)) == (
        f"Results cannot be kept in {small_disk} (Read-only file system); name another directory "
        "with --state, or none."
    )


def test_a_damaged_file_is_moved_aside_and_the_daemon_starts(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database " * 999)
    with daemon("--state", str(tmp_path)) as running:
        (warning,) = warnings(running)
        assert re.fullmatch(
            rf"{tmp_path / FILE} is damaged \(.*\)\. It is kept as {tmp_path / FILE}\.bad-\S+, "
            r"and new results are begun\.",
            warning,
        )
        anna, ben = two(running.port)
        with anna, ben:
            anna.types("resign")
            ben.waits_for("* Recorded as duel 1.\n")
    (aside,) = tmp_path.glob(f"{FILE}.bad-*Z")
    assert aside.read_bytes() == b"no database " * 999


def test_a_damaged_journal_costs_the_lines_that_are_damaged(tmp_path: Path) -> None:
    with daemon("--state", str(tmp_path)) as running:
        anna, ben = two(running.port)
        with anna, ben:
            anna.types("15")
            ben.waits_for(PROMPT, last=True)
            code = re.findall(r"name prompt with: Ben (\S+)", ben.shown())[0]
            running.process.kill()
            running.ends()
    with (tmp_path / "journal").open("ab") as file:
        file.write(b'\xff\x00{"k":\n[]\n{"k":"turn","t":1,"d')
    with daemon("--state", str(tmp_path)) as running, Guest(running.port) as ben:
        (warning,) = warnings(running)
        assert re.fullmatch(r"journal: 3 of \d+ lines could not be read", warning)
        ben.waits_for("Your name")
        ben.types(f"Ben {code}")
        ben.waits_for("Proper divisors of 45")
