"""Settings: one table, four sources, every mistake told at once."""

import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from duel_daemon import __version__
from duel_daemon.limits import GateLimits
from duel_daemon.peer import PeerLimits
from duel_daemon.settings import (
    FLAGS,
    LIMITS,
    TABLE,
    Check,
    Loaded,
    Settings,
    SettingsError,
    changed,
    example,
    help_text,
    load,
    state_path,
)
from duel_daemon.sources import option, quoted, variable

BOOKS = ("divisor-duel", "factor-duel", "number-factor")
NOWHERE = Path("/nonexistent/duel.toml")

# Two values of each setting, as text; between them every source can be told from the next.
TWO_VALUES = {
    "rulebook": ("factor-duel", "number-factor"),
    "number": ("60", "100"),
    "divisors": ("even", "odd"),
    "best_of": ("3", "21"),
    "first_turn": ("first-come", "random"),
    "max_number": ("100", "5000"),
    "violations": ("1", "100"),
    "talk": ("off", "free"),
    "turn_seconds": ("0", "7.5"),
    "first_turn_extra_seconds": ("0", "600"),
    "return_seconds": ("0", "3600"),
    "name_seconds": ("0.5", "3600"),
    "lobby_idle_seconds": ("0", "0.5"),
    "line_seconds": ("0.5", "3600"),
    "send_seconds": ("1", "3600"),
    "outbox_bytes": ("4096", "1048576"),
    "max_connections": ("2", "100000"),
    "max_unnamed": ("1", "7"),
    "per_address": ("1", "500"),
    "new_per_minute": ("1", "500"),
    "free_offences": ("0", "1000"),
    "longest_wait_seconds": ("0", "600"),
    "offence_seconds": ("1", "3600"),
    "known_addresses": ("16", "100000"),
    "code_tries": ("1", "100"),
    "trusted": ("10.0.0.0/8", "192.168.1.7,fd00::/8"),
    "line_burst": ("1", "500"),
    "lines_per_second": ("1", "500"),
    "line_bytes": ("128", "4096"),
    "endless_bytes": ("8192", "1048576"),
    "telnet_bytes": ("1024", "1048576"),
    "telnet_answers": ("8", "512"),
    "host": ("127.0.0.1", "::1,localhost"),
    "port": ("1", "65535"),
    "state": ("/srv/duels", "none"),
    "log_level": ("debug", "error"),
    "log_seconds": ("1", "3600"),
}
every_setting = pytest.mark.parametrize("name", TABLE)


def loaded(
    *argv: str,
    file: str | bytes | None = None,
    tmp_path: Path | None = None,
    checks: tuple[Check, ...] = (),
    **environ: str,
) -> Loaded:
    path = NOWHERE
    if file is not None:
        assert tmp_path is not None
        path = tmp_path / "duel.toml"
        path.write_bytes(file.encode() if isinstance(file, str) else file)
    return load(argv, environ, BOOKS, default_config=path, checks=checks)


def problems(*argv: str, **more: object) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        loaded(*argv, **more)  # type: ignore[arg-type]
    return caught.value.problems


def toml(name: str, text: str) -> str:
    return f"{name} = {quoted(text) if TABLE[name].kind.is_text else text}\n"


def value(name: str, text: str) -> object:
    kind = type(getattr(Settings(), name))
    return text if kind is str else float(text)


# Where a value comes from.


def test_every_setting_has_two_values_to_try() -> None:
    assert list(TWO_VALUES) == list(TABLE)


def test_nothing_given_means_the_defaults() -> None:
    assert loaded() == Loaded(Settings(), None, check=False)


@every_setting
def test_the_file_beats_the_default(name: str, tmp_path: Path) -> None:
    for text in TWO_VALUES[name]:
        found = loaded(file=toml(name, text), tmp_path=tmp_path)
        assert getattr(found.settings, name) == value(name, text)
        assert found.config_path == tmp_path / "duel.toml"


@every_setting
def test_the_environment_beats_the_file(name: str, tmp_path: Path) -> None:
    for strong, weak in (TWO_VALUES[name], TWO_VALUES[name][::-1]):
        environ = {variable(name): strong}
        found = loaded(file=toml(name, weak), tmp_path=tmp_path, **environ).settings
        assert getattr(found, name) == value(name, strong)


