"""Coming back after a lost connection: the seat is kept, the clock is fair."""

import re
import time
from pathlib import Path

import pytest
import trio
import trio.testing
from kit import NAME_PROMPT, Person, Place, inline, open_house

from duel_daemon.archivist import Archivist
from duel_daemon.journal import Journal
from duel_daemon.memory import Memory
from duel_daemon.store import Store

PROMPT = "Enter your chosen divisor: "
CODE = re.compile(
    r"\n\* If you lose the connection, connect again and answer the name prompt with: "
    r"(\S+) (\S{4}-\S{4})\n"
)


def code_of(person: Person) -> str:
    found = CODE.search(person.screen)
    assert found is not None, person.screen
    return found.group(2)


async def comes_back(place: Place, name: str, code: str) -> Person:
    person = place.comes()
    await person.reads(NAME_PROMPT)
    await person.types(f"{name} {code}")
    return person


async def duel(place: Place) -> tuple[Person, Person]:
    """Anna is Player 1 and on the move."""
    anna, ben = await place.pair()
    await anna.reads(PROMPT)
    await ben.reads("2,3,4,5,6,10,12,15,20,30\n")
    return anna, ben


@pytest.fixture
def settings() -> dict[str, object]:
    return {"return_seconds": 60, "first_turn_extra_seconds": 0}


