"""Text that fits a screen."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from duel_daemon.textwidth import (
    SCREEN_COLUMNS,
    SHOWN_CHARACTERS,
    aligned,
    counted,
    either,
    short,
    short_number,
    wrapped,
)
from duel_daemon.wire import columns

a_word = st.text("abcé漢1,", min_size=1, max_size=30)
a_text = st.lists(a_word, min_size=1).map(" ".join)


@given(a_text, st.sampled_from(["", "  "]))
def test_no_word_is_lost_and_every_line_fits(text: str, indent: str) -> None:
    lines = wrapped(text, indent)
    assert " ".join(line.removeprefix(indent) for line in lines) == text
    assert all(columns(line) <= SCREEN_COLUMNS for line in lines)
    assert all(line.startswith(indent) for line in lines[1:])


@given(a_text)
def test_no_line_could_have_held_the_next_word(text: str) -> None:
    lines = wrapped(text)
    for line, following in itertools.pairwise(lines):
        assert columns(f"{line} {following.split(' ')[0]}") > SCREEN_COLUMNS


def test_a_line_that_fits_stays_as_it_is() -> None:
    for text in ("", "   1 Hello!", "x" * SCREEN_COLUMNS, "a  b" * 19, "漢" * 38):
        assert wrapped(text, "  ") == [text]


def test_a_word_longer_than_a_line_stays_whole_and_where_it_is() -> None:
    assert wrapped(f"Anna says: {'x' * 400} y", "  ") == [f"Anna says: {'x' * 400}", "  y"]


def test_columns_are_aligned_by_what_a_terminal_shows() -> None:
    rows = [("Anna", "plays"), ("漢字", "waits"), ("Jürgen-1", "")]
    assert aligned(rows) == ["Anna      plays", "漢字      waits", "Jürgen-1"]


def test_no_rows_are_no_lines() -> None:
    assert aligned([]) == []


def test_a_choice_reads_as_people_say_it() -> None:
    assert either(["a"]) == "a"
    assert either(["a", "b"]) == "a or b"
    assert either(iter("abc")) == "a, b or c"


def test_a_count_is_singular_only_if_it_is_one() -> None:
    assert [counted(n, "table") for n in range(3)] == ["0 tables", "1 table", "2 tables"]


def test_what_was_typed_is_said_back_in_full_unless_it_is_long() -> None:
    assert short("x" * SHOWN_CHARACTERS) == "x" * SHOWN_CHARACTERS
    assert short("x" * (SHOWN_CHARACTERS + 1)) == "x" * SHOWN_CHARACTERS + "..."
    assert short_number(10**SHOWN_CHARACTERS - 1) == "9" * SHOWN_CHARACTERS
    assert short_number(10**SHOWN_CHARACTERS) == "That number"
