"""When a turn's warnings and its end are due."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duel_daemon.turnclock import LAST_WARNING_SECONDS, NEVER, Ticker, TurnClock

MOMENTS = st.floats(0, 1e7)
LENGTHS = st.integers(1, 86400) | st.floats(0.5, 86400)
CLOCKS = st.builds(TurnClock, MOMENTS, LENGTHS)


def alarms_of(clock):
    """All alarms of a turn, each asked for at the moment of the one before it."""
    alarms = [clock.next_alarm(clock.began)]
    while alarms[-1].seconds_left:
        alarms.append(clock.next_alarm(alarms[-1].at))
        assert len(alarms) < 10
    return alarms


@given(CLOCKS)
def test_alarms_come_in_order_and_once_each(clock):
    alarms = alarms_of(clock)
    assert all(a.at < b.at and a.seconds_left > b.seconds_left for a, b in pairwise(alarms))


@given(CLOCKS)
def test_the_last_alarm_is_the_end_and_it_is_on_time(clock):
    *warnings, end = alarms_of(clock)
    assert end.at == clock.began + clock.seconds
    assert end.seconds_left == 0.0
    assert all(warning.seconds_left > 0 for warning in warnings)


@given(CLOCKS)
def test_a_warning_tells_the_time_that_is_left(clock):
    for alarm in alarms_of(clock):
        assert clock.left(alarm.at) == pytest.approx(alarm.seconds_left, abs=1e-6)


@given(CLOCKS, st.floats(0, 1))
def test_whenever_one_asks_the_next_alarm_is_the_first_still_to_come(clock, part):
    now = clock.began + part * clock.seconds
    to_come = [alarm for alarm in alarms_of(clock) if alarm.at > now]
    assert clock.next_alarm(now) == (to_come or alarms_of(clock)[-1:])[0]


@given(CLOCKS, st.floats(0, 1e6))
def test_the_end_stays_due_once_it_has_come(clock, late):
    end = clock.began + clock.seconds
    assert clock.next_alarm(end + late).at == end
    assert clock.left(end + late) <= 0


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1, [0.5]),
        (12, [6]),
        (20, [10]),
        (21, [10]),
        (27, [10]),
        (39, [10]),
        (40, [20, 10]),
        (60, [30, 10]),
        (300, [150, 10]),
    ],
)
def test_a_short_turn_is_warned_once_and_a_long_one_twice(seconds, expected):
    assert [alarm.seconds_left for alarm in alarms_of(TurnClock(0.0, seconds))] == [*expected, 0]


@given(st.floats(0.5, 86400))
def test_warnings_are_as_far_from_each_other_as_the_last_is_from_the_end(seconds):
    *_, last, end = alarms = alarms_of(TurnClock(0.0, seconds))
    assert all(b.at - a.at >= end.at - last.at - 1e-6 for a, b in pairwise(alarms))
    assert last.seconds_left <= max(LAST_WARNING_SECONDS, seconds / 2)
    assert alarms[0].at >= seconds / 2 - 1e-6  # nobody is hurried before half of the turn is over


@given(MOMENTS, st.just(0) | LENGTHS)
def test_a_table_knows_the_first_alarm_of_a_turn_without_asking_for_all(began, seconds):
    ticker = Ticker()
    ticker.set(began, seconds)
    assert ticker.first_alarm_at == ticker.alarm.at


@given(MOMENTS, MOMENTS)
def test_a_turn_of_0_seconds_has_no_alarm_and_no_end(began, now):
    clock = TurnClock(began, 0)
    assert clock.next_alarm(now) is NEVER
    assert clock.left(now) == math.inf
    assert NEVER.at == math.inf
