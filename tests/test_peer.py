"""One connection: what is written when, what is kept, and what a terminal then shows."""

import itertools
import socket

import pytest
import trio
import trio.testing
from kit import NAME_PROMPT, bare_peer, open_house

from duel_daemon.peer import Gone, PeerLimits, Quit

PROMPT = "Enter your chosen divisor: "


@pytest.fixture(autouse=True)
def no_mistake_of_ours(caplog):
    yield
    assert [r.getMessage() for r in caplog.records if r.levelname == "ERROR"] == []


def packets_pair():
    """A pair of sockets that keeps the borders of every write."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def narrow_pair():
    """A pair that takes only a little of what is not read."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    return ours, theirs


async def packets(person):
    """Every packet that comes in the next (virtual) second."""
    found = []
    with trio.move_on_after(1):
        while data := await person.sock.recv(65536):
            found.append(data)
    return found


async def raw(person):
    return b"".join(await packets(person))


def peer_of(place, name):
    return place.server.hall.find(name).peer


@pytest.fixture
async def pipe():
    """A peer without a house around it: the client's end, the peer, the post."""
    ours, theirs = socket.socketpair()
    with ours:
        async with bare_peer(theirs, PeerLimits(line_burst=10_000)) as (peer, post):
            yield ours, peer, post


# Writing.


async def test_a_move_is_one_write_to_each_side(autojump_clock):
    async with open_house() as place:
        people = [place.comes(packets_pair()) for _ in range(2)]
        for person, name in zip(people, ("Anna", "Ben"), strict=True):
            await person.is_named(name)
            await packets(person)
        await packets(people[0])
        movers = itertools.cycle(people)
        for divisor in (b"30\r\n", b"15\r\n", b"5\r\n", b"5\r\n"):
            await next(movers).send(divisor)
            assert [len(await packets(person)) for person in people] == [1, 1]


@pytest.mark.parametrize("line", [b"7", b"", b"time", b"help", b"who", b"nonsense"])
async def test_an_answer_and_the_prompt_after_it_are_one_write(autojump_clock, line):
    async with open_house() as place:
        anna = await place.comes(packets_pair()).is_named("Anna")
        ben = await place.comes(packets_pair()).is_named("Ben")
        await packets(anna)
        await packets(ben)
        await anna.send(line + b"\n")
        (answer,) = await packets(anna)
        assert answer.endswith(PROMPT.encode())
        assert answer.count(PROMPT.encode()) == 1
        assert await packets(ben) == []


async def test_the_greeting_the_welcome_and_the_pairing_are_one_write_each(autojump_clock):
    async with open_house() as place:
        anna = place.comes(packets_pair())
        assert len(await packets(anna)) == 1
        await anna.send(b"Anna\n")
        assert len(await packets(anna)) == 1
        await place.comes_as("Ben")
        assert len(await packets(anna)) == 1


async def test_many_lines_in_one_packet_are_answered_in_order(autojump_clock):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        await anna.reads_for()
        await anna.send(b"who\n" * 100 + b"quit\n")
        text = await anna.reads_to_the_end()
        assert text.count("1 person is here") == 100
        assert text.endswith("* Goodbye! The connection is closed.\n")


# Prompts.


async def test_a_house_line_that_interrupts_a_prompt_starts_on_a_fresh_line(autojump_clock):
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.reads_for()
        await ben.types("say 1")
        assert await anna.reads_for() == f"\n* Ben says: Hello!\n{PROMPT}"


async def test_the_prompt_comes_once_however_much_interrupts_it(autojump_clock):
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.reads_for()
        await ben.send(b"say 1\nsay 2\nsay 3\n")
        text = await anna.reads_for()
        assert text == (
            "\n* Ben says: Hello!\n* Ben says: Good luck!\n* Ben says: Nice move.\n" + PROMPT
        )


async def test_an_empty_line_on_ones_turn_shows_the_prompt_again(autojump_clock):
    async with open_house() as place:
        anna, _ = await place.pair()
        await anna.reads_for()
        await anna.send(b"\r\n")
        assert await anna.reads_for() == PROMPT


async def test_after_the_own_move_there_is_no_prompt(autojump_clock):
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.reads_for()
        await anna.send(b"30\n")
        assert PROMPT not in await anna.reads_for()
        await ben.types("say 1")
        assert await anna.reads_for() == "* Ben says: Hello!\n"


# Telnet.

INTERRUPT, DO_TIMING_MARK = b"\xff\xf4", b"\xff\xfd\x06"
WONT_TIMING_MARK, DO_BINARY = b"\xff\xfc\x06", b"\xff\xfd\x00"


