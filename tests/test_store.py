import contextlib
import errno
import itertools
import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duel_daemon import names, records, store
from duel_daemon.records import DuelRecord, Standing
from duel_daemon.store import FILE, LOCK, MIGRATIONS, Store, StoreError, StoreTrouble, migrate

NOON = 1_700_000_000.0  # 2023-11-14, 22:13:20 UTC
BAD_INPUTS = Path(__file__).parent / "captures" / "bad_inputs.jsonl"

# hypothesis fills one store after another: each example opens its own directory
many = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
_counter = itertools.count(1)


def open_store(directory: Path) -> Store:
    return Store.open(directory, now=lambda: NOON)


def a_record(uid: str | None = None, **fields: object) -> DuelRecord:
    """A duel like many others, but for what is said."""
    usual = {
        "started": NOON,
        "ended": NOON + 60,
        "players": ("Anna", "Ben"),
        "rulebook": "divisor-duel",
        "start": 60,
        "restriction": "any",
        "violations": 3,
        "turns": ((30, 4.25), (15, 2.5), (5, 0.125)),
        "winner": 1,
        "reason": "no-move-left",
        "match": None,
        "match_terms": "divisor-duel 60",
    }
    return DuelRecord(uid=uid or f"duel-{next(_counter)}", **{**usual, **fields})  # type: ignore[arg-type]


