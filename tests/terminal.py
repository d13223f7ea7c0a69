"""Real processes in tests: the daemon, and whatever is typed into and shown by a terminal.

Waiting is always for a text or an end, with a deadline that only a broken daemon meets. Plain
code without trio: what is tested here runs outside of this process.
"""

import codecs
import contextlib
import fcntl
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from types import TracebackType

import pytest

from duel_daemon.narrator import HOUSE

DEADLINE_SECONDS = 30.0  # machines that run tests can be very busy
LOOK_AGAIN_SECONDS = 0.25
NAME_PROMPT = "Your name (Enter for a guest name): "
BACKSPACE, CTRL_C, ENTER = "\x7f", "\x03", "\r"  # as a terminal sends the keys

# No warning may pass unnoticed in the daemon either.
DAEMON = (sys.executable, "-bb", "-W", "error", "-m", "duel_daemon")


class Output:
    """What comes out of a file descriptor."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.text = ""
        self.has_ended = False
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def shown(self) -> str:
        """What a person sees of it."""
        return self.text

    def waits_for(self, text: str, *, last: bool = False, since: int = 0) -> str:
        """What is shown from `since` on, as soon as this text is there, or (last) ends it."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            shown = self.shown()[since:]
            if shown.endswith(text) if last else text in shown:
                return shown
            assert not self.has_ended, f"{text!r} did not come before the end of:\n{shown}"
            assert time.monotonic() < deadline, f"{text!r} did not come after:\n{shown}"
            self.receives()

    def waits_for_the_end(self) -> str:
        """All that is shown, when nothing more can come."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self.has_ended:
            assert time.monotonic() < deadline, f"no end after:\n{self.shown()}"
            self.receives()
        return self.shown()

    def receives(self, seconds: float = LOOK_AGAIN_SECONDS) -> bool:
        """Take in what has come, or comes within this time; whether anything did."""
        ready, _, _ = select.select([] if self.has_ended else [self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: nobody holds the other side of the pseudo-terminal any more
            data = b""
        self.has_ended = not data
        self.text += self._decode(data)
        return True


class Terminal(Output):
    """A pseudo-terminal with a program in it: keys go in, and there is a screen to look at.

    With `echo` the terminal driver shows what is typed; without, the program switched that off,
    and the screen shows what was typed as if by a program that echoes.
    """

    def __init__(
        self, *command: str, environ: Mapping[str, str] | None = None, echo: bool = True
    ) -> None:
        master, slave = os.openpty()
        super().__init__(master)
        self.echo = echo
        _be_a_usual_terminal(slave)
        # setsid makes it the controlling terminal, without which Ctrl-C is just a character;
        # preexec_fn would be the other way, and is not safe beside threads.
        self.process = subprocess.Popen(
            ("setsid", "--ctty", *command),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=usual_environ() | dict(environ or {}),
        )
        os.close(slave)

    def types(self, keys: str) -> None:
        os.write(self.fd, keys.encode())
        if not self.echo:
            self.text += keys.replace(BACKSPACE, "\b").replace(CTRL_C, "").replace(ENTER, "\r\n")

    def shown(self) -> str:
        return screen(self.text)

    def ends(self, keys: str = "") -> int:
        """The exit code of the program, once it has ended; a person may press keys until then."""
        press_at = start = time.monotonic()
        while not self.has_ended:
            now = time.monotonic()
            assert now < start + DEADLINE_SECONDS, f"no end after:\n{self.shown()}"
            if now >= press_at:
                os.write(self.fd, keys.encode())
                press_at = now + LOOK_AGAIN_SECONDS
            self.receives()
        return self.process.wait(DEADLINE_SECONDS)

    def is_closed(self) -> None:
        """The window is closed: the program is told so by SIGHUP."""
        os.close(self.fd)
        self.fd = -1

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        if self.fd >= 0:
            os.close(self.fd)


class Guest(Output):
    """Somebody with a connection and no program between; what they type is shown as by an echo."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.sock = socket.create_connection((host, port), DEADLINE_SECONDS)
        self.sock.settimeout(None)
        super().__init__(self.sock.fileno())

    def types(self, line: str) -> None:
        self.text += f"{line}\r\n"
        self.sock.sendall(f"{line}\n".encode())

    def is_named(self, name: str) -> "Guest":
        self.waits_for(NAME_PROMPT)
        self.types(name)
        self.waits_for(f"* Welcome, {name}.")
        return self

    def shown(self) -> str:
        return screen(self.text)

    def __enter__(self) -> "Guest":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.sock.close()


