import random
from collections.abc import Callable
from typing import get_args

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duel_daemon.duel import Duel, Events, Game, Result, Turn, replay
from duel_daemon.events import (
    Ended,
    Event,
    Fault,
    Moved,
    Opened,
    Passed,
    Reason,
    Refused,
    Seat,
    Stuck,
    TurnBegan,
    TurnLost,
    Wrong,
)
from duel_daemon.rulebooks import BY_SLUG, SHELF
from duel_daemon.survey import Restriction, allowed_divisors, survey

ANY, EVEN, ODD, PRIME = Restriction
ONE, TWO = Seat.ONE, Seat.TWO

HIGHEST = 3000  # as random duels start here and take small steps, high enough for many turns

unhurried = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# What each book says a move does, written down once more.
AFTER: dict[str, Callable[[int, int], int]] = {
    "divisor-duel": lambda number, divisor: number - divisor,
    "divisor-duel-by-division": lambda number, divisor: number // divisor,
    "divisor-duel-random-start": lambda number, divisor: number - divisor,
    "factor-duel": lambda number, divisor: number - divisor,
    "number-factor": lambda number, divisor: number // divisor,
}


def a_game(slug: str, number: int, restriction: Restriction = ANY, violations: int = 3) -> Game:
    return Game(BY_SLUG[slug], number, restriction, violations)


def opened(game: Game) -> Duel:
    duel = Duel(game)
    duel.open()
    return duel


def played(game: Game, *moves: int) -> Duel:
    """A duel in which the players took turns with these numbers."""
    duel = opened(game)
    for move in moves:
        duel.play(duel.mover, move)
    return duel


@st.composite
def games(draw: st.DrawFn) -> Game:
    book = draw(st.sampled_from(SHELF))
    restriction = draw(st.sampled_from(Restriction))
    number = book.nearest_playable(draw(st.integers(4, HIGHEST)), restriction, HIGHEST)
    return Game(book, number, restriction, draw(st.integers(1, 4)))


@attrs.frozen
class Player:
    """Plays a duel to its end by an rng, and now and then offers any number at all."""

    rng: random.Random
    slips: float

    def choose(self, duel: Duel) -> int:
        if self.rng.random() < self.slips:
            return self.rng.randrange(duel.number + 3)
        game = duel.game
        lowest = game.book.lowest_divisor
        return self.rng.choice(allowed_divisors(duel.number, lowest, game.restriction))

    def play_out(self, game: Game) -> tuple[Duel, list[Event]]:
        duel = Duel(game)
        events = list(duel.open())
        while duel.is_on:
            assert len(duel.turns) < most_turns(game), "this duel does not end"
            events += duel.play(duel.mover, self.choose(duel))
        return duel, events


def most_turns(game: Game) -> int:
    """Each move lowers the number, and between two moves each player can lose some turns."""
    return game.number * 2 * game.violations


players = st.builds(
    Player, st.integers(0, 10**6).map(random.Random), st.sampled_from([0.0, 0.1, 0.5, 0.9])
)


# Every duel.


@unhurried
@given(games(), players)
def test_every_duel_ends_and_has_a_winner(game: Game, player: Player) -> None:
    duel, events = player.play_out(game)
    assert duel.result is not None
    assert duel.result.winner in Seat
    assert [type(event) for event in events].count(Ended) == 1
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert Result(ended.winner, ended.reason) == duel.result
    assert ended.number == duel.number


@unhurried
@given(games(), players)
def test_the_number_only_falls_and_by_what_the_book_says(game: Game, player: Player) -> None:
    duel, events = player.play_out(game)
    number = game.number
    for event in events:
        if isinstance(event, Moved):
            assert event.before == number
            assert event.after == AFTER[game.book.slug](number, event.divisor)
            assert 1 < event.after < event.before
            number = event.after
    assert duel.number == number


@unhurried
@given(games(), players)
def test_every_move_is_an_allowed_divisor_and_every_fault_is_not(
    game: Game, player: Player
) -> None:
    _, events = player.play_out(game)
    for event in events:
        if isinstance(event, Moved):
            assert event.divisor in _choice(game, event.before)
        elif isinstance(event, Refused | TurnLost):
            assert event.fault.attempt not in _choice(game, event.fault.number)


