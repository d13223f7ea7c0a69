"""One connection from greeting to farewell: the name, the lobby, and every way to leave."""

import contextlib
import logging
import re

import pytest
import trio
import trio.testing
from kit import NAME_PROMPT, HungUp, open_house
from test_wire import RECORDINGS, bad_inputs, bytes_of, packets_of

from duel_daemon.commands import WORDS
from duel_daemon.names import ANIMALS

PROMPT = "Enter your chosen divisor: "
CLOSED = "The connection is closed."


@pytest.fixture(autouse=True)
def no_mistake_of_ours(caplog):
    caplog.set_level(logging.DEBUG)
    yield
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


async def all_is_empty(place):
    """Whether everybody who came is gone without a trace."""
    await trio.testing.wait_all_tasks_blocked()
    server, hall = place.server, place.server.hall
    pending = (
        hall.players,
        hall.tables,
        hall.matchmaker.rematches,
        hall.matchmaker.lobby.offers(),
        hall.matchmaker._asked,
        hall.matchmaker._called,
        server.door.inside,
    )
    tasks = (server._nursery.child_tasks, hall.nursery.child_tasks)
    return not any(map(len, (*pending, *tasks)))


async def test_two_who_only_give_a_name_are_in_a_duel_together():
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.reads(PROMPT)
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")
        await ben.reads(PROMPT)


# The name.


async def test_the_greeting_names_the_game_and_help_and_asks():
    async with open_house() as place:
        text = await place.comes().reads(NAME_PROMPT)
        assert text.startswith("* Welcome to duel-daemon")
        assert "Divisor Duel from 60" in text
        assert "ype help" in text
        assert all(line.startswith("* ") for line in text.splitlines()[:-1])


async def test_guests_get_friendly_names_that_differ():
    async with open_house(lobby_idle_seconds=0) as place:
        guests = []
        for _ in range(30):
            guest = place.comes()
            await guest.types("")
            await guest.reads("* Welcome, ")
            guests.append((await guest.reads("."))[:-1])
        assert len(set(guests)) == 30
        assert all(re.fullmatch(f"({'|'.join(ANIMALS)})-[0-9]{{1,2}}", name) for name in guests)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Anna", "* Someone here is called Anna, or nearly so; Anna2 would work.\n"),
        ("aNNA", "* Someone here is called aNNA, or nearly so; aNNA2 would work.\n"),
        ("A" * 17, "* That is too long: a name has at most 16 letters and digits.\n"),
        ("X", "* That is too short: a name has at least 2 letters, such as Bo.\n"),
        ("Anna Lena", "* A name is one word, without spaces: Anna-Lena would work.\n"),
        ("resign", "* resign means something else here; please choose a name, such as"),
        ("42", "* A name begins with a letter, such as Anna or Max7.\n"),
        (
            "A\x1b[2J",
            "* A name has letters, the digits 0 to 9, - and _ only; · is none of these.\n",
        ),
        ("An\u200bna", "* A name has letters, the digits 0 to 9, - and _ only; · is none of"),
    ],
)
async def test_a_name_that_cannot_be_is_refused_with_the_reason_and_asked_again(name, reason):
    async with open_house() as place:
        await place.comes_as("Anna")
        somebody = place.comes()
        await somebody.reads(NAME_PROMPT)
        await somebody.types(name)
        assert reason in await somebody.reads(NAME_PROMPT)
        await somebody.types("Ben")
        await somebody.reads("* Welcome, Ben.")


@pytest.mark.parametrize("word", sorted(WORDS))
async def test_no_command_word_becomes_a_name(word):
    async with open_house() as place:
        somebody = place.comes()
        await somebody.types(word.upper())
        try:
            await somebody.reads(NAME_PROMPT)
            await somebody.reads(NAME_PROMPT)
        except HungUp:
            assert word in {"quit", "exit", "bye"}
        assert place.server.hall.players == []


