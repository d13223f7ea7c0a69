"""A small storm; `make storm` runs the full one. What it took in time is printed, not judged."""

import os
import sys

import pytest
from storm import CROWD, SMALL, stranger_address
from storm import storm as run_storm

GROWTH_KIB = 32 * 1024  # generous: 100 strangers at 64 KiB each, and what Python keeps for later


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
    assert report.rss_kib["most"] - report.rss_kib["before"] < GROWTH_KIB
    assert {"silent", "a byte a second", "never read", "flood", "catalogue", "random bytes",
            "gone at once", "other protocols"} <= set(report.strangers)  # fmt: skip


def test_no_two_strangers_share_an_address_unless_they_want_to():
    addresses = [stranger_address(number) for number in range(100_000)]
    assert len(set(addresses)) == len(addresses)
    assert CROWD not in addresses
