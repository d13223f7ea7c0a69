"""When a turn's warnings and its end are due. Pure: the time is handed in.

The clock belongs to the turn: nothing a player types restarts it.
"""

import math

import attrs

LAST_WARNING_SECONDS = 10.0
SHORT_TURN_SECONDS = 2 * LAST_WARNING_SECONDS
"""A turn no longer than this is only warned at half."""


@attrs.frozen
class Alarm:
    """A moment at which the mover hears of the clock; with nothing left, the turn is over."""

    at: float
    seconds_left: float


NEVER = Alarm(math.inf, math.inf)


@attrs.frozen
class TurnClock:
    """One turn's clock, running from `began`."""

    began: float
    seconds: float
    """What the turn was given; 0 means as long as one likes."""

    def left(self, now: float) -> float:
        return self.began + self.seconds - now if self.seconds else math.inf

    def next_alarm(self, now: float) -> Alarm:
        """The first alarm after this moment; the end is due for ever once it has come."""
        if not self.seconds:
            return NEVER
        end = self.began + self.seconds
        for seconds_left in self._warnings():
            if end - seconds_left > now:
                return Alarm(end - seconds_left, seconds_left)
        return Alarm(end, 0.0)

    def _warnings(self) -> tuple[float, ...]:
        half = self.seconds / 2
        if self.seconds <= SHORT_TURN_SECONDS:
            return (half,)
        return (half, LAST_WARNING_SECONDS)
