"""How two come to a game, and what is more than one duel: matches, rematches, mirror matches."""

import contextlib
import random
import socket
from collections.abc import AsyncIterator

import attrs
import pytest
import trio
from kit import PROMPT, QUIET, Person, Place, open_house

from duel_daemon.listening import listen
from duel_daemon.matchmaker import ASKED_SECONDS, ASKED_TIMES
from duel_daemon.server import Server
from duel_daemon.settings import Settings
from duel_daemon.table import PAUSE_SECONDS


@contextlib.asynccontextmanager
async def open_port(**settings: object) -> AsyncIterator[int]:
    """The same daemon behind a real port."""
    chosen = Settings(**{"first_turn": "first-come", **QUIET, **settings})  # type: ignore[arg-type]
    (listener,) = listeners = listen(["127.0.0.1"], 0)
    server = Server(chosen, listeners, random.Random(7))
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        yield listener.getsockname()[1]
        server.stop()


@contextlib.asynccontextmanager
async def comes_by_tcp(port: int, name: str) -> AsyncIterator[Person]:
    with trio.socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        await sock.connect(("127.0.0.1", port))
        yield await Person(sock).is_named(name)


async def move(mover: Person, other: Person, divisor: int, prompt: str = PROMPT) -> None:
    await mover.reads(prompt)
    await mover.types(str(divisor))
    await other.reads(f"{prompt}{divisor}\n")


async def win_from_four(winner: Person, loser: Person) -> None:
    """At 4 whoever is Player 1 takes 2 and has won."""
    await move(winner, loser, 2)
    await winner.reads("Player 1 wins!\n")
    await loser.reads("Player 1 wins!\n")


async def both_read(one: Person, two: Person, text: str) -> None:
    await one.reads(text)
    await two.reads(text)


# Best of five.


async def test_a_best_of_five_has_a_score_a_pause_and_an_alternating_first_turn(
    autojump_clock,
) -> None:
    async with open_house(best_of=5, number=4) as place:
        anna, ben = await place.pair()
        for played, (score, first) in enumerate(
            [
                ("Anna 1, Ben 0", "Ben"),
                ("Anna 1, Ben 1", "Anna"),
                ("Anna 2, Ben 1", "Ben"),
                ("Anna 2, Ben 2", "Anna"),
            ]
        ):
            winner, loser = (ben, anna) if played % 2 else (anna, ben)
            await win_from_four(winner, loser)
            ended = trio.current_time()
            for person in (anna, ben):
                text = await person.reads(f"{first} is Player 1 then.\n")
                assert text.endswith(
                    f"* The score: {score}.\n"
                    f"* The next duel begins in 5 seconds; {first} is Player 1 then.\n"
                )
                await person.reads("* Type review to see how this one went.\n")
                await person.reads("Game Start! Current Number (N): 4\n")
            assert trio.current_time() == ended + PAUSE_SECONDS
        await win_from_four(anna, ben)
        await both_read(anna, ben, "* The score: Anna 3, Ben 2. Anna wins the match.\n* Next: ")


async def test_a_best_of_five_a_declined_challenge_and_a_rematch_over_tcp(monkeypatch) -> None:
    monkeypatch.setattr("duel_daemon.table.PAUSE_SECONDS", 0.01)
    async with (
        open_port(best_of=5, number=4) as port,
        comes_by_tcp(port, "Anna") as anna,
        comes_by_tcp(port, "Ben") as ben,
    ):
        for winner, loser in ((anna, ben), (ben, anna), (anna, ben), (ben, anna), (anna, ben)):
            await win_from_four(winner, loser)
        await both_read(anna, ben, "* The score: Anna 3, Ben 2. Anna wins the match.\n* Next: ")
        await ben.types("challenge Anna mirror 4")
        await anna.reads("Type accept or decline.\n")
        await anna.types("decline")
        await ben.reads("* Anna declines your challenge.\n")
        await anna.types("rematch")
        await ben.reads("* Anna asks for a rematch.")
        await ben.types("rematch")
        await ben.reads("* You are Player 1; you move first (sides swapped).\n")
        await win_from_four(ben, anna)
        await anna.types("quit")
        assert (await anna.reads_to_the_end()).endswith("The connection is closed.\n")
        await ben.reads("Ben wins the match.\n")


