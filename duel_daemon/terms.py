"""The terms of a game: what two players agree on, read from the words they type.

`play prime 72 best of 5 factor-duel` means the same in any order. What is not said is taken from
the daemon's default game. Pure.
"""

import random
import re
from collections.abc import Callable
from typing import Any

import attrs

from duel_daemon.duel import Game
from duel_daemon.match import HIGHEST_BEST_OF
from duel_daemon.rulebooks import BY_SLUG, RuleBook
from duel_daemon.survey import Restriction
from duel_daemon.textwidth import either, short, short_number
from duel_daemon.wire import MOST_LINE_BYTES


@attrs.frozen
class Terms:
    """A game as it is offered. No number means one that is drawn when the duel begins."""

    book: RuleBook
    number: int | None = None
    restriction: Restriction = Restriction.ANY
    best_of: int = 1
    mirror: bool = False

    @classmethod
    def of(cls, book: RuleBook, number: int | None, *rest: Any) -> "Terms":
        """With the book's own number, if none is asked for and the book draws none.

        Whoever names that number and whoever names none want the same game.
        """
        if number is None and type(book).starting_number is RuleBook.starting_number:
            number = book.start
        return cls(book, number, *rest)

    @property
    def is_single(self) -> bool:
        """Whether it is one duel, and not a match."""
        return self.best_of == 1 and not self.mirror

    @property
    def text(self) -> str:
        """As both sides read it before they agree."""
        start = str(self.number) if self.number is not None else self.book.start_text
        return ", ".join(
            self._parts(
                f"{self.book.title} from {start}",
                f"only {self.restriction.value} divisors",
                "mirror match (one number, a duel from each side)",
            )
        )

    @property
    def words(self) -> str:
        """As one would type it after `play`."""
        game = self.book.slug if self.number is None else f"{self.book.slug} {self.number}"
        return " ".join(self._parts(game, self.restriction.value, "mirror"))

    def _parts(self, game: str, restriction: str, mirror: str) -> list[str]:
        """The game, and what is special about it, if anything is."""
        parts = {
            game: True,
            restriction: self.restriction is not Restriction.ANY,
            f"best of {self.best_of}": self.best_of > 1,
            mirror: self.mirror,
        }
        return [part for part, is_said in parts.items() if is_said]

    def problem(self, max_number: int) -> str | None:
        """Why these terms leave nothing to play, with a number nearby that works."""
        if self.number is None:
            return None
        if self.number > max_number:
            return f"{short_number(self.number)} is too large: numbers go up to {max_number} here."
        if self.book.is_playable(self.number, self.restriction):
            return None
        nearby = self.book.nearest_playable(self.number, self.restriction, max_number)
        return f"{self.number} {self._why_not()}, so there is nothing to play. Try {nearby}."

    def _why_not(self) -> str:
        assert self.number is not None
        if self.number < 4:
            return "is too small"
        if not self.book.is_playable(self.number, Restriction.ANY):
            return "is a prime number"
        return f"has no {self.restriction.value} divisor to choose"

    def game(self, violations: int, rng: random.Random) -> Game:
        number = self.number
        if number is None:
            number = self.book.starting_number(self.restriction, rng)
        return Game(self.book, number, self.restriction, violations)


@attrs.frozen
class Wish:
    """Terms, and whether the player who named them asks for the first turn."""

    terms: Terms
    wants_first: bool = False

    @property
    def text(self) -> str:
        return f"{self.terms.text}; you move first" if self.wants_first else self.terms.text

    @property
    def words(self) -> str:
        return f"{self.terms.words} first" if self.wants_first else self.terms.words


@attrs.frozen
class Unclear:
    """Words that are no terms, in one sentence that says what would be."""

    sentence: str


@attrs.frozen
class NoSuchGame(Unclear):
    """A word that means nothing at all."""


def parse(words: str, default: Terms, max_number: int) -> Wish | Unclear:
    """The wish that these words make."""
    if len(words) > MOST_LINE_BYTES:
        return Unclear("That is too long.")
    reader = _Reader(default)
    for token in _BEST_OF.sub(r" best-of-\1 ", words.casefold()).split():
        if (unclear := reader.take(token)) is not None:
            return unclear
    wish = reader.wish()
    if isinstance(wish, Unclear):
        return wish
    problem = wish.terms.problem(max_number)
    return wish if problem is None else Unclear(problem)


