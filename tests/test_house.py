"""House rules that can be read off the files: who imports whom, how long, and is the guide true."""

import ast
import doctest
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOUSE = ROOT / "duel_daemon"
GUIDE = ROOT / "CONTRIBUTING.rst"

# A room imports only rooms that stand before it. Some are planned and not built yet.
ORDER = (
    "numbers",
    "survey",
    "events",
    "rulebooks",
    "duel",
    "match",
    "sage",
    "review",
    "opponents",
    "contestant",
    "wire",
    "protocols",
    "textwidth",
    "names",
    "records",
    "terms",
    "commands",
    "glossary",
    "lobby",
    "narrator",
    "retelling",
    "scoreboard",
    "finished",
    "limits",
    "presence",
    "seating",
    "kept",
    "ledger",
    "sources",
    "settings",
    "turnclock",
    "logs",
    "aside",  # from here on, trio
    "store",
    "archivist",
    "timetable",
    "ears",
    "peer",
    "door",
    "journal",
    "table",
    "player",
    "memory",
    "latecomers",
    "matchmaker",
    "hall",
    "restoring",
    "orders",
    "visit",
    "service",
    "listening",
    "server",
    "cli",
    "__main__",
)
FIRST_WITH_TRIO = "aside"
PURE = ORDER[: ORDER.index(FIRST_WITH_TRIO)]

NOT_IN_PURE_ROOMS = {"trio", "socket", "asyncio", "time", "threading", "datetime"}

LONGEST_FILE_LINES = 500
LONGEST_BODY_LINES = 60


def files_of(room: str) -> list[Path]:
    single = HOUSE / f"{room}.py"
    return [single] if single.exists() else sorted((HOUSE / room).glob("**/*.py"))


def rooms() -> list[str]:
    """The rooms that exist: files, and folders with files in them."""
    files = {path.stem for path in HOUSE.glob("*.py")} - {"__init__"}
    folders = {path.parent.name for path in HOUSE.glob("*/__init__.py")}
    return sorted(files | folders)


ROOMS = rooms()

each_room = pytest.mark.parametrize("room", ROOMS)
each_file = pytest.mark.parametrize(
    "path", sorted(HOUSE.glob("**/*.py")), ids=lambda path: str(path.relative_to(HOUSE))
)


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively; write the full name"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported_by(room: str) -> set[str]:
    names = {name for path in files_of(room) for name in imported(path)}
    parts = [name.split(".") for name in names if name.startswith(f"{HOUSE.name}.")]
    return {part[1] for part in parts if part[1] in ROOMS} - {room}


@each_room
def test_every_room_has_its_place(room: str) -> None:
    assert room in ORDER, (
        f"{room} is a new room: put it into ORDER in tests/test_house.py, after every room that it "
        f"imports and before every room that imports it (before {FIRST_WITH_TRIO!r} if it is pure)"
    )


def test_no_room_stands_in_two_places() -> None:
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("room", [room for room in ORDER if room in ROOMS])
def test_the_imports_point_one_way(room: str) -> None:
    backwards = rooms_imported_by(room) & set(ORDER[ORDER.index(room) :])
    assert not backwards, f"{room} imports {', '.join(backwards)}, not before it in ORDER"


@pytest.mark.parametrize("room", [room for room in PURE if room in ROOMS])
def test_a_pure_room_knows_no_clock_no_thread_and_no_network(room: str) -> None:
    for path in files_of(room):
        packages = {name.split(".")[0] for name in imported(path)}
        assert not packages & NOT_IN_PURE_ROOMS, path.name


def test_a_book_imports_no_other_book() -> None:
    books = {path.stem for path in files_of("rulebooks")} - {"__init__", "book"}
    for book in books:
        names = set(imported(HOUSE / "rulebooks" / f"{book}.py"))
        assert not {f"duel_daemon.rulebooks.{other}" for other in books - {book}} & names


def test_the_package_itself_imports_nothing() -> None:
    assert list(imported(HOUSE / "__init__.py")) == []


