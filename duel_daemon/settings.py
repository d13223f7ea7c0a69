"""Every knob of the daemon, in one table: the class Settings.

A setting is exactly one entry there: name, type, group, kind, default, reason. The command line,
the DUEL_* variables, the TOML file, --help and the example file (duel.toml beside this module)
are read from the table or written from it. `python -m duel_daemon.settings` prints the
example file; a test says so when it has to be written anew.

Stronger beats weaker: command line, environment, file, default. Everything wrong in any of them
is reported at once. How the sources are read is in sources; the rule books are not known here.
"""

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs

from duel_daemon import __version__, sources
from duel_daemon.sources import (
    HOSTS,
    LARGE,
    NETWORKS,
    NUMBER,
    ODD,
    PLACE,
    PORT,
    Given,
    Kind,
    Reading,
    Value,
    Wrong,
    choice,
    literal,
    option,
    seconds,
    slug,
    whole,
)
from duel_daemon.wire import MOST_LINE_BYTES

DEFAULT_CONFIG = Path("/etc/duel-daemon/duel.toml")
FLAGS = {
    "check": "say whether the settings are good, and end",
    "help": "show this, and end",
    "version": "show the version, and end",
}

# Which books there are is known only when load is told.
ANY_BOOK = Kind("a rule book (--help lists them)", str, bool, is_text=True)

GAME, TIME, LIMITS, SERVICE = "The game", "Time", "Limits", "The service"

T = TypeVar("T", bound=attrs.AttrsInstance)


