"""One connection: its socket, its lines in, its bounded outbox.

Speaking never blocks: `say` puts text into the outbox, and the post delivers it as one write
before anybody waits again. Whoever does not read loses their own connection, never the other's
time. What is said is not decided here.
"""

import contextlib
import math
import socket
from collections.abc import Callable
from typing import NoReturn

import attrs
import outcome
import trio

from duel_daemon import protocols, wire
from duel_daemon.ears import Ears
from duel_daemon.limits import LineRate, Offence
from duel_daemon.narrator import CLOSED, house
from duel_daemon.wire import Signal

RECEIVE_BYTES = 4096
IN_A_ROW = 16  # lines; then others get their turn, however many came in one packet
PROBES = 4  # of a peer that is silent: some may get lost


class Gone(Exception):  # noqa: N818 - an end, not an error
    """The connection is over, or is to be ended; the text is for the log."""

    def __init__(self, why: str, farewell: str = "") -> None:
        super().__init__(why)
        self.farewell = farewell
        """What the other side reads last, after all that follows from its leaving."""


class Quit(Gone):
    """Somebody leaves for good, or is sent away: there is nothing to come back to."""


@attrs.define(eq=False)
class Post:
    """The peers with something to read that has not been sent yet."""

    _before: Callable[[], None] = attrs.field(default=lambda: None)
    """What must be done before anybody reads anything."""
    on_mistake: Callable[["Peer", BaseException], None] = attrs.field(
        default=lambda peer, exc: None, init=False
    )
    """Told when something could not be delivered through a mistake of ours."""
    _waiting: list["Peer"] = attrs.field(factory=list, init=False)

    def expect(self, peer: "Peer") -> None:
        self._waiting.append(peer)

    def deliver(self) -> None:
        """One write per peer, however many times something was said to it."""
        self._before()
        waiting = self._waiting
        if waiting:
            self._waiting = []
            for peer in waiting:
                try:
                    peer.deliver()
                except Exception as exc:  # that connection's end; whoever comes after it reads on
                    self.on_mistake(peer, exc)
                    peer.drop("a mistake of ours")


@attrs.frozen(kw_only=True)
class PeerLimits(wire.Limits):
    """How much a connection may take; one record for all of them."""

    outbox_bytes: int = 64 * 1024
    line_seconds: float = 60.0
    send_seconds: float = 30.0
    line_burst: int = 10
    lines_per_second: float = 4.0


