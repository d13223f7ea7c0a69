"""What is going on, as records that outlive the process: who is here, what is being played.

Every change is one record; `fold` reads them back, in order, into the state that they lead to. The
moves are in it, so a duel is rebuilt by playing it again. Pure: where the records are written is
the journal's business.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.survey import Restriction
from duel_daemon.terms import Terms, Wish

Record = dict[str, Any]

HOUSE_MARK = "*"  # before the strength, where a name would stand: no name begins with it


@attrs.define
class KeptPlayer:
    """A named player."""

    name: str
    connection: str
    """What the connection is called where descriptors are kept; "" if it is lost."""
    bell: bool = False
    muted: bool = False
    ascii_only: bool = False
    wire: str = ""
    """The state of the telnet codec, a half typed line included; "" is a fresh one."""
    wish: Wish | None = None


@attrs.define
class KeptDuel:
    """A duel of a match: its start, the turns so far, and how it ended, if it has."""

    number: int
    started: float
    turns: list[tuple[int, float]] = attrs.field(factory=list)
    """The divisor, and how many seconds the turn took."""
    ended: float | None = None
    winner: int | None = None
    reason: str = ""


@attrs.define
class KeptTable:
    """A match being played."""

    ident: int
    uid: str
    terms: Terms
    violations: int
    sides: tuple[str, str]
    codes: tuple[str, str]
    why_first: str
    duels: list[KeptDuel] = attrs.field(factory=list)
    is_over: bool = False
    """It has been decided, but its results may not be stored yet."""


@attrs.define
class Running:
    """Everything that was going on."""

    players: dict[str, KeptPlayer] = attrs.field(factory=dict)
    tables: dict[int, KeptTable] = attrs.field(factory=dict)
    last_table: int = 0


# Writing: one function per kind of record.


def enter(name: str, connection: str) -> Record:
    return {"k": "enter", "name": name, "c": connection}


def leave(name: str) -> Record:
    return {"k": "leave", "name": name}


def rename(old: str, new: str) -> Record:
    return {"k": "rename", "name": old, "to": new}


def connect(name: str, connection: str) -> Record:
    """The player is reached by this connection now; by none, if it is ""."""
    return {"k": "connect", "name": name, "c": connection}


def prefer(name: str, *, bell: bool, muted: bool, ascii_only: bool) -> Record:
    return {"k": "prefer", "name": name, "bell": bell, "muted": muted, "ascii": ascii_only}


def wire(name: str, state: str) -> Record:
    return {"k": "wire", "name": name, "state": state}


def offer(name: str, wish: Wish | None) -> Record:
    plain = None if wish is None else {**_plain(wish.terms), "first": wish.wants_first}
    return {"k": "offer", "name": name, "wish": plain}


def seat(table: KeptTable) -> Record:
    return {
        "k": "seat",
        "t": table.ident,
        "uid": table.uid,
        "terms": _plain(table.terms),
        "violations": table.violations,
        "sides": table.sides,
        "codes": table.codes,
        "why": table.why_first,
    }


def begin(table: int, number: int, now: float) -> Record:
    return {"k": "begin", "t": table, "n": number, "at": now}


def turn(table: int, divisor: int, seconds: float) -> Record:
    return {"k": "turn", "t": table, "d": divisor, "s": round(seconds, 3)}


def turn_line(table: int, divisor: int, seconds: float) -> str:
    """The line of a turn's record, written by hand: there is one for every move."""
    return f'{{"k":"turn","t":{table},"d":{divisor},"s":{seconds:.3f}}}\n'


def end(table: int, winner: int | None, reason: str, now: float) -> Record:
    return {"k": "end", "t": table, "winner": winner, "why": reason, "at": now}


def over(table: int) -> Record:
    return {"k": "over", "t": table}


def close(table: int) -> Record:
    """Its results are stored: nothing of it is needed any more."""
    return {"k": "close", "t": table}


def line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")) + "\n"


