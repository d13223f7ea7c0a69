"""What is kept of what is going on: who is here, what is being played, what is remembered. Pure.

How it is written down, and read back, is the ledger's business.
"""

import attrs

from duel_daemon.terms import Terms, Wish

HOUSE_MARK = "*"  # before the strength, where a name would stand: no name begins with it


@attrs.frozen
class Place:
    """Where somebody sits or sat: a table, and which side of it. Names change, and pass on."""

    table: int
    side: int


@attrs.define
class KeptPlayer:
    """A named player."""

    name: str
    connection: str
    """What the connection is called where descriptors are kept; "" if it is lost."""
    bell: bool = False
    muted: bool = False
    ascii_only: bool = False
    wire: str = ""
    """The state of the telnet codec, a half typed line included; "" is a fresh one."""
    wish: Wish | None = None
    waits_since: int = attrs.field(default=0, eq=False)
    """Who has the lower one came first; the numbers mean nothing else."""
    seat: Place | None = None
    last: Place | None = None
    """Where they last finished a duel, practice or not: for `review` and `retry`."""
    last_with: Place | None = None
    """Where they last played with somebody: for `rematch`."""
    wants_rematch: bool = False
    """They have asked whom they last played with. (Whether those can still be asked is seen when
    all are back.)"""
    watches: int | None = None
    """The table, by its number."""

    @property
    def places(self) -> list[Place]:
        """All that they know."""
        return [place for place in (self.seat, self.last, self.last_with) if place is not None]


@attrs.frozen
class KeptChallenge:
    """Somebody is asked for a game."""

    to: str
    wish: Wish


@attrs.define
class KeptDuel:
    """A duel of a match: its start, the turns so far, and how it ended, if it has."""

    number: int
    started: float
    turns: list[tuple[int, float]] = attrs.field(factory=list)
    """The divisor, and how many seconds the turn took."""
    ended: float | None = None
    winner: int | None = None
    reason: str = ""
    stored: int | None = None
    """Its number in the store, when the players have been told."""


@attrs.define
class KeptTable:
    """A match being played."""

    ident: int
    uid: str
    terms: Terms
    violations: int
    sides: tuple[str, str]
    codes: tuple[str, str]
    why_first: str
    duels: list[KeptDuel] = attrs.field(factory=list)
    losses: list[int] = attrs.field(factory=lambda: [0, 0])
    """How often each side has lost the connection since the last duel began."""
    is_over: bool = False
    """It has been decided. Its players may not have been told, its results not be stored."""
    verdict: str = ""
    """How the match as a whole ended, if there is more to say than of its last duel."""
    is_closed: bool = False
    """They were told, and all is stored: it is kept for those who may want to look back."""

    @property
    def people(self) -> list[Place]:
        """The places that are not the house's."""
        return [
            Place(self.ident, side)
            for side, name in enumerate(self.sides)
            if not name.startswith(HOUSE_MARK)
        ]

    @property
    def stored(self) -> dict[str, int]:
        """The duels that are known to be stored, by what is unique to each, and their numbers."""
        numbered = enumerate((duel.stored for duel in self.duels), start=1)
        return {f"{self.uid}.{nth}": number for nth, number in numbered if number is not None}

    @property
    def is_practice(self) -> bool:
        return len(self.people) < len(self.sides)


@attrs.define
class Running:
    """Everything that was going on."""

    players: dict[str, KeptPlayer] = attrs.field(factory=dict)
    tables: dict[int, KeptTable] = attrs.field(factory=dict)
    challenges: dict[str, KeptChallenge] = attrs.field(factory=dict)
    """That are open, by the name of the challenger: one at a time each."""
    last_table: int = 0
    offers: int = attrs.field(default=0, eq=False)
    """How many were made so far."""

    def in_order(self) -> list[KeptPlayer]:
        """Whoever waits, first come first."""
        return sorted(self.players.values(), key=lambda player: player.waits_since)

    def drop_challenges(self, name: str) -> None:
        """By and to somebody who has left, or has found a game."""
        for by, challenge in [*self.challenges.items()]:
            if name in (by, challenge.to):
                del self.challenges[by]

    def drop_rematch(self, player: KeptPlayer) -> None:
        """Asked of somebody who has left, or has found a game: only whom they played last did."""
        place = player.last_with
        table = self.tables.get(place.table) if place is not None else None
        if place is not None and table is not None:
            asking = self.players.get(table.sides[1 - place.side])
            if asking is not None and asking.last_with == Place(place.table, 1 - place.side):
                asking.wants_rematch = False

    def sitting_at(self, table: KeptTable) -> list[KeptPlayer]:
        """Who plays there, and has not left."""
        found = []
        for place in table.people:
            player = self.players.get(table.sides[place.side])
            if player is not None and player.seat == place:
                found.append(player)
        return found
