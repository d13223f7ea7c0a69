"""How much people may take: connections per address, lines a second, lines in the log, patience.

Pure counting, the time handed in; what is refused, delayed or left unsaid is done elsewhere.
Every table here has a bound, so that no number of strangers can make it grow.
"""

import enum
import ipaddress
import math
from itertools import islice
from typing import Generic, TypeVar

import attrs

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

IPV6_PREFIX = 64  # what one household or school gets: a machine can take any address in it
MINUTE_SECONDS = 60.0
ROUNDING_SECONDS = 1e-6  # sums of floating point times are right to this, and better

OPEN_SECONDS = 10.0  # between two waits, for whoever else is at the address

LOOKED_AT = 16  # of the least recently seen, to find one to forget

LOG_KINDS = 256  # lines per interval at most; a log that says more is not read either


# Addresses.


def address_key(address: str) -> str:
    """Who counts as the same stranger: an IPv4 address, or the /64 of an IPv6 address.

    But all link-local addresses have one /64, however many machines are on the LAN: each of them
    counts on its own, whatever interface it came by. What is no address (a Unix socket has none)
    is its own key.
    """
    return _key(address, _parsed(address))


def _parsed(address: str) -> Address | None:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])  # without the scope: fe80::1%eth0
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed


def _key(address: str, parsed: Address | None) -> str:
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.is_link_local:
        return str(ipaddress.IPv6Network((parsed, IPV6_PREFIX), strict=False))
    return str(parsed or address)


def networks(text: str) -> tuple[Network, ...]:
    """What an operator lists: addresses and CIDR blocks, separated by commas.

    ValueError names the first that is neither, in words.
    """
    return tuple(_network(word.strip()) for word in text.split(",") if word.strip())


def _network(word: str) -> Network:
    try:
        return ipaddress.ip_network(word, strict=False)
    except ValueError:
        raise ValueError(f"{word!r} is no network, such as 192.168.1.0/24 or fd00::/8") from None


# Connections.


class Offence(enum.Enum):
    """What no person does, in words for the log, and for how many it counts."""

    def __init__(self, text: str, weight: float) -> None:
        self.text = text
        self.weight = weight

    OTHER_PROTOCOL = "another protocol", 1.0
    TOO_MUCH = "more than a person's client sends", 2.0
    WRONG_CODES = "wrong codes", 2.0
    NO_NAME = "no name in time", 0.5


class Why(enum.Enum):
    """Why somebody is not admitted; the values are stable, for the log."""

    AT_ONCE = "at-once"
    TOO_FAST = "too-fast"
    OFFENDER = "offender"


@attrs.frozen
class Refusal:
    """What the refused one reads, and what the log calls it."""

    sentence: str
    why: Why


@attrs.frozen(kw_only=True)
class GateLimits:
    """How many connections an address may have, what offenders wait, and who is exempt from that.

    The first few offences cost nothing; then the wait doubles with each, up to the longest.

    A whole class can sit behind one address with a single joker among them, and nothing tells the
    joker's next connection from a pupil's. So whoever has a name speaks for the address: while
    they are here, and so long after as they may come back, nobody there waits, and each of them
    adds as many new connections a minute as a strange address has: one joker, busy as he may be,
    cannot use up the share of all. Where nobody has a name yet, the door is open for a while
    between two waits, and the first who gives one opens it for the rest.
    """

    per_address: int = 40
    new_per_minute: int = 120
    trusted: tuple[Network, ...] = ()
    free_offences: int = 4
    longest_wait_seconds: float = 64.0  # 0: nobody waits
    return_seconds: float = 60.0  # so long, and whoever has gone does not speak for the address
    offence_seconds: float = 60.0  # so long, and one is forgiven
    known_addresses: int = 4096  # that are remembered without being connected: about 1 MB

    @property
    def most_offences(self) -> float:
        """What counts: with more than this a wait would be longer than the longest."""
        return self.free_offences + math.log2(max(1.0, self.longest_wait_seconds))


@attrs.define
class _Past:
    """What is remembered of an address, connected or not."""

    refilled_at: float = -math.inf
    """When its allowance of new connections is (or was) whole again."""
    offences: float = 0.0
    counted_at: float = -math.inf
    """When the offences were so many; since then they have been forgiven little by little."""
    wait_until: float = -math.inf
    named_until: float = -math.inf
    """So long somebody who had a name and has gone may come back."""

    def offences_at(self, now: float, limits: GateLimits) -> float:
        forgiven = (now - self.counted_at) / limits.offence_seconds
        return max(0.0, self.offences - forgiven)


