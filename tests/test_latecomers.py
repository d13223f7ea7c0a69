"""The process dies between writing down how a duel ended and telling it: all is told after it."""

import json
import socket
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing
from kit import NAME_PROMPT, Person, Place
from test_restarting import begin, lives, lives_history
from test_returning import PROMPT, code_of, comes_back

__all__ = ["lives"]  # a fixture

RESTARTED = "* The server was restarted. Nothing is lost"
NOT_SO = "Nobody of that name can come back with that code.\n"


@attrs.define
class Muted:
    """A connection that takes what is sent, and loses it."""

    sock: socket.socket

    def send(self, data: bytes) -> int:
        return len(data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.sock, name)


def mute(place: Place) -> None:
    """From now on nothing that is said reaches anybody."""
    for peer in place.server.door.inside:
        peer._sock = Muted(peer._sock)  # type: ignore[assignment]


def cut_after(journal: Path, kind: str) -> None:
    """Death came right after the last record of this kind."""
    lines = journal.read_text().splitlines(keepends=True)
    kinds = [json.loads(line)["k"] for line in lines]
    last = len(kinds) - kinds[::-1].index(kind)
    journal.write_text("".join(lines[:last]))


async def ends_untold(place: Place, person: Person, line: str) -> None:
    """Somebody types what ends the duel, and nobody reads what becomes of it."""
    mute(place)
    await person.types(line)
    await trio.testing.wait_all_tasks_blocked()


BY_RESIGNING = [
    "* You played {opponent}: Divisor Duel from 60. You were Player {seat}.\n",
    "Subtracting 15 from 60. New N is 45.\n",
    "* Player 2 has left the duel (resigned). Player 1 wins!\n",
]


