"""Looking on at a duel."""

import random
import socket

import pytest
import trio
from kit import Person, Place, open_house

from duel_daemon.duel import Duel, Game
from duel_daemon.retelling import TURNS_RETOLD, transcript
from duel_daemon.rulebooks import SHELF, RuleBook
from duel_daemon.seating import WATCH_SECONDS, WATCH_TELLINGS
from duel_daemon.survey import Restriction

each_book = pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)

PROMPT = "Enter your chosen divisor: "
HEADER = "Type unwatch to stop watching.\n"
OVER = "* The game is over. Stay in case they play again, or type unwatch.\n"


async def watcher(place: Place, name: str, what: str = "Anna") -> Person:
    """Somebody who has begun to watch."""
    person = await place.comes_as(name)
    await person.types("stop")
    await person.types(f"watch {what}")
    await person.reads(HEADER)
    return person


async def move(mover: Person, prompt: str, divisor: int) -> None:
    await mover.reads(prompt)
    await mover.types(str(divisor))


def seen(person: Person, until: str = OVER) -> str:
    """What a watcher has read of the duel."""
    return person.screen.split(HEADER, 1)[1].split(until, 1)[0]


@each_book
async def test_a_watcher_who_joins_in_the_middle_reads_what_an_early_one_read(
    book: RuleBook, autojump_clock
) -> None:
    """One more comes after every turn; at the end all of them have read the same."""
    rng = random.Random(book.slug)
    async with open_house(rulebook=book.slug, number=96) as place:
        anna, ben = await place.pair()
        watchers = [await watcher(place, "Early")]
        duel = Duel(Game(book, 96))
        duel.open()
        while duel.is_on:
            survey = duel.game.survey(duel.number)
            divisor = rng.choice(survey.first[:3])
            if book.invalid_costs_turn and not duel.turns:
                divisor = 7  # a lost turn is a turn
            mover = anna if len(duel.turns) % 2 == 0 else ben
            await move(mover, book.prompt(duel.mover), divisor)
            duel.play(duel.mover, divisor)
            if duel.is_on:
                watchers.append(await watcher(place, f"Late-{len(duel.turns)}x"))
        for person in watchers:
            await person.reads(OVER)
        assert len(watchers) > 2
        assert {seen(person) for person in watchers} == {transcript(duel.game, duel.turns)}
        assert "* " not in seen(watchers[0])


@each_book
def test_what_is_retold_is_what_was_told(book: RuleBook) -> None:
    rng = random.Random(3)
    for restriction in Restriction:
        for _ in range(20):
            playable = [n for n in range(4, 300) if book.is_playable(n, restriction)]
            game = Game(book, rng.choice(playable), restriction)
            duel, told = Duel(game), ""
            events = duel.open()
            while True:
                told += _tell(game, events)
                assert transcript(game, duel.turns) == told
                if not duel.is_on:
                    break
                events = duel.play(duel.mover, rng.choice(game.survey(duel.number).first))


def _tell(game: Game, events) -> str:
    from duel_daemon.narrator import tell

    return tell(game, events).watchers


@pytest.mark.parametrize("turns", [TURNS_RETOLD + 2, TURNS_RETOLD + 3, 2 * TURNS_RETOLD])
def test_of_a_very_long_duel_the_last_turns_are_retold(turns: int) -> None:
    game = Game(SHELF[0], 1_000, Restriction.EVEN)
    duel = Duel(game)
    duel.open()
    for _ in range(turns):
        duel.play(duel.mover, 2)
    whole, text = transcript(game, ()), transcript(game, duel.turns)
    head, _, rest = text.partition("\n")
    left_out = int(head.removeprefix("* (").split()[0])
    assert head == f"* ({left_out} earlier turns are left out)"
    assert TURNS_RETOLD <= turns - left_out <= TURNS_RETOLD + 1
    assert text.count("Subtracting 2 from ") == turns - left_out
    assert rest.startswith("\nPlayer 1's turn.\n")
    assert not whole.startswith("* ")


