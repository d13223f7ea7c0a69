"""A small storm; `make storm` runs the full one. What it took in time is printed, not judged.

And what no storm of that size reaches: a daemon that is out of file descriptors.
"""

import contextlib
import os
import re
import resource
import sys
import time

import pytest
from storm import CROWD, SMALL, descriptors, stranger_address
from storm import storm as run_storm
from terminal import NAME_PROMPT, Guest, daemon

GROWTH_KIB = 32 * 1024  # generous: 100 strangers at 64 KiB each, and what Python keeps for later
PLATEAU_KIB = 4 * 1024  # that is there for the next storm, so that it needs next to nothing more


def has_many_addresses():
    """Whether strangers can come from all over 127.0.0.0/8, as on Linux they can."""
    return sys.platform == "linux" and os.path.exists("/proc/self/fd")


@pytest.mark.skipif(not has_many_addresses(), reason="needs Linux: /proc and all of 127.0.0.0/8")
def test_in_a_storm_honest_players_play_on_and_nothing_is_left_of_it(capsys):
    report = run_storm(SMALL)
    with capsys.disabled():
        if os.environ.get("STORM_TABLE"):
            print(f"\n{report.table()}")
    assert report.tracebacks == 0, report.log
    assert report.wrong == []
    assert report.cut == 0
    assert report.duels >= SMALL.pairs
    assert report.storm
    assert report.descriptors["most"] > report.descriptors["before"] + 2 * SMALL.pairs
    assert report.descriptors["after"] <= report.descriptors["before"]
    assert report.rss_kib["most"] - report.rss_kib["calm"] < GROWTH_KIB
    assert report.growth_kib[1] < PLATEAU_KIB
    assert {"silent", "a byte a second", "never read", "flood", "catalogue", "random bytes",
            "gone at once", "other protocols"} <= set(report.strangers)  # fmt: skip


def test_no_two_strangers_share_an_address_unless_they_want_to():
    addresses = [stranger_address(number) for number in range(100_000)]
    assert len(set(addresses)) == len(addresses)
    assert CROWD not in addresses


# Out of descriptors.

SHORTAGE = re.compile(r"warning cannot accept connections for now: Too many open files(.*)\n")
ROOM = 3  # descriptors that are left for the crowd
CROWD_SIZE = 12


def has_prlimit():
    return hasattr(resource, "prlimit") and has_many_addresses()


@pytest.mark.skipif(not has_prlimit(), reason="needs Linux: prlimit and /proc")
def test_out_of_descriptors_what_is_served_goes_on_and_the_rest_is_served_later(tmp_path):
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(daemon("--state", str(tmp_path), "--log-seconds", "1"))
        pid = running.process.pid
        anna = stack.enter_context(Guest(running.port)).is_named("Anna")
        ben = stack.enter_context(Guest(running.port)).is_named("Ben")
        ben.waits_for("Player 1's turn.")
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        most = descriptors(pid) + ROOM
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, usual[1]))
        began = time.monotonic()
        crowd = [stack.enter_context(Guest(running.port)) for _ in range(CROWD_SIZE)]
        for guest in crowd[:ROOM]:
            guest.waits_for(NAME_PROMPT)
        running.log.waits_for("more before)")  # it was tried again and again, and said once

        # Those who are here play to the end, and it is recorded.
        for mover, divisor in ((anna, 30), (ben, 15), (anna, 5), (ben, 5)):
            mover.waits_for("Enter your chosen divisor: ", last=True)
            mover.types(str(divisor))
        for player in (anna, ben):
            player.waits_for("* Recorded as duel 1.")
        assert descriptors(pid) == most
        assert all(guest.text == "" and not guest.receives(0) for guest in crowd[ROOM:])

        # Whoever goes makes room for one who waits.
        crowd[0].sock.close()
        crowd[ROOM].waits_for(NAME_PROMPT)
        assert not any(guest.receives(0) for guest in crowd[ROOM + 1 :])

        # And when there is room, all of them are served.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
        for guest in crowd[ROOM + 1 :]:
            guest.waits_for(NAME_PROMPT)
        said = SHORTAGE.findall(running.log.text)
        assert 2 <= len(said) <= 1 + (time.monotonic() - began)
        assert said[0] == ""
        assert "Traceback" not in running.log.text
