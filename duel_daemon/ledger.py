"""What is going on, as records that outlive the process: one for every change.

`fold` reads them back, in order, into the state that they lead to, as `kept` has it. The moves are
in it, so a duel is rebuilt by playing it again. Pure: where the records are written is the
journal's business.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from duel_daemon.kept import KeptChallenge, KeptDuel, KeptPlayer, KeptTable, Place, Running
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.survey import Restriction
from duel_daemon.terms import Terms, Wish

Record = dict[str, Any]

# Writing: one function per kind of record.


def enter(name: str, connection: str, wish: Wish | None = None) -> Record:
    """Somebody has a name, and waits for the game they wish for."""
    return {"k": "enter", "name": name, "c": connection, "wish": _plain_wish(wish)}


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
    return {"k": "offer", "name": name, "wish": _plain_wish(wish)}


def challenge(name: str, to: str, wish: Wish | None) -> Record:
    """Somebody asks for a game; for none any more, if there is no wish."""
    return {"k": "challenge", "name": name, "to": to, "wish": _plain_wish(wish)}


def rematch(name: str, *, is_wanted: bool) -> Record:
    """Somebody asks whom they last played with, or does so no more."""
    return {"k": "rematch", "name": name, "on": is_wanted}


def watch(name: str, table: int | None) -> Record:
    return {"k": "watch", "name": name, "t": table}


def last(name: str, last: Place | None, last_with: Place | None) -> Record:
    """What somebody remembers. Else it follows from the tables they have left."""
    places = (place and (place.table, place.side) for place in (last, last_with))
    return {"k": "last", "name": name, "at": [*places]}


def seat(table: KeptTable) -> Record:
    """Two sit down; what they did before is over with that: waiting, watching, practice.

    It is one record, so that nobody is ever found between the two.
    """
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


def lost(table: int, losses: list[int]) -> Record:
    """How often each side has lost the connection. Else it is counted as it happens."""
    return {"k": "lost", "t": table, "n": losses}


def end(table: int, winner: int | None, reason: str, now: float) -> Record:
    return {"k": "end", "t": table, "winner": winner, "why": reason, "at": now}


def over(table: int, verdict: str = "") -> Record:
    return {"k": "over", "t": table, "verdict": verdict}


def stored(table: int, duel: int, number: int) -> Record:
    """The players were told that this duel of the table's (from 0) is in the store."""
    return {"k": "stored", "t": table, "duel": duel, "n": number}


def close(table: int) -> Record:
    """All is told and stored: nothing of it is needed, but to look back at."""
    return {"k": "close", "t": table}


_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def line(record: Record) -> str:
    return f"{_encode(record)}\n"


def _plain(terms: Terms) -> Record:
    return {
        "book": terms.book.slug,
        "number": terms.number,
        "divisors": terms.restriction.value,
        "best_of": terms.best_of,
        "mirror": terms.mirror,
    }


def _plain_wish(wish: Wish | None) -> Record | None:
    return None if wish is None else {**_plain(wish.terms), "first": wish.wants_first}


def _wish(plain: Record | None) -> Wish | None:
    return None if plain is None else Wish(_terms(plain), plain["first"])


def _terms(plain: Record) -> Terms:
    return Terms(
        BY_SLUG[plain["book"]],
        plain["number"],
        Restriction(plain["divisors"]),
        plain["best_of"],
        plain["mirror"],
    )


def records(running: Running) -> Iterator[Record]:
    """The fewest records that lead to this state.

    Tables that are over come before the players: it is not the names that tell who sat there.
    """
    for table in running.tables.values():
        if table.is_over:
            yield from _table_records(table)
    for player in running.players.values():
        yield enter(player.name, player.connection)
        yield prefer(
            player.name, bell=player.bell, muted=player.muted, ascii_only=player.ascii_only
        )
        if player.wire:
            yield wire(player.name, player.wire)
        if player.last or player.last_with:
            yield last(player.name, player.last, player.last_with)
        if player.wants_rematch:
            yield rematch(player.name, is_wanted=True)
        if player.watches is not None:
            yield watch(player.name, player.watches)
    for player in running.in_order():
        if player.wish is not None:
            yield offer(player.name, player.wish)
    for name, kept in running.challenges.items():
        yield challenge(name, kept.to, kept.wish)
    for table in running.tables.values():
        if not table.is_over:
            yield from _table_records(table)


def _table_records(table: KeptTable) -> Iterator[Record]:
    yield seat(table)
    for index, duel in enumerate(table.duels):
        yield begin(table.ident, duel.number, duel.started)
        for divisor, seconds in duel.turns:
            yield turn(table.ident, divisor, seconds)
        if duel.ended is not None:
            yield end(table.ident, duel.winner, duel.reason, duel.ended)
        if duel.stored is not None:
            yield stored(table.ident, index, duel.stored)
    if any(table.losses):
        yield lost(table.ident, table.losses)
    if table.is_over:
        yield over(table.ident, table.verdict)
    if table.is_closed:
        yield close(table.ident)


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
    _drop_unneeded(running)
    return running, unreadable


def _drop_unneeded(running: Running) -> None:
    """Tables that nobody looks back at, and those at which somebody is missing."""
    players = running.players.values()
    remembered = {place.table for player in players for place in player.places}
    for table in [*running.tables.values()]:
        if table.is_over:
            is_needed = not table.is_closed or table.ident in remembered
        else:
            is_needed = len(running.sitting_at(table)) == len(table.people)
        if not is_needed:
            del running.tables[table.ident]
    for player in players:
        if player.seat is not None and player.seat.table not in running.tables:
            player.seat = None


