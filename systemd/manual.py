"""Prints duel-daemon.8: the text beside this file, with the options from the table of settings.

Needs docutils and the daemon's package; where they come from is the caller's business.
"""

import re
from pathlib import Path

from docutils.core import publish_string
from docutils.writers.manpage import Writer

from duel_daemon import __version__
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.settings import ANY_BOOK, FLAGS, TABLE, Entry
from duel_daemon.sources import option, slug

SOURCE = Path(__file__).with_name("duel-daemon.8.rst")
HERE = ".. The options stand here."
WARNINGS_ARE_ERRORS = {"report_level": 2, "halt_level": 2}


def page() -> str:
    """Return the page as man reads it."""
    roff: bytes = publish_string(source(), writer=Writer(), settings_overrides=WARNINGS_ARE_ERRORS)
    return roff.decode().replace(".SH Name\n", ".SH NAME\n")  # as every other page has it


def source() -> str:
    """Return the whole text as reStructuredText."""
    before, here, after = SOURCE.read_text("utf-8").partition(HERE)
    assert here, f"{SOURCE.name} says nowhere: {HERE}"
    return f"{before}{options()}{after}".replace("@VERSION@", __version__)


def options() -> str:
    """Return every option, by group."""
    groups = dict.fromkeys(entry.group for entry in TABLE.values())
    asking = [_item(f"**{option(flag)}**", _sentence(what)) for flag, what in FLAGS.items()]
    settings = [part for group in groups for part in _group(group)]
    return "\n".join([*settings, *_title("Asking"), *asking])


def _group(group: str) -> list[str]:
    members = [(name, entry) for name, entry in TABLE.items() if entry.group == group]
    items = [_item(f"**{option(name)}** {_value(entry)}", _said(entry)) for name, entry in members]
    return [*_title(group), *items]


def _title(text: str) -> list[str]:
    return [f"{text}\n{'-' * len(text)}\n"]


def _item(term: str, text: str) -> str:
    return f"{term}\n    {text}\n"


def _value(entry: Entry) -> str:
    """Return what stands for the value."""
    if entry.kind.choices:
        return "|".join(f"*{choice}*" for choice in entry.kind.choices).replace("|", r"\ \|\ ")
    units = {"s": "SECONDS", "bytes": "BYTES"}
    return f"*{units.get(entry.kind.unit) or ('TEXT' if entry.kind.is_text else 'NUMBER')}*"


def _said(entry: Entry) -> str:
    kind = slug(tuple(BY_SLUG)) if entry.kind is ANY_BOOK else entry.kind
    allowed = "" if kind.choices else _sentence(kind.noun)
    default = f"{entry.means or entry.default} {kind.unit}".rstrip()
    when = "" if entry.live else "Takes a restart to change."
    what = _sentence(entry.reason)
    said = (what, allowed, _plain(entry.more), f"Default: {_plain(default)}.", when)
    return " ".join(filter(None, said))


def _sentence(words: str) -> str:
    return _plain(f"{words[0].upper()}{words[1:]}.")


def _plain(text: str) -> str:
    """Return text that means nothing to docutils."""
    return re.sub(r"([\\*`|_])", r"\\\1", text)


if __name__ == "__main__":
    print(page(), end="")
