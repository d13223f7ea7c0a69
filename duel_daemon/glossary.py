"""Words on the screen that are no commands, and what `help` says about them. Pure."""

import attrs

from duel_daemon.match import HIGHEST_BEST_OF
from duel_daemon.opponents import Strength
from duel_daemon.survey import Restriction


@attrs.frozen
class Entry:
    """What a word means. The first word is how it is written on the screen."""

    words: tuple[str, ...]
    meaning: str
    """A few sentences, such as a twelve-year-old says them."""
    example: str = ""
    """Something to type."""


def _only(restriction: Restriction) -> Entry:
    word = restriction.value
    meaning = f"Only {word} divisors may be chosen. If your number has none, you cannot move."
    return Entry((word,), meaning, f"play {word} 72")


ENTRIES = (
    # What a game is agreed on with.
    Entry(
        ("best of", "best", "of", "match", "matches", "score"),
        "A match is several duels between the same two; the first turn alternates. Best of 3 is "
        "won by whoever first wins two duels, best of 5 by whoever wins three: any odd number up "
        f"to {HIGHEST_BEST_OF} will do.",
        "play best of 3",
    ),
    Entry(
        ("mirror", "mirror match"),
        "Two duels from the same number, and each of you begins one of them: it is fair, though "
        "whoever begins can usually win. Win both, and the match is yours. If each wins one, it "
        "goes to whoever made fewer mistakes.",
        "challenge Anna mirror",
    ),
    Entry(
        ("first", "coin", "first turn", "first move"),
        "Whoever moves first is Player 1. If nobody asks to be first, the coin decides, or who "
        "came first. In a rematch and in a match the first turn changes hands.",
        "play first",
    ),
    _only(Restriction.EVEN),
    _only(Restriction.ODD),
    Entry(
        (Restriction.PRIME.value, "prime number", "primes"),
        "A prime number has no divisors but 1 and itself: 2, 3, 5, 7, 11 and so on. A game with "
        "the word prime in it is one in which only prime divisors may be chosen.",
        "play prime 72",
    ),
    Entry((Restriction.ANY.value,), "All divisors may be chosen.", "play any 72"),
    # The house.
    Entry(
        ("the house", "house", "strength", "strengths"),
        "The house is this program. It plays with you when you type practice, as well as you "
        "like: easy, medium or perfect. Lines that begin with * are the house's, too.",
        "practice easy",
    ),
    Entry(
        (Strength.EASY.value,), "The house chooses any divisor, without thinking.", "practice easy"
    ),
    Entry(
        (Strength.MEDIUM.value,),
        "The house thinks about every other move or so.",
        "practice medium",
    ),
    Entry((Strength.PERFECT.value,), "The house wins whenever it can.", "practice perfect"),
    # In a duel.
    Entry(
        ("divisor", "proper divisor", "proper", "factor", "factors", "remainder"),
        "A divisor of a number divides it and leaves no remainder: 3 is a divisor of 12, 5 is "
        "not. A proper divisor is smaller than the number itself. 1 counts in some games only.",
        "divisors",
    ),
    Entry(
        ("n", "current number", "shared number"),
        "The number in play, which both of you change by turns.",
        "rules",
    ),
    Entry(
        ("player 1", "player 2", "player", "opponent", "seat"),
        "Player 1 is whoever moves first, Player 2 the other one. You are told which you are "
        "when a duel begins.",
        "who",
    ),
    Entry(
        ("turn passed", "turn lost", "passed", "pass", "lost", "invalid"),
        "In Number Factor, a number that is no divisor costs you your turn; in the other games "
        "you just try again. If you have no divisor to choose there, your turn is passed.",
        "rules number-factor",
    ),
    Entry(
        ("code", "cut off", "cut", "kept"),
        "If your connection breaks, your seat is kept for a while. Connect again and answer the "
        "question for your name with your name and the code that you were told.",
    ),
    # Afterwards.
    Entry(
        ("mistake", "mistakes", "gives the win away", "keeps the win", "winning", "losing"),
        "From a winning number you can win, whatever your opponent does. A move that leaves "
        "your opponent such a number is a mistake: it gives the win away.",
        "review",
    ),
    Entry(
        ("recorded", "record", "duel"),
        "A duel is one game, until somebody wins. It is recorded under a number of its own, and "
        "review and that number shows its moves. Practice is not recorded.",
        "history",
    ),
    Entry(
        ("streak", "rate", "wins"),
        "In the standings, rate is how many of your duels you have won, and streak how many you "
        "have won or lost in a row.",
        "standings",
    ),
    Entry(
        ("lobby", "waiting", "guest"),
        "You are in the lobby when you do not play. Type play to look for an opponent, practice "
        "to play against the house, or watch and a name to look on.",
        "play",
    ),
)

BY_WORD = {word: entry for entry in ENTRIES for word in entry.words}


def lines(words: str) -> list[str]:
    """What is said about these words, or about the first of them; nothing, if they are not here."""
    said = " ".join(words.casefold().split())
    entry = BY_WORD.get(said) or BY_WORD.get(said.split(" ")[0])
    if entry is None:
        return []
    example = [f"Example: {entry.example}"] if entry.example else []
    return [f"{entry.words[0]}: {entry.meaning}", *example]
