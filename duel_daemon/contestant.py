"""Whoever sits at a table, as the table sees them; and the house, which sits there for practice."""

import random
from typing import Protocol

import attrs

from duel_daemon.duel import Game
from duel_daemon.opponents import Strength, choose


class Contestant(Protocol):
    """What a table needs of whoever sits at it or watches."""

    @property
    def name(self) -> str: ...

    def tell(self, text: str) -> None:
        """Whole lines, of the rule book's dialogue or of the house."""

    def house(self, *lines: str) -> None:
        """Lines of the house, to be marked as such."""

    def ask(self, prompt: str | None, text: str = "") -> None:
        """It is their turn, and this is the question; or it no longer is. The text goes before."""


@attrs.define(eq=False)
class House:
    """The daemon's own player. It reads nothing; the table asks it for its moves."""

    strength: Strength
    rng: random.Random

    @property
    def name(self) -> str:
        return f"the house ({self.strength.value})"

    def tell(self, text: str) -> None:
        """Not read."""

    def house(self, *lines: str) -> None:
        """Not read."""

    def ask(self, prompt: str | None, text: str = "") -> None:
        """Asked by `choose` instead."""

    def choose(self, game: Game, number: int) -> int:
        return choose(self.strength, game, number, self.rng)
