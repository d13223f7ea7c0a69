"""The house as a whole: who is here, and what is being played.

Players enter and leave here, are seated at tables and released into the lobby. How two come to a
game is for the `matchmaker`; what a player may type, and what then is done, is for `orders`.
"""

import itertools
import logging
import random
import secrets
import time
from collections.abc import Callable, Iterable, Iterator

import attrs
import trio

from duel_daemon import names
from duel_daemon.contestant import Contestant, House
from duel_daemon.finished import Finished
from duel_daemon.kept import Running
from duel_daemon.latecomers import Latecomers
from duel_daemon.match import Side
from duel_daemon.matchmaker import Matchmaker
from duel_daemon.memory import Memory, is_code, new_code, people
from duel_daemon.narrator import CLOSED, house
from duel_daemon.opponents import Strength
from duel_daemon.peer import Peer, Post
from duel_daemon.player import Player
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.seating import Pace
from duel_daemon.settings import Settings
from duel_daemon.survey import HEAVY_NUMBER, Restriction
from duel_daemon.table import Table, Venue
from duel_daemon.terms import Terms, Wish
from duel_daemon.timetable import Timetable
from duel_daemon.wire import in_ascii

log = logging.getLogger("duel_daemon")


@attrs.define(eq=False)
class Hall:
    """All the players and all the tables. `nursery` is where the tables' thinking is done."""

    settings: Settings
    nursery: trio.Nursery
    rng: random.Random
    memory: Memory
    timetable: Timetable
    post: Post = attrs.field(init=False)
    is_stopping: bool = attrs.field(default=False, init=False)
    on_named: Callable[[Peer], None] = attrs.field(default=lambda peer: None, init=False)
    """Told when a connection has a name."""
    on_change: Callable[[], None] = attrs.field(default=lambda: None, init=False)
    """Told when players come and go, and when tables open and close."""
    matchmaker: Matchmaker = attrs.field(init=False)
    tables: dict[int, Table] = attrs.field(factory=dict, init=False)
    _players: dict[str, Player] = attrs.field(factory=dict, init=False)
    """By the key of their name."""
    latecomers: Latecomers = attrs.field(factory=Latecomers, init=False)
    _table_numbers: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)
    venue: Venue = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        memory = self.memory
        self.post = memory.post
        self.matchmaker = Matchmaker(self.settings, self.rng, memory, self.seat)
        self.venue = Venue(
            self.rng,
            self.post,
            memory.journal,
            self.timetable,
            now=time.time,
            start=lambda table: self.nursery.start_soon(self._run, table),
            on_duel_over=self._duel_over,
            on_over=self._release,
        )

    def reconfigure(self, settings: Settings) -> None:
        self.settings = self.matchmaker.settings = settings

    # Who is here.

    @property
    def players(self) -> list[Player]:
        return list(self._players.values())

    @property
    def default_terms(self) -> Terms:
        return default_terms(self.settings)

    @property
    def player_count(self) -> int:
        return len(self._players)

    def named(self, name: str) -> Player | None:
        """The player of this name, as it is or as a screen with plain letters only shows it."""
        key = names.key(name)
        if key in self._players:
            return self._players[key]
        others = (player for player in self.players if not player.name.isascii())
        shown = [player for player in others if names.key(in_ascii(player.name)) == key]
        return shown[0] if len(shown) == 1 else None

    def with_code(self, code: str) -> Player | None:
        """Whose code this is."""
        for player in self.players:
            if player.table is not None and is_code(player.table.code_of(player), code):
                return player
        return None

    def is_taken(self, key: str) -> bool:
        return key in self._players

    def find(self, name: str) -> Player | None:
        """The player with this name, or the only one whose name begins so."""
        key, player = names.key(name), self.named(name)
        if player is not None:
            return player
        found = [player for other, player in self._players.items() if other.startswith(key)]
        return found[0] if len(found) == 1 and key else None

    def enter(self, peer: Peer, name: str) -> Player:
        player = Player(name, peer)
        self.come_in(player, Wish(self.default_terms))
        return player

    def come_in(self, player: Player, wish: Wish | None) -> None:
        """Somebody is here, and will wait for what they wish for."""
        peer = player.peer
        self._players[player.key] = player
        self.memory.entered(player, wish)
        self.on_named(peer)
        log.info("%s is %s, from %s", peer.ident, player.name, peer.address)
        self.on_change()

    def come_back(self, peer: Peer, name: str, code: str) -> Player | None:
        """Somebody who knows the code takes the seat that is kept, or takes over their own."""
        player = self.named(name)
        table = player.table if player is not None else None
        if player is None or table is None:
            return None
        if not is_code(table.code_of(player), code):
            return None
        before = player.connection
        player.connect(peer)
        self.memory.connected(player)
        if before is not None:
            before.send_away(house(f"You are here on another connection now. {CLOSED}"))
        self.on_named(peer)
        log.info("%s is %s again, from %s", peer.ident, player.name, peer.address)
        table.come_back(player)
        return player

    def rename(self, player: Player, name: str) -> None:
        old = player.name
        del self._players[player.key]
        player.rename(name)
        self._players[player.key] = player
        self.memory.renamed(old, name)
        log.info("%s is now %s", player.peer.ident, name)

    def preferred(self, player: Player) -> None:
        """A wish about the screen has changed."""
        self.memory.preferred(player)

    def lose(self, player: Player) -> None:
        """The connection is lost. Only a seat in a duel with somebody is worth coming back to."""
        if player.table is None or player.is_practising:
            self.leave(player)
            return
        player.connection = None
        self.memory.connected(player)
        player.table.lose(player)

    def leave(self, player: Player) -> None:
        """Whatever the cause, everybody who must know is told here, once."""
        self.matchmaker.has_left(player)
        self.stop_watching(player)
        del self._players[player.key]
        if player.table is not None:
            player.table.leave(player)
        self.memory.left(player)
        player.forget()
        self.on_change()

    # Going on after a restart.

    def take_in(self, player: Player, wish: Wish | None = None) -> None:
        """Somebody who was here before the process was."""
        self._players[player.key] = player
        if wish is not None:
            self.matchmaker.was_looking(player, wish)

    def reopen(self, table: Table) -> None:
        self.tables[table.ident] = table
        for player in people(table.sides):
            player.table = table
        table.wake()

    def continue_counting(self, last_table: int) -> None:
        self._table_numbers = itertools.count(last_table + 1)

    def snapshot(self) -> Running:
        """What is going on, for a new journal."""
        asleep = self.latecomers.asleep(self.is_taken)
        players = (*self.players, *(player for table in asleep for player in people(table.sides)))
        tables = (*self.tables.values(), *asleep)
        running = self.memory.snapshot(players, dict(self.matchmaker.lobby.offers()), tables)
        self.matchmaker.note_what_is_open(running)
        return running

    # Being seated and released.

    def seat(
        self,
        terms: Terms,
        first: Player,
        second: Player,
        why_first: str,
        watchers: Iterable[Player] = (),
    ) -> None:
        self.matchmaker.are_seated(first, second)
        for player in (first, second):
            self.stop_watching(player)
            self._leave_practice(player)
        self._open_table(terms, (first, second), why_first, watchers)

    def seat_again(self, player: Player, opponent: Player, last: Table) -> None:
        """A rematch: the same game, sides swapped, and whoever watched is carried along."""
        was_first = last.sides[Side.A] is player
        first, second = (opponent, player) if was_first else (player, opponent)
        watchers = [watcher for watcher in people(last.watchers) if watcher.watching is last]
        self.seat(last.terms, first, second, "sides swapped", watchers)

    def _leave_practice(self, player: Player) -> None:
        """There is something better to do. (The journal has it from the new seat.)"""
        table = player.table
        if table is not None:
            table.stop()
            del self.tables[table.ident]
            player.table = None
            player.ask(None)
            player.house("You leave the practice.")
            self._tell_watchers_it_is_over(table)

    def practise(self, player: Player, terms: Terms, strength: Strength, first: bool) -> None:
        """A duel against the house. The place in the queue is kept."""
        self.stop_watching(player)
        house = House(strength, self.rng)
        sides: tuple[Contestant, Contestant] = (player, house) if first else (house, player)
        self._open_table(terms, sides, "practice")

    @property
    def pace(self) -> Pace:
        settings = self.settings
        return Pace(
            settings.turn_seconds, settings.first_turn_extra_seconds, settings.return_seconds
        )

    def _open_table(
        self,
        terms: Terms,
        sides: tuple[Contestant, Contestant],
        why_first: str,
        watchers: Iterable[Player] = (),
    ) -> None:
        ident = next(self._table_numbers)
        table = Table(
            terms,
            sides,
            ident,
            secrets.token_hex(8),
            (new_code(), new_code()),
            self.pace,
            why_first,
            self.settings.violations,
            self.venue,
        )
        self.tables[ident] = table
        self.memory.seated(table)
        for player in people(sides):
            player.table = table
        for watcher in watchers:
            watcher.watching = table
            table.watchers.append(watcher)
            self.memory.watching(watcher)
        log.info("t%d begins: %s, %s", table.ident, table.names, terms.words)
        self.on_change()
        if table.duel.number <= HEAVY_NUMBER:
            table.begin()  # else its task does, when the number has been divided up
        table.wake()

    async def _run(self, table: Table) -> None:
        """A mistake of ours at one table ends that table, and costs nobody else anything."""
        try:
            await table.run()
        except Exception:
            log.exception("t%d: a mistake of ours", table.ident)
            self._abandon(table)
            self.post.deliver()

    def _abandon(self, table: Table) -> None:
        table.stop()
        if self.tables.pop(table.ident, None) is not None:
            self.memory.table_over(table)
        self._forget_absent(table)
        for player in people(table.sides):
            if player.table is table:
                self.remember(player, table)
                player.ask(None)
                player.house(
                    "Something went wrong on our side, sorry. Your duel ends without a winner.",
                    "Next: play, who, help or quit.",
                )

    def _duel_over(self, table: Table, duel: Finished) -> None:
        if table.ident in self.tables:  # else it is being rebuilt, and was logged before
            which = table.ident if table.terms.is_single else f"{table.ident}.{table.series.played}"
            winner = duel.result.winner
            who = duel.seats[winner].name if winner is not None else "nobody"
            log.info("t%s ended: %s, %s won", which, duel.result.reason.value, who)
        self.memory.duel_over(table, duel)

    def _release(self, table: Table) -> None:
        """A table is done: its players are back in the lobby."""
        del self.tables[table.ident]
        self.memory.table_over(table)
        self._tell_watchers_it_is_over(table)
        self._forget_absent(table)
        for player in people(table.sides):
            if self.is_here(player):  # whoever is not must remember nobody: that would be for ever
                self.remember(player, table)
                self.name_next_steps(player, table)
                self.matchmaker.look_on(player)
        self.on_change()

    def remember(self, player: Player, table: Table) -> None:
        """Somebody has played here, and can look back at it."""
        player.table = None
        if table.finished:
            player.last_played = table
        if not table.is_practice:
            player.last_table = table

    def _forget_absent(self, table: Table) -> None:
        """Whoever is away has nothing to come back to any more."""
        for player in people(table.sides):
            if player.connection is None and self.is_here(player):
                del self._players[player.key]
                self.matchmaker.has_left(player)
                self.memory.left(player)
                player.forget()

    def is_here(self, player: Player) -> bool:
        return self._players.get(player.key) is player

    def _tell_watchers_it_is_over(self, table: Table) -> None:
        for watcher in table.watchers:
            watcher.house("The game is over. Stay in case they play again, or type unwatch.")

    def name_next_steps(self, player: Player, table: Table) -> None:
        again = "practice, " if table.is_practice else "rematch, "
        if not all(map(self.is_here, people(table.sides))):
            again = ""  # the other one has left
        review = "review" if len(table.finished) < 2 else "review match"
        player.house(f"Next: {again}play, {review} (how you played), who, help or quit.")

    def stop_watching(self, player: Player) -> None:
        if player.watching is not None:
            table, player.watching = player.watching, None
            table.unwatch(player, trio.current_time())
            self.memory.watching(player)

    def stop(self, line: Callable[[Player], str]) -> None:
        """The server closes: one line to everybody. What the journal has kept stays in it."""
        self.is_stopping = True
        self.memory.journal.seal()
        for player in self.players:
            player.ask(None)
            player.tell(house(line(player)))  # one line, however long
        self.matchmaker.rematches.clear()
        for table in self.tables.values():
            table.stop()
        self.post.deliver()


def default_terms(settings: Settings) -> Terms:
    """The game of whoever asked for no other."""
    return Terms.of(
        BY_SLUG[settings.rulebook],
        settings.number,
        Restriction(settings.divisors),
        settings.best_of,
    )
