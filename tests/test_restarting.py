"""Through a restart: what was kept goes on, on the old connections or with the codes."""

import contextlib
import os
import random
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest
import trio
import trio.testing
from kit import NAME_PROMPT, Person, Place, inline
from test_returning import PROMPT, code_of, comes_back

from duel_daemon import ledger
from duel_daemon.archivist import Archivist
from duel_daemon.journal import COMPACT_BYTES, Journal
from duel_daemon.kept import KeptPlayer, KeptTable, Running
from duel_daemon.ledger import line
from duel_daemon.memory import Memory
from duel_daemon.rulebooks import SHELF
from duel_daemon.server import Server
from duel_daemon.service import Service
from duel_daemon.settings import Settings
from duel_daemon.store import Store, StoreTrouble
from duel_daemon.terms import Terms, Wish

SETTINGS = {"first_turn": "first-come", "first_turn_extra_seconds": 0}


class FakeStore(Service):
    """systemd's store of descriptors, without systemd."""

    def __init__(self, kept: dict[str, socket.socket]) -> None:
        super().__init__(stored=dict(kept))
        self.kept = kept

    @property
    def is_managed(self) -> bool:
        return True

    def keep(self, name: str, sock: socket.socket) -> None:
        self.kept[name] = sock.dup()

    def forget(self, name: str) -> None:
        self.kept.pop(name).close()


@attrs.define
class Lives:
    """One state directory, and the processes that live on it one after the other."""

    directory: Path
    descriptors: dict[str, socket.socket] = attrs.field(factory=dict)
    people: list[Person] = attrs.field(factory=list)
    compact_bytes: int = COMPACT_BYTES

    @contextlib.asynccontextmanager
    async def life(
        self, *, managed: bool = False, crash: bool = False, **settings: object
    ) -> AsyncIterator[Place]:
        """A process from its start to its end, polite or by kill -9."""
        store = Store.open(self.directory, now=time.time)
        journal = Journal(self.directory / "journal", self.compact_bytes)
        memory = Memory(journal, Archivist(store, inline))
        # What came out of the store stays in it; the next process gets a copy of its own.
        service = FakeStore(self.descriptors) if managed else Service()
        service.stored = {name: sock.dup() for name, sock in service.stored.items()}
        server = Server(Settings(**{**SETTINGS, **settings}), [], random.Random(7), memory, service)
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(server.run)
                yield Place(server, self.people)
                if crash:
                    _silence(server)
                    nursery.cancel_scope.cancel()
                else:
                    server.stop()
        finally:
            store.close()


def _silence(server: Server) -> None:
    """A killed process says nothing, writes nothing and closes its descriptors."""
    server.hall.is_stopping = True
    for peer in server.door.inside:
        peer.lost = "killed"
    server.memory.journal._unwritten.clear()
    server.memory.journal.close()
    server.memory.journal._path = None


@pytest.fixture
async def lives(tmp_path) -> AsyncIterator[Lives]:
    lives = Lives(tmp_path)
    yield lives
    for person in lives.people:
        person.hangs_up()
    for sock in lives.descriptors.values():
        sock.close()


async def begin(place: Place) -> tuple[Person, Person]:
    """Anna has moved from 60 to 45; it is Ben's turn."""
    anna, ben = await place.pair()
    await anna.reads(PROMPT)
    await anna.types("15")
    await ben.reads(PROMPT)
    await ben.reads(PROMPT)
    return anna, ben


@pytest.mark.parametrize("crash", [False, True])
async def test_without_systemd_everyone_comes_back_with_their_code(
    autojump_clock, lives, crash
) -> None:
    async with lives.life(crash=crash) as place:
        anna, ben = await begin(place)
    if not crash:
        last = f"* The server is closing. Come back with: Ben {code_of(ben)}."
        assert f"{last} The connection is closed.\n" in await ben.reads_to_the_end()
    async with lives.life() as place:
        back = await comes_back(place, "Ben", code_of(ben))
        await back.reads("Proper divisors of 45: 3,5,9,15\n")
        await back.reads("* 60 seconds left for you.\n")
        await back.reads(PROMPT)
        again = await comes_back(place, "Anna", code_of(anna))
        await again.reads("* You play Ben: Divisor Duel from 60. You are Player 1.\n")
        await back.types("15")
        await again.reads(f"{PROMPT}15\nSubtracting 15 from 45. New N is 30.\n")
        await again.reads(PROMPT)
        await again.types("15")
        await back.reads(PROMPT)
        await back.types("5")
        await again.reads(PROMPT)
        await again.types("5")
        await again.reads("* Recorded as duel 1.\n")
        assert [d.turns for _, d in lives_history(place)] == [
            ((15, pytest.approx(0)), (15, pytest.approx(0)), (15, pytest.approx(0)),
             (5, pytest.approx(0)), (5, pytest.approx(0)))
        ]  # fmt: skip


