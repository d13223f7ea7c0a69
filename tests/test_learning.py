"""Practice, hints, review and retry, as a player meets them."""

import random
import re

import pytest
import trio
from kit import PROMPT, Person, open_house
from test_sage import allowed, brute_force

from duel_daemon.matchmaker import ASKED_SECONDS, ASKED_TIMES
from duel_daemon.opponents import Strength
from duel_daemon.review import Verdict
from duel_daemon.rulebooks import SHELF, RuleBook
from duel_daemon.survey import Restriction
from duel_daemon.table import PAUSE_SECONDS, READING_SECONDS

each_book = pytest.mark.parametrize("book", SHELF, ids=lambda book: book.slug)
each_strength = pytest.mark.parametrize("strength", Strength, ids=lambda s: s.value)


async def play_to_the_end(person: Person, rng: random.Random) -> str:
    """Choose at random from the divisors shown until the duel is over; what was read meanwhile."""
    text = await person.reads_for(0.1)
    while "* Next: " not in text:
        listed = re.findall(r"ivisors.*: ([0-9, ]+)\n", text)[-1]
        await person.types(rng.choice(re.split(", ?", listed)))
        text += await person.reads_for(0.1)
    return text


# Practice.


@each_strength
async def test_a_practice_duel_against_each_strength(strength: Strength, autojump_clock) -> None:
    async with open_house(number=12, turn_seconds=0) as place:
        anna = await place.comes_idle("Anna")
        await anna.types(f"practice {strength.value} first")
        await anna.reads(f"* Your opponent is the house ({strength.value}).\n")
        await anna.reads("* You are Player 1; you move first (practice).\n")
        await anna.reads("* Divisor Duel from 12; take all the time you like.\n")
        text = await play_to_the_end(anna, random.Random(1))
        assert f"You won against the house ({strength.value})!\n" in text or (
            f"The house ({strength.value}) won this duel.\n" in text
        )
        await anna.types("who")
        await anna.reads("* Anna  is in the lobby\n")


@each_book
async def test_the_perfect_house_wins_whatever_it_can(book: RuleBook, autojump_clock) -> None:
    """Against a random player who begins at a number that is lost."""
    truth = brute_force(book, Restriction.ANY)
    numbers = [n for n in range(4, 200) if book.is_playable(n, Restriction.ANY) and not truth[n]]
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_idle("Anna")
        for number in numbers[:10]:
            await anna.types(f"practice perfect {book.slug} {number} first")
            await anna.reads("* Your opponent is the house (perfect).\n")
            text = await play_to_the_end(anna, random.Random(number))
            assert "* The house (perfect) won this duel.\n" in text


async def test_practice_is_marked_everywhere(autojump_clock) -> None:
    async with open_house() as place:
        anna = await place.comes_idle("Anna")
        ben = await place.comes_idle("Ben")
        await anna.types("practice easy")
        await anna.reads("(practice).\n")
        await ben.types("who")
        await ben.reads("* Anna  practises with the house (easy)\n")
        await ben.types("duels")
        await ben.reads("against")
        await ben.reads("(practice)  divisor-duel 60")


async def test_practice_is_a_single_duel_even_where_matches_are_usual(autojump_clock) -> None:
    async with open_house(best_of=5) as place:
        anna = await place.comes_idle("Anna")
        await anna.types("practice first")
        await anna.reads("* Divisor Duel from 60; 60 seconds a turn.\n")
        await anna.types("resign")
        await anna.reads("* Next: practice, ")
        await anna.types("practice best of 3 first")
        await anna.reads("* Divisor Duel from 60, best of 3; 60 seconds a turn.\n")


async def test_a_strength_that_is_none_is_answered_with_those_there_are(autojump_clock) -> None:
    async with open_house() as place:
        anna = await place.comes_idle("Anna")
        await anna.types("practice impossible")
        await anna.reads("* There is no game 'impossible'. The games: divisor-duel,")
        await anna.reads("* The house plays easy, medium or perfect, as in: practice easy\n")
        await anna.types("practice easy 72 perfect")
        await anna.reads("* How strong is the house to be: easy or perfect?\n")
        await anna.types("practice 61")
        assert "The house plays" not in await anna.reads_for(1)


