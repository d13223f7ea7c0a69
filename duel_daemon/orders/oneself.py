"""What players decide about themselves: name, screen, leaving."""

from duel_daemon import names
from duel_daemon.commands import WORDS
from duel_daemon.hall import Hall
from duel_daemon.names import Refusal
from duel_daemon.narrator import CLOSED
from duel_daemon.peer import Quit
from duel_daemon.player import Player


async def name(hall: Hall, player: Player, words: str) -> None:
    def is_taken(key: str) -> bool:
        return key != player.key and hall.is_taken(key)

    new = names.check(words, is_taken, WORDS)
    if isinstance(new, Refusal):
        player.house(new.sentence)
    else:
        hall.rename(player, new)
        player.house(f"You are {new} now.")


async def bell(hall: Hall, player: Player, words: str) -> None:
    is_on = _switched(words, player.bell)
    if is_on is None:
        player.house("Type bell on or bell off.")
    else:
        player.bell = is_on
        hall.preferred(player)
        player.house("A bell rings when it is your turn." if is_on else "The bell is off.")


async def ascii_(hall: Hall, player: Player, words: str) -> None:
    is_on = _switched(words, player.ascii_only)
    if is_on is None:
        player.house("Type ascii on or ascii off.")
    else:
        player.prefer_ascii(is_on)
        hall.preferred(player)
        player.house("Plain letters only from now on." if is_on else "All signs are shown again.")


async def mute(hall: Hall, player: Player, words: str) -> None:
    is_on = _switched(words, player.muted)
    if is_on is None:
        player.house("Type mute on or mute off.")
    else:
        player.muted = is_on
        hall.preferred(player)
        player.house("You read no talk now." if is_on else "You read what others say again.")


def _switched(words: str, now: bool) -> bool | None:
    """`on`, `off`, or without a word the other way round than now."""
    return {"on": True, "off": False, "": not now}.get(words.casefold())


async def quit_(hall: Hall, player: Player, words: str) -> None:
    raise Quit("quit", f"Goodbye! {CLOSED}")
