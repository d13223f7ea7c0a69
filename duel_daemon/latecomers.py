"""Who may still come, with their code, to what the process before this one left behind.

A duel that ended as the process died: whoever played it may not have read how. A duel that was just
about to begin: nobody may have been told of it. Neither holds anybody's name, for those who never
read their code could not come back under it; but the code opens it, for as long as a seat is kept.
"""

import math
from collections.abc import Callable

import attrs

from duel_daemon import names
from duel_daemon.memory import is_code, people
from duel_daemon.player import Player
from duel_daemon.table import Table


@attrs.define(eq=False)
class Latecomers:
    """They are all waited for since the process began, and equally long."""

    until: float = attrs.field(default=-math.inf, init=False)
    _tables: dict[str, Table] = attrs.field(factory=dict, init=False)
    """Where they played, by the key of the name."""
    told: set[str] = attrs.field(factory=set, init=False)
    """The duels of those tables whose ends were told in any case, by their uids."""

    def expect(self, player: Player, table: Table) -> None:
        self._tables[player.key] = table

    def pop(self, player: Player) -> Table | None:
        """They are here already."""
        return self._tables.pop(player.key, None)

    def claim(
        self, name: str, code: str, now: float, is_taken: Callable[[str], bool]
    ) -> tuple[Player, Table] | None:
        """Who has come, and to which table; nobody, if a name that is needed is another's now."""
        if now >= self.until:
            self._tables.clear()
        table = self._tables.get(names.key(name))
        if table is None:
            return None
        player = next(each for each in people(table.sides) if each.key == names.key(name))
        if not is_code(table.code_of(player), code):
            return None
        needed = [player] if table.is_over else people(table.sides)
        if any(is_taken(each.key) for each in needed):
            return None
        for each in needed:
            del self._tables[each.key]
        return player, table

    def asleep(self, is_taken: Callable[[str], bool]) -> list[Table]:
        """The duels that could still begin."""
        return [
            table
            for table in dict.fromkeys(self._tables.values())
            if not table.is_over and not any(is_taken(each.key) for each in people(table.sides))
        ]