async def test_each_player_reads_how_to_come_back(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        assert CODE.search(anna.screen).group(1) == "Anna"
        assert CODE.search(ben.screen).group(1) == "Ben"
        assert code_of(anna) != code_of(ben)


async def test_whoever_comes_back_reads_where_the_duel_stands(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        await anna.types("15")
        await ben.reads(PROMPT)
        ben.hangs_up()
        await anna.reads("* Ben has lost the connection; the seat is kept for 60 seconds.\n")
        back = await comes_back(place, "Ben", code_of(ben))
        told = await back.reads(PROMPT)
        assert "* You play Anna: Divisor Duel from 60. You are Player 2.\n" in told
        assert f"{PROMPT}15\nSubtracting 15 from 60. New N is 45.\n" in back.screen
        assert "Player 2's turn.\nProper divisors of 45: 3,5,9,15\n" in back.screen
        assert "* 60 seconds left for you.\n" in back.screen
        await anna.reads("* Ben is back.\n")
        await back.types("15")
        await anna.reads("New N is 30.\n")


async def test_the_absent_mover_s_clock_runs_on(autojump_clock, settings) -> None:
    async with open_house(**settings, turn_seconds=40) as place:
        anna, ben = await duel(place)
        began = trio.current_time()
        anna.hangs_up()
        await ben.reads("* Player 1 ran out of time. Player 2 wins!\n")
        assert trio.current_time() - began == pytest.approx(40)


async def test_the_present_mover_s_clock_stands_while_the_other_is_away(
    autojump_clock, settings
) -> None:
    async with open_house(**settings, turn_seconds=40) as place:
        anna, ben = await duel(place)
        await trio.sleep(10)
        ben.hangs_up()
        await anna.reads("has lost the connection")
        await trio.sleep(50)  # beyond the turn's time
        await anna.types("time")
        await anna.reads("* 30 seconds left for you.\n")
        back = await comes_back(place, "Ben", code_of(ben))
        await back.reads("* 30 seconds left for Anna.\n")
        began = trio.current_time()
        await anna.reads("* 20 seconds left for this turn.\n")
        assert trio.current_time() - began == pytest.approx(10)
        await back.reads("* Player 1 ran out of time. Player 2 wins!\n")
        assert trio.current_time() - began == pytest.approx(30)


async def test_whoever_does_not_come_back_forfeits(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        ben.hangs_up()
        began = trio.current_time()
        told = await anna.reads("* Player 2 has left the duel. Player 1 wins!\n")
        assert trio.current_time() - began == pytest.approx(60)
        assert told.count("has left") == 1
        assert not place.server.hall.is_taken("ben")


async def test_a_move_in_the_absence_of_the_other_starts_their_clock(
    autojump_clock, settings
) -> None:
    async with open_house(**settings, turn_seconds=30) as place:
        anna, ben = await duel(place)
        ben.hangs_up()
        await anna.reads("has lost the connection")
        await anna.types("15")
        began = trio.current_time()
        await anna.reads("* Player 2 ran out of time. Player 1 wins!\n")
        assert trio.current_time() - began == pytest.approx(30)


async def test_the_third_lost_connection_in_a_duel_is_a_forfeit(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        code = code_of(ben)
        for _ in range(2):
            ben.hangs_up()
            await anna.reads("has lost the connection")
            ben = await comes_back(place, "Ben", code)
            await anna.reads("* Ben is back.\n")
        ben.hangs_up()
        told = await anna.reads("* Player 2 has left the duel. Player 1 wins!\n")
        assert "lost the connection" not in told


async def test_if_both_are_gone_the_duel_waits_and_is_then_void(autojump_clock, settings) -> None:
    async with open_house(**settings, turn_seconds=20) as place:
        anna, ben = await duel(place)
        table = next(iter(place.server.hall.tables.values()))
        ben.hangs_up()
        await anna.reads("has lost the connection")
        await trio.sleep(30)
        anna.hangs_up()
        await trio.sleep(59)
        assert table.duel.is_on
        await trio.sleep(2)
        assert table.duel.result.winner is None
        assert table.duel.result.reason.value == "left"
        assert not place.server.hall.players
        assert not place.server.hall.tables


async def test_if_both_are_gone_one_can_still_come_back(autojump_clock, settings) -> None:
    async with open_house(**settings, turn_seconds=20) as place:
        anna, ben = await duel(place)
        ben.hangs_up()
        await anna.reads("has lost the connection")
        anna.hangs_up()
        await trio.sleep(50)
        back = await comes_back(place, "Anna", code_of(anna))
        await back.reads("* Ben is away; the seat is kept for a while.\n")
        await back.reads("* 20 seconds left for you.\n")
        await back.reads("* Player 2 has left the duel. Player 1 wins!\n")


async def test_quit_and_resign_are_at_once(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        began = trio.current_time()
        await ben.types("quit")
        await anna.reads("* Player 2 has left the duel. Player 1 wins!\n")
        assert trio.current_time() == pytest.approx(began)


async def test_a_second_connection_with_the_code_takes_over_the_seat(
    autojump_clock, settings
) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        again = await comes_back(place, "Anna", code_of(anna))
        await again.reads(PROMPT)
        assert "* You are here on another connection now. The connection is closed.\n" in (
            await anna.reads_to_the_end()
        )
        await again.types("15")
        told = await ben.reads("New N is 45.\n")
        assert "lost the connection" not in told


@pytest.mark.parametrize("answer", ["Ben AAAA-AAAA", "Nobody AAAA-AAAA", "Anna 0000-0000"])
async def test_a_wrong_code_is_refused_and_tries_are_limited(
    autojump_clock, settings, answer
) -> None:
    async with open_house(**settings) as place:
        await duel(place)
        stranger = place.comes()
        for _ in range(3):
            await stranger.reads(NAME_PROMPT)
            await stranger.types(answer)
            await stranger.reads("* Nobody of that name can come back with that code.\n")
        assert "* Too many wrong codes. The connection is closed.\n" in (
            await stranger.reads_to_the_end()
        )


async def test_a_code_works_in_small_letters_too(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, _ = await duel(place)
        again = await comes_back(place, "anna", code_of(anna).lower())
        await again.reads(PROMPT)


async def test_the_name_without_the_code_is_taken(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        _, ben = await duel(place)
        ben.hangs_up()
        stranger = place.comes()
        await stranger.reads(NAME_PROMPT)
        await stranger.types("Ben")
        await stranger.reads(
            "* The seat of Ben is kept. To take it, type Ben and the code from before.\n"
        )
        await stranger.types("Anna")
        await stranger.reads("Someone here is called Anna")


async def test_the_code_is_worth_nothing_when_the_duel_is_over(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        await ben.types("resign")
        await anna.reads("* You won against Ben!")
        again = await comes_back(place, "Ben", code_of(ben))
        await again.reads("* Nobody of that name can come back with that code.\n")


async def test_in_a_match_the_seat_is_kept_between_the_duels_too(autojump_clock, settings) -> None:
    async with open_house(**settings, best_of=3) as place:
        anna, ben = await duel(place)
        await ben.types("resign")
        await anna.reads("The next duel begins in 5 seconds")
        ben.hangs_up()
        await anna.reads("has lost the connection")
        back = await comes_back(place, "Ben", code_of(ben))
        await back.reads("* The score: Anna 1, Ben 0.\n")
        await back.reads(PROMPT)


async def test_letters_that_look_like_digits_are_understood_in_a_code(
    autojump_clock, settings
) -> None:
    async with open_house(**settings) as place:
        await duel(place)
        table = next(iter(place.server.hall.tables.values()))
        table.codes = ("01AB-10CD", table.codes[1])
        again = await comes_back(place, "Anna", "OLAB-IOCD.")
        await again.reads(PROMPT)


async def test_the_time_left_is_the_true_one(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        await trio.sleep(10)
        anna.hangs_up()
        await ben.reads("has lost the connection")
        await trio.sleep(15)
        back = await comes_back(place, "Anna", code_of(anna))
        await back.reads("* 35 seconds left for you.\n")


async def test_whoever_had_moved_reads_the_own_move_again(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        await anna.types("15")
        await ben.reads(PROMPT)
        await ben.types("9")
        await anna.reads(PROMPT)
        ben.hangs_up()
        await anna.reads("has lost the connection")
        back = await comes_back(place, "Ben", code_of(ben))
        told = await back.reads("seconds left for Anna.\n")
        assert f"{PROMPT}9\nSubtracting 9 from 45. New N is 36.\n" in told
        assert "Subtracting 15" not in told  # the turn before the last
        assert not (await back.reads_for()).endswith(PROMPT)


async def test_in_a_match_the_score_is_read_on_return(autojump_clock, settings) -> None:
    async with open_house(**settings, best_of=3) as place:
        anna, ben = await duel(place)
        await anna.types("resign")
        await ben.reads("Game Start!")
        await ben.reads(PROMPT)
        ben.hangs_up()
        await anna.reads("has lost the connection")
        back = await comes_back(place, "Ben", code_of(ben))
        told = await back.reads(PROMPT)
        assert "* You play Anna: Divisor Duel from 60, best of 3. You are Player 1.\n" in told
        assert "* The score: Anna 0, Ben 1.\n" in told


async def test_losses_are_counted_anew_in_every_duel(autojump_clock, settings) -> None:
    async with open_house(**settings, best_of=3) as place:
        anna, ben = await duel(place)
        code = code_of(ben)
        for resigns in (True, False):
            for _ in range(2):
                ben.hangs_up()
                await anna.reads("has lost the connection")
                ben = await comes_back(place, "Ben", code)
                await anna.reads("* Ben is back.\n")
            if resigns:
                await anna.types("resign")
                await anna.reads("Game Start!")
        await anna.types("who")
        await anna.reads("* 2 people are here")


async def test_watchers_read_who_is_away_and_back(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        _, ben = await duel(place)
        carl = await place.comes_as("Carl")
        await carl.types("watch Anna")
        await carl.reads("Player 1's turn.\n")
        ben.hangs_up()
        await carl.reads("* Ben has lost the connection; the seat is kept for 60 seconds.\n")
        back = await comes_back(place, "Ben", code_of(ben))
        await back.reads("* You play Anna")
        await carl.reads("* Ben is back.\n")


async def test_practice_is_not_kept(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice")
        told = await anna.reads("Game Start!")
        assert "answer the name prompt with" not in told
        anna.hangs_up()
        await trio.testing.wait_all_tasks_blocked()
        assert not place.server.hall.tables
        await place.comes_as("Anna")


async def test_the_lobby_keeps_nobody(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna = await place.comes_as("Anna")
        anna.hangs_up()
        await trio.testing.wait_all_tasks_blocked()
        await place.comes_as("Anna")


async def test_every_duel_has_codes_of_its_own(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        old = code_of(ben)
        await anna.types("resign")
        await ben.reads("* Next: ")
        await anna.types("rematch")
        await ben.types("rematch")
        await ben.reads(PROMPT)
        new = CODE.findall(ben.screen)[-1][1]
        assert old != new
        again = await comes_back(place, "Ben", old)
        await again.reads("* Nobody of that name can come back with that code.\n")
        await again.types(f"Ben {new}")
        await again.reads(PROMPT)


async def test_the_code_of_one_is_not_the_code_of_the_other(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, _ = await duel(place)
        stranger = await comes_back(place, "Ben", code_of(anna))
        await stranger.reads("* Nobody of that name can come back with that code.\n")


async def test_whoever_is_here_can_resign_while_the_other_is_away(autojump_clock, settings) -> None:
    async with open_house(**settings) as place:
        anna, ben = await duel(place)
        ben.hangs_up()
        await anna.reads("has lost the connection")
        await anna.types("resign")
        await anna.reads("Player 2 wins!\n")
        await anna.reads("* Next: play,")  # no rematch: Ben is gone
        assert not place.server.hall.is_taken("ben")


async def test_whoever_has_asked_and_is_away_in_the_end_is_forgotten(
    autojump_clock, settings
) -> None:
    async with open_house(**settings) as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben")
        await ben.reads("Type accept or decline.\n")
        await ben.types("accept")
        await ben.reads("* Your opponent is")
        anna.hangs_up()
        await ben.reads("* Anna has lost the connection")
        await ben.types("resign")
        await ben.reads("* Next: play,")
        assert len(place.server.hall.matchmaker._asked) == 0


async def test_where_no_seat_is_kept_no_code_is_given(autojump_clock) -> None:
    async with open_house(return_seconds=0) as place:
        anna, ben = await place.pair()
        await anna.reads("* Whoever leaves or loses the connection loses the duel.\n")
        ben.hangs_up()
        await anna.reads("* Player 2 has left the duel. Player 1 wins!\n")


async def test_a_void_duel_is_recorded_as_nobody_s_win(
    autojump_clock, settings, tmp_path: Path
) -> None:
    store = Store.open(tmp_path, now=time.time)
    memory = Memory(Journal(tmp_path / "journal"), Archivist(store, inline))
    async with open_house(memory, **settings) as place:
        anna, ben = await duel(place)
        await anna.types("15")
        await ben.reads(PROMPT)
        anna.hangs_up()
        ben.hangs_up()
        await trio.sleep(61)
        ((_, record),) = store.history(None, 10)
        assert (record.players, record.winner, record.reason) == (("Anna", "Ben"), None, "left")
        assert [divisor for divisor, _ in record.turns] == [15]
        assert store.standings(10) == []
    store.close()


# As people type it.


@pytest.mark.parametrize(
    "typed",
    ["{name} {code}", "{name} {first}{second}", "{name} {first} {second}", "{code}", "{code}."],
)
async def test_the_code_is_enough_and_its_dash_is_not_needed(autojump_clock, typed):
    async with open_house(return_seconds=60) as place:
        anna, ben = await place.pair()
        await ben.reads("of 60: ")
        name, code = CODE.search(ben.screen).groups()
        ben.hangs_up()
        await anna.reads("* Ben has lost the connection")
        first, second = code.split("-")
        again = place.comes()
        await again.types(typed.format(name=name, code=code, first=first, second=second))
        await again.reads("* You play Anna")


@pytest.mark.parametrize("shown", ["Sarah", "S\u00e4rah"])
async def test_a_name_is_known_as_a_plain_screen_shows_it(autojump_clock, shown):
    async with open_house(return_seconds=60) as place:
        sarah, ben = await place.pair("S\u00e4rah", "Ben")
        await sarah.types("ascii")
        await ben.reads("of 60: ")
        _, code = CODE.search(sarah.screen).groups()
        sarah.hangs_up()
        await ben.reads("* S\u00e4rah has lost the connection")
        again = place.comes()
        await again.types(f"{shown} {code}")
        await again.reads("* You play Ben")
        (cleo,) = await place.lobby("Cleo")
        await cleo.types(f"watch {shown}")
        await cleo.reads("against Ben")


async def test_whoever_is_not_missed_yet_is_told_to_use_the_code(autojump_clock):
    async with open_house(return_seconds=60) as place:
        await place.pair()
        again = place.comes()
        await again.types("Ben")
        told = await again.reads(NAME_PROMPT) + await again.reads(NAME_PROMPT)
        assert (
            "* Someone here is called Ben, or nearly so; Ben2 would work. If that is you," in told
        )
        assert "type Ben and the code from before." in told


@pytest.mark.parametrize("name", ["Anna-Lena", "Karl-Otto"])
async def test_a_name_that_looks_like_a_code_is_a_name(autojump_clock, name):
    async with open_house(return_seconds=60) as place:
        await place.pair()
        person = place.comes()
        await person.types(name)
        await person.reads(f"* Welcome, {name}.")


async def test_a_code_that_is_nobodys_becomes_no_name(autojump_clock):
    async with open_house(return_seconds=60) as place:
        person = place.comes()
        await person.types("K7M2-9QXT")
        await person.reads("Nobody of that name can come back with that code.")


async def test_two_words_that_could_be_a_code_are_two_words(autojump_clock):
    async with open_house(return_seconds=60) as place:
        await place.pair()
        person = place.comes()
        await person.types("Anne Margaret")
        await person.reads("* A name is one word")
