"""Who looks for a game, and who challenged whom. Only the lobby changes who waits. Pure.

Players are whatever the caller uses for them, as long as they can be told apart. The lobby pairs
nobody by itself: it answers who fits, first come first, and the caller seats them.
"""

from typing import Generic, TypeVar

import attrs

from duel_daemon.terms import Wish

P = TypeVar("P")


@attrs.frozen
class Challenge(Generic[P]):
    """One player asks another for a game."""

    challenger: P
    challenged: P
    wish: Wish


@attrs.define
class Lobby(Generic[P]):
    """The offers, in the order they were made, and the open challenges."""

    _offers: dict[P, Wish] = attrs.field(factory=dict, init=False)
    _challenges: dict[P, Challenge[P]] = attrs.field(factory=dict, init=False)
    """By challenger: one at a time each."""

    def offer(self, player: P, wish: Wish) -> None:
        """Look for a game. The same wish again keeps the place in the queue."""
        if self._offers.get(player) != wish:
            self._offers.pop(player, None)
            self._offers[player] = wish

    def offer_of(self, player: P) -> Wish | None:
        return self._offers.get(player)

    def withdraw_offer(self, player: P) -> bool:
        return self._offers.pop(player, None) is not None

    def offers(self) -> list[tuple[P, Wish]]:
        return list(self._offers.items())

    def fitting(self, player: P, wish: Wish) -> list[P]:
        """Who looks for exactly this game, first come first; not two who both want to begin."""
        return [
            other
            for other, theirs in self._offers.items()
            if other is not player
            and theirs.terms == wish.terms
            and not (theirs.wants_first and wish.wants_first)
        ]

    def challenge(self, challenger: P, challenged: P, wish: Wish) -> Challenge[P] | None:
        """Ask for a game; the challenge it replaces, if there was one to somebody."""
        replaced = self._challenges.pop(challenger, None)
        self._challenges[challenger] = Challenge(challenger, challenged, wish)
        return replaced

    def challenges(self) -> list[Challenge[P]]:
        return list(self._challenges.values())

    def challenge_by(self, challenger: P) -> Challenge[P] | None:
        return self._challenges.get(challenger)

    def challenges_to(self, challenged: P) -> list[Challenge[P]]:
        return [c for c in self._challenges.values() if c.challenged is challenged]

    def withdraw_challenge(self, challenger: P) -> Challenge[P] | None:
        return self._challenges.pop(challenger, None)

    def clear(self, player: P) -> list[Challenge[P]]:
        """The player leaves or starts a game: nothing of theirs is pending any more.

        The challenges by and to them that were still open, so that the others can be told.
        """
        self._offers.pop(player, None)
        dropped = self.challenges_to(player)
        for challenge in dropped:
            del self._challenges[challenge.challenger]
        own = self._challenges.pop(player, None)
        return dropped if own is None else [*dropped, own]