async def test_help_rules_and_who_work_before_there_is_a_name():
    async with open_house() as place:
        await place.comes_as("Anna")
        somebody = place.comes()
        await somebody.reads(NAME_PROMPT)
        for line, answer in {
            "help": "* Type your name, or just Enter; then you are paired with an opponent.\n",
            "help rules": "* Example: rules number-factor\n",
            "rules": "* Divisor Duel, from ",
            "rules factor-duel": "* Factor Duel, from ",
            "who": "* 1 person is here:\n* Anna",
        }.items():
            await somebody.types(line)
            assert answer in await somebody.reads(NAME_PROMPT)


async def test_quit_works_before_there_is_a_name():
    async with open_house() as place:
        somebody = place.comes()
        await somebody.reads(NAME_PROMPT)
        await somebody.types("quit")
        assert await somebody.reads_to_the_end() == f"quit\n* Goodbye! {CLOSED}\n"
        somebody.hangs_up()
        assert await all_is_empty(place)


async def test_no_name_in_time_closes_the_connection(autojump_clock):
    async with open_house(name_seconds=60) as place:
        somebody = place.comes()
        await somebody.reads(NAME_PROMPT)
        text = await somebody.reads_to_the_end()
        assert text == f"\n* No name within 60 seconds. {CLOSED}\n"
        assert 60 <= trio.current_time() < 61


@pytest.mark.parametrize("drip", [b"A", b"who\n", b"X\n", b"\x7f", b"\xff\xf1"])
async def test_the_time_is_for_the_whole_name_not_for_each_byte(autojump_clock, drip):
    async with open_house(name_seconds=60) as place:
        somebody = place.comes()
        for _ in range(59):
            await somebody.send(drip)
            await trio.sleep(1)
        assert place.server.hall.players == []
        data = b""
        while more := await somebody.sock.recv(4096):
            data += more
        assert data.endswith(f"* No name within 60 seconds. {CLOSED}\r\n".encode())
        assert trio.current_time() < 61.1


async def test_a_name_may_follow_a_byte_order_mark():
    async with open_house() as place:
        somebody = place.comes()
        await somebody.send("\ufeffAnna\n".encode())
        await somebody.reads("* Welcome, Anna.")


async def test_whoever_sends_utf16_is_told_once(autojump_clock):
    async with open_house() as place:
        somebody = place.comes()
        await somebody.send("\ufeffAnna\r\nwho\r\n".encode("utf-16-le"))
        text = b""
        with trio.move_on_after(1):
            while True:
                text += await somebody.sock.recv(4096)
        assert text.count(b"UTF-16") == 1
        assert b"please switch it to UTF-8 or plain ASCII.\r\n" in text
        assert b"1 person is here" in text


async def test_a_name_with_an_umlaut_is_a_name():
    async with open_house() as place:
        await place.comes_as("Ünal")
        assert [player.name for player in place.server.hall.players] == ["Ünal"]


# Other protocols.

WRONG = [param for param in bad_inputs() if param.id.startswith("wrong-")]
RECOGNISED = [param for param in WRONG if param.values[0]["lines"] == "CLOSE"]
REST = [param for param in WRONG if param not in RECOGNISED]
POST = (
    b"POST / HTTP/1.1\r\nHost: duel:4000\r\nContent-Type: text/plain\r\nContent-Length: 40\r\n\r\n"
    b"\r\nMallory\r\nresign\r\nquit\r\nAnna\r\nresign\r\n"
)


def said_about(caplog, ident):
    """What the log says of a connection after that it came."""
    messages = [record.getMessage() for record in caplog.records]
    return [text for text in messages if text.startswith(ident) and "connects" not in text]


@pytest.mark.parametrize("entry", RECOGNISED)
async def test_the_wrong_protocol_reads_one_line_and_nothing_is_executed(entry, caplog):
    async with open_house() as place:
        stranger = place.comes()
        await stranger.reads(NAME_PROMPT)
        await stranger.send(bytes_of(entry))
        text = await stranger.reads_to_the_end()
        assert re.fullmatch(
            r"\n\* No [A-Z]\w+ here, but a game for nc or telnet\. The connection is closed\.\n",
            text,
        )
        assert "is Mallory" not in caplog.text
        assert len(said_about(caplog, "c1")) == 1
        stranger.hangs_up()
        assert await all_is_empty(place)


