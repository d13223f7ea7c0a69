"""Line -> command. One table says what can be typed, where, and what `help` writes about it.

Pure: it decides what a line means, not what happens then.
"""

import difflib
import enum

import attrs

from duel_daemon.textwidth import SHOWN_CHARACTERS, either, short
from duel_daemon.wire import DOT, MOST_LINE_BYTES

MOST_DIGITS = 512  # of a move: what costs a turn is kept as it was typed
TOO_LONG = "That line is too long."


class Place(enum.Flag):
    """Where a player is when a line is typed."""

    NAMING = enum.auto()
    LOBBY = enum.auto()
    WATCHING = enum.auto()
    DUEL = enum.auto()
    BETWEEN = enum.auto()
    """Between two duels of a match."""

    ABOUT = LOBBY | WATCHING
    SEATED = DUEL | BETWEEN
    NAMED = ABOUT | SEATED
    ANYWHERE = NAMING | NAMED


class Group(enum.Enum):
    """What a person wants to do: the headings of `help`."""

    PLAY = "Find a game"
    DUEL = "In a duel"
    LEARN = "Learn"
    LOOK = "See and talk"
    SELF = "You"


@attrs.frozen
class Command:
    """One thing that can be typed."""

    name: str
    usage: str
    summary: str
    """A few words, for the overview."""
    detail: str
    """One to three sentences, for `help NAME`."""
    example: str
    group: Group
    where: Place


GAME_WORDS = (
    "GAME is any of these, in any order: the name of a game (or a part of it), a number, "
    "even, odd or prime, best of 3, mirror, first. `help mirror` explains mirror, and so on."
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "play",
        "play [GAME]",
        "look for an opponent",
        f"Without words it is the usual game of this place. {GAME_WORDS}",
        "play factor-duel 96 best of 3",
        Group.PLAY,
        Place.ABOUT,
    ),
    Command(
        "join",
        "join NAME",
        "take the game that NAME looks for",
        "`who` shows who is looking, and for which game.",
        "join Otter-7",
        Group.PLAY,
        Place.ABOUT,
    ),
    Command(
        "challenge",
        "challenge NAME [GAME]",
        "ask NAME for a game",
        f"NAME reads the terms and accepts or declines. {GAME_WORDS}",
        "challenge Anna 72 even",
        Group.PLAY,
        Place.ABOUT,
    ),
    Command(
        "accept",
        "accept [NAME]",
        "say yes to a challenge",
        "Also to a rematch; and in practice, to the opponent who has come. "
        "Without a name it is the only one who asked.",
        "accept Anna",
        Group.PLAY,
        Place.NAMED,
    ),
    Command(
        "decline",
        "decline [NAME]",
        "say no to a challenge",
        "Also to a rematch; and in practice, to the opponent who has come. "
        "Without a name it is the only one who asked.",
        "decline Anna",
        Group.PLAY,
        Place.NAMED,
    ),
    Command(
        "withdraw",
        "withdraw",
        "take your challenge back",
        "Or your wish for a rematch. Starting another game takes it back, too.",
        "withdraw",
        Group.PLAY,
        Place.ABOUT,
    ),
    Command(
        "stop",
        "stop",
        "no longer look for an opponent",
        "You stay in the lobby; `play` looks again.",
        "stop",
        Group.PLAY,
        Place.NAMED,
    ),
    Command(
        "rematch",
        "rematch",
        "the same game again, sides swapped",
        "It starts when both of you have said it.",
        "rematch",
        Group.PLAY,
        Place.ABOUT,
    ),
    Command(
        "divisors",
        "divisors [PAGE]",
        "all the divisors to choose from",
        "A long list is shown a thousand at a time.",
        "divisors 2",
        Group.DUEL,
        Place.DUEL,
    ),
    Command(
        "time",
        "time",
        "how much time is left for the turn",
        "When it runs out, the player whose turn it is loses the duel.",
        "time",
        Group.DUEL,
        Place.SEATED,
    ),
    Command(
        "resign",
        "resign",
        "give up this duel, or the whole match",
        "Your opponent wins; you stay here. Between two duels of a match it gives up the match.",
        "resign",
        Group.DUEL,
        Place.SEATED,
    ),
    Command(
        "rules",
        "rules [GAME]",
        "how a game is played",
        "Without a name: of the game you are in, or of the usual one here.",
        "rules number-factor",
        Group.LEARN,
        Place.ANYWHERE,
    ),
    Command(
        "practice",
        "practice [easy|medium|perfect] [GAME]",
        "a duel against the house, at once",
        f"It never counts. If you were looking for an opponent, you keep your place. {GAME_WORDS}",
        "practice perfect 48",
        Group.LEARN,
        Place.ABOUT,
    ),
    Command(
        "hint",
        "hint",
        "help with your move (in practice)",
        "First a nudge; ask again and you get a move.",
        "hint",
        Group.LEARN,
        Place.DUEL,
    ),
    Command(
        "review",
        "review [NUMBER|match]",
        "your last duel, move by move",
        "Which moves kept the win, which gave it away, and what would have been right. "
        "With a number: the duel that was recorded under it. After a match, `review match` "
        "lists its duels, and `review match 1` is the first of them.",
        "review 17",
        Group.LEARN,
        Place.ABOUT | Place.BETWEEN,
    ),
    Command(
        "retry",
        "retry",
        "play on from your first mistake",
        "Practice against the perfect house, from the position before your first mistake.",
        "retry",
        Group.LEARN,
        Place.ABOUT,
    ),
    Command(
        "who",
        "who",
        "who is here, and who looks for what",
        "To play with someone who is looking, type `join` and the name.",
        "who",
        Group.LOOK,
        Place.ANYWHERE,
    ),
    Command(
        "duels",
        "duels",
        "what is being played",
        "Watch one with `watch` and the name of a player.",
        "duels",
        Group.LOOK,
        Place.NAMED,
    ),
    Command(
        "history",
        "history [NAME]",
        "duels that were played before",
        "Your own, or somebody else's; the newest first. Each has the number under which it was "
        "recorded: `review` and that number shows its moves.",
        "history Anna",
        Group.LOOK,
        Place.ABOUT | Place.BETWEEN,
    ),
    Command(
        "standings",
        "standings",
        "who has won how often",
        "Practice never counts.",
        "standings",
        Group.LOOK,
        Place.ABOUT | Place.BETWEEN,
    ),
    Command(
        "watch",
        "watch NAME",
        "look on at a duel",
        "You read it from the start, then move by move; `duels` shows who is playing.",
        "watch Anna",
        Group.LOOK,
        Place.ABOUT,
    ),
    Command(
        "unwatch",
        "unwatch",
        "stop watching",
        "You are back in the lobby.",
        "unwatch",
        Group.LOOK,
        Place.ABOUT,
    ),
    Command(
        "say",
        "say TEXT",
        "talk to your opponent (and the watchers)",
        "While you play. Where only fixed phrases are allowed, `say` alone lists them.",
        "say 1",
        Group.LOOK,
        Place.SEATED,
    ),
    Command(
        "mute",
        "mute [on|off]",
        "read no talk",
        "Only your own screen becomes quiet.",
        "mute on",
        Group.LOOK,
        Place.NAMED,
    ),
    Command(
        "name",
        "name NEWNAME",
        "change your name, between duels",
        "2 to 16 letters, digits, - or _; it begins with a letter.",
        "name Anna",
        Group.SELF,
        Place.ABOUT,
    ),
    Command(
        "bell",
        "bell [on|off]",
        "ring when it is your turn",
        "Most terminals beep or flash.",
        "bell on",
        Group.SELF,
        Place.NAMED,
    ),
    Command(
        "ascii",
        "ascii [on|off]",
        "plain letters, for old terminals",
        "For terminals on which signs such as \u00f7 come out wrong.",
        "ascii on",
        Group.SELF,
        Place.NAMED,
    ),
    Command(
        "help",
        "help [WORD]",
        "this overview, a command, or a word",
        "A word can be any that you read here. Commands can be cut short as long as it is clear "
        "which one is meant: re is not, res is.",
        "help play",
        Group.SELF,
        Place.ANYWHERE,
    ),
    Command(
        "quit",
        "quit",
        "leave (in a duel your opponent wins)",
        "The connection is closed.",
        "quit",
        Group.SELF,
        Place.ANYWHERE,
    ),
)