@each_file
def test_no_file_outgrows_its_room(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_FILE_LINES


@each_file
def test_no_function_is_longer_than_a_screen(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert body_lines(node) <= LONGEST_BODY_LINES, node.name


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function below its head and its docstring."""
    body = function.body if ast.get_docstring(function) is None else function.body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@each_file
def test_every_file_says_what_belongs_in_it(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


def test_the_project_refers_to_nothing_outside_of_it() -> None:
    outside = ("..", "work")
    refers = re.compile(rf"({re.escape(outside[0])}|/{outside[1]})/(shared|main)\b")
    for path in text_files():
        text = path.read_text("utf-8", errors="replace")
        assert not refers.search(text), path.relative_to(ROOT)


def text_files() -> Iterator[Path]:
    """What belongs to the project, without what tools left behind."""
    for folder, below, files in os.walk(ROOT):
        below[:] = [name for name in below if name == ".ci" or not is_by_product(name)]
        yield from (Path(folder, name) for name in files if not is_by_product(name))


def is_by_product(name: str) -> bool:
    return name.startswith(".") or name in {"__pycache__", "build", "dist"} or "egg-info" in name


# The guide for those who change the house.


def blocks() -> list[str]:
    """The literal blocks of the guide, as they would be typed."""
    found = re.findall(r"::\n\n((?: .*\n|\n)+)", GUIDE.read_text("utf-8"))
    return [textwrap.dedent(block).strip("\n") + "\n" for block in found]


def block_with(words: str) -> str:
    (block,) = (block for block in blocks() if words in block)
    return block


def test_the_session_in_the_guide_goes_as_shown() -> None:
    test = doctest.DocTestParser().get_doctest(block_with(">>> "), {}, "guide", None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_guide_names_rooms_that_are_in_the_order() -> None:
    named = re.findall(r"``([a-z_]+)/?``", GUIDE.read_text("utf-8").split("A sixth rule book")[0])
    assert set(named) - {"make", "duel_daemon"} <= set(ORDER)


@pytest.fixture
def house_with_a_sixth_book(tmp_path: Path) -> Path:
    """A copy of the project in which somebody followed the guide, and did nothing else."""
    for name in ("duel_daemon", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    books = tmp_path / "duel_daemon" / "rulebooks"
    (books / "countdown.py").write_text(block_with("BOOK = "), "utf-8")
    shelf = (books / "__init__.py").read_text("utf-8")
    line = f"    {block_with(chr(34) + 'countdown' + chr(34) + ',').strip()}\n"
    end = shelf.index(")\n", shelf.index("FILES = ("))
    (books / "__init__.py").write_text(shelf[:end] + line + shelf[end:], "utf-8")
    sample = tmp_path / "tests" / "playthroughs" / "book-6-sample.txt"
    sample.write_text(block_with("# game: countdown"), "utf-8")
    return tmp_path


def python(house: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs in that house; python finds its modules before any installed ones."""
    command = [sys.executable, "-bb", *args]
    environment = {**os.environ, "PYTHONPATH": str(house), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=house, env=environment, capture_output=True, text=True, check=False
    )


def test_a_sixth_book_is_one_file_and_one_line(house_with_a_sixth_book: Path) -> None:
    about = ("tests/test_rulebooks.py", "tests/test_playthroughs.py")
    run = python(house_with_a_sixth_book, "-m", "pytest", "-q", "-p", "no:cacheprovider", *about)
    assert run.returncode == 0, run.stdout + run.stderr


SAGE_OF_A_SIXTH_BOOK = """
from duel_daemon import sage
from duel_daemon.duel import Game
from duel_daemon.rulebooks import BY_SLUG

for number in range(4, 200):
    game = Game(BY_SLUG["countdown"], number)
    is_won = sage.outlook(game, number) is sage.Outlook.WINNING
    assert is_won == (number % 2 == 0), number
"""


def test_the_sage_searches_a_sixth_book(house_with_a_sixth_book: Path) -> None:
    """Countdown is won at even numbers: take away 1, and every move from odd leads to even."""
    run = python(house_with_a_sixth_book, "-c", SAGE_OF_A_SIXTH_BOOK)
    assert run.returncode == 0, run.stderr