@pytest.mark.parametrize("entry", REST)
async def test_a_binary_protocol_is_closed_in_time_and_nobody_enters(autojump_clock, entry, caplog):
    async with open_house() as place:
        stranger = place.comes()
        await stranger.reads(NAME_PROMPT)
        await stranger.send(bytes_of(entry))
        assert (await stranger.reads_to_the_end()).count(CLOSED) == 1
        assert len(said_about(caplog, "c1")) == 1
        assert " is " not in said_about(caplog, "c1")[0].replace("is gone", "")


@pytest.mark.parametrize("size", [1, 7, 60, 1000])
async def test_a_web_page_cannot_post_a_resignation(size, caplog):
    async with open_house() as place:
        anna, ben = await place.pair()
        stranger = place.comes()
        await stranger.reads(NAME_PROMPT)
        for at in range(0, len(POST), size):
            try:
                await stranger.send(POST[at : at + size])
            except BrokenPipeError:
                break
        assert (await stranger.reads_to_the_end()).count("* No HTTP here") == 1
        assert len(said_about(caplog, "c3")) == 1
        assert len(place.server.hall.players) == 2
        await anna.reads(PROMPT)
        await anna.types("30")
        await ben.reads(f"{PROMPT}30\n")


BEFORE_HELP = re.compile(r"\n?\* No HTTP here, but a game for nc or telnet\. [^\n]*\n")
COMMANDS = b"Host: x\r\n\r\nplay 90\r\nwho\r\n"


@pytest.mark.parametrize(
    "line",
    [
        b"FOO /" + b"a" * 300 + b" HTTP/1.1",
        b"FOO /" + b"a" * 4000 + b" HTTP/1.1",
        b"get / http/1.1",
        b"\r\nGET / HTTP/1.1",
        b"\n" * 3000 + b"FOO / HTTP/1.1",
        b"who / HTTP/1.1",
    ],
    ids=lambda line: repr(line[:12]),
)
async def test_no_request_line_lets_a_web_page_in(line, caplog):
    async with open_house() as place:
        stranger = place.comes()
        await stranger.reads(NAME_PROMPT)
        await stranger.send(line + b"\r\n" + COMMANDS)
        assert BEFORE_HELP.fullmatch(await stranger.reads_to_the_end())
        assert len(said_about(caplog, "c1")) == 1
        stranger.hangs_up()
        assert await all_is_empty(place)


async def test_a_first_line_that_does_not_end_is_an_end():
    async with open_house() as place:
        stranger = place.comes()
        await stranger.reads(NAME_PROMPT)
        for part in (b"FOO /" + b"a" * 4000, b"a" * 1000, b" HTTP/1.1\r\n" + COMMANDS):
            with contextlib.suppress(BrokenPipeError):
                await stranger.send(part)
            await trio.testing.wait_all_tasks_blocked()
        assert await stranger.reads_to_the_end() == f"\n* That was too much. {CLOSED}\n"


async def test_a_guest_by_enter_is_a_person_until_a_request_comes(caplog):
    async with open_house() as place:
        guest, stranger = place.comes(), place.comes()
        for person in (guest, stranger):
            await person.reads(NAME_PROMPT)
            await person.send(b"\r\n")
            await person.reads("* Welcome, ")
        await stranger.reads_for(0)
        await stranger.send(b"GET / HTTP/1.1\r\n" + COMMANDS)
        text = await stranger.reads_to_the_end()
        assert "* No HTTP here" in text
        assert "here:" not in text
        await guest.send(b"\r\nwho\r\nwho / HTTP/1.1\r\n")  # the first line is hers
        assert "1 person is here" in await guest.reads("1 person is here")
        await guest.types("who")
        await guest.reads("1 person is here")


PROXY_2 = b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x7f\x00\x00\x01\x7f\x00\x00\x01\x80\xe8\x0f\xa0"