def _choice(game: Game, number: int) -> list[int]:
    return allowed_divisors(number, game.book.lowest_divisor, game.restriction)


@unhurried
@given(games(), players)
def test_the_players_take_turns(game: Game, player: Player) -> None:
    duel, events = player.play_out(game)
    asked = [event.mover for event in events if isinstance(event, TurnBegan)]
    assert asked[::2] == [ONE] * len(asked[::2])
    assert asked[1::2] == [TWO] * len(asked[1::2])
    assert [turn.seat for turn in duel.turns] == asked


@unhurried
@given(games(), players)
def test_only_the_first_turn_is_the_first(game: Game, player: Player) -> None:
    _, events = player.play_out(game)
    assert events[0] == Opened(game.number)
    turns = [event for event in events if isinstance(event, TurnBegan)]
    assert [turn.is_first for turn in turns] == [True] + [False] * (len(turns) - 1)


@unhurried
@given(games(), players)
def test_a_mover_is_shown_just_what_can_be_played(game: Game, player: Player) -> None:
    _, events = player.play_out(game)
    number = game.number
    for event in events:
        if isinstance(event, Moved):
            number = event.after
        elif isinstance(event, TurnBegan):
            assert event.survey == survey(number, game.book.lowest_divisor, game.restriction)
            assert event.survey.count > 0


@unhurried
@given(games(), players)
def test_a_duel_ends_as_its_book_says(game: Game, player: Player) -> None:
    duel, events = player.play_out(game)
    moves = [event for event in events if isinstance(event, Moved)]
    last_mover = moves[-1].mover if moves else None
    tail = [event for event in events if not isinstance(event, Moved | Refused)][-3:]
    match events[-1]:
        case Ended(winner, Reason.NO_MOVE_LEFT, by):
            assert not game.book.stuck_passes
            assert winner is last_mover is by.other
            assert not _choice(game, duel.number)
            assert isinstance(events[-2], Stuck)
            assert events[-2].mover is by
        case Ended(winner, Reason.PRIME_LEFT, by):
            assert game.book.prime_wins
            assert winner is last_mover is by
            assert survey(duel.number, 2, ANY).is_prime
        case Ended(winner, Reason.LAST_MOVE, by):
            assert game.book.stuck_passes
            assert winner is last_mover is by
            assert not _choice(game, duel.number)
            seen = survey(duel.number, 2, game.restriction)
            assert tail[:-1] == [Passed(winner.other, seen), Passed(winner, seen)]
        case Ended(winner, Reason.VIOLATIONS, by):
            assert game.book.invalid_costs_turn
            assert winner is by.other
            theirs = [
                event
                for event in events
                if isinstance(event, Moved | TurnLost) and event.mover is by
            ]
            assert all(isinstance(event, TurnLost) for event in theirs[-game.violations :])
        case other:
            pytest.fail(f"nobody called for {other}")


