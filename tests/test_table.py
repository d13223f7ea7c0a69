"""The turn clock, matches, and tables side by side; time is virtual."""

import itertools
import random

import pytest
import trio
import trio.testing
from kit import open_house

from duel_daemon import table as table_room
from duel_daemon.survey import HEAVY_NUMBER
from duel_daemon.table import PAUSE_SECONDS, Table

PROMPT = "Enter your chosen divisor: "
OUT_OF_TIME = "* Player 1 ran out of time. Player 2 wins!\n"
FIRST_TURN_SECONDS = 70  # 60, and 10 more


def now():
    return trio.current_time()


@pytest.fixture(autouse=True)
def no_mistake_of_ours(caplog):
    yield
    assert [r.getMessage() for r in caplog.records if r.levelname == "ERROR"] == []


async def dueling(place):
    """Anna is asked for her first move, Ben looks on, and the clock has just begun."""
    anna, ben = await place.pair()
    await anna.reads(PROMPT)
    await ben.reads("Proper divisors of ")
    await ben.reads("\n")
    return anna, ben


# Warnings.


async def test_the_mover_is_warned_at_half_and_at_ten_seconds_on_fresh_lines(autojump_clock):
    async with open_house() as place:
        anna, _ = await dueling(place)
        began = now()
        half = await anna.reads(f"left for this turn.\n{PROMPT}")
        assert (half, now()) == (f"\n* 35 seconds left for this turn.\n{PROMPT}", began + 35)
        ten = await anna.reads(f"left for this turn.\n{PROMPT}")
        assert (ten, now()) == (f"\n* 10 seconds left for this turn.\n{PROMPT}", began + 60)
        await anna.types("30")
        await anna.reads("Subtracting 30 from 60. New N is 30.\n")


async def test_nobody_but_the_mover_is_warned(autojump_clock):
    async with open_house() as place:
        _, ben = await dueling(place)
        assert "left for this turn" not in await ben.reads_for(FIRST_TURN_SECONDS + 1)


@pytest.mark.parametrize("seconds", [5, 12, 20])
async def test_a_short_turn_is_warned_once_at_half(autojump_clock, seconds):
    async with open_house(turn_seconds=seconds, first_turn_extra_seconds=0) as place:
        anna, _ = await dueling(place)
        began = now()
        text = await anna.reads(OUT_OF_TIME)
        assert now() == began + seconds
        assert text.count("left for this turn") == 1
        assert f"* {round(seconds / 2)} seconds left for this turn.\n" in text


async def test_the_words_of_a_warning_that_interrupts_typing_do_not_join_the_line(autojump_clock):
    async with open_house() as place:
        anna, ben = await dueling(place)
        await anna.send(b"3")
        await anna.reads("left for this turn.\n")
        await anna.send(b"0\n")
        await ben.reads(f"{PROMPT}30\n")


# The end of a turn.


async def test_a_silent_mover_forfeits_to_the_second(autojump_clock):
    async with open_house() as place:
        anna, ben = await dueling(place)
        began = now()
        assert await ben.reads(OUT_OF_TIME) == OUT_OF_TIME
        assert now() == began + FIRST_TURN_SECONDS
        assert await ben.reads("Next: ") == "* You won against Anna!\n* Next: "
        # To the mover the end interrupts an open prompt, which does not come again.
        before, after = (await anna.reads_for()).split(OUT_OF_TIME)
        assert before.endswith(f"{PROMPT}\n")
        assert after.startswith("* Ben won this duel.\n* Next: ")
        assert PROMPT not in after


async def test_the_first_turn_of_a_duel_has_more_time_and_the_second_has_not(autojump_clock):
    async with open_house(turn_seconds=40, first_turn_extra_seconds=25) as place:
        anna, ben = await dueling(place)
        await trio.sleep(64.5)
        await anna.types("30")
        await ben.reads(PROMPT)
        await ben.reads(PROMPT)
        began = now()
        await anna.reads("* Player 2 ran out of time. Player 1 wins!\n")
        assert now() == began + 40


