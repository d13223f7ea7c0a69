"""The limits on strangers, in the daemon: whoever is refused reads why, whoever is here stays.

How is counted is tested with `limits`; here, that everything which is counted has its effect.
"""

import contextlib
import gc
import logging
import re
import socket
import weakref

import attrs
import pytest
import trio
import trio.testing
from kit import NAME_PROMPT, QUIET, Person, Place, open_house
from test_restarting import FakeStore
from test_server import needs_ipv6

from duel_daemon import limits
from duel_daemon.archivist import Archivist
from duel_daemon.door import REFUSING_SECONDS, Door
from duel_daemon.journal import Journal
from duel_daemon.limits import OPEN_SECONDS, GateLimits
from duel_daemon.listening import listen
from duel_daemon.memory import Memory
from duel_daemon.server import Server
from duel_daemon.service import Service
from duel_daemon.settings import Settings

PROMPT = "Enter your chosen divisor: "
CLOSED = "The connection is closed."
HERE, THERE, ELSEWHERE = "192.0.2.1", "192.0.2.2", "192.0.2.3"
LOOPBACK = "127.0.0.1"

AT_ONCE = (
    "* Too many connections from your address ({} at once). "
    f"Close one, or ask your teacher to raise per_address. {CLOSED}\n"
)
TOO_FAST = (
    "* Too many new connections from your address ({} a minute). "
    f"Try again in a few seconds, or ask your teacher to raise new_per_minute. {CLOSED}\n"
)
FULL = f"* Too many people are here; try again in a minute. {CLOSED}\n"
CROWDED = f"* Too many are at the door. Please connect again. {CLOSED}\n"
WAITS = re.compile(
    r"\* Your address has sent too much that no player sends\. Try again in (\d+) s\. "
    r"The connection is closed\.\n"
)
FREE = GateLimits().free_offences
HTTP = b"GET / HTTP/1.1\r\n\r\n"


