"""The house as a whole: who is here, who waits, what is being played.

Everything that happens to more than one player happens here: entering, leaving, being seated,
being released into the lobby. What a player may type, and what then is done, is for `orders`.
"""

import itertools
import logging
import math
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
from duel_daemon.lobby import Challenge, Lobby
from duel_daemon.match import Side
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

log = logging.getLogger("duel_daemon")

LONELY_SECONDS = 30.0  # of waiting, then practice is mentioned, once


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
    lobby: Lobby[Player] = attrs.field(factory=Lobby, init=False)
    tables: dict[int, Table] = attrs.field(factory=dict, init=False)
    _players: dict[str, Player] = attrs.field(factory=dict, init=False)
    """By the key of their name."""
    rematches: dict[Player, Player] = attrs.field(factory=dict, init=False)
    """Who has said `rematch`, and to whom."""
    latecomers: Latecomers = attrs.field(factory=Latecomers, init=False)
    _table_numbers: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)
    venue: Venue = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        memory = self.memory
        self.post = memory.post
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

    def away(self, name: str) -> Player | None:
        """The player of this name whose seat is kept, if there is one."""
        player = self._players.get(names.key(name))
        return player if player is not None and player.connection is None else None

    def is_taken(self, key: str) -> bool:
        return key in self._players

    def find(self, name: str) -> Player | None:
        """The player with this name, or the only one whose name begins so."""
        key = names.key(name)
        if key in self._players:
            return self._players[key]
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
        player = self._players.get(names.key(name))
        table = player.table if player is not None else None
        if player is None or table is None:
            return None
        if not is_code(table.codes[table.side_of(player)], code):
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
        self._drop_pending(player, "has left")
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
            self.lobby.offer(player, wish)
            player.waits_since = trio.current_time()

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
        return self.memory.snapshot(players, dict(self.lobby.offers()), tables)

    # Finding each other.

    def look(self, player: Player, wish: Wish) -> None:
        """Look for an opponent for exactly this game: one who waits, or else wait."""
        fitting = self.lobby.fitting(player, wish)
        if self._pair_with_first_free(player, wish, fitting):
            return
        if self.lobby.offer_of(player) == wish:
            player.house(f"You are waiting for that already: {wish.text}.")
        else:
            self._wait(player, wish, fitting)

    def _pair_with_first_free(self, player: Player, wish: Wish, fitting: Iterable[Player]) -> bool:
        """First come, first paired."""
        opponent = next((other for other in fitting if other.is_free), None)
        theirs = self.lobby.offer_of(opponent) if opponent is not None else None
        if opponent is None or theirs is None:
            return False
        self.pair(opponent, theirs, player, wish)
        return True

    def withdraw_offer(self, player: Player) -> bool:
        if not self.lobby.withdraw_offer(player):
            return False
        self.memory.offered(player, None)
        return True

    def _wait(self, player: Player, wish: Wish, practising: Iterable[Player]) -> None:
        self.lobby.offer(player, wish)
        self.memory.offered(player, wish)
        player.house(f"Waiting for an opponent: {wish.text}.")
        for other in practising:
            self._call_back(other, player)
        player.waits_since = trio.current_time()
        patience = player.peer.patience
        patience.deadline = min(patience.deadline, self.lonely_due(player))

    def _call_back(self, practising: Player, waiting: Player) -> None:
        practising.house(
            f"{waiting.name} is here for the game you wait for.",
            "Type accept to leave the practice and play, or decline.",
        )

    def lonely_due(self, player: Player) -> float:
        """When somebody who waits is to hear of practice: once in a visit, after long waiting."""
        waits = player.is_free and self.lobby.offer_of(player) is not None
        if player.has_heard_of_practice or not waits:
            return math.inf
        return player.waits_since + LONELY_SECONDS

    def mention_practice(self, player: Player) -> None:
        player.has_heard_of_practice = True
        player.house("Nobody yet. Type practice to play against the house; you keep your place.")

    def pair(self, host: Player, theirs: Wish, guest: Player, wish: Wish) -> None:
        """The host's terms hold (they are the same); the first turn is as wished, or tossed for."""
        first, why = self._first_turn(host, theirs, guest, wish)
        second = guest if first is host else host
        self.seat(theirs.terms, first, second, why)

    def _first_turn(
        self, host: Player, theirs: Wish, guest: Player, wish: Wish
    ) -> tuple[Player, str]:
        if theirs.wants_first != wish.wants_first:
            return (host if theirs.wants_first else guest), "as {mover} asked"
        if self.settings.first_turn == "first-come":
            return host, "first come, first move"
        return self.rng.choice((host, guest)), "the coin decided"

    # Being seated and released.

    def seat(
        self,
        terms: Terms,
        first: Player,
        second: Player,
        why_first: str,
        watchers: Iterable[Player] = (),
    ) -> None:
        for player in (first, second):
            self._drop_pending(player, "plays with somebody else now", but=(first, second))
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
                self.look_on(player)
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

    def look_on(self, player: Player) -> None:
        """If they were looking for an opponent before, there may be one now."""
        wish = self.lobby.offer_of(player)
        if wish is not None:
            fitting = self.lobby.fitting(player, wish)
            if not self._pair_with_first_free(player, wish, fitting):
                player.house(f"You are still waiting for an opponent: {wish.text}.")
                for practising in fitting:
                    self._call_back(practising, player)

    def stop_watching(self, player: Player) -> None:
        if player.watching is not None:
            table, player.watching = player.watching, None
            table.unwatch(player, trio.current_time())
            self.memory.watching(player)

    def _drop_pending(self, player: Player, why: str, but: Iterable[Player] = ()) -> None:
        """Nothing of theirs is open any more; whoever waited for an answer hears why."""
        self.rematches.pop(player, None)
        waiting = []
        asking = self._asking_for_rematch(player)
        if asking is not None:
            del self.rematches[asking]
            waiting.append(asking)
        waiting += [_other(challenge, player) for challenge in self.lobby.clear(player)]
        for other in waiting:
            if other not in but:
                other.house(f"{player.name} {why}.")

    def _asking_for_rematch(self, player: Player) -> Player | None:
        """Only whom they played last can have asked them."""
        table = player.last_table
        other = table.opponent_of(player) if table is not None else None
        if isinstance(other, Player) and self.rematches.get(other) is player:
            return other
        return None

    def stop(self, line: Callable[[Player], str]) -> None:
        """The server closes: one line to everybody. What the journal has kept stays in it."""
        self.is_stopping = True
        self.memory.journal.seal()
        for player in self.players:
            player.ask(None)
            player.tell(house(line(player)))  # one line, however long
        self.rematches.clear()
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


def _other(challenge: Challenge[Player], player: Player) -> Player:
    return challenge.challenged if challenge.challenger is player else challenge.challenger
