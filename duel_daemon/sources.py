"""Reading settings: the command line, the environment, a TOML file; and the kinds of value.

Which settings there are is the business of settings: names and kinds are handed in. Nothing here
stops at the first thing wrong: each reader returns all that was given and all its problems, one
sentence each, beginning with the source.

argparse is not used: it stops at the first error, guesses abbreviations and wraps --help to the
terminal, and all three would have to be turned off; command_line is one loop.
"""

import difflib
import ipaddress
import re
import tomllib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from duel_daemon.limits import networks

Value: TypeAlias = str | int | float | None

PREFIX = "DUEL_"
SHOWN_BITS = 190  # about as many as SHOWN_CHARS digits
SHOWN_CHARS = 60  # of a wrong value: enough to recognise it, and a sentence stays a sentence

_ALIASES = {"-h": "--help"}
_AN_OPTION = re.compile(r"-[^0-9.]")  # "-5" is a (wrong) value, "-x" and "--x" are options
_PLAIN_NUMBER = re.compile(r"[-+]?[0-9][0-9_.^]*(?:[eE][-+]?[0-9]+)?", re.ASCII)
_PLAIN_NAME = re.compile(r"[-\w.]+", re.ASCII)
_WHOLE = re.compile(r"[0-9]+(?:_[0-9]+)*", re.ASCII)
_LARGE = re.compile(r"([0-9]{1,19})(\^|[eE]\+?)([0-9]{1,2})", re.ASCII)
_SECONDS = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?", re.ASCII)
_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_]([-a-z0-9_.]*[a-z0-9_])?", re.ASCII | re.IGNORECASE)
_NUMERIC_HOST = re.compile(r"[0-9.]+|.*:.*", re.ASCII)
_LINE = re.compile(r"(.*) \(at (?:(line \d+), column \d+|end of document)\)", re.DOTALL)


@attrs.frozen
class Given:
    """One setting as one source gave it. The value is text, or what TOML made of it."""

    name: str
    source: str
    value: object
    typed: bool = False  # TOML knows 4000 from "4000"


@attrs.frozen
class Reading:
    """All that one source said."""

    given: Mapping[str, Given] = attrs.field(factory=dict)
    problems: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()


class Wrong(Exception):  # noqa: N818 - it reads as what it is, and never leaves settings
    """One sentence on what is wrong with one setting."""


class Numeral(str):
    """A TOML float as it was written: 1e12 is exact until it passes through a float."""

    __slots__ = ()


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return PREFIX + name.upper()


# Kinds: what a value may be.


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text) or len(text) > SHOWN_CHARS:
        raise ValueError
    return int(text)


def _large(text: str) -> int:
    """Read a whole number that may be written 10^12 or 1e12; exact, never by way of a float."""
    found = _LARGE.fullmatch(text)
    if not found:
        return _whole(text)
    number, sign, exponent = int(found[1]), found[2], int(found[3])
    large: int = number**exponent if sign == "^" else number * 10**exponent
    return large


def _seconds(text: str) -> float:
    """Read seconds; whole ones stay int, so that nobody reads "60.0 seconds"."""
    if not _SECONDS.fullmatch(text) or len(text) > SHOWN_CHARS:
        raise ValueError
    number = float(text)
    return int(number) if number.is_integer() else number


def _hosts(text: str) -> str:
    return ",".join(host.strip() for host in text.split(","))


def _are_hosts(hosts: str) -> bool:
    return not hosts or all(map(_is_host, hosts.split(",")))


def _are_networks(text: str) -> bool:
    try:
        networks(text)
    except ValueError:
        return False
    return True


def _is_host(host: str) -> bool:
    """Say whether it can be one; what looks like an IP address has to be one."""
    if not _NUMERIC_HOST.fullmatch(host):
        return bool(_HOST_NAME.fullmatch(host))
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@attrs.frozen
class Kind:
    """What a setting's value may be, and how text becomes one."""

    noun: str  # completes "... is not ..."
    convert: Callable[[str], Value]  # may raise ValueError
    fits: Callable[[Any], bool]
    unit: str = ""
    is_text: bool = False  # stands in quotes in the file
    optional: bool = False  # "" stands for None
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> Value:
        if self.optional and not text.strip():
            return None
        value = self.convert(text.strip())
        if not self.fits(value):
            raise ValueError
        return value


def whole(low: int, high: int, unit: str = "") -> Kind:
    noun = f"a whole number from {low} to {high}"
    return Kind(noun, _whole, range(low, high + 1).__contains__, unit)


