"""A person: a name, wishes about the screen, and a place.

The connection is how a person is reached, not who they are: it may be lost while the seat at the
table is kept.
"""

from typing import Literal

import attrs

from duel_daemon import names
from duel_daemon.commands import Place
from duel_daemon.finished import Finished
from duel_daemon.narrator import house
from duel_daemon.peer import Peer
from duel_daemon.table import Table
from duel_daemon.textwidth import wrapped

BELL = "\a"


@attrs.define(eq=False)
class Player:
    """Somebody who has given a name. At a table, watching one, or just about."""

    name: str
    key: str = attrs.field(init=False)
    """What nobody else's name may come down to."""
    connection: Peer | None
    """None while they are away from their table."""
    table: Table | None = None
    watching: Table | None = None
    last_played: Table | None = None
    """Their last game that is over, for `review` and `retry`."""
    last_table: Table | None = None
    """Where they last played with somebody, for `rematch`."""
    waits_since: float = 0.0
    has_heard_of_practice: bool = False
    bell: bool = False
    muted: bool = False
    ascii_only: bool = False
    hinted_at: tuple[int, int, int] | None = None
    """The table, duel and turn of their last hint: asked there again, they get a move."""

    @key.default
    def _key_of_name(self) -> str:
        return names.key(self.name)

    def rename(self, name: str) -> None:
        self.name, self.key = name, names.key(name)

    @property
    def peer(self) -> Peer:
        """The connection of somebody who is here."""
        assert self.connection is not None
        return self.connection

    def connect(self, peer: Peer) -> None:
        self.connection = peer
        peer.ascii_only = self.ascii_only

    def prefer(self, wish: Literal["bell", "muted", "ascii_only"], is_on: bool) -> None:
        setattr(self, wish, is_on)
        self.peer.ascii_only = self.ascii_only

    def forget(self) -> None:
        """They have left. Others may remember them; they must not remember others for ever."""
        self.connection = self.table = self.watching = self.last_played = self.last_table = None

    @property
    def place(self) -> Place:
        if self.table is not None:
            return Place.DUEL if self.table.duel.is_on else Place.BETWEEN
        return Place.WATCHING if self.watching is not None else Place.LOBBY

    @property
    def is_free(self) -> bool:
        """Whether a game with somebody can begin at once."""
        return self.table is None

    @property
    def is_practising(self) -> bool:
        return self.table is not None and self.table.is_practice

    @property
    def plays_somebody(self) -> bool:
        """Whether theirs is a seat worth keeping, and not to be left for another game."""
        return self.table is not None and not self.table.is_practice

    @property
    def last_opponent(self) -> "Player | None":
        """Whom they played last, be they still here or not."""
        other = self.last_table.opponent_of(self) if self.last_table is not None else None
        return other if isinstance(other, Player) else None

    @property
    def last_duels(self) -> tuple[Finished, ...]:
        """The duels of the match that is on, if one is over, or of their last game."""
        if self.table is not None and self.table.finished:
            return tuple(self.table.finished)
        return tuple(self.last_played.finished) if self.last_played is not None else ()

    def tell(self, text: str) -> None:
        if self.connection is not None:
            self.connection.say(text)

    def house(self, *lines: str) -> None:
        """Lines of the house, in as many rows as the screen needs.

        The later rows are indented: nobody's talk can pass for a line of the house's own.
        """
        self.tell(house(*(row for line in lines for row in wrapped(line, indent="  "))))

    def ask(self, prompt: str | None, text: str = "") -> None:
        if self.connection is None:
            return
        if prompt is not None and self.bell:
            text += BELL  # once: the prompt may come again, but it is still this turn
        self.connection.ask(prompt, text)