async def test_ctrl_c_is_answered_and_shows_the_prompt_again(autojump_clock):
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.reads_for()
        await anna.send(b"3" + INTERRUPT + DO_TIMING_MARK)
        assert await raw(anna) == DO_BINARY + WONT_TIMING_MARK + f"\r\n{PROMPT}".encode()
        await anna.send(b"0" + INTERRUPT + DO_TIMING_MARK)
        assert await raw(anna) == WONT_TIMING_MARK + f"\r\n{PROMPT}".encode()
        await anna.send(b"15\r\n")
        await ben.reads(f"{PROMPT}15\n")


async def test_ctrl_c_without_a_question_is_answered_too(autojump_clock):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        await anna.reads_for()
        await anna.send(b"wh" + INTERRUPT + DO_TIMING_MARK)
        assert await raw(anna) == DO_BINARY + WONT_TIMING_MARK + b"\r\n"
        await anna.send(b"who\r\n")
        assert (await raw(anna)).startswith(b"* 1 person is here:\r\n* Anna ")


async def test_are_you_there_is_answered(autojump_clock):
    async with open_house() as place:
        anna = place.comes()
        await anna.reads_for()
        await anna.send(b"\xff\xf6")
        assert await raw(anna) == DO_BINARY + f"\r\n* Yes, I am here.\r\n{NAME_PROMPT}".encode()


async def test_no_telnet_command_is_sent_to_whoever_sent_none(autojump_clock):
    async with open_house() as place:
        anna, ben = place.comes(), place.comes()
        await anna.send(b"Anna\n")
        await ben.send("Ünal\n30\n\x7f\x08ÿ\n".encode())
        assert b"\xff" not in await raw(anna) + await raw(ben)


# A client that does not read.


async def test_a_client_that_never_reads_is_closed_and_has_left(autojump_clock):
    async with open_house(turn_seconds=0, talk="free", outbox_bytes=4096) as place:
        anna = await place.comes(narrow_pair()).is_named("Anna")
        ben = await place.comes_as("Ben")
        await anna.reads(PROMPT)
        await ben.reads("Proper divisors of 60")
        text = ""
        while "has left" not in text:
            await ben.types("say " + "x" * 400)
            text = await ben.reads_for(0.1)
            assert "* You say" in text  # however deaf the other is, one is answered
            assert len(ben.screen) < 100_000
        text += await ben.reads_for()
        assert text.count("* Player 1 has left the duel. Player 2 wins!\n") == 1
        assert text.count("has left") == 1
        anna.hangs_up()
        assert [player.name for player in place.server.hall.players] == ["Ben"]


async def test_no_more_than_the_outbox_is_kept_for_whoever_does_not_read(autojump_clock):
    async with open_house(outbox_bytes=5000) as place:
        anna = await place.comes(narrow_pair()).is_named("Anna")
        peer = peer_of(place, "Anna")
        most = 0
        while not peer.lost:
            await anna.send(b"help\n")
            await trio.testing.wait_all_tasks_blocked()
            most = max(most, len(peer._backlog))
        assert 0 < most <= 5000
        assert peer.lost == "does not read"


async def test_a_packet_full_of_commands_does_not_pile_up_its_answers(autojump_clock):
    async with open_house(outbox_bytes=2**20) as place:
        anna = await place.comes_as("Anna")
        peer = peer_of(place, "Anna")
        most = 0

        async def look():
            nonlocal most
            while True:
                most = max(most, sum(map(len, peer._said)))
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            await anna.send(b"help\n" * 800 + b"quit\n")
            await anna.reads_to_the_end()
            nursery.cancel_scope.cancel()
        assert most < 20_000


async def test_a_writer_exists_only_while_something_is_unsent(autojump_clock):
    async with open_house() as place:
        anna = await place.comes(narrow_pair()).is_named("Anna")
        await anna.reads_for(60)  # the reminder of practice is over
        peer = peer_of(place, "Anna")
        assert len(peer._nursery.child_tasks) == 0
        while not peer._backlog:
            await anna.send(b"help\n")
            await trio.testing.wait_all_tasks_blocked()
        assert len(peer._nursery.child_tasks) == 1
        await anna.send(b"help\n")
        await trio.testing.wait_all_tasks_blocked()
        assert len(peer._nursery.child_tasks) == 1
        await anna.reads_for()
        assert len(peer._nursery.child_tasks) == 0
        await anna.types("who")
        await anna.reads("1 person is here")


