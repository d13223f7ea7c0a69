"""What a player does in a duel: move, ask, talk, give up."""

import math

from duel_daemon.aside import consider
from duel_daemon.contestant import Contestant
from duel_daemon.hall import Hall
from duel_daemon.narrator import seconds
from duel_daemon.player import Player
from duel_daemon.survey import allowed_divisors
from duel_daemon.table import Table
from duel_daemon.textwidth import counted, wrapped

DIVISORS_PER_PAGE = 1000

PHRASES = (
    "Hello!",
    "Good luck!",
    "Nice move.",
    "Hm, let me think.",
    "Oops!",
    "Well played!",
    "Another one?",
    "Thank you for the game.",
)


async def move(player: Player, divisor: int) -> None:
    """A line of digits."""
    table = player.table
    if table is None:
        player.house("You are not in a duel. Type play to look for an opponent.")
    elif not table.duel.is_on:
        player.house("Wait for the next duel to begin.")
    else:
        await table.play(player, divisor)


def move_at_once(player: Player, line: str) -> bool:
    """Play a line of digits, if that takes no waiting: this is what most lines are."""
    table = player.table
    if table is None or not (line.isdigit() and line.isascii()):
        return False
    return table.play_at_once(player, int(line))


def _table(player: Player) -> Table:
    assert player.table is not None  # the table of commands admits these in a duel only
    return player.table


async def divisors(hall: Hall, player: Player, words: str) -> None:
    duel = _table(player).duel
    number, lowest = duel.number, duel.game.book.lowest_divisor
    restriction = duel.game.restriction
    found = await consider(number, allowed_divisors, number, lowest, restriction)
    pages = max(1, math.ceil(len(found) / DIVISORS_PER_PAGE))
    page = 1 if not words else int(words) if words.isascii() and words.isdigit() else 0
    if not 1 <= page <= pages:
        player.house(f"There is no such page; the list has {counted(pages, 'page')}.")
        return
    shown = found[(page - 1) * DIVISORS_PER_PAGE : page * DIVISORS_PER_PAGE]
    player.house(f"{number} has {counted(len(found), 'divisor')} to choose from:")
    player.house(*wrapped(", ".join(map(str, shown))))
    if page < pages:
        player.house(f"Page {page} of {pages}; divisors {page + 1} goes on.")


async def time(hall: Hall, player: Player, words: str) -> None:
    table = _table(player)
    left = table.seconds_left()
    if not table.duel.is_on:
        player.house("No clock is running: the next duel begins in a moment.")
    elif left == math.inf:
        player.house("There is no clock in this duel.")
    else:
        mover = table.at(table.duel.mover)
        who = "you" if mover is player else mover.name
        player.house(f"{seconds(left)} left for {who}.")


async def resign(hall: Hall, player: Player, words: str) -> None:
    _table(player).resign(player)


async def say(hall: Hall, player: Player, words: str) -> None:
    table, talk = _table(player), hall.settings.talk
    if talk == "off":
        player.house("Talking is switched off here.")
    elif talk == "canned" and not _is_phrase(words):
        player.house("Type say and a number:", *_phrases())
    elif not words:
        player.house("Type say and what you want to say.")
    elif table.is_practice:
        player.house("The house is not much of a talker.")
    else:
        text = PHRASES[int(words) - 1] if talk == "canned" else words
        _spread(table, player, text)


def _is_phrase(words: str) -> bool:
    return words in {str(number) for number in range(1, len(PHRASES) + 1)}


def _phrases() -> list[str]:
    return [f"  {number} {phrase}" for number, phrase in enumerate(PHRASES, 1)]


def _spread(table: Table, speaker: Player, text: str) -> None:
    readers: list[Contestant] = [table.opponent_of(speaker), *table.watchers]
    for reader in readers:
        if not (isinstance(reader, Player) and reader.muted):
            reader.house(f"{speaker.name} says: {text}")
    speaker.house(f"You say: {text}")
