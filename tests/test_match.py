from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duel_daemon.events import Seat
from duel_daemon.match import HIGHEST_BEST_OF, Match, Mirror, Series, Side

S = TypeVar("S", bound=Series)

LENGTHS = range(1, HIGHEST_BEST_OF + 1, 2)

a_match = st.builds(Match, st.sampled_from(LENGTHS))
a_series = a_match | st.builds(Mirror)
an_outcome = st.sampled_from([Seat.ONE, Seat.TWO, None])


def won_by(series: S, *sides: Side) -> S:
    """The series after its next duels, won by these sides."""
    for side in sides:
        series.record(series.seat(side))
    return series


@pytest.mark.parametrize("best_of", LENGTHS)
def test_more_than_half_of_the_duels_decide(best_of: int) -> None:
    match = Match(best_of)
    for _ in range((best_of - 1) // 2):
        won_by(match, Side.B)
    assert match.winner is None
    assert won_by(match, Side.B).winner is Side.B
    assert 2 * match.wins[Side.B] > best_of


@pytest.mark.parametrize("best_of", LENGTHS)
def test_a_match_may_take_all_of_its_duels(best_of: int) -> None:
    match = Match(best_of)
    for _ in range((best_of - 1) // 2):
        won_by(match, Side.A, Side.B)
    assert match.winner is None
    assert won_by(match, Side.A).winner is Side.A
    assert match.played == best_of


def test_a_single_duel_is_a_match_of_one() -> None:
    assert won_by(Match(), Side.A).winner is Side.A


@pytest.mark.parametrize("best_of", [-1, 0, 2, 4, HIGHEST_BEST_OF + 1, HIGHEST_BEST_OF + 2])
def test_a_match_that_could_end_level_or_never_is_refused(best_of: int) -> None:
    with pytest.raises(ValueError, match="an odd number up to"):
        Match(best_of)


def test_the_first_turn_alternates_whoever_wins() -> None:
    match = Match(5)
    assert match.side(Seat.ONE) is Side.A
    assert won_by(match, Side.A).side(Seat.ONE) is Side.B
    assert won_by(match, Side.B).side(Seat.ONE) is Side.A
    assert won_by(match, Side.B).side(Seat.ONE) is Side.B


def test_a_win_goes_to_the_side_that_sat_there() -> None:
    match = Match(5)
    match.record(Seat.ONE)
    match.record(Seat.ONE)
    assert match.wins == [1, 1]


def test_a_duel_without_a_winner_counts_for_nobody_but_passes_the_first_turn() -> None:
    match = Match(1)
    match.record(None)
    assert (match.wins, match.winner, match.played) == ([0, 0], None, 1)
    assert match.side(Seat.ONE) is Side.B


def test_two_matches_do_not_share_a_score() -> None:
    won_by(Match(3), Side.A)
    assert Match(3).wins == [0, 0]


def test_the_other_side_of_the_other_side_is_oneself() -> None:
    assert [side.other for side in Side] == [Side.B, Side.A]


# A mirror match: one number, played from both sides.


@pytest.mark.parametrize("side", Side)
def test_whoever_wins_both_wins_the_mirror_match(side: Side) -> None:
    mirror = won_by(Mirror(), side)
    assert (mirror.is_over, mirror.winner) == (False, None)
    assert won_by(mirror, side).winner is side
    assert mirror.is_over
    assert not mirror.needs_mistakes


@pytest.mark.parametrize(
    ("mistakes", "winner"), [([0, 1], Side.A), ([3, 2], Side.B), ([0, 0], None), ([2, 2], None)]
)
def test_with_a_win_each_the_fewer_mistakes_decide_a_mirror_match(
    mistakes: list[int], winner: Side | None
) -> None:
    mirror = won_by(Mirror(), Side.A, Side.B)
    assert mirror.is_over
    assert mirror.needs_mistakes
    assert mirror.winner is None
    mirror.mistakes = mistakes
    assert not mirror.needs_mistakes
    assert mirror.winner is winner


def test_mistakes_do_not_outweigh_wins_in_a_mirror_match() -> None:
    mirror = won_by(Mirror(), Side.B, Side.B)
    mirror.mistakes = [0, 9]
    assert mirror.winner is Side.B


def test_a_mirror_match_is_not_decided_halfway() -> None:
    mirror = won_by(Mirror(), Side.A)
    mirror.mistakes = [0, 9]
    assert (mirror.winner, mirror.needs_mistakes) == (None, False)


# Every series.


@given(a_series, st.lists(an_outcome, max_size=60))
def test_seats_and_sides_say_the_same_throughout(
    series: Series, outcomes: list[Seat | None]
) -> None:
    for outcome in outcomes:
        assert {series.seat(side) for side in Side} == set(Seat)
        assert all(series.side(series.seat(side)) is side for side in Side)
        series.record(outcome)


@given(a_series, st.lists(an_outcome, max_size=60))
def test_a_series_that_is_over_takes_no_more(series: Series, outcomes: list[Seat | None]) -> None:
    for outcome in outcomes:
        was_over, before = series.is_over, (list(series.wins), series.played, series.winner)
        series.record(outcome)
        if was_over:
            assert (series.wins, series.played, series.winner) == before
        else:
            assert before[2] is None
            assert series.played == before[1] + 1


@given(a_match, st.lists(an_outcome, max_size=60))
def test_a_match_is_never_longer_than_it_says(match: Match, outcomes: list[Seat | None]) -> None:
    for outcome in outcomes:
        match.record(outcome)
    assert max(match.wins) <= match.needed
    assert sum(match.wins) <= match.best_of
    assert (match.winner is not None) == match.is_over