@pytest.mark.parametrize("thinking", [0, 1, 4, 5, 6, 34, 35, 36, 59, 60, 61, 69])
async def test_the_alarms_of_the_second_turn_are_on_time_however_long_the_first_was(
    autojump_clock, thinking
):
    async with open_house() as place:
        anna, ben = await dueling(place)
        await trio.sleep(thinking)
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")
        await ben.reads(PROMPT)
        began = now()
        for left in (30, 10):
            await ben.reads(f"\n* {left} seconds left for this turn.\n{PROMPT}")
            assert now() == began + 60 - left
        await anna.reads("* Player 2 ran out of time.")
        assert now() == began + 60


async def test_every_turn_gets_its_full_time(autojump_clock):
    async with open_house(number=100) as place:
        anna, ben = await dueling(place)
        mover, other = anna, ben
        await trio.sleep(FIRST_TURN_SECONDS - 0.5)
        for _ in range(10):
            await mover.types("2")
            await other.reads(f"{PROMPT}2\n")
            await other.reads(PROMPT)
            mover, other = other, mover
            await trio.sleep(59.5)
        assert "ran out" not in anna.screen + ben.screen


async def test_after_hundreds_of_moves_the_clock_is_still_right(autojump_clock):
    rng = random.Random(3)
    async with open_house(number=1000) as place:
        mover, other = await dueling(place)
        for _ in range(400):
            await trio.sleep(rng.choice([0, 0, 0.25, 7, 29.5, 30, 30.5, 49.5, 50, 59.75]))
            await mover.types("2")
            await other.reads(f"{PROMPT}2\n")
            await other.reads(PROMPT)
            mover, other = other, mover
        began = now()
        await mover.reads("\n* 30 seconds left for this turn.\n")
        assert now() == began + 30
        await mover.reads("\n* 10 seconds left for this turn.\n")
        await other.reads(OUT_OF_TIME)
        assert now() == began + 60
        warnings = [line for line in mover.screen.splitlines() if "left for this" in line]
        assert set(warnings) <= {f"* {n} seconds left for this turn." for n in (10, 30, 35)}


async def test_no_move_in_time_is_ever_late(autojump_clock):
    """A move that arrives in the last instant counts; the next turn is the other's."""
    async with open_house() as place:
        anna, ben = await dueling(place)
        await trio.sleep(FIRST_TURN_SECONDS - 1e-6)
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")


async def test_without_a_clock_a_turn_lasts_as_long_as_one_likes(autojump_clock):
    async with open_house(turn_seconds=0) as place:
        anna, ben = await dueling(place)
        assert "* Divisor Duel from 60; take all the time you like.\n" in ben.screen
        assert await anna.reads_for(30 * 86400) == ""
        await anna.types("time")
        await anna.reads(f"* There is no clock in this duel.\n{PROMPT}")
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")


NOTHING_RESTARTS_IT = ["7", "1", "0", "60", "9" * 400, "time", "help", "divisors", "", "x", "say 1"]


@pytest.mark.parametrize("line", NOTHING_RESTARTS_IT)
async def test_what_the_mover_types_does_not_restart_the_clock(autojump_clock, line):
    async with open_house() as place:
        anna, ben = await dueling(place)
        began = now()
        for _ in range(13):
            await trio.sleep(5)
            await anna.types(line)
        await ben.reads(OUT_OF_TIME)
        assert now() == began + FIRST_TURN_SECONDS
        assert (await anna.reads_for()).count("left for this turn") == 2


@pytest.mark.parametrize("line", ["30", "time", "", "help", "x", "say 2", "who", "mute"])
async def test_what_the_opponent_types_does_not_restart_the_clock(autojump_clock, line):
    async with open_house() as place:
        anna, ben = await dueling(place)
        began = now()
        for _ in range(13):
            await trio.sleep(5)
            await ben.types(line)
        await anna.reads(OUT_OF_TIME)
        assert now() == began + FIRST_TURN_SECONDS


async def test_telnet_commands_do_not_restart_the_clock(autojump_clock):
    async with open_house() as place:
        anna, ben = await dueling(place)
        began = now()
        for _ in range(13):
            await trio.sleep(5)
            await anna.send(b"\xff\xf1")  # NOP: somebody's keepalive
        await ben.reads(OUT_OF_TIME)
        assert now() == began + FIRST_TURN_SECONDS


