"""What the hall must not forget: every change goes into the journal, every result to the store.

The journal is for what is going on, so that it can go on after a restart; the store is for what is
over. A table stays in the journal until its results are stored, so that neither can lose them.
"""

import itertools
import secrets
from collections.abc import Iterable

import attrs

from duel_daemon import ledger
from duel_daemon.archivist import Archivist
from duel_daemon.contestant import Contestant, House
from duel_daemon.events import Seat
from duel_daemon.finished import Finished
from duel_daemon.journal import Journal
from duel_daemon.ledger import HOUSE_MARK, KeptDuel, KeptPlayer, KeptTable, Running
from duel_daemon.peer import Post
from duel_daemon.player import Player
from duel_daemon.records import DuelRecord
from duel_daemon.table import Table
from duel_daemon.terms import Wish

CODE_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""32, none that is taken for another. Of the 2^40 codes a guesser gets three tries a connection,
and a code lives for minutes."""


LOOK_ALIKES = str.maketrans("OIL", "011")
"""What people read where those letters do not occur."""


def new_code() -> str:
    """What a player must know to come back, such as K7M2-9QXT."""
    letters = "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in secrets.token_bytes(8))
    return f"{letters[:4]}-{letters[4:]}"


@attrs.define(eq=False)
class Memory:
    """The journal and the archivist, and what each change means to them."""

    journal: Journal
    archivist: Archivist
    post: Post = attrs.field(factory=Post, init=False)
    is_restoring: bool = attrs.field(default=False, init=False)
    """What is stored again then (once, by its uid) need not be told again."""
    _unkept: dict[int, int] = attrs.field(factory=dict, init=False)
    """How many results of a table are not stored yet."""
    _over: dict[int, Table] = attrs.field(factory=dict, init=False)
    """Tables that are done, but for their results."""

    # Players.

    def entered(self, player: Player) -> None:
        self.journal.write(ledger.enter(player.name, player.peer.ident))
        self.follow(player)

    def connected(self, player: Player) -> None:
        """They are reached otherwise now, or not at all."""
        connection = player.connection
        self.journal.write(ledger.connect(player.name, connection.ident if connection else ""))
        self.follow(player)

    def follow(self, player: Player) -> None:
        """From now on, what their connection's decoder holds is kept: a line half typed."""
        if player.connection is not None:
            player.connection.keep_wire = lambda state: self.journal.write(
                ledger.wire(player.name, state)
            )

    def renamed(self, old: str, new: str) -> None:
        self.journal.write(ledger.rename(old, new))

    def left(self, player: Player) -> None:
        self.journal.write(ledger.leave(player.name))

    def preferred(self, player: Player) -> None:
        self.journal.write(
            ledger.prefer(
                player.name, bell=player.bell, muted=player.muted, ascii_only=player.ascii_only
            )
        )

    def offered(self, player: Player, wish: Wish | None) -> None:
        self.journal.write(ledger.offer(player.name, wish))

    # Tables.

    def seated(self, table: Table) -> None:
        self.journal.write(ledger.seat(kept_table(table)))

    def duel_over(self, table: Table, finished: Finished) -> None:
        """Hand the result to the store, and tell the players when it is there."""
        if finished.is_practice or not self.archivist.is_keeping:
            return
        self._unkept[table.ident] = self._unkept.get(table.ident, 0) + 1
        readers = [] if self.is_restoring else people(finished.seats.values())
        self.archivist.keep(
            record_of(table, finished),
            on_kept=lambda number: self._stored(table, number, readers),
            on_dropped=lambda: self._settle(table),
        )

    def _stored(self, table: Table, number: int, readers: Iterable[Player]) -> None:
        for player in readers:
            player.house(f"Recorded as duel {number}.")
        self.post.deliver()
        self._settle(table)

    def _settle(self, table: Table) -> None:
        """One result less to wait for."""
        self._unkept[table.ident] -= 1
        self._close_if_done(table)

    def table_over(self, table: Table) -> None:
        self._over[table.ident] = table
        self._close_if_done(table)

    def _close_if_done(self, table: Table) -> None:
        if table.ident in self._over and not self._unkept.get(table.ident):
            del self._over[table.ident]
            self._unkept.pop(table.ident, None)
            self.journal.write(ledger.close(table.ident))

    # All of it.

    def snapshot(self, players: Iterable[Player], wishes: dict[Player, Wish],
                 tables: Iterable[Table]) -> Running:  # fmt: skip
        """What is going on, for a new journal."""
        running = Running()
        for player in players:
            running.players[player.name] = _kept_player(player, wishes.get(player))
        for table in itertools.chain(tables, self._over.values()):
            running.tables[table.ident] = kept_table(table)
        return running


def people(contestants: Iterable[Contestant]) -> list[Player]:
    return [contestant for contestant in contestants if isinstance(contestant, Player)]


def _kept_player(player: Player, wish: Wish | None) -> KeptPlayer:
    connection = player.connection
    return KeptPlayer(
        player.name,
        connection.ident if connection is not None else "",
        player.bell,
        player.muted,
        player.ascii_only,
        connection.wire_state if connection is not None else "",
        wish,
    )


def kept_table(table: Table) -> KeptTable:
    one, two = (_side(contestant) for contestant in table.sides)
    kept = KeptTable(
        table.ident,
        table.uid,
        table.terms,
        table.violations,
        (one, two),
        table.codes,
        table.why_first,
        [_kept_duel(duel) for duel in table.finished],
        table.is_over,
    )
    if table.duel.is_on:
        kept.duels.append(table.unfinished)
    return kept


def _side(contestant: Contestant) -> str:
    if isinstance(contestant, House):
        return f"{HOUSE_MARK}{contestant.strength.value}"
    return contestant.name


def _kept_duel(duel: Finished) -> KeptDuel:
    winner = duel.result.winner
    return KeptDuel(
        duel.game.number,
        duel.started,
        _timed(duel),
        duel.ended,
        int(winner) if winner is not None else None,
        duel.result.reason.value,
    )


def _timed(duel: Finished) -> list[tuple[int, float]]:
    return [(turn.divisor, took) for turn, took in zip(duel.turns, duel.turn_seconds, strict=True)]


def record_of(table: Table, duel: Finished) -> DuelRecord:
    """A finished duel as the store keeps it."""
    winner = duel.result.winner
    return DuelRecord(
        uid=duel.uid,
        started=duel.started,
        ended=duel.ended,
        players=(duel.seats[Seat.ONE].name, duel.seats[Seat.TWO].name),
        rulebook=duel.game.book.slug,
        start=duel.game.number,
        restriction=duel.game.restriction.value,
        violations=duel.game.violations,
        turns=tuple(_timed(duel)),
        winner=int(winner) if winner is not None else None,
        reason=duel.result.reason.value,
        match=None if table.terms.is_single else table.uid,
        match_terms=table.terms.words,
    )