async def test_whoever_has_won_most_needs_no_more_duels(autojump_clock) -> None:
    async with open_house(best_of=3, number=4) as place:
        anna, ben = await place.pair()
        await win_from_four(anna, ben)
        await ben.reads(PROMPT)
        await ben.types("resign")
        await both_read(anna, ben, "* The score: Anna 2, Ben 0. Anna wins the match.\n")


@pytest.mark.parametrize("way", ["quit", "hangs up"])
async def test_leaving_in_a_duel_forfeits_the_match_and_says_so(way: str, autojump_clock) -> None:
    async with open_house(best_of=5, number=4) as place:
        anna, ben = await place.pair()
        await win_from_four(anna, ben)
        await ben.reads(PROMPT)
        if way == "quit":
            await anna.types("quit")
        else:
            anna.hangs_up()
        await ben.reads("* Player 2 has left the duel. Player 1 wins!\n* You won against Anna!\n")
        await ben.reads("Ben wins the match.\n* Next: play, ")
        await ben.types("review")
        await ben.reads("* Player 1 was Ben, Player 2 Anna.\n")


async def test_leaving_between_duels_forfeits_the_match_and_says_so(autojump_clock) -> None:
    async with open_house(best_of=5, number=4) as place:
        anna, ben = await place.pair()
        await win_from_four(anna, ben)
        await anna.reads("Type review")
        await anna.types("quit")
        await ben.reads("* Anna has left the match. Ben wins the match.\n* Next: play, ")


async def test_a_resigned_duel_is_not_a_resigned_match(autojump_clock) -> None:
    async with open_house(best_of=3, number=4) as place:
        anna, ben = await place.pair()
        await anna.reads(PROMPT)
        await anna.types("resign")
        await both_read(anna, ben, "* Player 1 has left the duel (resigned). Player 2 wins!\n")
        await both_read(anna, ben, "* The score: Anna 0, Ben 1.\n")
        await win_from_four(ben, anna)
        await both_read(anna, ben, "* The score: Anna 0, Ben 2. Ben wins the match.\n")


# Looking for an opponent.


