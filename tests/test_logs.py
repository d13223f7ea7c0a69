"""Log lines: one each, prefixed where the journal reads them, and nothing a player could forge."""

import io
import logging
import os
import re
import sys

import pytest
import trio.testing
from kit import open_house
from test_wire import bad_inputs, bytes_of

from duel_daemon import logs
from duel_daemon.logs import JournalFormatter, TerminalFormatter

LEVELS = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 3}
LEVEL_NAMES = sorted(LEVELS)


def record(level, message, exc_info=None):
    return logging.LogRecord(
        "duel_daemon", logging.getLevelName(level), "x.py", 1, message, (), exc_info
    )


def failure():
    try:
        raise RuntimeError("first\nsecond")
    except RuntimeError:
        return sys.exc_info()


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_the_journal_reads_the_level_before_the_line(level):
    assert JournalFormatter().format(record(level, "c7 is Anna")) == f"<{LEVELS[level]}>c7 is Anna"


def test_every_line_of_a_traceback_has_the_prefix():
    lines = JournalFormatter().format(record("ERROR", "a mistake", failure())).split("\n")
    assert len(lines) > 4
    assert all(line.startswith("<3>") for line in lines)
    assert lines[-2:] == ["<3>RuntimeError: first", "<3>second"]


@pytest.mark.parametrize("level", LEVEL_NAMES)
def test_on_a_terminal_a_line_has_the_time_and_the_level(level):
    line = TerminalFormatter().format(record(level, "c7 is Anna"))
    assert re.fullmatch(rf"\d\d:\d\d:\d\d {level.lower():7} c7 is Anna", line)


def test_a_stream_is_the_journal_if_systemd_names_it(tmp_path):
    with (tmp_path / "stream").open("w") as file:
        status = os.fstat(file.fileno())
        named = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        other = {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino + 1}"}
        assert logs.is_journal(named, file.fileno())
        assert not logs.is_journal(other, file.fileno())
        assert not logs.is_journal({}, file.fileno())
    assert not logs.is_journal(named, 10**6)


@pytest.fixture
def logger():
    """The daemon's own logger, as it was before afterwards."""
    logger = logging.getLogger("duel_daemon")
    before = logger.handlers[:], logger.level, logger.propagate
    yield logger
    logger.handlers[:], logger.level, logger.propagate = before
    logger.setLevel(before[1])


@pytest.mark.parametrize("threshold", ["debug", "info", "warning", "error"])
def test_only_what_is_asked_for_is_logged(logger, capfd, threshold):
    logs.set_up(threshold, {})
    for level in ("debug", "info", "warning", "error"):
        getattr(logger, level)("this is %s", level)
    lines = capfd.readouterr().err.splitlines()
    wanted = ["debug", "info", "warning", "error"]
    wanted = wanted[wanted.index(threshold) :]
    assert [line.split("this is ")[1] for line in lines] == wanted


def test_set_up_twice_logs_once(logger, capfd):
    logs.set_up("info", {})
    logs.set_up("info", {})
    logger.info("once")
    assert capfd.readouterr().err.count("once") == 1


# What players can do to a log.

NASTY = [param for param in bad_inputs() if len(bytes_of(param.values[0])) < 5000]
FORGED = "Anna\r2026 host sshd[1]: Accepted\x1b[2J\n\x9b31m\u202eevil\n"


async def log_of(place, data):
    """Everything logged while somebody types this, first as a name and then as commands."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("duel_daemon")
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        for name in (b"", b"Mallory\n", b"Mallory\nname "):
            stranger = place.comes()
            await stranger.send(name + data)
            await trio.testing.wait_all_tasks_blocked()
            stranger.hangs_up()
            await trio.testing.wait_all_tasks_blocked()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    return stream.getvalue()


LOG_LINE = re.compile(
    r"c\d+ (connects from 127\.0\.0\.1|is (now )?[\w-]+(, from 127\.0\.0\.1)?"
    r"|is gone: [\w ':-]+|is lost: .+)"
    r"|c\d+, from 127\.0\.0\.1, is no player: [\w ']+( \(\d+ more before\))?"
    r"|d\d+ (begins|ended): [\w ,-]+"
)


@pytest.mark.parametrize(
    "data",
    [*(pytest.param(bytes_of(p.values[0]), id=p.id) for p in NASTY), FORGED.encode()],
)
async def test_nothing_a_player_types_can_forge_or_colour_a_log_line(autojump_clock, data):
    async with open_house(talk="free") as place:
        text = await log_of(place, data)
    lines = text.split("\n")[:-1]
    assert lines
    for line in lines:
        assert line.isprintable()
        assert LOG_LINE.fullmatch(line), line


async def test_a_duel_leaves_one_line_at_its_beginning_and_one_at_its_end(caplog):
    caplog.set_level(logging.INFO)
    async with open_house() as place:
        anna, ben = await place.pair()
        await anna.types("resign")
        await ben.reads("Next: ")
    about = [r.getMessage() for r in caplog.records if r.getMessage().startswith("t1")]
    begins, ends = about
    assert begins.startswith("t1 begins: Anna against Ben, divisor-duel")
    assert ends == "t1 ended: resigned, Ben won"


async def test_every_duel_of_a_match_is_logged_when_it_ends(caplog, autojump_clock):
    caplog.set_level(logging.INFO)
    async with open_house(best_of=3) as place:
        anna, ben = await place.pair()
        await anna.types("resign")
        await ben.reads("* The score: ")
        assert caplog.messages[-1] == "t1.1 ended: resigned, Ben won"
        await ben.reads("Enter your chosen divisor: ")
        await ben.types("resign")
        await ben.reads("* The score: ")
        assert caplog.messages[-1] == "t1.2 ended: resigned, Anna won"
        await ben.types("resign")
        await ben.reads("* Next: ")
        assert "ended" in caplog.messages[-1]
        assert sum("ended" in message for message in caplog.messages) == 2


async def test_moves_and_talk_are_not_logged(caplog):
    caplog.set_level(logging.DEBUG)
    async with open_house(talk="free") as place:
        anna, ben = await place.pair()
        await anna.types("say something private")
        await ben.reads("something private")
        await anna.types("30")
        await ben.reads("chosen divisor: 30\n")
        assert "private" not in caplog.text
        assert "30" not in caplog.text.split("t1 begins")[1]