async def test_what_was_unsent_is_read_in_order_by_a_late_reader(autojump_clock):
    async with open_house() as place:
        anna = await place.comes(narrow_pair()).is_named("Anna")
        await anna.reads_for()
        for _ in range(10):
            await anna.send(b"help\nwho\n")
            await trio.testing.wait_all_tasks_blocked()
        text = await anna.reads_for()
        assert text == text[: len(text) // 10] * 10


async def test_whoever_quits_with_much_unread_costs_nobody_anything(autojump_clock):
    async with open_house() as place:
        anna = await place.comes(narrow_pair()).is_named("Anna")
        peer = peer_of(place, "Anna")
        while not peer._backlog:
            await anna.send(b"help\n")
            await trio.testing.wait_all_tasks_blocked()
        await anna.send(b"quit\n")
        await trio.testing.wait_all_tasks_blocked()
        ben = await place.comes_as("Ben")
        assert (await anna.reads_to_the_end()).endswith("* Goodbye! The connection is closed.\n")
        await ben.types("who")
        await ben.reads("1 person is here")


async def test_whoever_quits_and_never_reads_is_closed_after_a_second(autojump_clock):
    async with open_house() as place:
        anna = await place.comes(narrow_pair()).is_named("Anna")
        peer = peer_of(place, "Anna")
        while not peer._backlog:
            await anna.send(b"help\n")
            await trio.testing.wait_all_tasks_blocked()
        await anna.send(b"quit\n")
        await trio.sleep(1.5)
        assert not place.server.door.inside


# A client that sends without end.


async def test_a_flooder_is_served_and_does_not_starve_others():
    flood = 20_000
    async with open_house(outbox_bytes=2**20) as place:
        flooder = await place.comes_as("Flooder")
        cleo = await place.comes_as("Cleo")
        await cleo.reads("Proper divisors of 60")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flooder.reads_to_the_end)
            await flooder.send(b"time\n" * flood)
            for _ in range(20):
                await cleo.send(b"time\n")
                await cleo.reads("left for Flooder")
            answered = flooder.screen.count("left for you")
            nursery.cancel_scope.cancel()
        assert answered < flood / 2


# Reading, without a house.


async def test_lines_come_out_whatever_the_packets_were(pipe):
    ours, peer, _ = pipe
    ours.send(b"one\r\nt")
    assert await peer.line() == "one"
    ours.send(b"wo\r")
    assert await peer.line() == "two"
    ours.send(b"\nthree\n")
    assert await peer.line() == "three"


async def test_the_lines_before_the_end_come_out_and_half_a_line_does_not(pipe):
    ours, peer, _ = pipe
    ours.send(b"one\ntwo\nthre")
    ours.shutdown(socket.SHUT_WR)
    assert [await peer.line(), await peer.line()] == ["one", "two"]
    with pytest.raises(Gone, match="end of input"):
        await peer.line()


async def test_another_protocol_is_recognised_however_it_is_cut(pipe):
    ours, peer, _ = pipe
    async with trio.open_nursery() as nursery:

        async def drip():
            for byte in b"GET / HTTP/1.1\r\n":
                ours.send(bytes([byte]))
                await trio.testing.wait_all_tasks_blocked()

        nursery.start_soon(drip)
        with pytest.raises(Quit, match="spoke HTTP"):
            await peer.line()


async def test_a_second_line_that_looks_like_another_protocol_is_a_line(pipe):
    ours, peer, _ = pipe
    ours.send(b"Anna\nGET / HTTP/1.1\n")
    assert [await peer.line(), await peer.line()] == ["Anna", "GET / HTTP/1.1"]


async def test_what_was_said_is_sent_before_a_line_is_waited_for(pipe):
    ours, peer, _ = pipe
    peer.say("* one\n")
    peer.say("* two\n")
    peer.ask("? ")
    ours.send(b"\n")
    await peer.line()
    assert ours.recv(100) == b"* one\r\n* two\r\n? "


async def test_nothing_is_sent_to_whoever_is_dropped(pipe):
    ours, peer, post = pipe
    peer.say("* one\n")
    peer.drop("kicked")
    peer.drop("again")
    post.deliver()
    assert peer.lost == "kicked"
    peer.close()
    assert ours.recv(100) == b""


@pytest.mark.parametrize("is_for_good", [True, False], ids=["closed", "let go"])
async def test_a_connection_that_systemd_holds_too_ends_when_it_is_closed_for_good(is_for_good):
    ours, theirs = socket.socketpair()
    with ours, theirs.dup():
        async with bare_peer(theirs, PeerLimits()) as (peer, _):
            (peer.close if is_for_good else peer.let_go)()
            ours.setblocking(False)
            if is_for_good:
                assert ours.recv(100) == b""
            else:
                with pytest.raises(BlockingIOError):
                    ours.recv(100)


async def test_ascii_only_text_has_no_other_bytes(pipe):
    ours, peer, post = pipe
    peer.ascii_only = True
    peer.say("30 ÷ 5 · Ünal\n")
    post.deliver()
    assert ours.recv(100) == b"30 / 5 . Unal\r\n"


async def test_ascii_changes_the_sign_of_division_for_one_side_only(autojump_clock):
    async with open_house(rulebook="number-factor") as place:
        anna, ben = await place.pair()
        await ben.types("ascii on")
        await ben.reads_for()
        await anna.types("5")
        await anna.reads("Calculating 30 ÷ 5...\n")
        await ben.reads("Calculating 30 / 5...\n")