@pytest.mark.parametrize("size", range(1, 13))
async def test_a_proxys_header_is_known_though_it_begins_like_somebody_who_presses_enter(size):
    async with open_house(return_seconds=60) as place:
        stranger = place.comes()
        await stranger.reads(NAME_PROMPT)
        for packet in (PROXY_2[:size], PROXY_2[size:]):
            with contextlib.suppress(BrokenPipeError):
                await stranger.send(packet)
            await trio.testing.wait_all_tasks_blocked()
        text = await stranger.reads_to_the_end()
        assert text.endswith(
            "* No PROXY here, but a game for nc or telnet. The connection is closed.\n"
        )
        assert "Goodbye" not in text  # its QUIT was no quit
        stranger.hangs_up()
        assert await all_is_empty(place)


@pytest.mark.parametrize("keys", [b"\r\n\r\n", b"\r\n", b"\r\0\r\0", b"\n\n", b"\r\n\r\nwho\r\n"])
async def test_whoever_presses_enter_first_is_a_guest(autojump_clock, keys):
    async with open_house() as place:
        somebody = place.comes()
        await somebody.send(keys)
        await somebody.reads("* Welcome, ")
        await somebody.send(b"help\r\n")
        await somebody.reads("Everything else:")


# The lobby.


async def test_a_third_waits_for_a_fourth():
    async with open_house() as place:
        await place.pair()
        cleo = await place.comes_as("Cleo")
        await cleo.reads("* Waiting for an opponent: Divisor Duel from 60.\n")
        dora = await place.comes_as("Dora")
        await cleo.reads("* Your opponent is Dora.")
        await dora.reads("* Your opponent is Cleo.")


async def test_first_come_first_paired():
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.types("resign")
        await ben.reads("Next: ")
        await ben.types("play 90")  # another game: whoever looks for it meets him
        await ben.reads("* Waiting")
        await anna.types("play 90")
        await anna.reads("* Your opponent is Ben.")
        for name, opponent in (("Cleo", None), ("Dora", "Cleo"), ("Emil", None), ("Fred", "Emil")):
            person = await place.comes_as(name)
            if opponent:
                await person.reads(f"* Your opponent is {opponent}.")


async def test_whoever_waits_long_hears_of_practice_once(autojump_clock):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        assert (await anna.reads_for(1700)).count("practice") == 1


async def test_the_idle_are_told_and_their_connection_is_closed(autojump_clock):
    async with open_house(lobby_idle_seconds=300) as place:
        anna = await place.comes_as("Anna")
        await trio.sleep(200)
        await anna.types("who")
        await anna.reads("1 person is here")
        text = await anna.reads_to_the_end()
        assert text.endswith(f"* You have been idle for 300 seconds. {CLOSED}\n")
        assert 500 <= trio.current_time() < 502
        anna.hangs_up()
        assert await all_is_empty(place)


async def test_nobody_is_idle_in_a_duel_or_watching(autojump_clock):
    async with open_house(lobby_idle_seconds=100, turn_seconds=0) as place:
        anna, ben = await place.pair()
        cleo = await place.comes_as("Cleo")
        await cleo.types("watch Anna")
        await cleo.reads("Proper divisors of 60")
        for person in (anna, ben, cleo):
            assert "idle" not in await person.reads_for(1000)
        await anna.types("30")
        for person in (ben, cleo):
            await person.reads(f"{PROMPT}30\n")


async def test_without_a_limit_nobody_is_ever_idle(autojump_clock):
    async with open_house(lobby_idle_seconds=0) as place:
        anna = await place.comes_as("Anna")
        assert "idle" not in await anna.reads_for(10 * 86400)


async def test_a_line_begun_and_not_ended_closes_the_connection(autojump_clock):
    async with open_house(line_seconds=60) as place:
        anna = await place.comes_as("Anna")
        began = trio.current_time()
        for _ in range(59):
            await anna.send(b"h")
            await trio.sleep(1)
        text = await anna.reads_to_the_end()
        assert text.endswith(f"* Your line did not end. {CLOSED}\n")
        assert trio.current_time() - began < 61.1


async def test_a_line_is_not_timed_from_the_line_before_it(autojump_clock):
    """Each packet ends one line and begins the next, as a fast pipe does it."""
    async with open_house(line_seconds=60) as place:
        anna = await place.comes_as("Anna")
        await anna.send(b"w")
        for _ in range(20):
            await trio.sleep(20)
            await anna.send(b"ho\nw")
            await anna.reads("1 person is here")


