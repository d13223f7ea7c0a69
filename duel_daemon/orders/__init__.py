"""A line of a player -> what is done about it: the one table of commands and who carries them out.

Every order is answered, with what was asked for or with a sentence that says why not.
"""

from collections.abc import Awaitable, Callable

from duel_daemon import commands
from duel_daemon.commands import Blank, Command, Move, Order, Place, Unknown
from duel_daemon.hall import Hall
from duel_daemon.orders import duelling, finding, learning, looking, oneself, results
from duel_daemon.player import Player

Handler = Callable[[Hall, Player, str], Awaitable[None]]

HANDLERS: dict[str, Handler] = {
    "play": finding.play,
    "join": finding.join,
    "challenge": finding.challenge,
    "accept": finding.accept,
    "decline": finding.decline,
    "withdraw": finding.withdraw,
    "stop": finding.stop,
    "rematch": finding.rematch,
    "divisors": duelling.divisors,
    "time": duelling.time,
    "resign": duelling.resign,
    "say": duelling.say,
    "rules": looking.rules,
    "who": looking.who,
    "duels": looking.duels,
    "history": results.history,
    "standings": results.standings,
    "watch": looking.watch,
    "unwatch": looking.unwatch,
    "help": looking.help_,
    "practice": learning.practice,
    "hint": learning.hint,
    "review": learning.review,
    "retry": learning.retry,
    "name": oneself.name,
    "bell": oneself.bell,
    "ascii": oneself.ascii_,
    "mute": oneself.mute,
    "quit": oneself.quit_,
}


async def carry_out(hall: Hall, player: Player, line: str) -> None:
    said = commands.parse(line)
    if type(said) is Move:
        await duelling.move(player, said.divisor)
    elif isinstance(said, Order):
        if player.place in said.command.where:
            await HANDLERS[said.command.name](hall, player, said.words)
        else:
            player.house(misplaced(said.command, player.place))
    elif isinstance(said, Unknown):
        player.house(said.sentence)
    elif isinstance(said, Blank):
        looking.remind(hall, player)


def misplaced(command: Command, place: Place) -> str:
    """Why a command does nothing here, and what would have to come first."""
    if place is Place.BETWEEN and Place.DUEL in command.where:
        return f"{command.name} works in a duel; the next one begins in a moment."
    if place in Place.SEATED and command.name == "play":
        return "You are playing. To move, type just the number; to give up, type resign."
    if place in Place.SEATED:
        return f"{command.name} works when this is over; to give up, type resign."
    if command.name == "hint":
        return "Hints are for practice. Type practice to play against the house."
    return f"{command.name} works in a duel. Type play to look for an opponent."
