"""The benchmark still measures what it says. How fast anything is, no test asks."""

import argparse
import importlib
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent / "duel_daemon"
BENCH = HOUSE.parent / "bench"


@pytest.fixture
def bench(monkeypatch):
    """Its rooms by name; they import each other as scripts do."""
    if not BENCH.exists():
        pytest.skip("bench/ is not here")
    monkeypatch.syspath_prepend(str(BENCH))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCH)):
            del sys.modules[name]


def test_the_shares_of_a_move_are_of_rooms_that_exist(bench) -> None:
    rooms = {path.stem for path in HOUSE.iterdir()}
    assert set(bench("sampled").SHARE_OF) <= rooms


def test_all_three_servers_are_measured_side_by_side(bench, capsys) -> None:
    run = bench("run")
    options = argparse.Namespace(rounds=1, seconds=0.05, duels=[2], functions=3)
    measured = run.Bench(options)
    measured.learn(run.CLASSROOM)
    for kind in run.servers.KINDS:
        measured.session(kind, run.CLASSROOM, 2, latency=True)
    measured.start_up(times=1)
    run.report(measured)
    shown = capsys.readouterr().out
    for what in ("moves a second, classroom, 2 duels", "p99 of a move", "memory per connection"):
        (row,) = [line for line in shown.splitlines() if line.startswith(what)]
        assert row.count("  ") >= 4
    assert "Start-up against `import trio`" in shown


def test_where_the_time_of_a_move_goes_is_seen(bench) -> None:
    run = bench("run")
    options = argparse.Namespace(rounds=1, seconds=0.2, duels=[2], functions=3)
    measured = run.Bench(options)
    measured.learn(run.CLASSROOM)
    shares = {share for share, _ in measured.profile(run.CLASSROOM)}
    assert {"socket", "journal", "house"} <= shares