@every_setting
def test_the_command_line_beats_the_environment_and_the_file(name: str, tmp_path: Path) -> None:
    for strong, weak in (TWO_VALUES[name], TWO_VALUES[name][::-1]):
        environ = {variable(name): weak}
        for argv in ([option(name), strong], [f"{option(name)}={strong}"]):
            found = loaded(*argv, file=toml(name, weak), tmp_path=tmp_path, **environ).settings
            assert getattr(found, name) == value(name, strong)


@every_setting
def test_an_empty_variable_counts_as_unset(name: str, tmp_path: Path) -> None:
    text = TWO_VALUES[name][0]
    found = loaded(file=toml(name, text), tmp_path=tmp_path, **{variable(name): ""}).settings
    assert getattr(found, name) == value(name, text)


@every_setting
def test_every_default_is_a_value_its_own_kind_accepts(name: str) -> None:
    entry = TABLE[name]
    text = "" if entry.default is None else str(entry.default)
    assert entry.kind.read(text) == entry.default
    assert entry.kind.read(entry.such_as) is not None


def test_the_last_of_two_equal_options_counts() -> None:
    assert loaded("--port", "1", "--port", "2").settings.port == 2


def test_a_config_file_named_on_the_command_line_beats_the_one_in_the_environment(
    tmp_path: Path,
) -> None:
    for port in (1, 2):
        (tmp_path / f"{port}.toml").write_text(f"port = {port}")
    paths = {port: str(tmp_path / f"{port}.toml") for port in (1, 2)}
    assert loaded(DUEL_CONFIG=paths[1]).settings.port == 1
    found = loaded("--config", paths[2], DUEL_CONFIG=paths[1])
    assert (found.settings.port, found.config_path) == (2, Path(paths[2]))


def test_check_only_sets_the_flag() -> None:
    assert loaded("--check", "--port", "5").check
    assert not loaded("--port", "5").check


# Ways to write a value.


@pytest.mark.parametrize("text", ["1000000000000", "1_000_000_000_000", "10^12", "1e12", "1E+12"])
def test_large_numbers_can_be_written_short(text: str) -> None:
    found = loaded("--max-number", text, "--number", text).settings
    assert (found.max_number, found.number) == (10**12, 10**12)
    assert type(found.max_number) is int


def test_a_power_in_the_file_is_exact(tmp_path: Path) -> None:
    found = loaded(file="max_number = 1e18\nnumber = 999999999999999999", tmp_path=tmp_path)
    assert (found.settings.max_number, found.settings.number) == (10**18, 10**18 - 1)


@pytest.mark.parametrize("text", ["60", "60.0", "6_0", " 60 "])
def test_whole_seconds_are_shown_without_a_fraction(text: str) -> None:
    assert str(loaded("--turn-seconds", text).settings.turn_seconds) == "60"


def test_seconds_may_have_a_fraction() -> None:
    assert loaded("--name-seconds", "0.5").settings.name_seconds == 0.5


@pytest.mark.parametrize("text", ["0", "0.0"])
def test_no_turn_limit_is_zero(text: str) -> None:
    assert loaded("--turn-seconds", text).settings.turn_seconds == 0


def test_words_may_be_in_capitals() -> None:
    found = loaded("--log-level", "DEBUG", "--rulebook", "Factor-Duel").settings
    assert (found.log_level, found.rulebook) == ("debug", "factor-duel")


def test_hosts_are_listed_one_by_one() -> None:
    assert loaded("--host", "127.0.0.1, ::1,fe80::1%eth0").settings.hosts == (
        "127.0.0.1",
        "::1",
        "fe80::1%eth0",
    )
    assert loaded("--host", "").settings.hosts == ()


def test_an_empty_number_means_the_books_own(tmp_path: Path) -> None:
    assert loaded("--number", "", DUEL_NUMBER="60").settings.number is None
    assert loaded(file='number = ""', tmp_path=tmp_path).settings.number is None


def test_a_file_from_a_windows_editor_is_read(tmp_path: Path) -> None:
    found = loaded(file=b"\xef\xbb\xbfport = 5\r\nbest_of = 3\r\n", tmp_path=tmp_path).settings
    assert (found.port, found.best_of) == (5, 3)


# What is wrong, in one sentence.

