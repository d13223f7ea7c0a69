"""What only a solved game can give: practice, hints, and the truth about every move."""

import re

import attrs

from duel_daemon import sage, terms
from duel_daemon.aside import consider
from duel_daemon.events import Seat
from duel_daemon.finished import Finished
from duel_daemon.hall import Hall
from duel_daemon.opponents import Strength
from duel_daemon.orders.results import NOT_NOW, game_and_turns, recorded
from duel_daemon.player import Player
from duel_daemon.review import Review, lines
from duel_daemon.review import review as review_of
from duel_daemon.store import StoreError
from duel_daemon.terms import NoSuchGame, Terms, Unclear
from duel_daemon.textwidth import aligned, counted, either, short

NO_DUEL_YET = "You have not finished a duel yet."

_STRENGTHS = {strength.value: strength for strength in Strength}


async def practice(hall: Hall, player: Player, words: str) -> None:
    said = words.casefold().split()
    strengths = dict.fromkeys(_STRENGTHS[word] for word in said if word in _STRENGTHS)
    if len(strengths) > 1:
        player.house(f"How strong is the house to be: {either(s.value for s in strengths)}?")
        return
    strength = next(iter(strengths), Strength.MEDIUM)
    game_words = [word for word in said if word not in _STRENGTHS]
    one_duel = attrs.evolve(hall.default_terms, best_of=1)
    wish = terms.parse(" ".join(game_words), one_duel, hall.settings.max_number)
    if isinstance(wish, Unclear):
        player.house(wish.sentence)
        if isinstance(wish, NoSuchGame):
            player.house(f"The house plays {either(_STRENGTHS)}, as in: practice easy")
        return
    begins = wish.wants_first or hall.rng.random() < 0.5
    hall.practise(player, wish.terms, strength, begins)


async def hint(hall: Hall, player: Player, words: str) -> None:
    table = player.table
    assert table is not None
    duel = table.duel
    if not table.is_practice:
        player.house("Hints are for practice; here you are on your own.")
    elif table.at(duel.mover) is not player:
        player.house("Wait until it is your turn.")
    elif player.hinted_at != (turn := (table.ident, len(table.finished), len(duel.turns))):
        player.hinted_at = turn
        why = await consider(duel.number, sage.why, duel.game, duel.number)
        player.house(why, "Type hint again for a move.")
    else:
        move = await consider(duel.number, sage.winning_move, duel.game, duel.number)
        player.house(f"Try {move}." if move else "Every move loses here; choose any and hope.")


async def review(hall: Hall, player: Player, words: str) -> None:
    table, which = player.table, _WHICH.fullmatch(words.casefold())
    if table is not None and table.terms.mirror:
        player.house("In a mirror match the number comes twice: review works when it is over.")
    elif which is None:
        player.house("Type review; or review and a number from history; or review match.")
    elif not (which["recorded"] or player.last_duels):
        player.house(NO_DUEL_YET)
    else:
        if table is not None:
            table.wait_for_reader()
        if which["recorded"]:
            await _review_older(hall, player, which["recorded"])
        elif which["place"]:
            await _review_one_of_match(player, int(which["place"]))
        elif which["match"]:
            await _list_match(player)
        else:
            await _review_last(player)


_WHICH = re.compile(r"(?P<recorded>[0-9]+)?|(?P<match>match)(?: +(?P<place>[0-9]+))?")


async def _review_last(player: Player) -> None:
    last = player.last_duels[-1]
    reviewed = await _review_one(player, last)
    if player.is_free and reviewed.first_mistake_of(last.seat_of(player)) is not None:
        player.house("Type retry to play on from your first mistake, against the perfect house.")


async def _review_one(player: Player, duel: Finished) -> Review:
    reviewed = await _reviewed(duel)
    _show(player, (duel.seats[Seat.ONE].name, duel.seats[Seat.TWO].name), reviewed)
    return reviewed


def _show(player: Player, names: tuple[str, str], reviewed: Review) -> None:
    player.house("Player 1 was {}, Player 2 {}.".format(*names), *lines(reviewed))


async def _review_one_of_match(player: Player, place: int) -> None:
    duels = player.last_duels
    if 1 <= place <= len(duels):
        player.house(f"Your last game, duel {place} of {len(duels)}:")
        await _review_one(player, duels[place - 1])
    else:
        player.house(f"Your last game had {counted(len(duels), 'duel')}; try: review match 1")


async def _list_match(player: Player) -> None:
    duels = player.last_duels
    rows = [_row(place, duel, await _reviewed(duel)) for place, duel in enumerate(duels, start=1)]
    head = ("duel", "from", "began", "won", "mistakes")
    player.house(f"Your last game, {duels[0].terms.text}:", *aligned([head, *rows]))
    player.house("Type review match and the place of a duel to look at it: review match 1")


def _row(place: int, duel: Finished, reviewed: Review) -> tuple[str, ...]:
    winner = duel.result.winner
    return (
        str(place),
        str(duel.game.number),
        duel.seats[Seat.ONE].name,
        duel.seats[winner].name if winner is not None else "nobody",
        ", ".join(f"{duel.seats[seat].name} {reviewed.mistakes(seat)}" for seat in Seat),
    )


async def _review_older(hall: Hall, player: Player, words: str) -> None:
    try:
        record = await recorded(hall, int(words))
    except StoreError:
        player.house(NOT_NOW)
        return
    played = game_and_turns(record) if record is not None else None
    if record is None or played is None:
        player.house(f"There is no duel {short(words)} on record; history shows their numbers.")
        return
    reviewed = await consider(record.start, review_of, *played)
    _show(player, record.players, reviewed)


async def _reviewed(duel: Finished) -> Review:
    return await consider(duel.game.number, review_of, duel.game, duel.turns)


async def retry(hall: Hall, player: Player, words: str) -> None:
    if not player.last_duels:
        player.house(NO_DUEL_YET)
        return
    last = player.last_duels[-1]
    mistake = (await _reviewed(last)).first_mistake_of(last.seat_of(player))
    if not player.is_free:
        return  # an opponent has come while a large number was considered
    if mistake is None:
        player.house("You made no mistake in your last duel: there is nothing to retry.")
        return
    game = last.game
    hall.practise(
        player,
        Terms(game.book, mistake.number, game.restriction),
        Strength.PERFECT,
        first=True,
    )
