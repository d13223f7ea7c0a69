"""When something is due at one of the tables: one task that keeps the time for all of them.

A task for each would cost 4 KiB a table, and a move a turn of the scheduler.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Iterator

import attrs
import trio


@attrs.define(eq=False)
class Reminder:
    """Calls once, when it is due; and not at all, once it is cancelled."""

    at: float
    _call: Callable[[], None] | None

    def cancel(self) -> None:
        self._call = None  # it may stay in the timetable for long, but holds on to nobody

    def ring(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()


@attrs.define(eq=False)
class Timetable:
    """All reminders, the first one first."""

    _reminders: list[tuple[float, int, Reminder]] = attrs.field(factory=list, init=False)
    _numbers: Iterator[int] = attrs.field(factory=itertools.count, init=False)
    """So that of two that are due at once, the older one comes first."""
    _sleep: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)

    def remind(self, at: float, call: Callable[[], None]) -> Reminder:
        """Call then; a call must be short, and must not raise."""
        reminder = Reminder(at, call)
        heapq.heappush(self._reminders, (at, next(self._numbers), reminder))
        if at < self._sleep.deadline:
            self._sleep.deadline = at
        return reminder

    async def run(self) -> None:
        while True:
            with trio.CancelScope(deadline=self._next) as self._sleep:
                await trio.sleep_forever()
            now = trio.current_time()
            while self._next <= now:
                _, _, reminder = heapq.heappop(self._reminders)
                reminder.ring()

    @property
    def _next(self) -> float:
        return self._reminders[0][0] if self._reminders else math.inf
