"""Results that last: finished duels in one SQLite file, and how that file is opened.

No trio and no threads: the archivist calls this from a thread of its own, one call at a time.
What is read here is what players saw, not what must be played on: that is the journal's.
"""

import contextlib
import errno
import fcntl
import io
import json
import logging
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from duel_daemon import names
from duel_daemon.records import DuelRecord, Standing

log = logging.getLogger("duel_daemon")

FILE = "duels.sqlite3"
LOCK = "duels.lock"
BUSY_SECONDS = 1.0  # for an operator's sqlite3 that has the file locked; then it counts as trouble
LARGEST_NUMBER = 2**63 - 1  # of a duel; whoever asks for a later one gets none

# The layout of the file, as steps: each leads from one version (PRAGMA user_version) to the next.
# A step that was released is never changed; a new layout is a new step at the end. The comments
# inside the statements are kept in the file: `sqlite3 duels.sqlite3 .schema` shows them.
MIGRATIONS = (
    """
    CREATE TABLE duels (
        -- A finished duel. Practice against the house is never here.
        number INTEGER PRIMARY KEY AUTOINCREMENT,  -- what `review` asks for; never used again
        uid TEXT NOT NULL UNIQUE,      -- given by the daemon, so that nothing is stored twice
        started REAL NOT NULL,         -- Unix seconds
        ended REAL NOT NULL,           -- Unix seconds; order duels by number, clocks jump
        rulebook TEXT NOT NULL,        -- the slug of the book
        start INTEGER NOT NULL,        -- the number the duel began at
        restriction TEXT NOT NULL,     -- any, even, odd, prime
        violations INTEGER NOT NULL,   -- invalid moves in a row that forfeit
        turns TEXT NOT NULL,           -- JSON: [[divisor, seconds], ...], Player 1 first; a
                                       -- divisor that cost the turn may have 512 digits
        reason TEXT NOT NULL,          -- why it ended: no-move-left, resigned, time, ...
        match TEXT,                    -- the same in all duels of a match; NULL: a single duel
        match_terms TEXT NOT NULL      -- what was agreed on, in the words one would type
    );
    CREATE TABLE seats (
        -- Who sat where and who won: two rows for each duel.
        duel INTEGER NOT NULL REFERENCES duels (number) ON DELETE CASCADE,
        seat INTEGER NOT NULL CHECK (seat IN (1, 2)),  -- Player 1 or Player 2
        name TEXT NOT NULL,            -- as it was shown then
        key TEXT NOT NULL,             -- what names are compared by: case and look-alikes folded
        won INTEGER CHECK (won IN (0, 1)),             -- NULL: nobody won this duel
        PRIMARY KEY (duel, seat)
    ) WITHOUT ROWID;
    CREATE INDEX seats_by_key ON seats (key, duel, won);  -- all that standings need
    """,
)

_AS_THEY_ARE = (  # the fields of a record that are columns by the same name
    "uid", "started", "ended", "rulebook", "start", "restriction", "violations",
    "reason", "match", "match_terms",
)  # fmt: skip
_COLUMNS = ", ".join(_AS_THEY_ARE)
_INSERT_DUEL = f"INSERT INTO duels ({_COLUMNS}, turns) VALUES ({'?, ' * len(_AS_THEY_ARE)}?)"
_INSERT_SEAT = "INSERT INTO seats (duel, seat, name, key, won) VALUES (?, ?, ?, ?, ?)"
_NUMBER_OF = "SELECT number FROM duels WHERE uid = ?"

# CROSS JOIN is SQLite's way to say which table comes first; its own choice sorts all duels.
_DUELS = f"""
    SELECT number, one.name, two.name, CASE WHEN one.won THEN 1 WHEN two.won THEN 2 END,
           turns, {_COLUMNS}
    FROM duels
    CROSS JOIN seats AS one ON one.duel = number AND one.seat = 1
    CROSS JOIN seats AS two ON two.duel = number AND two.seat = 2
"""
_DUEL = f"{_DUELS} WHERE number = ?"
_ALL_HISTORY = f"{_DUELS} ORDER BY number DESC LIMIT ?"
_HISTORY = f"""
    {_DUELS}
    WHERE number IN (SELECT duel FROM seats WHERE key = ? ORDER BY duel DESC LIMIT ?)
    ORDER BY number DESC
"""

# With equal wins the better rate is the one of fewer duels. A streak is as long as the duels since
# the last that went the other way; it is counted for those alone who are shown.
_STANDINGS = """
    WITH best AS (
        SELECT key, sum(won) AS wins, count(*) AS duels, max(duel) AS last,
               max(won * duel) AS last_won, max((1 - won) * duel) AS last_lost
        FROM seats WHERE won IS NOT NULL GROUP BY key ORDER BY wins DESC, duels, key LIMIT ?
    )
    SELECT (SELECT name FROM seats WHERE seats.key = best.key AND duel = last), wins, duels,
           (SELECT count(*) FROM seats WHERE won IS NOT NULL AND seats.key = best.key
            AND duel > min(last_won, last_lost)) * (CASE last WHEN last_won THEN 1 ELSE -1 END)
    FROM best ORDER BY wins DESC, duels, key
"""


