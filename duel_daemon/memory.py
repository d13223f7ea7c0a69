"""What the hall must not forget: every change goes into the journal, every result to the store.

The journal is for what is going on, so that it can go on after a restart; the store is for what is
over. A table stays open in the journal until its players have been told how it ended and its
results are stored, so that neither can be lost; what is told is marked so when it has been sent.
"""

import logging
import secrets
from collections.abc import Iterable

import attrs
import trio

from duel_daemon import ledger
from duel_daemon.archivist import Archivist
from duel_daemon.contestant import Contestant, House
from duel_daemon.events import Seat
from duel_daemon.finished import Finished
from duel_daemon.journal import Journal
from duel_daemon.kept import HOUSE_MARK, KeptDuel, KeptPlayer, KeptTable, Place, Running
from duel_daemon.peer import Post
from duel_daemon.player import Player
from duel_daemon.records import DuelRecord
from duel_daemon.table import Table
from duel_daemon.terms import Wish

log = logging.getLogger("duel_daemon")

CODE_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""32, none that is taken for another. Of the 2^40 codes a guesser gets three tries a connection,
and a code lives for minutes."""


LOOK_ALIKES = str.maketrans("OIL", "011")
"""What people read where those letters do not occur."""


def new_code() -> str:
    """What a player must know to come back, such as K7M2-9QXT."""
    letters = "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in secrets.token_bytes(8))
    return f"{letters[:4]}-{letters[4:]}"


def is_code(wanted: str, typed: str) -> bool:
    read = typed.upper().translate(LOOK_ALIKES)
    return secrets.compare_digest(wanted.encode(), read.encode())


@attrs.define(eq=False)
class Memory:
    """The journal and the archivist, and what each change means to them."""

    journal: Journal
    archivist: Archivist
    post: Post = attrs.field(init=False)
    _undone: dict[int, int] = attrs.field(factory=dict, init=False)
    """How many results of a table are to be stored yet; and how it ended may have to be told."""
    _over: dict[int, Table] = attrs.field(factory=dict, init=False)
    """Tables that are done, but for that."""

    @post.default
    def _journal_first(self) -> Post:
        return Post(self.journal.flush)

    # Players.

    def entered(self, player: Player, wish: Wish | None) -> None:
        """With what they wait for, so that nobody is ever found here without it."""
        self.journal.write(ledger.enter(player.name, player.peer.ident, wish))
        self.follow(player)

    def remembers(self, player: Player) -> None:
        last, last_with = _place(player, player.last_played), _place(player, player.last_table)
        self.journal.write(ledger.last(player.name, last, last_with))

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

    def challenges(self, player: Player, other: Player, wish: Wish) -> None:
        self.journal.write(ledger.challenge(player.name, other.name, wish))

    def challenges_nobody(self, player: Player) -> None:
        self.journal.write(ledger.challenge(player.name, "", None))

    def wants_rematch(self, player: Player, is_wanted: bool) -> None:
        self.journal.write(ledger.rematch(player.name, is_wanted=is_wanted))

    def watching(self, player: Player) -> None:
        table = player.watching
        self.journal.write(ledger.watch(player.name, None if table is None else table.ident))

    # Tables.

    def seated(self, table: Table) -> None:
        self.journal.write(ledger.seat(kept_table(table)))

    def duel_over(self, table: Table, finished: Finished) -> None:
        """Hand the result to the store, and tell the players when it is there.

        After a restart too, but for what they have been told before.
        """
        is_told = finished.uid in table.stored
        if finished.is_practice or is_told or not self.archivist.is_keeping:
            return
        self._expect(table)
        self.archivist.keep(
            record_of(table, finished),
            on_kept=lambda number: self._stored(table, finished, number),
            on_dropped=lambda: self._settle(table),
        )

    def _stored(self, table: Table, finished: Finished, number: int) -> None:
        for player in people(finished.seats.values()):
            player.house(f"Recorded as duel {number}.")
        self.post.deliver()
        table.stored[finished.uid] = number
        self.journal.write(ledger.stored(table.ident, table.finished.index(finished), number))
        self._settle(table)

    def _expect(self, table: Table) -> None:
        self._undone[table.ident] = self._undone.get(table.ident, 0) + 1

    def _settle(self, table: Table) -> None:
        """One thing less to wait for."""
        self._undone[table.ident] -= 1
        if not self._undone[table.ident]:
            del self._undone[table.ident]
            if self._over.pop(table.ident, None) is not None:
                self.journal.write(ledger.close(table.ident))

    def table_over(self, table: Table) -> None:
        """It ends here; whoever must know is told before anything else happens."""
        self.journal.write(ledger.over(table.ident, table.verdict))
        self._over[table.ident] = table
        self._expect(table)
        trio.lowlevel.current_trio_token().run_sync_soon(self._told, table)

    def _told(self, table: Table) -> None:
        try:
            self.post.deliver()
        except Exception:  # out here, it would end the daemon
            log.exception("t%d: telling how it ended went wrong", table.ident)
        self._settle(table)

    # All of it.

    def snapshot(self, players: Iterable[Player], wishes: dict[Player, Wish],
                 tables: Iterable[Table]) -> Running:  # fmt: skip
        """What is going on, for a new journal."""
        running = Running()
        for player in players:
            running.players[player.name] = _kept_player(player, wishes.get(player))
            for table in (player.last_played, player.last_table):
                if table is not None:
                    running.tables[table.ident] = kept_table(table)
                    running.tables[table.ident].is_closed = table.ident not in self._over
        for place, player in enumerate(wishes):
            running.players[player.name].waits_since = place
        for table in (*tables, *self._over.values()):
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
        seat=_place(player, player.table),
        last=_place(player, player.last_played),
        last_with=_place(player, player.last_table),
        watches=player.watching.ident if player.watching is not None else None,
    )


def _place(player: Player, table: Table | None) -> Place | None:
    return None if table is None else Place(table.ident, int(table.side_of(player)))


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
        [_kept_duel(duel, table.stored.get(duel.uid)) for duel in table.finished],
        [*table.presence.losses],
        table.is_over,
        table.verdict,
    )
    if table.duel.is_on:
        kept.duels.append(table.unfinished)
    return kept


def _side(contestant: Contestant) -> str:
    if isinstance(contestant, House):
        return f"{HOUSE_MARK}{contestant.strength.value}"
    return contestant.name


def _kept_duel(duel: Finished, number: int | None) -> KeptDuel:
    winner = duel.result.winner
    return KeptDuel(
        duel.game.number,
        duel.started,
        _timed(duel),
        duel.ended,
        int(winner) if winner is not None else None,
        duel.result.reason.value,
        number,
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