@pytest.fixture(autouse=True)
def no_mistake_of_ours(caplog):
    caplog.set_level(logging.INFO)
    yield
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def comes(place: Place, address: str = HERE) -> Person:
    """Somebody connects from this address."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    place.server.admit(theirs, address)
    person = Person(trio.socket.from_stdlib_socket(ours))
    place.people.append(person)
    return person


async def comes_as(place: Place, name: str, address: str = HERE) -> Person:
    return await comes(place, address).is_named(name)


async def is_admitted(place: Place, address: str = HERE) -> bool:
    """Whether somebody who connects is asked for a name; then they hang up again."""
    person = comes(place, address)
    text = await person.reads_for(0.1)
    person.hangs_up()
    await trio.testing.wait_all_tasks_blocked()
    assert text.endswith((NAME_PROMPT, f"{CLOSED}\n"))
    return text.endswith(NAME_PROMPT)


async def refusal(place: Place, address: str = HERE) -> str:
    """What somebody reads who is not let in."""
    person = comes(place, address)
    text = await person.reads_to_the_end()
    person.hangs_up()
    return text


def reconfigure(place: Place, **changed) -> None:
    """SIGHUP, with a changed file."""
    place.server.reconfigure(attrs.evolve(place.server.settings, **changed))


def counters(place: Place) -> list[int]:
    """Everything the door counts of those who are here."""
    door = place.server.door
    assert door._named <= door.inside
    assert sum(door._gate._named.values()) == len(door._named)
    return [len(door.inside), len(door._unnamed), len(door._gate._connected)]


async def play_on(mover: Person, other: Person, divisor: str) -> None:
    await mover.types(divisor)
    await other.reads(f"{PROMPT}{divisor}\n")


# Without a name.


async def test_of_too_many_without_a_name_the_longest_standing_makes_room(autojump_clock, caplog):
    async with open_house(max_unnamed=3) as place:
        anna, ben = await place.pair()
        crowd = []
        for _ in range(3):
            crowd.append(comes(place))
            await crowd[-1].reads(NAME_PROMPT)
            await trio.sleep(1)
        crowd.append(comes(place))
        assert await crowd[0].reads_to_the_end() == f"\n{CROWDED}"
        for person in crowd[1:]:
            assert CLOSED not in await person.reads_for(0.1)
        assert len(place.server.door._unnamed) == 3
        await anna.reads(PROMPT)
        await play_on(anna, ben, "30")
        # Whoever gives a name makes room, too.
        await crowd[1].types("Cleo")
        await crowd[1].reads("* Welcome, Cleo.")
        crowd.append(comes(place))
        assert CLOSED not in await crowd[2].reads_for(0.1)
        comes(place)
        assert (await crowd[2].reads_to_the_end()).endswith(CROWDED)
    assert warnings(caplog) == ["over 3 connections without a name"]


async def test_a_crowd_without_names_is_bounded_and_still_anybody_can_enter(autojump_clock):
    async with open_house(max_unnamed=10) as place:
        for number in range(200):
            comes(place, f"198.51.100.{number}")
            assert len(place.server.door._unnamed) <= 10
        honest = await comes_as(place, "Anna", THERE)
        await trio.sleep(2)  # the farewells are over
        assert len(place.server.door.inside) == 10 + 1 - 1  # she was one of the ten
        await honest.types("who")
        await honest.reads("1 person is here")


async def test_whoever_made_room_at_the_door_counts_no_longer(autojump_clock):
    """However they take it: a flood at the door must not make the house look full."""
    async with open_house(max_unnamed=2, max_connections=5) as place:
        anna, ben = await place.pair()
        crowd = []
        for number in range(50):
            crowd.append(comes(place, f"198.51.100.{number}"))
            await crowd[-1].send(b"x" * 100)
            await trio.testing.wait_all_tasks_blocked()
            assert len(place.server.door.inside) <= 4
        assert trio.current_time() == 0
        for person in crowd[:-2]:
            assert (await person.reads_to_the_end()).endswith(f"\n{CROWDED}")
        await anna.reads(PROMPT)
        await play_on(anna, ben, "30")


async def test_strangers_do_not_push_out_whoever_is_trusted(autojump_clock):
    async with open_house(max_unnamed=2, trusted=HERE) as place:
        pupils = [comes(place, HERE) for _ in range(5)]
        strangers = [comes(place, THERE) for _ in range(5)]
        for person in (*pupils, *strangers[3:]):
            assert CLOSED not in await person.reads_for(0.1)
        for person in strangers[:3]:
            assert (await person.reads_to_the_end()).endswith(CROWDED)
        for number, pupil in enumerate(pupils):
            await pupil.types(f"Pupil-{'abcde'[number]}")
            await pupil.reads("* Welcome, Pupil-")


async def test_no_name_in_time_makes_room_for_others(autojump_clock):
    async with open_house(name_seconds=60, max_unnamed=1, return_seconds=0) as place:
        somebody = comes(place)
        assert f"* No name within 60 seconds. {CLOSED}\n" in await somebody.reads_to_the_end()
        assert trio.current_time() == pytest.approx(60)
        somebody.hangs_up()
        await trio.sleep(1)
        assert counters(place) == [0, 0, 0]


async def test_whoever_comes_back_with_a_code_is_no_longer_without_a_name(autojump_clock):
    async with open_house(max_unnamed=1, return_seconds=60) as place:
        anna, ben = await place.pair()
        code = re.search(r"Ben \w{4}-\w{4}", ben.screen)[0]
        ben.hangs_up()
        await anna.reads("* Ben has lost the connection")
        back = comes(place)
        await back.types(code)
        await back.reads("* You play Anna")
        newcomer = comes(place)
        await newcomer.reads(NAME_PROMPT)
        assert CLOSED not in await back.reads_for(0.1)


# Per address.


async def test_one_address_has_so_many_at_once_and_others_are_not_concerned(autojump_clock):
    async with open_house(per_address=3) as place:
        three = [comes(place) for _ in range(3)]
        assert await refusal(place) == AT_ONCE.format(3)
        assert await is_admitted(place, THERE)
        three[1].hangs_up()
        await trio.sleep(1)
        assert await is_admitted(place)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
async def test_a_64_of_ipv6_is_one_address_and_a_mapped_one_is_ipv4(
    autojump_clock, one, other, same
):
    async with open_house(per_address=1) as place:
        comes(place, one)
        assert await is_admitted(place, other) is not same


async def test_one_address_has_so_many_new_ones_a_minute(autojump_clock):
    async with open_house(new_per_minute=6) as place:
        for _ in range(6):
            assert await is_admitted(place)
        assert await refusal(place) == TOO_FAST.format(6)
        assert await is_admitted(place, THERE)
        await trio.sleep(10)  # one more is allowed now, not all at the end of a minute
        assert await is_admitted(place)
        assert not await is_admitted(place)


async def test_what_is_connected_is_never_touched_by_a_refusal(autojump_clock):
    async with open_house(per_address=2, new_per_minute=4) as place:
        anna = await comes_as(place, "Anna")
        ben = await comes_as(place, "Ben")
        await anna.reads(PROMPT)
        for _ in range(50):
            await refusal(place)
        await play_on(anna, ben, "30")
        await ben.reads(PROMPT)
        await play_on(ben, anna, "15")


async def test_over_all_there_are_only_so_many_connections(autojump_clock):
    async with open_house(max_connections=3) as place:
        anna, ben = await place.pair()
        await comes_as(place, "Cleo", THERE)
        assert await refusal(place, ELSEWHERE) == FULL
        await anna.reads(PROMPT)
        await play_on(anna, ben, "30")


async def test_being_full_costs_an_address_nothing(autojump_clock):
    async with open_house(max_connections=2, new_per_minute=2) as place:
        anna, _ = await place.pair()
        for _ in range(30):
            assert await refusal(place, THERE) == FULL
        anna.hangs_up()
        await trio.sleep(2)
        assert await is_admitted(place, THERE)


# Whoever does what no person does waits longer.


async def speaks_http(place: Place, address: str) -> None:
    person = comes(place, address)
    with contextlib.suppress(BrokenPipeError):  # if they are refused
        await person.send(HTTP)
    await person.reads_to_the_end()
    person.hangs_up()


async def sends_without_end(place: Place, address: str) -> None:
    person = comes(place, address)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(20):
            await person.send(b"x" * 4096)
    await person.reads_to_the_end()
    person.hangs_up()


async def guesses_codes(place: Place, address: str) -> None:
    person = comes(place, address)
    await person.send(b"Anna AAAA-AAAA\n" * 4)
    assert f"* Too many wrong codes. {CLOSED}\n" in await person.reads_to_the_end()
    person.hangs_up()


async def gives_no_name(place: Place, address: str) -> None:
    person = comes(place, address)
    await person.reads_to_the_end()
    person.hangs_up()


POINTS = {speaks_http: 1.0, sends_without_end: 2.0, guesses_codes: 2.0, gives_no_name: 0.5}


@pytest.mark.parametrize("offends", POINTS, ids=lambda way: way.__name__)
async def test_repeat_offenders_wait_longer_and_longer(autojump_clock, offends):
    async with open_house(name_seconds=1) as place:
        times = int(FREE / POINTS[offends])
        for _ in range(times):
            await offends(place, HERE)  # that much is free: one joker in a whole class
            await trio.testing.wait_all_tasks_blocked()
        assert await is_admitted(place)
        waits = []
        for _ in range(6):
            await offends(place, HERE)
            await trio.testing.wait_all_tasks_blocked()
            refused = WAITS.fullmatch(await refusal(place))
            assert refused
            assert await is_admitted(place, THERE)
            waits.append(int(refused[1]))
            await trio.sleep(waits[-1] + OPEN_SECONDS)
        assert waits == sorted(waits)
        assert waits[0] < waits[-1] <= 64


async def test_an_offender_is_a_stranger_again_some_day(autojump_clock):
    async with open_house() as place:
        for _ in range(30):
            await speaks_http(place, HERE)
        assert not await is_admitted(place)
        await trio.sleep(15 * 60)
        for _ in range(FREE):
            await speaks_http(place, HERE)
            await trio.testing.wait_all_tasks_blocked()
        assert await is_admitted(place)


async def test_asking_again_while_waiting_does_not_make_the_wait_longer(autojump_clock):
    async with open_house() as place:
        for _ in range(FREE + 1):
            await speaks_http(place, HERE)
            await trio.testing.wait_all_tasks_blocked()
        while not await is_admitted(place):  # noqa: ASYNC110 - a person who tries again and again
            await trio.sleep(0.2)
        assert trio.current_time() < 5


async def test_an_offenders_neighbour_who_is_here_plays_on(autojump_clock):
    async with open_house() as place:
        anna = await comes_as(place, "Anna")
        ben = await comes_as(place, "Ben")
        await anna.reads(PROMPT)
        for _ in range(30):
            await speaks_http(place, HERE)
        await play_on(anna, ben, "30")
        assert await is_admitted(place)  # nor is the class locked out by its joker
        assert await is_admitted(place, THERE)


async def test_through_a_storm_of_jokes_a_lost_pupil_comes_back_with_the_code(autojump_clock):
    async with open_house(return_seconds=60, new_per_minute=120) as place:
        anna = await comes_as(place, "Anna", HERE)
        ben = await comes_as(place, "Ben", THERE)
        await ben.reads_for(0.1)
        code = re.search(r"Ben \w{4}-\w{4}", ben.screen)[0]
        ben.hangs_up()
        await anna.reads("* Ben has lost the connection")
        for _ in range(100):
            await speaks_http(place, THERE)
            await trio.sleep(0.5)
        back = comes(place, THERE)
        await back.types(code)
        await back.reads("* You play Anna")


async def test_after_the_class_has_gone_the_joker_waits_like_any_other(autojump_clock):
    async with open_house(return_seconds=30) as place:
        anna = await comes_as(place, "Anna")
        again = await comes_as(place, "Ben")
        for _ in range(2 * FREE):
            await speaks_http(place, HERE)
            await trio.testing.wait_all_tasks_blocked()
        for person in (anna, again):
            await person.types("quit")
            await person.reads_to_the_end()
            person.hangs_up()
        await trio.sleep(2)
        assert await is_admitted(place)
        await trio.sleep(30)
        await speaks_http(place, HERE)
        await trio.testing.wait_all_tasks_blocked()
        assert WAITS.fullmatch(await refusal(place))
        assert place.server.door._gate._named == {}
        assert not place.server.door._named


async def test_a_guest_who_turns_out_to_be_a_machine_speaks_for_nobody(autojump_clock):
    async with open_house(return_seconds=60) as place:
        for _ in range(FREE // 2 + 1):
            person = comes(place)
            await person.types("")
            await person.reads("* Welcome, ")
            await person.send(b"x" * 70_000)
            await person.reads_to_the_end()
            person.hangs_up()
            await trio.testing.wait_all_tasks_blocked()
        assert WAITS.fullmatch(await refusal(place))


# Trusted addresses.


async def test_a_trusted_address_has_no_such_limits(autojump_clock):
    chosen = {"per_address": 1, "new_per_minute": 1, "trusted": "192.0.2.0/31, 2001:db8::/32"}
    async with open_house(**chosen) as place:
        for address in (HERE, "2001:db8::1", "::ffff:192.0.2.1"):
            for _ in range(5):
                comes(place, address)
                assert await is_admitted(place, address)
        for _ in range(10):
            await speaks_http(place, HERE)
        assert await is_admitted(place)
        comes(place, THERE)
        assert not await is_admitted(place, THERE)


async def test_even_the_trusted_find_a_full_house_full(autojump_clock):
    async with open_house(max_connections=2, trusted=HERE) as place:
        await place.pair()
        assert await refusal(place) == FULL


# Over TCP.


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=needs_ipv6)])
@pytest.mark.parametrize("typed", [b"", b"Anna\r\nhelp\r\n"])
async def test_the_refused_read_why_over_tcp_too(host, typed):
    (listener,) = listen((host,), 0)
    address = listener.getsockname()[:2]
    server = Server(Settings(**{**QUIET, "per_address": 1}), [listener])
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        first = Person((await trio.open_tcp_stream(*address)).socket)
        await first.reads(NAME_PROMPT)
        for _ in range(20):
            refused = Person((await trio.open_tcp_stream(*address)).socket)
            if typed:
                await refused.send(typed)  # a pipe does not wait to be asked
            assert await refused.reads_to_the_end() == AT_ONCE.format(1)
            refused.hangs_up()
        await first.types("Anna")
        await first.reads("* Welcome, Anna.")
        server.stop()
        first.hangs_up()


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=needs_ipv6)])
def test_whoever_had_sent_something_reads_why_and_is_not_reset(host):
    """close() with unread input resets the connection. Linux shows what it has received before
    that, other systems do not, and over a network what is on its way may be lost.
    """
    (listener,) = listen((host,), 0)
    with listener, socket.create_connection(listener.getsockname()[:2], timeout=5) as refused:
        refused.sendall(b"Anna\r\nhelp\r\n")
        listener.setblocking(True)
        sock, _ = listener.accept()
        assert sock.recv(1, socket.MSG_PEEK) == b"A"  # it has come
        Door(Settings()).turn_away(sock, "No.")
        assert sock.fileno() == -1
        assert refused.recv(100) == b"* No.\r\n"
        assert refused.recv(100) == b""
        assert refused.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0  # EPIPE: a reset came


@pytest.mark.parametrize("typed", [b"", b"Anna\r\n"])
def test_to_turn_away_whoever_has_gone_already_is_no_mistake(typed):
    ours, theirs = socket.socketpair()
    ours.sendall(typed)
    ours.close()
    Door(Settings()).turn_away(theirs, "No.")
    assert theirs.fileno() == -1


# Lines in their time.

RATED = {"line_burst": 10, "lines_per_second": 4}
MUCH_BYTES = 12 * 4096


async def test_ten_lines_are_answered_at_once_then_four_a_second(autojump_clock):
    async with open_house(**RATED) as place:
        anna = await place.comes_as("Anna")  # her name was the first line
        await trio.sleep(60)
        await anna.reads_for(0.1)
        began = trio.current_time()
        await anna.send(b"".join(b"help %d\n" % number for number in range(100)))
        times = []
        for number in range(100):
            await anna.reads(f"'{number}'")  # in order, and none is missing
            times.append(trio.current_time() - began)
        assert times[:10] == pytest.approx([0] * 10)
        assert times[10:] == pytest.approx([n / 4 for n in range(1, 91)])


async def test_what_is_not_read_waits_in_the_network_and_not_in_memory(autojump_clock):
    async with open_house(**RATED) as place:
        anna = await place.comes_as("Anna")
        sent = 0
        with trio.move_on_after(30):
            while True:
                sent += await anna.sock.send(b"time\n" * 800)
                await anna.reads_for(0)
        assert sent < 2**20  # then the sender waits
        peer = place.server.hall.find("Anna").peer
        assert len(peer._lines) <= 4096
        assert len(peer._decoder._line) <= 512


async def test_a_flood_delays_nobody_else_and_no_clock(autojump_clock):
    async with open_house(turn_seconds=20, first_turn_extra_seconds=0, **RATED) as place:
        anna, ben = await place.pair()
        cleo, dora = await place.pair("Cleo", "Dora")
        await trio.sleep(5)
        await anna.send(b"time\n" * 5000)
        await trio.testing.wait_all_tasks_blocked()
        now = trio.current_time()
        await cleo.reads(PROMPT)
        await play_on(cleo, dora, "30")
        await ben.types("time")
        await ben.reads("* 15 seconds left for Anna.")
        assert trio.current_time() == now
        await ben.reads("* Player 1 ran out of time. Player 2 wins!")
        assert trio.current_time() == pytest.approx(20)


async def test_a_whole_pipe_of_lines_is_answered_however_long_it_takes(autojump_clock):
    """What is not read cannot end a line, and nobody is idle whose lines are being answered."""
    async with open_house(line_seconds=60, lobby_idle_seconds=100, **RATED) as place:
        anna = await place.comes_as("Anna")
        lines = 6000  # 30 kB: the packets end in the middle of a line
        await anna.send(b"stop\n" * lines + b"quit\n")
        text = await anna.reads_to_the_end()
        assert text.endswith(f"* Goodbye! {CLOSED}\n")
        assert text.count("looking for") + text.count("no longer look") == lines
        assert trio.current_time() == pytest.approx(lines / 4, abs=5)


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"x" * 600 + b"\n", "That line was too long"),
        (b"\xff\xf6", "Yes, I am here."),
        (b"\n", "You are waiting for an opponent"),
    ],
)
async def test_there_is_no_way_to_be_answered_faster(autojump_clock, data, answer):
    async with open_house(**RATED) as place:
        anna = await place.comes_as("Anna")
        await trio.sleep(60)
        await anna.reads_for(0.1)
        await anna.send(data * 100)
        assert (await anna.reads_for(10.1)).count(answer) == 50


@pytest.mark.parametrize("data", [b"\xff\xfb\x18", b"\x7f", b"\0", b"x"])
async def test_much_that_is_no_line_is_taken_as_slowly(autojump_clock, data):
    """Telnet commands cost more to decode than lines do to answer."""
    async with open_house(**RATED) as place:
        anna = await place.comes_as("Anna")
        await trio.sleep(60)
        await anna.send((data * 49152)[:MUCH_BYTES])
        peer = place.server.hall.find("Anna").peer
        began = trio.current_time()
        while peer._decoder._since_end < MUCH_BYTES:  # noqa: ASYNC110 - it tells nobody
            await trio.sleep(0.05)
            assert peer._decoder._since_end <= 4096 * (10 + 4 * (trio.current_time() - began) + 1)
        assert trio.current_time() - began == pytest.approx(0.5, abs=0.3)


async def test_an_answer_to_a_line_too_long_comes_in_its_place(autojump_clock):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        await anna.reads_for(0.1)
        await anna.send(b"help 1\n" + b"x" * 600 + b"\nhelp 2\n")
        text = await anna.reads_for(0.1)
        assert re.search(r"'1'.*too long.*'2'", text, re.DOTALL)


# SIGHUP.


async def test_new_limits_hold_from_now_on(autojump_clock):
    async with open_house(**RATED) as place:
        anna = await comes_as(place, "Anna")
        ben = await comes_as(place, "Ben")
        reconfigure(place, per_address=1)
        assert await refusal(place) == AT_ONCE.format(1)
        await anna.reads(PROMPT)
        await play_on(anna, ben, "30")  # over the new limit, and not touched
        reconfigure(place, per_address=40, trusted=HERE, new_per_minute=1)
        for _ in range(3):
            assert await is_admitted(place)
        assert await is_admitted(place, THERE)
        assert await refusal(place, THERE) == TOO_FAST.format(1)
        reconfigure(place, lines_per_second=100, line_burst=100)
        cleo = await comes_as(place, "Cleo")
        began = trio.current_time()
        await cleo.send(b"help no\n" * 90 + b"quit\n")
        await cleo.reads_to_the_end()
        assert trio.current_time() == began


async def test_a_lower_limit_of_those_without_a_name_holds_with_the_next_one(autojump_clock):
    async with open_house(max_unnamed=20) as place:
        crowd = [comes(place) for _ in range(20)]
        reconfigure(place, max_unnamed=5)
        newcomer = comes(place)
        await trio.sleep(2)
        assert len(place.server.door.inside) == 5
        assert CROWDED in await crowd[15].reads_to_the_end()
        assert CLOSED not in await newcomer.reads_for(0.1)


async def test_the_outbox_of_newcomers_is_as_newly_set(autojump_clock):
    async with open_house() as place:
        reconfigure(place, outbox_bytes=4096)
        ours, theirs = socket.socketpair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        deaf = await place.comes((ours, theirs)).is_named("Deaf")
        await deaf.send(b"help\n" * 100)
        await trio.sleep(1)
        assert place.server.hall.players == []


# Nothing is left over.


async def test_all_counters_return_to_zero_when_everybody_has_left(autojump_clock):
    async with open_house(per_address=5, new_per_minute=30, max_unnamed=5) as place:
        for number in range(40):
            address = f"192.0.2.{number % 4}"
            person = comes(place, address)
            sent = (HTTP, b"\n", b"x" * 600, b"", b"Anna AAAA-AAAA\n")[number % 5]
            with contextlib.suppress(BrokenPipeError):  # if they are refused
                await person.send(sent)
            if number % 7 == 0:
                person.hangs_up()
        await trio.testing.wait_all_tasks_blocked()
        assert all(counters(place))
        for person in place.people:
            person.hangs_up()
        await trio.sleep(100)
        assert counters(place) == [0, 0, 0]


async def test_a_million_strangers_are_not_remembered(autojump_clock, caplog):
    async with open_house(per_address=1, new_per_minute=1, known_addresses=50) as place:
        gate = place.server.door._gate
        for number in range(500):
            address = f"2001:db8:0:{number:x}::1"
            assert await is_admitted(place, address)
            assert not await is_admitted(place, address)
            assert gate.known <= 50
        assert not gate._connected
    assert len(warnings(caplog)) <= limits.LOG_KINDS + 1


@pytest.mark.parametrize("how", ["hangs up", "quits", "resigns"])
async def test_of_those_who_are_gone_nothing_waits_for_the_garbage_collector(
    autojump_clock, monkeypatch, how
):
    """It is told to look seldom, so what refers to itself would pile up with every visitor."""
    monkeypatch.setattr(logging.getLogger("duel_daemon"), "disabled", True)  # pytest keeps records
    gc.collect()
    gc.disable()
    try:
        async with open_house(return_seconds=60) as place:
            people = await place.pair()
            hall = place.server.hall
            kept = [weakref.ref(thing) for thing in (*hall.players, *hall.tables.values())]
            kept += [weakref.ref(peer) for peer in place.server.door.inside]
            assert len(kept) == 5
            for person in people:
                await person.types({"quits": "quit", "resigns": "resign"}.get(how, "help"))
                await person.reads_for(1)
                person.hangs_up()
            await trio.sleep(100)
            place.people.clear()
            assert [thing() for thing in kept if thing() is not None] == []
    finally:
        gc.enable()


# The log.


async def test_the_log_says_each_thing_once_a_minute(autojump_clock, caplog):
    async with open_house(per_address=1, max_connections=3, max_unnamed=2) as place:
        comes(place, HERE)
        for _ in range(100):
            await refusal(place, HERE)
        comes(place, THERE)
        await refusal(place, THERE)
        comes(place, ELSEWHERE)
        await trio.sleep(2)
        reconfigure(place, max_unnamed=100)
        comes(place, "192.0.2.4")
        for _ in range(50):
            await refusal(place, "192.0.2.5")
        await trio.sleep(40)
        once = [
            f"{HERE} is refused: at-once",
            f"{THERE} is refused: at-once",
            "over 2 connections without a name",
            "no room for more than 3 connections",
        ]
        assert warnings(caplog) == once
        comes(place, THERE)
        await trio.sleep(20)
        await refusal(place, THERE)
        await trio.sleep(0.5)
    assert warnings(caplog)[:4] == once


async def test_a_scan_leaves_a_handful_of_lines_in_the_log(autojump_clock, caplog):
    """A thousand who connect and say nothing, little, or what no person says."""
    chosen = {"per_address": 40, "new_per_minute": 120, "name_seconds": 5, "max_connections": 300}
    async with open_house(**chosen) as place:
        for number in range(1000):
            person = comes(place, f"198.51.100.{number % 250}" if number % 2 else LOOPBACK)
            with contextlib.suppress(BrokenPipeError):
                await person.send(
                    (b"", HTTP, b"x", b"Anna AAAA-AAAA\n" * 3, b"\x16\x03\x01")[number % 5]
                )
            if number % 3:
                person.hangs_up()
            await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(10)
        for person in place.people:
            person.hangs_up()
        await trio.sleep(10)
        assert counters(place) == [0, 0, 0]
    said = [r.getMessage() for r in caplog.records if r.levelno >= logging.INFO]
    assert 2 <= len(said) <= 10, said
    assert any("is no player: another protocol" in text for text in said)


async def test_a_player_who_goes_is_logged_and_a_stranger_is_not(autojump_clock, caplog):
    async with open_house() as place:
        await comes_as(place, "Anna")
        comes(place)
        await trio.testing.wait_all_tasks_blocked()
        for person in place.people:
            person.hangs_up()
        await trio.sleep(2)
    gone = [r.getMessage() for r in caplog.records if "is gone" in r.getMessage()]
    assert gone == ["c1 is gone: end of input"]


async def test_a_64_of_ipv6_is_one_thing_in_the_log(autojump_clock, caplog):
    async with open_house(per_address=1) as place:
        for number in range(1, 100):
            comes(place, f"2001:db8::{number:x}")
    assert warnings(caplog) == ["2001:db8::2 is refused: at-once"]


async def test_each_connection_costs_at_most_two_lines_of_the_log(autojump_clock, caplog):
    async with open_house() as place:
        for data in (HTTP, b"\x16\x03\x01\x02\x00\x01", b"x" * 70_000, b"Anna\nquit\n", b""):
            person = comes(place)
            await person.send(data)
            await person.reads_for(2)
            person.hangs_up()
            await trio.sleep(2)
    for ident in range(1, 6):
        said = [r.getMessage() for r in caplog.records if r.getMessage().startswith(f"c{ident} ")]
        assert len(said) <= 2


# New limits, for those who are here.


async def test_a_new_line_rate_holds_for_whoever_is_connected(autojump_clock):
    async with open_house(**RATED) as place:
        anna = await place.comes_as("Anna")
        reconfigure(place, line_burst=10_000, lines_per_second=10_000)
        await anna.send(b"time\n" * 400)
        before = trio.current_time()
        assert (await anna.reads_for(0.1)).count("time works in a duel") == 400
        assert trio.current_time() - before < 0.2
        reconfigure(place, line_burst=1, lines_per_second=1)
        await anna.send(b"time\n" * 10)
        assert (await anna.reads_for(5.1)).count("time works in a duel") <= 6


async def test_a_new_time_for_a_line_holds_for_a_line_that_has_begun(autojump_clock):
    async with open_house(line_seconds=3000) as place:
        anna = await place.comes_as("Anna")
        await anna.send(b"pla")
        await trio.sleep(10)
        reconfigure(place, line_seconds=20)
        assert (await anna.reads_to_the_end()).endswith(f"* Your line did not end. {CLOSED}\n")
        assert trio.current_time() == pytest.approx(20, abs=1.5)


async def test_a_longer_time_for_a_line_holds_for_a_line_that_has_begun(autojump_clock):
    async with open_house(line_seconds=20) as place:
        anna = await place.comes_as("Anna")
        await anna.send(b"wh")
        await trio.sleep(10)
        reconfigure(place, line_seconds=3000)
        await trio.sleep(1000)
        await anna.send(b"o\n")
        await anna.reads("1 person is here")


async def test_a_new_longest_line_holds_for_whoever_is_connected_and_is_named(autojump_clock):
    async with open_house() as place:
        anna = await place.comes_as("Anna")
        reconfigure(place, line_bytes=200)
        await anna.send(b"x" * 201 + b"\n")
        await anna.reads("* That line was too long (200 bytes at most). Nothing was done.\n")
        reconfigure(place, line_bytes=4000)
        await anna.send(b"x" * 4000 + b"\n")
        await anna.reads("* There is no command 'xxx")


async def test_a_new_outbox_holds_for_whoever_is_connected(autojump_clock):
    async with open_house(outbox_bytes=2**20) as place:
        anna = await place.comes_as("Anna")
        reconfigure(place, outbox_bytes=4096)
        peer = place.server.hall.find("Anna").peer
        while not peer.lost:
            await anna.send(b"help\n")
            await trio.testing.wait_all_tasks_blocked()
            assert len(peer._backlog) <= 4096
        assert peer.lost == "does not read"


async def test_the_tries_for_a_code_are_for_the_operator_to_say(autojump_clock):
    async with open_house(code_tries=5) as place:
        anna = comes(place)
        await anna.send(b"Anna AAAA-AAAA\n" * 6)
        text = await anna.reads_to_the_end()
        assert text.count("Nobody of that name can come back with that code.") == 5
        assert text.endswith(f"* Too many wrong codes. {CLOSED}\n")


async def test_how_often_the_log_says_a_thing_is_for_the_operator_to_say(autojump_clock, caplog):
    async with open_house(per_address=1, log_seconds=10) as place:
        comes(place)
        for _ in range(3):
            await refusal(place)
            await trio.sleep(5)
        reconfigure(place, log_seconds=2)
        await trio.sleep(3)
        await refusal(place)
    once = f"{HERE} is refused: at-once"
    assert warnings(caplog) == [once, f"{once} (1 more before)", once]


# What systemd holds for us.


class Told(Service):
    """What systemd would be told of connections."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self.forgotten: list[str] = []

    def keep(self, name: str, sock: socket.socket) -> None:
        self.kept.append(name)

    def forget(self, name: str) -> None:
        self.forgotten.append(name)