async def test_time_tells_both_what_is_left(autojump_clock):
    async with open_house() as place:
        anna, ben = await dueling(place)
        await trio.sleep(20)
        await anna.types("time")
        await anna.reads("* 50 seconds left for you.\n")
        await ben.types("time")
        await ben.reads("* 50 seconds left for Anna.\n")


async def test_a_lost_turn_of_book_five_starts_the_others_clock(autojump_clock):
    async with open_house(rulebook="number-factor") as place:
        anna, ben = await place.pair()
        await anna.reads(": ")
        await trio.sleep(50)
        await anna.types("7")
        await ben.reads("Turn lost.\n")
        began = now()
        await anna.reads("* Player 2 ran out of time.")
        assert now() == began + 60


async def test_no_alarm_rings_after_a_duel(autojump_clock):
    async with open_house() as place:
        anna, ben = await dueling(place)
        await anna.types("resign")
        await ben.reads("quit.\n")
        (reminder,) = (entry[-1] for entry in place.server.hall.timetable._reminders)
        assert reminder._call is None  # what is over is not kept in memory by its clock
        assert await ben.reads_for(600) == ""
        assert place.server.hall.timetable._reminders == []


# A match.


async def test_each_duel_of_a_match_has_a_first_turn_and_a_pause_before_it(autojump_clock):
    async with open_house(best_of=3) as place:
        anna, ben = await dueling(place)
        await ben.reads(OUT_OF_TIME)
        over = now()
        await ben.reads("* The score: Anna 0, Ben 1.")
        await ben.reads("Ben is Player 1 then.\n")
        await ben.reads(PROMPT)
        assert now() == over + PAUSE_SECONDS
        await anna.reads(OUT_OF_TIME)
        await anna.reads(OUT_OF_TIME)
        assert now() == over + PAUSE_SECONDS + FIRST_TURN_SECONDS
        await anna.reads("* The score: Anna 1, Ben 1.")
        await anna.reads(PROMPT)
        await anna.reads("* The score: Anna 1, Ben 2. Ben wins the match.\n")
        assert now() == over + 2 * (PAUSE_SECONDS + FIRST_TURN_SECONDS)


async def test_between_two_duels_no_clock_runs_and_no_number_is_a_move(autojump_clock):
    async with open_house(best_of=3) as place:
        anna, ben = await dueling(place)
        await anna.types("resign")
        await ben.reads("Ben is Player 1 then.\n")
        await ben.types("30")
        await ben.reads("* Wait for the next duel to begin.\n")
        await anna.types("time")
        await anna.reads("* No clock is running: the next duel begins in a moment.\n")
        await ben.reads(PROMPT)


# Large numbers are divided up in a thread, and meanwhile anything can happen.

HEAVY = HEAVY_NUMBER + 6


class Thinking:
    """Work on a large number takes until the test says that it is done."""

    def __init__(self):
        self.done = trio.Event()

    def begins_again(self):
        self.done = trio.Event()

    async def consider(self, number, work, *args):
        if number > HEAVY_NUMBER:
            await self.done.wait()
        return work(*args)


@pytest.fixture
def thinking(monkeypatch):
    thinking = Thinking()
    monkeypatch.setattr(table_room, "consider", thinking.consider)
    return thinking


async def test_a_duel_that_somebody_left_before_it_was_opened_is_not_opened(
    autojump_clock, thinking
):
    async with open_house(number=HEAVY, max_number=10**18) as place:
        anna = await place.comes_as("Anna")
        ben = await place.comes_as("Ben")
        anna.hangs_up()
        assert (await ben.reads("Next: ")).count("has left") == 1
        thinking.done.set()
        assert "Your opponent" not in await ben.reads_for(600)
        assert not place.server.hall.tables


async def test_a_server_that_stops_before_a_duel_was_opened_does_not_open_it(
    autojump_clock, thinking
):
    async with open_house(number=HEAVY, max_number=10**18) as place:
        anna = await place.comes_as("Anna")
        await place.comes_as("Ben")
        place.server.stop()
        await trio.testing.wait_all_tasks_blocked()
        thinking.done.set()
        assert "Your opponent" not in await anna.reads_to_the_end()