def _be_a_usual_terminal(slave: int) -> None:
    modes = termios.tcgetattr(slave)
    modes[0] |= 0o40000  # IUTF8, which termios has no name for
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))


def usual_environ() -> dict[str, str]:
    """Nothing of the tester's own settings, and nothing of the daemon's on this machine."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith("DUEL_")}
    kept.pop("JOURNAL_STREAM", None)
    return kept | {
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "DUEL_CONFIG": os.devnull,
        "DUEL_STATE": "none",
    }


def screen(text: str) -> str:
    """What a terminal shows after these characters: enough of one for a line typed and edited."""
    rows: list[str] = []
    row: list[str] = []
    column = 0
    for char in text:
        if char == "\n":
            rows.append("".join(row) + "\n")
            row = [" "] * column  # the "staircase", where nobody sent a CR
        elif char == "\r":
            column = 0
        elif char == "\b":
            column = max(0, column - 1)
        else:
            row[column : column + 1] = [char]
            column += 1
    return "".join(rows) + "".join(row)


def rule_book_lines(shown: str) -> str:
    """A screen without the house's lines and without prompts that were left unanswered.

    Those are asked again: a house line came in between, or Ctrl-C was pressed.
    """
    ours = (HOUSE, NAME_PROMPT)
    unanswered = (": ", "^C")
    lines = shown.splitlines()
    return "".join(
        f"{line}\n" for line in lines if not line.startswith(ours) and not line.endswith(unanswered)
    )


# The daemon.


class Daemon:
    """The real daemon in a process of its own; what it logs is read from `log`."""

    def __init__(self, port: int, options: tuple[str, ...], environ: Mapping[str, str]) -> None:
        self.port = port
        reading, writing = os.pipe()
        journal = os.fstat(writing)
        environ = {
            name: text.format(stderr=f"{journal.st_dev}:{journal.st_ino}")
            for name, text in environ.items()
        }
        self.process = subprocess.Popen(
            (*DAEMON, *options),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            env=usual_environ() | environ,
        )
        os.close(writing)
        self.log = Output(reading)

    def ends(self) -> int:
        """The exit code, once it has ended."""
        self.log.waits_for_the_end()
        return self.process.wait(DEADLINE_SECONDS)

    def is_gone(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.log.fd)


@contextlib.contextmanager
def daemon(*options: str, host: str = "127.0.0.1", **environ: str) -> Iterator[Daemon]:
    """A daemon that listens; first come moves first, unless the options say otherwise."""
    for _ in range(5):
        port = free_port(host)
        where = ("--host", host, "--port", str(port), "--first-turn", "first-come")
        running = Daemon(port, (*where, *options), environ)
        try:
            running.log.waits_for("\n")
            if "in use" in running.log.text:
                continue  # somebody was quicker to take the port
            running.log.waits_for("listening")
            yield running
            return
        finally:
            running.is_gone()
    raise AssertionError("no free port was found")


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody has, most likely not even a moment later."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as sock:
        sock.bind(("::" if ":" in host else "", 0))  # free on every address
        port: int = sock.getsockname()[1]
        return port


def needs(command: str) -> None:
    """Skip the test where the program of a command is not installed."""
    program = command.split(maxsplit=1)[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def needs_ipv6() -> None:
    """Skip the test on a machine without IPv6."""
    try:
        free_port("::1")
    except OSError as exc:
        pytest.skip(f"this machine has no IPv6 ({exc.strerror})")
