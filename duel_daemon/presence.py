"""Who is away from a table, and how long their seats are kept. Pure: the time is handed in."""

import math

import attrs

from duel_daemon.match import Side

MOST_LOSSES = 3  # the third lost connection in one duel is a forfeit


@attrs.define
class Presence:
    """The two sides of a table, there or away."""

    return_seconds: float
    """How long a seat is kept; 0: not at all."""
    losses: list[int] = attrs.field(factory=lambda: [0, 0], init=False)
    """Of the duel that is on, by the side."""
    _kept_until: dict[Side, float] = attrs.field(factory=dict, init=False)
    _excused: set[Side] = attrs.field(factory=set, init=False)

    def begin_duel(self) -> None:
        self.losses = [0, 0]

    def lose(self, side: Side, now: float) -> bool:
        """A connection is lost: whether its seat is kept."""
        self.losses[side] += 1
        if not self.return_seconds or self.losses[side] >= MOST_LOSSES:
            return False
        self.wait_for(side, now)
        return True

    def wait_for(self, side: Side, now: float) -> None:
        """Keep the seat from now on. If both are away, both are waited for from now on."""
        self._kept_until[side] = now + self.return_seconds
        if self.both_are_away:
            for each in Side:
                self._kept_until[each] = now + self.return_seconds

    def excuse(self, side: Side, now: float) -> None:
        """Away through no fault of theirs, but of our restart: it costs them no time."""
        self.wait_for(side, now)
        self._excused.add(side)

    def come_back(self, side: Side) -> None:
        self._kept_until.pop(side, None)
        self._excused.discard(side)

    def clock_runs_for(self, mover: Side) -> bool:
        """While somebody is away, it runs only in their own turn, and never for both."""
        if not self._kept_until:
            return True
        return self.is_away(mover) and not self.both_are_away and mover not in self._excused

    def is_away(self, side: Side) -> bool:
        return side in self._kept_until

    @property
    def anybody_is_away(self) -> bool:
        return bool(self._kept_until)

    @property
    def both_are_away(self) -> bool:
        return len(self._kept_until) == len(Side)

    @property
    def due(self) -> float:
        """When the first kept seat is given up."""
        return min(self._kept_until.values(), default=math.inf)

    def overdue(self, now: float) -> list[Side]:
        return [side for side, until in self._kept_until.items() if until <= now]
