"""The real daemon process: signals, logs, addresses; and the README's session, word for word."""

import re
import signal
import socket
import textwrap
import time
from pathlib import Path

import pytest
from terminal import (
    CTRL_C,
    DAEMON,
    DEADLINE_SECONDS,
    NAME_PROMPT,
    Daemon,
    Guest,
    Terminal,
    daemon,
    free_port,
    needs_ipv6,
)

from duel_daemon.commands import WORDS

README = Path(__file__).parent.parent / "README.rst"
PROMPT = "Enter your chosen divisor: "


def paired(anna: Guest, ben: Guest) -> None:
    anna.is_named("Anna")
    ben.is_named("Ben").waits_for("* Your opponent is Anna.")
    anna.waits_for(PROMPT, last=True)


# Stopping.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda it: it.name)
def test_everybody_reads_one_line_when_the_daemon_stops(number: signal.Signals) -> None:
    with (
        daemon() as running,
        Guest(running.port) as anna,
        Guest(running.port) as ben,
        Guest(running.port) as waiting,
        Guest(running.port) as unnamed,
    ):
        paired(anna, ben)
        waiting.is_named("Cara").waits_for("* Waiting for an opponent")
        unnamed.waits_for(NAME_PROMPT)
        began = time.monotonic()
        running.process.send_signal(number)
        for guest in (anna, ben, waiting, unnamed):
            *lines, last_line = guest.waits_for_the_end().splitlines()
            assert last_line.startswith("* The server is closing")
            assert last_line.endswith("The connection is closed.")
            assert not any("closing" in line or "wins" in line for line in lines)
        assert running.ends() == 0
        assert time.monotonic() - began < 5
        assert "Traceback" not in running.log.text


def test_somebody_who_neither_reads_nor_hangs_up_does_not_hold_up_the_end() -> None:
    with daemon() as running, Guest(running.port) as deaf, Guest(running.port) as other:
        paired(deaf, other)
        deaf.sock.sendall(b"help\n" * 5)
        began = time.monotonic()
        running.process.terminate()
        assert running.ends() == 0
        assert time.monotonic() - began < 5


def test_nobody_can_come_any_more_once_it_has_ended() -> None:
    with daemon() as running:
        running.process.terminate()
        assert running.ends() == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", running.port), DEADLINE_SECONDS)


def test_the_port_is_free_again_at_once_though_players_were_connected() -> None:
    with daemon() as running, Guest(running.port) as guest:
        guest.is_named("Anna")
        running.process.terminate()
        assert running.ends() == 0
        where = ("--host", "127.0.0.1", "--port", str(running.port))
        again = Daemon(running.port, where, {})
        try:
            again.log.waits_for("listening")
        finally:
            again.is_gone()


def test_closing_the_window_ends_the_daemon_that_was_started_in_it() -> None:
    port = free_port()
    with Terminal(*DAEMON, "--host", "127.0.0.1", "--port", str(port)) as operator:
        operator.waits_for("listening")
        with Guest(port) as guest:
            guest.is_named("Anna")
            operator.is_closed()
            assert "* The server is closing" in guest.waits_for_the_end()
        assert operator.process.wait(DEADLINE_SECONDS) == 0


# Rereading the file.


def reload(running: Daemon, file: Path, text: str, last_line: str = " reloaded: ") -> str:
    """The log lines that come of it, up to the last."""
    start = len(running.log.text)
    file.write_text(text)
    running.process.send_signal(signal.SIGHUP)
    return running.log.waits_for(last_line, since=start)