@unhurried
@given(games(), st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_the_same_moves_give_the_same_events(game: Game, seed: int, slips: float) -> None:
    once = Player(random.Random(seed), slips).play_out(game)
    again = Player(random.Random(seed), slips).play_out(game)
    assert once == again


@unhurried
@given(games(), players, st.data())
def test_a_duel_is_rebuilt_from_its_game_and_its_turns(
    game: Game, player: Player, data: st.DataObject
) -> None:
    duel, _ = player.play_out(game)
    assert replay(game, duel.turns) == duel
    turns = duel.turns[: data.draw(st.integers(0, len(duel.turns) - 1))]
    halfway = replay(game, turns)
    assert halfway.is_on
    assert halfway.turns == turns


# Calls in any order.

a_seat = st.sampled_from(Seat)
a_call = st.one_of(
    st.just(("open",)),
    st.tuples(st.just("play"), a_seat, st.integers(0, 40)),
    st.tuples(st.just("play"), a_seat, st.integers(0, 10**20)),
    st.tuples(st.sampled_from(["resign", "leave"]), a_seat),
    st.sampled_from([("run_out_of_time",), ("stop",)]),
)
some_calls = st.lists(a_call, max_size=20).map(lambda calls: [("open",), *calls])


def call(duel: Duel, name: str, *args: object) -> Events:
    return getattr(duel, name)(*args)


def changes_nothing(events: Events) -> bool:
    return all(isinstance(event, Refused) for event in events)


@unhurried
@given(games(), st.lists(a_call, max_size=20), some_calls)
def test_a_call_without_effect_changes_nothing_and_any_other_something(
    game: Game, before_opening: list[tuple[str]], calls: list[tuple[str]]
) -> None:
    duel = Duel(game)
    for each in before_opening + calls:
        before = attrs.asdict(duel)
        events = call(duel, *each)
        assert changes_nothing(events) == (attrs.asdict(duel) == before)


@unhurried
@given(games(), some_calls)
def test_the_same_calls_give_the_same_events(game: Game, calls: list[tuple[str]]) -> None:
    one, other = Duel(game), Duel(game)
    assert [call(one, *each) for each in calls] == [call(other, *each) for each in calls]
    assert one == other


@unhurried
@given(games(), st.lists(a_call, max_size=20))
def test_before_its_opening_a_duel_takes_no_part_in_anything(
    game: Game, calls: list[tuple[str]]
) -> None:
    duel = Duel(game)
    for each in calls:
        if each != ("open",):
            assert changes_nothing(call(duel, *each))
    assert duel == Duel(game)
    assert not duel.is_on


@unhurried
@given(games(), players, st.lists(a_call, max_size=20))
def test_after_its_end_a_duel_takes_nothing_more(
    game: Game, player: Player, calls: list[tuple[str]]
) -> None:
    duel, _ = player.play_out(game)
    before = attrs.asdict(duel)
    for each in calls:
        events = call(duel, *each)
        assert all(event.fault.wrong is Wrong.OVER for event in events)
    assert attrs.asdict(duel) == before


@pytest.mark.parametrize("number", [1, 2, 3, 7, 97])
@pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)
def test_a_duel_without_anything_to_play_is_refused(book: object, number: int) -> None:
    with pytest.raises(ValueError, match=f"no duel at {number}"):
        Duel(Game(book, number))


def test_a_duel_whose_variation_leaves_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no duel at 15"):
        Duel(a_game("factor-duel", 15, EVEN))


def test_numbers_of_eighteen_digits_are_played_like_any_other() -> None:
    duel = opened(a_game("number-factor", 999999937 * 999999929))
    moved, *rest = duel.play(ONE, 999999937)
    assert moved == Moved(ONE, 999999937, 999999937 * 999999929, 999999929)
    assert [type(event) for event in rest] == [Passed, Passed, Ended]


# How it ends: who won, and why, are two facts.

ENDS: list[tuple[Reason, Callable[[], Events], Seat | None, Seat | None]] = [
    (
        Reason.NO_MOVE_LEFT,
        lambda: opened(a_game("divisor-duel", 6)).play(ONE, 3),
        ONE,
        TWO,
    ),
    (
        Reason.PRIME_LEFT,
        lambda: played(a_game("factor-duel", 30), 15, 5).play(ONE, 5),
        ONE,
        ONE,
    ),
    (
        Reason.LAST_MOVE,
        lambda: played(a_game("number-factor", 30), 5).play(TWO, 2),
        TWO,
        TWO,
    ),
    (Reason.RESIGNED, lambda: opened(a_game("divisor-duel", 60)).resign(ONE), TWO, ONE),
    (Reason.RESIGNED, lambda: opened(a_game("divisor-duel", 60)).resign(TWO), ONE, TWO),
    (Reason.TIME, lambda: opened(a_game("divisor-duel", 60)).run_out_of_time(), TWO, ONE),
    (Reason.TIME, lambda: played(a_game("divisor-duel", 60), 5).run_out_of_time(), ONE, TWO),
    (Reason.LEFT, lambda: opened(a_game("divisor-duel", 60)).leave(ONE), TWO, ONE),
    (Reason.LEFT, lambda: opened(a_game("divisor-duel", 60)).leave(TWO), ONE, TWO),
    (
        Reason.VIOLATIONS,
        lambda: played(a_game("number-factor", 60), 7, 2, 7, 2).play(ONE, 7),
        TWO,
        ONE,
    ),
    (Reason.STOPPED, lambda: opened(a_game("divisor-duel", 60)).stop(), None, None),
]