def lives_history(place: Place) -> list:
    return place.server.memory.archivist._store.history(None, 10)


@pytest.mark.parametrize("crash", [False, True])
async def test_with_the_store_of_descriptors_nobody_is_cut(autojump_clock, lives, crash) -> None:
    async with lives.life(managed=True, crash=crash) as place:
        anna, ben = await begin(place)
        carl = await place.comes_as("Carl")
        await carl.reads("Waiting for an opponent")
        nobody = place.comes()
        await nobody.reads(NAME_PROMPT)
    async with lives.life(managed=True) as place:
        if not crash:
            await anna.reads("* The server is restarting; please wait a moment.\n")
        await anna.reads("* The server was restarted. Nothing is lost; your duel goes on.\n")
        await ben.reads("* The server was restarted. Nothing is lost; your duel goes on.\n")
        await ben.reads(f"{PROMPT}15\nSubtracting 15 from 60. New N is 45.\n")
        await ben.reads(PROMPT)
        await carl.reads("* The server was restarted. Nothing is lost.\n")
        await carl.reads("* You are still waiting for an opponent: Divisor Duel from 60.\n")
        await nobody.reads(NAME_PROMPT)
        await nobody.types("Dora")
        await carl.reads("* Your opponent is Dora.")
        await ben.types("9")
        await anna.reads(PROMPT)
        await ben.types("quit")
        await ben.reads_to_the_end()
        assert all(not name.startswith("Ben") for name in lives.descriptors)


async def test_wishes_about_the_screen_and_a_line_half_typed_come_along(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, rulebook="number-factor") as place:
        anna, ben = await place.pair()
        await anna.types("ascii on")
        await anna.reads("Plain letters only")
        await anna.types("bell on")
        await anna.reads("A bell rings")
        await ben.send(b"\xff\xfb\x1fwh")  # IAC WILL NAWS, and half a command
        await trio.testing.wait_all_tasks_blocked()
    async with lives.life(managed=True, rulebook="number-factor") as place:
        await anna.reads("\aChoose a proper divisor to divide N: ")
        await anna.types("5")
        await anna.reads("Calculating 30 / 5...")
        await ben.reads("Calculating 30 \N{DIVISION SIGN} 5...")
        await ben.reads("N: ")
        await ben.send(b"o\r\n")
        await ben.reads("* 2 people are here:")