def test_a_setting_that_can_change_does_for_whoever_comes_next(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text("number = 60\n")
    with (
        daemon("--config", str(file)) as running,
        Guest(running.port) as anna,
        Guest(running.port) as ben,
    ):
        paired(anna, ben)
        said = reload(running, file, "number = 84\n")
        assert said.endswith("info    reloaded: number\n")
        anna.types("30")
        ben.waits_for("Subtracting 30 from 60. New N is 30.")  # a duel goes on as it began
        with Guest(running.port) as cara:
            cara.waits_for(" from 84.\n")
            cara.is_named("Cara").waits_for("* Waiting for an opponent: Divisor Duel from 84.")


def test_a_setting_that_cannot_change_is_named_and_the_others_do(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text("")
    with daemon("--config", str(file)) as running:
        said = reload(running, file, "max_connections = 7\nsend_seconds = 8\nnumber = 84\n")
        assert "warning only a restart changes max_connections\n" in said
        assert said.endswith("info    reloaded: number, send_seconds\n")


def test_what_the_command_line_says_a_file_cannot_change(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text("")
    with daemon("--config", str(file), "--number", "60") as running:
        assert reload(running, file, "number = 84\n").endswith("reloaded: nothing has changed\n")


def test_a_broken_file_changes_nothing_and_every_mistake_is_logged(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text("number = 60\n")
    with daemon("--config", str(file)) as running:
        broken = "number = 84\nport = 99999\nnonsense = 1\n"
        said = reload(running, file, broken, last_line="65535)")
        assert "error   not reloaded: duel.toml: port: 99999 is not a port (1 to 65535)\n" in said
        assert "error   not reloaded: duel.toml: nonsense: unknown; see --help\n" in said
        with Guest(running.port) as guest:
            guest.waits_for(" from 60.\n")


def test_on_a_terminal_that_is_still_there_the_file_is_reread_too() -> None:
    where = ("--host", "127.0.0.1", "--port", str(free_port()))
    with Terminal(*DAEMON, *where) as operator:
        operator.waits_for("listening")
        operator.process.send_signal(signal.SIGHUP)
        operator.waits_for("reloaded: nothing has changed")
        operator.types(CTRL_C)
        assert operator.ends() == 0


# Settings reach it.


def test_the_environment_and_the_file_reach_the_daemon(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text('number = 84\nrulebook = "number-factor"\n')
    with (
        daemon(DUEL_CONFIG=str(file), DUEL_RULEBOOK="factor-duel") as running,
        Guest(running.port) as guest,
    ):
        guest.waits_for("Factor Duel from 84")


def test_it_can_be_reached_over_ipv6() -> None:
    needs_ipv6()
    with daemon(host="::1") as running, Guest(running.port, "::1") as guest:
        guest.is_named("Anna")
        running.log.waits_for("c1 is Anna, from ::1")


def test_without_an_address_it_listens_on_ipv4_and_ipv6() -> None:
    needs_ipv6()
    with (
        daemon("--host", "") as running,
        Guest(running.port, "127.0.0.1") as anna,
        Guest(running.port, "::1") as ben,
    ):
        paired(anna, ben)


# Logs.


def play_and_leave(running: Daemon) -> str:
    """The log of a short visit of two."""
    with Guest(running.port) as anna, Guest(running.port) as ben:
        paired(anna, ben)
        anna.types("resign \x1b[31m forged\x85c9 is Eve")
        ben.waits_for("* Next: ")
        for guest in (anna, ben):
            guest.types("quit")
            guest.waits_for_the_end()
    running.process.terminate()
    assert running.ends() == 0
    return running.log.text


def test_a_log_line_has_a_time_a_level_and_the_short_id_of_what_it_is_about() -> None:
    with daemon() as running:
        lines = play_and_leave(running).splitlines()
    form = re.compile(r"\d\d:\d\d:\d\d (debug  |info   |warning|error  ) (\S.*)")
    texts = [found[2] for found in map(form.fullmatch, lines) if found]
    assert len(texts) == len(lines)
    about = ("c1 is Anna, from 127.0.0.1", "c2 is Ben", "t1 begins: Anna against Ben")
    for beginning in (*about, "t1 ended: ", "c1 is gone", "c2 is gone"):
        assert sum(text.startswith(beginning) for text in texts) == 1, beginning
    assert all(line.isprintable() for line in lines)


def test_under_the_journal_every_line_has_its_level_in_front_and_no_time() -> None:
    with daemon(JOURNAL_STREAM="{stderr}") as running:
        lines = play_and_leave(running).splitlines()
    assert "<6>c1 is Anna, from 127.0.0.1" in lines
    assert all(re.match(r"<[3467]>\D", line) for line in lines)


def test_a_journal_that_is_not_this_stream_changes_nothing() -> None:
    with daemon(JOURNAL_STREAM="8:12345") as running:
        assert not running.log.text.startswith("<")


def test_only_what_is_asked_for_is_logged(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text("")
    with daemon("--config", str(file)) as running:
        new = 'log_level = "warning"\nmax_connections = 7\n'
        reload(running, file, new, last_line="only a restart changes max_connections\n")
        start = len(running.log.text)
        assert play_and_leave(running)[start:] == ""


# The session in the README: two literal blocks, each after a paragraph that begins with whose
# terminal it is. What a pupil types follows a prompt that ends in ": ", or is a command alone on
# a line; lines that begin with "$ " were typed into the shell.

SESSION = (
    ("Anna", "Anna"),
    ("Ben", "Ben"),
    *zip(("Anna", "Ben") * 3, ("15", "15", "15", "5", "5"), strict=False),
    ("Anna", "quit"),
    ("Ben", "quit"),
)
SHELL = "$ nc 192.168.1.20 4000"
QUIET_SECONDS = 0.05  # people type when nothing more comes
RETURN_CODE = re.compile(r"\b[A-Z0-9]{4}-[A-Z0-9]{4}\b")  # another one every time


def session() -> str:
    """A session with a real daemon, as it can be copied into the README.

    To print it: cd tests; python -c "import test_daemon; print(test_daemon.session())"
    """
    with daemon() as running, Guest(running.port) as anna:
        anna.waits_for(NAME_PROMPT)
        with Guest(running.port) as ben:
            people = {"Anna": anna, "Ben": ben}
            for name, typed in SESSION:
                person = people[name]
                if typed == "quit":
                    person.waits_for("* Next: ")
                else:
                    person.waits_for(NAME_PROMPT if typed == name else PROMPT, last=True)
                while person.receives(QUIET_SECONDS):
                    pass
                person.types(typed)
                if typed == name:
                    person.waits_for(f"* Welcome, {name}.")
            screens = {name: person.waits_for_the_end() for name, person in people.items()}
    blocks = {name: textwrap.indent(f"{SHELL}\n{text}", "    ") for name, text in screens.items()}
    return "\n".join(f"{name}'s terminal::\n\n{block}" for name, block in blocks.items())


def literal_block(text: str, beginning: str) -> str:
    """The literal block after the paragraph that begins so, without the shell's lines."""
    _, found, rest = f"\n{text}".partition(f"\n{beginning}")
    assert found, f"no paragraph begins with {beginning!r}"
    block = re.search(r"\n\n((?:[ \t]+\S.*\n|[ \t]*\n)+)", f"{rest}\n")
    assert block, f"no literal block follows {beginning!r}"
    lines = textwrap.dedent(block[1]).strip("\n").splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("$ "))


def replay(text: str) -> None:
    """Type what the session's pupils typed; their terminals must show what it shows."""
    expected = [masked(literal_block(text, f"{name}'s terminal")) for name in ("Anna", "Ben")]
    with daemon() as running, Guest(running.port) as anna:
        anna.waits_for(NAME_PROMPT)
        anna.types(next_typed(expected[0], anna.shown()))
        anna.waits_for("* Waiting for an opponent")
        with Guest(running.port) as ben:
            people = list(zip((anna, ben), expected, strict=True))
            while type_next(people):
                pass
            assert [masked(person.shown()) for person, _ in people] == expected


def type_next(people: list[tuple[Guest, str]]) -> bool:
    """Let one of them type when nothing more comes; commands first, for they end no turn."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while any(masked(person.shown()) != block for person, block in people):
        if sum(person.receives(QUIET_SECONDS) for person, _ in people):
            continue
        due = [(person, next_typed(block, person.shown())) for person, block in people]
        due = sorted((it for it in due if it[1]), key=lambda it: it[1].isdigit())
        if due:
            person, line = due[0]
            person.types(line)
            return True
        if time.monotonic() > deadline or any(is_lost(*it) for it in people):
            break  # what is shown then tells
    return False


def is_lost(person: Guest, block: str) -> bool:
    """Whether nothing that still comes can make the screen what it should be."""
    shown = masked(person.shown())
    return shown != block and (person.has_ended or not block.startswith(shown))


def next_typed(block: str, shown: str) -> str:
    """What is typed next by somebody whose terminal shows this much of the block, if anything."""
    shown = masked(shown)
    line, _, _ = block[len(shown) :].partition("\n")
    if not block.startswith(shown):
        return ""
    is_command = shown.endswith("\n") and line.split(" ")[0] in WORDS
    return line if shown.endswith(": ") or is_command else ""


def masked(text: str) -> str:
    return RETURN_CODE.sub(lambda found: "#" * len(found[0]), text)


def test_a_session_can_be_replayed_word_for_word() -> None:
    text = session()
    assert text.count("Proper divisors of 60") == 2
    replay(f"A title\n=======\n\n{text}\nAnd so on.\n")


@pytest.mark.parametrize(
    ("word", "wrong"), [("Subtracting", "Substracting"), (": 15", ": 30"), ("Goodbye", "Bye")]
)
def test_a_session_that_is_not_true_is_found_out(word: str, wrong: str) -> None:
    text = session().replace(word, wrong, 1)
    with pytest.raises(AssertionError):
        replay(text)


def test_the_session_in_the_readme_is_what_the_terminals_show() -> None:
    replay(README.read_text("utf-8"))