def _plain(terms: Terms) -> Record:
    return {
        "book": terms.book.slug,
        "number": terms.number,
        "divisors": terms.restriction.value,
        "best_of": terms.best_of,
        "mirror": terms.mirror,
    }


def _terms(plain: Record) -> Terms:
    return Terms(
        BY_SLUG[plain["book"]],
        plain["number"],
        Restriction(plain["divisors"]),
        plain["best_of"],
        plain["mirror"],
    )


def records(running: Running) -> Iterator[Record]:
    """The fewest records that lead to this state."""
    for player in running.players.values():
        yield enter(player.name, player.connection)
        yield prefer(
            player.name, bell=player.bell, muted=player.muted, ascii_only=player.ascii_only
        )
        if player.wire:
            yield wire(player.name, player.wire)
        if player.wish is not None:
            yield offer(player.name, player.wish)
    for table in running.tables.values():
        yield seat(table)
        for duel in table.duels:
            yield begin(table.ident, duel.number, duel.started)
            for divisor, seconds in duel.turns:
                yield turn(table.ident, divisor, seconds)
            if duel.ended is not None:
                yield end(table.ident, duel.winner, duel.reason, duel.ended)
        if table.is_over:
            yield over(table.ident)


# Reading.


def fold(lines: Iterable[str]) -> tuple[Running, int]:
    """The state that these lines lead to, and how many of them could not be read."""
    running, unreadable = Running(), 0
    for text in lines:
        try:
            record = json.loads(text)
            _APPLY[record["k"]](running, record)
        except (ValueError, KeyError, TypeError, IndexError):
            unreadable += 1
    return running, unreadable


def _enter(running: Running, record: Record) -> None:
    running.players[record["name"]] = KeptPlayer(record["name"], record["c"])


def _leave(running: Running, record: Record) -> None:
    del running.players[record["name"]]


def _rename(running: Running, record: Record) -> None:
    player = running.players.pop(record["name"])
    player.name = record["to"]
    running.players[player.name] = player


def _connect(running: Running, record: Record) -> None:
    player = running.players[record["name"]]
    player.connection, player.wire = record["c"], ""


def _prefer(running: Running, record: Record) -> None:
    player = running.players[record["name"]]
    player.bell, player.muted = record["bell"], record["muted"]
    player.ascii_only = record["ascii"]


def _wire(running: Running, record: Record) -> None:
    running.players[record["name"]].wire = record["state"]


def _offer(running: Running, record: Record) -> None:
    plain = record["wish"]
    wish = None if plain is None else Wish(_terms(plain), plain["first"])
    running.players[record["name"]].wish = wish


def _seat(running: Running, record: Record) -> None:
    ident = record["t"]
    one, two = record["sides"]
    code_one, code_two = record["codes"]
    running.tables[ident] = KeptTable(
        ident,
        record["uid"],
        _terms(record["terms"]),
        record["violations"],
        (one, two),
        (code_one, code_two),
        record["why"],
    )
    running.last_table = max(running.last_table, ident)


def _begin(running: Running, record: Record) -> None:
    running.tables[record["t"]].duels.append(KeptDuel(record["n"], record["at"]))


def _turn(running: Running, record: Record) -> None:
    running.tables[record["t"]].duels[-1].turns.append((record["d"], record["s"]))


def _end(running: Running, record: Record) -> None:
    duel = running.tables[record["t"]].duels[-1]
    duel.ended, duel.winner, duel.reason = record["at"], record["winner"], record["why"]


def _over(running: Running, record: Record) -> None:
    running.tables[record["t"]].is_over = True


def _close(running: Running, record: Record) -> None:
    del running.tables[record["t"]]


_APPLY: dict[str, Callable[[Running, Record], None]] = {
    "enter": _enter,
    "leave": _leave,
    "rename": _rename,
    "connect": _connect,
    "prefer": _prefer,
    "wire": _wire,
    "offer": _offer,
    "seat": _seat,
    "begin": _begin,
    "turn": _turn,
    "end": _end,
    "over": _over,
    "close": _close,
}