@attrs.define(eq=False)
class Peer:
    """One connection. Its task reads lines; anybody may say something to it."""

    _sock: socket.socket
    ident: str
    address: str
    _post: Post
    _ears: Ears
    _limits: PeerLimits = attrs.field(kw_only=True)

    ascii_only: bool = attrs.field(default=False, init=False)
    offence: Offence | None = attrs.field(default=None, init=False)
    """What it did that no person does."""
    lost: str = attrs.field(default="", init=False)
    """Why the connection is dead, if it is; nothing can be said to it any more."""
    heard_at: float = attrs.field(factory=trio.current_time, init=False)
    patience: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    """Around the reading of lines; whoever wants to limit it sets a deadline."""
    wire_state: str = attrs.field(default="", init=False)
    keep_wire: Callable[[str], None] | None = attrs.field(default=None, init=False)
    """Told what the decoder holds, whenever a restart would lose something by it."""
    at_once: Callable[[str], bool] | None = attrs.field(default=None, init=False)
    """Offered each line first; whether it was dealt with, without waiting for anything."""

    _nursery: trio.Nursery | None = attrs.field(default=None, init=False)
    _is_sent_away: bool = attrs.field(default=False, init=False)
    _task: trio.lowlevel.Task | None = attrs.field(default=None, init=False)
    """While it waits for a line."""
    _is_heard: bool = attrs.field(default=False, init=False)
    _has_ended: bool = attrs.field(default=False, init=False)
    _is_hurried: bool = attrs.field(default=False, init=False)
    _decoder: wire.Decoder = attrs.field(init=False)
    _rate: LineRate = attrs.field(init=False)
    _lines: list[str | Signal] = attrs.field(factory=list, init=False)
    _in_a_row: int = attrs.field(default=0, init=False)
    _first_bytes: bytes | None = attrs.field(default=b"", init=False)
    _line_began: float = attrs.field(default=math.inf, init=False)

    _said: list[str] = attrs.field(factory=list, init=False)
    _prompt: str | None = attrs.field(default=None, init=False)
    _prompt_is_open: bool = attrs.field(default=False, init=False)
    _is_answering: bool = attrs.field(default=False, init=False)
    """A line is being dealt with: until that is done, the prompt would come too early."""
    _backlog: bytearray = attrs.field(factory=bytearray, init=False)
    _writer: trio.Lock | None = attrs.field(default=None, init=False)
    """Made when there is something to write later."""

    def __attrs_post_init__(self) -> None:
        limits = self._limits
        self._decoder = wire.Decoder(limits)
        self._rate = LineRate(limits.line_burst, limits.lines_per_second)
        _set_options(self._sock, limits)

    def live_in(self, nursery: trio.Nursery) -> None:
        """The connection's own; what is still unsent is sent from there."""
        self._nursery = nursery
        if self._is_sent_away:
            nursery.cancel_scope.cancel()

    def take_up(self, wire_state: str) -> None:
        """This connection has been served before, by a process that is gone."""
        self._decoder = wire.Decoder.thaw(wire_state, self._limits)
        self.wire_state = wire_state
        self._first_bytes = None

    def limit(self, limits: PeerLimits) -> None:
        """Other limits hold from now on."""
        self._limits = limits
        self._decoder.limit(limits)
        self._rate.limit(limits.line_burst, limits.lines_per_second)
        self.patience.deadline = min(self.patience.deadline, self.line_due)
        with contextlib.suppress(OSError):  # it is closed already
            _set_options(self._sock, limits)

    # Speaking.

    def say(self, text: str) -> None:
        """Whole lines, each ending in a newline."""
        if not self._said:
            self._post.expect(self)
        self._said.append(text)

    def ask(self, prompt: str | None, text: str = "") -> None:
        """The question to stand last on the screen, shown again after whatever interrupts it."""
        self._prompt = prompt
        self.say(text)

    def deliver(self) -> None:
        """Send what was said, and the prompt after it."""
        text = "".join(self._said)
        self._said.clear()
        if self._prompt_is_open and text:
            text = f"\n{text}"  # whatever interrupts an open prompt starts on a fresh line
            self._prompt_is_open = False
        if self._prompt is not None and not self._prompt_is_open and not self._is_answering:
            text += self._prompt
            self._prompt_is_open = True
        if text:
            self._send(wire.encode(text, self.ascii_only))

    def _send(self, data: bytes) -> None:
        if self.lost:
            return
        sent = 0
        if not self._backlog:
            try:
                sent = self._sock.send(data)
            except BlockingIOError:
                pass
            except OSError as exc:
                self.drop(f"send: {exc.strerror}")
                return
        if sent < len(data):
            self._keep(data[sent:])

    def _keep(self, data: bytes) -> None:
        """The kernel takes no more for now. A writer exists only while something is unsent."""
        if len(self._backlog) + len(data) > self._limits.outbox_bytes:
            self.drop("does not read")
            return
        if not self._backlog and self._nursery is not None:
            self._nursery.start_soon(self._send_backlog)
        self._backlog += data

    async def _send_backlog(self) -> None:
        self._writer = self._writer or trio.Lock()
        async with self._writer:  # the last words may find a writer still at work
            while self._backlog and not self.lost:
                await trio.lowlevel.wait_writable(self._sock)
                try:
                    sent = self._sock.send(self._backlog)
                except BlockingIOError:
                    continue
                except OSError as exc:
                    self.drop(f"send: {exc.strerror}")
                    return
                del self._backlog[:sent]

    # Hearing.

    @property
    def line_due(self) -> float:
        """When the line that has begun must have ended."""
        return self._line_began + self._limits.line_seconds

    async def line(self) -> str:
        """The next line. Whatever was said to anybody is sent before this waits.

        What else a client can ask for (is anybody there?) waits its turn among the lines, and
        counts as one: there must be no way to be answered faster.
        """
        if self._is_answering:
            self._is_answering = False
            self.say("")  # so that the prompt comes again, should the line be answered by nothing
        while True:  # noqa: ASYNC913 - each round takes something that has come, or waits for it
            while not self._lines:
                if self._has_ended:
                    raise Gone("end of input")
                self._in_a_row = 0
                self._post.deliver()
                await self._wait()
            self._in_a_row += 1
            if self._in_a_row > IN_A_ROW:
                await self._let_others_go_on()
            if wait := self._rate.take(trio.current_time()):
                await self._slow_down(wait)
            line = self._lines.pop(0)
            if type(line) is str:
                break
            self._answer(line)
        self._prompt_is_open = False  # Enter has moved the cursor to a fresh line
        self._is_answering = True
        return line

    async def _slow_down(self, wait: float) -> None:
        """A flood is answered in its time. Meanwhile nothing is read, so no clock of theirs runs:
        neither are they idle, nor is it their fault that the line begun does not end.
        """
        self._line_began += wait
        self.heard_at = trio.current_time() + wait
        self._post.deliver()
        await trio.sleep(wait)

    async def _let_others_go_on(self) -> None:
        """Also sends what was answered so far: it must not pile up over a packet full of lines."""
        self._in_a_row = 0
        self._post.deliver()
        await trio.lowlevel.checkpoint()

    async def _wait(self) -> None:
        """Until there is something for this task to do. Only meanwhile anything is read."""
        if not self._is_heard:
            self._is_heard = True
            self._ears.listen(self._sock.fileno(), self._hear)
        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(self._wait_no_more)

    def _wait_no_more(self, _: object) -> trio.lowlevel.Abort:
        self._task = None
        return trio.lowlevel.Abort.SUCCEEDED

    def _hear(self, now: float) -> None:
        """Something has come. What can be answered at once does not wake the task: that would
        cost more than the answer.
        """
        task = self._task
        if task is None:  # it is busy: the kernel keeps what comes until it has time
            self._turn_away()
            return
        result: outcome.Outcome[None] = outcome.Value(None)
        try:
            self._take(self._sock.recv(RECEIVE_BYTES), now)
            if self._is_answered_at_once(now):
                return
        except BlockingIOError:
            return
        except OSError as exc:
            self.lost = f"receive: {exc.strerror}"
            result = outcome.Error(Gone(self.lost))
        except Exception as exc:  # an end, or a mistake of ours: in either case its own
            result = outcome.Error(exc)
        if self._task is None:  # an answer could not be sent: its task has been woken to end
            return
        self._task = None
        trio.lowlevel.reschedule(task, result)

    def _turn_away(self) -> None:
        """Hear nothing until the next wait."""
        if self._is_heard:
            self._is_heard = False
            self._ears.ignore(self._sock.fileno())

    def _take(self, data: bytes, now: float) -> None:
        if not data:
            self._has_ended = True
            return
        self.heard_at = now
        if self._first_bytes is not None:
            self._look_at_first_bytes(data)
        came = self._decoder.feed(data)
        self._lines += came
        if self._decoder.is_at_rest and not self.wire_state:  # as after nearly every packet
            self._line_began = math.inf
        else:
            self._take_the_rest(data, came)

    def _take_the_rest(self, data: bytes, came: wire.Decoded) -> None:
        """A line that has begun, telnet, too much of something."""
        if self._decoder.telnet and (replies := self._decoder.take_replies()):
            self._send(replies)
        if self._decoder.overrun:
            self._end_as_too_much()
        if self.keep_wire is not None and (state := self._decoder.freeze()) != self.wire_state:
            self.wire_state = state
            self.keep_wire(state)
        self._time_the_line(came)
        if len(data) > self._limits.line_bytes and not came:
            self._lines.append(Signal.MUCH)

    def _is_answered_at_once(self, now: float) -> bool:
        """Whether the task may sleep on."""
        if len(self._lines) != 1:
            return not self._lines and not self._has_ended
        line = self._lines[0]
        if type(line) is not str or self.at_once is None or not self._rate.is_free(now):
            return False
        if not self.at_once(line):
            return False
        self._prompt_is_open = False
        self.say("")
        self._rate.take(now)
        self._lines.clear()
        return True

    def _look_at_first_bytes(self, data: bytes) -> None:
        """A web page must not be able to play: nothing of another protocol becomes a line."""
        assert self._first_bytes is not None
        first = self._first_bytes + data
        protocol = protocols.wrong_protocol(first)
        if protocol is not None:
            self.offence = Offence.OTHER_PROTOCOL
            no = f"No {protocol} here, but a game for nc or telnet. {CLOSED}"
            raise Quit(f"spoke {protocol}", no)
        if protocols.is_no_persons(first):
            self._end_as_too_much()
        self._first_bytes = protocols.still_to_judge(first)

    def _end_as_too_much(self) -> NoReturn:
        self.offence = Offence.TOO_MUCH
        raise Gone(self.offence.text, f"That was too much. {CLOSED}")

    def _answer(self, signal: Signal | str) -> None:
        if signal is Signal.END:
            self._has_ended = True
            self._lines.clear()  # of what came after the end, whatever packet it came in
        elif signal is Signal.INTERRUPT:
            self._prompt_is_open = False
            self.say("\n")  # Ctrl-C: the line begun is forgotten; the prompt comes again
        elif signal is not Signal.MUCH:
            self.say(house(_ANSWERS[signal].format(self._limits.line_bytes)))

    def _time_the_line(self, came: wire.Decoded) -> None:
        """From its first packet on, which may have ended the line before it."""
        if not self._decoder.unfinished:
            self._line_began = math.inf
        elif self._line_began == math.inf or any(x is not Signal.ARE_YOU_THERE for x in came):
            self._line_began = self.heard_at
            self.patience.deadline = min(self.patience.deadline, self.line_due)

    # Ending.

    def drop(self, why: str) -> None:
        """The connection is dead: its own task finds out at once, whoever noticed."""
        if not self.lost:
            self.lost = why
            self._backlog.clear()
            self._end()

    def send_away(self, text: str, *, hurried: bool = False) -> None:
        """Its own task ends it at once, with these last words; in a hurry, read or not."""
        self._is_hurried = hurried
        self.ask(None)
        self.say(text)
        self._end()

    def _end(self) -> None:
        self._is_sent_away = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    @property
    def is_dropped(self) -> bool:
        """Whether it was found dead by somebody else than its own task."""
        return self._is_sent_away and bool(self.lost)

    async def finish(self) -> None:
        """Send the last words.

        close() with unread input resets the connection, and the last words may be lost with it:
        so shut down, and read what still comes until the other side closes too. The caller knows
        how long to wait for that. In a hurry, only what has come is read.
        """
        self._turn_away()
        self._prompt = None
        self._post.deliver()
        if self._backlog and not self._is_hurried:
            await self._send_backlog()
        try:
            if not self.lost:
                self._sock.shutdown(socket.SHUT_WR)
            while not self.lost and not self._has_ended:
                if not self._is_hurried:
                    await trio.lowlevel.wait_readable(self._sock)
                self._has_ended = not self._sock.recv(RECEIVE_BYTES) or self._is_hurried
        except OSError:
            pass  # the other side has closed already

    def let_go(self) -> None:
        """Close our end of it only: the connection is to outlive this process."""
        self._turn_away()
        self.lost = self.lost or "let go"
        self._sock.close()

    def close(self) -> None:
        self._turn_away()
        self.lost = self.lost or "closed"
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)  # close() alone does not, if systemd holds it too
        self._sock.close()


_ANSWERS: dict[Signal | str, str] = {
    Signal.TOO_LONG: "That line was too long ({} bytes at most). Nothing was done.",
    Signal.ARE_YOU_THERE: "Yes, I am here.",
    Signal.UTF16: "Your program sends UTF-16; please switch it to UTF-8 or plain ASCII.",
}


def _set_options(sock: socket.socket, limits: PeerLimits) -> None:
    sock.setblocking(False)
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    # TCP_USER_TIMEOUT counts for a silent peer too: once it is over, the next probe is the last if
    # the one before was not answered, whatever TCP_KEEPCNT says. So all have to fit in before. With
    # 60 seconds of silence and 30 for this, one lost packet cost the connection (measured).
    idle = max(1, int(limits.send_seconds / 2))
    for level, option, value in (
        # The kernel's own default let 2 MB pile up for one deaf client.
        (socket.SOL_SOCKET, socket.SO_SNDBUF, limits.outbox_bytes),
        (socket.SOL_SOCKET, socket.SO_OOBINLINE, 1),  # or a telnet Synch eats the next letter
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, idle // PROBES)),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES),
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limits.send_seconds * 1000)),
    ):
        sock.setsockopt(level, option, value)
