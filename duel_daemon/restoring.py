"""The hall as it was before the process ended, from what the journal has kept.

Whoever's connection was kept too (by systemd) goes on with it, and reads what the last process may
not have told any more. The others can come back with their code, to a duel that is on or to read
how it ended; anybody else is simply gone.
"""

import logging
from collections.abc import Callable

import attrs
import trio

from duel_daemon import scoreboard
from duel_daemon.contestant import Contestant, House
from duel_daemon.events import Reason
from duel_daemon.hall import Hall
from duel_daemon.kept import HOUSE_MARK, KeptPlayer, KeptTable, Place, Running
from duel_daemon.match import Mirror
from duel_daemon.memory import people
from duel_daemon.opponents import Strength
from duel_daemon.peer import Peer
from duel_daemon.player import Player
from duel_daemon.table import Table
from duel_daemon.textwidth import counted

log = logging.getLogger("duel_daemon")

RESTARTED = "The server was restarted. Nothing is lost{rest}"

Reconnect = Callable[[str], Peer | None]


def restore(hall: Hall, running: Running, reconnect: Reconnect) -> "Restored":
    """Put everything back in its place. `reconnect` finds a connection by its kept name."""
    hall.latecomers.until = trio.current_time() + hall.settings.return_seconds
    restored = Restored(hall)
    for kept in running.in_order():
        restored.find_player(kept, reconnect)
    for table in running.tables.values():
        restored.rebuild_if_possible(table)
    for kept in running.in_order():
        restored.take_in(kept)
    restored.take_up_questions(running)
    hall.continue_counting(running.last_table)
    if hall.players:
        tables = counted(len(hall.tables), "table")
        log.info("restored: %s, %s", tables, counted(hall.player_count, "player"))
    return restored


@attrs.define
class Restored:
    """What has been put back so far."""

    hall: Hall
    connected: list[Player] = attrs.field(factory=list, init=False)
    """Those whose connections are still there, first come first."""
    _players: dict[str, Player] = attrs.field(factory=dict, init=False)
    _sat: dict[Place, Player] = attrs.field(factory=dict, init=False)
    """Who sits somewhere, or sat there last."""
    _newest: dict[Player, int] = attrs.field(factory=dict, init=False)
    """Which of the tables they know they came to last."""
    _tables: dict[int, Table] = attrs.field(factory=dict, init=False)
    _watched: dict[Player, int] = attrs.field(factory=dict, init=False)

    def find_player(self, kept: KeptPlayer, reconnect: Reconnect) -> None:
        player = Player(
            kept.name, None, bell=kept.bell, muted=kept.muted, ascii_only=kept.ascii_only
        )
        peer = reconnect(kept.connection) if kept.connection else None
        if peer is not None:
            peer.take_up(kept.wire)
            player.connect(peer)
        self._players[kept.name] = player
        for place in kept.places:
            self._sat[place] = player
            self._newest[player] = max(place.table, self._newest.get(player, 0))

    def rebuild_if_possible(self, kept: KeptTable) -> None:
        """A disk that was full leaves gaps in the journal: that costs the duel, not the daemon."""
        try:
            self._rebuild(kept)
        except Exception:
            log.exception("t%d cannot be rebuilt", kept.ident)

    def _rebuild(self, kept: KeptTable) -> None:
        one, two = (self._contestant(kept, side) for side in (0, 1))
        table = Table.rebuilt(kept, (one, two), self.hall.pace, self.hall.venue)
        self._tables[kept.ident] = table
        if kept.is_over or _is_decided(table):
            self._end(table, kept)
        elif any(player.connection is not None for player in people(table.sides)):
            self._reopen(table)
        elif _is_fresh(table):
            self._expect(table)
        elif not table.is_practice:
            self._reopen(table)

    def _contestant(self, kept: KeptTable, side: int) -> Contestant:
        name, place = kept.sides[side], Place(kept.ident, side)
        if name.startswith(HOUSE_MARK):
            return House(Strength(name.removeprefix(HOUSE_MARK)), self.hall.rng)
        return self._sat.get(place) or Player(name, None)  # who has left, but is remembered

    def _reopen(self, table: Table) -> None:
        self.hall.reopen(table)
        for player in people(table.sides):
            if player.connection is None:
                table.wait_for(player)

    def _end(self, table: Table, kept: KeptTable) -> None:
        """All that is left to do is to tell and to store what may not have been."""
        table.is_over, table.verdict = True, kept.verdict if kept.is_over else _verdict(table)
        if not kept.is_closed:
            self.hall.latecomers.told |= table.stored.keys()
            self.hall.memory.table_over(table)
            self._expect(table)

    def _expect(self, table: Table) -> None:
        """Whoever was there, unless they have sat down elsewhere since."""
        for player in people(table.sides):
            if self._newest.get(player) == table.ident:
                self.hall.latecomers.expect(player, table)

    def take_in(self, kept: KeptPlayer) -> None:
        player = self._players[kept.name]
        if kept.last is not None:
            player.last_played = self._tables.get(kept.last.table)
        if kept.last_with is not None:
            player.last_table = self._tables.get(kept.last_with.table)
        table = self._tables.get(kept.seat.table) if kept.seat is not None else None
        if table is not None and table.is_over:
            self.hall.remember(player, table)
        if player.connection is None and player.table is None:
            return
        self.hall.take_in(player, kept.wish)
        self.hall.memory.follow(player)
        if player.connection is not None:
            self.connected.append(player)
        if kept.watches is not None:
            self._watched[player] = kept.watches

    def take_up_questions(self, running: Running) -> None:
        """What was open between two, if both can still begin a game."""
        for name, challenge in running.challenges.items():
            asking, asked = self._players[name], self._players[challenge.to]
            if self._can_begin(asking) and self._can_begin(asked):
                self.hall.matchmaker.had_challenged(asking, asked, challenge.wish)
        for kept in running.players.values():
            asking = self._players[kept.name]
            if kept.wants_rematch and self._can_begin(asking):
                self._take_up_rematch(asking)

    def _take_up_rematch(self, player: Player) -> None:
        """Unless the other has played with somebody else since."""
        opponent = player.last_opponent
        if opponent is None or opponent.last_table is not player.last_table:
            return
        if self._can_begin(opponent):
            self.hall.matchmaker.had_asked_for_rematch(player, opponent)

    def _can_begin(self, player: Player) -> bool:
        return self.hall.is_here(player) and not player.plays_somebody

    # Telling.

    def greet(self) -> None:
        """What those read who were connected all the time."""
        for player in self.connected:
            if player.table is not None:
                _go_on(player, player.table)
            else:
                self._be_back(player)
        for player in reversed(self.connected):
            if player.is_free:
                self.hall.matchmaker.look_on(player)
        for player in self.connected:
            self.hall.matchmaker.put_again(player)

    def _be_back(self, player: Player) -> None:
        table = self.hall.latecomers.pop(player)
        if table is None:
            player.house(RESTARTED.format(rest="."))
        else:
            player.house(RESTARTED.format(rest=f"; your {_kind(table)} is over."))
            _tell_end(self.hall, player, table)
            self.hall.name_next_steps(player, table)
        if player in self._watched:
            player.house(self._watched_text(self._watched[player]))

    def _watched_text(self, ident: int) -> str:
        table = self.hall.tables.get(ident)
        if table is None:
            return "What you were watching is over. Type duels to see what is on."
        name = people(table.sides)[0].name
        return f"You were watching {table.names}. To go on, type: watch {name}"


