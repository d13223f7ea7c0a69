"""Who may come in, and how many: the limits on strangers, put to use.

Whoever is refused reads why. What is connected is never touched by it, but for one thing: when too
many have not given a name, the one who has had the longest time for it makes room.
"""

import contextlib
import logging
import math
import socket

import attrs
import trio

from duel_daemon.limits import Gate, GateLimits, OncePer, address_key, networks
from duel_daemon.logs import where
from duel_daemon.narrator import CLOSED, house
from duel_daemon.peer import RECEIVE_BYTES, Peer, PeerLimits
from duel_daemon.settings import Settings

log = logging.getLogger("duel_daemon")

FULL = f"Too many people are here; try again in a minute. {CLOSED}"
REFUSING_SECONDS = 1.0  # after one was refused, the next may well be of the same crowd
CROWDED = f"Too many are at the door. Please connect again. {CLOSED}"


@attrs.define(eq=False)
class Door:
    """Counts everybody who is connected, and who of them has no name yet."""

    settings: Settings
    peer_limits: PeerLimits = attrs.field(init=False)
    """Of every connection; the same record for all."""
    _gate: Gate = attrs.field(factory=Gate, init=False)
    _inside: set[Peer] = attrs.field(factory=set, init=False)
    _unnamed: dict[Peer, None] = attrs.field(factory=dict, init=False)
    """Those who came first, first."""
    _named: set[Peer] = attrs.field(factory=set, init=False)
    _refused_at: float = attrs.field(default=-math.inf, init=False)
    _said: OncePer = attrs.field(factory=OncePer, init=False)

    def __attrs_post_init__(self) -> None:
        self.reconfigure(self.settings)

    def reconfigure(self, settings: Settings) -> None:
        """New limits hold at once, for those who are connected too; none of them is sent away."""
        self.settings = settings
        self._gate.limits = settings.part(GateLimits, trusted=networks(settings.trusted))
        self._said.seconds = settings.log_seconds
        self.peer_limits = settings.part(PeerLimits)
        for peer in self._inside:
            peer.limit(self.peer_limits)

    @property
    def inside(self) -> set[Peer]:
        return self._inside

    def refusal(self, address: str) -> str | None:
        """Why somebody from this address cannot come in; else they are counted."""
        sentence = self._refusal(address, trio.current_time())
        if sentence is not None:
            self._refused_at = trio.current_time()
        return sentence

    @property
    def is_refusing(self) -> bool:
        """Whether somebody was refused a moment ago."""
        return trio.current_time() < self._refused_at + REFUSING_SECONDS

    def _refusal(self, address: str, now: float) -> str | None:
        if len(self._inside) >= self.settings.max_connections:
            self.log_once(logging.WARNING, "full", "no room for more than %d connections",
                          self.settings.max_connections)  # fmt: skip
            return FULL
        refused = self._gate.admit(address, now)
        if refused is None:
            return None
        kind = f"{refused.why.value} {address_key(address)}"
        self.log_once(logging.WARNING, kind, "%s is refused: %s", address, refused.why.value)
        return f"{refused.sentence} {CLOSED}"

    def was_here(self, address: str) -> None:
        """Somebody was let in by the process before this one: they count, and stay."""
        self._gate.count(address)

    def turn_away(self, sock: socket.socket, sentence: str) -> None:
        """One line, as far as it gets, and gone: a flood of these must cost next to nothing."""
        with contextlib.suppress(OSError), sock:
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                sock.recv(RECEIVE_BYTES)  # what is unread at close() could cost them the sentence
            sock.send(house(sentence).replace("\n", "\r\n").encode())
            sock.shutdown(socket.SHUT_RDWR)

    def came_in(self, peer: Peer) -> None:
        self._inside.add(peer)
        if not self._gate.trusts(peer.address):
            self._unnamed[peer] = None
        while len(self._unnamed) > self.settings.max_unnamed:  # more than one too many: a new limit
            longest = next(iter(self._unnamed))
            self.log_once(logging.WARNING, "crowded", "over %d connections without a name",
                          self.settings.max_unnamed)  # fmt: skip
            del self._unnamed[longest]
            longest.send_away(house(CROWDED), hurried=True)  # they count as long as they are here

    def is_named(self, peer: Peer) -> None:
        """Said once of each who gives a name or comes back to one."""
        self._unnamed.pop(peer, None)
        self._named.add(peer)
        self._gate.named(peer.address)

    def left(self, peer: Peer) -> None:
        """Somebody is gone; whoever did what no person does is remembered for a while."""
        self._inside.discard(peer)
        self._unnamed.pop(peer, None)
        self._gate.left(peer.address)
        now, offence = trio.current_time(), peer.offence
        if peer in self._named:
            self._named.discard(peer)
            self._gate.unnamed(peer.address, now, was_person=offence is None)
        if offence is not None:
            self._gate.offend(peer.address, now, offence.weight)
            self.log_once(logging.INFO, offence.text, "%s, from %s, is no player: %s",
                          peer.ident, peer.address, offence.text)  # fmt: skip

    def log_end(self, peer: Peer) -> None:
        """A connection that died; of a stranger without a name nobody wants to know."""
        level = logging.DEBUG if peer in self._unnamed else logging.INFO
        log.log(level, "%s is lost: %s", peer.ident, peer.lost)

    def log_mistake(self, peer: Peer, exc: BaseException) -> None:
        """A mistake of ours, with its traceback; the same again is only counted."""
        self.log_once(logging.ERROR, where(exc), "%s: a mistake of ours", peer.ident, exc=exc)

    def log_once(
        self, level: int, kind: str, text: str, *args: object, exc: BaseException | None = None
    ) -> None:
        """The log says each thing once in `log_seconds`, however often it happens."""
        unsaid = self._said.ask(kind, trio.current_time())
        if unsaid is not None:
            more = f" ({unsaid} more before)" if unsaid else ""
            log.log(level, f"{text}%s", *args, more, exc_info=exc)
