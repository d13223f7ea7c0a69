"""Starts duel-daemon.pyz. Any Python can read this file, to be told that it is too old."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - here is where the others are turned away
    mine = ".".join(map(str, sys.version_info[:2]))
    sys.exit("duel-daemon needs Python 3.11 or newer; this is Python " + mine + ".")

from duel_daemon.cli import main

main()
