import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import trio
from kit import inline
from test_store import NOON, a_record
from trio.testing import wait_all_tasks_blocked

from duel_daemon import archivist
from duel_daemon.archivist import RETRY_SECONDS, Archivist
from duel_daemon.records import DuelRecord
from duel_daemon.store import Store, StoreTrouble


class Moody(Store):
    """A store whose disk is full whenever a test says so, and that remembers how it was called."""

    is_full = False
    tries = 0

    def add(self, records: Sequence[DuelRecord]) -> list[int]:
        self.tries += 1
        if self.is_full:
            raise StoreTrouble("The disk is full.")
        return super().add(records)

    @property
    def uids(self) -> list[str]:
        return [record.uid for _, record in self.history(None, -1)][::-1]


@pytest.fixture
def moody(tmp_path: Path) -> Iterator[Moody]:
    opened = Moody.open(tmp_path, now=lambda: NOON)
    assert isinstance(opened, Moody)
    yield opened
    opened.close()


def ignore(number: int) -> None:
    pass


def hand_in(keeper: Archivist, *uids: str, on_kept: Callable[[int], None] = ignore) -> None:
    for uid in uids:
        keeper.keep(a_record(uid), on_kept)


def levels(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.levelno for record in caplog.records]


async def test_whoever_hands_in_a_duel_is_told_its_number_once_it_is_stored(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object
) -> None:
    keeper, told = Archivist(moody, inline), []
    await nursery.start(keeper.run)
    hand_in(keeper, "a", "b", on_kept=lambda number: told.append((number, moody.uids)))
    assert told == []  # handing in does not wait
    await wait_all_tasks_blocked()
    assert told == [(1, ["a", "b"]), (2, ["a", "b"])]
    assert keeper.waiting == 0
    nursery.cancel_scope.cancel()


async def test_all_that_waits_is_one_transaction(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object
) -> None:
    keeper = Archivist(moody, inline)
    hand_in(keeper, *"abcdefgh")
    await nursery.start(keeper.run)
    await wait_all_tasks_blocked()
    assert (moody.tries, moody.uids) == (1, list("abcdefgh"))
    nursery.cancel_scope.cancel()


async def test_a_duel_handed_in_by_whoever_was_just_told_is_stored_too(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object
) -> None:
    keeper = Archivist(moody, inline)
    await nursery.start(keeper.run)
    hand_in(keeper, "a", on_kept=lambda number: hand_in(keeper, "b"))
    await wait_all_tasks_blocked()
    assert moody.uids == ["a", "b"]
    nursery.cancel_scope.cancel()