class SettingsError(Exception):
    """Something is wrong with the settings; problems has one sentence for each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


# The table.


@attrs.frozen
class Entry:
    """What the table says of a setting, besides its name and type."""

    group: str
    kind: Kind
    default: Value
    reason: str  # one line of --help
    more: str = ""  # said in the example file only
    live: bool = False  # can change while running
    means: str = ""  # what the default means, where its value does not say it
    such_as: str = attrs.field()  # a value that works, to show; the default, if it is telling

    @such_as.default
    def _default_shows(self) -> str:
        return str(self.default)

    def read(self, given: Given, rulebooks: Sequence[str]) -> Value:
        kind = slug(rulebooks) if self.kind is ANY_BOOK else self.kind
        such_as = literal(self.such_as, kind) if kind.is_text else self.such_as
        return sources.value_of(given, kind, such_as)


def setting(
    group: str, kind: Kind, default: Value, reason: str, more: str = "", **rest: Any
) -> Any:
    """Return the attrs field of one setting; Any, because its type stands in the annotation."""
    entry = Entry(group, kind, default, reason, more, **rest)
    return attrs.field(default=default, metadata={Entry: entry})


live = partial(setting, live=True)


@attrs.frozen(kw_only=True)
class Settings:
    """The table. `live` entries can change while the daemon runs (SIGHUP), the others cannot."""

    # fmt: off
    rulebook: str = live(GAME, ANY_BOOK, "divisor-duel", "the rule book of the default game")
    number: int | None = live(GAME, NUMBER, None, "its starting number",
        means="the book's own", such_as="60")
    divisors: str = live(GAME, choice("any", "even", "odd", "prime"), "any", "divisors allowed")
    best_of: int = live(GAME, ODD, 1, "a match is the best of so many duels")
    first_turn: str = live(GAME, choice("random", "first-come"), "random", "who moves first")
    max_number: int = live(GAME, LARGE, 10**12, "the largest starting number")
    violations: int = live(GAME, whole(1, 100), 3, "Number Factor: invalid moves that forfeit",
        "In a row, by the same player.")
    talk: str = live(GAME, choice("off", "canned", "free"), "canned", "what players may say",
        "canned: friendly phrases by number, for a classroom; free: anything.")

    turn_seconds: float = live(TIME, seconds(5, 86400, or_zero=True), 60,
        "time for a turn; then the mover forfeits", "0: no limit.")
    first_turn_extra_seconds: float = live(TIME, seconds(0, 600), 10,
        "more for the first turn of a duel", "The players are still reading what this is.")
    return_seconds: float = live(TIME, seconds(0, 3600), 60,
        "a lost connection's seat is kept so long", "0: it is not kept.")
    name_seconds: float = live(TIME, seconds(0.1, 3600), 60, "no name given for so long: closed",
        "For the whole name, not for each letter.")
    lobby_idle_seconds: float = live(TIME, seconds(0.1, 86400, or_zero=True), 1800,
        "idle in the lobby for so long: closed", "0: never.")
    line_seconds: float = live(TIME, seconds(0.1, 3600), 60, "a line begun must end within this",
        "Else half a line could hold its connection open for ever.")
    send_seconds: float = live(TIME, seconds(1, 3600), 30,
        "nothing acknowledged so long: closed",
        "A computer that was switched off does not say so. From half of it on, TCP asks "
        "a silent one whether it is still there.")

    outbox_bytes: int = live(LIMITS, whole(4096, 2**20, "bytes"), 65536,
        "text kept for who does not read",
        "More than this, and the connection is closed. The kernel keeps about as much (SO_SNDBUF).")
    max_connections: int = setting(LIMITS, whole(2, 100_000), 2000, "connections at once",
        "Keep it below FileDescriptorStoreMax= and LimitNOFILE= of the service.")
    max_unnamed: int = live(LIMITS, whole(1, 100_000), 100, "of them without a name yet",
        "One more, and whoever has had the longest time to give one makes room.")
    per_address: int = live(LIMITS, whole(1, 100_000), 40, "connections from one address at once",
        "A whole class can sit behind one address. Of IPv6 addresses, a /64 counts as one; "
        "link-local ones (fe80::) count each.")
    new_per_minute: int = live(LIMITS, whole(1, 1_000_000), 120,
        "new ones a minute from one address",
        "A class comes back all at once when the Wi-Fi does; a scanner does not stop there. As "
        "many again for everybody there who has a name: one joker must not use up a class's share.")
    free_offences: int = live(LIMITS, whole(0, 1000), 4, "offences that cost an address nothing",
        "An offence is what no player does: another protocol, too many new connections, wrong "
        "codes, no name in time. A class behind one address may have a joker in it. What is "
        "connected is never touched.")
    longest_wait_seconds: float = live(LIMITS, seconds(2, 86400, or_zero=True), 64,
        "the longest wait for more offences",
        "For new connections of that address. The first is 2 s, each more doubles it. 0: none. "
        "Nobody waits where somebody has a name, or had one within return_seconds: a joker must "
        "not lock out the class.")
    offence_seconds: float = live(LIMITS, seconds(1, 86400), 60, "an offence is forgiven after",
        "One at a time: the worst offender is a stranger like any other after ten minutes.")
    known_addresses: int = live(LIMITS, whole(16, 1_000_000), 4096, "addresses remembered for this",
        "About 1 MB of memory. One more, and an old one without offences is forgotten.")
    code_tries: int = live(LIMITS, whole(1, 100), 3, "wrong return codes, then closed",
        "In one connection. More than a typing mistake or two is somebody who guesses.")
    trusted: str = live(LIMITS, NETWORKS, "", "addresses without such limits",
        "Addresses and networks, separated by commas. For them there is no max_unnamed, no "
        "per_address, no new_per_minute and no wait. What guards the other players' time holds for "
        "them too: max_connections, and how fast lines are taken.",
        means="none", such_as="192.168.1.0/24")
    line_burst: int = live(LIMITS, whole(1, 1_000_000), 10, "lines that are taken at once",
        "Then lines_per_second; what comes faster waits, nothing is lost.")
    lines_per_second: int = live(LIMITS, whole(1, 1_000_000), 4, "lines a second after these",
        "Nobody types faster for long, and a flood must not cost the others their time.")
    line_bytes: int = live(LIMITS, whole(128, MOST_LINE_BYTES, "bytes"), 512, "the longest line",
        "A longer one is answered by one sentence, and the next works again.")
    endless_bytes: int = live(LIMITS, whole(8192, 2**20, "bytes"), 65536,
        "no end of line in so many: closed", "No person's program sends as much in one line.")
    telnet_bytes: int = live(LIMITS, whole(1024, 2**20, "bytes"), 4096,
        "of telnet subnegotiations: closed",
        "Real clients send less than 200 in a connection's life; none is kept.")
    telnet_answers: int = live(LIMITS, whole(8, 512), 64, "answers to telnet options",
        "One for each option and direction; further ones are not answered.")

    host: str = setting(SERVICE, HOSTS, "", "addresses to listen on",
        "Several are separated by commas. Empty: all, IPv4 and IPv6.",
        means="all", such_as="192.168.1.20")
    port: int = setting(SERVICE, PORT, 4000, "TCP port to listen on")
    state: str = setting(SERVICE, PLACE, "", "where results are kept, or none",
        "A directory; none: they are not kept. Empty: $STATE_DIRECTORY (systemd sets it), else "
        "$XDG_STATE_HOME/duel-daemon, else ~/.local/state/duel-daemon.",
        means="state directory", such_as="/var/lib/duel-daemon")
    log_level: str = live(SERVICE, choice("debug", "info", "warning", "error"), "info",
        "what to log")
    log_seconds: float = live(SERVICE, seconds(1, 86400), 60,
        "the same trouble is logged once in", "How often it happened meanwhile is said then.")
    # fmt: on

    def part(self, record: type[T], **other: Any) -> T:
        """Return a room's own record of the settings it has fields for, under the same names."""
        names = {field.name for field in attrs.fields(record)} - other.keys()
        return record(**other, **{name: getattr(self, name) for name in names})

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses one by one; none: listen on all."""
        return tuple(self.host.split(",")) if self.host else ()


TABLE: Mapping[str, Entry] = {field.name: field.metadata[Entry] for field in attrs.fields(Settings)}


# Loading.


@attrs.frozen
class Check:
    """A rule across settings: it objects in words that follow the source, or returns None.

    It is asked only when everything it names could be read, and the first of its names that
    was set anywhere is blamed.
    """

    names: tuple[str, ...]
    objection: Callable[[Settings], str | None]


@attrs.frozen
class Loaded:
    """Good settings, the file they came from (if any), and whether only a check was asked for."""

    settings: Settings
    config_path: Path | None
    check: bool


def load(
    argv: Sequence[str],
    environ: Mapping[str, str],
    rulebooks: Sequence[str],
    *,
    checks: Sequence[Check] = (),
    default_config: Path = DEFAULT_CONFIG,
) -> Loaded:
    """Return the settings; SettingsError lists all that is wrong, SystemExit ends --help."""
    examples = {name: entry.such_as for name, entry in TABLE.items()} | {"config": "duel.toml"}
    line = sources.command_line(argv, examples, FLAGS)
    _answer(line.flags, rulebooks)
    variables = sources.environment(environ, examples)
    asked = line.given.get("config") or variables.given.get("config")
    path = Path(str(asked.value)) if asked else default_config
    file = sources.toml_file(path, TABLE, asked_by=asked.source if asked else None)
    readings = (line, variables, file or Reading())
    settings, problems = _settle(readings, rulebooks, (*_OWN_CHECKS, *checks))
    if problems:
        raise SettingsError(problems)
    return Loaded(settings, path if file else None, "check" in line.flags)


def _answer(flags: frozenset[str], rulebooks: Sequence[str]) -> None:
    answers = {"help": help_text(rulebooks), "version": f"duel-daemon {__version__}"}
    for flag, answer in answers.items():
        if flag in flags:
            print(answer)
            raise SystemExit(0)


def _settle(
    readings: Sequence[Reading], rulebooks: Sequence[str], checks: Sequence[Check]
) -> tuple[Settings, list[str]]:
    """Turn what was given, the strongest source first, into settings and all that is wrong."""
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    wrong: set[str] = set()
    problems: list[str] = []
    for reading in readings:
        problems += reading.problems
        for name in filter(TABLE.__contains__, reading.given):  # config is no setting
            given = reading.given[name]
            try:
                value = TABLE[name].read(given, rulebooks)
            except Wrong as exc:
                problems.append(str(exc))
                wrong.add(name)
            else:
                values.setdefault(name, value)
                origin.setdefault(name, given.source)
    settings = Settings(**values)
    for check in checks:
        if not wrong.intersection(check.names) and (words := check.objection(settings)):
            blamed = next((origin[name] for name in check.names if name in origin), "default")
            problems.append(f"{blamed}: {words}")
    return settings, problems


def _over_the_limit(settings: Settings) -> str | None:
    if settings.number is None or settings.number <= settings.max_number:
        return None
    return f"{settings.number} is over max_number ({settings.max_number})"


_OWN_CHECKS = (Check(("number", "max_number"), _over_the_limit),)


def changed(old: Settings, new: Settings) -> tuple[list[str], list[str]]:
    """Return the names that differ: those that can change while running, those that cannot."""
    names = [name for name in TABLE if getattr(old, name) != getattr(new, name)]
    live_names = [name for name in names if TABLE[name].live]
    return live_names, [name for name in names if name not in live_names]


def only_live(old: Settings, new: Settings) -> Settings:
    """Return the new settings as far as they can change while running."""
    _, later = changed(old, new)
    return attrs.evolve(new, **{name: getattr(old, name) for name in later})


def state_path(settings: Settings, environ: Mapping[str, str]) -> Path | None:
    """Return the directory where results are kept; None: nothing is kept.

    Without a setting, STATE_DIRECTORY and a home there is no place to keep anything.
    """
    home = environ.get("HOME", "")
    if settings.state == "none":
        return None
    if home and settings.state.startswith("~/"):  # no shell replaces it in the file
        return Path(home, settings.state[2:])
    if settings.state:
        return Path(settings.state)
    if directories := environ.get("STATE_DIRECTORY"):
        return Path(directories.split(":")[0])  # systemd lists several so
    xdg = environ.get("XDG_STATE_HOME", "")
    if xdg.startswith("/"):  # the XDG specification: a relative one is to be ignored
        return Path(xdg, "duel-daemon")
    return Path(home, ".local/state/duel-daemon") if home else None


# What operators read.

_GROUPS = (GAME, TIME, LIMITS, SERVICE)
_PRECEDENCE = (
    "The command line beats the environment (DUEL_PORT for --port), which beats the file "
    "(port = 4000), which beats the default. "
    f"The file is the one --config or DUEL_CONFIG names, else {DEFAULT_CONFIG} if there is one."
)


def help_text(rulebooks: Sequence[str]) -> str:
    lines = ["usage: duel-daemon [--NAME VALUE] ...", "", "Number duels over nc and telnet."]
    for group in _GROUPS:
        lines += ["", f"{group}:"]
        lines += [_help_line(name, _purpose(entry)) for name, entry in _members(group)]
    lines.append(_help_line("config", "the TOML file to read [see below]"))
    lines += [_help_line(flag, purpose) for flag, purpose in FLAGS.items()]
    lines += ["", *_wrapped(f"Rule books: {', '.join(rulebooks)}."), "", *_wrapped(_PRECEDENCE)]
    return "\n".join(lines)


def _members(group: str) -> list[tuple[str, Entry]]:
    return [(name, entry) for name, entry in TABLE.items() if entry.group == group]


def _help_line(name: str, purpose: str) -> str:
    return f"  {option(name):<26}  {purpose}"


def _purpose(entry: Entry) -> str:
    choices = f" ({'|'.join(entry.kind.choices)})" if entry.kind.choices else ""
    return (
        f"{entry.reason}{choices} [{entry.means or entry.default} {entry.kind.unit}".rstrip() + "]"
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 78, break_on_hyphens=False)


def example() -> str:
    """Return the example file: every setting commented out at its default, with its reason."""
    opening = (
        "The settings of duel-daemon. As it stands this file changes nothing: each setting is "
        f"commented out at its default. {_PRECEDENCE} "
        "Settings marked * change while the daemon runs, on SIGHUP (systemctl reload): limits "
        "for those who are connected too, the game and its times with the next duel."
    )
    lines = _commented(opening)
    for group in _GROUPS:
        lines += ["", "", f"# ---- {group} ----"]
        for name, entry in _members(group):
            lines += ["", *_described(entry)]
            lines.append(f"#{name} = {literal(entry.default, entry.kind)}")
    return "\n".join(lines) + "\n"


def _described(entry: Entry) -> list[str]:
    what = f"{entry.reason}." + (" *" if entry.live else "")
    means = f" Empty: {entry.means}." if entry.means and not entry.more else ""
    allowed = f"{entry.kind.noun}.{means} {entry.more}".rstrip()
    return [line for text in (what, allowed) for line in _commented(text[0].upper() + text[1:])]


def _commented(text: str) -> list[str]:
    return [f"# {line}" for line in _wrapped(text)]


if __name__ == "__main__":
    print(example(), end="")
