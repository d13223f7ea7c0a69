"""Arithmetic that may take long is done aside, in a thread, so that nobody else waits for it."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import trio

from duel_daemon.survey import HEAVY_NUMBER

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# The threads share one interpreter with the event loop: more than two would only crowd it.
_THREADS = trio.CapacityLimiter(2)


async def consider(number: int, work: Callable[[*Ts], T], *args: *Ts) -> T:
    """Do work whose cost depends on a number: at once if it is small, else in a thread.

    Not to be cancelled half way: whoever waits for it is the one who asked.
    """
    if number <= HEAVY_NUMBER:
        return work(*args)
    with trio.CancelScope(shield=True):
        result = await trio.to_thread.run_sync(work, *args, limiter=_THREADS)
    return result