async def test_a_line_that_did_not_end_costs_the_duel_like_any_leaving(autojump_clock):
    async with open_house(line_seconds=60) as place:
        anna, ben = await place.pair()
        await anna.reads(PROMPT)
        await anna.send(b"3")
        await ben.reads("* Player 1 has left the duel. Player 2 wins!\n")
        assert (await anna.reads_to_the_end()).endswith(f"* Your line did not end. {CLOSED}\n")


async def test_a_line_too_long_is_one_error_and_the_next_line_works(autojump_clock):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        await anna.reads_for()
        await anna.send(b"x" * 5000 + b"\nwho\n")
        text = await anna.reads_for()
        assert text.startswith("* That line was too long (512 bytes at most). Nothing was done.\n")
        assert text.count("too long") == 1
        assert "1 person is here" in text


async def sends_for_ever(person, data):
    while True:
        await person.send(data)


async def test_an_endless_line_closes_the_connection():
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            await sends_for_ever(anna, b"x" * 4096)
        await anna.reads_to_the_end()
        assert await all_is_empty(place)


@pytest.mark.parametrize(
    "data", [b"\xff\xfd\x01", b"\xff\xf6\n", b"\xff\xfd\x01\n", b"GET / HTTP/1.1\n"]
)
async def test_whoever_asks_and_hangs_up_before_the_answer_ends_alone(autojump_clock, data):
    """The answer cannot be sent any more, and that is found out while the question is heard."""
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        for name in ("", "Ben\n"):
            stranger = place.comes()
            await stranger.reads(NAME_PROMPT)
            await stranger.send(name.encode())
            await trio.testing.wait_all_tasks_blocked()
            await stranger.send(data)
            stranger.hangs_up()
            await trio.sleep(2)
        await anna.types("who")
        await anna.reads("1 person is here")


# Leaving: every moment, every way.


async def before_a_name(place):
    ben = await place.comes_as("Ben")
    anna = place.comes()
    await anna.reads(NAME_PROMPT)
    return anna, ben


async def waiting(place):
    ben = await place.comes_as("Ben")
    await ben.types("play 90")
    await ben.reads("* Waiting")
    await ben.reads("* Waiting")
    return await place.comes_as("Anna"), ben


async def on_the_own_turn(place):
    anna, ben = await place.pair()
    await anna.reads(PROMPT)
    return anna, ben


async def on_the_others_turn(place):
    ben, anna = await place.pair("Ben", "Anna")
    return anna, ben


async def after_the_duel(place):
    anna, ben = await on_the_own_turn(place)
    await ben.types("resign")
    await anna.reads("Next: ")
    return anna, ben


async def asked_for_a_rematch(place):
    anna, ben = await after_the_duel(place)
    await ben.types("rematch")
    await anna.reads("* Ben asks for a rematch.")
    return anna, ben


async def challenged(place):
    anna, ben = await after_the_duel(place)
    await ben.types("challenge Anna 90")
    await anna.reads("* Type accept or decline.")
    return anna, ben


async def between_duels(place):
    anna, ben = await on_the_own_turn(place)
    await anna.types("resign")
    await ben.reads("The next duel begins")
    return anna, ben


async def watching(place):
    ben, _ = await place.pair("Ben", "Cleo")
    anna = await place.comes_as("Anna")
    await anna.types("watch Ben")
    await ben.reads("1 person is watching.")
    return anna, ben


DUEL_LEFT = "* Player {seat} has left the duel. Player {other} wins!\n* You won against Anna!\n"
MOMENTS = {
    before_a_name: "",
    waiting: "",
    on_the_own_turn: DUEL_LEFT.format(seat=1, other=2),
    on_the_others_turn: DUEL_LEFT.format(seat=2, other=1),
    after_the_duel: "",
    asked_for_a_rematch: "* Anna has left.\n",
    challenged: "* Anna has left.\n",
    watching: "* Nobody is watching any more.\n",
}
MATCH_MOMENTS = {
    on_the_own_turn: DUEL_LEFT.format(seat=1, other=2) + "* Ben wins the match.\n",
    on_the_others_turn: DUEL_LEFT.format(seat=2, other=1) + "* Ben wins the match.\n",
    between_duels: "* Anna has left the match. Ben wins the match.\n",
}


