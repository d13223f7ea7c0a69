"""What an operator gets: make install, upgrade, uninstall, the one-file daemon, the manual page.

Everything is installed below a temporary DESTDIR; only a machine that is thrown away afterwards
(see real-systemd) is installed on for real. All packages are fetched once, first; where that
cannot be done the tests say why, and after that nothing asks the network.
"""

import ast
import configparser
import gzip
import itertools
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import terminal
from machine import CANNOT_RUN_HERE
from terminal import Daemon, Guest, daemon, needs

from duel_daemon import __version__
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.service import VARIABLES
from duel_daemon.settings import FLAGS, TABLE, load
from duel_daemon.sources import option

ROOT = Path(__file__).parent.parent
PYTHON = getattr(sys, "_base_executable", sys.executable)  # what a virtual environment is made of
SYSTEM_PYTHON = "/usr/bin/python3"
NOT_ALLOWED = 65534
TERMINAL_COLUMNS = 80
WARNED = ("-bb", "-W", "error")

OPT, COMMAND = "opt/duel-daemon", "opt/duel-daemon/bin/duel-daemon"
CONFIG, EXAMPLE = "etc/duel-daemon/duel.toml", "etc/duel-daemon/duel.toml.example"
MANUAL = "usr/local/share/man/man8/duel-daemon.8.gz"
SECTIONS = (
    *("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "FILES", "ENVIRONMENT", "SIGNALS"),
    *("EXIT STATUS", "EXAMPLES", "SEE ALSO"),
)


# make help.


def test_help_names_every_target_and_fits_a_terminal(tmp_path: Path) -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    (targets,) = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    code, said = make(tmp_path, "help")
    assert code == 0
    named = re.findall(r"^(?:sudo )?make (\w+)", said, re.MULTILINE)
    assert sorted(["help", *named]) == sorted(targets.split())
    assert [line for line in said.splitlines() if len(line) > TERMINAL_COLUMNS] == []


# Making.


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that pip will ask for."""
    directory = tmp_path_factory.mktemp("wheels")
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = setup["options"]["install_requires"].split() + project["build-system"]["requires"]
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    done = subprocess.run(
        [*pip, "download", "--only-binary=:all:", "--dest", directory, *wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"pip cannot fetch packages here: {done.stderr.strip().splitlines()[-1]}")
    return directory


def environment(wheels: Path | str) -> dict[str, str]:
    """Nothing of the make and the pip that these tests may have been started by."""
    theirs = ("PIP_", "MAKE", "MFLAGS")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(theirs)}
    return kept | {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
    }


def make(wheels: Path, *words: str, prefix: tuple[str, ...] = ()) -> tuple[int, str]:
    """Its exit code, and all that it said."""
    done = subprocess.run(
        [*prefix, "make", "--no-print-directory", *words],
        cwd=ROOT,
        env=environment(wheels),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def install(wheels: Path, root: Path, *places: str) -> str:
    """What the operator reads last."""
    code, said = make(wheels, "install", f"DESTDIR={root}", f"PYTHON={PYTHON}", *places)
    assert code == 0, said
    return said.splitlines()[-1]


@pytest.fixture(scope="module")
def first(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The first install, which takes long; and the last line of it."""
    root = tmp_path_factory.mktemp("root")
    return root, install(wheels, root)


@pytest.fixture(scope="module")
def installed(first: tuple[Path, str]) -> Path:
    """A root directory with the daemon in it; to look at."""
    return first[0]


@pytest.fixture
def root(installed: Path, tmp_path: Path) -> Path:
    """Another one, to change."""
    return Path(shutil.copytree(installed, tmp_path / "root", symlinks=True))


@pytest.fixture(scope="module")
def pyz(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    code, said = make(wheels, "pyz", f"DIST={directory}", f"PYTHON={PYTHON}")
    assert code == 0, said
    return directory / "duel-daemon.pyz"


def environments(root: Path) -> list[str]:
    return sorted(path.name for path in (root / OPT).glob("venv-*"))


def python_of(root: Path) -> str:
    """The interpreter that the command is started with, once DESTDIR is the root directory."""
    return str((root / COMMAND).resolve().with_name("python"))


def output_of(*command: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd="/", env={"LANG": "C.UTF-8"}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# make install.


def test_the_operator_is_told_what_to_type_next(first: tuple[Path, str]) -> None:
    assert first[1].endswith("to start it, type: systemctl enable --now duel-daemon.socket")


def test_everything_is_where_it_belongs_and_nothing_else_is(installed: Path) -> None:
    inside = f"{OPT}/{environments(installed)[0]}"
    files = {str(path.relative_to(installed)) for path in installed.rglob("*") if not path.is_dir()}
    assert {file for file in files if not file.startswith(inside)} == {
        *(COMMAND, EXAMPLE, MANUAL, "usr/local/sbin/duel-daemon"),
        *("etc/systemd/system/duel-daemon.socket", "etc/systemd/system/duel-daemon.service"),
        "etc/avahi/services/duel-daemon.service",
    }
    commands = {path.name for path in (installed / inside / "bin").iterdir()}
    assert {name for name in commands if not name.startswith("python")} == {"duel-daemon"}


def test_the_links_lead_to_the_program_that_the_unit_starts(installed: Path) -> None:
    unit = (installed / "etc/systemd/system/duel-daemon.service").read_text("utf-8")
    assert f"\nExecStart=/{COMMAND}\n" in unit
    assert os.readlink(installed / "usr/local/sbin/duel-daemon") == f"/{COMMAND}"
    (name,) = environments(installed)
    assert os.readlink(installed / COMMAND) == f"../{name}/bin/duel-daemon"
    first_line = (installed / COMMAND).read_text("utf-8").splitlines()[0]
    assert first_line == f"#!/{OPT}/{name}/bin/python"


def test_nothing_remembers_where_it_was_made(installed: Path) -> None:
    here = os.fsencode(installed)
    files = [path for path in installed.rglob("*") if path.is_file()]
    assert [str(path) for path in files if here in path.read_bytes()] == []


def test_everybody_may_read_it_and_nobody_but_root_may_write(installed: Path) -> None:
    for path in (installed / "opt").rglob("*"):
        mode = path.stat().st_mode
        assert (mode & 0o444, mode & 0o022) == (0o444, 0), path
        assert mode & 0o111 == 0o111 or not path.is_dir(), path


def test_it_is_compiled_for_a_service_that_cannot_write_there(installed: Path) -> None:
    (package,) = (installed / OPT).glob("venv-*/lib/python3*/site-packages/duel_daemon")
    compiled = {path.name.split(".")[0] for path in (package / "__pycache__").iterdir()}
    assert compiled == {path.stem for path in package.glob("*.py")}


def test_the_installed_daemon_answers(installed: Path) -> None:
    start = (python_of(installed), *WARNED, "-I", "-m", "duel_daemon")
    assert output_of(*start, "--version") == f"duel-daemon {__version__}\n"
    example = str(installed / EXAMPLE)
    assert output_of(*start, "--check", "--config", example).startswith("The configuration is good")


def test_the_announcement_is_well_formed(installed: Path) -> None:
    file = installed / "etc/avahi/services/duel-daemon.service"
    assert ElementTree.parse(file).getroot().tag == "service-group"


def test_the_checkout_is_left_as_it_was(installed: Path) -> None:
    assert not (ROOT / "build").exists()


# Upgrades.


SETTINGS = 'talk = "off"\n'
BEFORE, LONG_AGO = "venv-0.0.2-1", "venv-0.0.1-1"


@pytest.fixture(scope="module")
def upgraded(
    wheels: Path, installed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Daemon]]:
    """A second install elsewhere, and a daemon that was started before it and is still running.

    Two versions were installed and never started: one between the two, one before them.
    """
    root = tmp_path_factory.mktemp("upgraded") / "root"
    shutil.copytree(installed, root, symlinks=True)
    (root / CONFIG).write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal, "DAEMON", (python_of(root), "-I", "-m", "duel_daemon"))
        with daemon() as running:
            for name in (BEFORE, LONG_AGO):
                (root / OPT / name / "bin").mkdir(parents=True)
            (root / COMMAND).unlink()
            (root / COMMAND).symlink_to(f"../{BEFORE}/bin/duel-daemon")
            places = ("PREFIX=/usr", "UNITDIR=/usr/lib/systemd/system")
            assert install(wheels, root, *places).endswith("type: systemctl restart duel-daemon")
            yield root, running


def test_an_upgrade_keeps_the_settings(upgraded: tuple[Path, Daemon]) -> None:
    root, _ = upgraded
    assert (root / CONFIG).read_text() == SETTINGS


def test_an_upgrade_leaves_the_running_daemon_its_files(
    installed: Path, upgraded: tuple[Path, Daemon]
) -> None:
    root, running = upgraded
    (in_use,) = environments(installed)
    new = Path(os.readlink(root / COMMAND)).parts[1]
    assert environments(root) == sorted([BEFORE, in_use, new])
    assert len({BEFORE, in_use, new}) == 3
    play(running.port)
    assert "Traceback" not in running.log.text


def test_a_packager_chooses_the_places(upgraded: tuple[Path, Daemon]) -> None:
    root, _ = upgraded
    for place in ("share/man/man8/duel-daemon.8.gz", "lib/systemd/system/duel-daemon.socket"):
        assert (root / "usr" / place).exists()
    assert os.readlink(root / "usr/sbin/duel-daemon") == f"/{COMMAND}"


def test_an_upgrade_that_would_not_start_changes_nothing(wheels: Path, root: Path) -> None:
    (root / CONFIG).write_text("prot = 4000\n")
    before = sorted(str(path) for path in root.rglob("*")), os.readlink(root / COMMAND)
    code, said = make(wheels, "install", f"DESTDIR={root}", f"PYTHON={PYTHON}")
    assert code == 2
    assert "duel.toml: prot: unknown; did you mean port?" in said
    assert "\nmake: the new version does not start here, for the reason above; nothing" in said
    assert before == (sorted(str(path) for path in root.rglob("*")), os.readlink(root / COMMAND))


def test_packages_that_cannot_be_fetched_are_one_sentence(tmp_path: Path) -> None:
    code, said = make(tmp_path, "install", f"DESTDIR={tmp_path / 'root'}", f"PYTHON={PYTHON}")
    assert code == 2
    assert "\nmake: pip could not fetch or build what the daemon needs; nothing was changed" in said
    assert not (tmp_path / "root" / OPT).exists()


# make uninstall.


def test_uninstall_takes_what_install_brought_and_no_more(wheels: Path, root: Path) -> None:
    (root / CONFIG).write_text("port = 4100\n")
    results = root / "var/lib/duel-daemon/duels.sqlite3"
    results.parent.mkdir(parents=True)
    results.write_bytes(b"results")
    code, said = make(wheels, "uninstall", f"DESTDIR={root}")
    left = "Left as it was: /etc/duel-daemon /var/lib/duel-daemon"
    assert (code, said) == (0, f"Uninstalled duel-daemon. {left}\n")
    files = [str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()]
    assert sorted(files) == [CONFIG, "var/lib/duel-daemon/duels.sqlite3"]
    assert not (root / OPT).exists()


def test_uninstall_without_an_install_is_no_mistake(wheels: Path, tmp_path: Path) -> None:
    said = make(wheels, "uninstall", f"DESTDIR={tmp_path}")
    assert said == (0, "Uninstalled duel-daemon.\n")


# What is missing. Without a Python these could not install anything even if they were wrong.


def test_whoever_is_not_root_is_told_so(tmp_path: Path) -> None:
    needs("setpriv")
    be_nobody = ("setpriv", f"--reuid={NOT_ALLOWED}", "--clear-groups")
    prefix = be_nobody if os.geteuid() == 0 else ()
    for target in ("install", "uninstall"):
        code, said = make(tmp_path, target, "PYTHON=/nonexistent", prefix=prefix)
        if "Permission denied" in said:
            pytest.skip("only root may read this checkout")
        assert code == 2
        assert said.startswith("make: root is needed for this: sudo make ")


def test_without_systemd_it_is_told_what_does_without(tmp_path: Path) -> None:
    if os.geteuid() != 0 or Path("/run/systemd/system").exists():
        pytest.skip("takes root on a machine without systemd")
    code, said = make(tmp_path, "install", "PYTHON=/nonexistent")
    assert code == 2
    assert said.startswith("make: this machine is not run by systemd; make run and make pyz")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("", "/python is missing"),
        ("case $2 in *version_info*) exit 1;; esac; echo Python 3.9.2", "3.11 or newer is needed"),
        ("case $2 in *ensurepip*) exit 1;; esac", "venv module is missing"),
    ],
    ids=["none", "old", "without venv"],
)
def test_a_python_that_will_not_do_is_one_sentence(
    script: str, sentence: str, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    if script:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    for target in ("install", "pyz"):
        places = (f"DESTDIR={tmp_path / 'root'}", f"DIST={tmp_path / 'dist'}")
        code, said = make(tmp_path, target, f"PYTHON={python}", *places)
        ours, makes = said.splitlines()
        assert (code, ours[:6], makes[:9]) == (2, "make: ", "make: ***")
        assert sentence in ours


# On a real systemd.

# Two in a duel, and an upgrade; runs beside the service, where there is no pytest.
UPGRADE = f"""
import socket, subprocess

def reads(sock, text):
    shown = b""
    while text not in shown:
        more = sock.recv(65536)
        assert more, f"cut before {{text}}: {{shown}}"
        shown += more

players = []
for name in (b"Anna", b"Ben"):
    players.append(socket.create_connection(("127.0.0.1", 4000), 20))
    reads(players[-1], b"guest name): ")
    players[-1].sendall(name + b"\\n")
    reads(players[-1], b"Welcome")
subprocess.run(["make", "install", "PYTHON={SYSTEM_PYTHON}"], check=True)
subprocess.run(["systemctl", "restart", "duel-daemon"], check=True)
for player in players:
    reads(player, b"Nothing is lost; your duel goes on.")
print("nobody was cut")
"""
LIFE_OF_A_SERVICE = f"""
set -eu
export PIP_CONFIG_FILE=/dev/null PIP_NO_INDEX=1 PIP_FIND_LINKS=/srv/wheels
cd /srv/checkout
umask 077
make install PYTHON={SYSTEM_PYTHON}
systemctl enable --quiet --now duel-daemon.socket
{SYSTEM_PYTHON} -c {shlex.quote(UPGRADE)}
tr '\\0' '\\n' </proc/$(systemctl show --value --property=MainPID duel-daemon)/cmdline
touch /etc/duel-daemon/duel.toml
make uninstall
systemctl is-active duel-daemon.socket || true
"""


def test_an_upgrade_of_the_service_cuts_nobody_and_uninstalling_ends_it(wheels: Path) -> None:
    check = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))"
    trial = f"{SYSTEM_PYTHON} -c '{check}' 2>/dev/null"
    if subprocess.run(["sh", "-c", trial], check=False).returncode:
        pytest.skip(f"{SYSTEM_PYTHON} is missing, too old, or without venv")
    binds = ("-b", f"{ROOT}:/srv/checkout", "-b", f"{wheels}:/srv/wheels")
    done = subprocess.run(
        [ROOT / "tests/real-systemd", *binds, "--", "sh", "-c", LIFE_OF_A_SERVICE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode == CANNOT_RUN_HERE:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout
    making = "Making a virtual environment in /opt/duel-daemon ..."
    ready = f"Installed duel-daemon {__version__};"
    lines = done.stdout.splitlines()
    assert lines == [
        making,
        f"{ready} to start it, type: systemctl enable --now duel-daemon.socket",
        making,
        f"{ready} the one before runs until you type: systemctl restart duel-daemon",
        "nobody was cut",
        f"/{OPT}/venv-{__version__}-2/bin/python",
        f"/{COMMAND}",
        "Uninstalled duel-daemon. Left as it was: /etc/duel-daemon /var/lib/duel-daemon",
        "inactive",
    ]


# make pyz.


def isolated(pyz: Path, *options: str) -> tuple[str, ...]:
    """A bare Python, without any package but its own library."""
    return ("env", "-i", PYTHON, *WARNED, "-I", "-S", str(pyz), *options)


def play(port: int) -> None:
    """A duel to its end."""
    with Guest(port) as anna, Guest(port) as ben:
        anna.is_named("Anna")
        ben.is_named("Ben")
        moves = zip(itertools.cycle((anna, ben)), ("15", "15", "15", "5", "5"), strict=False)
        for mover, divisor in moves:
            mover.waits_for("Enter your chosen divisor: ", last=True)
            mover.types(divisor)
        for player in (anna, ben):
            player.waits_for("Player 1 wins!")


def test_one_file_is_the_whole_daemon(
    pyz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "DAEMON", isolated(pyz))
    with daemon("--state", str(tmp_path / "state")) as running:
        play(running.port)
        assert "Traceback" not in running.log.text


def test_one_file_answers_as_the_checkout_does(pyz: Path) -> None:
    assert output_of(*isolated(pyz, "--version")) == f"duel-daemon {__version__}\n"
    assert output_of(*isolated(pyz, "--check")).startswith("The configuration is good")
    help_text = output_of(PYTHON, str(pyz), "--help")
    assert all(option(name) in help_text for name in TABLE)
    assert all(slug in help_text for slug in BY_SLUG)


def test_one_file_can_be_started_by_its_name(pyz: Path) -> None:
    assert os.access(pyz, os.X_OK)
    assert pyz.read_bytes().startswith(b"#!/usr/bin/env python3\n")


def test_every_room_is_in_the_one_file_and_can_be_entered(pyz: Path) -> None:
    """Also those that are imported only when somebody asks for them."""
    files = [path.relative_to(ROOT) for path in sorted((ROOT / "duel_daemon").rglob("*.py"))]
    rooms = [".".join(file.with_suffix("").parts) for file in files if "__" not in file.name]
    code = f"import sys; sys.path.insert(0, {str(pyz)!r}); import {', '.join(rooms)}, trio"
    found = f"{code}; print(trio.__file__); print(duel_daemon.__file__)"
    for line in output_of(PYTHON, *WARNED, "-I", "-S", "-c", found).splitlines():
        assert line.startswith(f"{pyz}/")
    assert "duel_daemon/duel.toml" in zipfile.ZipFile(pyz).namelist()


def test_the_licence_of_everything_in_it_is_in_it(pyz: Path) -> None:
    names = zipfile.ZipFile(pyz).namelist()
    packages = {name.split("/")[0] for name in names if name.split("/")[0].endswith(".dist-info")}
    assert {name.split("-")[0] for name in packages} >= {"duel_daemon", "trio", "attrs"}
    for package in packages:
        assert any(re.match(rf"{package}/(licenses/)?LICEN[CS]E", name) for name in names), package


def test_nothing_in_it_is_of_this_machine(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        kinds = {Path(name).name for name in archive.namelist()}
    assert not kinds & {"direct_url.json", "RECORD", "INSTALLER", "REQUESTED", "__pycache__"}


def test_an_older_python_is_told_so_in_one_sentence() -> None:
    start = ROOT / "systemd/pyz_main.py"
    ast.parse(start.read_text("utf-8"), feature_version=(3, 4))
    old = f"import runpy, sys; sys.version_info = (3, 9, 2); runpy.run_path({str(start)!r})"
    done = subprocess.run([PYTHON, "-c", old], capture_output=True, text=True, check=False)
    sentence = "duel-daemon needs Python 3.11 or newer; this is Python 3.9.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)


# The manual page.


PAGE = ROOT / "systemd/duel-daemon.8"


def test_the_page_is_made_from_its_source() -> None:
    pytest.importorskip("docutils", minversion="0.22")  # as in setup.cfg
    manual = runpy.run_path(str(ROOT / "systemd/manual.py"))
    assert PAGE.read_text("utf-8") == manual["page"](), "make man"


def test_the_page_is_installed_as_it_is(installed: Path) -> None:
    assert gzip.decompress((installed / MANUAL).read_bytes()) == PAGE.read_bytes()


@pytest.fixture
def page() -> str:
    """The page in plain text, on lines as long as it takes."""
    plain = re.sub(r"\\f.|\\&", "", PAGE.read_text("utf-8"))
    return plain.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ha", "^")


def test_the_page_has_all_its_sections(page: str) -> None:
    sections = re.findall(r"^\.SH \"?([^\"\n]*)", page, re.MULTILINE)
    assert tuple(sections) == SECTIONS
    assert page.count(f"duel-daemon {__version__}") == 1
    assert "@" not in page


def test_the_page_says_every_setting_and_its_default(page: str) -> None:
    for name, entry in TABLE.items():
        _, found, rest = page.partition(f"\n.TP\n.B {option(name)} ")
        assert found, name
        said = re.split(r"^\.TP", rest, maxsplit=1, flags=re.MULTILINE)[0].replace("\n", " ")
        default = f"{entry.means or entry.default} {entry.kind.unit}".rstrip()
        assert f"Default: {default}." in said, name
        assert ("Takes a restart" in said) != entry.live, name
    for flag in (*FLAGS, "config FILE"):
        assert f"\n.TP\n.B {option(flag)}\n" in page


def test_the_page_names_every_variable_of_systemd(page: str) -> None:
    assert all(variable in page for variable in VARIABLES)


def test_the_examples_on_the_page_are_good_command_lines(page: str) -> None:
    examples = page.partition(".SH EXAMPLES")[2]
    lines = re.findall(r"^duel-daemon (--.*)$", examples, re.MULTILINE)
    assert lines
    for line in lines:
        load(shlex.split(line), {}, tuple(BY_SLUG), default_config=Path("/nowhere/duel.toml"))


def test_man_shows_the_page_without_a_warning() -> None:
    needs("man")
    done = subprocess.run(
        ["man", "--warnings=w", "--local-file", PAGE],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "80"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--turn-seconds SECONDS" in done.stdout