async def test_a_refused_attempt_is_not_shown_to_the_others(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.pair()
        cleo = await watcher(place, "Cleo")
        await anna.types("7")
        await anna.reads("* 7 does not divide 60: 4 is left over. Try another.\n")
        await anna.types("15")
        for person in (ben, cleo):
            await person.reads("Enter your chosen divisor: 15\nSubtracting 15 from 60.")
            assert "7 does not" not in person.screen


async def test_a_watcher_reads_no_open_question(autojump_clock) -> None:
    async with open_house() as place:
        await place.pair()
        cleo = await watcher(place, "Cleo")
        text = await cleo.reads_for(1)
        assert text.endswith("Proper divisors of 60: 2,3,4,5,6,10,12,15,20,30\n")


# Finding one.


async def test_duels_lists_what_is_being_played(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        cleo = await place.comes_as("Cleo")
        await cleo.types("stop")
        await cleo.types("duels")
        await cleo.reads("* Nothing is being played.\n")
        anna, _ = await place.pair()
        await anna.types("15")
        dora = await place.comes_as("Dora")
        await dora.types("practice easy factor-duel first")
        await dora.reads("Choose a proper divisor to subtract: ")
        await cleo.types("duels")
        await cleo.reads(
            "* Anna against Ben                          divisor-duel 60  now at 45\n"
            "* Dora against the house (easy) (practice)  factor-duel 100  now at 100\n"
        )


@pytest.mark.parametrize("what", ["Anna", "ben", "be"])
async def test_a_duel_is_watched_by_the_name_of_a_player(what: str, autojump_clock) -> None:
    async with open_house() as place:
        await place.pair()
        cleo = await watcher(place, "Cleo", what)
        assert "* Anna against Ben: Divisor Duel from 60.\n* Player 1 is Anna. " in cleo.screen
        await cleo.reads("Game Start! Current Number (N): 60\n")


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("", "Type watch and the name of a player; duels shows who is playing."),
        ("Zoe", "Nobody called Zoe is playing; duels shows who is."),
        ("1", "Nobody called 1 is playing; duels shows who is."),  # it is a number for review only
        ("9" * 100, f"Nobody called {'9' * 20}... is playing; duels shows who is."),
    ],
)
async def test_what_is_no_player_s_name_cannot_be_watched(
    what: str, told: str, autojump_clock
) -> None:
    async with open_house() as place:
        await place.pair()
        cleo = await place.comes_as("Cleo")
        await cleo.types(f"watch {what}")
        await cleo.reads(f"* {told}\n")


async def test_who_does_not_play_cannot_be_watched(autojump_clock) -> None:
    async with open_house() as place:
        cleo, _ = await place.lobby("Cleo", "Dora")
        await cleo.types("watch dora")
        await cleo.reads("* Dora is not playing; duels shows who is.\n")


async def test_practice_can_be_watched_and_its_watchers_hear_when_it_is_left(
    autojump_clock,
) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads("divisor: ")
        cleo = await place.comes_as("Cleo")
        await anna.reads("* Cleo is here for the game you wait for.\n")
        await cleo.types("stop")
        await cleo.types("watch Anna")
        await cleo.reads("* Anna against the house (medium): ")
        ben = await place.comes_as("Ben")
        await anna.reads("* Ben is here for the game you wait for.\n")
        await anna.types("accept")
        await ben.reads("* Your opponent is Anna.\n")
        await cleo.reads(OVER)


# Coming and going.


