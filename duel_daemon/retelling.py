"""A duel told again: to a watcher who comes late, to a player who comes back. Pure."""

from collections.abc import Sequence

import attrs

from duel_daemon.duel import Duel, Game, Result, Turn
from duel_daemon.events import Ended, Reason, Seat
from duel_daemon.narrator import end_sentence, house, tell

TURNS_RETOLD = 100  # at most; what was before is only counted


def transcript(game: Game, turns: Sequence[Turn], result: Result | None = None) -> str:
    """What a watcher has read so far; of a very long duel only the last turns."""
    left_out, duel = _skip(game, turns, TURNS_RETOLD)
    opened, began = duel.open()
    told = [tell(game, (opened,)).watchers, tell(game, (began,)).watchers]
    if left_out:
        told[0] = house(f"({left_out} earlier turns are left out)")
    told += [tell(game, duel.play(turn.seat, turn.divisor)).watchers for turn in turns[left_out:]]
    if result is not None and result.winner is not None:
        told.append(_forfeit(game, result))
    return "".join(told)


def _forfeit(game: Game, result: Result) -> str:
    """How it ended, if not with its last turn: whoever did not win had enough, or no time left."""
    if result.reason.by_the_rules or result.reason is Reason.VIOLATIONS:
        return ""
    by = result.winner.other if result.winner is not None else None
    return house(end_sentence(Ended(result.winner, result.reason, by, game.number), game))


def ending(game: Game, turns: Sequence[Turn], result: Result, seat: Seat) -> str:
    """What was last said to a player of a duel that has ended."""
    return f"{last_turn(game, turns, seat)}{_forfeit(game, result)}"


def last_turn(game: Game, turns: Sequence[Turn], seat: Seat) -> str:
    """What was last said to a player: the last move, and the turn that is on."""
    left_out, duel = _skip(game, turns, 2 * game.violations)  # who forfeits has lost so many
    told = tell(game, duel.open())
    for turn in turns[left_out:]:
        told = tell(game, duel.play(turn.seat, turn.divisor))
    # Whoever moved had typed the divisor after the prompt; a new screen shows it as the others'.
    is_own_move = bool(turns) and turns[-1].seat is seat
    return told.watchers if is_own_move else told.to(seat)


def _skip(game: Game, turns: Sequence[Turn], keep: int) -> tuple[int, Duel]:
    """A duel that begins so late that only about `keep` turns are left to play.

    An even number of turns is left out, so that it is Player 1 who moves next.
    """
    left_out = max(0, len(turns) - keep) // 2 * 2
    number = game.number
    for turn in turns[:left_out]:
        if game.fault(number, turn.divisor) is None:
            number = game.book.result(number, turn.divisor)
    return left_out, Duel(attrs.evolve(game, number=number))
