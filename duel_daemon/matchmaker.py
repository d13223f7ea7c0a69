"""How two players come to a game: who looks for one, who has asked whom, and who then begins.

What is open between players is kept here until it is answered, taken back or overtaken by a game.
Two who have agreed are handed on, to be seated.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterable

import attrs
import trio

from duel_daemon.kept import KeptChallenge, Running
from duel_daemon.limits import SoOften
from duel_daemon.lobby import Challenge, Lobby
from duel_daemon.memory import Memory
from duel_daemon.narrator import seconds
from duel_daemon.player import Player
from duel_daemon.settings import Settings
from duel_daemon.terms import Terms, Wish

LONELY_SECONDS = 30.0  # of waiting, then practice is mentioned, once

# How often somebody may ask others for a game and come to none: so many times in so long.
ASKED_TIMES = 4
ASKED_SECONDS = 60.0


def _so_often() -> SoOften[Player]:
    return SoOften(ASKED_TIMES, ASKED_SECONDS)


@attrs.define(eq=False)
class Matchmaker:
    """The offers, the challenges, and the rematches that are asked for."""

    settings: Settings
    rng: random.Random
    memory: Memory
    seat: Callable[[Terms, Player, Player, str], None]
    """Told what is played, who moves first, against whom, and why they do."""
    lobby: Lobby[Player] = attrs.field(factory=Lobby, init=False)
    rematches: dict[Player, Player] = attrs.field(factory=dict, init=False)
    """Who has said `rematch`, and to whom."""
    _asked: SoOften[Player] = attrs.field(factory=_so_often, init=False)
    _called: SoOften[Player] = attrs.field(factory=_so_often, init=False)
    """Who waits and has called others back from their practice."""

    # Looking for anybody.

    def look(self, player: Player, wish: Wish) -> None:
        """Look for an opponent for exactly this game: one who waits, or else wait."""
        fitting = self.lobby.fitting(player, wish)
        if self._pair_with_first_free(player, wish, fitting):
            return
        if self.lobby.offer_of(player) == wish:
            player.house(f"You are waiting for that already: {wish.text}.")
        else:
            self._wait(player, wish, fitting)

    def look_on(self, player: Player) -> None:
        """If they were looking for an opponent before, there may be one now."""
        wish = self.lobby.offer_of(player)
        if wish is not None:
            fitting = self.lobby.fitting(player, wish)
            if not self._pair_with_first_free(player, wish, fitting):
                player.house(f"You are still waiting for an opponent: {wish.text}.")
                self._call_back(fitting, player)

    def stop_looking(self, player: Player) -> bool:
        """Whether they were looking for an opponent."""
        if not self.lobby.withdraw_offer(player):
            return False
        self.memory.offered(player, None)
        return True

    def was_looking(self, player: Player, wish: Wish) -> None:
        """Before the process ended; the journal has it already."""
        self.lobby.offer(player, wish)
        player.waits_since = trio.current_time()

    def _pair_with_first_free(self, player: Player, wish: Wish, fitting: Iterable[Player]) -> bool:
        """First come, first paired."""
        opponent = next((other for other in fitting if other.is_free), None)
        theirs = self.lobby.offer_of(opponent) if opponent is not None else None
        if opponent is None or theirs is None:
            return False
        self.pair(opponent, theirs, player, wish)
        return True

    def _wait(self, player: Player, wish: Wish, practising: list[Player]) -> None:
        self.lobby.offer(player, wish)
        self.memory.offered(player, wish)
        player.house(f"Waiting for an opponent: {wish.text}.")
        self._call_back(practising, player)
        player.waits_since = trio.current_time()
        patience = player.peer.patience
        patience.deadline = min(patience.deadline, self.lonely_due(player))

    def _call_back(self, practising: list[Player], waiting: Player) -> None:
        """But not each time: nobody can flood them by looking, stopping and looking again."""
        if not practising or self._called.take(waiting, trio.current_time()):
            return
        for player in practising:
            player.house(
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

    # Asking somebody.

    def _may_ask(self, player: Player) -> bool:
        """Nobody can flood another by asking and taking it back; whoever tries, reads so."""
        wait = self._asked.take(player, trio.current_time())
        if wait:
            again = seconds(math.ceil(wait))
            player.house(f"You have asked {ASKED_TIMES} times in a minute. Ask again in {again}.")
        return not wait

    def challenge(self, player: Player, other: Player, wish: Wish) -> None:
        if not self._may_ask(player):
            return
        replaced = self.lobby.challenge(player, other, wish)
        if replaced is not None and replaced.challenged is not other:
            self._tell_taken_back(replaced)
        self.memory.challenges(player, other, wish)
        yours = self._order(wish, "you move")
        player.house(f"You challenge {other.name}: {wish.terms.text}{yours}.")
        self._put_challenge(player, other, wish)

    def _put_challenge(self, player: Player, other: Player, wish: Wish) -> None:
        theirs = self._order(wish, f"{player.name} moves")
        other.house(
            f"{player.name} challenges you: {wish.terms.text}{theirs}.",
            "Type accept or decline.",
        )

    def _order(self, wish: Wish, who: str) -> str:
        if wish.wants_first:
            return f"; {who} first"
        by_coin = self.settings.first_turn == "random"
        return "; the coin decides who moves first" if by_coin else "; the challenger moves first"

    def challenge_between(self, challenger: Player, other: Player) -> Challenge[Player] | None:
        challenge = self.lobby.challenge_by(challenger)
        return challenge if challenge is not None and challenge.challenged is other else None

    def ask_for_rematch(self, player: Player, opponent: Player) -> None:
        if not self._may_ask(player):
            return
        self.rematches[player] = opponent
        self.memory.wants_rematch(player, True)
        player.house(f"You ask {opponent.name} for a rematch.")
        self._put_rematch(player, opponent)

    def _put_rematch(self, player: Player, opponent: Player) -> None:
        yes = "accept" if opponent.is_practising else "rematch"
        opponent.house(f"{player.name} asks for a rematch. Type {yes} or decline.")

    def wants_rematch(self, player: Player, opponent: Player) -> bool:
        return self.rematches.get(player) is opponent

    def take_back(self, player: Player) -> bool:
        """Whatever they have asked for; whether they had."""
        challenge = self.lobby.withdraw_challenge(player)
        asked = self.rematches.pop(player, None)
        if challenge is not None:
            self.memory.challenges_nobody(player)
            self._tell_taken_back(challenge)
        if asked is not None:
            self.memory.wants_rematch(player, False)
            asked.house(f"{player.name} no longer asks for a rematch.")
            player.house(f"You no longer ask {asked.name} for a rematch.")
        return challenge is not None or asked is not None

    def _tell_taken_back(self, challenge: Challenge[Player]) -> None:
        challenger, other = challenge.challenger, challenge.challenged
        other.house(f"{challenger.name} has taken the challenge back.")
        challenger.house(f"You have taken back your challenge to {other.name}.")

    def asking(self, player: Player) -> list[Player]:
        """For a challenge, a rematch, or the game that a practising player waits for."""
        asking = [challenge.challenger for challenge in self.lobby.challenges_to(player)]
        asking += [other for other, wanted in self.rematches.items() if wanted is player]
        mine = self.lobby.offer_of(player) if player.is_practising else None
        if mine is not None:
            came = (other for other in self.lobby.fitting(player, mine) if other.is_free)
            asking += itertools.islice(came, 1)
        return list(dict.fromkeys(asking))

    def decline(self, player: Player, asking: Player) -> None:
        if self.challenge_between(asking, player) is not None:
            self.lobby.withdraw_challenge(asking)
            self.memory.challenges_nobody(asking)
            asking.house(f"{player.name} declines your challenge.")
            player.house(f"You decline the challenge of {asking.name}.")
        elif self.wants_rematch(asking, player):
            del self.rematches[asking]
            self.memory.wants_rematch(asking, False)
            asking.house(f"{player.name} does not want a rematch.")
            player.house(f"You decline the rematch with {asking.name}.")
        else:
            self.stop_looking(player)
            player.house("You go on practising, and no longer look for an opponent.")

    # Before and after the process ended.

    def note_what_is_open(self, running: Running) -> None:
        for challenge in self.lobby.challenges():
            kept = KeptChallenge(challenge.challenged.name, challenge.wish)
            running.challenges[challenge.challenger.name] = kept
        for player in self.rematches:
            running.players[player.name].wants_rematch = True

    def had_challenged(self, player: Player, other: Player, wish: Wish) -> None:
        self._asked.take(player, trio.current_time())  # as if it were asked now
        self.lobby.challenge(player, other, wish)

    def had_asked_for_rematch(self, player: Player, opponent: Player) -> None:
        self._asked.take(player, trio.current_time())
        self.rematches[player] = opponent

    def put_again(self, player: Player) -> None:
        """What others have asked them, and wait to hear."""
        for challenge in self.lobby.challenges_to(player):
            self._put_challenge(challenge.challenger, player, challenge.wish)
        asking = self._asking_for_rematch(player)
        if asking is not None:
            self._put_rematch(asking, player)

    # Having agreed.

    def begin(self, challenge: Challenge[Player]) -> None:
        theirs = Wish(challenge.wish.terms)
        self.pair(challenge.challenger, challenge.wish, challenge.challenged, theirs)

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

    # Nothing is open any more; whoever waited for an answer hears why.

    def are_seated(self, one: Player, other: Player) -> None:
        for asking, asked in ((one, other), (other, one)):
            if self.wants_rematch(asking, asked) or self.challenge_between(asking, asked):
                self._asked.give_back(asking)  # they were welcome to ask
        for player in (one, other):
            self._drop(player, "plays with somebody else now", but=(one, other))

    def has_left(self, player: Player) -> None:
        self._drop(player, "has left")
        self._asked.forget(player)
        self._called.forget(player)

    def _drop(self, player: Player, why: str, but: Iterable[Player] = ()) -> None:
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
        other = player.last_opponent
        return other if other is not None and self.wants_rematch(other, player) else None


def _other(challenge: Challenge[Player], player: Player) -> Player:
    return challenge.challenged if challenge.challenger is player else challenge.challenger
