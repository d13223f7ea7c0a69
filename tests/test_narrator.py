"""Events -> what each side reads."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duel_daemon.duel import Duel, Game
from duel_daemon.events import Ended, Fault, Reason, Refused, Seat, TurnLost, Wrong
from duel_daemon.narrator import HOUSE, end_sentence, fault_sentence, house, seconds, tell
from duel_daemon.rulebooks import BY_SLUG, SHELF
from duel_daemon.survey import Restriction
from duel_daemon.textwidth import SCREEN_COLUMNS

ONE, TWO = Seat.ONE, Seat.TWO
each_book = pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)
GAME = Game(BY_SLUG["divisor-duel"], 60)


def opened(game: Game) -> Duel:
    duel = Duel(game)
    duel.open()
    return duel


# Why a number is no move.

FAULTS = {
    Wrong.NOT_A_DIVISOR: (7, 60, "7 does not divide 60: 4 is left over. Try another."),
    Wrong.ZERO: (0, 60, "0 does not divide anything. Choose a divisor of 60."),
    Wrong.ONE: (1, 60, "1 is not allowed in this game. Choose a larger divisor of 60."),
    Wrong.ITSELF: (60, 60, "60 is the number itself. Choose a smaller divisor."),
    Wrong.TOO_LARGE: (90, 60, "90 is larger than 60. Choose a divisor of 60."),
    Wrong.EXCLUDED: (15, 60, "15 divides 60, but only even divisors are allowed here."),
    Wrong.NOT_YOUR_TURN: (15, 60, "It is not your turn yet."),
    Wrong.OVER: (15, 60, "The duel is over."),
}


def test_there_is_a_sentence_for_everything_that_can_be_wrong() -> None:
    assert set(FAULTS) == set(Wrong)


@pytest.mark.parametrize("wrong", Wrong, ids=lambda wrong: wrong.name)
def test_the_reason_is_one_sentence(wrong: Wrong) -> None:
    attempt, number, sentence = FAULTS[wrong]
    assert fault_sentence(Fault(attempt, number, wrong, Restriction.EVEN)) == sentence


@given(
    st.sampled_from(SHELF),
    st.sampled_from(Restriction),
    st.integers(min_value=4, max_value=10**18),
    st.integers(min_value=0, max_value=10**18) | st.just(10**5000),
)
@example(SHELF[0], Restriction.ANY, 10**9, 10**18)
def test_any_number_is_a_move_or_is_refused_with_a_reason_that_fits_the_screen(
    book, restriction, number, attempt
) -> None:
    game = Game(book, 60, restriction)
    fault = game.fault(number, attempt)
    if fault is not None:
        rows = tell(game, (Refused(ONE, fault),)).one.splitlines()
        assert max(map(len, rows)) <= SCREEN_COLUMNS + len("* ")


# Who reads what.


@pytest.mark.parametrize("book", [book for book in SHELF if not book.invalid_costs_turn])
def test_a_refused_attempt_is_shown_to_the_mover_only(book) -> None:
    game = Game(book, 60)
    told = tell(game, opened(game).play(ONE, 7))
    assert told.one == "* 7 does not divide 60: 4 is left over. Try another.\n"
    assert (told.two, told.watchers) == ("", "")


@each_book
def test_a_number_out_of_turn_is_answered_to_that_player_only(book) -> None:
    game = Game(book, 60)
    told = tell(game, opened(game).play(TWO, 15))
    assert (told.one, told.two, told.watchers) == ("", "* It is not your turn yet.\n", "")


def test_a_lost_turn_is_shown_to_everybody() -> None:
    game = Game(BY_SLUG["number-factor"], 30)
    told = tell(game, opened(game).play(ONE, 7)[:1])
    assert told.one == "7 is not a proper divisor of 30. Turn lost.\n"
    assert told.two == told.watchers
    assert told.two == (
        "Choose a proper divisor to divide N: 7\n7 is not a proper divisor of 30. Turn lost.\n"
    )


def test_of_a_lost_turn_of_512_digits_nobody_reads_them_all() -> None:
    game = Game(BY_SLUG["number-factor"], 30)
    told = tell(game, opened(game).play(ONE, int("7" * 512))[:1])
    sentence = f"{'7' * 20}... is not a proper divisor of 30. Turn lost.\n"
    assert told.one == sentence
    assert told.two == f"Choose a proper divisor to divide N: {'7' * 20}...\n{sentence}"
    told = tell(game, opened(game).play(ONE, 10**19)[:1])
    assert told.one == f"{10**19} is not a proper divisor of 30. Turn lost.\n"


@each_book
def test_the_others_read_the_question_completed_with_the_divisor(book) -> None:
    game = Game(book, 60)
    told = tell(game, opened(game).play(ONE, 15)[:1])
    assert told.two == told.watchers
    assert told.two.startswith(f"{book.prompt(ONE)}15\n")
    assert not told.one.startswith(book.prompt(ONE))
    assert told.two.count("\n") == told.one.count("\n") + 1


@pytest.mark.parametrize(
    ("slug", "divisor", "mover_reads", "others_read"),
    [
        (
            "divisor-duel-random-start",
            6,
            "You subtract 6. New current number is 6.\n",
            "Player 1 subtracts 6. New current number is 6.\n",
        ),
        (
            "number-factor",
            6,
            "You chose 6. Calculating 12 ÷ 6...\nNew N is 2.\n",
            "Player 1 chose 6. Calculating 12 ÷ 6...\nNew N is 2.\n",
        ),
    ],
)
def test_you_is_the_mover_only(slug, divisor, mover_reads, others_read) -> None:
    game = Game(BY_SLUG[slug], 12)
    told = tell(game, opened(game).play(ONE, divisor)[:1])
    assert told.one == mover_reads
    assert told.two == f"{game.book.prompt(ONE)}{divisor}\n{others_read}"


def test_whoever_is_stuck_reads_you_and_the_others_their_label() -> None:
    game = Game(BY_SLUG["divisor-duel-random-start"], 4)
    told = tell(game, opened(game).play(ONE, 2)[1:])
    assert "No proper divisors. You cannot make a move.\n" in told.two
    assert "No proper divisors. Player 2 cannot make a move.\n" in told.one
    assert told.one == told.watchers
    assert told.to(ONE) == told.one
    assert told.to(TWO) == told.two


@each_book
def test_the_opening_is_the_same_for_everybody(book) -> None:
    game = Game(book, 60)
    told = tell(game, Duel(game).open())
    assert told.one == told.two == told.watchers
    assert not any(line.startswith(HOUSE) for line in told.one.splitlines())


# How a duel ends.

ENDS = {
    Reason.RESIGNED: "Player 1 has left the duel (resigned). Player 2 wins!",
    Reason.TIME: "Player 1 ran out of time. Player 2 wins!",
    Reason.LEFT: "Player 1 has left the duel. Player 2 wins!",
    Reason.VIOLATIONS: "Player 1 forfeits: 3 invalid moves in a row. Player 2 wins!",
    Reason.STOPPED: "The duel has been stopped. Nobody wins.",
}


def end(reason: Reason) -> Ended:
    if reason is Reason.STOPPED:
        return Ended(None, reason, None, 60)
    return Ended(TWO, reason, ONE, 60)


def test_there_is_a_sentence_for_every_end() -> None:
    assert set(ENDS) == {reason for reason in Reason if not reason.by_the_rules}


@pytest.mark.parametrize("reason", ENDS, ids=lambda reason: reason.name)
def test_an_end_that_is_not_by_the_rules_is_one_line_of_the_house(reason: Reason) -> None:
    told = tell(GAME, (end(reason),))
    assert end_sentence(end(reason), GAME) == ENDS[reason]
    assert told.one == told.two == told.watchers == f"* {ENDS[reason]}\n"


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.by_the_rules])
@each_book
def test_an_end_by_the_rules_is_told_by_the_book_alone(book, reason: Reason) -> None:
    told = tell(Game(book, 60), (Ended(ONE, reason, TWO, 5),))
    assert told.one == told.two == told.watchers
    assert "Player 1 wins" in told.one
    assert not told.one.startswith(HOUSE)


@given(st.sampled_from(SHELF), st.data())
def test_without_the_prompts_the_three_read_the_same_but_for_the_person(book, data) -> None:
    """A whole random duel: where they differ, only the mover is spoken to."""
    game = Game(book, data.draw(st.sampled_from([12, 30, 60, 64, 100])))
    duel = Duel(game)
    events = list(duel.open())
    while duel.is_on:
        survey = game.survey(duel.number)
        events += duel.play(duel.mover, data.draw(st.sampled_from(survey.first)))
    for event in events:
        told = tell(game, (event,))
        assert not isinstance(event, Refused | TurnLost)
        mover = getattr(event, "mover", None)
        for seat in Seat:
            if seat is not mover:
                assert told.to(seat) == told.watchers
        assert told.watchers.endswith("\n") or told.watchers == ""
        assert "You" not in told.watchers


# Small things.


def test_the_lines_of_the_house_are_marked() -> None:
    assert house("One.", "Two.") == "* One.\n* Two.\n"
    assert house() == ""


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1 second"), (0.6, "1 second"), (30, "30 seconds"), (-1, "0 seconds")]
)
def test_a_duration_is_told_as_people_say_it(number: float, text: str) -> None:
    assert seconds(number) == text