WRONG_TEXT = [
    ("port", "99999", "99999 is not a port (1 to 65535)"),
    ("port", "0", "0 is not a port (1 to 65535)"),
    ("port", "-5", "-5 is not a port (1 to 65535)"),
    ("port", "4e3", "4e3 is not a port (1 to 65535)"),
    ("port", "http", "'http' is not a port (1 to 65535)"),
    ("port", "٤٠٠٠", "'٤٠٠٠' is not a port (1 to 65535)"),
    ("port", "\x1b[2J", r"'\x1b[2J' is not a port (1 to 65535)"),
    ("port", "9" * 99, f"'{'9' * 57}...' is not a port (1 to 65535)"),
    ("rulebook", "chess", f"'chess' is not a rule book ({', '.join(BOOKS)})"),
    ("number", "3", "3 is not a whole number from 4 to 10^18"),
    ("number", "10^19", "10^19 is not a whole number from 4 to 10^18"),
    ("number", "1.5e3", "1.5e3 is not a whole number from 4 to 10^18"),
    ("divisors", "big", "'big' is not one of any, even, odd, prime"),
    ("best_of", "4", "4 is not an odd number from 1 to 21"),
    ("best_of", "23", "23 is not an odd number from 1 to 21"),
    ("first_turn", "me", "'me' is not one of random, first-come"),
    ("max_number", "99", "99 is not a whole number from 100 to 10^18"),
    ("turn_seconds", "3", "3 is not a time of 5 to 86400 seconds, or 0"),
    ("turn_seconds", "inf", "'inf' is not a time of 5 to 86400 seconds, or 0"),
    ("return_seconds", "-1", "-1 is not a time of 0 to 3600 seconds"),
    ("name_seconds", "0", "0 is not a time of 0.1 to 3600 seconds"),
    ("outbox_bytes", "1", "1 is not a whole number from 4096 to 1048576"),
    (
        "host",
        "192.168.1.300",
        "192.168.1.300 is not an address (such as 192.168.1.20, ::1 or localhost)",
    ),
    ("host", "a,,b", "'a,,b' is not an address (such as 192.168.1.20, ::1 or localhost)"),
    ("state", "a\nb", r"'a\nb' is not a path (or none)"),
    ("log_level", "loud", "'loud' is not one of debug, info, warning, error"),
]


