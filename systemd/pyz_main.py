"""Starts duel-daemon.pyz. Any Python can read this file, to be told that it is too old."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - here is where the others are turned away
    sys.exit("duel-daemon needs Python 3.11 or newer; this is Python %d.%d." % sys.version_info[:2])

from duel_daemon.cli import main

main()