async def test_two_offers_meet_when_they_are_the_same_game_only(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben, cleo = await place.lobby("Anna", "Ben", "Cleo")
        await anna.types("play factor-duel 84 best of 3")
        await anna.reads("* Waiting for an opponent: Factor Duel from 84, best of 3.\n")
        await ben.types("play factor-duel 84")
        await ben.reads("* Waiting for an opponent: Factor Duel from 84.\n")
        await cleo.types("play best of 3 84 factor")
        await cleo.reads("* Your opponent is Anna.\n")
        await anna.reads("* Your opponent is Cleo.\n")
        assert "opponent is" not in await ben.reads_for(1)


async def test_naming_the_usual_number_is_the_usual_game(autojump_clock) -> None:
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        (ben,) = await lobby_beside(place, anna, "Ben")
        await ben.types("play 60")
        await both_read(anna, ben, "* Your opponent is")


async def lobby_beside(place: Place, waiting: Person, *names: str) -> list[Person]:
    """More people in the lobby while somebody waits for the usual game: they come idle."""
    await waiting.types("play 99")
    await waiting.reads("from 99")
    people = await place.lobby(*names)
    await waiting.types("play")
    await waiting.reads("from 60")
    return people


async def test_looking_twice_for_the_same_keeps_the_place(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben, cleo = await place.lobby("Anna", "Ben", "Cleo")
        await anna.types("play 84")
        await anna.reads("* Waiting for an opponent: Divisor Duel from 84.\n")
        await anna.types("play 84")
        await anna.reads("* You are waiting for that already: Divisor Duel from 84.\n")
        await ben.types("play 85")
        await ben.reads("Waiting")
        await cleo.types("play 84")
        await cleo.reads("* Your opponent is Anna.\n")


async def test_stop_is_no_longer_looking(autojump_clock) -> None:
    async with open_house() as place:
        (anna,) = await place.lobby("Anna")
        ben = await place.comes_as("Ben")
        await ben.reads("* Waiting for an opponent")
        await anna.types("stop")
        await anna.reads("* You are not looking for an opponent.\n")


async def test_an_offer_is_listed_and_can_be_joined(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben, cleo = await place.lobby("Anna", "Ben", "Cleo")
        await anna.types("play number-factor 84 first")
        await anna.reads("* Waiting for an opponent: Number Factor from 84; you move first.\n")
        await ben.types("who")
        await ben.reads("* Anna  waits for number-factor 84 first\n")
        await ben.types("join Cleo")
        await ben.reads("* Cleo is not looking for an opponent. Try: challenge Cleo\n")
        await ben.types("join")
        await ben.reads("* With whom? Type the name, too; who shows who is here.\n")
        await ben.types("join ben")
        await ben.reads("* That is you.\n")
        await ben.types("join anna")
        await ben.reads(
            "* Your opponent is Anna.\n* You are Player 2; Anna moves first (as Anna asked)."
        )
        await cleo.types("join Anna")
        await cleo.reads("* Anna is not looking for an opponent.")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("61", "* 61 is a prime number, so there is nothing to play. Try 62.\n"),
        ("odd 64", "* 64 has no odd divisor to choose, so there is nothing to play. Try 65.\n"),
        ("3", "* 3 is too small, so there is nothing to play. Try 4.\n"),
    ],
)
async def test_a_game_without_a_move_is_refused_with_one_nearby(
    words: str, answer: str, autojump_clock
) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        for order in ("play", "challenge Ben", "practice"):
            await anna.types(f"{order} {words}")
            assert (await anna.reads_for(1)).endswith(answer)
        assert await ben.reads_for(1) == ""


async def test_the_coin_decides_who_moves_first_and_both_read_that_it_did(autojump_clock) -> None:
    firsts = set()
    async with open_house(first_turn="random") as place:
        for number in range(12):
            one, two = await place.pair(f"Anna-{number}a", f"Ben-{number}b")
            text = await one.reads("(the coin decided).\n")
            await two.reads("(the coin decided).\n")
            firsts.add("you move first" in text)
    assert firsts == {True, False}


@pytest.mark.parametrize("first_turn", ["random", "first-come"])
async def test_whoever_asks_for_the_first_turn_gets_it(first_turn: str, autojump_clock) -> None:
    async with open_house(first_turn=first_turn) as place:
        for number in range(8):
            anna, ben = await place.lobby(f"Anna-{number}a", f"Ben-{number}b")
            await anna.types("play 84")
            await anna.reads("Waiting")
            await ben.types("play first 84")
            await ben.reads("* You are Player 1; you move first (as you asked).\n")
            await anna.reads(
                f"* You are Player 2; Ben-{number}b moves first (as Ben-{number}b asked).\n"
            )


async def test_two_who_both_want_to_begin_do_not_meet(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("play first")
        await anna.reads("Waiting")
        await ben.types("play first")
        await ben.reads("* Waiting for an opponent: Divisor Duel from 60; you move first.\n")


# Challenges.


async def test_a_challenge_with_terms_is_read_by_both_and_accepted(autojump_clock) -> None:
    async with open_house(first_turn="random") as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge ben even best of 3 72 first")
        await anna.reads(
            "* You challenge Ben: Divisor Duel from 72, only even divisors, best of 3; you\n"
            "*   move first.\n"
        )
        await ben.reads(
            "* Anna challenges you: Divisor Duel from 72, only even divisors, best of 3;\n"
            "*   Anna moves first.\n"
            "* Type accept or decline.\n"
        )
        await ben.types("accept")
        await ben.reads("* You are Player 2; Anna moves first (as Anna asked).\n")
        await anna.reads(
            "* Divisor Duel from 72, only even divisors, best of 3; 60 seconds a turn.\n"
        )
        await anna.reads("Even proper divisors of 72: 2,4,6,8,12,18,24,36\n")


async def test_a_challenge_without_first_leaves_it_to_the_coin(autojump_clock) -> None:
    async with open_house(first_turn="random") as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben")
        await both_read(anna, ben, "Divisor Duel from 60; the coin decides who moves first.\n")
        await ben.types("accept anna")
        await both_read(anna, ben, "(the coin decided).\n")


async def test_who_moves_first_can_be_set_anew_for_the_next_pair(autojump_clock) -> None:
    async with open_house(first_turn="first-come") as place:
        anna, ben = await place.lobby("Anna", "Ben")
        place.server.reconfigure(attrs.evolve(place.server.settings, first_turn="random"))
        await anna.types("challenge Ben")
        await both_read(anna, ben, "Divisor Duel from 60; the coin decides who moves first.\n")
        await ben.types("accept")
        await both_read(anna, ben, "(the coin decided).\n")


async def test_a_declined_challenge_is_told_to_both_and_is_gone(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben")
        await ben.reads("Type accept or decline.\n")
        await ben.types("decline")
        await ben.reads("* You decline the challenge of Anna.\n")
        await anna.reads("* Ben declines your challenge.\n")
        await ben.types("accept")
        await ben.reads("* Nobody has challenged you.\n")
        await anna.types("withdraw")
        await anna.reads("* You have not challenged anybody.\n")


async def test_a_withdrawn_challenge_cannot_be_accepted(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben")
        await anna.types("withdraw")
        await anna.reads("* You have taken back your challenge to Ben.\n")
        await ben.reads("* Anna has taken the challenge back.\n")
        await ben.types("accept Anna")
        await ben.reads("* They have not asked you for a game.\n")


ENOUGH = "* You have asked 4 times in a minute. Ask again in "


async def test_nobody_is_flooded_with_challenges_that_are_taken_back(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        began = trio.current_time()
        for _ in range(100):
            await anna.types("challenge Ben")
            await trio.sleep(0.5)
            await anna.types("withdraw")
            await trio.sleep(0.5)
        took = trio.current_time() - began
        text = await ben.reads_for(0.1)
        assert text.count("Anna challenges you") == text.count("Anna has taken") == 2 * ASKED_TIMES
        assert ASKED_SECONDS < took < 2 * ASKED_SECONDS


async def test_who_asks_too_often_is_told_when_to_ask_again(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben, cleo = await place.lobby("Anna", "Ben", "Cleo")
        for name in ("Ben", "Cleo", "Ben", "Cleo"):  # each takes the one before back
            await anna.types(f"challenge {name}")
            await anna.reads(f"* You challenge {name}: ")
        await anna.types("challenge Ben")
        await anna.reads(f"{ENOUGH}60 seconds.\n")
        await trio.sleep(ASKED_SECONDS - 1.5)
        await anna.types("challenge Ben")
        await anna.reads(f"{ENOUGH}2 seconds.\n")
        await trio.sleep(1)
        await anna.types("challenge Ben")
        await anna.reads(f"{ENOUGH}1 second.\n")
        assert (await ben.reads_for(0.1)).endswith("* Anna has taken the challenge back.\n")
        await ben.types("challenge Anna")  # others can ask as before, and Cleo can still accept
        await anna.reads("* Ben challenges you: ")
        await cleo.types("accept")
        await both_read(anna, cleo, "* Your opponent is ")
        await ben.reads("* Anna plays with somebody else now.\n")


async def test_a_challenge_may_be_made_again_after_a_while(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        for _ in range(ASKED_TIMES):
            await anna.types("challenge Ben")
            await ben.reads("Type accept or decline.\n")
            await ben.types("decline")
            await anna.reads("* Ben declines your challenge.\n")
        await anna.types("challenge Ben")
        await anna.reads(ENOUGH)
        await trio.sleep(ASKED_SECONDS)
        await anna.types("challenge Ben")
        await ben.reads("Type accept or decline.\n")


async def test_a_new_challenge_replaces_the_old_one(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben, cleo = await place.lobby("Anna", "Ben", "Cleo")
        await anna.types("challenge Ben")
        await ben.reads("Type accept or decline.\n")
        await anna.types("challenge Cleo 84")
        await ben.reads("* Anna has taken the challenge back.\n")
        await anna.reads("* You have taken back your challenge to Ben.\n* You challenge Cleo: ")
        await anna.types("challenge Cleo 85")
        await cleo.reads("from 85; ")
        await cleo.types("accept")
        await both_read(anna, cleo, "* Divisor Duel from 85; 60 seconds a turn.\n")


async def test_with_two_challengers_a_name_must_be_said(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben, cleo = await place.lobby("Anna", "Ben", "Cleo")
        await anna.types("challenge Cleo")
        await cleo.reads("Type accept or decline.\n")
        await ben.types("challenge Cleo 84")
        await cleo.reads("Type accept or decline.\n")
        for order in ("accept", "decline"):
            await cleo.types(order)
            await cleo.reads("* Whom do you mean: Anna or Ben? Type the name, too.\n")
        await cleo.types("accept Ben")
        await cleo.reads("* Your opponent is Ben.\n")
        await anna.reads("* Cleo plays with somebody else now.\n")


async def test_a_challenger_who_leaves_takes_the_challenge_along(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben")
        await ben.reads("Type accept or decline.\n")
        await anna.types("quit")
        await ben.reads("* Anna has left.\n")
        await ben.types("accept")
        await ben.reads("* Nobody has challenged you.\n")


async def test_a_challenged_player_who_leaves_is_told_to_the_challenger(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben")
        await ben.reads("Type accept or decline.\n")
        ben.hangs_up()
        await anna.reads("* Ben has left.\n")


async def test_somebody_in_a_duel_is_not_disturbed_by_a_challenge(autojump_clock) -> None:
    async with open_house() as place:
        _, ben = await place.pair()
        (cleo,) = await place.lobby("Cleo")
        await ben.reads_for(1)
        await cleo.types("challenge Ben")
        await cleo.reads("* Ben is in a duel. Ask again later, or type watch Ben.\n")
        assert await ben.reads_for(1) == ""


async def test_two_who_challenge_each_other_to_the_same_have_agreed(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben 84")
        await ben.reads("Type accept or decline.\n")
        await ben.types("challenge Anna 85")
        await anna.reads("Ben challenges you: Divisor Duel from 85")
        await ben.types("challenge Anna 84")
        await both_read(anna, ben, "* Your opponent is")


async def test_a_challenge_to_nobody_is_answered(autojump_clock) -> None:
    async with open_house() as place:
        (anna,) = await place.lobby("Anna")
        await anna.types("challenge Zoe 84")
        await anna.reads("* There is nobody called Zoe here; who shows who is.\n")
        await anna.types("challenge anna")
        await anna.reads("* That is you.\n")


# Rematches.


async def finished_duel(place: Place) -> tuple[Person, Person]:
    """Anna, Player 1, has won from 4."""
    anna, ben = await place.pair()
    await win_from_four(anna, ben)
    await both_read(anna, ben, "* Next: rematch, play, review")
    return anna, ben


@pytest.mark.parametrize("yes", ["rematch", "accept"])
async def test_a_rematch_is_the_same_game_with_sides_swapped(yes: str, autojump_clock) -> None:
    async with open_house(number=4) as place:
        anna, ben = await finished_duel(place)
        await anna.types("rematch")
        await anna.reads("* You ask Ben for a rematch.\n")
        await ben.reads("* Anna asks for a rematch. Type rematch or decline.\n")
        await anna.types("rematch")
        await anna.reads("* You have asked Ben; wait for the answer.\n")
        await ben.types(yes)
        await ben.reads("* You are Player 1; you move first (sides swapped).\n")
        await anna.reads("* You are Player 2; Ben moves first (sides swapped).\n")
        await win_from_four(ben, anna)


async def test_a_declined_rematch_is_told_once(autojump_clock) -> None:
    async with open_house(number=4) as place:
        anna, ben = await finished_duel(place)
        await anna.types("rematch")
        await ben.reads("Type rematch or decline.\n")
        await ben.types("decline")
        await ben.reads("* You decline the rematch with Anna.\n")
        await ben.types("decline")
        await ben.reads("* Nobody has challenged you.\n")
        await anna.reads("* Ben does not want a rematch.\n")
        assert "Ben" not in await anna.reads_for(1)


async def test_a_wish_for_a_rematch_can_be_taken_back(autojump_clock) -> None:
    async with open_house(number=4) as place:
        anna, ben = await finished_duel(place)
        await anna.types("rematch")
        await anna.types("withdraw")
        await anna.reads("* You no longer ask Ben for a rematch.\n")
        await ben.reads("* Anna no longer asks for a rematch.\n")
        await ben.types("rematch")
        await ben.reads("* You ask Anna for a rematch.\n")


async def test_nobody_is_flooded_with_wishes_for_a_rematch(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await finished_duel(place)
        for _ in range(20):
            await anna.types("rematch")
            await trio.sleep(0.5)
            await anna.types("withdraw")
            await trio.sleep(0.5)
        await anna.reads(ENOUGH)
        text = await ben.reads_for(0.1)
        assert text.count("Anna asks") == text.count("no longer asks") == ASKED_TIMES


async def test_whoever_is_answered_with_a_game_may_ask_as_often_as_they_like(
    autojump_clock,
) -> None:
    async with open_house() as place:
        anna, ben = await finished_duel(place)
        began = trio.current_time()
        for word in ("rematch", "challenge Ben") * (ASKED_TIMES + 1):
            await anna.types(word)
            await ben.reads("or decline.\n")
            await ben.types("accept")
            await both_read(anna, ben, "* Your opponent is ")
            await ben.types("resign")
            await both_read(anna, ben, "* Next: ")
        assert trio.current_time() < began + ASKED_SECONDS


async def test_no_rematch_with_somebody_who_is_gone_or_busy(autojump_clock) -> None:
    async with open_house(number=4) as place:
        (cleo,) = await place.lobby("Cleo")
        await cleo.types("rematch")
        await cleo.reads("* You have not played with anybody yet.")
        anna, ben = await finished_duel(place)
        await ben.types("play")
        await cleo.types("play")
        await cleo.reads("* Your opponent is Ben.\n")
        await anna.types("rematch")
        await anna.reads("* Ben plays with somebody else now.\n")
        await win_from_four(ben, cleo)
        await ben.reads("* Next: ")
        await anna.types("rematch")
        await anna.reads("* Ben has played again since. Try: challenge Ben\n")
        await ben.types("quit")
        await ben.reads("Goodbye!")
        await cleo.types("rematch")
        await cleo.reads("* Ben has left; type play to look for somebody else.\n")


async def test_a_rematch_takes_no_words(autojump_clock) -> None:
    async with open_house(number=4) as place:
        anna, _ = await finished_duel(place)
        await anna.types("rematch best of 3")
        await anna.reads(
            "* A rematch is the same game again; for another one there is challenge.\n"
        )
        assert not place.server.hall.matchmaker.rematches


async def test_another_game_takes_back_the_wish_for_a_rematch(autojump_clock) -> None:
    async with open_house(number=4) as place:
        (cleo,) = await place.lobby("Cleo")
        anna, ben = await finished_duel(place)
        await anna.types("rematch")
        await ben.reads("Type rematch or decline.\n")
        await ben.types("play")
        await cleo.types("play")
        await cleo.reads("* Your opponent is Ben.\n")
        await anna.reads("* Ben plays with somebody else now.\n")


async def test_practice_in_between_does_not_forget_the_opponent(autojump_clock) -> None:
    async with open_house(number=4) as place:
        anna, ben = await finished_duel(place)
        await anna.types("practice first")
        await anna.reads(PROMPT)
        await ben.types("rematch")
        await anna.reads("* Ben asks for a rematch. Type accept or decline.\n")
        await anna.types("2")
        await anna.reads("* Next: practice, ")
        await anna.types("rematch")
        await both_read(anna, ben, "(sides swapped).\n")


async def test_a_rematch_of_a_match_is_a_match(autojump_clock) -> None:
    async with open_house(number=4, best_of=3) as place:
        anna, ben = await place.pair()
        for _ in range(2):
            await anna.types("resign")
            await anna.reads("* Ben won this duel.\n")
            await trio.sleep(PAUSE_SECONDS + 1)
        await both_read(anna, ben, "* The score: Anna 0, Ben 2. Ben wins the match.\n")
        await ben.types("rematch")
        await anna.types("rematch")
        await both_read(anna, ben, "* Divisor Duel from 4, best of 3; 60 seconds a turn.\n")


# Mirror matches: the same number from both sides.


async def mirror(place: Place, words: str) -> tuple[Person, Person]:
    anna, ben = await place.lobby("Anna", "Ben")
    await anna.types(f"challenge Ben mirror first {words}")
    await ben.reads("mirror match (one number, a duel")
    await ben.types("accept")
    return anna, ben


async def test_a_mirror_match_is_won_by_winning_from_both_sides(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await mirror(place, "4")
        await win_from_four(anna, ben)
        await both_read(anna, ben, "* The score: Anna 1, Ben 0.\n")
        await ben.reads(PROMPT)
        await ben.types("resign")
        await both_read(anna, ben, "* The score: Anna 2, Ben 0. Anna wins the match.\n")


async def test_with_a_win_and_a_mistake_each_a_mirror_match_is_drawn(autojump_clock) -> None:
    """At 6 taking 3 wins at once; taking 2 leaves 4, and gives the win away."""
    async with open_house() as place:
        anna, ben = await mirror(place, "6")
        await move(anna, ben, 2)
        await move(ben, anna, 2)
        await both_read(anna, ben, "* The score: Anna 0, Ben 1.\n")
        await move(ben, anna, 2)
        await move(anna, ben, 2)
        await both_read(
            anna,
            ben,
            "* The score: Anna 1, Ben 1. The match is drawn (mistakes: Anna 1, Ben 1).\n",
        )


async def test_a_mirror_match_without_mistakes_is_drawn(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await mirror(place, "4")
        await win_from_four(anna, ben)
        await win_from_four(ben, anna)
        await both_read(
            anna,
            ben,
            "* The score: Anna 1, Ben 1. The match is drawn (mistakes: Anna 0, Ben 0).\n",
        )


async def test_fewer_mistakes_win_a_mirror_match(autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await mirror(place, "6")
        await move(anna, ben, 3)  # right
        await both_read(anna, ben, "* The score: Anna 1, Ben 0.\n")
        await move(ben, anna, 2)  # a mistake, which Anna does not see
        await anna.reads(PROMPT)
        await anna.types("resign")
        await both_read(
            anna,
            ben,
            "* The score: Anna 1, Ben 1. Anna wins the match (mistakes: Anna 0, Ben 1).\n",
        )


async def test_chance_picks_the_number_of_a_mirror_match_once(autojump_clock) -> None:
    async with open_house() as place:
        anna, _ = await mirror(place, "random")
        text = await anna.reads("Enter the divisor to subtract: ")
        await anna.types("resign")
        await anna.reads("Player 1 then.\n")
        again = await anna.reads("Proper divisors (excluding")
        number = text.split("Current number is ")[1].split(".")[0]
        assert f"Current number is {number}." in again


@pytest.mark.parametrize("way", ["quit", "hangs up"])
async def test_nobody_wins_a_mirror_match_by_leaving(way: str, autojump_clock) -> None:
    async with open_house() as place:
        anna, ben = await mirror(place, "4")
        await win_from_four(anna, ben)
        await ben.reads(PROMPT)
        if way == "quit":
            await anna.types("quit")
        else:
            anna.hangs_up()
        await ben.reads("Ben wins the match.\n")
