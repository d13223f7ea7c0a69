"""What a player types to come to a game: offers, challenges, rematches, and the answers."""

from duel_daemon import terms
from duel_daemon.hall import Hall
from duel_daemon.lobby import Challenge
from duel_daemon.matchmaker import Matchmaker
from duel_daemon.player import Player
from duel_daemon.terms import Unclear, Wish
from duel_daemon.textwidth import either, short


async def play(hall: Hall, player: Player, words: str) -> None:
    wish = terms.parse(words, hall.default_terms, hall.settings.max_number)
    if isinstance(wish, Unclear):
        player.house(wish.sentence)
    else:
        hall.matchmaker.look(player, wish)


async def stop(hall: Hall, player: Player, words: str) -> None:
    if hall.matchmaker.stop_looking(player):
        player.house("You no longer look for an opponent. Type play to look again.")
    else:
        practice = " To end the practice, type resign." if player.is_practising else ""
        player.house(f"You are not looking for an opponent.{practice}")


async def join(hall: Hall, player: Player, words: str) -> None:
    other = _somebody(hall, player, words)
    if other is None:
        return
    theirs = hall.matchmaker.lobby.offer_of(other)
    if theirs is None:
        player.house(f"{other.name} is not looking for an opponent. Try: challenge {other.name}")
    elif other.is_practising:
        hall.matchmaker.challenge(player, other, Wish(theirs.terms))
    else:
        hall.matchmaker.pair(other, theirs, player, Wish(theirs.terms))


async def challenge(hall: Hall, player: Player, words: str) -> None:
    name, _, game_words = words.partition(" ")
    other = _somebody(hall, player, name)
    if other is None:
        return
    wish = terms.parse(game_words, hall.default_terms, hall.settings.max_number)
    if isinstance(wish, Unclear):
        player.house(wish.sentence)
    elif other.plays_somebody:
        player.house(f"{other.name} is in a duel. Ask again later, or type watch {other.name}.")
    elif (answered := _same_challenge(hall.matchmaker, other, player, wish)) is not None:
        hall.matchmaker.begin(answered)
    else:
        hall.matchmaker.challenge(player, other, wish)


def _same_challenge(
    matchmaker: Matchmaker, challenger: Player, challenged: Player, wish: Wish
) -> Challenge[Player] | None:
    """Two who challenge each other to the same game have agreed."""
    theirs = matchmaker.challenge_between(challenger, challenged)
    if theirs is None or theirs.wish.terms != wish.terms or wish.wants_first:
        return None
    return theirs


async def accept(hall: Hall, player: Player, words: str) -> None:
    if player.plays_somebody:
        player.house("You are in a duel; nobody can challenge you before it is over.")
        return
    asking = _who_asked(hall, player, words)
    if asking is None:
        return
    matchmaker = hall.matchmaker
    if (challenge := matchmaker.challenge_between(asking, player)) is not None:
        matchmaker.begin(challenge)
    elif matchmaker.wants_rematch(asking, player) and asking.last_table is not None:
        hall.seat_again(player, asking, asking.last_table)
    else:
        mine, theirs = matchmaker.lobby.offer_of(player), matchmaker.lobby.offer_of(asking)
        assert mine is not None
        assert theirs is not None
        matchmaker.pair(player, mine, asking, theirs)


async def decline(hall: Hall, player: Player, words: str) -> None:
    asking = _who_asked(hall, player, words)
    if asking is not None:
        hall.matchmaker.decline(player, asking)


def _who_asked(hall: Hall, player: Player, name: str) -> Player | None:
    """Who waits for a yes or no; if nobody does or it is not clear who, the player reads so."""
    asking = hall.matchmaker.asking(player)
    if name:
        named = hall.find(name)
        asking = [other for other in asking if other is named]
    if len(asking) == 1:
        return asking[0]
    if asking:
        names = either(other.name for other in asking)
        player.house(f"Whom do you mean: {names}? Type the name, too.")
    else:
        player.house(
            "They have not asked you for a game." if name else "Nobody has challenged you."
        )
    return None


async def withdraw(hall: Hall, player: Player, words: str) -> None:
    if not hall.matchmaker.take_back(player):
        player.house("You have not challenged anybody.")


async def rematch(hall: Hall, player: Player, words: str) -> None:
    table, opponent = player.last_table, player.last_opponent
    if words:
        player.house("A rematch is the same game again; for another one there is challenge.")
    elif table is None or opponent is None:
        player.house("You have not played with anybody yet. Type play to look for an opponent.")
    elif not hall.is_here(opponent):
        player.house(f"{opponent.name} has left; type play to look for somebody else.")
    elif opponent.plays_somebody:
        player.house(f"{opponent.name} plays with somebody else now.")
    elif opponent.last_table is not table:
        player.house(f"{opponent.name} has played again since. Try: challenge {opponent.name}")
    elif hall.matchmaker.wants_rematch(opponent, player):
        hall.seat_again(player, opponent, table)
    elif hall.matchmaker.wants_rematch(player, opponent):
        player.house(f"You have asked {opponent.name}; wait for the answer.")
    else:
        hall.matchmaker.ask_for_rematch(player, opponent)


def _somebody(hall: Hall, player: Player, name: str) -> Player | None:
    """Somebody else who is here; if there is none of that name, the player reads so."""
    other = hall.find(name) if name else None
    if not name:
        player.house("With whom? Type the name, too; who shows who is here.")
    elif other is None:
        player.house(f"There is nobody called {short(name)} here; who shows who is.")
    elif other is player:
        player.house("That is you.")
        return None
    return other