def seconds(low: float, high: float, *, or_zero: bool = False) -> Kind:
    noun = f"a time of {low} to {high} seconds" + (", or 0" if or_zero else "")
    return Kind(noun, _seconds, lambda s: low <= s <= high or (or_zero and s == 0), "s")


def choice(*choices: str) -> Kind:
    noun = f"one of {', '.join(choices)}"
    return Kind(noun, str.lower, choices.__contains__, is_text=True, choices=choices)


def slug(books: Sequence[str]) -> Kind:
    return Kind(f"a rule book ({', '.join(books)})", str.lower, books.__contains__, is_text=True)


# Every book starts from a composite number, and 4 is the smallest.
NUMBER = Kind(
    "a whole number from 4 to 10^18", _large, range(4, 10**18 + 1).__contains__, optional=True
)
LARGE = Kind("a whole number from 100 to 10^18", _large, range(100, 10**18 + 1).__contains__)
PORT = Kind("a port (1 to 65535)", _whole, range(1, 65536).__contains__)
ODD = Kind("an odd number from 1 to 21", _whole, range(1, 22, 2).__contains__)
HOSTS = Kind(
    "an address (such as 192.168.1.20, ::1 or localhost)", _hosts, _are_hosts, is_text=True
)
NETWORKS = Kind(
    "a network (such as 192.168.1.0/24 or fd00::/8)", _hosts, _are_networks, is_text=True
)
PLACE = Kind("a path (or none)", str, str.isprintable, is_text=True)


# The three readers.


def command_line(
    argv: Sequence[str], examples: Mapping[str, str], flags: Collection[str]
) -> Reading:
    """Read `--name value` and `--name=value`; examples are the names, each with a value that works.

    Of an option given twice the last one counts, so that a wrapper script can be overruled.
    """
    names = {option(name): name for name in (*examples, *flags)}
    given: dict[str, Given] = {}
    problems: list[str] = []
    raised: set[str] = set()
    words = deque(argv)
    while words:
        word, equals, value = words.popleft().partition("=")
        word = _ALIASES.get(word, word)
        name = names.get(word)
        if not word.startswith("-"):
            problems.append(f"{_label(word)}: unexpected; write options, such as --port 4000")
            continue
        if name and name in flags:
            raised.add(name)
            problems += [f"{word}: takes no value"] if equals else []
            continue
        text = value if equals else _next_value(words)
        if name is None:  # its value, if it has one, is gone with it: one mistake, one sentence
            problems.append(_unknown(_label(word), word, names))
        elif text is None:
            problems.append(f"{word}: needs a value, such as {word} {examples[name]}")
        else:
            given[name] = Given(name, word, text)
    return Reading(given, tuple(problems), frozenset(raised))


def _next_value(words: deque[str]) -> str | None:
    return words.popleft() if words and not _AN_OPTION.match(words[0]) else None


def environment(environ: Mapping[str, str], names: Collection[str]) -> Reading:
    """Read DUEL_*; an empty variable counts as unset, whatever its name."""
    known = {variable(name): name for name in names}
    set_here = {key: text for key, text in environ.items() if key.startswith(PREFIX) and text}
    given = {known[key]: Given(known[key], key, set_here[key]) for key in set_here if key in known}
    unknown = [_unknown(_label(key), key, known) for key in sorted(set_here) if key not in known]
    return Reading(given, tuple(unknown))


def toml_file(path: Path, names: Collection[str], *, asked_by: str | None) -> Reading | None:
    """Read the file; None: nobody asked for it and there is none.

    asked_by is the option or variable that named the file, None for the usual place.
    """
    where = f"{asked_by}: " if asked_by else ""
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as exc:
        return _unreadable(where, path, exc) if asked_by else None
    except (OSError, ValueError) as exc:  # ValueError: a path that no system call takes
        return _unreadable(where, path, exc)
    source = _label(path.name)
    parsed = _parse(raw)
    if isinstance(parsed, str):
        return Reading(problems=(f"{source}: {parsed}",))
    given = {
        name: Given(name, f"{source}: {name}", value, typed=True)
        for name, value in parsed.items()
        if name in names
    }
    unknown = [_unknown_key(source, key, parsed[key], names) for key in parsed if key not in names]
    return Reading(given, tuple(unknown))