@attrs.define(eq=False)
class Gate:
    """Who may come in. It only ever turns away newcomers: what is connected stays connected.

    An address may open `new_per_minute` connections at once, then one whenever its allowance has
    grown by one again: an honest class waits half a second then, not for the minute to end.
    """

    limits: GateLimits = GateLimits()
    """May be replaced at any time."""
    _connected: dict[str, int] = attrs.field(factory=dict, init=False)
    _named: dict[str, int] = attrs.field(factory=dict, init=False)
    """Those of the connected who have a name."""
    _pasts: dict[str, _Past] = attrs.field(factory=dict, init=False)
    """The least recently seen first."""

    def admit(self, address: str, now: float) -> Refusal | None:
        """Count a newcomer in, or say why not. Whoever is admitted must be told to `left`."""
        parsed = _parsed(address)
        key = _key(address, parsed)
        refusal = None if self._is_trusted(parsed) else self._refusal(key, now)
        if refusal is None:
            self._count(key)
        return refusal

    def count(self, address: str) -> None:
        """Somebody is connected already, whatever the limits; they too must be told to `left`."""
        self._count(address_key(address))

    def _count(self, key: str) -> None:
        self._connected[key] = self._connected.get(key, 0) + 1

    def left(self, address: str) -> None:
        """Somebody who was admitted has gone."""
        _take_one(self._connected, address_key(address))

    def named(self, address: str) -> None:
        """Somebody who is connected has a name; before they are told to `left`, to `unnamed`."""
        key = address_key(address)
        self._named[key] = self._named.get(key, 0) + 1

    def unnamed(self, address: str, now: float, *, was_person: bool = True) -> None:
        """Somebody with a name is going, and may come back; not so whoever was no person."""
        key = address_key(address)
        _take_one(self._named, key)
        if was_person:
            self._past(key, now).named_until = now + self.limits.return_seconds

    def offend(self, address: str, now: float, weight: float = 1.0) -> None:
        """Somebody at this address, connected or not, did what no person does."""
        parsed = _parsed(address)
        if not self._is_trusted(parsed):
            self._add_offence(self._past(_key(address, parsed), now), now, weight)

    def trusts(self, address: str) -> bool:
        return self._is_trusted(_parsed(address))

    def connected(self, address: str) -> int:
        return self._connected.get(address_key(address), 0)

    @property
    def known(self) -> int:
        """How many addresses are remembered."""
        return len(self._pasts)

    def _is_trusted(self, parsed: Address | None) -> bool:
        return parsed is not None and any(parsed in network for network in self.limits.trusted)

    def _refusal(self, key: str, now: float) -> Refusal | None:
        limits = self.limits
        past = self._past(key, now)
        named = self._named.get(key, 0) or int(now < past.named_until)
        wait = min(past.wait_until - now, limits.longest_wait_seconds)
        if wait > 0 and not named:  # not an offence itself: else whoever retries would never get in
            return _refused(Why.OFFENDER, wait)
        if self._connected.get(key, 0) >= limits.per_address:
            return _refused(Why.AT_ONCE, limits.per_address)  # nor is this: the class is large
        per_minute = limits.new_per_minute * (1 + named)
        step = MINUTE_SECONDS / per_minute
        refilled_at = max(past.refilled_at, now) + step
        if refilled_at - now > MINUTE_SECONDS + ROUNDING_SECONDS:
            self._add_offence(past, now, 1.0)
            return _refused(Why.TOO_FAST, per_minute)
        past.refilled_at = refilled_at
        return None

    def _add_offence(self, past: _Past, now: float, weight: float) -> None:
        limits = self.limits
        past.offences = min(limits.most_offences, past.offences_at(now, limits) + weight)
        past.counted_at = now
        is_open = past.wait_until <= now < past.wait_until + OPEN_SECONDS
        if past.offences > limits.free_offences and not is_open:
            past.wait_until = now + 2.0 ** (past.offences - limits.free_offences)

    def _past(self, key: str, now: float) -> _Past:
        """What is known of an address, as of the one seen last."""
        past = self._pasts.pop(key, None)
        if past is None:
            past = _Past()
            while len(self._pasts) >= self.limits.known_addresses:  # once, but for a new limit
                self._forget_one(now)
        self._pasts[key] = past
        return past

    def _forget_one(self, now: float) -> None:
        """Of those not seen for longest, whoever has offended least."""
        oldest = islice(self._pasts.items(), LOOKED_AT)
        key, _ = min(oldest, key=lambda item: item[1].offences_at(now, self.limits))
        del self._pasts[key]