@pytest.mark.parametrize(("reason", "last_call", "winner", "by"), ENDS)
def test_an_end_says_who_won_why_and_whose_doing_it_was(
    reason: Reason, last_call: Callable[[], Events], winner: Seat | None, by: Seat | None
) -> None:
    ended = last_call()[-1]
    assert isinstance(ended, Ended)
    assert (ended.winner, ended.reason, ended.by) == (winner, reason, by)


def test_no_reason_lacks_a_call_that_produces_it() -> None:
    assert {reason for reason, *_ in ENDS} == set(Reason)


def test_the_names_of_the_reasons_are_stable() -> None:
    assert [reason.value for reason in Reason] == [
        "no-move-left",
        "prime-left",
        "last-move",
        "resigned",
        "time",
        "left",
        "violations",
        "stopped",
    ]


def test_three_reasons_are_told_by_the_books() -> None:
    by_the_rules = {reason for reason in Reason if reason.by_the_rules}
    assert by_the_rules == {Reason.NO_MOVE_LEFT, Reason.PRIME_LEFT, Reason.LAST_MOVE}


def test_each_seat_is_the_others_other() -> None:
    assert [(seat.label, seat.other) for seat in Seat] == [("Player 1", TWO), ("Player 2", ONE)]


# What is wrong with a number.

FAULTS: list[tuple[Wrong, Callable[[], Duel], Seat, int]] = [
    (Wrong.NOT_A_DIVISOR, lambda: opened(a_game("divisor-duel", 60)), ONE, 7),
    (Wrong.NOT_A_DIVISOR, lambda: opened(a_game("divisor-duel", 60, EVEN)), ONE, 7),
    (Wrong.ZERO, lambda: opened(a_game("factor-duel", 60)), ONE, 0),
    (Wrong.ONE, lambda: opened(a_game("divisor-duel", 60)), ONE, 1),
    (Wrong.ONE, lambda: opened(a_game("divisor-duel", 60, EVEN)), ONE, 1),
    (Wrong.ITSELF, lambda: opened(a_game("factor-duel", 60)), ONE, 60),
    (Wrong.TOO_LARGE, lambda: opened(a_game("divisor-duel", 60)), ONE, 120),
    (Wrong.EXCLUDED, lambda: opened(a_game("divisor-duel", 60, EVEN)), ONE, 3),
    (Wrong.EXCLUDED, lambda: opened(a_game("factor-duel", 60, PRIME)), ONE, 1),
    (Wrong.NOT_YOUR_TURN, lambda: opened(a_game("divisor-duel", 60)), TWO, 15),
    (Wrong.NOT_YOUR_TURN, lambda: opened(a_game("number-factor", 60)), TWO, 7),
    (Wrong.OVER, lambda: played(a_game("divisor-duel", 6), 3), TWO, 3),
    (Wrong.OVER, lambda: Duel(a_game("divisor-duel", 60)), ONE, 15),
]


@pytest.mark.parametrize(("wrong", "at", "seat", "attempt"), FAULTS)
def test_what_is_no_move_is_refused_with_what_is_wrong(
    wrong: Wrong, at: Callable[[], Duel], seat: Seat, attempt: int
) -> None:
    duel = at()
    (refused,) = duel.play(seat, attempt)
    assert isinstance(refused, Refused)
    assert refused.seat is seat
    assert (refused.fault.wrong, refused.fault.attempt) == (wrong, attempt)
    assert refused.fault.number == duel.number
    assert duel.fault(seat, attempt) == refused.fault
    assert duel == at()


def test_nothing_that_can_be_wrong_lacks_a_number_that_is() -> None:
    assert {wrong for wrong, *_ in FAULTS} == set(Wrong)


def test_a_fault_names_the_variation() -> None:
    fault = opened(a_game("divisor-duel", 60, EVEN)).fault(ONE, 3)
    assert fault == Fault(3, 60, Wrong.EXCLUDED, EVEN)