@attrs.define
class _Reader:
    """Collects what the words say, in whatever order they come."""

    default: Terms
    number: int | None = None
    restriction: Restriction | None = None
    best_of: int | None = None
    mirror: bool = False
    wants_first: bool = False
    book_words: list[str] = attrs.field(factory=list)

    def take(self, token: str) -> Unclear | None:
        if token.isascii() and token.isdigit():
            return self._take_number(token)
        if token.startswith("best"):
            return self._take_best_of(token.removeprefix("best-of-"))
        if token in _RESTRICTIONS:
            return self._take_restriction(_RESTRICTIONS[token])
        if token == "first":
            self.wants_first = True
        elif token == "mirror":
            self.mirror = True
        else:
            self.book_words.append(token)
        return None

    def _take_number(self, token: str) -> Unclear | None:
        if self.number is not None:
            return Unclear("You named two numbers, and a game starts from one. Choose one.")
        self.number = int(token)
        return None

    def _take_restriction(self, restriction: Restriction) -> Unclear | None:
        if self.restriction not in (None, restriction):
            kinds = f"{self.restriction.value} and {restriction.value}"
            return Unclear(f"You named two kinds of divisors, {kinds}. Choose one.")
        self.restriction = restriction
        return None

    def _take_best_of(self, digits: str) -> Unclear | None:
        duels = int(digits) if digits.isascii() and digits.isdigit() else 0
        if duels % 2 == 0 or duels > HIGHEST_BEST_OF:
            return Unclear(
                f"Best of how many? An odd number up to {HIGHEST_BEST_OF}, such as: best of 3"
            )
        if self.best_of not in (None, duels):
            return Unclear(f"You said best of {self.best_of} and best of {duels}. Choose one.")
        self.best_of = duels
        return None

    def wish(self) -> Wish | Unclear:
        book: RuleBook | Unclear | None = None
        if self.book_words:
            book = find_book(" ".join(self.book_words))
        if isinstance(book, Unclear):
            return _two_books(self.book_words) or book
        if self.mirror and self.best_of is not None and self.best_of > 1:
            return Unclear("A mirror match is two duels. Leave out mirror, or best of.")
        return Wish(self._terms(book), self.wants_first)

    def _terms(self, book: RuleBook | None) -> Terms:
        default = self.default
        number = self.number
        if number is None and book in (None, default.book):
            number = default.number
        best_of = self.best_of if self.best_of is not None else default.best_of
        return Terms.of(
            book or default.book,
            number,
            default.restriction if self.restriction is None else self.restriction,
            1 if self.mirror else best_of,
            self.mirror,
        )


_BEST_OF = re.compile(r"\bbest[ -]*(?:of)?[ -]*([0-9]+)\b")

_RESTRICTIONS = {restriction.value: restriction for restriction in Restriction}


def _two_books(words: list[str]) -> Unclear | None:
    """Whether each of two words is a book of its own."""
    books = {book.slug for book in map(find_book, words) if isinstance(book, RuleBook)}
    if len(books) < 2:
        return None
    return Unclear(f"You named {len(books)} games, {' and '.join(sorted(books))}. Choose one.")


def find_book(words: str) -> RuleBook | Unclear:
    """The book with this slug or title, or the only one that has these words in its slug."""
    wanted = "-".join(words.casefold().replace("(", " ").replace(")", " ").split())
    if wanted in BY_SLUG:
        return BY_SLUG[wanted]
    tests: tuple[Callable[[str], bool], ...] = (
        lambda slug: slug.startswith(wanted),
        lambda slug: wanted in slug,
        lambda slug: set(wanted.split("-")) <= set(slug.split("-")),
    )
    for fits in tests:
        found = [book for slug, book in BY_SLUG.items() if fits(slug)]
        if len(found) == 1:
            return found[0]
        if found:
            return Unclear(f"Which one: {either(book.slug for book in found)}?")
    return NoSuchGame(f"There is no game '{short(words)}'. The games: {', '.join(BY_SLUG)}.")