@pytest.mark.parametrize(("name", "text", "sentence"), WRONG_TEXT)
def test_a_wrong_value_is_told_with_its_source(name: str, text: str, sentence: str) -> None:
    assert problems(option(name), text) == (f"{option(name)}: {sentence}",)
    assert problems(**{variable(name): text}) == (f"{variable(name)}: {sentence}",)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("port = 99999", "port: 99999 is not a port (1 to 65535)"),
        ("port = 4000.5", "port: 4000.5 is not a port (1 to 65535)"),
        ('rulebook = "chess"', f"rulebook: 'chess' is not a rule book ({', '.join(BOOKS)})"),
        ("turn_seconds = inf", "turn_seconds: 'inf' is not a time of 5 to 86400 seconds, or 0"),
        (f"port = 0x{'f' * 5000}", "port: a number that long is not a port (1 to 65535)"),
        ('port = "4000"', 'port: "4000" is text; write port = 4000'),
        ('port = "4100"', 'port: "4100" is text; write port = 4100'),
        ('port = "x"', 'port: "x" is text; write port = 4000'),
        ('port = ""', 'port: "" is text; write port = 4000'),
        ('number = "10^3"', 'number: "10^3" is text; write number = 1000'),
        ('number = "x"', 'number: "x" is text; write number = 60'),
        ("port = true", "port: true is a boolean; write port = 4000"),
        ("port = [4000]", "port: that is a list; write port = 4000"),
        ("port = 1979-05-27", "port: that is a date or time; write port = 4000"),
        ("[port]", "port: that is a section; write port = 4000"),
        ("rulebook = 1", 'rulebook: 1 is a number; write rulebook = "divisor-duel"'),
        ("host = 127.1", 'host: 127.1 is a number; write host = "192.168.1.20"'),
        ("state = false", 'state: false is a boolean; write state = "/var/lib/duel-daemon"'),
        ("turn_secnds = 5", "turn_secnds: unknown; did you mean turn_seconds?"),
        ("turn-seconds = 5", "turn-seconds: unknown; did you mean turn_seconds?"),
        ("colour = 5", "colour: unknown; see --help"),
        ('"\\u001b" = 5', r"'\x1b': unknown; see --help"),
        ("[limits]\nport = 5", "[limits]: unknown; the file has no sections"),
    ],
)
def test_a_wrong_line_of_the_file_is_told(line: str, sentence: str, tmp_path: Path) -> None:
    assert problems(file=line, tmp_path=tmp_path) == (f"duel.toml: {sentence}",)


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("port = 5\nrulebook = chess", "duel.toml: line 2: Invalid value; write name = value"),
        ("port", "duel.toml: at the end: "),
        (b"port = 5\n# \xff", "duel.toml: line 2: not UTF-8; save the file as UTF-8"),
        (f"port = {'9' * 5000}", "duel.toml: a number in it is too long"),
        (f"port = {'[' * 5000}", "duel.toml: lists nested too deep"),
    ],
)
def test_a_file_that_is_not_toml_is_told_with_the_line(
    text: str | bytes, beginning: str, tmp_path: Path
) -> None:
    (sentence,) = problems(file=text, tmp_path=tmp_path)
    assert sentence.startswith(beginning)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    absent = tmp_path / "absent.toml"
    sentence = f"{str(absent)!r} cannot be read (No such file or directory)"
    short = sentence if len(str(absent)) <= 60 else f"{str(absent)[:57] + '...'!r}"
    assert problems("--config", str(absent))[0].startswith(f"--config: {short}")
    assert problems(DUEL_CONFIG="/absent") == (
        "DUEL_CONFIG: '/absent' cannot be read (No such file or directory)",
    )
    assert problems("--config", "/") == ("--config: '/' cannot be read (Is a directory)",)
    assert problems("--config", "\0") == (r"--config: '\x00' cannot be read (not a possible path)",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_the_usual_file_must_be_readable_if_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "duel.toml"
    path.touch(mode=0)
    with pytest.raises(SettingsError, match="Permission denied"):
        load([], {}, BOOKS, default_config=path)


def test_a_directory_in_the_usual_place_is_told() -> None:
    with pytest.raises(SettingsError) as caught:
        load([], {}, BOOKS, default_config=Path("/"))
    assert caught.value.problems == ("'/' cannot be read (Is a directory)",)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--prot", "5"], "--prot: unknown; did you mean --port?"),
        (["--prot=5"], "--prot: unknown; did you mean --port?"),
        (["--turn_seconds", "5"], "--turn_seconds: unknown; did you mean --turn-seconds?"),
        (["--turn", "5"], "--turn: unknown; did you mean --turn-seconds?"),
        (["-p", "5"], "-p: unknown; did you mean --port?"),
        (["--chek"], "--chek: unknown; did you mean --check?"),
        (["--colour"], "--colour: unknown; see --help"),
        (["--"], "--: unknown; see --help"),
        (["4000"], "4000: unexpected; write options, such as --port 4000"),
        (["\x1b"], r"'\x1b': unexpected; write options, such as --port 4000"),
        (["--port"], "--port: needs a value, such as --port 4000"),
        (["--port", "--check"], "--port: needs a value, such as --port 4000"),
        (["--number"], "--number: needs a value, such as --number 60"),
        (["--config"], "--config: needs a value, such as --config duel.toml"),
        (["--check=yes"], "--check: takes no value"),
        (["--port", ""], "--port: '' is not a port (1 to 65535)"),
    ],
)
def test_a_wrong_command_line_is_told(argv: list[str], sentence: str) -> None:
    assert problems(*argv) == (sentence,)


