"""history, standings and review of an older duel, as players read them."""

import contextlib
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing
from kit import PROMPT, Person, Place, inline, open_house

from duel_daemon.archivist import RETRY_SECONDS, Archivist
from duel_daemon.journal import Journal
from duel_daemon.memory import Memory
from duel_daemon.records import DuelRecord, Standing
from duel_daemon.store import Store, StoreTrouble
from duel_daemon.textwidth import short


@attrs.define
class Moody:
    """A store that can be told to be in trouble."""

    store: Store
    trouble: bool = False

    def _mood(self) -> None:
        if self.trouble:
            raise StoreTrouble("the disk is full")

    def add(self, records: list[DuelRecord]) -> list[int]:
        self._mood()
        return self.store.add(records)

    def history(self, name: str | None, limit: int) -> list[tuple[int, DuelRecord]]:
        self._mood()
        return self.store.history(name, limit)

    def standings(self, limit: int) -> list[Standing]:
        self._mood()
        return self.store.standings(limit)

    def duel(self, number: int) -> DuelRecord | None:
        self._mood()
        return self.store.duel(number)


@attrs.define
class Kept:
    """A place whose results are kept."""

    place: Place
    moody: Moody

    @property
    def on_file(self) -> list[tuple[int, DuelRecord]]:
        return self.moody.store.history(None, 100)


@contextlib.asynccontextmanager
async def keeping_house(directory: Path, **settings: object) -> AsyncIterator[Kept]:
    store = Store.open(directory, now=time.time)
    moody = Moody(store)
    try:
        memory = Memory(Journal(directory / "journal"), Archivist(moody, inline))
        async with open_house(memory, **settings) as place:
            yield Kept(place, moody)
    finally:
        store.close()


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    async with keeping_house(tmp_path) as kept:
        yield kept


async def play(one: Person, two: Person, *moves: int) -> None:
    """Moves by turns, `one` first; then whoever is on the move resigns."""
    for person, move in zip([one, two] * len(moves), moves, strict=False):
        await person.reads(PROMPT)
        await person.types(str(move))
    last = (one, two)[len(moves) % 2]
    await last.reads(PROMPT)
    await last.types("resign")
    for person in (one, two):
        await person.reads("* Recorded as duel ")


async def answer(person: Person, line: str) -> str:
    """What is read in answer to a line."""
    await person.types(line)
    return await person.reads_for()


# Being recorded.


async def test_recorded_is_read_after_it_is_stored(autojump_clock, kept: Kept) -> None:
    anna, ben = await kept.place.pair()
    await anna.types("15")
    await ben.send(b"resign\n")
    await anna.reads("* You won against Ben!\n")
    assert kept.on_file == []
    await anna.reads("* Recorded as duel 1.\n")
    await ben.reads("* Recorded as duel 1.\n")
    ((number, duel),) = kept.on_file
    assert (number, duel.players, duel.winner, duel.reason) == (1, ("Anna", "Ben"), 1, "resigned")
    assert [divisor for divisor, _ in duel.turns] == [15]


@pytest.mark.parametrize("hours", [7, -7])
async def test_the_wall_clock_is_set_and_nothing_happens(
    tmp_path: Path, autojump_clock, monkeypatch, hours: int
) -> None:
    """Turns are timed by another clock, and no duel ends before it began."""
    noon = wall_clock = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: wall_clock)
    async with keeping_house(tmp_path, turn_seconds=60, first_turn_extra_seconds=0) as kept:
        anna, ben = await kept.place.pair()
        await anna.reads(PROMPT)
        await anna.types("15")
        for person in (anna, ben):
            await person.reads_for()
        wall_clock += hours * 3600
        assert await ben.reads_for(20) + await anna.reads_for(8) == ""
        await ben.types("time")
        await ben.reads("* 30 seconds left for you.\n")
        await ben.types("15")
        began = trio.current_time()
        await anna.reads("* Player 1 ran out of time. Player 2 wins!\n")
        assert trio.current_time() - began == pytest.approx(60)
        await anna.reads("* Recorded as duel 1.\n")
        ((_, duel),) = kept.on_file
        assert duel.turns == ((15, 0.0), (15, pytest.approx(30)))
        assert (duel.started, duel.ended) == (noon, max(noon, wall_clock))