async def test_whoever_leaves_while_their_move_is_considered_has_moved_and_left_once(
    autojump_clock, thinking
):
    thinking.done.set()
    async with open_house(number=HEAVY, max_number=10**18) as place:
        anna, ben = await dueling(place)
        thinking.begins_again()
        await anna.types("2")
        anna.hangs_up()
        await trio.testing.wait_all_tasks_blocked()
        thinking.done.set()
        text = await ben.reads("Next: ")
        assert (text.count(f"{PROMPT}2\n"), text.count("has left")) == (1, 1)
        assert not place.server.hall.tables


async def test_a_move_that_was_considered_when_the_opponent_left_changes_nothing(
    autojump_clock, thinking
):
    thinking.done.set()
    async with open_house(number=HEAVY, max_number=10**18) as place:
        anna, ben = await dueling(place)
        thinking.begins_again()
        await anna.types("2")
        ben.hangs_up()
        await trio.testing.wait_all_tasks_blocked()
        thinking.done.set()
        text = await anna.reads_for()
        assert (text.count("has left"), text.count("Subtracting")) == (1, 0)
        await anna.types("play")
        await anna.reads("* Waiting for an opponent")


# Tables side by side.


async def play_a_duel(one, two):
    """From 60, to its right end: 30, 15 (as the only odd way down from 30), 5, 5."""
    for mover, other, divisor in zip(
        itertools.cycle((one, two)), itertools.cycle((two, one)), (30, 15, 5, 5), strict=False
    ):
        await mover.types(str(divisor))
        await other.reads(f"{PROMPT}{divisor}\n")
    for person in (one, two):
        await person.reads("No valid moves left. Player 2 wins!\n")


async def test_a_player_who_reads_nothing_does_not_delay_another_table(autojump_clock):
    async with open_house(turn_seconds=0, talk="free") as place:
        deaf, talker = await dueling(place)
        cleo, dora = await place.pair("Cleo", "Dora")
        began = now()
        for _ in range(1000):
            await talker.send(b"say " + b"x" * 400 + b"\n")
            await trio.testing.wait_all_tasks_blocked()
            await talker.reads("You say")
            if "has left" in talker.screen:
                break
        await play_a_duel(cleo, dora)
        await talker.reads("* Player 1 has left the duel. Player 2 wins!\n")
        assert now() == began
        assert deaf.screen.count("says") == 0


async def test_a_mistake_of_ours_at_one_table_ends_that_table_only(
    autojump_clock, monkeypatch, caplog
):
    def broken(table, alarm):
        raise RuntimeError("a bug")

    async with open_house() as place:
        anna, ben = await dueling(place)
        await trio.sleep(20)
        cleo, dora = await place.pair("Cleo", "Dora")
        monkeypatch.setattr(Table, "_ring", broken)
        for person in (anna, ben):
            await person.reads("* Something went wrong on our side, sorry.")
            await person.reads("* Next: play, ")
        monkeypatch.undo()
        await play_a_duel(cleo, dora)
        await anna.types("play")
        await ben.types("play")
        await anna.reads(PROMPT)
        assert len(place.server.hall.tables) == 1
    (record,) = (r for r in caplog.records if r.levelname == "ERROR")
    assert record.exc_info
    assert record.getMessage() == "t1: a mistake of ours"
    caplog.clear()


async def test_the_last_invalid_move_but_one_is_warned_of(autojump_clock) -> None:
    async with open_house(rulebook="number-factor") as place:
        anna, ben = await place.pair()
        for _ in range(2):
            await anna.reads("to divide N: ")
            await anna.types("7")
            await anna.reads("Turn lost.\n")
            await ben.reads("to divide N: ")
            await ben.types("8")
        await anna.reads("* One more invalid move in a row, and you lose the duel.\n")
        await anna.types("7")
        await anna.reads("* Player 1 forfeits: 3 invalid moves in a row. Player 2 wins!\n")
