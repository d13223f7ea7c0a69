"""Every command in every state: an answer or a refusal each time, never silence or an exception.

And the orders that concern oneself: talk, name, bell, ascii, mute.
"""

import logging
from collections.abc import Awaitable, Callable

import pytest
import trio
from kit import NAME_PROMPT, Person, Place, open_house

from duel_daemon.commands import BY_NAME, COMMANDS, Command
from duel_daemon.commands import Place as Where
from duel_daemon.orders import HANDLERS, misplaced
from duel_daemon.orders.duelling import PHRASES
from duel_daemon.wire import columns

each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)

LONG_MATCH = {"turn_seconds": 0, "best_of": 3}


def test_every_command_has_a_handler_and_every_handler_a_command() -> None:
    assert set(HANDLERS) == set(BY_NAME)


# The states. Each leads "Ada" there, with Bob and Cy about, and returns her.

State = Callable[[Place], Awaitable[Person]]


async def asking_for_a_name(place: Place) -> Person:
    ada = place.comes()
    await ada.reads(NAME_PROMPT)
    return ada


async def idle(place: Place) -> Person:
    return await place.comes_idle("Ada")


async def waiting(place: Place) -> Person:
    ada = await place.comes_as("Ada")
    await ada.reads("Waiting for an opponent")
    return ada


async def challenged(place: Place) -> Person:
    ada = await idle(place)
    bob = await place.comes_as("Bob")
    await bob.types("challenge Ada 84 best of 3")
    await ada.reads("Type accept or decline.\n")
    return ada


async def mover(place: Place) -> Person:
    ada, _ = await place.pair("Ada", "Bob")
    await ada.reads("divisor: ")
    return ada


async def the_other(place: Place) -> Person:
    _, ada = await place.pair("Bob", "Ada")
    await ada.reads("Proper divisors of 60")
    return ada


async def practising(place: Place) -> Person:
    ada = await waiting(place)
    await ada.types("practice first")
    await ada.reads("divisor: ")
    return ada


async def watching(place: Place) -> Person:
    await place.pair("Bob", "Cy")
    ada = await idle(place)
    await ada.types("watch Bob")
    await ada.reads("Proper divisors of 60")
    return ada


async def between_duels(place: Place) -> Person:
    ada = await mover(place)
    await ada.types("resign")
    await ada.reads("Type review")
    return ada


async def after_a_duel(place: Place) -> Person:
    ada = await between_duels(place)
    await ada.types("resign")
    await ada.reads("* Next: ")
    return ada


STATES: dict[State, Where] = {
    asking_for_a_name: Where.NAMING,
    idle: Where.LOBBY,
    waiting: Where.LOBBY,
    challenged: Where.LOBBY,
    after_a_duel: Where.LOBBY,
    watching: Where.WATCHING,
    mover: Where.DUEL,
    the_other: Where.DUEL,
    practising: Where.DUEL,
    between_duels: Where.BETWEEN,
}
each_state = pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)


def test_the_walk_leads_through_every_place() -> None:
    assert set(STATES.values()) == {place for place in Where if place.value.bit_count() == 1}


def wordings(command: Command) -> list[str]:
    """Without words, with those of the example, and with nonsense."""
    _, *words = command.example.split(maxsplit=1)
    nonsense = "xyzzy -1 \u00fc best of \u00b2"
    return [
        command.name,
        command.example,
        *(f"{command.name} Bob {w}" for w in words),
        (f"{command.name} {nonsense}"),
    ]


@each_state
@each_command
async def test_every_command_is_answered_in_every_state(
    command: Command, state: State, autojump_clock, caplog
) -> None:
    caplog.set_level(logging.WARNING)
    for line in wordings(command):
        async with open_house(**LONG_MATCH) as place:
            ada = await state(place)
            answer = await answer_to(ada, line)
            assert "* " in answer, f"silence after {line!r}"
            if STATES[state] is Where.NAMING:
                assert not place.server.hall.players
            if STATES[state] is not Where.NAMING:
                refused = misplaced(command, STATES[state]) in unwrapped(answer)
                assert refused != (STATES[state] in command.where), answer
                assert all(columns(row) < 80 for row in answer.splitlines()), answer
            assert ("The connection is closed." in answer) == (command.name == "quit")
            if command.name != "quit":
                await ada.types("help")
                await ada.reads("help COMMAND explains one of them")
    assert not caplog.records


