"""When a turn's warnings and its end are due. Pure: the time is handed in.

The clock belongs to the turn: nothing a player types restarts it.
"""

import math
from functools import lru_cache

import attrs

LAST_WARNING_SECONDS = 10.0
SHORT_TURN_SECONDS = 2 * LAST_WARNING_SECONDS
"""A turn no longer than this is only warned at half."""
LONG_TURN_SECONDS = 4 * LAST_WARNING_SECONDS
"""From here on there are two warnings, no closer together than the last one is to the end."""


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
        for seconds_left in warnings(self.seconds):
            if end - seconds_left > now:
                return Alarm(end - seconds_left, seconds_left)
        return Alarm(end, 0.0)


@lru_cache(maxsize=16)  # asked for with every turn, and a daemon has two or three lengths
def warnings(turn_seconds: float) -> tuple[float, ...]:
    """How many seconds are left when the mover is warned."""
    half = turn_seconds / 2
    if turn_seconds <= SHORT_TURN_SECONDS:
        return (half,)
    if turn_seconds < LONG_TURN_SECONDS:
        return (LAST_WARNING_SECONDS,)
    return (half, LAST_WARNING_SECONDS)


@attrs.define
class Ticker:
    """The clock of a table: set anew for every turn, and stopped while it would be unfair.

    It is set with every move and looked at rarely, so it keeps bare numbers and makes a TurnClock
    of them only when somebody looks.
    """

    _began: float = attrs.field(default=0.0, init=False)
    _seconds: float = attrs.field(default=0.0, init=False)
    _rung_at: float = attrs.field(default=0.0, init=False)
    """The last alarm that was rung for this turn, or its beginning."""
    _stands_since: float | None = attrs.field(default=None, init=False)

    def set(self, now: float, turn_seconds: float) -> None:
        """A turn begins."""
        self._began = self._rung_at = now
        self._seconds = turn_seconds
        self._stands_since = None

    @property
    def first_alarm_at(self) -> float:
        """Of a turn that has just begun, if it has an end."""
        if not self._seconds:
            return math.inf
        return self._began + self._seconds - warnings(self._seconds)[0]

    def used(self, now: float) -> float:
        """How long the turn has taken so far."""
        return self._time(now) - self._began

    def left(self, now: float) -> float:
        return TurnClock(self._began, self._seconds).left(self._time(now))

    def _time(self, now: float) -> float:
        return now if self._stands_since is None else self._stands_since

    def stand(self, now: float) -> None:
        if self._stands_since is None:
            self._stands_since = now

    def go_on(self, now: float) -> None:
        if self._stands_since is not None:
            stood = now - self._stands_since
            self._began += stood
            self._rung_at += stood
            self._stands_since = None

    @property
    def alarm(self) -> Alarm:
        """The next one that has not been rung; never, while the clock stands."""
        if self._stands_since is not None:
            return NEVER
        return TurnClock(self._began, self._seconds).next_alarm(self._rung_at)

    def ring(self) -> Alarm:
        """The alarm is heard: the next one comes after it."""
        alarm = self.alarm
        self._rung_at = alarm.at
        return alarm