def _take_one(counts: dict[str, int], key: str) -> None:
    count = counts.pop(key, 0) - 1
    if count > 0:
        counts[key] = count


def _refused(why: Why, number: float) -> Refusal:
    return Refusal(_SENTENCES[why].format(math.ceil(number - ROUNDING_SECONDS)), why)


_SENTENCES = {
    Why.AT_ONCE: (
        "Too many connections from your address ({} at once). "
        "Close one, or ask your teacher to raise per_address."
    ),
    Why.TOO_FAST: (
        "Too many new connections from your address ({} a minute). "
        "Try again in a few seconds, or ask your teacher to raise new_per_minute."
    ),
    Why.OFFENDER: "Your address has sent too much that no player sends. Try again in {} s.",
}


# Lines.


class LineRate:
    """How fast one connection's lines are taken: a burst, then so many a second.

    This runs for every line, so it is one number: when the whole burst will be free again. Each
    line taken puts that off by the time of one line.
    """

    __slots__ = ("_burst_seconds", "_line_seconds", "_whole_at")

    def __init__(self, burst: int = 10, per_second: float = 4.0) -> None:
        self._whole_at = -math.inf
        self.limit(burst, per_second)

    def limit(self, burst: int, per_second: float) -> None:
        """From the next line on."""
        self._line_seconds = 1.0 / per_second
        self._burst_seconds = burst / per_second

    def is_free(self, now: float) -> bool:
        """Whether a line could be acted on now."""
        return self._whole_at + self._line_seconds - now <= self._burst_seconds

    def take(self, now: float) -> float:
        """Count a line. The seconds to wait before it is acted on; 0.0: none."""
        whole_at = self._whole_at
        if whole_at < now:
            whole_at = now
        self._whole_at = whole_at = whole_at + self._line_seconds
        wait = whole_at - now - self._burst_seconds
        return wait if wait > ROUNDING_SECONDS else 0.0


# The patience of others.

P = TypeVar("P")


@attrs.define(eq=False)
class SoOften(Generic[P]):
    """Each may do a thing so many times in so many seconds. Whoever leaves is to be forgotten."""

    times: int
    seconds: float
    _done_at: dict[P, tuple[float, ...]] = attrs.field(factory=dict, init=False)
    """The last times of each, the longest ago first."""

    def take(self, who: P, now: float) -> float:
        """Count it once more, and return 0.0; or, if that is too often, the seconds to wait."""
        done_at = self._done_at.get(who) or (-math.inf,) * self.times
        wait = done_at[0] + self.seconds - now
        if wait > 0.0:
            return wait
        self._done_at[who] = (*done_at[1:], now)
        return 0.0

    def give_back(self, who: P) -> None:
        """The last time does not count."""
        self._done_at[who] = (-math.inf, *self._done_at[who][:-1])

    def forget(self, who: P) -> None:
        self._done_at.pop(who, None)

    def __len__(self) -> int:
        return len(self._done_at)


# The log.


@attrs.define
class _Said:
    at: float
    unsaid: int = 0


@attrs.define(eq=False)
class OncePer:
    """Each kind of thing is said once per interval; how often it was not said is counted.

    A stranger who can make up kinds gets no more than `kinds` lines per interval out of it: when
    that many are fresh, all further ones count as one kind.
    """

    seconds: float = 60.0
    """May be changed at any time."""
    kinds: int = LOG_KINDS
    _said: dict[str, _Said] = attrs.field(factory=dict, init=False)
    """The one said longest ago first."""

    def ask(self, kind: str, now: float) -> int | None:
        """Whether to say it now: then how often it went unsaid since the last time, else None."""
        said = self._said.get(kind)
        if said is None and len(self._said) >= self.kinds:
            self._forget_stale(now)
            if len(self._said) >= self.kinds:
                kind, said = ELSE, self._said.get(ELSE)
        if said is not None and now - said.at < self.seconds:
            said.unsaid += 1
            return None
        self._said.pop(kind, None)
        self._said[kind] = _Said(now)
        return said.unsaid if said is not None else 0

    def _forget_stale(self, now: float) -> None:
        """What may be said again anyway need not be remembered."""
        while self._said and now - (oldest := next(iter(self._said.items())))[1].at >= self.seconds:
            del self._said[oldest[0]]

    def __len__(self) -> int:
        return len(self._said)


ELSE = ""  # the kind of what no longer fits the table
