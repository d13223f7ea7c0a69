"""Line -> command, and what `help` writes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duel_daemon import commands
from duel_daemon.commands import (
    ALIASES,
    BY_NAME,
    COMMANDS,
    MOST_DIGITS,
    Blank,
    Command,
    Group,
    Move,
    Order,
    Place,
    Unknown,
)
from duel_daemon.narrator import house
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.terms import Terms, Wish
from duel_daemon.terms import parse as parse_terms
from duel_daemon.textwidth import SCREEN_COLUMNS, aligned
from duel_daemon.wire import MOST_LINE_BYTES, columns

each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)

SCREEN_LINES = 23


# Any line at all.

a_line = st.text() | st.lists(st.sampled_from([*BY_NAME, "1", "best of", "?", " ", "é"])).map(
    " ".join
)


@given(a_line)
@example("9" * 10_000)
@example("\ufeff60")
@example("²")
@example("\u2003")
def test_any_text_is_a_move_an_order_nothing_or_unknown(line: str) -> None:
    said = commands.parse(line)
    assert isinstance(said, Move | Order | Blank | Unknown)
    if isinstance(said, Unknown):
        assert said.sentence.endswith((".", "?"))
        assert len(said.sentence) < 2 * SCREEN_COLUMNS


@given(st.integers(min_value=0, max_value=10**200), st.sampled_from(["", " ", "·", "  · "]))
def test_a_line_of_digits_is_a_move(number: int, before: str) -> None:
    assert commands.parse(f"{before}{number} ") == Move(number)


@pytest.mark.parametrize("line", ["", " ", "\t ", "·"])
def test_an_empty_line_says_nothing(line: str) -> None:
    assert commands.parse(line) == Blank()


@pytest.mark.parametrize("line", ["-15", "+15", "15.", "1,5", "60-15", "15 15", "#3", "３", "1e3"])
def test_what_looks_like_a_number_but_is_none_is_told_what_a_move_is(line: str) -> None:
    assert commands.parse(line) == Unknown(
        "A move is one whole number and nothing else, such as 15."
    )


@pytest.mark.parametrize("text", ["9" * (MOST_DIGITS + 1), "x" * (MOST_LINE_BYTES + 1)])
def test_what_is_longer_than_anybody_means_is_not_read_at_all(text: str) -> None:
    assert commands.parse("9" * MOST_DIGITS) == Move(int("9" * MOST_DIGITS))
    assert commands.parse(text) == Unknown("That line is too long.")


@pytest.mark.parametrize(
    ("line", "name", "words"),
    [
        ("help", "help", ""),
        ("HELP Play", "help", "Play"),
        ("  say   good  luck ", "say", "good  luck"),
        ("play\t72", "play", "72"),
        ("?", "help", ""),
        ("bye", "quit", ""),
        ("exit", "quit", ""),
        ("forfeit", "resign", ""),
        ("practise easy", "practice", "easy"),
        ("res", "resign", ""),
        ("q", "quit", ""),
        ("h", "help", ""),
        ("t", "time", ""),
        ("chall anna", "challenge", "anna"),
    ],
)
def test_a_command_is_known_by_its_name_its_beginning_or_another_word(
    line: str, name: str, words: str
) -> None:
    assert commands.parse(line) == Order(BY_NAME[name], words)


@each_command
def test_every_beginning_of_a_name_finds_it_or_lists_it(command: Command) -> None:
    for length in range(1, len(command.name) + 1):
        start = command.name[:length]
        found = commands.find(start)
        if isinstance(found, Unknown):
            assert found.sentence.startswith(f"'{start}' could be ")
            assert command.name in found.sentence
        else:
            assert found.name.startswith(start)
    assert commands.find(command.name) is command
    assert commands.find(command.name.upper()) is command


def test_an_ambiguous_beginning_lists_the_candidates() -> None:
    assert commands.find("re") == Unknown("'re' could be rematch, resign, review or retry.")
    assert commands.find("p") == Unknown("'p' could be play or practice.")


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("hlep", "help"), ("chalenge", "challenge"), ("rematsh", "rematch"), ("qiut", "quit")],
)
def test_a_typo_is_answered_with_the_nearest_command(typo: str, meant: str) -> None:
    assert commands.find(typo) == Unknown(f"There is no command '{typo}'. Did you mean {meant}?")


def test_a_word_like_no_command_leads_to_help() -> None:
    assert commands.find("xyzzy") == Unknown(
        "There is no command 'xyzzy'. Type help to see them all."
    )


def test_a_long_word_is_not_repeated_in_full() -> None:
    assert commands.find("x" * 400) == Unknown(
        f"There is no command '{'x' * 20}...'. Type help to see them all."
    )


# The table of commands.


def test_no_two_commands_and_no_other_words_have_the_same_name() -> None:
    assert len(BY_NAME) == len(COMMANDS)
    assert not set(ALIASES) & set(BY_NAME)
    assert set(ALIASES.values()) <= set(BY_NAME)


@each_command
def test_every_command_is_explained(command: Command) -> None:
    lines = commands.details(command)
    assert lines[0].startswith(command.usage)
    assert lines[-1] == f"Example: {command.example}"
    assert command.usage.split()[0] == command.name
    assert command.detail.endswith(".")
    assert command.summary[0].islower() or command.summary[0].isdigit()
    assert not command.summary.endswith(".")
    assert command.where
    assert len(lines[0]) <= SCREEN_COLUMNS


@each_command
def test_every_example_is_this_command(command: Command) -> None:
    order = commands.parse(command.example)
    assert isinstance(order, Order)
    assert order.command is command


@pytest.mark.parametrize("name", ["play", "challenge", "practice"])
def test_the_game_in_every_example_can_be_played(name: str) -> None:
    words = BY_NAME[name].example.split()[1 if name == "play" else 2 :]
    usual = Terms.of(BY_SLUG["divisor-duel"], None)
    assert isinstance(parse_terms(" ".join(words), usual, 10**12), Wish)


def test_the_overview_fits_one_screen_and_names_every_command() -> None:
    lines = commands.overview()
    assert len(lines) <= SCREEN_LINES
    assert all(columns(line) <= SCREEN_COLUMNS for line in lines)
    words = {word.strip(",.") for line in lines for word in line.split()}
    assert set(BY_NAME) <= words


def test_the_overview_is_grouped_by_what_a_person_wants_to_do() -> None:
    assert house(*commands.overview()) == (
        "* On your turn, type a number: the divisor you choose. Everything else:\n"
        "* Find a game:  play, join, challenge, accept, decline, withdraw, stop, rematch\n"
        "* In a duel:    divisors, time, resign\n"
        "* Learn:        rules, practice, hint, review, retry\n"
        "* See and talk: who, duels, history, standings, watch, unwatch, say, mute\n"
        "* You:          name, bell, ascii, help, quit\n"
        "* help COMMAND explains one of them, for instance: help play\n"
        "* help WORD explains a word that you read here, for instance: help mirror\n"
    )


def test_every_group_has_a_command() -> None:
    assert {command.group for command in COMMANDS} == set(Group)


# Who can say what when.


def test_who_can_say_what_when() -> None:
    """The whole table, for people to read and to change on purpose."""
    rows = [
        (command.name, *("x" if place in command.where else "." for place in PLACES.values()))
        for command in COMMANDS
    ]
    assert "\n".join(aligned([("", *PLACES), *rows])) == TABLE


PLACES = {
    "name?": Place.NAMING,
    "lobby": Place.LOBBY,
    "watching": Place.WATCHING,
    "in a duel": Place.DUEL,
    "between duels": Place.BETWEEN,
}


TABLE = """\
           name?  lobby  watching  in a duel  between duels
play       .      x      x         .          .
join       .      x      x         .          .
challenge  .      x      x         .          .
accept     .      x      x         x          x
decline    .      x      x         x          x
withdraw   .      x      x         .          .
stop       .      x      x         x          x
rematch    .      x      x         .          .
divisors   .      .      .         x          .
time       .      .      .         x          x
resign     .      .      .         x          x
rules      x      x      x         x          x
practice   .      x      x         .          .
hint       .      .      .         x          .
review     .      x      x         .          x
retry      .      x      x         .          .
who        x      x      x         x          x
duels      .      x      x         x          x
history    .      x      x         .          x
standings  .      x      x         .          x
watch      .      x      x         .          .
unwatch    .      x      x         .          .
say        .      .      .         x          x
mute       .      x      x         x          x
name       .      x      x         .          .
bell       .      x      x         x          x
ascii      .      x      x         x          x
help       x      x      x         x          x
quit       x      x      x         x          x"""


def test_the_table_has_a_column_for_every_place() -> None:
    single = {place for place in Place if place.value.bit_count() == 1}
    assert set(PLACES.values()) == single