def test_an_unknown_variable_is_told_unless_it_is_empty() -> None:
    assert problems(DUEL_PROT="5") == ("DUEL_PROT: unknown; did you mean DUEL_PORT?",)
    assert problems(DUEL_COLOUR="5") == ("DUEL_COLOUR: unknown; see --help",)
    assert loaded(DUEL_PROT="", DUELS="5", PORT="x").settings == Settings()


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    file = 'turn_secnds = 5\nport = "4000"\nrulebook = "chess"\nviolations = 0'
    found = problems(
        "--best-of", "4", "--prot", "1", "--rulebook", "factor-duel", "--host",
        file=file, tmp_path=tmp_path, DUEL_PORT="99999", DUEL_X="1", DUEL_NUMBER="5000000000000",
    )  # fmt: skip
    assert found == (
        "--prot: unknown; did you mean --port?",
        "--host: needs a value, such as --host 192.168.1.20",
        "--best-of: 4 is not an odd number from 1 to 21",
        "DUEL_X: unknown; see --help",
        "DUEL_PORT: 99999 is not a port (1 to 65535)",
        "duel.toml: turn_secnds: unknown; did you mean turn_seconds?",
        'duel.toml: port: "4000" is text; write port = 4000',
        f"duel.toml: rulebook: 'chess' is not a rule book ({', '.join(BOOKS)})",
        "duel.toml: violations: 0 is not a whole number from 1 to 100",
        "DUEL_NUMBER: 5000000000000 is over max_number (1000000000000)",
    )


def test_the_error_reads_as_its_sentences() -> None:
    assert str(SettingsError(["one", "two"])) == "one\ntwo"


# Settings that do not go together.


def test_a_number_over_the_limit_is_told_with_the_source_of_the_number(tmp_path: Path) -> None:
    assert problems("--number", "5000000000000") == (
        "--number: 5000000000000 is over max_number (1000000000000)",
    )
    assert problems("--max-number", "100", file="number = 200", tmp_path=tmp_path) == (
        "duel.toml: number: 200 is over max_number (100)",
    )
    assert loaded("--number", "100", "--max-number", "100").settings.number == 100


def test_what_could_not_be_read_is_not_compared() -> None:
    assert problems("--number", "5000000000000", "--max-number", "x") == (
        "--max-number: 'x' is not a whole number from 100 to 10^18",
    )


def test_the_caller_can_object_to_a_combination() -> None:
    no_even = Check(
        ("number", "divisors"),
        lambda it: "45 has no even divisor" if it.divisors == "even" else None,
    )
    assert problems("--number", "45", DUEL_DIVISORS="even", checks=(no_even,)) == (
        "--number: 45 has no even divisor",
    )
    # Where the first was not set by anybody, the one that was is to blame.
    assert problems(DUEL_DIVISORS="even", checks=(no_even,)) == (
        "DUEL_DIVISORS: 45 has no even divisor",
    )
    always = Check(("number",), lambda it: "no good")
    assert problems(checks=(always,)) == ("default: no good",)


# Whatever comes.

TOML_VALUES = st.one_of(
    st.text().map(quoted),
    st.integers().map(str),
    st.integers(0).map(hex),
    st.floats().map(repr),
    st.sampled_from(["true", "[1]", "{a = 1}", "1979-05-27", "07:32:00", "1e999999999", "x", ""]),
    st.text(),
)
no_surprise = hypothesis_settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def settings_or_sentences(argv: list[str], environ: dict[str, str], file: Path = NOWHERE) -> None:
    try:
        load(argv, environ, BOOKS, default_config=file)
        return
    except SettingsError as error:
        sentences = error.problems
    except SystemExit as ended:
        sentences = (f"--help or --version: {ended.code}",)
    assert sentences
    assert all(sentence.isprintable() for sentence in sentences)


@no_surprise
@given(
    environ=st.dictionaries(
        st.sampled_from([*map(variable, TABLE), "DUEL_CONFIG"]) | st.text().map("DUEL_".__add__),
        st.text(st.characters()) | st.from_regex(r"[0-9_.^e-]{1,30}", fullmatch=True),
        max_size=4,
    )
)
def test_any_environment_gives_settings_or_sentences(environ: dict[str, str]) -> None:
    settings_or_sentences([], environ)


@no_surprise
@given(argv=st.lists(st.sampled_from([*map(option, TABLE), "--check", "--config"]) | st.text()))
def test_any_command_line_gives_settings_or_sentences(argv: list[str]) -> None:
    settings_or_sentences(argv, {})


