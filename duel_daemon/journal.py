"""The file that the ledger's records are written to, each before anybody reads of it.

One write per record, no fsync: what a process has written outlives its death in the page cache.
(That a result outlives the power is the store's promise.) When the file has grown, it is replaced
by the fewest records that lead to the same state.
"""

import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from duel_daemon import ledger
from duel_daemon.ledger import Record, Running

log = logging.getLogger("duel_daemon")

COMPACT_BYTES = 16 * 1024 * 1024
RECORDS_PER_RETRY = 256  # while no file could be opened


class Journal:
    """An append-only file. Without a path, nothing is kept."""

    def __init__(self, path: Path | None, compact_bytes: int = COMPACT_BYTES) -> None:
        self._path = path
        self._compact_bytes = compact_bytes
        self._file = -1
        self._size = 0
        self._is_failing = False
        self._unwritten = 0
        self._snapshot: Callable[[], Running] = Running

    @property
    def keeps(self) -> bool:
        return self._path is not None

    def load(self) -> Running:
        """What was going on when the last process ended."""
        if self._path is None:
            return Running()
        try:
            lines = self._path.read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            lines = []
        running, unreadable = ledger.fold(line for line in lines if line)
        if unreadable:
            log.warning("journal: %d of %d lines could not be read", unreadable, len(lines))
        return running

    def open(self, snapshot: Callable[[], Running]) -> None:
        """Begin anew, with what is going on now; `snapshot` tells it, now and later."""
        self._snapshot = snapshot
        self._compact()

    def write(self, record: Record) -> None:
        if self._path is None:
            return
        if self._file < 0:
            self._unwritten += 1
            if self._unwritten % RECORDS_PER_RETRY:
                return
            self._compact()  # what is going on now makes up for what was not written
        text = ledger.line(record)
        if self._is_failing:
            text = f"\n{text}"  # the line before may be torn
        data = text.encode("ascii")
        try:
            written = os.write(self._file, data)
        except OSError as exc:
            self._fail(exc.strerror or str(exc))
            return
        if written < len(data):
            self._fail("only a part could be written")
            return
        if self._is_failing:
            self._is_failing = False
            log.warning("journal: writing works again")
        self._size += written
        if self._size > self._compact_bytes:
            self._compact()

    def _fail(self, why: str) -> None:
        """The disk is full, most likely. Duels go on; a crash now would lose moves."""
        if not self._is_failing:
            self._is_failing = True
            log.warning("journal: %s; moves are not kept until this works again", why)

    def _compact(self) -> None:
        """A new file with the fewest records, in the place of the old one."""
        if self._path is None:
            return
        new = self._path.with_suffix(".new")
        lines: Iterable[str] = map(ledger.line, ledger.records(self._snapshot()))
        try:
            data = "".join(lines).encode("ascii")
            new.write_bytes(data)
            file = os.open(new, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.replace(new, self._path)
        except OSError as exc:
            self._fail(exc.strerror or str(exc))
            self._size = 0  # not tried again with every record
            return
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size = file, 0
        self._unwritten = 0

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