def test_a_good_move_has_no_fault() -> None:
    assert opened(a_game("divisor-duel", 60)).fault(ONE, 15) is None


def test_no_event_lacks_a_duel_in_which_it_happens() -> None:
    seen = {type(event) for _, last_call, _, _ in ENDS for event in last_call()}
    seen |= {type(event) for event in Duel(a_game("divisor-duel", 60)).open()}
    seen |= {type(event) for _, at, seat, attempt in FAULTS for event in at().play(seat, attempt)}
    assert seen == set(get_args(Event))


# Where an invalid move costs the turn.


def test_an_invalid_move_passes_the_turn_and_leaves_the_number() -> None:
    duel = opened(a_game("number-factor", 30))
    lost, asked = duel.play(ONE, 7)
    assert lost == TurnLost(ONE, Fault(7, 30, Wrong.NOT_A_DIVISOR))
    assert asked == TurnBegan(TWO, survey(30, 2, ANY), is_first=False)
    assert (duel.number, duel.turns) == (30, [Turn(ONE, 7)])


def test_a_lost_turn_is_not_a_successful_move() -> None:
    duel = played(a_game("number-factor", 30), 15, 7)  # at 2 nobody can move: 7 comes too late
    assert duel.result == Result(ONE, Reason.LAST_MOVE)
    assert played(a_game("number-factor", 60), 4, 7, 5).result == Result(ONE, Reason.LAST_MOVE)


def test_the_third_invalid_move_in_a_row_forfeits() -> None:
    duel = played(a_game("number-factor", 60), 7, 2, 7, 2)
    assert duel.is_on
    duel.play(ONE, 7)
    assert duel.result == Result(TWO, Reason.VIOLATIONS)


def test_a_valid_move_forgives_the_invalid_ones_before_it() -> None:
    duel = played(a_game("number-factor", 2**10), 7, 2, 7, 2, 2, 2, 7, 2, 7)
    assert duel.is_on
    duel.play(TWO, 2)
    duel.play(ONE, 7)
    assert duel.result == Result(TWO, Reason.VIOLATIONS)


def test_the_opponents_invalid_moves_are_their_own() -> None:
    duel = played(a_game("number-factor", 60), 7, 7, 7, 7)
    assert duel.is_on
    duel.play(ONE, 7)
    assert duel.result == Result(TWO, Reason.VIOLATIONS)


@pytest.mark.parametrize("violations", [1, 2, 3, 5])
def test_the_operator_says_how_many_invalid_moves_forfeit(violations: int) -> None:
    duel = opened(a_game("number-factor", 60, violations=violations))
    for _ in range(violations - 1):
        duel.play(ONE, 7)
        duel.play(TWO, 7)
    assert duel.is_on
    duel.play(ONE, 7)
    assert duel.result == Result(TWO, Reason.VIOLATIONS)


def test_speaking_out_of_turn_costs_nothing() -> None:
    duel = opened(a_game("number-factor", 60))
    for _ in range(10):
        duel.play(TWO, 7)
    assert duel == opened(a_game("number-factor", 60))


# Rebuilding.


def test_a_lost_turn_survives_a_rebuilding() -> None:
    game = a_game("number-factor", 60)
    duel = played(game, 7, 2, 7)
    again = replay(game, duel.turns)
    assert again == duel
    for each in (duel, again):
        each.play(TWO, 2)
        each.play(ONE, 7)
    assert again.result == duel.result == Result(TWO, Reason.VIOLATIONS)


@pytest.mark.parametrize(
    "turns",
    [
        [Turn(ONE, 7)],
        [Turn(TWO, 15)],
        [Turn(ONE, 15), Turn(ONE, 15)],
        [Turn(ONE, 30), Turn(TWO, 15), Turn(ONE, 5), Turn(TWO, 5), Turn(ONE, 5)],
    ],
)
def test_turns_that_were_never_taken_are_not_replayed(turns: list[Turn]) -> None:
    with pytest.raises(ValueError, match="is no turn"):
        replay(a_game("divisor-duel", 60), turns)