def _go_on(player: Player, table: Table) -> None:
    what = "duel" if table.duel.is_on else _kind(table)
    player.house(RESTARTED.format(rest=f"; your {what} goes on."))
    if _is_fresh(table):
        player.tell(table.if_lost(table.side_of(player)))  # they may not have been told before
    table.come_back(player)


def come_late(hall: Hall, peer: Peer, name: str, code: str) -> Player | None:
    """Somebody comes back to what did not hold their name."""
    claimed = hall.latecomers.claim(name, code, trio.current_time(), hall.is_taken)
    if claimed is None:
        return None
    player, table = claimed
    if not table.is_over:
        for each in people(table.sides):
            hall.take_in(each)
        hall.reopen(table)
        for each in people(table.sides):
            table.wait_for(each)
        return hall.come_back(peer, name, code)
    player.connect(peer)
    hall.come_in(player, None)
    hall.memory.preferred(player)
    hall.memory.remembers(player)
    player.house(f"Your {_kind(table)} is over.")
    _tell_end(hall, player, table)
    hall.name_next_steps(player, table)
    return player


def _tell_end(hall: Hall, player: Player, table: Table) -> None:
    """How it ended, to somebody who may not have read it."""
    untold = [duel for duel in table.finished[-1:] if duel.uid not in hall.latecomers.told]
    for duel in untold:
        seat, opponent = duel.seat_of(player), table.opponent_of(player)
        player.house(f"You played {opponent.name}: {table.game_text}. You were {seat.label}.")
        player.tell(duel.told_again(player))
    if table.verdict:
        player.house(table.verdict)
    for duel in untold:
        if duel.uid in table.stored:  # meanwhile
            player.house(f"Recorded as duel {table.stored[duel.uid]}.")


def _kind(table: Table) -> str:
    return "duel" if table.terms.is_single else "match"


def _is_fresh(table: Table) -> bool:
    """Nothing has been played yet."""
    return not table.finished and not table.duel.turns


def _is_decided(table: Table) -> bool:
    """Whether it would have ended at once. (Mistakes may have to be counted first, aside.)"""
    if table.duel.is_on or not table.finished:
        return False
    if table.finished[-1].result.reason is Reason.LEFT:
        return True
    counts = isinstance(table.series, Mirror) and table.series.needs_mistakes
    return table.series.is_over and not counts


def _verdict(table: Table) -> str:
    """What would have been said of the match, had there been time."""
    last, by_score = table.finished[-1], table.series.winner
    if last.result.reason is Reason.LEFT:
        if last.result.winner is None:
            return ""
        winner = last.seats[last.result.winner]
        if by_score is None or table.sides[by_score] is not winner:
            return f"{winner.name} wins the match."
    return scoreboard.verdict(table.series, table.names_by_side)
