"""What was played before: history, standings, and the review of an older duel."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from duel_daemon import names
from duel_daemon.duel import Game, Turn, alternating
from duel_daemon.hall import Hall
from duel_daemon.player import Player
from duel_daemon.records import DuelRecord, Standing
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.store import Store, StoreError
from duel_daemon.survey import Restriction
from duel_daemon.textwidth import aligned, short

T = TypeVar("T")

LISTED = 15

NOTHING_KEPT = "Results are not kept here."
NOT_NOW = "The results cannot be read at the moment."


async def _asked(hall: Hall, player: Player, question: Callable[[Store], T]) -> T | None:
    """What the store answers; if it cannot, the player reads why."""
    archivist = hall.memory.archivist
    if not archivist.is_keeping:
        player.house(NOTHING_KEPT)
        return None
    try:
        return await archivist.ask(question)
    except StoreError:
        player.house(NOT_NOW)
        return None


async def history(hall: Hall, player: Player, words: str) -> None:
    name = words.split(maxsplit=1)[0] if words else player.name
    found = await _asked(hall, player, lambda store: store.history(name, LISTED))
    if found is None:
        return
    if not found:
        player.house(f"There is no duel of {short(name)} on record.")
        return
    heading = ("duel", "when", "against", "game", "")
    rows = (_row(number, duel, names.key(name)) for number, duel in found)
    player.house(f"The last duels of {short(name)}:", *aligned((heading, *rows)))
    player.house(f"Type review and the number of a duel to look at it: review {found[0][0]}")


def _row(number: int, duel: DuelRecord, key: str) -> tuple[str, ...]:
    """As whoever has this key sees it."""
    seat = 1 if names.key(duel.players[0]) == key else 2
    results = {None: "nobody won", seat: "won"}
    return (
        str(number),
        datetime.fromtimestamp(duel.ended).strftime("%Y-%m-%d %H:%M"),
        duel.players[2 - seat],
        _game(duel),
        results.get(duel.winner, "lost"),
    )


def _game(duel: DuelRecord) -> str:
    kind = "" if duel.restriction == Restriction.ANY.value else f" {duel.restriction}"
    return f"{duel.rulebook} {duel.start}{kind}"


async def standings(hall: Hall, player: Player, words: str) -> None:
    found = await _asked(hall, player, lambda store: store.standings(LISTED))
    if found is None:
        return
    if not found:
        player.house("Nobody has finished a duel yet.")
        return
    heading = ("", "name", "wins", "duels", "rate", "streak")
    rows = (_standing(place, standing) for place, standing in enumerate(found, 1))
    player.house(*aligned((heading, *rows)))


def _standing(place: int, standing: Standing) -> tuple[str, ...]:
    streak = standing.streak
    return (
        f"{place}.",
        standing.name,
        str(standing.wins),
        str(standing.duels),
        f"{standing.win_rate:.0%}",
        f"{abs(streak)} {'won' if streak > 0 else 'lost'}",
    )


async def recorded(hall: Hall, number: int) -> DuelRecord | None:
    """An older duel, if there is one of that number; StoreError, if that cannot be told."""
    archivist = hall.memory.archivist
    if not archivist.is_keeping:
        return None
    return await archivist.ask(lambda store: store.duel(number))


def game_and_turns(record: DuelRecord) -> tuple[Game, list[Turn]] | None:
    """What can be reviewed; None, if its rule book is no longer on the shelf."""
    book = BY_SLUG.get(record.rulebook)
    if book is None:
        return None
    game = Game(book, record.start, Restriction(record.restriction), record.violations)
    return game, alternating(divisor for divisor, _ in record.turns)
