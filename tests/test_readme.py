"""The README: what it says is true. (Its session is compared in test_daemon.)"""

import contextlib
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import attrs
import pytest
from terminal import DAEMON, daemon, usual_environ

from duel_daemon import commands
from duel_daemon.commands import Order
from duel_daemon.hall import default_terms
from duel_daemon.rulebooks import SHELF
from duel_daemon.settings import Settings
from duel_daemon.terms import Wish, parse

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.rst").read_text("utf-8")
TEXT = " ".join(README.split())
QUOTED = sorted(set(re.findall(r"``([^`]+)``", TEXT)))
TYPED = [line for line in QUOTED if line.split(" ")[0] in commands.WORDS]
OPTIONS = sorted(set(re.findall(r"--[a-z][a-z-]+", TEXT)))
ARGS = re.findall(r'ARGS="([^"]+)"', TEXT)


def test_every_game_is_listed_with_its_start() -> None:
    rows = re.findall(r"^``([a-z-]+)`` {2,}\S.*\S {2,}(\S.*)$", README, re.MULTILINE)
    assert [slug for slug, _ in rows] == [book.slug for book in SHELF]
    for book, (_, start) in zip(SHELF, rows, strict=True):
        assert book.start_text in (start, f"a random number ({start})")


def test_what_is_looked_for_is_found() -> None:
    assert len(TYPED) > 8
    assert len(OPTIONS) > 8
    assert len(ARGS) == 2


@pytest.mark.parametrize("line", TYPED)
def test_what_players_can_type_they_can_type(line: str) -> None:
    order = commands.parse(line)
    assert isinstance(order, Order)
    skipped = {"play": 0, "challenge": 1}.get(order.command.name)
    if skipped is not None:
        words = " ".join(order.words.split()[skipped:])
        assert isinstance(parse(words, default_terms(Settings()), Settings().max_number), Wish)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_one(option: str) -> None:
    own = {"--config", "--check", "--help"}
    others = {"--now"}  # systemctl's
    names = {f"--{field.name.replace('_', '-')}" for field in attrs.fields(Settings)}
    assert option in names | own | others


@pytest.mark.parametrize("args", ARGS)
def test_what_make_run_is_given_is_good(args: str) -> None:
    command = (*DAEMON, *shlex.split(args), "--check")
    done = subprocess.run(command, capture_output=True, text=True, env=usual_environ(), check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("starts it on port 4000;", {"port": 4000}),
        ("the seat is kept for a minute.", {"return_seconds": 60}),
        ("at most a burst of ten lines and then four a second;",
         {"line_burst": 10, "lines_per_second": 4}),
        ("a list of friendly phrases (``--talk canned``)", {"talk": "canned"}),
    ],
)  # fmt: skip
def test_the_numbers_are_those_of_the_settings(sentence: str, values: dict[str, object]) -> None:
    assert sentence in TEXT
    assert values.items() <= attrs.asdict(Settings()).items()


def test_every_file_that_is_linked_is_there() -> None:
    links = re.findall(r"`[^`<]+<([^>:]+)>`_", TEXT)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_make_target_is_one() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"\bmake ([a-z]+)\b", README)) - {"run", "test"}
    assert targets >= {"install", "pyz"}
    for target in targets | {"run", "test"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


# The README's bot.


def code_block(text: str) -> str:
    """The only Python program of a page."""
    (block,) = re.findall(r"^\.\. code:: python\n\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    return textwrap.dedent(block)


def test_two_of_the_bots_in_the_readme_play_one_duel_after_another() -> None:
    program = code_block(README)
    assert program.count("4000") == program.count('b"Robbie') == 1
    with daemon() as running, contextlib.ExitStack() as bots:
        here = program.replace("4000", str(running.port))
        for name in ("Robbie", "Roberta"):
            code = here.replace('b"Robbie', f'b"{name}')
            command = (sys.executable, "-bb", "-W", "error", "-c", code)
            bot = bots.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            bots.callback(bot.kill)
            running.log.waits_for(f" is {name}, from ")
        text = running.log.waits_for("t3 begins: ")
    assert text.count("ended: no-move-left") == text.count(" ended: ") >= 2
