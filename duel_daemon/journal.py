"""The file that the ledger's records are written to, each before anybody reads of it.

No fsync: what a process has written outlives its death in the page cache.
(That a result outlives the power is the store's promise.) When the file has grown, it is replaced
by the fewest records that lead to the same state. So it is when the disk was full: until then
nothing is added, so that what can be read is never without something that came before.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import trio

from duel_daemon import ledger
from duel_daemon.kept import Running
from duel_daemon.ledger import Record

log = logging.getLogger("duel_daemon")

COMPACT_BYTES = 16 * 1024 * 1024
RETRY_SECONDS = 1.0  # while nothing can be written


class Journal:
    """An append-only file. Without a path, nothing is kept."""

    def __init__(self, path: Path | None, compact_bytes: int = COMPACT_BYTES) -> None:
        self._path = path
        self._compact_bytes = compact_bytes
        self._file = -1
        self._unwritten: list[str] = []
        self._size = 0
        self._is_behind = False
        """Something could not be written; the file is to be replaced before anything else is."""
        self._snapshot: Callable[[], Running] | None = None

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
        except OSError as exc:
            log.error("journal: %s; what was being played is lost", exc)
            lines = []
        running, unreadable = ledger.fold(line for line in lines if line)
        if unreadable:
            log.warning("journal: %d of %d lines could not be read", unreadable, len(lines))
        return running

    def open(self, snapshot: Callable[[], Running]) -> None:
        """Begin anew, with what is going on now; `snapshot` tells it, now and later."""
        self._snapshot = snapshot
        self._compact()

    def seal(self) -> None:
        """Everything is about to be stopped: what is going on is asked for no more than once."""
        self.flush()
        if self._is_behind:
            self._compact()
        self._snapshot = None

    def write(self, record: Record) -> None:
        if self._path is not None:
            self.write_soon(ledger.line(record))
            self.flush()

    def write_soon(self, line: str) -> None:
        """Written with the next flush, which must come before anybody reads of it: the moves of
        one round are one write.
        """
        self._unwritten.append(line)

    def flush(self) -> None:
        if not self._unwritten:
            return
        data = "".join(self._unwritten).encode("ascii")
        self._unwritten.clear()
        if self._file < 0 or self._is_behind:
            return
        try:
            written = os.write(self._file, data)
        except OSError as exc:
            self._fall_behind(exc.strerror or str(exc))
            return
        if written < len(data):
            self._fall_behind("only a part could be written")
            return
        self._size += written
        if self._size > self._compact_bytes:
            # Whoever writes is half way through a change, and a snapshot would show half of it.
            trio.lowlevel.current_trio_token().run_sync_soon(self._compact, idempotent=True)

    def _fall_behind(self, why: str) -> None:
        """The disk is full, most likely. Duels go on; a crash now would lose moves."""
        if not self._is_behind:
            self._is_behind = True
            log.warning("journal: %s; moves are not kept until this works again", why)
            trio.lowlevel.spawn_system_task(self._catch_up)

    async def _catch_up(self) -> None:
        """What is going on then makes up for what was not written."""
        while self._is_behind and self._snapshot is not None:
            await trio.sleep(RETRY_SECONDS)
            self._compact()

    def _compact(self) -> None:
        """A new file with the fewest records, in the place of the old one."""
        if self._path is None or self._snapshot is None:
            return
        self._unwritten.clear()  # the snapshot holds it
        new = self._path.with_suffix(".new")
        lines: Iterable[str] = map(ledger.line, ledger.records(self._snapshot()))
        data = "".join(lines).encode("ascii")
        try:
            new.write_bytes(data)
            file = os.open(new, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.replace(new, self._path)
        except OSError as exc:
            _remove(new)
            self._size = 0  # not tried again with every record
            self._fall_behind(exc.strerror or str(exc))
            return
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size = file, 0
        if self._is_behind:
            self._is_behind = False
            log.warning("journal: writing works again")

    def close(self) -> None:
        self.seal()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _remove(file: Path) -> None:
    """Half a file only takes up room."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
