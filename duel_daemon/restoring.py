"""The hall as it was before the process ended, from what the journal has kept.

Whoever's connection was kept too (by systemd) goes on with it; the other players of a duel are
away, and can come back with their code; anybody else is simply gone.
"""

import logging
import random
from collections.abc import Callable

from duel_daemon.contestant import Contestant, House
from duel_daemon.hall import Hall
from duel_daemon.ledger import HOUSE_MARK, KeptPlayer, KeptTable, Running
from duel_daemon.opponents import Strength
from duel_daemon.peer import Peer
from duel_daemon.player import Player
from duel_daemon.table import Table
from duel_daemon.textwidth import counted

log = logging.getLogger("duel_daemon")

RESTARTED = "The server was restarted. Nothing is lost{rest}"


def restore(hall: Hall, running: Running, reconnect: Callable[[str], Peer | None]) -> list[Player]:
    """Put everything back in its place; the players whose connections are still there.

    `reconnect` finds the connection that was kept under a name.
    """
    players = {name: _player(kept, reconnect) for name, kept in running.players.items()}
    for kept in running.tables.values():
        if not _is_hopeless(kept, players):
            _rebuild_if_possible(hall, kept, players)
    for name, player in players.items():
        if player.connection is not None or player.table is not None:
            hall.take_in(player, running.players[name].wish)
            hall.memory.follow(player)
    hall.continue_counting(running.last_table)
    if hall.players:
        tables = counted(len(hall.tables), "table")
        log.info("restored: %s, %s", tables, counted(hall.player_count, "player"))
    return [player for player in hall.players if player.connection is not None]


def _player(kept: KeptPlayer, reconnect: Callable[[str], Peer | None]) -> Player:
    player = Player(kept.name, None, bell=kept.bell, muted=kept.muted, ascii_only=kept.ascii_only)
    peer = reconnect(kept.connection) if kept.connection else None
    if peer is not None:
        peer.take_up(kept.wire)
        player.connect(peer)
    return player


def _is_hopeless(kept: KeptTable, players: dict[str, Player]) -> bool:
    """Practice whose player is gone: there is nobody to play on, and nothing to record."""
    people = [players.get(name) for name in kept.sides if not name.startswith(HOUSE_MARK)]
    if len(people) == len(kept.sides):
        return False
    return kept.is_over or not any(player and player.connection for player in people)


def _rebuild_if_possible(hall: Hall, kept: KeptTable, players: dict[str, Player]) -> None:
    """A disk that was full leaves gaps in the journal: that costs the duel, not the daemon."""
    try:
        _rebuild(hall, kept, players)
    except Exception:
        log.exception("t%d cannot be rebuilt", kept.ident)


def _rebuild(hall: Hall, kept: KeptTable, players: dict[str, Player]) -> None:
    one, two = (_contestant(name, players, hall.rng) for name in kept.sides)
    table = Table.rebuilt(kept, (one, two), hall.pace, hall.venue)
    if kept.is_over:
        table.is_over = True
        hall.memory.table_over(table)
        return
    hall.reopen(table)
    for side in table.sides:
        if isinstance(side, Player) and side.connection is None:
            table.wait_for(side)


def _contestant(name: str, players: dict[str, Player], rng: random.Random) -> Contestant:
    if name.startswith(HOUSE_MARK):
        return House(Strength(name.removeprefix(HOUSE_MARK)), rng)
    # Of a match that is over but for its results, the players may have left already.
    return players.get(name) or Player(name, None)


def greet(hall: Hall, player: Player) -> None:
    """What somebody reads who was connected all the time."""
    if player.table is not None:
        player.house(RESTARTED.format(rest="; your duel goes on."))
        player.table.come_back(player)
        return
    player.house(RESTARTED.format(rest="."))
    wish = hall.lobby.offer_of(player)
    if wish is not None:
        player.house(f"You are waiting for an opponent: {wish.text}.")
