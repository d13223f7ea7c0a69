"""Prints duel-daemon.8: the text of duel-daemon.8.rst, with the options from the table of settings.

Needs docutils, which an operator without a network may not have. So the page is kept beside its
text, `make install` copies it, and `make man` makes it anew.
"""

import re
from pathlib import Path

from docutils.core import publish_string

from duel_daemon import __version__
from duel_daemon.settings import FLAGS, TABLE, Entry
from duel_daemon.sources import option

SOURCE = Path(__file__).with_name("duel-daemon.8.rst")
HERE = ".. The options stand here."

# The same page on every machine, and none if anything is wrong with the text.
DOCUTILS = {
    "_disable_config": True,
    "output_encoding": "unicode",
    "report_level": 2,
    "halt_level": 2,
}
COMMENT = re.compile(r"\.(\\\".*)?")  # in one of them docutils tells its version
HEADER = rf".\" Made by `make man` from {SOURCE.name}: change that one."

# Else some show typographic ones, which nobody can paste into a shell; docutils sees to the others.
PLAIN = str.maketrans({"^": r"\(ha", "~": r"\(ti"})


def page() -> str:
    """Return the page as man reads it."""
    roff = publish_string(source(), writer="manpage", settings_overrides=DOCUTILS)
    lines = [line for line in roff.splitlines() if not COMMENT.fullmatch(line)]
    text = "\n".join([HEADER, *lines, ""]).translate(PLAIN)
    return text.replace(".SH Name\n", ".SH NAME\n")  # as every other page has it


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
    return "\n".join([*settings, _title("Asking"), *asking])


def _group(group: str) -> list[str]:
    members = [(name, entry) for name, entry in TABLE.items() if entry.group == group]
    items = [_item(f"**{option(name)}** {_value(entry)}", _said(entry)) for name, entry in members]
    return [_title(group), *items]


def _title(text: str) -> str:
    return f"{text}\n{'-' * len(text)}\n"


def _item(term: str, text: str) -> str:
    return f"{term}\n    {text}\n"


def _value(entry: Entry) -> str:
    """Return what stands for the value."""
    units = {"s": "SECONDS", "bytes": "BYTES"}
    other = units.get(entry.kind.unit) or ("TEXT" if entry.kind.is_text else "NUMBER")
    return r"\ \|\ ".join(f"*{choice}*" for choice in entry.kind.choices or (other,))


def _said(entry: Entry) -> str:
    allowed = "" if entry.kind.choices else _sentence(entry.kind.noun)
    default = f"{entry.means or entry.default} {entry.kind.unit}".rstrip()
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
