"""What `help` says about words that are no commands."""

import pytest

from duel_daemon import commands, glossary
from duel_daemon.commands import Command, Order
from duel_daemon.glossary import BY_WORD, ENTRIES, Entry
from duel_daemon.opponents import Strength
from duel_daemon.orders.looking import help_lines
from duel_daemon.rulebooks import BY_SLUG, SHELF, RuleBook
from duel_daemon.survey import Restriction
from duel_daemon.terms import Terms, Wish, parse
from duel_daemon.textwidth import SCREEN_COLUMNS
from duel_daemon.wire import columns

each_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.words[0])

SCREEN_LINES = 23


@each_entry
def test_an_entry_is_short_and_is_found_by_each_of_its_words(entry: Entry) -> None:
    for word in entry.words:
        lines = help_lines(word.upper())
        assert lines[0].startswith(f"{entry.words[0]}: ")
        assert len(lines) <= 5
        assert all(columns(line) <= SCREEN_COLUMNS for line in lines)
    assert entry.meaning.endswith(".")


@each_entry
def test_the_example_of_an_entry_can_be_typed(entry: Entry) -> None:
    if not entry.example:
        return
    assert help_lines(entry.words[0])[-1] == f"Example: {entry.example}"
    order = commands.parse(entry.example)
    assert isinstance(order, Order)
    if order.command.name == "play":
        assert isinstance(parse(order.words, Terms.of(BY_SLUG["divisor-duel"], 60), 100), Wish)


def test_no_two_entries_have_the_same_word_and_none_is_a_command() -> None:
    assert len(BY_WORD) == sum(len(entry.words) for entry in ENTRIES)
    assert not set(BY_WORD) & commands.WORDS


@pytest.mark.parametrize(
    "word",
    [
        *(restriction.value for restriction in Restriction),
        *(strength.value for strength in Strength),
        "best of 3",
        "mirror",
        "first",
    ],
)
def test_every_word_of_a_game_is_explained(word: str) -> None:
    assert glossary.lines(word)


@pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)
def test_help_for_a_game_is_its_rules_in_less_than_a_screen(book: RuleBook) -> None:
    for name in (book.slug, book.title, book.title.upper()):
        lines = help_lines(name)
        assert lines[0] == f"{book.title}, from {book.start_text}."
        assert lines[1] == book.explanation.splitlines()[0]
        assert len(lines) <= SCREEN_LINES


@pytest.mark.parametrize("word", [*commands.WORDS, "res", "chall"])
def test_a_command_comes_before_any_other_meaning(word: str) -> None:
    found = commands.find(word)
    assert isinstance(found, Command)
    assert help_lines(word)[0].startswith(found.usage)


def test_a_word_that_means_nothing_leads_to_the_overview() -> None:
    assert help_lines("xyzzy") == ["There is no command 'xyzzy'. Type help to see them all."]