async def test_players_are_told_how_many_watch(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.pair()
        cleo = await watcher(place, "Cleo")
        dora = await watcher(place, "Dora")
        for person in (anna, ben):
            await person.reads("* 1 person is watching.\n")
            await person.reads("* 2 people are watching.\n")
        await cleo.types("unwatch")
        await cleo.reads("* You are back in the lobby.\n")
        dora.hangs_up()
        for person in (anna, ben):
            await person.reads("* 1 person is watching.\n")
            await person.reads("* Nobody is watching any more.\n")
        await anna.types("15")
        assert "15" not in await cleo.reads_for(1)
        await cleo.types("unwatch")
        await cleo.reads("* You are not watching anything.\n")


async def test_players_are_not_flooded_by_whoever_comes_to_watch_and_goes(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna, ben = await place.pair()
        cleo = await place.comes_as("Cleo")
        began = trio.current_time()
        for _ in range(100):
            await cleo.types("watch Anna")
            await cleo.reads("Type unwatch")
            await cleo.types("unwatch")
            await cleo.reads("* You are back in the lobby.\n")
            await trio.sleep(0.5)
        took = trio.current_time() - began
        for person in (anna, ben):
            text = await person.reads_for(0.1)
            assert 1 <= text.count(" watching") <= WATCH_TELLINGS * (1 + took / WATCH_SECONDS)


async def test_who_watches_is_told_with_a_turn_if_it_was_too_often_before(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna, ben = await place.pair()
        for number in range(6):
            await watcher(place, f"Cleo-{'abcdef'[number]}")
        for person in (anna, ben):
            text = await person.reads_for(WATCH_SECONDS)
            assert text.endswith("* 4 people are watching.\n" + PROMPT * (person is anna))
            assert text.count("watching") == WATCH_TELLINGS
        await anna.types("15")
        for person in (anna, ben):
            await person.reads("Proper divisors of 45: 3,5,9,15\n* 6 people are watching.\n")
        await ben.types("15")
        assert "watching" not in await anna.reads_for()


async def test_watching_another_duel_ends_watching_the_first(autojump_clock) -> None:
    async with open_house() as place:
        anna, _ = await place.pair()
        dora, _ = await place.pair("Dora", "Emil")
        cleo = await watcher(place, "Cleo", "Anna")
        await cleo.types("watch ann")
        await cleo.reads("* You are watching that one already.\n")
        await cleo.types("watch Dora")
        await cleo.reads("* Dora against Emil: ")
        await anna.reads("* Nobody is watching any more.\n")
        await dora.reads("* 1 person is watching.\n")
        await dora.types("30")
        await anna.types("15")
        text = await cleo.reads_for(1)
        assert "from 60. New N is 30." in text
        assert "15 from 60" not in text


async def test_a_watcher_can_begin_a_game_of_their_own(autojump_clock) -> None:
    async with open_house() as place:
        anna, _ = await place.pair()
        cleo = await watcher(place, "Cleo")
        await cleo.types("practice first")
        await cleo.reads("* Your opponent is the house (medium).\n")
        await anna.reads("* Nobody is watching any more.\n")


async def test_watchers_are_carried_along_into_a_rematch_and_read_it_from_its_start(
    autojump_clock,
) -> None:
    async with open_house(number=4) as place:
        anna, ben = await place.pair()
        cleo = await watcher(place, "Cleo")
        await anna.types("2")
        await cleo.reads(OVER)
        await anna.types("rematch")
        await ben.types("rematch")
        await cleo.reads("* They play again.\n* Ben against Anna: Divisor Duel from 4.\n")
        await cleo.reads("* Player 1 is Ben.\n")
        for person in (anna, ben):
            await person.reads("(sides swapped).\n")
            await person.reads("* 1 person is watching.\n")
        text = await cleo.reads_for(1)
        assert text.startswith("Game Start! Current Number (N): 4\n\nPlayer 1's turn.\n")
        await ben.types("2")
        await cleo.reads("Enter your chosen divisor: 2\nSubtracting 2 from 4.")
        await cleo.reads(OVER)


async def test_whoever_comes_between_two_duels_reads_the_last_one_and_how_it_ended(
    autojump_clock,
) -> None:
    async with open_house(best_of=3, turn_seconds=0) as place:
        anna, ben = await place.pair()
        early = await watcher(place, "Early")
        await anna.types("15")
        await ben.types("resign")
        await early.reads("* The score: Anna 1, Ben 0.\n")
        late = await watcher(place, "Late")
        await late.reads("* The score: Anna 1, Ben 0.\n")
        score = "* The score: Anna 1, Ben 0.\n"
        assert "* Player 1 is Anna. " in late.screen
        assert "* Player 2 has left the duel (resigned). Player 1 wins!\n" in seen(late, score)
        assert seen(early, score) == seen(late, score)
        for person in (early, late):
            await person.reads("Game Start! Current Number (N): 60\n")


async def test_a_duel_that_ended_by_the_clock_is_retold_so(autojump_clock) -> None:
    async with open_house(best_of=3) as place:
        anna, _ = await place.pair()
        await anna.reads("The next duel begins")
        late = await watcher(place, "Late")
        await late.reads(
            "* Player 1 ran out of time. Player 2 wins!\n* The score: Anna 0, Ben 1.\n"
        )


# Watching never slows a duel.


async def test_a_watcher_who_never_reads_is_dropped_and_the_duel_goes_on(autojump_clock) -> None:
    async with open_house(talk="free", turn_seconds=0, outbox_bytes=4096) as place:
        anna, ben = await place.pair()
        ours, theirs = socket.socketpair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        deaf = await place.comes((ours, theirs)).is_named("Deaf")
        await deaf.types("watch Anna")
        await anna.reads("* 1 person is watching.\n")
        for _ in range(200):
            await anna.types("say " + "x" * 400)
            await anna.reads("You say: ")
            await ben.reads("Anna says: ")
        assert "* Nobody is watching any more.\n" in anna.screen
        began = trio.current_time()
        await anna.types("15")
        await ben.reads("Enter your chosen divisor: 15\n")
        assert trio.current_time() == began


async def test_whoever_watches_is_not_pulled_away_by_an_opponent(autojump_clock) -> None:
    async with open_house() as place:
        await place.pair()
        teacher = await place.comes_as("Smith")
        await teacher.types("watch Anna")
        await teacher.reads("* While you watch, you are not looking for an opponent.\n")
        await place.comes_as("Dora")
        assert "Your opponent" not in await teacher.reads_for(1)
