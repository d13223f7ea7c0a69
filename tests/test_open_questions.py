"""Challenges and rematches that wait for an answer: a restart answers none, and loses none."""

import pytest
from kit import Person, Place
from test_restarting import PROMPT, Lives, begin, lives

__all__ = ["lives"]  # a fixture

RESTARTED = "* The server was restarted. Nothing is lost.\n"
CHALLENGE = "* Anna challenges you: Number Factor from 30; Anna moves first.\n"
QUESTION = f"{CHALLENGE}* Type accept or decline.\n"
REMATCH = "* Anna asks for a rematch. Type rematch or decline.\n"

# The records as they came, and the fewest that lead to the same.
one_or_two_lives = pytest.mark.parametrize("more", [0, 1], ids=["once", "twice"])


async def restarts(lives: Lives, times: int, **settings: object) -> None:
    for _ in range(times):
        async with lives.life(managed=True, crash=True, **settings):
            pass


async def is_challenged(place: Place, *others: str) -> list[Person]:
    """Ben, by Anna."""
    anna, ben, *rest = await place.lobby("Anna", "Ben", *others)
    await anna.types("challenge Ben number-factor 30 first")
    await ben.reads(QUESTION)
    return [anna, ben, *rest]


async def is_asked_again(place: Place) -> tuple[Person, Person]:
    """Ben has given up, and Anna gives him another chance."""
    anna, ben = await begin(place)
    await ben.types("resign")
    for person in (anna, ben):
        await person.reads("* Recorded as duel 1.\n")
    await anna.types("rematch")
    await ben.reads(REMATCH)
    return anna, ben


async def told(person: Person) -> str:
    """What they read since the last restart."""
    return (await person.reads_for()).rpartition(RESTARTED)[2]


@one_or_two_lives
async def test_a_challenge_is_put_again_and_can_be_accepted(autojump_clock, lives, more) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await is_challenged(place)
    await restarts(lives, more)
    async with lives.life(managed=True):
        assert await told(ben) == QUESTION
        assert await told(anna) == ""
        await ben.types("accept")
        await ben.reads("* Your opponent is Anna.\n* You are Player 2; Anna moves first")
        await anna.reads("* Your opponent is Ben.\n")


@one_or_two_lives
async def test_a_rematch_is_put_again_and_can_be_agreed_on(autojump_clock, lives, more) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await is_asked_again(place)
    await restarts(lives, more)
    async with lives.life(managed=True):
        assert await told(ben) == REMATCH
        assert await told(anna) == ""
        await anna.types("rematch")
        await anna.reads("* You have asked Ben; wait for the answer.\n")
        await ben.types("rematch")
        await ben.reads("* You are Player 1; you move first (sides swapped).\n")


async def test_who_is_polite_when_stopping_loses_nothing_either(autojump_clock, lives) -> None:
    async with lives.life(managed=True) as place:
        _, ben = await is_asked_again(place)
        carl = await place.comes_idle("Carl")
        await carl.types("challenge Ben 30")
        await ben.reads("* Carl challenges you")
    async with lives.life(managed=True):
        challenge = "* Carl challenges you: Divisor Duel from 30; the challenger moves first.\n"
        assert await told(ben) == f"{challenge}* Type accept or decline.\n{REMATCH}"
        await ben.types("accept")
        await ben.reads("* Whom do you mean: Carl or Anna? Type the name, too.\n")
        await ben.types("accept Anna")
        await carl.reads("* Ben plays with somebody else now.\n")


async def test_names_may_have_changed_since(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await is_asked_again(place)
        await ben.types("challenge Anna 30")
        await anna.reads("* Ben challenges you")
        await ben.types("name Bert")
        await ben.reads("* You are Bert now.\n")
        await anna.types("name Ada")
        await anna.reads("* You are Ada now.\n")
    async with lives.life(managed=True):
        assert (await told(anna)).startswith("* Bert challenges you: Divisor Duel from 30;")
        assert await told(ben) == REMATCH.replace("Anna", "Ada")
        await anna.types("accept")
        await ben.reads("* Your opponent is Ada.\n")


async def test_whoever_practises_is_asked_again_too(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        _, ben = await is_asked_again(place)
        await ben.types("practice first")
        await ben.reads(PROMPT)
    async with lives.life(managed=True):
        await ben.reads("* Anna asks for a rematch. Type accept or decline.\n")
        await ben.types("accept")
        await ben.reads("* You leave the practice.\n* Your opponent is Anna.\n")


ANSWERS = {
    "withdrawn": ("Anna", "withdraw"),
    "declined": ("Ben", "decline"),
    "the asking one left": ("Anna", "quit"),
    "the asking one plays": ("Anna", "join Carl"),
    "the asked one plays": ("Ben", "join Carl"),
}


@pytest.mark.parametrize("is_rematch", [False, True], ids=["challenge", "rematch"])
@pytest.mark.parametrize(("who", "types"), ANSWERS.values(), ids=ANSWERS)
async def test_what_was_settled_is_not_open_again(
    autojump_clock, lives, who, types, is_rematch
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await (is_asked_again if is_rematch else is_challenged)(place)
        carl = await place.comes_as("Carl")
        await {"Anna": anna, "Ben": ben}[who].types(types)
        if types.startswith("join"):
            await carl.reads("* Your opponent is")
            await carl.types("quit")  # and everybody else is free again
            await carl.reads_to_the_end()
    async with lives.life(managed=True) as place:
        assert await told(ben) == ""
        await ben.types("accept")
        await ben.reads("* Nobody has challenged you.\n")
        assert not place.server.hall.matchmaker.rematches


async def test_who_hung_up_meanwhile_has_left(autojump_clock, lives) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await is_challenged(place)
    ben.hangs_up()
    async with lives.life(managed=True):
        assert await told(anna) == "* Ben has left.\n"


@pytest.mark.parametrize("is_rematch", [False, True], ids=["challenge", "rematch"])
@pytest.mark.parametrize("who", ["Anna", "Ben"])
async def test_nothing_is_open_with_somebody_whose_connection_was_not_kept(
    autojump_clock, lives, who, is_rematch
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await (is_asked_again if is_rematch else is_challenged)(place)
        ident = place.server.hall.find(who).peer.ident
    lives.descriptors.pop(ident).close()
    async with lives.life(managed=True) as place:
        if who == "Anna":
            assert await told(ben) == ""
            await ben.types("accept")
            await ben.reads("* Nobody has challenged you.\n")
        else:
            assert await told(anna) == ""
            await anna.types("withdraw")
            await anna.reads("* You have not challenged anybody.\n")
        assert not place.server.hall.matchmaker.rematches


async def test_a_game_that_came_to_nothing_overtakes_a_rematch_all_the_same(
    autojump_clock, lives
) -> None:
    async with lives.life(managed=True, crash=True) as place:
        anna, ben = await is_asked_again(place)
        await place.comes_as("Carl")
        await ben.types("join Carl")
        await anna.reads("* Ben plays with somebody else now.\n")
        hall = place.server.hall
        hall._abandon(hall.find("Ben").table)
    async with lives.life(managed=True) as place:
        await ben.types("accept")
        await ben.reads("* Nobody has challenged you.\n")
        assert not place.server.hall.matchmaker.rematches