def a_directory(tmp_path: Path) -> Path:
    directory = tmp_path / f"state-{next(_counter)}"
    directory.mkdir()
    return directory


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """In memory, where there is such a place: hundreds of examples need no disk to wait for."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


# What goes in comes out.

seconds = st.floats(allow_nan=False, allow_infinity=False)
any_record = st.builds(
    DuelRecord,
    uid=st.text(),
    started=seconds,
    ended=seconds,
    players=st.tuples(st.text(), st.text()),
    rulebook=st.text(),
    start=st.integers(4, 10**18),
    restriction=st.text(),
    violations=st.integers(0, 1000),
    turns=st.lists(st.tuples(st.integers(0, 10**512), seconds)).map(tuple),
    winner=st.sampled_from((1, 2, None)),
    reason=st.text(),
    match=st.none() | st.text(),
    match_terms=st.text(),
)


@many
@given(duels=st.lists(any_record, max_size=5, unique_by=lambda record: record.uid))
def test_a_record_comes_out_as_it_went_in(quick_path: Path, duels: list[DuelRecord]) -> None:
    directory = a_directory(quick_path)
    first = open_store(directory)
    numbers = first.add(duels)
    first.close()
    again = open_store(directory)
    assert [again.duel(number) for number in numbers] == duels
    assert again.history(None, 10) == list(zip(numbers, duels, strict=True))[::-1]
    again.close()


def test_a_lost_turn_of_512_digits_is_kept(kept: Store) -> None:
    record = a_record(turns=((int("9" * 512), 1.0),))
    assert kept.duel(kept.add([record])[0]) == record


def nasty_names() -> list[str]:
    """The lines of the bad inputs, both as a stranger sent them and as the wire lets them pass."""
    cases = [json.loads(line) for line in BAD_INPUTS.read_text("utf-8").splitlines()]
    sent = [bytes.fromhex(case.get("hex", "")).decode(errors="replace") for case in cases]
    passed = [line for case in cases if isinstance(case["lines"], list) for line in case["lines"]]
    return [*sent, *filter(None, passed), "\0", "'", '"', "a\0b", "%", "NULL", "--"]


def test_no_name_breaks_anything(kept: Store) -> None:
    nasty = nasty_names()
    for name in nasty:
        record = a_record(players=(name, "Ben"), reason=name, match=name, match_terms=name)
        (number,) = kept.add([record])
        assert kept.duel(number) == record
        assert kept.history(name, 1) == [(number, record)]
    assert len(kept.history("ben", 1000)) == len(nasty)
    assert sum(each.duels for each in kept.standings(1000)) == 2 * len(nasty)


# Numbers are given once.


def test_the_same_duel_twice_is_stored_once(kept: Store) -> None:
    one, two, three = a_record(), a_record(), a_record()
    assert kept.add([one, two, one]) == [1, 2, 1]
    assert kept.add([two, three]) == [2, 3]
    assert [number for number, _ in kept.history(None, 10)] == [3, 2, 1]


def test_numbers_go_on_after_a_restart_even_if_the_last_duels_were_deleted(tmp_path: Path) -> None:
    first = open_store(tmp_path)
    first.add([a_record(), a_record()])
    first.close()
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("DELETE FROM duels WHERE number = 2")
    db.close()
    again = open_store(tmp_path)
    assert again.add([a_record()]) == [3]
    again.close()


def test_nothing_to_add_is_nothing_added(kept: Store) -> None:
    assert kept.add([]) == []


@pytest.mark.parametrize("number", [-1, 0, 2, 2**63 - 1, 2**63, 10**500])
def test_there_is_no_duel_of_a_number_never_given(kept: Store, number: int) -> None:
    kept.add([a_record()])
    assert kept.duel(number) is None


# History and standings.


def test_history_is_the_newest_first_and_knows_a_name_however_it_is_written(kept: Store) -> None:
    kept.add([a_record(players=("Anna", "Ben")), a_record(players=("Cleo", "ANNA"))])
    kept.add([a_record(players=("Ben", "Cleo"))])
    assert [number for number, _ in kept.history("anna", 10)] == [2, 1]
    assert [number for number, _ in kept.history("Ben", 10)] == [3, 1]
    assert [number for number, _ in kept.history(None, 2)] == [3, 2]
    assert [number for number, _ in kept.history("Cleo", 1)] == [3]
    assert kept.history("Dora", 10) == []


def naive_standings(duels: list[DuelRecord]) -> list[Standing]:
    """Duel by duel, with a list of wins and losses for everybody."""
    went: dict[str, list[bool]] = defaultdict(list)
    called: dict[str, str] = {}
    for duel in duels:
        for seat, name in enumerate(duel.players, 1):
            if duel.winner is not None:
                went[names.key(name)].append(duel.winner == seat)
                called[names.key(name)] = name
    rows = []
    for key, wins in went.items():
        run = len(list(itertools.takewhile(lambda won, last=wins[-1]: won == last, wins[::-1])))
        streak = run if wins[-1] else -run
        rows.append((key, Standing(called[key], sum(wins), len(wins), streak)))
    rows.sort(key=lambda row: (-row[1].wins, -row[1].win_rate, row[1].duels, row[0]))
    return [standing for _, standing in rows]


some_players = st.permutations(["Anna", "Ben", "Cleo", "Dora"]).map(
    lambda order: (order[0], order[1])
)
some_duels = st.lists(st.tuples(some_players, st.booleans(), st.sampled_from((1, 2, None))))


@many
@given(played=some_duels, limit=st.integers(1, 5))
def test_standings_are_as_one_would_count_them(quick_path: Path, played: list, limit: int) -> None:
    duels = [
        a_record(players=(one.upper() if loud else one, two), winner=winner)
        for (one, two), loud, winner in played
    ]
    opened = open_store(a_directory(quick_path))
    opened.add(duels)
    assert opened.standings(limit) == naive_standings(duels)[:limit]
    opened.close()


def test_a_duel_that_nobody_won_is_remembered_but_not_counted(kept: Store) -> None:
    kept.add([a_record(winner=1), a_record(winner=None, reason="stopped")])
    assert kept.standings(10) == [Standing("Anna", 1, 1, 1), Standing("Ben", 0, 1, -1)]
    assert len(kept.history("Anna", 10)) == 2


# Records that cannot be kept cannot be made.


@pytest.mark.parametrize(
    "wrong",
    [
        {"winner": 3},
        {"start": 2**63},
        {"violations": -1},
        {"started": float("nan")},
        {"ended": float("inf")},
        {"players": ("Anna", "\ud800")},
        {"reason": b"time"},
        {"turns": ((2, float("nan")),)},
        {"turns": ((2**records.LONGEST_DIVISOR_BITS, 1.0),)},
    ],
    ids=str,
)
def test_a_record_that_could_not_be_stored_cannot_be_made(wrong: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        a_record(**wrong)


def test_every_field_of_a_record_is_stored() -> None:
    fields = {field.name for field in attrs.fields(DuelRecord)}
    assert fields == {*store._AS_THEY_ARE, "players", "winner", "turns"}


# The file: its layout, its versions.


def test_the_file_says_what_its_columns_mean(kept: Store) -> None:
    tables = kept._db.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchall()
    documented = [sql for (sql,) in tables if "sqlite_sequence" not in sql]
    assert len(documented) == 2
    assert all("--" in sql for sql in documented)


def test_results_are_safe_from_a_power_cut(kept: Store) -> None:
    pragmas = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "user_version": 1}
    assert {name: kept._db.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas} == pragmas


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


STEPS = (
    "CREATE TABLE a (x); INSERT INTO a VALUES (7)",
    "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1",
    "CREATE TABLE b AS SELECT y FROM a",
)


@pytest.mark.parametrize("version", range(len(STEPS) + 1))
def test_a_file_of_any_older_version_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    db = sqlite3.connect(tmp_path / "file", isolation_level=None)
    migrate(db, tmp_path / "file", STEPS[:version])
    assert version_of(db) == version
    migrate(db, tmp_path / "file", STEPS)
    assert version_of(db) == len(STEPS)
    assert db.execute("SELECT x, a.y, b.y FROM a, b").fetchall() == [(7, 8, 8)]
    db.close()


def test_a_step_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "file", isolation_level=None)
    with pytest.raises(StoreError, match=r"cannot be brought to version 2 \(no such table: c\)"):
        migrate(db, tmp_path / "file", (STEPS[0], "INSERT INTO a VALUES (8); DELETE FROM c"))
    assert version_of(db) == 1
    assert db.execute("SELECT x FROM a").fetchall() == [(7,)]
    db.close()


def test_a_step_without_room_on_the_disk_is_no_mistake_in_the_step(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "file", isolation_level=None)
    db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        migrate(db, tmp_path / "file", STEPS)
    assert version_of(db) == 0
    db.close()


def test_results_of_this_version_survive_the_next_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_store(tmp_path)
    record = a_record()
    first.add([record])
    first.close()
    later = (*MIGRATIONS, "ALTER TABLE duels ADD COLUMN remark TEXT")
    monkeypatch.setattr(store, "MIGRATIONS", later)
    again = open_store(tmp_path)
    assert again.history(None, 10) == [(1, record)]
    assert version_of(again._db) == len(later)
    again.close()


def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(StoreError, match=r"written by a newer duel-daemon .*version 2.* knows 1"):
        open_store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before
    assert asides(tmp_path) == []


# A file that is damaged.


def asides(directory: Path) -> list[str]:
    """What was moved aside, without what SQLite keeps beside a file."""
    found = sorted(path.name for path in directory.glob(f"{FILE}.bad-*"))
    return [name for name in found if not name.endswith(("-wal", "-shm"))]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 40 duels."""
    directory = tmp_path_factory.mktemp("sound")
    opened = open_store(directory)
    opened.add([a_record() for _ in range(40)])
    opened.close()
    return directory / FILE


