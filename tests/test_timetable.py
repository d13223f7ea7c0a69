"""Reminders: each once, in time and in order; and none that was cancelled."""

import contextlib

import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from duel_daemon.timetable import Timetable

times = st.integers(0, 100)  # the virtual clock rounds others


@contextlib.asynccontextmanager
async def running(timetable):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timetable.run)
        yield
        nursery.cancel_scope.cancel()


@given(st.lists(st.tuples(times, times, st.booleans()), max_size=10))
def test_each_reminder_comes_once_when_it_is_due_in_order(wanted):
    """Each is asked for at some time, for another time, and may be cancelled at once."""

    async def main():
        rung = []
        timetable = Timetable()

        async def ask(number, when, due, is_cancelled):
            await trio.sleep_until(when)
            reminder = timetable.remind(due, lambda: rung.append((number, trio.current_time())))
            if is_cancelled:
                reminder.cancel()

        async with running(timetable), trio.open_nursery() as nursery:
            for number, (when, due, is_cancelled) in enumerate(wanted):
                nursery.start_soon(ask, number, when, due, is_cancelled)
            await trio.sleep_until(1000)
        expected = {
            number: max(when, due)
            for number, (when, due, is_cancelled) in enumerate(wanted)
            if not is_cancelled
        }
        assert len(rung) == len(expected)
        assert dict(rung) == expected
        assert [at for _, at in rung] == sorted(expected.values())

    trio.run(main, clock=MockClock(autojump_threshold=0))


async def test_of_two_that_are_due_at_once_the_older_one_comes_first(autojump_clock):
    rung = []
    timetable = Timetable()
    for name in "abc":
        timetable.remind(5, lambda name=name: rung.append(name))
    async with running(timetable):
        await trio.sleep(6)
    assert rung == ["a", "b", "c"]


async def test_a_reminder_can_ask_for_the_next_one(autojump_clock):
    rung = []
    timetable = Timetable()

    def ring():
        rung.append(trio.current_time())
        if len(rung) < 3:
            timetable.remind(trio.current_time() + 10, ring)

    timetable.remind(10, ring)
    async with running(timetable):
        await trio.sleep(100)
    assert rung == [10, 20, 30]


async def test_what_is_cancelled_is_let_go_at_once():
    timetable = Timetable()

    def ring():
        raise AssertionError("rung")

    reminder = timetable.remind(1e9, ring)
    reminder.cancel()
    reminder.ring()
    assert reminder._call is None
