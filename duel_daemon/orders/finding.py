"""How two players come to a game: offers, challenges, rematches."""

from duel_daemon import terms
from duel_daemon.hall import Hall
from duel_daemon.lobby import Challenge
from duel_daemon.player import Player
from duel_daemon.terms import Unclear, Wish


async def play(hall: Hall, player: Player, words: str) -> None:
    wish = terms.parse(words, hall.default_terms, hall.settings.max_number)
    if isinstance(wish, Unclear):
        player.house(wish.sentence)
    else:
        hall.look(player, wish)


async def stop(hall: Hall, player: Player, words: str) -> None:
    if hall.lobby.withdraw_offer(player):
        player.house("You no longer look for an opponent. Type play when you want to again.")
    else:
        player.house("You are not looking for an opponent.")


async def join(hall: Hall, player: Player, words: str) -> None:
    other = _somebody(hall, player, words)
    if other is None:
        return
    theirs = hall.lobby.offer_of(other)
    if theirs is None or not other.is_free:
        player.house(f"{other.name} is not looking for an opponent. Try: challenge {other.name}")
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
        player.house(f"{other.name} is in a duel. Type watch {other.name}, or ask again later.")
    elif (answered := _same_challenge(hall, other, player, wish)) is not None:
        _begin(hall, answered)
    else:
        _send_challenge(hall, player, other, wish)


def _same_challenge(
    hall: Hall, challenger: Player, challenged: Player, wish: Wish
) -> Challenge[Player] | None:
    """Two who challenge each other to the same game have agreed."""
    theirs = hall.lobby.challenge_by(challenger)
    if theirs is None or theirs.challenged is not challenged:
        return None
    return theirs if theirs.wish.terms == wish.terms and not wish.wants_first else None


def _send_challenge(hall: Hall, player: Player, other: Player, wish: Wish) -> None:
    replaced = hall.lobby.challenge(player, other, wish)
    if replaced is not None and replaced.challenged is not other:
        replaced.challenged.house(f"{player.name} has taken the challenge back.")
    player.house(f"You challenge {other.name}: {wish.terms.text}{_first(wish, 'you move')}.")
    other.house(
        f"{player.name} challenges you: {wish.terms.text}{_first(wish, player.name + ' moves')}.",
        "Type accept or decline.",
    )


def _first(wish: Wish, who: str) -> str:
    return f"; {who} first" if wish.wants_first else "; the coin decides who moves first"


async def accept(hall: Hall, player: Player, words: str) -> None:
    if player.table is not None and not player.is_practising:
        player.house("You are in a duel; accept when it is over.")
        return
    challenge = _pick(hall, player, words)
    if challenge is not None:
        _begin(hall, challenge)
        return
    waiting = _who_waits_for(hall, player)
    if player.is_practising and waiting is not None:
        mine, theirs = hall.lobby.offer_of(player), hall.lobby.offer_of(waiting)
        assert mine is not None
        assert theirs is not None
        hall.pair(player, mine, waiting, theirs)
    elif len(hall.lobby.challenges_to(player)) < 2 or words:
        player.house("There is no such challenge to accept.")


def _who_waits_for(hall: Hall, player: Player) -> Player | None:
    mine = hall.lobby.offer_of(player)
    if mine is None:
        return None
    return next((other for other in hall.lobby.fitting(player, mine) if other.is_free), None)


def _begin(hall: Hall, challenge: Challenge[Player]) -> None:
    if challenge.challenger.is_free or challenge.challenger.is_practising:
        mine = Wish(challenge.wish.terms)
        hall.pair(challenge.challenger, challenge.wish, challenge.challenged, mine)


def _pick(hall: Hall, player: Player, words: str) -> Challenge[Player] | None:
    """The challenge that is meant; if it is not clear which, the player reads so."""
    challenges = hall.lobby.challenges_to(player)
    if words:
        named = hall.find(words)
        return next((c for c in challenges if c.challenger is named), None)
    if len(challenges) > 1:
        names = ", ".join(c.challenger.name for c in challenges)
        player.house(f"Whose? You are challenged by {names}.")
        return None
    return challenges[0] if challenges else None


async def decline(hall: Hall, player: Player, words: str) -> None:
    challenge = _pick(hall, player, words)
    if challenge is not None:
        hall.lobby.withdraw_challenge(challenge.challenger)
        challenge.challenger.house(f"{player.name} declines your challenge.")
        player.house(f"You decline the challenge of {challenge.challenger.name}.")
        return
    waiting = next((other for other, to in hall.rematches.items() if to is player), None)
    if waiting is not None:
        del hall.rematches[waiting]
        waiting.house(f"{player.name} does not want a rematch.")
        player.house(f"You decline the rematch with {waiting.name}.")
    elif player.is_practising and hall.lobby.withdraw_offer(player):
        player.house("You go on practising, and no longer look for an opponent.")
    elif len(hall.lobby.challenges_to(player)) < 2 or words:
        player.house("There is no such challenge to decline.")


async def withdraw(hall: Hall, player: Player, words: str) -> None:
    challenge = hall.lobby.withdraw_challenge(player)
    if challenge is None:
        player.house("You have not challenged anybody.")
    else:
        challenge.challenged.house(f"{player.name} has taken the challenge back.")
        player.house(f"You have taken back your challenge to {challenge.challenged.name}.")


async def rematch(hall: Hall, player: Player, words: str) -> None:
    table = player.last_table
    opponent = table.opponent_of(player) if table is not None else None
    if table is None or table.is_practice or not isinstance(opponent, Player):
        player.house("You have not played anybody yet; type play to look for an opponent.")
    elif hall.find(opponent.name) is not opponent:
        player.house(f"{opponent.name} has left; type play to look for somebody else.")
    elif opponent.last_table is not table or not opponent.is_free:
        player.house(f"{opponent.name} plays somebody else now.")
    elif hall.rematches.get(opponent) is player:
        hall.seat_again(player, opponent, table)
    elif hall.rematches.get(player) is opponent:
        player.house(f"{opponent.name} has been asked; wait for the answer.")
    else:
        hall.rematches[player] = opponent
        player.house(f"You ask {opponent.name} for a rematch.")
        opponent.house(f"{player.name} asks for a rematch. Type rematch or decline.")


def _somebody(hall: Hall, player: Player, name: str) -> Player | None:
    """Somebody else who is here; if there is none of that name, the player reads so."""
    other = hall.find(name) if name else None
    if other is None:
        player.house(f"There is nobody called {name[:20]!r} here; type who." if name else "Who?")
    elif other is player:
        player.house("That is you.")
        return None
    return other