@no_surprise
@given(
    lines=st.dictionaries(
        st.sampled_from([*TABLE]) | st.text().map(quoted), TOML_VALUES, max_size=4
    )
)
def test_any_file_gives_settings_or_sentences(lines: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "duel.toml"
    text = "\n".join(f"{key} = {written}" for key, written in lines.items())
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    settings_or_sentences([], {}, path)


# While running.


def test_nothing_changed_is_nothing_to_tell() -> None:
    assert changed(Settings(), Settings()) == ([], [])


def test_changes_are_told_apart_by_whether_they_need_a_restart() -> None:
    new = Settings(port=5, turn_seconds=5, host="::1", log_level="debug")
    assert changed(Settings(), new) == (["turn_seconds", "log_level"], ["host", "port"])


@pytest.mark.parametrize("record", [PeerLimits, GateLimits])
def test_the_rooms_know_the_same_defaults_as_the_table(record: type) -> None:
    made = Settings().part(record, **({"trusted": ()} if record is GateLimits else {}))
    assert made == record()


def test_every_limit_has_its_reason() -> None:
    limits = [entry for entry in TABLE.values() if entry.group == LIMITS]
    assert len(limits) > 10
    assert all(entry.more.endswith(".") for entry in limits)


def test_what_needs_a_restart() -> None:
    fixed = {name for name, entry in TABLE.items() if not entry.live}
    assert fixed == {"host", "port", "max_connections", "state"}


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Settings().port = 5  # type: ignore[misc]


# Where results are kept.


@pytest.mark.parametrize(
    ("state", "environ", "path"),
    [
        ("none", {"STATE_DIRECTORY": "/s", "HOME": "/h"}, None),
        ("/srv/duels", {"STATE_DIRECTORY": "/s"}, Path("/srv/duels")),
        ("~/duels", {"HOME": "/h"}, Path("/h/duels")),
        ("", {"STATE_DIRECTORY": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"}, Path("/s")),
        ("", {"STATE_DIRECTORY": "/s:/t"}, Path("/s")),
        ("", {"XDG_STATE_HOME": "/x", "HOME": "/h"}, Path("/x/duel-daemon")),
        ("", {"XDG_STATE_HOME": "x", "HOME": "/h"}, Path("/h/.local/state/duel-daemon")),
        ("", {"HOME": "/h"}, Path("/h/.local/state/duel-daemon")),
        ("", {}, None),
    ],
)
def test_where_results_are_kept(state: str, environ: dict[str, str], path: Path | None) -> None:
    assert state_path(Settings(state=state), environ) == path


# What operators read.


def uncommented(text: str) -> str:
    return re.sub(r"^#(?=\w+ = )", "", text, flags=re.MULTILINE)


def test_the_example_file_is_in_step() -> None:
    committed = resources.files("duel_daemon").joinpath("duel.toml").read_text("utf-8")
    assert committed == example(), "python -m duel_daemon.settings > duel_daemon/duel.toml"


def test_the_module_prints_the_example_file() -> None:
    command = [sys.executable, "-m", "duel_daemon.settings"]
    assert subprocess.run(command, capture_output=True, check=True).stdout.decode() == example()


def test_the_example_file_changes_nothing(tmp_path: Path) -> None:
    assert loaded(file=example(), tmp_path=tmp_path).settings == Settings()
    assert all(line.startswith("#") for line in example().splitlines() if line)


def test_the_example_file_uncommented_gives_the_defaults(tmp_path: Path) -> None:
    text = uncommented(example())
    assert re.findall(r"^(\w+) = ", text, re.MULTILINE) == list(TABLE)
    assert loaded(file=text, tmp_path=tmp_path).settings == Settings()


def test_every_line_an_operator_reads_fits_the_screen() -> None:
    for line in (help_text(BOOKS) + "\n" + example()).splitlines():
        assert len(line) <= 80


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_every_option_on_its_own_line(
    flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        loaded("--prot", flag)  # help comes first, whatever else is wrong
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert re.findall(r"^  (--\S+)  +\S", out, re.MULTILINE) == [
        *map(option, TABLE), "--config", *map(option, FLAGS)
    ]  # fmt: skip
    assert all(book in out for book in BOOKS)
    assert out.endswith("else /etc/duel-daemon/duel.toml if there is one.\n")


@every_setting
def test_help_shows_the_default_and_its_unit(name: str) -> None:
    (line,) = re.findall(rf"^  {option(name)}  .*$", help_text(BOOKS), re.MULTILINE)
    entry = TABLE[name]
    expected = f"[{entry.means or entry.default}" + (
        f" {entry.kind.unit}]" if entry.kind.unit else "]"
    )
    assert line.endswith(expected)
    assert len(expected) > 2


def test_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        loaded("--version")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"duel-daemon {__version__}\n"