async def by_quit(place, person):
    await person.types("quit")
    assert (await person.reads_to_the_end()).endswith(f"* Goodbye! {CLOSED}\n")


async def by_end_of_input(place, person):
    person.says_no_more()


async def by_end_of_input_in_half_a_line(place, person):
    await person.send(b"resig")
    person.says_no_more()


async def by_hanging_up(place, person):
    await person.reads_for()
    person.hangs_up()


async def by_a_reset(place, person):
    await person.send(b"who\n")
    await trio.testing.wait_all_tasks_blocked()
    person.hangs_up()  # with something unread, which resets a socket pair as it does TCP


async def by_a_kick(place, person):
    ident = f"c{place.people.index(person) + 1}"
    (peer,) = (peer for peer in place.server.door.inside if peer.ident == ident)
    peer.drop("kicked")


async def by_a_telnet_end_of_file(place, person):
    await person.send(b"\xff\xec")


WAYS = [
    by_quit,
    by_end_of_input,
    by_end_of_input_in_half_a_line,
    by_hanging_up,
    by_a_reset,
    by_a_kick,
    by_a_telnet_end_of_file,
]

each_way = pytest.mark.parametrize("leaves", WAYS, ids=lambda way: way.__name__)
each_moment = pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
each_match_moment = pytest.mark.parametrize(
    "moment", MATCH_MOMENTS, ids=lambda moment: moment.__name__
)


async def leaving(place, moment, leaves):
    """What the survivor reads of it, and the survivor."""
    anna, ben = await moment(place)
    await ben.reads_for(0.1)
    await leaves(place, anna)
    return await ben.reads_for(0.1), ben


def without_prompt(text):
    """Whatever interrupts an open prompt starts on a fresh line, and it comes again."""
    return text.removeprefix("\n").removesuffix(PROMPT)


@each_way
@each_moment
async def test_whoever_leaves_at_any_moment_in_any_way_has_left_once(
    autojump_clock, moment, leaves
):
    async with open_house() as place:
        text, ben = await leaving(place, moment, leaves)
        said, _, next_steps = without_prompt(text).partition("* Next: ")
        assert said == MOMENTS[moment]
        assert "rematch" not in next_steps
        # The name is free again, and the survivor can go on.
        again = await place.comes_as("Anna")
        if moment in (on_the_own_turn, on_the_others_turn, asked_for_a_rematch):
            await ben.types("rematch")
            await ben.reads("* Anna has left")
            await ben.types("play")
        elif moment is not watching:
            await ben.types("play")
        if moment is not watching:
            await again.reads("* Your opponent is Ben.")
            await ben.reads("* Your opponent is Anna.")
        for person in place.people:
            person.hangs_up()
        assert await all_is_empty(place)


@each_way
@each_match_moment
async def test_whoever_leaves_a_match_has_left_once(autojump_clock, moment, leaves):
    async with open_house(best_of=3) as place:
        text, ben = await leaving(place, moment, leaves)
        said, _, next_steps = without_prompt(text).partition("* Next: ")
        assert said == MATCH_MOMENTS[moment]
        assert next_steps.startswith("play, ")
        assert place.server.hall.tables == {}
        assert "has left" not in await ben.reads_for(600)
        for person in place.people:
            person.hangs_up()
        assert await all_is_empty(place)


@pytest.mark.parametrize("moment", [on_the_own_turn, on_the_others_turn])
async def test_whoever_resigns_stays_here_and_can_play_again(autojump_clock, moment):
    async with open_house() as place:
        anna, ben = await moment(place)
        await ben.reads_for(0.1)
        await anna.types("resign")
        text = await ben.reads_for(0.1)
        assert text.count("has left the duel (resigned). Player ") == 1
        assert text.count("has left") == 1
        await ben.types("rematch")
        await anna.reads("* Ben asks for a rematch. Type rematch or decline.\n")
        await anna.types("rematch")
        await anna.reads("* Your opponent is Ben.")
        await ben.reads("* Your opponent is Anna.")


