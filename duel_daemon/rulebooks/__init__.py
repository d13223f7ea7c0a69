"""The shelf: the rule books that can be played, written out by hand.

A book is one file beside this one, whose BOOK it is, and one line in FILES.
"""

from importlib import import_module

from duel_daemon.rulebooks.book import RuleBook

FILES = (
    "divisor_duel",
    "divisor_duel_by_division",
    "divisor_duel_random_start",
    "factor_duel",
    "number_factor",
)

SHELF: tuple[RuleBook, ...] = tuple(import_module(f"{__name__}.{file}").BOOK for file in FILES)

BY_SLUG = {book.slug: book for book in SHELF}

__all__ = ["BY_SLUG", "SHELF", "RuleBook"]