async def test_a_mistake_of_one_who_is_told_costs_nobody_else_anything(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    keeper, told = Archivist(moody, inline), []
    await nursery.start(keeper.run)
    hand_in(keeper, "a", on_kept=lambda number: 1 // 0)  # type: ignore[arg-type, return-value]
    hand_in(keeper, "b", on_kept=told.append)
    await wait_all_tasks_blocked()
    hand_in(keeper, "c", on_kept=told.append)
    await wait_all_tasks_blocked()
    assert told == [2, 3]
    assert "ZeroDivisionError" in caplog.text
    nursery.cancel_scope.cancel()


# Trouble.


async def test_on_a_full_disk_results_wait_and_are_stored_in_order_when_there_is_room(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    keeper, told = Archivist(moody, inline), []
    await nursery.start(keeper.run)
    moody.is_full = True
    for uid in "abc":
        hand_in(keeper, uid, on_kept=told.append)
        await trio.sleep(2.5 * RETRY_SECONDS)
    assert (keeper.waiting, told) == (3, [])
    assert levels(caplog) == [logging.WARNING]  # once, not with every try
    moody.is_full = False
    await trio.sleep(RETRY_SECONDS)
    assert (keeper.waiting, told, moody.uids) == (0, [1, 2, 3], ["a", "b", "c"])
    assert "Results are stored again; none was lost." in caplog.text
    assert len(caplog.records) == 2
    nursery.cancel_scope.cancel()


async def test_a_full_disk_is_tried_every_ten_seconds_and_no_more(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object
) -> None:
    keeper = Archivist(moody, inline)
    await nursery.start(keeper.run)
    moody.is_full = True
    hand_in(keeper, "a")
    await trio.sleep(1)
    for uid in "bcdefgh":
        hand_in(keeper, uid)  # no reason to try sooner
        await trio.sleep(1)
    assert moody.tries == 1
    await trio.sleep(101 - 8)
    assert moody.tries == 1 + 100 // RETRY_SECONDS
    nursery.cancel_scope.cancel()


async def test_each_new_trouble_is_warned_of(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = Archivist(moody, inline)
    await nursery.start(keeper.run)
    for uid in "ab":
        moody.is_full = True
        hand_in(keeper, uid)
        await trio.sleep(1)
        moody.is_full = False
        await trio.sleep(RETRY_SECONDS)
    assert len(caplog.records) == 4
    nursery.cancel_scope.cancel()


async def test_of_too_many_waiting_results_the_oldest_are_dropped(
    moody: Moody,
    nursery: trio.Nursery,
    autojump_clock: object,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archivist, "MOST_WAITING", 3)
    keeper, told = Archivist(moody, inline), []
    await nursery.start(keeper.run)
    moody.is_full = True
    for uid in "abcde":
        hand_in(keeper, uid, on_kept=told.append)
        await trio.sleep(1)
    assert keeper.waiting == 3
    assert levels(caplog) == [logging.WARNING, logging.ERROR]
    moody.is_full = False
    await trio.sleep(RETRY_SECONDS)
    assert (moody.uids, told) == (["c", "d", "e"], [1, 2, 3])
    assert "2 were dropped" in caplog.text
    nursery.cancel_scope.cancel()


async def test_what_is_dropped_while_it_is_written_takes_no_other_with_it(
    moody: Moody, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archivist, "MOST_WAITING", 3)

    async def slowly(work):  # type: ignore[no-untyped-def]
        await trio.sleep(1)
        return work()

    keeper, told = Archivist(moody, slowly), []
    hand_in(keeper, "a", "b", on_kept=told.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keeper.finish)
        await trio.sleep(0.5)
        hand_in(keeper, "c", "d", on_kept=told.append)  # drops a, which is on its way
        await trio.sleep(1)
        assert (keeper.waiting, told) == (2, [1, 2])
        await keeper.finish()
    assert (moody.uids, told) == (["a", "b", "c", "d"], [1, 2, 3, 4])


# Idleness and the end.


class Steps(trio.abc.Instrument):
    """Counts how often a task runs."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += self.name in task.name


async def test_nothing_wakes_up_while_nothing_waits(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object
) -> None:
    keeper, steps = Archivist(moody, inline), Steps("Archivist.run")
    await nursery.start(keeper.run)
    hand_in(keeper, "a")
    await trio.sleep(1)
    trio.lowlevel.add_instrument(steps)
    await trio.sleep(80_000)
    assert steps.count == 0
    hand_in(keeper, "b")
    await trio.sleep(1)
    assert steps.count > 0  # or the name above is wrong
    nursery.cancel_scope.cancel()


async def test_what_waits_at_the_end_is_stored(moody: Moody, autojump_clock: object) -> None:
    keeper, told = Archivist(moody, inline), []
    hand_in(keeper, "a", "b", on_kept=told.append)
    await keeper.finish()
    assert (moody.uids, told) == (["a", "b"], [1, 2])
    await keeper.finish()
    assert moody.tries == 1


async def test_the_end_while_it_is_writing_tells_everybody_once(
    moody: Moody, nursery: trio.Nursery
) -> None:
    keeper, told = Archivist(moody), []
    await nursery.start(keeper.run)
    for uid in "abcdefgh":
        hand_in(keeper, uid, on_kept=told.append)
        await trio.lowlevel.checkpoint()
    await keeper.finish()
    assert told == [1, 2, 3, 4, 5, 6, 7, 8]
    nursery.cancel_scope.cancel()


async def test_results_that_cannot_be_stored_at_the_end_are_counted_in_the_log(
    moody: Moody, autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = Archivist(moody, inline)
    moody.is_full = True
    hand_in(keeper, "a", "b")
    await keeper.finish()  # one try, and no waiting for better times
    assert trio.current_time() == 0
    assert "Results that could not be stored before the end: 2." in caplog.text


async def test_an_end_out_of_time_is_an_end(
    moody: Moody, autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    async def never(work):  # type: ignore[no-untyped-def]
        await trio.sleep_forever()

    keeper = Archivist(moody, never)
    hand_in(keeper, "a")
    with trio.move_on_after(5) as bound:
        await keeper.finish()
    assert bound.cancelled_caught
    assert "Results that could not be stored before the end: 1." in caplog.text


# Questions.


async def test_a_question_is_answered_by_the_store(moody: Moody, autojump_clock: object) -> None:
    keeper = Archivist(moody, inline)
    hand_in(keeper, "a")
    await keeper.finish()
    assert [number for number, _ in await keeper.ask(lambda store: store.history("Anna", 5))] == [1]
    assert (await keeper.ask(lambda store: store.standings(5)))[0].name == "Anna"


async def test_without_a_store_nothing_is_kept(
    nursery: trio.Nursery, autojump_clock: object
) -> None:
    keeper, told = Archivist(None, inline), []
    await nursery.start(keeper.run)
    hand_in(keeper, "a", on_kept=told.append)
    await trio.sleep(100)
    await keeper.finish()
    assert (keeper.is_keeping, keeper.waiting, told) == (False, 0, [])
    with pytest.raises(StoreTrouble, match="No results are kept here"):
        await keeper.ask(lambda store: store.standings(5))
    nursery.cancel_scope.cancel()


# The thread.


class Witness(Moody):
    """Notes who calls, and whether two ever call at once."""

    threads: set[int] = set()
    at_once = 0
    most_at_once = 0

    def add(self, records: Sequence[DuelRecord]) -> list[int]:
        return self._seen(lambda: super(Witness, self).add(records))

    def look(self) -> None:
        self._seen(lambda: self.history(None, 1))

    def _seen(self, work):  # type: ignore[no-untyped-def]
        self.threads.add(threading.get_ident())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        result = work()
        self.at_once -= 1
        return result


async def test_the_store_is_called_off_the_event_loop_and_by_one_thread_at_a_time(
    tmp_path: Path,
) -> None:
    opened = Witness.open(tmp_path, now=lambda: NOON)
    assert isinstance(opened, Witness)
    keeper, told = Archivist(opened), []
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        async with trio.open_nursery() as asking:
            for i in range(50):
                hand_in(keeper, f"duel {i}", on_kept=told.append)
                asking.start_soon(keeper.ask, Witness.look)
                await trio.lowlevel.checkpoint()
        await keeper.finish()
        nursery.cancel_scope.cancel()
    assert told == list(range(1, 51))
    assert opened.most_at_once == 1
    assert threading.get_ident() not in opened.threads
    opened.close()


async def test_what_a_cancelled_task_had_begun_to_store_is_told_all_the_same(
    tmp_path: Path,
) -> None:
    """Or the same duel would be counted as not stored, though it is."""
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Store):
        def add(self, records: Sequence[DuelRecord]) -> list[int]:
            begun.set()
            go_on.wait()
            return super().add(records)

    opened = Slow.open(tmp_path, now=lambda: NOON)
    keeper, told = Archivist(opened), []
    async with trio.open_nursery() as nursery:
        await nursery.start(keeper.run)
        hand_in(keeper, "a", on_kept=told.append)
        await trio.to_thread.run_sync(begun.wait)
        nursery.cancel_scope.cancel()
        go_on.set()
    assert (told, keeper.waiting) == ([1], 0)
    opened.close()


async def test_a_store_that_could_not_be_had_at_the_start_is_opened_later(
    moody: Moody, nursery: trio.Nursery, autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []

    def open_store() -> Store:
        tries.append(trio.current_time())
        if len(tries) < 3:
            raise StoreTrouble("The disk is full.")
        return moody

    keeper = Archivist(None, inline, open_store)
    assert keeper.is_keeping
    await nursery.start(keeper.run)
    hand_in(keeper, "a", "b")
    await trio.sleep(100)
    assert tries == [0, RETRY_SECONDS, 2 * RETRY_SECONDS]
    assert moody.uids == ["a", "b"]
    assert levels(caplog) == [logging.WARNING, logging.WARNING]  # the trouble, and its end
    nursery.cancel_scope.cancel()


async def test_whoever_handed_in_what_is_dropped_is_told(
    moody: Moody, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archivist, "MOST_WAITING", 2)
    keeper, dropped = Archivist(moody, inline), []
    for uid in "abc":
        keeper.keep(a_record(uid), ignore, lambda uid=uid: dropped.append(uid))
    assert dropped == ["a"]
