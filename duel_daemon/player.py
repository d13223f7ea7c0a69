"""A person: a name, wishes about the screen, and a place.

The connection is how a person is reached, not who they are.
"""

import attrs

from duel_daemon.commands import Place
from duel_daemon.narrator import house
from duel_daemon.peer import Peer
from duel_daemon.table import Finished, Table

BELL = "\a"


@attrs.define(eq=False)
class Player:
    """Somebody who has given a name. At a table, watching one, or just about."""

    name: str
    peer: Peer
    table: Table | None = None
    watching: Table | None = None
    last: Finished | None = None
    """Their last duel that ended, for `review` and `retry`."""
    last_table: Table | None = None
    """Where it was played, for `rematch`."""
    bell: bool = False
    muted: bool = False
    hinted_at: int | None = None
    """The number at which the last hint was given: asked there again, they get a move."""

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

    def tell(self, text: str) -> None:
        self.peer.say(text)

    def house(self, *lines: str) -> None:
        self.peer.say(house(*lines))

    def ask(self, prompt: str | None) -> None:
        self.peer.ask(f"{BELL}{prompt}" if prompt is not None and self.bell else prompt)
