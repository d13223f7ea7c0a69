"""What players decide about themselves: name, screen, leaving."""

from duel_daemon import names
from duel_daemon.commands import WORDS
from duel_daemon.hall import Hall
from duel_daemon.names import Refusal
from duel_daemon.peer import Gone
from duel_daemon.player import Player


async def name(hall: Hall, player: Player, words: str) -> None:
    def is_taken(key: str) -> bool:
        return key != names.key(player.name) and hall.is_taken(key)

    new = names.check(words, is_taken, WORDS)
    if isinstance(new, Refusal):
        player.house(new.sentence)
    else:
        hall.rename(player, new)
        player.house(f"You are {new} now.")


async def bell(hall: Hall, player: Player, words: str) -> None:
    player.bell = _switched(words, player.bell)
    player.house(f"The bell is {_on(player.bell)}: it rings when it is your turn.")


async def ascii_(hall: Hall, player: Player, words: str) -> None:
    player.peer.ascii_only = _switched(words, player.peer.ascii_only)
    player.house(f"Plain ASCII is {_on(player.peer.ascii_only)}.")


async def mute(hall: Hall, player: Player, words: str) -> None:
    player.muted = _switched(words, player.muted)
    player.house("You read no talk now." if player.muted else "You read what others say.")


def _switched(words: str, now: bool) -> bool:
    """`on`, `off`, or the other way round than now."""
    return {"on": True, "off": False}.get(words.casefold(), not now)


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


async def quit_(hall: Hall, player: Player, words: str) -> None:
    raise Gone("quit", "Goodbye! The connection is closed.")