def _unreadable(where: str, path: Path, exc: Exception) -> Reading:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else "not a possible path"
    return Reading(problems=(f"{where}{shown(str(path))} cannot be read ({reason})",))


def _parse(raw: bytes) -> dict[str, object] | str:
    """Return what the file says, or the sentence on why it says nothing."""
    try:
        text = raw.decode("utf-8-sig")  # Windows editors put a byte order mark in front
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        return f"line {line}: not UTF-8; save the file as UTF-8"
    try:
        return tomllib.loads(text, parse_float=Numeral)
    except RecursionError:
        return "lists nested too deep; write one name = value a line"
    except tomllib.TOMLDecodeError as exc:
        return _syntax_error(str(exc))
    except ValueError:  # int() refuses thousands of digits, and tomllib passes that on as it is
        return "a number in it is too long"


def _syntax_error(message: str) -> str:
    found = _LINE.fullmatch(message)
    what, line = found.groups() if found else (message, None)
    return f"{line or 'at the end'}: {what}; write name = value, and text in double quotes"


# From what was given to a value.


_TOML_TYPES: tuple[tuple[type, str], ...] = (  # the first that fits: bool is an int to Python
    (bool, "a boolean"),
    (int, "a number"),
    (Numeral, "a number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a section"),
    (object, "a date or time"),
)


def value_of(given: Given, kind: Kind, such_as: str) -> Value:
    """Return the value, or raise Wrong; such_as is a value that works, as the file writes it."""
    if given.typed:
        _refuse_wrong_type(given, kind, such_as)
    # A number far too long to show is as unreadable as it would be in the sentence.
    text = given.value if isinstance(given.value, str) else shown(given.value)
    try:
        return kind.read(text)
    except ValueError:
        raise Wrong(f"{given.source}: {shown(given.value)} is not {kind.noun}") from None


def _refuse_wrong_type(given: Given, kind: Kind, such_as: str) -> None:
    value = given.value
    name = next(words for of_type, words in _TOML_TYPES if isinstance(value, of_type))
    if name == ("text" if kind.is_text else "a number") or (kind.optional and value == ""):
        return
    there = quoted(_short(value)) if name == "text" and isinstance(value, str) else shown(value)
    right = _rewritten(value, kind) or such_as
    raise Wrong(f"{given.source}: {there} is {name}; write {given.name} = {right}")


def _rewritten(value: object, kind: Kind) -> str | None:
    """Return what was meant by "4000" where 4000 is right; None: no telling."""
    if not isinstance(value, str) or isinstance(value, Numeral):
        return None
    try:
        return literal(kind.read(value), kind)
    except ValueError:
        return None


def literal(value: Value, kind: Kind) -> str:
    """Return the value as the file writes it."""
    return quoted(str(value)) if kind.is_text else '""' if value is None else str(value)


# Sentences.


def _unknown_key(source: str, key: str, value: object, names: Collection[str]) -> str:
    if isinstance(value, dict):
        return f"{source}: [{_label(key)}]: unknown; the file has no sections"
    return _unknown(f"{source}: {_label(key)}", key, names)


def _unknown(label: str, word: str, names: Iterable[str]) -> str:
    near = nearest(word, names)
    return f"{label}: unknown; " + (f"did you mean {near}?" if near else "see --help")


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant: one that begins so, else one spelt nearly so."""
    keys = {_key(name): name for name in names}
    typed = _key(word[:SHOWN_CHARS])
    begun = sorted((key for key in keys if typed and key.startswith(typed)), key=len)
    close = begun or difflib.get_close_matches(typed, keys, n=1, cutoff=0.7)
    return keys[close[0]] if close else None


def _key(name: str) -> str:
    """Return what is compared: the prefixes all share would make every name look alike."""
    return name.removeprefix(PREFIX).lstrip("-").replace("-", "_").lower()


def shown(value: object) -> str:
    """Return a wrong value as a sentence shows it: numbers bare, text quoted, all printable."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if value.bit_length() <= SHOWN_BITS else "a number that long"
    if not isinstance(value, str):
        return "that"  # a list or a section may be of any size
    plain = _PLAIN_NUMBER.fullmatch(value) and len(value) <= SHOWN_CHARS
    return str(value) if plain else repr(_short(value))


def _label(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) and len(name) <= SHOWN_CHARS else repr(_short(name))


def _short(text: str) -> str:
    return str(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "...")


def quoted(text: str) -> str:
    """Return text as a TOML string."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if char.isprintable() else f"\\U{ord(char):08X}"