BY_NAME = {command.name: command for command in COMMANDS}

ALIASES = {
    "?": "help",
    "h": "help",
    "exit": "quit",
    "bye": "quit",
    "forfeit": "resign",
    "practise": "practice",
}

WORDS = frozenset(BY_NAME) | frozenset(ALIASES)
"""Words that no player may take as a name."""


@attrs.frozen
class Move:
    """A line of digits: a divisor, if it is a turn to move."""

    divisor: int


@attrs.frozen
class Order:
    """A command and the words after it."""

    command: Command
    words: str


@attrs.frozen
class Blank:
    """An empty line."""


@attrs.frozen
class Unknown:
    """A line that is no command, in one sentence that says what would be."""

    sentence: str


def parse(line: str) -> Move | Order | Blank | Unknown:
    """What a line means, wherever it was typed."""
    # A pipe from Windows may begin with a byte order mark, which arrives neutralised.
    text = line.strip().removeprefix(DOT).strip()
    if not text:
        return Blank()
    if len(text) > MOST_LINE_BYTES:
        return Unknown(TOO_LONG)
    if text.isascii() and text.isdigit():
        return Move(int(text)) if len(text) <= MOST_DIGITS else Unknown(TOO_LONG)
    word, *words = text.split(maxsplit=1)
    found = find(word)
    if isinstance(found, Command):
        return Order(found, words[0].strip() if words else "")
    if not text[0].isalpha() and any(map(str.isdigit, text)):
        return Unknown("A move is one whole number and nothing else, such as 15.")
    return found


def find(word: str) -> Command | Unknown:
    """The command with this name or with a name that only it begins with."""
    wanted = word.casefold()
    wanted = ALIASES.get(wanted, wanted)
    if wanted in BY_NAME:
        return BY_NAME[wanted]
    candidates = [name for name in BY_NAME if name.startswith(wanted)]
    if len(candidates) == 1:
        return BY_NAME[candidates[0]]
    if candidates:
        return Unknown(f"'{word}' could be {either(candidates)}.")
    shown = short(word)
    near = difflib.get_close_matches(wanted[:SHOWN_CHARACTERS], WORDS, n=1)
    if near:
        return Unknown(f"There is no command '{shown}'. Did you mean {near[0]}?")
    return Unknown(f"There is no command '{shown}'. Type help to see them all.")


def overview() -> list[str]:
    """The first screen of `help`, grouped by what a person wants to do."""
    lines = ["On your turn, type a number: the divisor you choose. Everything else:"]
    for group in Group:
        names = [command.name for command in COMMANDS if command.group is group]
        lines.append(f"{group.value + ':':<13} {', '.join(names)}")
    lines.append("help COMMAND explains one of them, for instance: help play")
    lines.append("help WORD explains a word that you read here, for instance: help mirror")
    return lines


def details(command: Command) -> list[str]:
    """What `help COMMAND` writes."""
    return [f"{command.usage}: {command.summary}.", command.detail, f"Example: {command.example}"]