async def test_in_trouble_nothing_is_said_to_be_recorded_until_it_is(
    autojump_clock, kept: Kept
) -> None:
    anna, ben = await kept.place.pair()
    kept.moody.trouble = True
    await ben.types("resign")
    await anna.reads("* You won against Ben!\n")
    assert "Recorded" not in await anna.reads_for(3 * RETRY_SECONDS)
    kept.moody.trouble = False
    await anna.reads("* Recorded as duel 1.\n")
    assert len(kept.on_file) == 1


async def test_practice_is_never_recorded(autojump_clock, kept: Kept) -> None:
    anna = await kept.place.comes_as("Anna")
    await anna.types("practice easy first")
    await anna.reads(PROMPT)
    await anna.types("resign")
    await anna.reads("* Next: ")
    assert "Recorded" not in await anna.reads_for()
    assert kept.on_file == []
    assert "* Nobody has finished a duel yet.\n" in await answer(anna, "standings")


async def test_every_duel_of_a_match_is_recorded(tmp_path: Path, autojump_clock) -> None:
    async with keeping_house(tmp_path, best_of=3) as kept:
        anna, ben = await kept.place.pair()
        await play(anna, ben, 15)
        await play(ben, anna)
        matches = {duel.match for _, duel in kept.on_file}
        assert len(kept.on_file) == 2
        assert len(matches) == 1
        assert None not in matches


# history.


when = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


async def test_history_is_one_s_own_the_newest_first(autojump_clock, kept: Kept) -> None:
    anna, ben = await kept.place.pair()
    await play(anna, ben)
    await anna.types("rematch")
    await ben.types("rematch")
    await play(ben, anna, 15)
    told = await answer(anna, "history")
    assert when.sub("(when)", told[told.index("* The last") :]) == (
        "* The last duels of Anna:\n"
        "* duel  when              against  game\n"
        "* 2     (when)  Ben      divisor-duel 60  lost\n"
        "* 1     (when)  Ben      divisor-duel 60  lost\n"
        "* Type review and the number of a duel to look at it: review 2\n"
    )
    told = await answer(anna, "history BEN")
    assert re.findall(r"Anna +divisor-duel 60 +(\w+)\n", told) == ["won", "won"]


async def test_history_tells_the_day_and_the_variation(tmp_path: Path, autojump_clock) -> None:
    async with keeping_house(tmp_path, divisors="even") as kept:
        anna, ben = await kept.place.pair()
        await play(anna, ben)
        told = await answer(anna, "history")
        ((_, duel),) = kept.on_file
        ended = time.strftime("%Y-%m-%d %H:%M", time.localtime(duel.ended))
        assert f"* 1     {ended}  Ben      divisor-duel 60 even  lost\n" in told


@pytest.mark.parametrize("name", ["Ben", "ben", "BEN"])
async def test_history_of_somebody_else_however_it_is_written(
    autojump_clock, kept: Kept, name: str
) -> None:
    anna, ben = await kept.place.pair()
    await play(anna, ben)
    carl = await kept.place.comes_as("Carl")
    told = await answer(carl, f"history {name}")
    assert f"* The last duels of {name}:\n" in told
    assert re.search(r"Anna +divisor-duel 60 +won\n", told)


async def test_history_outlives_whoever_played(autojump_clock, kept: Kept) -> None:
    anna, ben = await kept.place.pair()
    await play(anna, ben)
    await anna.types("quit")
    await anna.reads_to_the_end()
    assert re.search(r"Ben +divisor-duel 60 +lost\n", await answer(ben, "history Anna"))


async def test_who_has_played_nothing_has_no_history(autojump_clock, kept: Kept) -> None:
    carl = await kept.place.comes_as("Carl")
    assert "* There is no duel of Carl on record.\n" in await answer(carl, "history")
    told = await answer(carl, f"history {'x' * 100}")
    assert f"* There is no duel of {'x' * 20}... on record.\n" in told


