"""Every recorded duel is played again, and each side reads what was recorded, line for line."""

from collections.abc import Callable

import pytest
from playthrough import Playthrough, every_playthrough

from duel_daemon.duel import Duel, Events
from duel_daemon.events import Seat
from duel_daemon.rulebooks import SHELF, RuleBook

PLAYTHROUGHS = every_playthrough()

each_playthrough = pytest.mark.parametrize("playthrough", PLAYTHROUGHS, ids=lambda it: it.name)

ONE, TWO = Seat.ONE, Seat.TWO

# Every sample and worked example of the five rule books: where it starts, its moves, who wins.
# Book 4's first example names the wrong winner; by its rules it is whoever makes the prime.
FROM_THE_BOOKS = (
    ("divisor-duel", 60, (15, 15, 15, 5, 5), ONE),
    ("divisor-duel-by-division", 60, (5, 6), TWO),
    ("divisor-duel-by-division", 60, (4, 5), TWO),
    ("divisor-duel-random-start", 12, (6, 2, 2), ONE),
    ("divisor-duel-random-start", 18, (9, 3, 3), ONE),
    ("divisor-duel-random-start", 15, (5, 2, 4, 2), TWO),
    ("factor-duel", 100, (25, 25, 25, 5, 10, 5), TWO),
    ("factor-duel", 30, (15, 5, 5), ONE),
    ("number-factor", 30, (5, 2), TWO),
    ("number-factor", 30, (2, 5), TWO),
)


def told(playthrough: Playthrough, reads_as: Callable[[Seat], bool]) -> str:
    """The whole dialogue, for a reader who is addressed as the mover when `reads_as` says so."""
    book, duel = playthrough.game.book, Duel(playthrough.game)
    screen = _words(book, duel.open(), reads_as)
    for move in playthrough.moves:
        screen += f"{book.prompt(duel.mover)}{move}\n"
        screen += _words(book, duel.play(duel.mover, move), reads_as)
    return screen


def _words(book: RuleBook, events: Events, reads_as: Callable[[Seat], bool]) -> str:
    return "".join(book.tell(event, _addresses(event, reads_as)) for event in events)


def _addresses(event: object, reads_as: Callable[[Seat], bool]) -> bool:
    mover = getattr(event, "mover", None)
    return mover is not None and reads_as(mover)


@each_playthrough
def test_whoever_has_the_turn_reads_the_book_to_the_letter(playthrough: Playthrough) -> None:
    assert told(playthrough, lambda mover: True) == playthrough.movers_screen()


@each_playthrough
@pytest.mark.parametrize("seat", Seat)
def test_each_player_is_addressed_on_their_own_turn_only(
    playthrough: Playthrough, seat: Seat
) -> None:
    assert told(playthrough, lambda mover: mover is seat) == playthrough.screen(seat)


@each_playthrough
def test_a_watcher_reads_what_the_opponent_reads(playthrough: Playthrough) -> None:
    assert told(playthrough, lambda mover: False) == playthrough.screen(None)


@each_playthrough
def test_a_playthrough_ends_with_its_last_move_and_as_recorded(playthrough: Playthrough) -> None:
    duel = Duel(playthrough.game)
    duel.open()
    for move in playthrough.moves:
        assert duel.is_on
        duel.play(duel.mover, move)
    assert duel.result == playthrough.result


@each_playthrough
def test_a_playthrough_fits_on_a_screen(playthrough: Playthrough) -> None:
    assert len(playthrough.lines) <= 40
    if "long list" not in playthrough.source:
        assert all(len(line.to_others) < 80 for line in playthrough.lines)


@each_playthrough
def test_no_line_of_the_dialogue_looks_like_a_house_line(playthrough: Playthrough) -> None:
    for line in playthrough.lines:
        assert not line.to_mover.startswith("*")
        assert not line.to_others.startswith("*")


def test_no_book_lacks_a_playthrough() -> None:
    assert {it.game.book.slug for it in PLAYTHROUGHS} == {book.slug for book in SHELF}


@pytest.mark.parametrize("example", FROM_THE_BOOKS, ids=str)
def test_every_example_of_the_rule_books_has_its_playthrough(
    example: tuple[str, int, tuple[int, ...], Seat],
) -> None:
    recorded = [
        (it.game.book.slug, it.game.number, it.moves, it.result.winner)
        for it in PLAYTHROUGHS
        if it.game.restriction.value == "any" and it.source.startswith("the rule book's")
    ]
    assert recorded.count(example) == 1


def test_every_example_is_one_of_the_rule_books() -> None:
    examples = [it for it in PLAYTHROUGHS if it.source.startswith("the rule book's")]
    assert len(examples) == len(FROM_THE_BOOKS)
