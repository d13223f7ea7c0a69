"""The programs that people really have, each at two terminals through a whole duel."""

import subprocess

import attrs
import pytest
from playthrough import Playthrough, every_playthrough
from terminal import (
    BACKSPACE,
    CTRL_C,
    DEADLINE_SECONDS,
    ENTER,
    NAME_PROMPT,
    Terminal,
    daemon,
    needs,
    rule_book_lines,
    usual_environ,
)

from duel_daemon.commands import overview
from duel_daemon.events import Seat
from duel_daemon.narrator import house

END_OF_HELP = house(overview()[-1])
(SAMPLE,) = (it for it in every_playthrough() if it.name == "book-5-sample")  # it has a "÷"


@attrs.frozen
class Client:
    """A program to reach the daemon with, and its ways."""

    command: str
    """With PORT where the port belongs."""
    ended_by: str = ""
    """What one must press when the daemon has closed the connection."""
    echo: bool = True
    """Whether the terminal shows what is typed."""
    on_ctrl_c: str = "ends"
    its_own: tuple[str, ...] = ()
    """Beginnings of lines that are the program's own."""

    def at(self, port: int) -> list[str]:
        return self.command.replace("PORT", str(port)).split()


CLIENTS = (
    Client("nc.openbsd 127.0.0.1 PORT", ended_by=ENTER),
    Client("nc.openbsd -C 127.0.0.1 PORT", ended_by=ENTER),
    Client("nc.traditional 127.0.0.1 PORT"),
    Client("ncat 127.0.0.1 PORT", ended_by=CTRL_C),
    Client("busybox nc 127.0.0.1 PORT"),
    Client("socat - TCP:127.0.0.1:PORT"),
    # Each key is sent as it is pressed, and Enter is a bare CR.
    Client("socat -,raw,echo=0,icrnl=0 TCP:127.0.0.1:PORT", echo=False, on_ctrl_c="sends it"),
    # After Ctrl-C it shows nothing until a timing mark has been answered.
    Client(
        "telnet 127.0.0.1 PORT",
        on_ctrl_c="interrupts",
        its_own=("Trying ", "Connected to ", "Escape character ", "Connection closed "),
    ),
    Client("plink -telnet -P PORT 127.0.0.1"),
    Client("plink -raw -P PORT 127.0.0.1", ended_by=CTRL_C),
)

# All of them end their input, and then still read.
PIPED = (
    "nc.openbsd -N 127.0.0.1 PORT",
    "nc.traditional -q 30 127.0.0.1 PORT",
    "ncat 127.0.0.1 PORT",
    "busybox nc 127.0.0.1 PORT",
    "socat -t 30 - TCP:127.0.0.1:PORT",
    "plink -telnet -P PORT 127.0.0.1",
    "plink -raw -P PORT 127.0.0.1",
)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.command)
def test_a_whole_duel_reads_like_the_rule_book_with(client: Client) -> None:
    needs(client.command)
    with daemon("--rulebook", "number-factor", "--number", "30") as running:
        command = client.at(running.port)
        with (
            Terminal(*command, echo=client.echo) as first,
            Terminal(*command, echo=client.echo) as second,
        ):
            enter(first, "\u00dcnal")
            enter(second, "Zo\u00eb")
            players = {Seat.ONE: first, Seat.TWO: second}
            play(SAMPLE, players, client.on_ctrl_c)
            for seat, terminal in players.items():
                terminal.waits_for("* Next: ")
                shown = without(client.its_own, rule_book_lines(terminal.shown()))
                assert shown == SAMPLE.screen(seat)
            for terminal in players.values():
                terminal.types(f"quit{ENTER}")
                terminal.waits_for("* Goodbye! The connection is closed.\n")
            for terminal in players.values():
                terminal.ends(client.ended_by)


def enter(terminal: Terminal, name: str) -> None:
    terminal.waits_for(NAME_PROMPT)
    terminal.types(slip(name))
    terminal.waits_for(f"* Welcome, {name}.")


def slip(text: str) -> str:
    """The keys of somebody who hits a wrong one before the last, and takes it back."""
    return f"{text[:-1]}x{BACKSPACE}{text[-1]}{ENTER}"


def play(playthrough: Playthrough, players: dict[Seat, Terminal], on_ctrl_c: str) -> None:
    """Type the moves of a recorded duel, each with a slip and after a Ctrl-C, where that works."""
    seat = Seat.ONE
    for move in playthrough.moves:
        mover, prompt = players[seat], playthrough.game.book.prompt(seat)
        mover.waits_for(prompt, last=True)
        if on_ctrl_c != "ends":
            mover.types(CTRL_C)
        if on_ctrl_c == "interrupts":
            mover.waits_for(f"{prompt}^C\n")
            mover.waits_for(prompt, last=True)
        mover.types(slip(str(move)))
        seat = seat.other


def without(beginnings: tuple[str, ...], shown: str) -> str:
    lines = shown.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(beginnings))


@pytest.mark.parametrize("command", PIPED)
def test_everything_that_was_piped_in_is_answered_through(command: str) -> None:
    needs(command)
    with daemon() as running:
        answer = piped(command, running.port, "Ann\nhelp\nquit\n")
    assert "* Welcome, Ann." in answer
    assert END_OF_HELP in answer
    assert answer.endswith("* Goodbye! The connection is closed.\n")


@pytest.mark.parametrize("command", PIPED)
def test_everything_is_answered_when_the_input_just_ends_in(command: str) -> None:
    needs(command)
    with daemon() as running:
        answer = piped(command, running.port, "Ann\nhelp\nquit")
    assert answer.endswith(END_OF_HELP), "the unfinished last line counts for nothing"


def piped(command: str, port: int, typed: str) -> str:
    """What the program prints when its input is a pipe."""
    done = subprocess.run(
        command.replace("PORT", str(port)).split(),
        input=typed.encode(),
        stdout=subprocess.PIPE,
        timeout=DEADLINE_SECONDS,
        env=usual_environ(),
        check=False,  # the exit codes of these programs mean little
    )
    return done.stdout.decode().replace("\r\n", "\n")