async def test_a_lonely_player_is_told_about_practice_once(autojump_clock) -> None:
    async with open_house() as place:
        began = trio.current_time()
        anna = await place.comes_as("Anna")
        await anna.reads(
            "* Nobody yet. Type practice to play against the house; you keep your place."
        )
        assert trio.current_time() == began + 30
        for order in ("play 84", "stop", "play"):
            await anna.types(order)
            assert "Nobody yet" not in await anna.reads_for(100)


async def test_the_thirty_seconds_are_those_of_the_waiting(autojump_clock) -> None:
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        await trio.sleep(20)
        await anna.types("stop")
        assert "Nobody yet" not in await anna.reads_for(100)
        await anna.types("play")
        assert "Nobody yet" not in await anna.reads_for(29)
        assert "Nobody yet" in await anna.reads_for(2)


@pytest.mark.parametrize("words", [("stop", "play"), ("practice", "resign")])
async def test_nobody_floods_who_practises_by_coming_and_going(words, autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        ben = await place.comes_as("Ben")
        for _ in range(20):
            for word in words:
                await ben.types(word)
                await trio.sleep(0.5)
        assert (await anna.reads_for(0.1)).count("Ben is here") == ASKED_TIMES
        await trio.sleep(ASKED_SECONDS)
        for word in words:
            await ben.types(word)
        await anna.reads("* Ben is here for the game you wait for.\n")
        await anna.types("accept")
        await anna.reads("* Your opponent is Ben.\n")
        await ben.types("quit")
        await anna.reads("Player 1 wins!\n")
        assert len(place.server.hall.matchmaker._called) == 0


async def test_a_practising_player_keeps_the_place_and_is_asked_when_an_opponent_comes(
    autojump_clock,
) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        ben = await place.comes_as("Ben")
        await ben.reads("* Waiting for an opponent: Divisor Duel from 60.\n")
        await anna.reads(
            "* Ben is here for the game you wait for.\n"
            "* Type accept to leave the practice and play, or decline.\n" + PROMPT
        )
        await anna.types("accept")
        await anna.reads("* You leave the practice.\n* Your opponent is Ben.\n")
        await anna.reads("* You are Player 1; you move first (first come, first move).\n")
        await ben.reads("* Your opponent is Anna.\n")


async def test_a_practising_player_may_decline_and_then_waits_no_longer(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        await anna.types("decline")
        await anna.reads("* Nobody has challenged you.\n")
        await place.comes_as("Ben")
        await anna.reads("Type accept")
        await anna.types("decline")
        await anna.reads("* You go on practising, and no longer look for an opponent.\n" + PROMPT)
        await anna.types("15")
        await anna.reads("Subtracting 15 from 60. New N is 45.\n")
        await place.comes_as("Cleo")
        assert "is here" not in await anna.reads_for(1)


async def test_who_waits_for_the_same_meets_when_the_practice_is_over(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        ben = await place.comes_as("Ben")
        await anna.reads("Type accept")
        await anna.types("resign")
        await anna.reads("* Next: practice, ")
        await anna.reads("* Your opponent is Ben.\n")
        await ben.reads("* Your opponent is Anna.\n")


async def test_after_practice_one_still_waits(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_as("Anna")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        await anna.types("resign")
        await anna.reads("* You are still waiting for an opponent: Divisor Duel from 60.\n")
        ben = await place.comes_as("Ben")
        await ben.reads("* Your opponent is Anna.\n")


async def test_a_practising_player_can_be_challenged_and_joined(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_idle("Anna")
        ben = await place.comes_idle("Ben")
        await anna.types("play 84")
        await anna.types("practice first")
        await anna.reads(PROMPT)
        await ben.types("join Anna")
        await anna.reads("* Ben challenges you: Divisor Duel from 84; ")
        await anna.types("decline")
        await ben.reads("* Anna declines your challenge.\n")
        await ben.types("challenge Anna 85")
        await anna.reads("* Ben challenges you: Divisor Duel from 85; ")
        await anna.types("accept")
        await ben.reads("* Divisor Duel from 85; take all the time you like.\n")


# Hints.


async def test_a_hint_is_a_nudge_first_and_then_a_move(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_idle("Anna")
        for _ in range(2):  # a new duel from the same number begins with the nudge again
            await anna.types("practice perfect 36 first")
            await anna.reads(PROMPT)
            await anna.types("hint")
            text = await anna.reads("* Type hint again for a move.\n")
            assert "* 36 is a winning number: it is even and has an odd divisor." in text
            assert "Try" not in text
            await anna.types("hint")
            await anna.reads("* Try 9.\n")
            await anna.types("9")
            await anna.reads("New N is 27.\n")
            await anna.reads(PROMPT)
            await anna.types("hint")
            await anna.reads("* Type hint again for a move.\n")
            await anna.types("resign")
            await anna.reads("* Next: ")


async def test_a_hint_at_a_lost_number_says_so(autojump_clock) -> None:
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_idle("Anna")
        await anna.types("practice perfect 15 first")
        await anna.reads(PROMPT)
        await anna.types("hint")
        await anna.reads("* 15 is a losing number: it is odd,")
        await anna.types("hint")
        await anna.reads("* Every move loses here; choose any and hope.\n")


async def test_there_are_no_hints_in_a_duel_with_somebody(autojump_clock) -> None:
    async with open_house() as place:
        anna, _ = await place.pair()
        await anna.types("hint")
        await anna.reads("* Hints are for practice; here you are on your own.\n")


# Review and retry.


async def test_there_is_nothing_to_review_before_a_duel(autojump_clock) -> None:
    async with open_house() as place:
        anna = await place.comes_idle("Anna")
        for order in ("review", "retry"):
            await anna.types(order)
            await anna.reads("* You have not finished a duel yet.\n")


async def test_review_tells_both_the_truth_about_every_move(autojump_clock) -> None:
    async with open_house(number=36) as place:
        anna, ben = await place.pair()
        for mover, divisor in ((anna, 18), (ben, 9), (anna, 3), (ben, 3)):
            await mover.reads(PROMPT)
            await mover.types(str(divisor))
        for person in (anna, ben):
            await person.reads("* Next: rematch, play, review (how you played), ")
            await person.types("review")
            text = await person.reads("with an odd divisor.\n")
            assert text.split("review\n", 1)[1] == (
                "* Player 1 was Anna, Player 2 Ben.\n"
                "* 1. Player 1: 36 - 18 = 18  gives the win away\n"
                "* 2. Player 2: 18 - 9 = 9    keeps the win\n"
                "* 3. Player 1: 9 - 3 = 6     every move loses\n"
                "* 4. Player 2: 6 - 3 = 3     keeps the win\n"
                "* Mistakes: Player 1 made 1, Player 2 made none.\n"
                "* First mistake: turn 1, Player 1. Better: 36 - 9 = 27.\n"
                "* 36 is a winning number: it is even and has an odd divisor. Take that away:\n"
                "* the rest is odd, and from an odd number any move leads back to an even one\n"
                "* with an odd divisor.\n"
            )
        assert "retry" not in await ben.reads_for(1)
        await anna.reads("* Type retry to play on from your first mistake, against the perfect")
        await ben.types("retry")
        await ben.reads("* You made no mistake in your last duel: there is nothing to retry.\n")
        await anna.types("retry")
        await anna.reads(
            "* Your opponent is the house (perfect).\n* You are Player 1; you move first"
        )
        await anna.reads("Proper divisors of 36: ")


async def test_review_between_two_duels_is_of_the_one_just_played(autojump_clock) -> None:
    async with open_house(number=4, best_of=3) as place:
        anna, ben = await place.pair()
        await anna.types("2")
        for person in (anna, ben):
            await person.reads("* Type review to see how this one went.\n")
            await person.types("review")
            await person.reads("* 1. Player 1: 4 - 2 = 2  keeps the win\n")
        await ben.types("resign")


async def test_a_review_in_the_pause_can_be_read_before_the_next_duel_begins(
    autojump_clock,
) -> None:
    async with open_house(number=4, best_of=5) as place:
        anna, ben = await place.pair()
        await anna.types("2")
        await ben.reads("* Type review to see how this one went.\n")
        await trio.sleep(PAUSE_SECONDS - 2)
        began = trio.current_time()
        for person in (anna, ben):  # it waits once, not for each of them and not again and again
            await trio.sleep(1)
            await person.types("review")
            await person.reads("* The next duel begins in 20 seconds: time to read.\n")
            await person.reads("* 1. Player 1: 4 - 2 = 2  keeps the win\n")
        await ben.reads(PROMPT)
        assert trio.current_time() == began + 1 + READING_SECONDS
        assert ben.screen.count("time to read") == 1
        await ben.types("2")
        await ben.reads("* Type review to see how this one went.\n")
        await ben.types("review match 1")
        await anna.reads("* The next duel begins in 20 seconds: time to read.\n")


async def test_a_mirror_match_is_reviewed_when_both_duels_are_over(autojump_clock) -> None:
    """Else whoever begins in the second would be told how."""
    async with open_house() as place:
        anna, ben = await place.lobby("Anna", "Ben")
        await anna.types("challenge Ben mirror 4 first")
        await ben.reads("Type accept")
        await ben.types("accept")
        await anna.reads(PROMPT)
        await anna.types("2")
        text = await ben.reads("is Player 1 then.\n")
        for line in ("review", "review 1", "review match"):
            await ben.types(line)
            await ben.reads("* In a mirror match the number comes twice: review works when it is")
        text += await ben.reads(PROMPT)
        assert "Type review" not in text
        await ben.types("2")
        await ben.reads("* Next: rematch, play, review match (how you played), ")
        await ben.types("review")
        await ben.reads("* Player 1 was Ben, Player 2 Anna.\n")


async def test_every_duel_of_a_match_can_be_reviewed_when_it_is_over(autojump_clock) -> None:
    async with open_house(number=36, best_of=3) as place:
        anna, ben = await place.pair()
        for one, two in ((anna, ben), (ben, anna)):
            await two.reads("Game Start!")
            await one.reads("Game Start!")
            await one.reads("Player 1's turn.\n")
            await one.types("18")
            await two.reads("Player 2's turn.\n")
            await two.types("resign")
        await anna.reads("Game Start!")
        await anna.types("resign")
        await anna.reads("* Next: rematch, play, review match (how you played), ")
        await anna.types("review match")
        assert (await anna.reads("look at it: review match 1\n")).split("review match\n", 1)[1] == (
            "* Your last game, Divisor Duel from 36, best of 3:\n"
            "* duel  from  began  won   mistakes\n"
            "* 1     36    Anna   Anna  Anna 1, Ben 0\n"
            "* 2     36    Ben    Ben   Ben 1, Anna 0\n"
            "* 3     36    Anna   Ben   Anna 0, Ben 0\n"
            "* Type review match and the place of a duel to look at it: review match 1\n"
        )
        await anna.types("review match 2")
        await anna.reads("* Your last game, duel 2 of 3:\n* Player 1 was Ben, Player 2 Anna.\n")
        await anna.reads("* 1. Player 1: 36 - 18 = 18  gives the win away\n")
        for place_in_match in ("0", "4"):
            await anna.types(f"review match {place_in_match}")
            await anna.reads("* Your last game had 3 duels; try: review match 1\n")
        await anna.types("review")
        await anna.reads("* No move was made.\n")


@each_book
async def test_the_review_agrees_with_brute_force_for_duels_played_through_the_daemon(
    book: RuleBook, autojump_clock
) -> None:
    """(Of the pure part, a hundred for every book and variation are checked in test_review.)"""
    truth = brute_force(book, Restriction.ANY)
    async with open_house(turn_seconds=0) as place:
        anna = await place.comes_idle("Anna")
        for number in (12, 30, 36, 60, 64, 99):
            await anna.types(f"practice easy {book.slug} {number}")
            await anna.reads("* Your opponent is the house (easy).\n")
            await play_to_the_end(anna, random.Random(number))
            await anna.types("review")
            rows = re.findall(
                r"\* \d+\. Player \d: (\d+) [-/] (\d+) = (\d+) +(.*)\n", await anna.reads_for(1)
            )
            assert rows[0][0] == str(number)
            for before, divisor, after, ruling in rows:
                n, d, left = int(before), int(divisor), int(after)
                assert d in allowed(book, Restriction.ANY, n)
                assert book.result(n, d) == left
                expected = Verdict.LOST_ALREADY
                if truth[n]:
                    expected = Verdict.GAVE_AWAY if truth[left] else Verdict.KEPT
                assert ruling == expected.value


async def test_review_is_offered_after_every_duel_in_one_line(autojump_clock) -> None:
    async with open_house(number=4) as place:
        anna, ben = await place.pair()
        await anna.types("2")
        for person in (anna, ben):
            text = await person.reads("or quit.\n")
            assert sum("review" in row for row in text.splitlines()) == 1