async def test_of_a_crowd_that_is_refused_systemd_hears_once_a_second(autojump_clock):
    async with open_house(per_address=2) as place:
        place.server.service = told = Told()
        for _ in range(2):
            comes(place)
        assert len(told.kept) == 2
        for number in range(3):
            for _ in range(100):
                assert await refusal(place) == AT_ONCE.format(2)
            assert len(told.kept) == 3 + number
            assert told.forgotten == told.kept[2:]
            await trio.sleep(REFUSING_SECONDS)
        await refusal(place)
        await comes(place, THERE).reads(NAME_PROMPT)  # in the middle of it
        assert len(told.kept) == 7
        assert told.forgotten == told.kept[2:6]


# After a restart.


async def test_connections_of_the_last_process_count_and_stay(autojump_clock, caplog):
    with socket.create_server((LOOPBACK, 0)) as listener:
        clients = [socket.create_connection(listener.getsockname()) for _ in range(5)]
        pairs = [(client, listener.accept()[0]) for client in clients]
    kept = {f"c{number}": theirs for number, (_, theirs) in enumerate(pairs, 1)}
    service = FakeStore(kept)
    service.stored = {name: sock.dup() for name, sock in kept.items()}
    chosen = Settings(**{**QUIET, "per_address": 2, "new_per_minute": 2, "max_connections": 3})
    server = Server(chosen, [], memory=Memory(Journal(None), Archivist(None)), service=service)
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        place = Place(server)
        for ours, _ in pairs:
            ours.setblocking(False)
            place.people.append(Person(trio.socket.from_stdlib_socket(ours)))
            await place.people[-1].reads(NAME_PROMPT)
        assert counters(place) == [5, 5, 1]
        assert server.door._gate.connected(LOOPBACK) == 5
        assert await refusal(place, THERE) == FULL
        for person in place.people[:3]:
            person.hangs_up()
        await trio.sleep(2)
        assert server.door._gate.connected(LOOPBACK) == 2
        assert await refusal(place, LOOPBACK) == AT_ONCE.format(2)
        assert await is_admitted(place, THERE)  # and being restored was nothing new
        place.people[3].hangs_up()
        await trio.sleep(2)
        assert await is_admitted(place, LOOPBACK)
        for person in place.people:
            person.hangs_up()
        await trio.sleep(2)
        assert counters(place) == [0, 0, 0]
        server.stop()
    for sock in kept.values():
        sock.close()
    full, at_once = "no room for more than 3 connections", f"{LOOPBACK} is refused: at-once"
    assert warnings(caplog) == [full, at_once]
