"""What players decide about themselves: name, screen, leaving."""

from collections.abc import Awaitable, Callable
from typing import Literal

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


def _switch(
    name: str, wish: Literal["bell", "muted", "ascii_only"], on: str, off: str
) -> Callable[[Hall, Player, str], Awaitable[None]]:
    """A wish about the screen: `on`, `off`, or without a word the other way round than now."""

    async def switch(hall: Hall, player: Player, words: str) -> None:
        wanted = {"on": True, "off": False, "": not getattr(player, wish)}.get(words.casefold())
        if wanted is None:
            player.house(f"Type {name} on or {name} off.")
        else:
            player.prefer(wish, wanted)
            hall.preferred(player)
            player.house(on if wanted else off)

    return switch


bell = _switch("bell", "bell", "A bell rings when it is your turn.", "The bell is off.")
ascii_ = _switch(
    "ascii", "ascii_only", "Plain letters only from now on.", "All signs are shown again."
)
mute = _switch("mute", "muted", "You read no talk now.", "You read what others say again.")


async def quit_(hall: Hall, player: Player, words: str) -> None:
    raise Quit("quit", f"Goodbye! {CLOSED}")