class StoreError(Exception):
    """Why results cannot be kept, in one sentence for the operator (never for a player)."""


class StoreTrouble(StoreError):  # noqa: N818 - not an error of ours, nor for good
    """The same, where it may pass: the disk is full, or fails. What was asked has not happened."""


class _Unsound(StoreError):  # noqa: N818
    """What is wrong with a file that has to be moved aside."""


@attrs.define(eq=False)
class Store:
    """The file, open and ours alone. Whoever opens it closes it."""

    file: Path
    _db: sqlite3.Connection
    _lock: io.FileIO

    @classmethod
    def open(cls, directory: Path, *, now: Callable[[], float]) -> "Store":
        """Open the file in this directory, or begin one; `now` is the wall clock.

        StoreTrouble means that it may work later. A corrupt file is moved aside, with a warning.
        """
        lock = _locked(directory)
        try:
            return cls(directory / FILE, _open_or_begin(directory / FILE, now), lock)
        except BaseException:
            lock.close()
            raise

    def close(self) -> None:
        self._db.close()
        self._lock.close()

    def add(self, records: Sequence[DuelRecord]) -> list[int]:
        """Store them all or, with StoreTrouble, none; their numbers. On disk when this returns."""
        with self._translating(), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            return [self._number_of(record) or _insert(self._db, record) for record in records]

    def _number_of(self, record: DuelRecord) -> int | None:
        row = self._db.execute(_NUMBER_OF, (record.uid,)).fetchone()
        return row and int(row[0])

    def duel(self, number: int) -> DuelRecord | None:
        if not 0 < number <= LARGEST_NUMBER:
            return None
        found = self._records(_DUEL, number)
        return found[0][1] if found else None

    def history(self, name: str | None, limit: int) -> list[tuple[int, DuelRecord]]:
        """The last duels, or somebody's last, with their numbers; the newest first."""
        if name is None:
            return self._records(_ALL_HISTORY, limit)
        return self._records(_HISTORY, names.key(name), limit)

    def standings(self, limit: int) -> list[Standing]:
        """Those with the most wins; among equals, those with the best rate."""
        with self._translating():
            return [Standing(*row) for row in self._db.execute(_STANDINGS, (limit,))]

    def _records(self, query: str, *values: int | str) -> list[tuple[int, DuelRecord]]:
        with self._translating():
            rows = self._db.execute(query, values).fetchall()
        found = [(row[0], _record(*row)) for row in rows]
        return [(number, record) for number, record in found if record is not None]

    @contextlib.contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as exc:
            raise StoreTrouble(_sentence(self.file, exc)) from exc


# A record in a row.


def _values(record: DuelRecord) -> tuple[object, ...]:
    turns = json.dumps(record.turns, separators=(",", ":"))
    return (*(getattr(record, field) for field in _AS_THEY_ARE), turns)


def _insert(db: sqlite3.Connection, record: DuelRecord) -> int:
    number = db.execute(_INSERT_DUEL, _values(record)).lastrowid
    assert number is not None
    for seat, name in enumerate(record.players, start=1):
        won = None if record.winner is None else record.winner == seat
        db.execute(_INSERT_SEAT, (number, seat, name, names.key(name), won))
    return number


def _record(
    number: int, one: str, two: str, winner: int | None, turns: str, *values: Any
) -> DuelRecord | None:
    """None for a row that was damaged in a way the check at the start does not see."""
    fields = dict(zip(_AS_THEY_ARE, values, strict=True))
    try:
        pairs = tuple((int(divisor), float(took)) for divisor, took in json.loads(turns))
        return DuelRecord(players=(one, two), winner=winner, turns=pairs, **fields)
    except (ValueError, TypeError):
        log.warning("Duel %d cannot be read from the results any more; it is left out.", number)
        return None


_REHEARSAL = DuelRecord(uuid.uuid4().hex, 0.0, 0.0, ("Anna", "Ben"), "", 0, "", 0, (), 1, "")


# Opening the file: sound, of a version we know, ours alone.


def _open_or_begin(file: Path, now: Callable[[], float]) -> sqlite3.Connection:
    with _closed_on_failure(_connect(file)) as db:
        try:
            return _prepared(db, file)
        except _Unsound as unsound:
            # Moved before it is closed: closing would fold the -wal into it and delete that.
            aside = _move_aside(file, now())
            log.warning("%s It is kept as %s, and new results are begun.", unsound, aside)
    db.close()
    with _closed_on_failure(_connect(file)) as db:
        return _prepared(db, file)


