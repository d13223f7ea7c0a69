"""What a player can look at: help, rules, who is here, what is played; and watching."""

import trio

from duel_daemon import commands, glossary
from duel_daemon.commands import Command, Place
from duel_daemon.hall import Hall
from duel_daemon.player import Player
from duel_daemon.rulebooks import SHELF, RuleBook
from duel_daemon.table import Table
from duel_daemon.terms import Unclear, find_book
from duel_daemon.textwidth import aligned, short, wrapped

LISTED = 40  # rows of `who` and `duels`; the rest is counted


async def help_(hall: Hall, player: Player, words: str) -> None:
    player.house(*help_lines(words))


def help_lines(words: str) -> list[str]:
    if not words:
        return commands.overview()
    first, *others = words.casefold().split()
    found, book = commands.find(first), find_book(words)
    is_command = first in commands.WORDS
    if isinstance(book, RuleBook) and others and not is_command:
        return rules_lines(book, "")
    meaning = glossary.lines(words) if not is_command else []
    if meaning:
        return _all_wrapped(meaning)
    if isinstance(found, Command):
        return _all_wrapped(commands.details(found))
    return rules_lines(book, "") if isinstance(book, RuleBook) else [found.sentence]


def _all_wrapped(lines: list[str]) -> list[str]:
    return [row for line in lines for row in wrapped(line)]


async def rules(hall: Hall, player: Player, words: str) -> None:
    table = player.table
    if table is None or words:
        player.house(*rules_lines(hall.default_terms.book, words))
    else:
        _, *rest = rules_lines(table.terms.book, "")
        player.house(f"You play {table.game_text}.", *rest)


def rules_lines(default: RuleBook, words: str) -> list[str]:
    book = find_book(words) if words else default
    if isinstance(book, Unclear):
        return [book.sentence]
    others = ", ".join(other.slug for other in SHELF if other is not book)
    return [
        f"{book.title}, from {book.start_text}.",
        *book.explanation.splitlines(),
        *wrapped(f"Other games: {others}."),
    ]


async def who(hall: Hall, player: Player, words: str) -> None:
    player.house(*who_lines(hall))


def who_lines(hall: Hall) -> list[str]:
    people = sorted(hall.players, key=lambda person: hall.matchmaker.lobby.offer_of(person) is None)
    rows = aligned((person.name, _doing(hall, person)) for person in people[:LISTED])
    more = [f"... and {len(people) - LISTED} more."] if len(people) > LISTED else []
    count = {0: "Nobody is here yet.", 1: "1 person is here:"}
    return [count.get(len(people), f"{len(people)} people are here:"), *rows, *more]


def _doing(hall: Hall, person: Player) -> str:
    offer = hall.matchmaker.lobby.offer_of(person)
    waits = f"waits for {offer.words}" if offer is not None else ""
    if person.table is not None:
        opponent = person.table.opponent_of(person).name
        plays = "practises with" if person.is_practising else "plays"
        return ", ".join(filter(None, (f"{plays} {opponent}", waits)))
    if waits:
        return waits
    return "watches" if person.watching is not None else "is in the lobby"


async def duels(hall: Hall, player: Player, words: str) -> None:
    tables = list(hall.tables.values())
    if not tables:
        player.house("Nothing is being played.")
        return
    player.house(*aligned(_row(table) for table in tables[:LISTED]))
    if len(tables) > LISTED:
        player.house(f"... and {len(tables) - LISTED} more.")


def _row(table: Table) -> tuple[str, ...]:
    practice = " (practice)" if table.is_practice else ""
    return (
        f"{table.names}{practice}",
        table.terms.words,
        f"now at {table.duel.number}" if table.duel.is_on else "between duels",
    )


async def watch(hall: Hall, player: Player, words: str) -> None:
    person = hall.find(words) if words else None
    table = person.table if person is not None else None
    if not words:
        player.house("Type watch and the name of a player; duels shows who is playing.")
    elif table is None:
        nobody = f"Nobody called {short(words)} is playing"
        who = f"{person.name} is not playing" if person is not None else nobody
        player.house(f"{who}; duels shows who is.")
    elif player.watching is table:
        player.house("You are watching that one already.")
    else:
        hall.stop_watching(player)
        await _sit_down(hall, player, table)


async def _sit_down(hall: Hall, player: Player, table: Table) -> None:
    text = await table.transcript()
    if not player.is_free:
        return  # an opponent has come while a large number was considered
    if table.is_over:
        player.house("That game is over now.")
        return
    what, who_is_who = table.introduction(table.terms.text)
    player.house(what, f"{who_is_who} Type unwatch to stop watching.")
    if hall.matchmaker.stop_looking(player):
        player.house("While you watch, you are not looking for an opponent.")
    player.tell(text)
    player.watching = table
    table.watch(player, trio.current_time())
    hall.memory.watching(player)


async def unwatch(hall: Hall, player: Player, words: str) -> None:
    if player.watching is None:
        player.house("You are not watching anything.")
    else:
        hall.stop_watching(player)
        player.house("You are back in the lobby.")


def remind(hall: Hall, player: Player) -> None:
    """Somebody just pressed Enter."""
    offer = hall.matchmaker.lobby.offer_of(player)
    if player.place is Place.BETWEEN:
        player.house("The next duel begins in a moment.")
    elif player.table is not None:
        if player.table.at(player.table.duel.mover) is not player:
            player.house("It is not your turn. Type help to see what you can do.")
    elif offer is not None:
        player.house(f"You are waiting for an opponent: {offer.text}. Type help for more.")
    else:
        player.house("Type play to look for an opponent, or help.")
