"""One connection from greeting to farewell: the name, then line after line.

What ends a visit is told here, once, to the visitor; the others hear of it from the hall.
"""

import logging
import math
import re
from functools import partial

import trio

from duel_daemon import commands, names
from duel_daemon.commands import WORDS, Order, Place
from duel_daemon.hall import Hall
from duel_daemon.limits import Offence
from duel_daemon.names import Refusal
from duel_daemon.narrator import CLOSED, house, seconds
from duel_daemon.orders import carry_out
from duel_daemon.orders.duelling import move_at_once
from duel_daemon.orders.looking import help_lines, rules_lines, who_lines
from duel_daemon.peer import Gone, Peer, Quit
from duel_daemon.player import Player
from duel_daemon.restoring import come_late
from duel_daemon.terms import Wish
from duel_daemon.textwidth import wrapped
from duel_daemon.wire import DOT

log = logging.getLogger("duel_daemon")

NAME_PROMPT = "Your name (Enter for a guest name): "
RETURNING = re.compile(r"(?:(\S+)\s+)?([A-Za-z0-9]{4})([- ]?)([A-Za-z0-9]{4})\.?")
KEPT = "The seat of {name} is kept. To take it, type {name} and the code from before."
TAKEN = "{sentence} If that is you, type {name} and the code from before."


async def visit(hall: Hall, peer: Peer) -> None:
    """Serve a new connection until it ends. Nothing but trio's Cancelled gets out of here."""
    try:
        player = await _arrive(hall, peer)
    except Gone as exc:
        _bid_farewell(peer, exc, logging.DEBUG)  # a thousand of these must not fill the log
    else:
        await go_on(hall, player)


async def go_on(hall: Hall, player: Player) -> None:
    """Serve a connection whose name is known; it may have outlived the process before this one."""
    peer = player.peer
    try:
        await _stay(hall, peer, player)
    except Gone as exc:
        _bid_farewell(peer, exc, logging.INFO)


def _bid_farewell(peer: Peer, exc: Gone, level: int) -> None:
    peer.ask(None)
    if exc.farewell:
        peer.say(house(exc.farewell))
    log.log(level, "%s is gone: %s", peer.ident, exc)


async def _stay(hall: Hall, peer: Peer, player: Player) -> None:
    """Whoever quits has left; any other end may be the network's doing, and is only a loss."""
    has_quit = False
    try:
        await _serve(hall, player)
    except Quit:
        has_quit = True
        raise
    finally:
        taken_over = player.connection is not peer
        if not taken_over and not hall.is_stopping:
            (hall.leave if has_quit else hall.lose)(player)
            hall.post.deliver()


# The name.


async def _arrive(hall: Hall, peer: Peer) -> Player:
    """Ask for a name until there is one, or somebody is back."""
    await trio.lowlevel.checkpoint_if_cancelled()  # sent away already: no welcome after that
    peer.say(house("Welcome to duel-daemon. Type help at any time."))
    peer.say(house(*wrapped(f"The game is {hall.default_terms.text}.", indent="  ")))
    peer.ask(NAME_PROMPT)
    wrong_codes = 0
    with trio.move_on_after(hall.settings.name_seconds):
        while wrong_codes < hall.settings.code_tries:
            line = (await peer.line()).strip().removeprefix(DOT).strip()  # see commands.parse
            if returning := _name_and_code(hall, line):
                peer.ask(None)
                player = hall.come_back(peer, *returning) or come_late(hall, peer, *returning)
                if player is not None:
                    return player
                wrong_codes += 1
                peer.say(house("Nobody of that name can come back with that code."))
                peer.ask(NAME_PROMPT)
            elif (name := _named(hall, peer, line)) is not None:
                peer.ask(None)
                return _enter(hall, peer, name)
        peer.offence = Offence.WRONG_CODES
        raise Quit("wrong codes", f"Too many wrong codes. {CLOSED}")
    peer.offence = Offence.NO_NAME
    late = f"No name within {seconds(hall.settings.name_seconds)}. {CLOSED}"
    raise Quit("no name in time", late)