async def test_whoever_resigns_between_duels_gives_up_the_match(autojump_clock):
    async with open_house(best_of=3) as place:
        anna, ben = await between_duels(place)
        await ben.reads_for(0.1)
        await anna.types("resign")
        assert "* Anna has left the match (resigned). Ben wins the match.\n" in (
            await ben.reads_for(600)
        )
        assert place.server.hall.tables == {}


async def test_both_leaving_at_once_leaves_nothing_behind(autojump_clock):
    async with open_house() as place:
        for person in await on_the_own_turn(place):
            person.hangs_up()
        assert await all_is_empty(place)


async def test_quit_in_a_duel_is_answered_by_what_it_cost_and_the_farewell(autojump_clock):
    async with open_house() as place:
        anna, _ = await on_the_own_turn(place)
        await anna.types("quit")
        assert await anna.reads_to_the_end() == (
            "quit\n* Player 1 has left the duel. Player 2 wins!\n* Ben won this duel.\n"
            f"* Goodbye! {CLOSED}\n"
        )


# Stopping.


@pytest.mark.parametrize("best_of", [1, 3])
@pytest.mark.parametrize("moment", {**MOMENTS, **MATCH_MOMENTS}, ids=lambda moment: moment.__name__)
async def test_everybody_reads_one_line_when_the_server_stops(autojump_clock, moment, best_of):
    if moment in (between_duels, asked_for_a_rematch, challenged, after_the_duel):
        best_of = 3 if moment is between_duels else 1
    async with open_house(best_of=best_of) as place:
        people = await moment(place)
        for person in people:
            await person.reads_for(0.1)
        place.server.stop()
        for person in people:
            text = (await person.reads_to_the_end()).removeprefix("\n")
            assert text.startswith("* The server is closing")
            assert text.endswith(f"{CLOSED}\n")
            assert text.count("\n") == 1


# Half-close.


async def test_everything_that_came_before_a_half_close_is_answered():
    async with open_house() as place:
        pipe = place.comes()
        await pipe.send(b"Anna\nhelp\nwho\nrules\ntime\nwh")
        pipe.says_no_more()
        text = await pipe.reads_to_the_end()
        for answer in (
            "* Welcome, Anna.",
            "* On your turn, type a number",
            "* 1 person is here:\n* Anna",
            "* Divisor Duel, from ",
            "* time works in a duel.",
        ):
            assert answer in text
        assert text.count("1 person is here") == 1  # and the line that did not end is dropped
        pipe.hangs_up()
        assert await all_is_empty(place)


# The wire, end to end.


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
async def test_no_recording_of_a_real_client_breaks_the_daemon(autojump_clock, recording):
    async with open_house() as place:
        ben = await place.comes_as("Ben")
        client = place.comes()
        for packet in packets_of(recording):
            try:
                await client.send(packet)
            except BrokenPipeError:
                break  # it said quit
            await trio.testing.wait_all_tasks_blocked()
        client.says_no_more()
        while await client.sock.recv(65536):
            pass
        assert [player.name for player in place.server.hall.players] == ["Ben"]
        await ben.types("who")
        await ben.reads("1 person is here")


SENT_BYTES = 300_000  # of the largest inputs; the daemon has hung up long before


@pytest.mark.parametrize("entry", bad_inputs())
@pytest.mark.parametrize("name", [b"", b"Mallory\n"], ids=["unnamed", "named"])
async def test_no_bad_input_breaks_the_daemon(autojump_clock, entry, name):
    async with open_house(talk="free") as place:
        ben = await place.comes_as("Ben")
        stranger = place.comes()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(drain, stranger)
            data = name + bytes_of(entry)[:SENT_BYTES]
            try:
                for at in range(0, len(data), 4096):
                    await stranger.send(data[at : at + 4096])
                    await trio.lowlevel.checkpoint()
                stranger.says_no_more()
            except (BrokenPipeError, ConnectionResetError):
                pass
        text = await ben.reads_for()
        assert all(char == "\n" or char.isprintable() for char in text)
        assert [player.name for player in place.server.hall.players] == ["Ben"]


async def drain(person):
    try:
        while await person.sock.recv(65536):
            pass
    except ConnectionResetError:
        pass
