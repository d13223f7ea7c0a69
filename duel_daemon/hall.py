"""The house as a whole: who is here, who waits, what is being played.

Everything that happens to more than one player happens here: entering, leaving, being seated,
being released into the lobby. What a player may type, and what then is done, is for `orders`.
"""

import itertools
import logging
import random
from collections.abc import Iterable, Iterator

import attrs
import trio

from duel_daemon import names
from duel_daemon.contestant import Contestant, House
from duel_daemon.lobby import Challenge, Lobby
from duel_daemon.match import Side
from duel_daemon.opponents import Strength
from duel_daemon.peer import Peer, Post
from duel_daemon.player import Player
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.settings import Settings
from duel_daemon.survey import HEAVY_NUMBER, Restriction
from duel_daemon.table import Pace, Table
from duel_daemon.terms import Terms, Wish

log = logging.getLogger("duel_daemon")

LONELY_SECONDS = 30.0  # of waiting, then practice is mentioned, once


@attrs.define(eq=False)
class Hall:
    """All the players and all the tables. `nursery` is where the tables' tasks live."""

    settings: Settings
    nursery: trio.Nursery
    rng: random.Random
    post: Post = attrs.field(factory=Post, init=False)
    lobby: Lobby[Player] = attrs.field(factory=Lobby, init=False)
    tables: dict[int, Table] = attrs.field(factory=dict, init=False)
    _players: dict[str, Player] = attrs.field(factory=dict, init=False)
    """By the key of their name."""
    rematches: dict[Player, Player] = attrs.field(factory=dict, init=False)
    """Who has said `rematch`, and to whom."""
    _table_numbers: Iterator[int] = attrs.field(factory=lambda: itertools.count(1), init=False)

    # Who is here.

    @property
    def players(self) -> list[Player]:
        return list(self._players.values())

    @property
    def default_terms(self) -> Terms:
        return default_terms(self.settings)

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
        self._players[names.key(name)] = player
        log.info("%s is %s", peer.ident, name)
        return player

    def rename(self, player: Player, name: str) -> None:
        del self._players[names.key(player.name)]
        log.info("%s is now %s", player.peer.ident, name)
        player.name = name
        self._players[names.key(name)] = player

    def leave(self, player: Player) -> None:
        """Whatever the cause, everybody who must know is told here, once."""
        self._drop_pending(player, "has left")
        self.stop_watching(player)
        if player.table is not None:
            player.table.leave(player)
        del self._players[names.key(player.name)]

    # Finding each other.

    def look(self, player: Player, wish: Wish) -> None:
        """Look for an opponent for exactly this game: one who waits, or else wait."""
        fitting = self.lobby.fitting(player, wish)
        opponent = next((other for other in fitting if other.is_free), None)
        if opponent is not None:
            theirs = self.lobby.offer_of(opponent)
            assert theirs is not None
            self.pair(opponent, theirs, player, wish)
        elif self.lobby.offer_of(player) == wish:
            player.house(f"You are waiting for that already: {wish.text}.")
        else:
            self._wait(player, wish, fitting)

    def _wait(self, player: Player, wish: Wish, practising: Iterable[Player]) -> None:
        self.lobby.offer(player, wish)
        player.house(f"Waiting for an opponent: {wish.text}.")
        for other in practising:
            self._call_back(other, player)
        player.waits_since = trio.current_time()
        if not player.has_heard_of_practice:
            player.has_heard_of_practice = True
            assert player.peer.nursery is not None
            player.peer.nursery.start_soon(self._mention_practice, player)

    def _call_back(self, practising: Player, waiting: Player) -> None:
        practising.house(
            f"{waiting.name} is here for the game you wait for.",
            "Type accept to leave the practice and play, or decline.",
        )

    async def _mention_practice(self, player: Player) -> None:
        """Once in a visit, when somebody has waited long; unless they wait no longer by then."""
        while (due := player.waits_since + LONELY_SECONDS) > trio.current_time():
            await trio.sleep_until(due)
        if self.lobby.offer_of(player) is not None and player.is_free:
            player.house(
                "Nobody yet. Type practice to play against the house; you keep your place."
            )
            self.post.deliver()
        else:
            player.has_heard_of_practice = False

    def pair(self, host: Player, theirs: Wish, guest: Player, wish: Wish) -> None:
        """The host's terms hold (they are the same); the first turn is as wished, or tossed for."""
        first, why = self._first_turn(host, theirs, guest, wish)
        second = guest if first is host else host
        self.seat(theirs.terms, first, second, why)

    def _first_turn(
        self, host: Player, theirs: Wish, guest: Player, wish: Wish
    ) -> tuple[Player, str]:
        if theirs.wants_first != wish.wants_first:
            return (host if theirs.wants_first else guest), "as agreed"
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
        watchers = [watcher for watcher in self.players if watcher.watching is last]
        self.seat(last.terms, first, second, "sides swapped", watchers)

    def _leave_practice(self, player: Player) -> None:
        """There is something better to do."""
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
        self._open_table(terms, sides, "practice, it does not count")

    def _open_table(
        self,
        terms: Terms,
        sides: tuple[Contestant, Contestant],
        why_first: str,
        watchers: Iterable[Player] = (),
    ) -> None:
        settings = self.settings
        table = Table(
            next(self._table_numbers),
            terms,
            sides,
            Pace(settings.turn_seconds, settings.first_turn_extra_seconds),
            settings.violations,
            self.rng,
            self.post,
            self._release,
            why_first,
        )
        self.tables[table.ident] = table
        for player in _people(sides):
            player.table = table
        for watcher in watchers:
            watcher.watching = table
            table.watchers.append(watcher)
        log.info("d%d begins: %s, %s", table.ident, table.names, terms.words)
        if table.duel.number <= HEAVY_NUMBER:
            table.begin()  # else its task does, when the number has been divided up
        self.nursery.start_soon(table.run)

    def _release(self, table: Table) -> None:
        """A table is done: its players are back in the lobby."""
        del self.tables[table.ident]
        self._log_end(table)
        self._tell_watchers_it_is_over(table)
        for player in _people(table.sides):
            player.table = None
            if table.finished:
                player.last = table.finished[-1]
            if not table.is_practice:
                player.last_table = table
            self._offer_next_steps(player, table)

    def _tell_watchers_it_is_over(self, table: Table) -> None:
        for watcher in table.watchers:
            watcher.house("The game is over. Stay in case they play again, or type unwatch.")

    def _offer_next_steps(self, player: Player, table: Table) -> None:
        again = "practice" if table.is_practice else "rematch"
        player.house(f"Next: {again}, play, review (was it well played?), who, help or quit.")
        wish = self.lobby.offer_of(player)
        if wish is None:
            return
        waiting = next((o for o in self.lobby.fitting(player, wish) if o.is_free), None)
        if waiting is None:
            player.house(f"You are still waiting for an opponent: {wish.text}.")
        else:
            theirs = self.lobby.offer_of(waiting)
            assert theirs is not None
            self.pair(player, wish, waiting, theirs)

    def _log_end(self, table: Table) -> None:
        for duel in table.finished:
            winner = duel.result.winner
            who = duel.seats[winner].name if winner is not None else "nobody"
            log.info("d%d ended: %s, %s won", table.ident, duel.result.reason.value, who)

    def stop_watching(self, player: Player) -> None:
        if player.watching is not None:
            table, player.watching = player.watching, None
            table.unwatch(player)

    def _drop_pending(self, player: Player, why: str, but: Iterable[Player] = ()) -> None:
        """Nothing of theirs is open any more; whoever waited for an answer hears why."""
        self.rematches.pop(player, None)
        waiting = [other for other, wanted in self.rematches.items() if wanted is player]
        for other in waiting:
            del self.rematches[other]
        waiting += [_other(challenge, player) for challenge in self.lobby.clear(player)]
        for other in waiting:
            if other not in but:
                other.house(f"{player.name} {why}.")

    def stop(self, line: str) -> None:
        """The server closes: one line to everybody."""
        for table in self.tables.values():
            table.stop()
        for player in self.players:
            player.table = None
            player.peer.ask(None)
            player.house(line)
        self.post.deliver()


def default_terms(settings: Settings) -> Terms:
    """The game of whoever asked for no other."""
    return Terms.of(
        BY_SLUG[settings.rulebook],
        settings.number,
        Restriction(settings.divisors),
        settings.best_of,
    )


def _people(contestants: Iterable[Contestant]) -> list[Player]:
    return [contestant for contestant in contestants if isinstance(contestant, Player)]


def _other(challenge: Challenge[Player], player: Player) -> Player:
    return challenge.challenged if challenge.challenger is player else challenge.challenger
