import pytest
from hypothesis import given
from hypothesis import strategies as st

from duel_daemon.events import Seat
from duel_daemon.match import HIGHEST_BEST_OF, Match, Side

LENGTHS = range(1, HIGHEST_BEST_OF + 1, 2)

a_match = st.builds(Match, st.sampled_from(LENGTHS))
an_outcome = st.sampled_from([Seat.ONE, Seat.TWO, None])


def won_by(match: Match, side: Side) -> Match:
    """The match after its next duel, won by that side."""
    match.record(match.seat(side))
    return match


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
        won_by(won_by(match, Side.A), Side.B)
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


@given(a_match, st.lists(an_outcome, max_size=60))
def test_seats_and_sides_say_the_same_throughout(match: Match, outcomes: list[Seat | None]) -> None:
    for outcome in outcomes:
        assert {match.seat(side) for side in Side} == set(Seat)
        assert all(match.side(match.seat(side)) is side for side in Side)
        match.record(outcome)


@given(a_match, st.lists(an_outcome, max_size=60))
def test_a_decided_match_takes_no_more(match: Match, outcomes: list[Seat | None]) -> None:
    for outcome in outcomes:
        before = (list(match.wins), match.played, match.winner)
        match.record(outcome)
        if before[2] is not None:
            assert (match.wins, match.played, match.winner) == before
        else:
            assert match.played == before[1] + 1
    assert max(match.wins) <= match.needed
    assert sum(match.wins) <= match.best_of
