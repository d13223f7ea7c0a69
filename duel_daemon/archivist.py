"""The store's own task: finished duels are handed in without waiting, and kept when they can be.

Whoever hands one in is told its number once it is on disk. While the disk is full, results wait in
memory, in order. What is stored, and how, is the store's business.
"""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

import attrs
import trio

from duel_daemon.records import DuelRecord
from duel_daemon.store import Store, StoreTrouble

log = logging.getLogger("duel_daemon")

RETRY_SECONDS = 10.0  # soon enough for whoever made room, and no load on a disk that is ill
MOST_WAITING = 10_000  # records, some 25 MB; a class plays 500 an hour

T = TypeVar("T")


class RunSync(Protocol):
    """A way to do work that blocks."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


def in_one_thread() -> RunSync:
    """In a thread, one piece of work at a time. Work that was begun is not given up."""
    limiter = trio.CapacityLimiter(1)

    async def run_sync(work: Callable[[], T], /) -> T:
        return await trio.to_thread.run_sync(work, limiter=limiter)

    return run_sync


@attrs.frozen(eq=False)
class _Waiting:
    record: DuelRecord
    on_kept: Callable[[int], None]
    on_dropped: Callable[[], None]


@attrs.define(eq=False)
class Archivist:
    """The only one who calls the store while it runs. Without a store nothing is kept."""

    _store: Store | None
    _run_sync: RunSync = attrs.field(factory=in_one_thread)
    _open: Callable[[], Store] | None = None
    """How to get the store that could not be had at the start: the disk was full."""
    _waiting: deque[_Waiting] = attrs.field(factory=deque, init=False)
    _news: trio.Event = attrs.field(factory=trio.Event, init=False)
    _writing: trio.Lock = attrs.field(factory=trio.Lock, init=False)
    _in_trouble: bool = attrs.field(default=False, init=False)
    _dropped: int = attrs.field(default=0, init=False)
    """Since the trouble began."""

    @property
    def is_keeping(self) -> bool:
        return self._store is not None or self._open is not None

    @property
    def waiting(self) -> int:
        """How many records are not on disk yet."""
        return len(self._waiting)

    def keep(
        self,
        record: DuelRecord,
        on_kept: Callable[[int], None],
        on_dropped: Callable[[], None] = lambda: None,
    ) -> None:
        """Hand in a record; `on_kept` is called with its number once it is on disk.

        `on_dropped` is called instead if it waits for so long that it must be given up.
        """
        if not self.is_keeping:
            return
        self._waiting.append(_Waiting(record, on_kept, on_dropped))
        if len(self._waiting) > MOST_WAITING:
            self._drop_oldest()
        self._news.set()

    async def ask(self, question: Callable[[Store], T]) -> T:
        """What the store answers; it may raise StoreTrouble, as nothing kept is trouble too."""
        if self._store is None:
            raise StoreTrouble("No results are kept here.")
        with trio.CancelScope(shield=True):  # whoever asked gets an answer, however late it is
            answer = await self._run_sync(partial(question, self._store))
        return answer

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write whatever is handed in, as long as the daemon runs."""
        task_status.started()
        while True:
            await self._news.wait()
            self._news = trio.Event()
            if not await self._write():
                self._news.set()  # what waits is as good as new
                await trio.sleep(RETRY_SECONDS)

    async def finish(self) -> None:
        """Write what waits, with one try; for how long is the caller's to bound.

        The store stays open: whoever opened it closes it, when no question can come any more.
        """
        try:
            await self._write()
        finally:
            if self._waiting:
                log.error("Results that could not be stored before the end: %d.", self.waiting)

    async def _write(self) -> bool:
        """Store all that waits, in one transaction; False if it must be tried again."""
        async with self._writing:  # finish may come while run is at it
            batch = tuple(self._waiting)
            if not batch:
                return True
            try:
                numbers = await self._run_sync(partial(self._add, batch))
            except StoreTrouble as trouble:
                self._note_trouble(trouble)
                return False
            self._note_success()
            self._tell(batch, numbers)
        return True

    def _add(self, batch: tuple[_Waiting, ...]) -> list[int]:
        if self._store is None:
            assert self._open is not None
            self._store = self._open()
        return self._store.add([waiting.record for waiting in batch])

    def close(self) -> None:
        """Close the store, when no question can come any more."""
        if self._store is not None:
            self._store.close()

    def _tell(self, batch: tuple[_Waiting, ...], numbers: list[int]) -> None:
        for kept, number in zip(batch, numbers, strict=True):
            if self._waiting and self._waiting[0] is kept:  # and was not dropped meanwhile
                self._waiting.popleft()
            try:
                kept.on_kept(number)
            except Exception:  # a mistake at one table is not to cost the others their results
                log.exception("Telling that duel %d is stored went wrong.", number)

    def _drop_oldest(self) -> None:
        self._waiting.popleft().on_dropped()
        self._dropped += 1
        if self._dropped == 1:  # one line, not one for each; the count comes with the good news
            log.error("Over %d results wait to be stored; the oldest are dropped.", MOST_WAITING)

    def _note_trouble(self, trouble: StoreTrouble) -> None:
        if not self._in_trouble:
            log.warning(
                "%s Results wait in memory; storing them is tried every %d seconds.",
                trouble,
                RETRY_SECONDS,
            )
        self._in_trouble = True

    def _note_success(self) -> None:
        if self._in_trouble:
            lost = f"{self._dropped} were dropped" if self._dropped else "none was lost"
            log.warning("Results are stored again; %s.", lost)
        self._in_trouble = False
        self._dropped = 0