def _name_and_code(hall: Hall, line: str) -> tuple[str, str] | None:
    """What somebody types who is back.

    The dash may be missing, or the name; but then what looks like a code may be names, as
    Anna-Lena is, unless there is a digit in it or somebody can come back with it.
    """
    match = RETURNING.fullmatch(line)
    if match is None:
        return None
    name, dash, code = match[1] or "", match[3], f"{match[2]}-{match[4]}"
    if name:
        seated = hall.named(name)
        is_meant = dash == "-" or (seated is not None and seated.plays_somebody)
        return (name, code) if is_meant else None
    player = hall.with_code(code) if dash == "-" else None
    if player is None and not (dash == "-" and any(map(str.isdigit, code))):
        return None
    return player.name if player is not None else "", code


def _enter(hall: Hall, peer: Peer, name: str) -> Player:
    player = hall.enter(peer, name)
    player.house(f"Welcome, {name}. Type help for help, rules for the rules.")
    hall.matchmaker.look(player, Wish(hall.default_terms))
    return player


def _named(hall: Hall, peer: Peer, line: str) -> str | None:
    """The name that a line gives. A command, or a name that cannot be, is answered."""
    if not line:
        return names.guest(hall.rng, hall.is_taken)
    said = commands.parse(line)
    word = line.split(maxsplit=1)[0].casefold()
    if isinstance(said, Order) and word in WORDS and Place.NAMING in said.command.where:
        peer.say(house(*_answer_unnamed(hall, peer, said)))
        return None
    name = names.check(line, hall.is_taken, WORDS)
    if isinstance(name, Refusal):
        sentence, taken_by = name.sentence, hall.named(line)
        if taken_by is not None and taken_by.plays_somebody:
            is_away = taken_by.connection is None
            sentence = (KEPT if is_away else TAKEN).format(sentence=sentence, name=taken_by.name)
        peer.say(house(*wrapped(sentence, indent="  ")))
        return None
    return name


def _answer_unnamed(hall: Hall, peer: Peer, order: Order) -> list[str]:
    """The few commands that work before there is a name."""
    match order.command.name:
        case "rules":
            return rules_lines(hall.default_terms.book, order.words)
        case "who":
            return who_lines(hall)
        case "quit":
            raise Quit("quit", f"Goodbye! {CLOSED}")
        case _:
            first = "Type your name, or just Enter; then you are paired with an opponent."
            return [first, *help_lines(order.words)]


# The rest of the visit.


async def _serve(hall: Hall, player: Player) -> None:
    """Line after line, until patience ends.

    The scope is not moved with every line, which would cost more than the line: when it ends, we
    look whether it was really that quiet for that long, and usually begin anew.
    """
    peer = player.peer
    peer.at_once = partial(move_at_once, player)
    while True:
        due = min(_idle_due(hall, player), peer.line_due, hall.matchmaker.lonely_due(player))
        with trio.CancelScope(deadline=due) as peer.patience:
            while True:
                await carry_out(hall, player, await peer.line())
        now = trio.current_time()
        if hall.matchmaker.lonely_due(player) <= now:
            hall.matchmaker.mention_practice(player)
        if peer.line_due <= now:
            raise Gone("a line did not end", f"Your line did not end. {CLOSED}")
        if _idle_due(hall, player) <= now:
            idle = seconds(hall.settings.lobby_idle_seconds)
            raise Quit("idle", f"You have been idle for {idle}. {CLOSED}")


def _idle_due(hall: Hall, player: Player) -> float:
    """When somebody in the lobby has been idle for too long; players and watchers never are."""
    idle_seconds = hall.settings.lobby_idle_seconds
    if not idle_seconds:
        return math.inf
    since = player.peer.heard_at if player.place is Place.LOBBY else trio.current_time()
    return since + idle_seconds
