"""How two players come to a game: offers, challenges, rematches."""

import itertools

from duel_daemon import terms
from duel_daemon.hall import Hall
from duel_daemon.lobby import Challenge
from duel_daemon.player import Player
from duel_daemon.terms import Unclear, Wish
from duel_daemon.textwidth import either, short


async def play(hall: Hall, player: Player, words: str) -> None:
    wish = terms.parse(words, hall.default_terms, hall.settings.max_number)
    if isinstance(wish, Unclear):
        player.house(wish.sentence)
    else:
        hall.look(player, wish)


async def stop(hall: Hall, player: Player, words: str) -> None:
    if hall.withdraw_offer(player):
        player.house("You no longer look for an opponent. Type play to look again.")
    else:
        practice = " To end the practice, type resign." if player.is_practising else ""
        player.house(f"You are not looking for an opponent.{practice}")


async def join(hall: Hall, player: Player, words: str) -> None:
    other = _somebody(hall, player, words)
    if other is None:
        return
    theirs = hall.lobby.offer_of(other)
    if theirs is None:
        player.house(f"{other.name} is not looking for an opponent. Try: challenge {other.name}")
    elif other.is_practising:
        _send_challenge(hall, player, other, Wish(theirs.terms))
    else:
        hall.pair(other, theirs, player, Wish(theirs.terms))


async def challenge(hall: Hall, player: Player, words: str) -> None:
    name, _, game_words = words.partition(" ")
    other = _somebody(hall, player, name)
    if other is None:
        return
    wish = terms.parse(game_words, hall.default_terms, hall.settings.max_number)
    if isinstance(wish, Unclear):
        player.house(wish.sentence)
    elif not (other.is_free or other.is_practising):
        player.house(f"{other.name} is in a duel. Ask again later, or type watch {other.name}.")
    elif (answered := _same_challenge(hall, other, player, wish)) is not None:
        _begin(hall, answered)
    else:
        _send_challenge(hall, player, other, wish)


def _same_challenge(
    hall: Hall, challenger: Player, challenged: Player, wish: Wish
) -> Challenge[Player] | None:
    """Two who challenge each other to the same game have agreed."""
    theirs = _challenge(hall, challenger, challenged)
    if theirs is None or theirs.wish.terms != wish.terms or wish.wants_first:
        return None
    return theirs


def _send_challenge(hall: Hall, player: Player, other: Player, wish: Wish) -> None:
    replaced = hall.lobby.challenge(player, other, wish)
    if replaced is not None and replaced.challenged is not other:
        replaced.challenged.house(f"{player.name} has taken the challenge back.")
        player.house(f"You have taken back your challenge to {replaced.challenged.name}.")
    yours, theirs = _first(hall, wish, "you move"), _first(hall, wish, f"{player.name} moves")
    player.house(f"You challenge {other.name}: {wish.terms.text}{yours}.")
    other.house(
        f"{player.name} challenges you: {wish.terms.text}{theirs}.",
        "Type accept or decline.",
    )


def _first(hall: Hall, wish: Wish, who: str) -> str:
    if wish.wants_first:
        return f"; {who} first"
    by_coin = hall.settings.first_turn == "random"
    return "; the coin decides who moves first" if by_coin else "; the challenger moves first"


async def accept(hall: Hall, player: Player, words: str) -> None:
    if not (player.is_free or player.is_practising):
        player.house("You are in a duel; nobody can challenge you before it is over.")
        return
    asking = _who_asked(hall, player, words)
    if asking is None:
        return
    if (challenge := _challenge(hall, asking, player)) is not None:
        _begin(hall, challenge)
    elif hall.rematches.get(asking) is player and asking.last_table is not None:
        hall.seat_again(player, asking, asking.last_table)
    else:
        mine, theirs = hall.lobby.offer_of(player), hall.lobby.offer_of(asking)
        assert mine is not None
        assert theirs is not None
        hall.pair(player, mine, asking, theirs)


async def decline(hall: Hall, player: Player, words: str) -> None:
    asking = _who_asked(hall, player, words)
    if asking is None:
        return
    if _challenge(hall, asking, player) is not None:
        hall.lobby.withdraw_challenge(asking)
        asking.house(f"{player.name} declines your challenge.")
        player.house(f"You decline the challenge of {asking.name}.")
    elif hall.rematches.get(asking) is player:
        del hall.rematches[asking]
        asking.house(f"{player.name} does not want a rematch.")
        player.house(f"You decline the rematch with {asking.name}.")
    else:
        hall.withdraw_offer(player)
        player.house("You go on practising, and no longer look for an opponent.")


def _who_asked(hall: Hall, player: Player, name: str) -> Player | None:
    """Who waits for a yes or no; if nobody does or it is not clear who, the player reads so."""
    asking = _asking(hall, player)
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


def _asking(hall: Hall, player: Player) -> list[Player]:
    """For a challenge, a rematch, or the game that a practising player waits for."""
    asking = [challenge.challenger for challenge in hall.lobby.challenges_to(player)]
    asking += [other for other, wanted in hall.rematches.items() if wanted is player]
    mine = hall.lobby.offer_of(player) if player.is_practising else None
    if mine is not None:
        came = (other for other in hall.lobby.fitting(player, mine) if other.is_free)
        asking += itertools.islice(came, 1)
    return list(dict.fromkeys(asking))


def _challenge(hall: Hall, challenger: Player, challenged: Player) -> Challenge[Player] | None:
    challenge = hall.lobby.challenge_by(challenger)
    return challenge if challenge is not None and challenge.challenged is challenged else None


def _begin(hall: Hall, challenge: Challenge[Player]) -> None:
    theirs = Wish(challenge.wish.terms)
    hall.pair(challenge.challenger, challenge.wish, challenge.challenged, theirs)


async def withdraw(hall: Hall, player: Player, words: str) -> None:
    challenge = hall.lobby.withdraw_challenge(player)
    asked = hall.rematches.pop(player, None)
    if challenge is not None:
        challenge.challenged.house(f"{player.name} has taken the challenge back.")
        player.house(f"You have taken back your challenge to {challenge.challenged.name}.")
    if asked is not None:
        asked.house(f"{player.name} no longer asks for a rematch.")
        player.house(f"You no longer ask {asked.name} for a rematch.")
    if challenge is None and asked is None:
        player.house("You have not challenged anybody.")


async def rematch(hall: Hall, player: Player, words: str) -> None:
    table = player.last_table
    opponent = table.opponent_of(player) if table is not None else None
    if table is None or not isinstance(opponent, Player):
        player.house("You have not played with anybody yet. Type play to look for an opponent.")
    elif not hall.is_here(opponent):
        player.house(f"{opponent.name} has left; type play to look for somebody else.")
    elif not (opponent.is_free or opponent.is_practising):
        player.house(f"{opponent.name} plays with somebody else now.")
    elif opponent.last_table is not table:
        player.house(f"{opponent.name} has played again since. Try: challenge {opponent.name}")
    elif hall.rematches.get(opponent) is player:
        hall.seat_again(player, opponent, table)
    elif hall.rematches.get(player) is opponent:
        player.house(f"You have asked {opponent.name}; wait for the answer.")
    else:
        hall.rematches[player] = opponent
        player.house(f"You ask {opponent.name} for a rematch.")
        yes = "accept" if opponent.is_practising else "rematch"
        opponent.house(f"{player.name} asks for a rematch. Type {yes} or decline.")


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