@pytest.mark.parametrize("moment", ["end", "over"])
async def test_a_forfeit_that_was_not_told_is_told_after_the_restart(
    autojump_clock, lives, moment
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await begin(place)
        await ends_untold(place, ben, "resign")
    cut_after(lives.directory / "journal", moment)
    async with lives.life(managed=True) as place:
        for person, opponent, seat, outcome in (
            (anna, "Ben", 1, "* You won against Ben!\n"),
            (ben, "Anna", 2, "* Anna won this duel.\n"),
        ):
            await person.reads(f"{RESTARTED}; your duel is over.\n")
            told = await person.reads("* Recorded as duel 1.\n")
            read = [line.format(opponent=opponent, seat=seat) for line in BY_RESIGNING]
            read += [outcome, "* Next: rematch, play, review (how you played), who, help or quit."]
            at = [told.index(line) for line in read]
            assert at == sorted(at)
        await anna.types("rematch")
        await ben.types("rematch")
        await anna.reads("* Your opponent is Ben.\n")
        assert [duel.reason for _, duel in lives_history(place)] == ["resigned"]


@pytest.mark.parametrize("moment", ["turn", "end", "over"])
async def test_the_last_lines_of_the_book_are_told_after_the_restart(
    autojump_clock, lives, moment
) -> None:
    async with lives.life(managed=True, crash=True, number=6) as place:
        anna, ben = await place.pair()
        await anna.reads(PROMPT)
        await ends_untold(place, anna, "3")
    cut_after(lives.directory / "journal", moment)
    async with lives.life(managed=True, number=6) as place:
        told = await ben.reads("* Recorded as duel 1.\n")
        assert f"{RESTARTED}; your duel is over.\n" in told
        assert (
            f"{PROMPT}3\nSubtracting 3 from 6. New N is 3.\n\nPlayer 2's turn.\n"
            "Proper divisors of 3: None\nNo valid moves left. Player 1 wins!\n"
            "* Anna won this duel.\n* Next: rematch, "
        ) in told
        assert "* You won against Ben!\n* Next: " in await anna.reads("* Recorded as duel 1.\n")
        assert [duel.winner for _, duel in lives_history(place)] == [1]


@pytest.mark.parametrize("moment", ["end", "over"])
async def test_time_that_ran_out_is_told_after_the_restart(autojump_clock, lives, moment) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await begin(place)
        await trio.sleep(59)
        mute(place)
        await trio.sleep(2)
    cut_after(lives.directory / "journal", moment)
    async with lives.life(managed=True):
        for person in (anna, ben):
            told = await person.reads("* Recorded as duel 1.\n")
            assert told.count("* Player 2 ran out of time. Player 1 wins!\n") == 1


async def test_faults_in_a_row_are_told_after_the_restart(autojump_clock, lives) -> None:
    game = {"rulebook": "number-factor", "violations": 2}
    async with lives.life(managed=True, crash=True, **game) as place:
        anna, ben = await place.pair()
        await anna.types("7")
        await ben.reads("Choose a proper divisor to divide N: ")
        await ben.types("5")
        await anna.reads("New N is 6.\n")
        await ends_untold(place, anna, "4")
    cut_after(lives.directory / "journal", "turn")
    async with lives.life(managed=True, **game):
        told = await ben.reads("* Recorded as duel 1.\n")
        lost = "4 is not a proper divisor of 6. Turn lost.\n"
        ended = "* Player 1 forfeits: 2 invalid moves in a row. Player 2 wins!\n"
        assert f"{lost}{ended}* You won against Anna!\n* Next: " in told


@pytest.mark.parametrize("moment", ["end", "over"])
async def test_the_end_of_a_match_is_told_with_its_score(autojump_clock, lives, moment) -> None:
    async with lives.life(managed=True, crash=True, best_of=3) as place:
        anna, ben = await begin(place)
        await ben.types("resign")
        await anna.reads("* Recorded as duel 1.\n")
        await ben.reads("* The next duel begins")
        await ben.reads(PROMPT)
        await ends_untold(place, ben, "resign")
    cut_after(lives.directory / "journal", moment)
    async with lives.life(managed=True, best_of=3) as place:
        told = await anna.reads("* Recorded as duel 2.\n")
        assert f"{RESTARTED}; your match is over.\n" in told
        assert "* Player 1 has left the duel (resigned). Player 2 wins!\n" in told
        won = "* You won against Ben!\n* The score: Anna 2, Ben 0. Anna wins the match.\n* Next: "
        assert won in told
        assert "Recorded as duel 1" not in told
        assert len(lives_history(place)) == 2


@pytest.mark.parametrize("line", ["resign", "quit"])
async def test_a_match_that_somebody_gave_up_in_the_pause_is_not_played_on(
    autojump_clock, lives, line
) -> None:
    async with lives.life(managed=True, crash=True, best_of=3) as place:
        anna, ben = await begin(place)
        await ben.types("resign")
        await anna.reads("* Recorded as duel 1.\n")
        await ben.reads("* Recorded as duel 1.\n")
        await ends_untold(place, ben, line)
    cut_after(lives.directory / "journal", "over")
    async with lives.life(managed=True, best_of=3):
        told = await anna.reads("* Next: ")
        how = " (resigned)" if line == "resign" else ""
        assert f"* Ben has left the match{how}. Anna wins the match.\n" in told
        assert "You won against" not in told.partition(RESTARTED)[2]
        assert "Recorded" not in await anna.reads_for(10)


async def test_an_end_in_the_pause_of_a_match_is_told_and_the_match_goes_on(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True, best_of=3) as place:
        anna, ben = await begin(place)
        await ends_untold(place, ben, "resign")
    cut_after(lives.directory / "journal", "end")
    async with lives.life(managed=True, best_of=3):
        told = await anna.reads("* Recorded as duel 1.\n")
        assert f"{RESTARTED}; your match goes on.\n" in told
        assert "* Player 2 has left the duel (resigned). Player 1 wins!\n" in told
        assert "* You won against Ben!\n* The score: Anna 1, Ben 0.\n" in told
        await anna.reads("Game Start!")


async def test_whoever_leaves_a_match_in_a_duel_has_lost_it_after_the_restart_too(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True, best_of=3) as place:
        anna, ben = await begin(place)
        await ends_untold(place, ben, "quit")
    cut_after(lives.directory / "journal", "end")
    async with lives.life(managed=True, best_of=3):
        told = await anna.reads("* Next: ")
        assert "* Player 2 has left the duel. Player 1 wins!\n" in told
        assert "* You won against Ben!\n* Anna wins the match.\n" in told


async def test_the_end_of_a_mirror_match_waits_for_its_mistakes_to_be_counted(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna = await place.comes_as("Anna")
        await anna.types("play mirror 60")
        ben = await place.comes_as("Ben")
        await ben.types("play mirror 60")
        await anna.reads(PROMPT)
        await anna.types("resign")
        await ben.reads("* Recorded as duel 1.\n")
        await ben.reads(PROMPT)
        await ends_untold(place, ben, "resign")
    cut_after(lives.directory / "journal", "end")
    async with lives.life(managed=True):
        told = await anna.reads("* Next: ")
        assert f"{RESTARTED}; your match goes on.\n" in told
        assert "* The score: Anna 1, Ben 1. " in told


async def test_an_end_that_was_told_and_stored_is_not_told_again(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await begin(place)
        await ben.types("resign")
        await anna.reads("* Recorded as duel 1.\n")
        await ben.reads("* Recorded as duel 1.\n")
    cut_after(lives.directory / "journal", "stored")
    async with lives.life(managed=True):
        for person in (anna, ben):
            assert await person.reads_for() == f"{RESTARTED}.\n"


async def test_a_practice_that_ended_untold_is_told_and_an_end_that_was_told_is_not(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True, number=6) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        await ends_untold(place, anna, "3")
    cut_after(lives.directory / "journal", "over")
    async with lives.life(managed=True, crash=True, number=6):
        told = await anna.reads("* Next: practice, ")
        assert "* You won against the house (medium)!\n" in told
        await anna.reads("* You are still waiting for an opponent: Divisor Duel from 6.\n")
        await trio.testing.wait_all_tasks_blocked()
    async with lives.life(managed=True, number=6):
        assert "won against" not in await anna.reads_for()


# Without systemd: with the code.


async def test_who_comes_back_reads_the_end_and_can_play_again(autojump_clock, lives) -> None:
    async with lives.life(crash=True) as place:
        anna, ben = await begin(place)
        await ends_untold(place, ben, "resign")
    cut_after(lives.directory / "journal", "over")
    async with lives.life() as place:
        back = await comes_back(place, "Anna", code_of(anna))
        told = await back.reads("* Next: play, review")
        assert "* Your duel is over.\n* You played Ben: " in told
        assert "* Player 2 has left the duel (resigned). Player 1 wins!\n" in told
        assert "* You won against Ben!\n* Recorded as duel 1.\n" in told
        again = await comes_back(place, "Ben", code_of(ben).lower())
        await again.reads("* Next: rematch, play")
        await back.types("rematch")
        await again.types("rematch")
        await again.reads("* Your opponent is Anna.\n")
        assert len(lives_history(place)) == 1


async def test_the_end_can_be_read_for_as_long_as_a_seat_is_kept(autojump_clock, lives) -> None:
    async with lives.life(crash=True) as place:
        anna, ben = await begin(place)
        await ends_untold(place, ben, "resign")
    cut_after(lives.directory / "journal", "over")
    async with lives.life() as place:
        wrong = await comes_back(place, "Anna", code_of(ben))
        await wrong.reads(NOT_SO)
        await trio.sleep(59)
        await (await comes_back(place, "Anna", code_of(anna))).reads("* You won against Ben!\n")
        await trio.sleep(2)
        await (await comes_back(place, "Ben", code_of(ben))).reads(NOT_SO)


async def test_an_end_holds_no_name_but_whoever_took_it_keeps_it(autojump_clock, lives) -> None:
    async with lives.life(crash=True) as place:
        anna, ben = await begin(place)
        await ends_untold(place, ben, "resign")
    cut_after(lives.directory / "journal", "over")
    async with lives.life() as place:
        await place.comes_as("Anna")
        await (await comes_back(place, "Anna", code_of(anna))).reads(NOT_SO)
        await (await comes_back(place, "Ben", code_of(ben))).reads("* Anna won this duel.\n")


@pytest.mark.parametrize("moment", ["seat", "begin"])
async def test_a_duel_that_nobody_may_know_of_holds_no_name(autojump_clock, lives, moment) -> None:
    async with lives.life(crash=True) as place:
        anna = await place.comes_as("Anna")
        ben = place.comes()
        await ben.reads(NAME_PROMPT)
        await ends_untold(place, ben, "Ben")
    cut_after(lives.directory / "journal", moment)
    async with lives.life() as place:
        anna, ben = await place.pair()
        await anna.reads("Player 1's turn.\n")


@pytest.mark.parametrize("moment", ["seat", "begin"])
async def test_but_whoever_knows_of_it_plays_it(autojump_clock, lives, moment) -> None:
    async with lives.life(crash=True) as place:
        anna, ben = await place.pair()
        await anna.reads(PROMPT)
        await ben.reads("Player 1's turn.\n")
    cut_after(lives.directory / "journal", moment)
    async with lives.life(crash=True):
        pass  # and dies once more
    async with lives.life() as place:
        back = await comes_back(place, "Ben", code_of(ben))
        again = await comes_back(place, "Anna", code_of(anna))
        await again.reads(PROMPT)
        await again.types("15")
        await back.reads("New N is 45.\n")
        assert len(place.server.hall.tables) == 1


async def test_it_cannot_be_played_without_one_of_the_two_names(autojump_clock, lives) -> None:
    async with lives.life(crash=True) as place:
        anna, ben = await place.pair()
        await anna.reads(PROMPT)
        await ben.reads("Player 1's turn.\n")
    async with lives.life() as place:
        await place.comes_as("Anna")
        await (await comes_back(place, "Ben", code_of(ben))).reads(NOT_SO)
        assert not place.server.hall.tables