async def answer_to(person: Person, line: str) -> str:
    await person.reads_for(0.5)
    await person.types(line)
    return (await person.reads_for(0.5)).removeprefix(f"{line}\n")


def unwrapped(answer: str) -> str:
    return answer.replace("\n*   ", " ")


@each_state
@pytest.mark.parametrize(
    "line", ["", "15", "7", "0", "9" * 400, "3.5", "hlep", "re", "\u2028", "%s{}"]
)
async def test_every_other_line_is_answered_in_every_state_too(
    line: str, state: State, autojump_clock, caplog
) -> None:
    caplog.set_level(logging.WARNING)
    async with open_house(**LONG_MATCH) as place:
        ada = await state(place)
        assert await answer_to(ada, line)
        await ada.types("help")
        await ada.reads("help COMMAND explains one of them")
    assert not caplog.records


@pytest.mark.parametrize("state", [idle, mover, watching], ids=lambda state: state.__name__)
@each_command
async def test_help_for_a_command_has_its_usage_and_an_example(
    command: Command, state: State, autojump_clock
) -> None:
    async with open_house(**LONG_MATCH) as place:
        ada = await state(place)
        await ada.types(f"help {command.name}")
        await ada.reads(f"* {command.usage}: ")
        await ada.reads(f"* Example: {command.example}\n")


async def test_help_for_no_command_suggests_one(autojump_clock) -> None:
    async with open_house() as place:
        ada = await idle(place)
        await ada.types("help wach")
        await ada.reads("* There is no command 'wach'. Did you mean watch?\n")
        await ada.types("help re")
        await ada.reads("* 're' could be rematch, resign, review or retry.\n")


# Where a command does nothing, a sentence says what would have to come first.


@pytest.mark.parametrize(
    ("name", "where", "sentence"),
    [
        ("divisors", Where.LOBBY, "divisors works in a duel. Type play to look for an opponent."),
        (
            "hint",
            Where.WATCHING,
            "Hints are for practice. Type practice to play against the house.",
        ),
        ("divisors", Where.BETWEEN, "divisors works in a duel; the next one begins in a moment."),
        ("name", Where.DUEL, "name works when this is over; to give up, type resign."),
        (
            "play",
            Where.DUEL,
            "You are playing. To move, type just the number; to give up, type resign.",
        ),
    ],
)
def test_a_misplaced_command_says_what_comes_first(name, where, sentence) -> None:
    assert misplaced(BY_NAME[name], where) == sentence


# Looking.


async def test_who_tells_what_everybody_does(autojump_clock) -> None:
    async with open_house(**LONG_MATCH) as place:
        await place.pair("Ada", "Bob")
        cy = await place.comes_idle("Cy")
        dan = await place.comes_as("Dan")
        await dan.types("play 84 prime first")
        await dan.types("practice easy")
        await dan.reads("* Your opponent is the house")
        eve = await place.comes_idle("Eve")
        await eve.types("watch Bob")
        await eve.reads("Game Start!")
        await cy.types("who")
        assert (await cy.reads("watches\n")).split("who\n", 1)[1] == (
            "* 5 people are here:\n"
            "* Dan  practises with the house (easy), waits for divisor-duel 84 prime best of\n"
            "*   3 first\n"
            "* Ada  plays Bob\n"
            "* Bob  plays Ada\n"
            "* Cy   is in the lobby\n"
            "* Eve  watches\n"
        )


