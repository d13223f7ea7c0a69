"""Who is heard when, and that being heard costs no more than it must."""

import contextlib
import socket

import pytest
import trio
import trio.testing
from kit import bare_peer, open_house

from duel_daemon.ears import IN_A_ROUND, Ears
from duel_daemon.peer import PeerLimits


@contextlib.contextmanager
def pairs(number):
    """Our ends and theirs."""
    with contextlib.ExitStack() as stack:
        both = [socket.socketpair() for _ in range(number)]
        for ours, theirs in both:
            stack.enter_context(ours)
            stack.enter_context(theirs)
        yield [ours for ours, _ in both], [theirs for _, theirs in both]


@contextlib.asynccontextmanager
async def listening(end_round):
    with contextlib.closing(Ears(end_round)) as ears:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ears.run)
            yield ears
            nursery.cancel_scope.cancel()


async def test_all_who_have_sent_something_are_heard_in_one_round():
    happened = []
    with pairs(3) as (ours, theirs):
        async with listening(lambda: happened.append("end")) as ears:
            for number, sock in enumerate(theirs):
                ears.listen(
                    sock.fileno(), lambda now, n=number: happened.append((n, theirs[n].recv(9)))
                )
            for sock in ours:
                sock.send(b"x")
            await trio.testing.wait_all_tasks_blocked()
    assert sorted(happened[:3]) == [(0, b"x"), (1, b"x"), (2, b"x")]
    assert happened[3:] == ["end"]


async def test_others_get_their_turn_between_the_rounds():
    heard, ends = [], []
    with pairs(2 * IN_A_ROUND) as (ours, theirs):
        for sock in ours:
            sock.send(b"x")
        async with listening(lambda: ends.append(len(heard))) as ears:
            for sock in theirs:
                ears.listen(sock.fileno(), lambda now, sock=sock: heard.append(sock.recv(9)))
            await trio.testing.wait_all_tasks_blocked()
    assert ends == [IN_A_ROUND, 2 * IN_A_ROUND]


async def test_whoever_is_ignored_in_a_round_is_not_heard_in_it():
    heard = []
    with pairs(2) as (ours, theirs):
        async with listening(lambda: None) as ears:

            def hear(now):
                heard.append(now)
                for sock in theirs:
                    ears.ignore(sock.fileno())

            for sock in theirs:
                ears.listen(sock.fileno(), hear)
            for sock in ours:
                sock.send(b"x")
            await trio.testing.wait_all_tasks_blocked()
            assert len(heard) == 1
            for sock in theirs:
                ears.ignore(sock.fileno())  # a second time is as good as once


@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_busy_connection_is_neither_read_nor_heard_over_and_over(is_closed):
    ours, theirs = socket.socketpair()
    with ours:
        async with bare_peer(theirs, PeerLimits()) as (peer, _):
            ours.send(b"one\n")
            assert await peer.line() == "one"
            ours.send(b"two\n")
            if is_closed:
                ours.close()
            await trio.testing.wait_all_tasks_blocked()  # would not come to rest
            assert theirs.recv(9, socket.MSG_PEEK) == b"two\n"
            assert await peer.line() == "two"


class Steps(trio.abc.Instrument):
    """Which tasks were run."""

    def __init__(self):
        self.tasks = []

    def before_task_step(self, task):
        self.tasks.append(task.name)


async def test_a_move_wakes_nobodys_task(autojump_clock):
    """Neither the connections' nor the table's: that would cost more than the move."""
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.reads("Enter your chosen divisor: ")
        await ben.reads("of 60: ")
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        await anna.types("30")
        await ben.reads("Enter your chosen divisor: ")
        trio.lowlevel.remove_instrument(steps)
        ours = {name for name in steps.tasks if name.startswith("duel_daemon")}
        assert ours == {"duel_daemon.ears.Ears.run"}