def _enter(running: Running, record: Record) -> None:
    player = KeptPlayer(record["name"], record["c"])
    running.players[player.name] = player
    running.drop_challenges(player.name)
    _make_offer(running, player, _wish(record.get("wish")))


def _make_offer(running: Running, player: KeptPlayer, wish: Wish | None) -> None:
    """The same wish again keeps the place in the queue."""
    if player.wish != wish:
        running.offers += 1
        player.wish, player.waits_since = wish, running.offers


def _leave(running: Running, record: Record) -> None:
    player = running.players.pop(record["name"])
    running.drop_challenges(player.name)
    running.drop_rematch(player)


def _rename(running: Running, record: Record) -> None:
    player = running.players.pop(record["name"])
    player.name = record["to"]
    running.players[player.name] = player
    for place in player.places:
        table = running.tables.get(place.table)
        if table is not None:
            one, two = table.sides
            table.sides = (one, player.name) if place.side else (player.name, two)
    changed = {record["name"]: player.name}
    running.challenges = {
        changed.get(by, by): KeptChallenge(changed.get(kept.to, kept.to), kept.wish)
        for by, kept in running.challenges.items()
    }


def _connect(running: Running, record: Record) -> None:
    player = running.players[record["name"]]
    player.connection, player.wire = record["c"], ""
    table = running.tables.get(player.seat.table) if player.seat is not None else None
    if player.seat is not None and table is not None and not player.connection:
        table.losses[player.seat.side] += 1


def _prefer(running: Running, record: Record) -> None:
    player = running.players[record["name"]]
    player.bell, player.muted = record["bell"], record["muted"]
    player.ascii_only = record["ascii"]


def _wire(running: Running, record: Record) -> None:
    running.players[record["name"]].wire = record["state"]


def _offer(running: Running, record: Record) -> None:
    _make_offer(running, running.players[record["name"]], _wish(record["wish"]))


def _challenge(running: Running, record: Record) -> None:
    by, wish = running.players[record["name"]].name, _wish(record["wish"])
    running.challenges.pop(by, None)
    if wish is not None:
        running.challenges[by] = KeptChallenge(running.players[record["to"]].name, wish)


def _rematch(running: Running, record: Record) -> None:
    running.players[record["name"]].wants_rematch = record["on"]


def _watch(running: Running, record: Record) -> None:
    running.players[record["name"]].watches = record["t"]


def _last(running: Running, record: Record) -> None:
    player = running.players[record["name"]]
    player.last, player.last_with = (at and Place(*at) for at in record["at"])


def _seat(running: Running, record: Record) -> None:
    ident = record["t"]
    one, two = record["sides"]
    code_one, code_two = record["codes"]
    table = running.tables[ident] = KeptTable(
        ident,
        record["uid"],
        _terms(record["terms"]),
        record["violations"],
        (one, two),
        (code_one, code_two),
        record["why"],
    )
    running.last_table = max(running.last_table, ident)
    for place in table.people:
        player = running.players.get(table.sides[place.side])
        if player is not None:
            if player.seat is not None:  # the practice is left
                running.tables.pop(player.seat.table, None)
            player.seat, player.watches = place, None
            if not table.is_practice:
                player.wish, player.wants_rematch = None, False
                running.drop_challenges(player.name)
                running.drop_rematch(player)


def _begin(running: Running, record: Record) -> None:
    table = running.tables[record["t"]]
    table.duels.append(KeptDuel(record["n"], record["at"]))
    table.losses = [0, 0]


def _turn(running: Running, record: Record) -> None:
    running.tables[record["t"]].duels[-1].turns.append((record["d"], record["s"]))


def _lost(running: Running, record: Record) -> None:
    one, two = record["n"]
    running.tables[record["t"]].losses = [one, two]


def _end(running: Running, record: Record) -> None:
    duel = running.tables[record["t"]].duels[-1]
    duel.ended, duel.winner, duel.reason = record["at"], record["winner"], record["why"]


def _stored(running: Running, record: Record) -> None:
    """Who was told of the last one was told before how it all ended."""
    table = running.tables[record["t"]]
    table.duels[record["duel"]].stored = record["n"]
    table.is_closed = table.is_over and all(duel.stored is not None for duel in table.duels)


def _over(running: Running, record: Record) -> None:
    table = running.tables[record["t"]]
    table.is_over, table.verdict = True, record.get("verdict", "")
    for player in running.sitting_at(table):
        place, player.seat = player.seat, None
        if table.duels and table.duels[0].ended is not None:
            player.last = place
        if not table.is_practice:
            player.last_with = place


def _close(running: Running, record: Record) -> None:
    table = running.tables[record["t"]]
    if table.is_over:
        table.is_closed = True
    else:
        del running.tables[table.ident]


_APPLY: dict[str, Callable[[Running, Record], None]] = {
    "enter": _enter,
    "leave": _leave,
    "rename": _rename,
    "connect": _connect,
    "prefer": _prefer,
    "wire": _wire,
    "offer": _offer,
    "challenge": _challenge,
    "rematch": _rematch,
    "watch": _watch,
    "last": _last,
    "seat": _seat,
    "begin": _begin,
    "turn": _turn,
    "lost": _lost,
    "end": _end,
    "stored": _stored,
    "over": _over,
    "close": _close,
}