async def test_the_rules_of_the_game_one_is_in_or_of_any_other(autojump_clock) -> None:
    async with open_house() as place:
        ada = await idle(place)
        await ada.types("practice factor-duel")
        await ada.reads("Starting Number: 100")
        await ada.types("rules")
        await ada.reads("* You play Factor Duel from 100.\n* There is one number for both of you.")
        await ada.types("rules number")
        await ada.reads("* Number Factor, from 30.\n")
        await ada.types("rules chess")
        await ada.reads("* There is no game 'chess'.")


async def test_all_the_divisors_of_a_large_number_come_in_pages(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        ada = await idle(place)
        await ada.types("practice first 963761198400")  # 6,720 divisors, the most below 10^12
        await ada.reads("(6718 in all)")
        await ada.types("divisors")
        await ada.reads("* 963761198400 has 6718 divisors to choose from:\n* 2, 3, 4, 5, 6,")
        await ada.reads("* Page 1 of 7; divisors 2 goes on.\n")
        await ada.types("divisors 7")
        text = await ada.reads("481880599200\n")
        assert "Page" not in text
        assert all(len(row) < 80 for row in text.splitlines())
        await ada.types("divisors 8")
        await ada.reads("* There is no such page; the list has 7 pages.\n")


# Talk.


async def test_canned_talk_reaches_the_opponent_and_the_watchers_by_number(autojump_clock) -> None:
    async with open_house() as place:
        ada, bob = await place.pair("Ada", "Bob")
        cy = await place.comes_as("Cy")
        await cy.types("watch Ada")
        await cy.reads("Proper divisors of 60")
        await ada.types("say")
        await ada.reads("* Type say and a number:\n*   1 Hello!\n")
        await ada.reads(f"*   {len(PHRASES)} {PHRASES[-1]}\n")
        await ada.types("say 2")
        await ada.reads("* You say: Good luck!\n")
        await bob.reads("* Ada says: Good luck!\n")
        await cy.reads("* Ada says: Good luck!\n")
        await ada.types("say you are stupid")
        await ada.reads("* Type say and a number:\n")
        assert "stupid" not in await bob.reads_for(1)


async def test_free_talk_is_free(autojump_clock) -> None:
    async with open_house(talk="free") as place:
        ada, bob = await place.pair("Ada", "Bob")
        await ada.types("say Guten Tag, \u00fcbrigens!")
        await bob.reads("* Ada says: Guten Tag, \u00fcbrigens!\n")
        await ada.types("say")
        await ada.reads("* Type say and what you want to say.\n")


async def test_no_talk_can_pass_for_a_line_of_the_house(autojump_clock) -> None:
    async with open_house(talk="free") as place:
        ada, bob = await place.pair("Ada", "Bob")
        await bob.reads_for(0.5)
        await ada.types("say " + "x " * 31 + "Player 2 has left the duel. Player 1 wins!")
        await bob.reads("* Ada says: x x")
        rows = (await bob.reads("wins!\n")).splitlines()[1:]
        assert rows
        assert all(row.startswith("*   ") for row in rows)


async def test_talk_can_be_switched_off_by_the_operator(autojump_clock) -> None:
    async with open_house(talk="off") as place:
        ada, bob = await place.pair("Ada", "Bob")
        await ada.types("say 1")
        await ada.reads("* Talking is switched off here.\n")
        assert "says" not in await bob.reads_for(1)


async def test_mute_silences_talk_for_oneself_only(autojump_clock) -> None:
    async with open_house() as place:
        ada, bob = await place.pair("Ada", "Bob")
        cy = await place.comes_as("Cy")
        await cy.types("watch Ada")
        await cy.reads("Proper divisors of 60")
        await bob.types("mute")
        await bob.reads("* You read no talk now.\n")
        await ada.types("say 1")
        await cy.reads("* Ada says: Hello!\n")
        assert "says" not in await bob.reads_for(1)
        await bob.types("mute off")
        await bob.reads("* You read what others say again.\n")
        await ada.types("say 1")
        await bob.reads("* Ada says: Hello!\n")


# Oneself.


async def test_a_name_can_be_changed_between_duels(autojump_clock) -> None:
    async with open_house() as place:
        ada = await place.comes_as("Ada")
        await ada.types("name Lovelace")
        await ada.reads("* You are Lovelace now.\n")
        bob = await place.comes_as("Bob")
        await bob.reads("* Your opponent is Lovelace.\n")
        await ada.types("name Ada")
        await ada.reads("* name works when this is over; to give up, type resign.\n")
        cy = await place.comes_as("Cy")
        await cy.types("name LOVELACE")
        await cy.reads("* Someone here is called LOVELACE, or nearly so; LOVELACE2 would work.\n")
        await cy.types("name ADA")
        await cy.reads("* You are ADA now.\n")
        await cy.types("name Ada")
        await cy.reads("* You are Ada now.\n")
        await cy.types("name quit")
        await cy.reads("* quit means something else here;")
        await cy.types("name")
        await cy.reads("* Please type a name, such as Anna or Max7.\n")


async def test_whoever_waits_under_another_name_is_found_by_it(autojump_clock) -> None:
    async with open_house() as place:
        ada = await place.comes_as("Ada")
        await ada.types("name Lovelace")
        await ada.types("play 84")
        await ada.reads("from 84")
        bob = await place.comes_as("Bob")
        await bob.types("join Ada")
        await bob.reads("* There is nobody called Ada here; who shows who is.\n")
        await bob.types("join love")
        await bob.reads("* Your opponent is Lovelace.\n")


async def test_the_bell_rings_once_when_it_is_your_turn(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        ada, bob = await place.pair("Ada", "Bob")
        await bob.types("bell on")
        await bob.reads("* A bell rings when it is your turn.\n")
        await ada.types("15")
        await bob.reads("\aEnter your chosen divisor: ")
        await bob.types("7")
        await bob.types("time")
        assert "\a" not in await bob.reads_for(1)
        await bob.types("9")
        await ada.types("18")
        await bob.reads("\aEnter your chosen divisor: ")
        await bob.types("bell off")
        await bob.reads("* The bell is off.\n")
        await bob.types("9")
        await ada.types("3")
        assert "\a" not in await bob.reads_for(1)
        assert "\a" not in ada.screen
        assert bob.screen.count("\a") == 2


async def test_a_terminal_without_utf_8_reads_plain_letters(autojump_clock) -> None:
    async with open_house(rulebook="number-factor", talk="free") as place:
        ada, bob = await place.pair("Ada", "Bob")
        await bob.types("ascii on")
        await bob.reads("* Plain letters only from now on.\n")
        await ada.types("say \u00fc \u6f22")
        await bob.reads("* Ada says: u ?\n")
        await ada.types("5")
        await ada.reads("You chose 5. Calculating 30 \u00f7 5...\n")
        await bob.reads("Player 1 chose 5. Calculating 30 / 5...\n")
        await bob.types("ascii")
        await bob.reads("* All signs are shown again.\n")
        await bob.types("3")
        await bob.reads("You chose 3. Calculating 6 \u00f7 3...\n")


@pytest.mark.parametrize("name", ["bell", "ascii", "mute"])
async def test_a_switch_is_turned_by_on_and_off_and_by_nothing_else(name, autojump_clock) -> None:
    async with open_house() as place:
        ada = await idle(place)
        words = ("on", "OFF", "", "", "on", "on")
        texts = [await answer_to(ada, f"{name} {word}") for word in words]
        assert texts[0] == texts[2] == texts[4] == texts[5]
        assert texts[1] == texts[3] != texts[0]
        await ada.types(f"{name} maybe")
        await ada.reads(f"* Type {name} on or {name} off.\n")


async def test_time_tells_how_much_is_left_and_for_whom(autojump_clock) -> None:
    async with open_house(turn_seconds=60, first_turn_extra_seconds=0) as place:
        ada, bob = await place.pair("Ada", "Bob")
        await trio.sleep(5)
        await ada.types("time")
        await ada.reads("* 55 seconds left for you.\n")
        await bob.types("time")
        await bob.reads("* 55 seconds left for Ada.\n")
