"""Prints duel-daemon.8: the text beside this file, with the options from the table of settings.

Needs the daemon's package and nothing else, so that whoever installs it without a network has the
page too. The text is written for man(7); see there for its requests.
"""

from pathlib import Path

from duel_daemon import __version__
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.settings import ANY_BOOK, FLAGS, TABLE, Entry
from duel_daemon.sources import option, slug

SOURCE = Path(__file__).with_name("duel-daemon.8.in")
BEGINNING = ".SH SYNOPSIS\n"
HERE = '.\\" The options stand here.\n'

# Else man shows typographic ones, which nobody can paste into a shell.
PLAIN = str.maketrans({"-": r"\-", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga"})


def page() -> str:
    """Return the page as man reads it."""
    head, beginning, text = SOURCE.read_text("utf-8").partition(BEGINNING)
    before, here, after = text.partition(HERE)
    assert here, f"{SOURCE.name} says nowhere: {HERE}"
    filled = f"{beginning}{before}{options()}{after}"
    return head.replace("@VERSION@", __version__) + filled.translate(PLAIN)


def options() -> str:
    """Return every option, by group."""
    groups = dict.fromkeys(entry.group for entry in TABLE.values())
    asking = [_item(rf"\fB{option(flag)}\fR", _sentence(what)) for flag, what in FLAGS.items()]
    settings = [part for group in groups for part in _group(group)]
    return "".join([*settings, ".SS Asking\n", *asking])


def _group(group: str) -> list[str]:
    members = [(name, entry) for name, entry in TABLE.items() if entry.group == group]
    items = [
        _item(rf"\fB{option(name)}\fR {_value(entry)}", _said(entry)) for name, entry in members
    ]
    return [f".SS {group}\n", *items]


def _item(term: str, text: str) -> str:
    return f".TP\n{term}\n{text}\n"


def _value(entry: Entry) -> str:
    """Return what stands for the value."""
    units = {"s": "SECONDS", "bytes": "BYTES"}
    other = units.get(entry.kind.unit) or ("TEXT" if entry.kind.is_text else "NUMBER")
    return "|".join(rf"\fI{choice}\fR" for choice in entry.kind.choices or (other,))


def _said(entry: Entry) -> str:
    kind = slug(tuple(BY_SLUG)) if entry.kind is ANY_BOOK else entry.kind
    allowed = "" if kind.choices else _sentence(kind.noun)
    default = f"{entry.means or entry.default} {kind.unit}".rstrip()
    when = "" if entry.live else "Takes a restart to change."
    what = _sentence(entry.reason)
    said = (what, allowed, _literal(entry.more), f"Default: {_literal(default)}.", when)
    return " ".join(filter(None, said))


def _sentence(words: str) -> str:
    return _literal(f"{words[0].upper()}{words[1:]}.")


def _literal(text: str) -> str:
    """Return text that means nothing to man."""
    return text.replace("\\", r"\e")


if __name__ == "__main__":
    print(page(), end="")
