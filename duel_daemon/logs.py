"""Log lines: one each, with their level; under the journal with its level prefixes.

Players' names and lines reach a log only neutralised, so nothing here can be forged by a player.
"""

import logging
import os
import sys
import traceback
from collections.abc import Mapping

# syslog levels, which the journal reads from a "<n>" at the head of a line
_JOURNAL_LEVELS = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.DEBUG, 7))


class TerminalFormatter(logging.Formatter):
    """`12:30:01 info    c7 is Anna`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        record.levelname = record.levelname.lower()
        return super().format(record)


class JournalFormatter(logging.Formatter):
    """The journal keeps the time itself; every line of a traceback needs its own prefix."""

    def format(self, record: logging.LogRecord) -> str:
        prefix = next((syslog for level, syslog in _JOURNAL_LEVELS if record.levelno >= level), 7)
        return "\n".join(f"<{prefix}>{line}" for line in super().format(record).splitlines())


def where(exc: BaseException) -> str:
    """What an exception is and where it was raised: the same for the same mistake."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return f"{type(exc).__name__} {traceback.extract_tb(exc.__traceback__, limit=-1)}"


def is_journal(environ: Mapping[str, str], stream_fd: int) -> bool:
    """Whether a stream goes to the journal: systemd names the one it connected."""
    try:
        status = os.fstat(stream_fd)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def set_up(level: str, environ: Mapping[str, str]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    to_journal = is_journal(environ, sys.stderr.fileno())
    handler.setFormatter(JournalFormatter() if to_journal else TerminalFormatter())
    # What no format here shows need not be found out for every line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logger = logging.getLogger("duel_daemon")
    logger.handlers[:] = [handler]
    logger.propagate = False
    set_level(level)


def set_level(level: str) -> None:
    logging.getLogger("duel_daemon").setLevel(level.upper())
