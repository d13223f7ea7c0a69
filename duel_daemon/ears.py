"""Hearing all connections at once: one epoll, and one task that waits for it.

Waiting for each packet in a task of its own costs a registration with the kernel and a turn of
the scheduler, which together are dearer than a move. So a round asks the kernel once who has sent
something, lets each of them hear it, and then sends what there is to answer.
"""

import select
from collections.abc import Callable

import trio

IN_A_ROUND = 64  # connections; then all other tasks get their turn

Hear = Callable[[float], None]
"""Told the time when there is something to read. Must not raise."""


class Ears:
    """Who is listened to."""

    def __init__(self, end_round: Callable[[], None]) -> None:
        self._end_round = end_round
        self._epoll = select.epoll()
        self._listening: dict[int, Hear] = {}

    def listen(self, descriptor: int, hear: Hear) -> None:
        self._listening[descriptor] = hear
        self._epoll.register(descriptor, select.EPOLLIN)

    def ignore(self, descriptor: int) -> None:
        """To be called before it is closed: what systemd holds too would go on to be heard."""
        if self._listening.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    async def run(self) -> None:
        while True:
            await trio.lowlevel.wait_readable(self._epoll.fileno())
            now = trio.current_time()
            for descriptor, _ in self._epoll.poll(0, IN_A_ROUND):
                if descriptor in self._listening:  # else it was ignored in this very round
                    self._listening[descriptor](now)
            self._end_round()

    def close(self) -> None:
        self._epoll.close()