async def test_a_line_half_typed_is_finished_after_any_number_of_restarts(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        _, ben = await begin(place)
        await ben.send(b"1")
        await trio.testing.wait_all_tasks_blocked()
    async with lives.life(managed=True, crash=True):
        await ben.send(b"5\nti")
        await ben.reads("New N is 30.\n")
        await trio.testing.wait_all_tasks_blocked()
    async with lives.life(managed=True):
        await ben.send(b"me\n")
        await ben.reads("* 60 seconds left for Anna.\n")  # on coming back
        await ben.reads("* 60 seconds left for Anna.\n")  # when asked
        assert "There is no command" not in ben.screen


async def test_a_hang_up_during_the_restart_is_a_lost_connection(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await begin(place)
    ben.hangs_up()
    async with lives.life(managed=True, turn_seconds=40):
        await anna.reads("* Ben has lost the connection; the seat is kept for 60 seconds.\n")
        await anna.reads("* Player 2 ran out of time. Player 1 wins!\n")


async def test_a_match_goes_on_with_its_score(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True, best_of=3) as place:
        anna, ben = await begin(place)
        await ben.types("resign")
        await anna.reads("* Recorded as duel 1.\n")
        await ben.reads("* The score: Anna 1, Ben 0.\n* The next duel begins")
    async with lives.life(managed=True, best_of=3) as place:
        await ben.reads("* The server was restarted.")
        await ben.reads("* The score: Anna 1, Ben 0.\n")
        await ben.reads("Game Start!")
        await ben.reads(PROMPT)
        await ben.types("30")
        await anna.reads(PROMPT)
        await anna.types("resign")
        await ben.reads("* The score: Anna 1, Ben 1.")
        await ben.reads("* Recorded as duel 2.\n")
        assert [d.match_terms for _, d in lives_history(place)] == ["divisor-duel 60 best of 3"] * 2


async def test_a_result_that_was_not_stored_before_the_death_is_stored_after_it(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        archivist = place.server.memory.archivist
        store, archivist._store = archivist._store, _Deaf(archivist._store)
        anna, ben = await begin(place)
        await ben.send(b"resign\n")
        await anna.reads("* You won against Ben!")
        archivist._store = store
    async with lives.life(managed=True) as place:
        await anna.reads("* Recorded as duel 1.\n")
        await trio.testing.wait_all_tasks_blocked()
        assert [d.players for _, d in lives_history(place)] == [("Anna", "Ben")]
        assert '"close"' in (lives.directory / "journal").read_text()


@attrs.define
class _Deaf:
    """A store that never gets round to it."""

    store: Store

    def add(self, records: list) -> list[int]:
        raise RuntimeError("killed before the commit")


# The journal itself.


async def test_after_a_full_disk_the_journal_is_whole_again(
    autojump_clock, tmp_path: Path, monkeypatch, caplog
) -> None:
    journal, running = Journal(tmp_path / "journal"), Running()
    journal.open(lambda: running)

    def enter(name: str) -> None:
        running.players[name] = KeptPlayer(name, "c1")
        journal.write(ledger.enter(name, "c1"))

    def full(descriptor: int, data: bytes) -> int:
        real_write(descriptor, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    def kept() -> list[str]:
        return [*Journal(tmp_path / "journal").load().players]

    enter("Anna")
    real_write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        enter("Ben")
    enter("Carl")  # there is room again, but Carl came after Ben
    assert kept() == ["Anna"]
    await trio.sleep(2)
    enter("Dora")
    journal.close()
    assert kept() == ["Anna", "Ben", "Carl", "Dora"]
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "journal: No space left on device; moves are not kept until this works again",
        "journal: 1 of 2 lines could not be read",  # the torn one
        "journal: writing works again",
    ]


async def test_the_end_of_a_daemon_that_is_behind_brings_the_journal_up_to_date(
    tmp_path: Path, monkeypatch
) -> None:
    journal, running = Journal(tmp_path / "journal"), Running()
    journal.open(lambda: running)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: 0)
        journal.write(ledger.enter("Anna", "c1"))
    running.players["Anna"] = KeptPlayer("Anna", "c1")
    journal.seal()
    running.players.clear()  # all is stopped
    journal.close()
    assert [*Journal(tmp_path / "journal").load().players] == ["Anna"]


async def test_the_journal_is_replaced_when_it_has_grown(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", compact_bytes=1000)
    running = Running(players={"Anna": KeptPlayer("Anna", "c1")})
    journal.open(lambda: running)
    for _ in range(100):
        journal.write(ledger.prefer("Anna", bell=True, muted=False, ascii_only=False))
        await trio.testing.wait_all_tasks_blocked()
    assert (tmp_path / "journal").stat().st_size < 1200
    journal.close()
    assert "Anna" in Journal(tmp_path / "journal").load().players


async def test_a_journal_that_is_replaced_all_the_time_lacks_nothing(autojump_clock, lives) -> None:
    """Each record is written in the middle of the change that it is about."""
    lives.compact_bytes = 0
    async with lives.life(managed=True, crash=True, best_of=3) as place:
        anna, ben = await begin(place)
        await ben.types("resign")
        await anna.reads("* Recorded as duel 1.\n")
        await ben.reads("* The next duel begins")
        await ben.reads(PROMPT)
        await ben.types("30")
        await anna.reads("Proper divisors of 30")
        carl = await place.comes_as("Carl")
        await carl.types("stop")
        await carl.types("name Conrad")
        await carl.reads("* You are Conrad now.\n")
    async with lives.life(managed=True, crash=True, best_of=3) as place:
        await anna.reads("* The server was restarted.")
        await anna.reads("* The score: Anna 1, Ben 0.\n")
        await anna.reads("Proper divisors of 30")
        await anna.reads(PROMPT)
        await anna.types("15")
        await ben.reads("New N is 15.\n")
        await ben.types("resign")
        await anna.reads("* The score: Anna 2, Ben 0. Anna wins the match.\n")
        await anna.reads("* Recorded as duel 2.\n")
        assert [len(duel.turns) for _, duel in lives_history(place)] == [2, 1]
    async with lives.life(managed=True) as place:
        await carl.reads("* The server was restarted. Nothing is lost.\n")
        assert sorted(player.name for player in place.server.hall.players) == [
            "Anna", "Ben", "Conrad",
        ]  # fmt: skip
        assert not place.server.hall.tables


async def test_a_table_that_makes_no_sense_costs_nobody_else_anything(
    autojump_clock, lives, caplog
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, _ = await begin(place)
        carl, dora = await place.pair("Carl", "Dora")
        await carl.reads(PROMPT)
    with (lives.directory / "journal").open("a") as file:
        file.write(line(ledger.turn(1, 7, 1.0)))  # 7 does not divide 45
        file.write(line(ledger.leave("Eve")))
        practice = KeptTable(
            9, "u", Terms(SHELF[0]), 3, ("Eve", "*perfect"), ("A", "B"), "practice"
        )
        file.write(line(ledger.seat(practice)))  # but Eve is not here
    async with lives.life(managed=True) as place:
        await anna.reads("* The server was restarted. Nothing is lost.\n")
        await carl.reads("* The server was restarted. Nothing is lost; your duel goes on.\n")
        await carl.reads(PROMPT)
        await carl.types("30")
        await dora.reads("New N is 30.\n")
        assert len(place.server.hall.tables) == 1
    assert [r.getMessage() for r in caplog.records if r.levelname == "ERROR"] == [
        "t1 cannot be rebuilt"
    ]


async def test_a_result_that_waits_through_two_deaths_disturbs_nobody(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        archivist = place.server.memory.archivist
        archivist._store = _Full(archivist._store)
        anna, ben = await begin(place)
        await ben.types("resign")
        await anna.reads("* You won against Ben!")
        await anna.types("rematch")
        await ben.types("rematch")
        await ben.reads("* Your opponent is Anna.\n")
        await ben.reads(PROMPT)
    for _ in range(2):
        async with lives.life(managed=True, crash=True) as place:
            archivist = place.server.memory.archivist
            archivist._store = _Full(archivist._store)
            await ben.reads("your duel goes on.\n")
            await ben.reads(PROMPT)
            await trio.sleep(1)
    async with lives.life(managed=True) as place:
        await ben.reads(PROMPT)
        await ben.types("30")
        await anna.reads("New N is 30.\n")
        await anna.types("resign")
        await ben.reads("* Recorded as duel 2.\n")
        assert [duel.players for _, duel in lives_history(place)] == [
            ("Ben", "Anna"), ("Anna", "Ben"),
        ]  # fmt: skip


@attrs.define
class _Full:
    """A store without room."""

    store: Store

    def add(self, records: list) -> list[int]:
        raise StoreTrouble("the disk is full")


def test_without_a_path_nothing_is_kept() -> None:
    journal = Journal(None)
    journal.open(Running)
    journal.write(ledger.enter("Anna", "c1"))
    assert not journal.keeps
    assert journal.load() == Running()


# What our restart costs: no time, and nothing of what is going on.


async def test_whoever_comes_back_late_after_our_restart_has_the_whole_turn(
    autojump_clock, lives
) -> None:
    async with lives.life(crash=True) as place:
        anna, ben = await begin(place)
    async with lives.life() as place:
        await trio.sleep(30)
        again = await comes_back(place, "Anna", code_of(anna))
        await again.reads("* 60 seconds left for Ben.\n")
        await trio.sleep(25)
        back = await comes_back(place, "Ben", code_of(ben))
        await back.reads("* 60 seconds left for you.\n")


async def test_nobody_runs_out_of_time_while_our_restart_keeps_them_away(
    autojump_clock, lives
) -> None:
    async with lives.life(crash=True, turn_seconds=10) as place:
        anna, ben = await begin(place)
    async with lives.life(turn_seconds=10) as place:
        again = await comes_back(place, "Anna", code_of(anna))
        await trio.sleep(40)
        back = await comes_back(place, "Ben", code_of(ben))
        await back.reads("* 10 seconds left for you.\n")
        assert "ran out of time" not in again.screen


async def test_the_first_turn_has_its_extra_time_after_a_restart_too(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True, first_turn_extra_seconds=10) as place:
        anna, _ = await place.pair()
        await anna.reads(PROMPT)
    async with lives.life(managed=True, first_turn_extra_seconds=10):
        await anna.reads("* 70 seconds left for you.\n")


async def test_whoever_waited_before_the_restart_hears_of_practice_in_time(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        carl = await place.comes_as("Carl")
        await carl.reads("Waiting")
    async with lives.life(managed=True):
        await carl.reads("* You are still waiting for an opponent")
        began = trio.current_time()
        await carl.reads("* Nobody yet.")
        assert trio.current_time() - began == pytest.approx(30)


async def test_who_has_left_remembers_nobody(autojump_clock, lives) -> None:
    """Or one who stays would keep everybody alive whom they and theirs ever played."""
    async with lives.life() as place:
        _, ben = await begin(place)
        player = place.server.hall.find("Ben")
        await ben.types("quit")
        await ben.reads_to_the_end()
        assert player.connection is player.table is player.last_table is None
        assert player.last_played is None


def test_a_journal_that_cannot_be_read_is_said_and_not_fatal(tmp_path: Path, caplog) -> None:
    (tmp_path / "journal").mkdir()
    assert Journal(tmp_path / "journal").load() == Running()
    assert "what was being played is lost" in caplog.text


# How often a connection was lost.


async def loses_and_comes_back(place: Place, ben: Person, anna: Person, code: str) -> Person:
    ben.hangs_up()
    await anna.reads("* Ben has lost the connection")
    back = await comes_back(place, "Ben", code)
    await anna.reads("* Ben is back.\n")
    return back


@pytest.mark.parametrize("lives_before", [1, 2], ids=["as it happened", "from the fewest records"])
async def test_the_third_lost_connection_forfeits_though_our_restart_came_between(
    autojump_clock, lives, lives_before
) -> None:
    async with lives.life(crash=True) as place:
        anna, ben = await begin(place)
        codes = {"Anna": code_of(anna), "Ben": code_of(ben)}
        ben = await loses_and_comes_back(place, ben, anna, codes["Ben"])
        await loses_and_comes_back(place, ben, anna, codes["Ben"])
    for _ in range(lives_before - 1):
        async with lives.life(crash=True):
            pass
    async with lives.life() as place:
        ben = await comes_back(place, "Ben", codes["Ben"])
        anna = await comes_back(place, "Anna", codes["Anna"])
        await ben.reads(PROMPT)
        anna.hangs_up()  # for the first time: what our restarts have cut is not counted
        await ben.reads("* Anna has lost the connection")
        anna = await comes_back(place, "Anna", codes["Anna"])
        await ben.reads("* Anna is back.\n")
        ben.hangs_up()
        told = await anna.reads("* Player 2 has left the duel. Player 1 wins!\n")
        assert "lost the connection" not in told


async def test_what_was_lost_in_the_last_duel_does_not_count_after_a_restart(
    autojump_clock, lives
) -> None:
    async with lives.life(crash=True, best_of=3) as place:
        anna, ben = await begin(place)
        codes = {"Anna": code_of(anna), "Ben": code_of(ben)}
        for _ in range(2):
            ben = await loses_and_comes_back(place, ben, anna, codes["Ben"])
        await anna.types("resign")
        await anna.reads("Game Start!")
    async with lives.life(best_of=3) as place:
        anna = await comes_back(place, "Anna", codes["Anna"])
        ben = await comes_back(place, "Ben", codes["Ben"])
        await anna.reads("* Ben is back.\n")
        for _ in range(2):
            ben = await loses_and_comes_back(place, ben, anna, codes["Ben"])


# What people remember, watch and type.


async def test_review_retry_and_rematch_work_after_a_restart(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await begin(place)
        await ben.types("resign")
        await anna.reads("* Recorded as duel 1.\n")
        await anna.types("name Ada")
        await anna.reads("* You are Ada now.\n")
        await trio.testing.wait_all_tasks_blocked()
    async with lives.life(managed=True, crash=True):  # from the records as they came
        await ben.reads("* The server was restarted. Nothing is lost.\n")
    async with lives.life(managed=True):  # and from the fewest
        await ben.types("review")
        await ben.reads("* Player 1 was Ada, Player 2 Ben.\n")
        await anna.types("retry")
        await anna.reads("nothing to retry")
        await anna.types("rematch")
        await ben.reads("* Ada asks for a rematch.")
        await ben.types("rematch")
        await ben.reads("* You are Player 1; you move first (sides swapped).\n")


async def test_who_has_left_is_remembered_by_name_only(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await begin(place)
        await ben.types("quit")
        await anna.reads("* Recorded as duel 1.\n")
        await place.comes_as("Ben")  # another one
    async with lives.life(managed=True):
        await anna.types("review")
        await anna.reads("* Player 1 was Anna, Player 2 Ben.\n")
        await anna.types("rematch")
        await anna.reads("* Ben has left; type play to look for somebody else.\n")


async def test_practice_can_be_looked_back_at_after_a_restart(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        await anna.types("resign")
        await anna.reads("* Next: practice")
        await trio.testing.wait_all_tasks_blocked()
    async with lives.life(managed=True):
        await anna.types("review")
        await anna.reads("* Player 1 was Anna, Player 2 the house (medium).\n")
        await anna.types("rematch")
        await anna.reads("* You have not played with anybody yet.")


@pytest.mark.parametrize("is_on", [True, False])
async def test_a_watcher_reads_that_watching_has_ended(autojump_clock, lives, is_on) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await begin(place)
        carl = await place.comes_as("Carl")
        await carl.types("watch Ben")
        await anna.reads("* 1 person is watching.\n")
        if not is_on:
            await ben.types("resign")
            await anna.reads("* Recorded as duel 1.\n")
    async with lives.life(managed=True):
        told = await carl.reads_for()
        restarted = "* The server was restarted. Nothing is lost.\n"
        if is_on:
            line = "* You were watching Anna against Ben. To go on, type: watch Anna\n"
            assert told.endswith(restarted + line)
            await carl.types("watch Anna")
            await anna.reads("* 1 person is watching.\n")
            await ben.types("15")
            await carl.reads("New N is 30.\n")
        else:
            over = "* What you were watching is over. Type duels to see what is on.\n"
            assert told.endswith(restarted + over)


async def test_a_name_half_typed_is_asked_for_again_and_only_the_rest_is_read(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        somebody = place.comes()
        await somebody.reads(NAME_PROMPT)
        await somebody.send(b"Al")
        await trio.testing.wait_all_tasks_blocked()
    async with lives.life(managed=True):
        await somebody.reads(NAME_PROMPT)
        await somebody.send(b"ice\n")
        await somebody.reads("* Welcome, ice.")


async def test_the_queue_stays_in_its_order(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await place.comes_as("Anna"), place.comes()
        await anna.types("stop")
        await ben.is_named("Ben")
        await ben.types("play 30 first")
        await ben.reads("* Waiting for an opponent: Divisor Duel from 30")
        await anna.types("play 30 first")
        await anna.reads("* Waiting for an opponent: Divisor Duel from 30")
    async with lives.life(managed=True) as place:
        carl = await place.comes_as("Carl")
        await carl.types("play 30")
        await carl.reads("* Your opponent is Ben.\n")


@pytest.mark.parametrize("kind", ["enter", "offer"])
async def test_two_who_would_have_been_paired_are_paired_after_the_restart(
    autojump_clock, lives, kind
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await place.pair()
    journal = lives.directory / "journal"
    lines = journal.read_text().splitlines(keepends=True)
    entered = next(n for n, text in enumerate(lines) if '"enter"' in text and "Ben" in text)
    offers = [line(ledger.offer("Ben", Wish(Terms(SHELF[0], 60))))] if kind == "offer" else []
    journal.write_text("".join([*lines[: entered + 1], *offers]))
    async with lives.life(managed=True):
        await anna.reads("* The server was restarted. Nothing is lost.\n* Your opponent is Ben.\n")
        await anna.reads(PROMPT)
        await ben.reads("* The server was restarted. Nothing is lost.\n* Your opponent is Anna.\n")


async def test_a_code_that_was_perhaps_not_read_is_told_after_the_restart(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, _ = await place.pair()
        await anna.reads(PROMPT)
    async with lives.life(managed=True):
        told = await anna.reads(PROMPT)
        assert f"answer the name prompt with: Anna {code_of(anna)}\n" in told