@contextlib.contextmanager
def _closed_on_failure(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield db
    except BaseException:
        db.close()
        raise


def _connect(file: Path) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(file, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as exc:
        raise _translated(file, exc) from exc
    db.text_factory = lambda text: text.decode(errors="replace")  # a flipped bit is no crash
    return db


def _prepared(db: sqlite3.Connection, file: Path) -> sqlite3.Connection:
    try:
        _check(db, file)
        migrate(db, file, MIGRATIONS)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")  # with less, a power cut takes what was shown
        db.execute("PRAGMA foreign_keys = ON")
        _rehearse(db)
    except sqlite3.Error as exc:
        raise _translated(file, exc) from exc
    except UnicodeDecodeError as exc:  # sqlite3 could not even say what is wrong
        raise _Unsound(f"{file} is damaged.") from exc
    return db


def _check(db: sqlite3.Connection, file: Path) -> None:
    wal = file.with_name(f"{file.name}-wal")
    if not file.stat().st_size and wal.exists() and wal.stat().st_size:
        # SQLite would take it for a new file, and delete what the -wal holds.
        raise _Unsound(f"{file} is empty, but was not.")
    problem = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise _Unsound(f"{file} is damaged ({problem.splitlines()[-1]}).")
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and not _version(db):
        raise _Unsound(f"{file} is not a file of duel results.")


def _rehearse(db: sqlite3.Connection) -> None:
    """Store a duel, read it, and take it back: nothing is written, but everything is tried.

    A read-only file is opened without a word otherwise, and quick_check does not look at what the
    tables are called.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
        number = _insert(db, _REHEARSAL)
        for query, values in ((_DUEL, (number,)), (_NUMBER_OF, ("",)), (_STANDINGS, (1,))):
            db.execute(query, values).fetchall()
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def migrate(db: sqlite3.Connection, file: Path, migrations: Sequence[str]) -> None:
    """Bring the file to the newest version, each step whole or not at all."""
    version = _version(db)
    if not 0 <= version <= len(migrations):
        raise StoreError(
            f"{file} was written by a newer duel-daemon (its layout is version {version}, "
            f"this one knows {len(migrations)}); install that one again, or name another "
            "directory with --state."
        )
    for done, step in enumerate(migrations[version:], start=version + 1):
        script = f"BEGIN IMMEDIATE; {step}; PRAGMA user_version = {done}; COMMIT;"
        try:
            with db:  # rolls back if the script breaks off
                db.executescript(script)
        except sqlite3.Error as exc:
            if _code(exc) in _NOT_ITS_LAYOUT:  # our mistake: no reason to move the file aside
                raise StoreError(f"{file} cannot be brought to version {done} ({exc}).") from exc
            raise


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _move_aside(file: Path, now: float) -> Path:
    """Rename the file, and what SQLite keeps beside it; nothing is ever overwritten."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = file.with_name(f"{file.name}.bad-{stamp}")
    while aside.exists():
        aside = aside.with_name(f"{aside.name}+")
    try:
        for suffix in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                file.with_name(file.name + suffix).rename(aside.with_name(aside.name + suffix))
    except OSError as exc:
        raise _directory_error(file.parent, exc) from exc
    return aside


def _locked(directory: Path) -> io.FileIO:
    """A file beside the results, locked until it is closed or we die, in whatever way."""
    try:
        lock = (directory / LOCK).open("a+b", buffering=0)
    except OSError as exc:
        raise _directory_error(directory, exc) from exc
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        lock.seek(0)
        holder = lock.read(32).decode("ascii", "replace").strip()
        lock.close()
        raise _lock_error(directory, exc, holder) from exc
    with contextlib.suppress(OSError):  # the number only helps to find us; the disk may be full
        lock.truncate(0)
        lock.write(b"%d\n" % os.getpid())
    return lock


# Errors, translated once.

_MAY_PASS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE}
_SQLITE_MAY_PASS = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY}
_NOT_ITS_LAYOUT = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} | _NOT_ITS_LAYOUT


def _directory_error(directory: Path, exc: OSError) -> StoreError:
    if exc.errno == errno.ENOENT:
        return StoreError(
            f"There is no directory {directory} to keep results in; make it, or name another one "
            "with --state."
        )
    kind = StoreTrouble if exc.errno in _MAY_PASS else StoreError
    return kind(
        f"Results cannot be kept in {directory} ({exc.strerror}); name another directory with "
        "--state, or none."
    )


def _lock_error(directory: Path, exc: OSError, holder: str) -> StoreError:
    if not isinstance(exc, BlockingIOError):
        return _directory_error(directory, exc)
    who = f"process {holder}" if holder.isdigit() else "its process is not known"
    return StoreError(
        f"Another duel-daemon ({who}) keeps its results in {directory}; stop it, or name another "
        "directory with --state."
    )


def _code(exc: sqlite3.Error) -> int:
    return getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the rest is detail


def _sentence(file: Path, exc: sqlite3.Error) -> str:
    return f"Results cannot be kept in {file} ({exc})."


def _translated(file: Path, exc: sqlite3.Error) -> StoreError:
    if _code(exc) in _DAMAGED:
        return _Unsound(f"{file} is damaged ({exc}).")
    kind = StoreTrouble if _code(exc) in _SQLITE_MAY_PASS else StoreError
    return kind(_sentence(file, exc))