async def test_a_duel_that_nobody_won_says_so(tmp_path: Path, autojump_clock) -> None:
    async with keeping_house(tmp_path, return_seconds=60) as kept:
        anna, ben = await kept.place.pair()
        anna.hangs_up()
        ben.hangs_up()
        await trio.sleep(70)
        carl = await kept.place.comes_as("Carl")
        assert "nobody won" in await answer(carl, "history Anna")
        assert "* Nobody has finished a duel yet.\n" in await answer(carl, "standings")


# standings.


async def test_standings_are_wins_duels_rate_and_streak(autojump_clock, kept: Kept) -> None:
    anna, ben = await kept.place.pair()
    await play(anna, ben)
    for _ in range(2):
        await anna.types("rematch")
        await ben.types("rematch")
        await ben.reads("* Your opponent is Anna.\n")
        if "You are Player 1" in await ben.reads(")"):
            await play(ben, anna)
        else:
            await play(anna, ben, 15)
    told = await answer(anna, "standings")
    rows = [line.split() for line in told.splitlines() if line.startswith("* ")]
    assert rows[-3] == ["*", "name", "wins", "duels", "rate", "streak"]
    assert rows[-2] == ["*", "1.", "Anna", "2", "3", "67%", "2", "won"]
    assert rows[-1] == ["*", "2.", "Ben", "1", "3", "33%", "2", "lost"]


# review N.


async def test_an_older_duel_can_be_reviewed_by_anybody(autojump_clock, kept: Kept) -> None:
    anna, ben = await kept.place.pair()
    await play(anna, ben, 15, 15, 10)
    carl = await kept.place.comes_as("Carl")
    told, own = await answer(carl, "review 1"), await answer(anna, "review")
    lines = told[told.index("* Player 1 was Anna, Player 2 Ben.\n") :]
    assert lines in own
    assert len(lines.splitlines()) > 4


@pytest.mark.parametrize("number", ["2", "0", "99999999999999999999999"])
async def test_there_is_no_review_of_a_duel_that_is_not_on_record(
    autojump_clock, kept: Kept, number: str
) -> None:
    anna, ben = await kept.place.pair()
    await play(anna, ben)
    told = await answer(anna, f"review {number}")
    assert f"* There is no duel {short(number)} on record; " in told


@pytest.mark.parametrize("words", ["-1", "x", "1.5", "\u00b2", "1 2", "match x", "match 1 2"])
async def test_what_is_no_number_of_a_duel_is_told_what_would_be(
    autojump_clock, kept: Kept, words: str
) -> None:
    carl = await kept.place.comes_as("Carl")
    told = await answer(carl, f"review {words}")
    assert told.endswith("* Type review; or review and a number from history; or review match.\n")


# Nothing to read from.


@pytest.mark.parametrize("line", ["history", "history Ben", "standings"])
async def test_where_nothing_is_kept_it_is_said_so(autojump_clock, line: str) -> None:
    async with open_house() as place:
        anna, ben = await place.pair()
        await ben.types("resign")
        told = await anna.reads("* Next: ")
        assert "Recorded" not in told
        assert "* Results are not kept here.\n" in await answer(anna, line)


async def test_where_nothing_is_kept_there_is_no_older_duel(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.pair()
        await ben.types("resign")
        await anna.reads("* Next: ")
        assert "* There is no duel 1 on record" in await answer(anna, "review 1")
        assert "* Player 1 was Anna, Player 2 Ben.\n" in await answer(anna, "review")


@pytest.mark.parametrize("line", ["history", "standings", "review 1"])
async def test_a_store_in_trouble_is_no_mistake_of_the_player_s(
    autojump_clock, kept: Kept, line: str
) -> None:
    anna, ben = await kept.place.pair()
    await play(anna, ben)
    kept.moody.trouble = True
    assert "* The results cannot be read at the moment.\n" in await answer(anna, line)
    kept.moody.trouble = False
    assert "cannot be read" not in await answer(anna, line)
    await anna.types("rematch")
    await ben.types("rematch")
    await anna.reads("* Your opponent is Ben.\n")