def is_usable(opened: Store) -> bool:
    (number,) = opened.add([a_record()])
    opened.history("Anna", 100)
    opened.standings(100)
    return opened.duel(number) is not None and opened.history(None, 1)[0][0] == number


def test_a_damaged_file_is_moved_aside_and_new_results_are_begun(
    tmp_path: Path, sound: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = sound.read_bytes()[: sound.stat().st_size // 2]
    (tmp_path / FILE).write_bytes(damaged)
    opened = open_store(tmp_path)
    assert opened.history(None, 10) == []
    assert is_usable(opened)
    opened.close()
    assert asides(tmp_path) == [f"{FILE}.bad-20231114T221320Z"]
    assert (tmp_path / asides(tmp_path)[0]).read_bytes() == damaged
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"It is kept as {tmp_path / asides(tmp_path)[0]}" in caplog.text


def test_a_file_moved_aside_overwrites_none_from_before(tmp_path: Path) -> None:
    for content in (b"first " * 99, b"second " * 99, b"third " * 99):
        (tmp_path / FILE).write_bytes(content)
        open_store(tmp_path).close()
    kept_aside = {(tmp_path / name).read_bytes()[:5] for name in asides(tmp_path)}
    assert kept_aside == {b"first", b"secon", b"third"}


@many
@given(octets=st.lists(st.integers(0, 255), min_size=2, max_size=5000))
def test_random_bytes_are_no_results(quick_path: Path, octets: list[int]) -> None:
    directory = a_directory(quick_path)
    (directory / FILE).write_bytes(bytes(octets))
    opened = open_store(directory)
    assert is_usable(opened)
    opened.close()
    assert len(asides(directory)) == 1


@many
@given(part=st.floats(0.0001, 0.9999))
def test_a_file_cut_short_is_moved_aside(quick_path: Path, sound: Path, part: float) -> None:
    """If less than a page is missing, that may pass for flipped bits, and the rest be usable."""
    directory, size = a_directory(quick_path), sound.stat().st_size
    (directory / FILE).write_bytes(sound.read_bytes()[: int(part * size)])
    opened = open_store(directory)
    assert is_usable(opened)
    opened.close()
    assert len(asides(directory)) == 1 or (1 - part) * size < 4096


@settings(many, max_examples=300)
@given(flips=st.lists(st.tuples(st.integers(100), st.integers(0, 7)), min_size=1, max_size=8))
def test_flipped_bits_never_stop_the_daemon(
    quick_path: Path, sound: Path, flips: list[tuple[int, int]]
) -> None:
    """In the header's first 100 bytes they may look like a newer version, which is refused."""
    directory, damaged = a_directory(quick_path), bytearray(sound.read_bytes())
    for place, bit in flips:
        damaged[100 + place % (len(damaged) - 100)] ^= 1 << bit
    (directory / FILE).write_bytes(damaged)
    opened = open_store(directory)
    assert is_usable(opened)
    opened.close()


@pytest.mark.parametrize("place", range(100))
def test_a_flipped_bit_in_the_header_is_survived_or_explained(
    quick_path: Path, sound: Path, place: int
) -> None:
    for bit in range(8):
        directory, damaged = a_directory(quick_path), bytearray(sound.read_bytes())
        damaged[place] ^= 1 << bit
        (directory / FILE).write_bytes(damaged)
        if 60 <= place < 64:  # the version, and so a newer one; or none
            with contextlib.suppress(StoreError):
                open_store(directory).close()
        elif place == 18 and bit != 1:  # tells older SQLites that they may only read
            with pytest.raises(StoreError, match="readonly"):
                open_store(directory)
        else:
            opened = open_store(directory)
            assert is_usable(opened)
            opened.close()


def test_a_row_that_cannot_be_read_is_left_out(
    kept: Store, caplog: pytest.LogCaptureFixture
) -> None:
    kept.add([a_record(), a_record()])
    kept._db.execute("UPDATE duels SET turns = '[[1,2' WHERE number = 1")
    assert [number for number, _ in kept.history(None, 10)] == [2]
    assert kept.duel(1) is None
    assert "Duel 1 cannot be read" in caplog.text


def test_what_the_log_of_a_damaged_file_holds_is_kept_with_it(tmp_path: Path) -> None:
    """After a kill the newest duels are in the -wal alone, which SQLite would delete."""
    source, damaged = a_directory(tmp_path), a_directory(tmp_path)
    opened = open_store(source)
    opened.add([a_record()])
    wal = (source / f"{FILE}-wal").read_bytes()
    opened.close()
    for main in (b"", b"no database at all " * 300):
        (damaged / FILE).write_bytes(main)
        (damaged / f"{FILE}-wal").write_bytes(wal)
        open_store(damaged).close()
    assert [(damaged / f"{name}-wal").read_bytes() for name in asides(damaged)] == [wal, wal]


def test_a_database_of_somebody_else_is_moved_aside(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("CREATE TABLE duels (pistols)")
    db.close()
    opened = open_store(tmp_path)
    assert is_usable(opened)
    opened.close()
    assert len(asides(tmp_path)) == 1


def test_a_file_whose_damage_sqlite_cannot_even_name_is_moved_aside(
    tmp_path: Path, sound: Path
) -> None:
    damaged = sound.read_bytes().replace(b"seats_by_key", b"\xf3eats_by_key", 1)
    (tmp_path / FILE).write_bytes(damaged)
    opened = open_store(tmp_path)
    assert is_usable(opened)
    opened.close()
    assert len(asides(tmp_path)) == 1


def test_a_damaged_file_that_cannot_be_moved_is_left_and_the_reason_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    (tmp_path / FILE).write_bytes(b"no database " * 99)
    with pytest.raises(StoreError, match="Permission denied"):
        open_store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == b"no database " * 99


# A place that will not do.


def mount(*args: str | Path) -> bool:
    return not subprocess.run(["mount", *args], capture_output=True, check=False).returncode


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid():
        pytest.skip("only root may mount a small disk")
    if not mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", place):
        pytest.skip("root may not mount here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"There is no directory .*nowhere.*; make it"):
        open_store(tmp_path / "nowhere")


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Not a directory"):
        open_store(tmp_path / "file")


def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(StoreError, match="unable to open database file"):
        open_store(tmp_path)


@pytest.mark.parametrize(("mode", "what"), [(0o555, "directory"), (0o444, "file")])
def test_without_the_permission_to_write_it_is_refused(
    tmp_path: Path, mode: int, what: str
) -> None:
    open_store(tmp_path).close()
    (tmp_path / LOCK).unlink()
    place = tmp_path if what == "directory" else tmp_path / FILE
    before = place.stat().st_mode
    place.chmod(mode)
    if os.access(place, os.W_OK):
        pytest.skip("root may write everywhere")
    with pytest.raises(StoreError, match=r"Permission denied|readonly"):
        open_store(tmp_path)
    place.chmod(before)


def test_a_read_only_disk_is_refused(small_disk: Path) -> None:
    open_store(small_disk).close()
    assert mount("-o", "remount,ro", small_disk)
    with pytest.raises(StoreError, match="Read-only file system") as caught:
        open_store(small_disk)
    assert not isinstance(caught.value, StoreTrouble)


def test_a_read_only_file_is_refused(small_disk: Path) -> None:
    open_store(small_disk).close()
    file = small_disk / FILE
    if not (mount("--bind", file, file) and mount("-o", "remount,bind,ro", file)):
        pytest.skip("a file cannot be mounted here")
    try:
        with pytest.raises(StoreError, match="readonly") as caught:
            open_store(small_disk)
        assert not isinstance(caught.value, StoreTrouble)
    finally:
        subprocess.run(["umount", "--lazy", file], check=True)


# The disk is full.


def test_a_full_file_is_trouble_that_passes(kept: Store) -> None:
    """As on a full disk, for machines where no small disk can be made."""
    first, rest = a_record(), [a_record() for _ in range(500)]
    kept.add([first])
    pages = kept._db.execute("PRAGMA page_count").fetchone()[0]
    kept._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreTrouble, match="disk is full"):
        kept.add(rest)
    assert kept.history(None, 1000) == [(1, first)]  # all or none
    kept._db.execute("PRAGMA max_page_count = 100000")
    assert kept.add(rest) == list(range(2, 502))


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_a_full_disk_is_trouble_that_passes(small_disk: Path) -> None:
    opened = open_store(small_disk)
    before, after = [a_record() for _ in range(5)], [a_record() for _ in range(200)]
    opened.add(before)
    filler = fill(small_disk)
    for _ in range(3):
        with pytest.raises(StoreTrouble):
            opened.add(after)
        assert [record for _, record in opened.history(None, 1000)] == before[::-1]
    filler.unlink()
    opened.add(after)
    opened.close()
    again = open_store(small_disk)
    assert [record for _, record in again.history(None, 1000)] == (before + after)[::-1]
    again.close()


def test_on_a_full_disk_opening_is_trouble_or_works(small_disk: Path) -> None:
    opened = open_store(small_disk)
    opened.add([a_record()])
    opened.close()
    filler = fill(small_disk)
    with contextlib.suppress(StoreTrouble):
        open_store(small_disk).close()
    filler.unlink()
    again = open_store(small_disk)
    assert len(again.history(None, 10)) == 1
    assert asides(small_disk) == []
    again.close()


def test_a_file_that_an_operator_has_locked_is_trouble_that_passes(
    kept: Store, tmp_path: Path
) -> None:
    operator = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    operator.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreTrouble, match="locked"):
        kept.add([a_record()])
    operator.execute("ROLLBACK")
    operator.close()
    assert kept.add([a_record()]) == [1]


def test_a_closed_store_is_trouble_and_closes_again(kept: Store) -> None:
    kept.close()
    with pytest.raises(StoreTrouble):
        kept.standings(10)
    kept.close()


# Other processes.

HOLDER = """
import sys, time
from pathlib import Path
from duel_daemon.store import Store

opened = Store.open(Path(sys.argv[1]), now=time.time)
print("open", flush=True)
sys.stdin.read()
"""


def python(script: str, *args: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_another_daemon_on_the_same_file_is_named(tmp_path: Path) -> None:
    with python(HOLDER, tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=rf"Another duel-daemon \(process {other.pid}\)"):
            open_store(tmp_path)
        other.kill()  # and however it dies, the file is free at once
        other.wait()
        open_store(tmp_path).close()


def test_another_daemon_that_could_not_leave_its_number_is_found_too(tmp_path: Path) -> None:
    opened = open_store(tmp_path)
    (tmp_path / LOCK).write_bytes(b"\xff?")
    with pytest.raises(StoreError, match="its process is not known"):
        open_store(tmp_path)
    opened.close()


def test_a_disk_that_knows_no_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(StoreError, match="No locks available"):
        open_store(tmp_path)


def test_a_store_that_could_not_be_opened_holds_no_lock(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(StoreError):
        open_store(tmp_path)
    (tmp_path / FILE).rmdir()
    open_store(tmp_path).close()


WRITER = """
import itertools, sys, time
from pathlib import Path
from duel_daemon.records import DuelRecord
from duel_daemon.store import Store

opened = Store.open(Path(sys.argv[1]), now=time.time)
rest = (1.0, 2.0, ("Anna", "Ben"), "divisor-duel", 60, "any", 3, ((30, 4.25),), 1, "resigned")
for i in itertools.count():
    uids = [f"{sys.argv[2]}-{i}-{j}" for j in range(1 + i % 7)]
    for number, uid in zip(opened.add([DuelRecord(uid, *rest) for uid in uids]), uids):
        print(number, uid, flush=True)
"""
KILLS = 20


def test_whatever_the_moment_of_a_kill_no_number_that_was_told_is_lost(tmp_path: Path) -> None:
    rng, told = random.Random(), {}
    for kill in range(KILLS):
        with python(WRITER, tmp_path, str(kill)) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(rng.randrange(1, 400))]
            writer.send_signal(signal.SIGKILL)
            lines += writer.stdout.readlines()
        whole = [line.split() for line in lines if line.endswith("\n")]
        told |= {int(number): uid for number, uid in whole}
    assert len(told) > KILLS
    opened = open_store(tmp_path)
    stored = {number: record.uid for number, record in opened.history(None, -1)}
    assert told.items() <= stored.items()
    assert opened._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert opened._db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert asides(tmp_path) == []
    opened.close()
