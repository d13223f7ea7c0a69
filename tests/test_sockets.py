"""Duels over real TCP sockets: every recorded one, and five hundred at once."""

import contextlib
import random
import resource
from collections.abc import AsyncIterator

import attrs
import pytest
import trio
from kit import Person
from playthrough import Playthrough, every_playthrough
from terminal import rule_book_lines

from duel_daemon.duel import Duel, Game, replay
from duel_daemon.events import Ended, Seat
from duel_daemon.listening import listen
from duel_daemon.narrator import tell
from duel_daemon.rulebooks import SHELF
from duel_daemon.server import Server
from duel_daemon.settings import Settings
from duel_daemon.survey import Restriction

DUELS = 500
DESCRIPTORS = 4 * DUELS + 100  # both ends of each connection are in this process

each_playthrough = pytest.mark.parametrize("it", every_playthrough(), ids=lambda it: it.name)


@attrs.define(eq=False)
class Port:
    """A daemon that listens on loopback, and the people who have come to it."""

    server: Server
    people: list[Person] = attrs.field(factory=list)

    async def comes_as(self, name: str) -> Person:
        # Of 127.0.0.0/8 everything is this machine: not all come from the same address.
        address = f"127.0.1.{1 + len(self.people) // 20}"
        sock = trio.socket.socket()
        await sock.bind((address, 0))
        await sock.connect(self.server.listeners[0].getsockname())
        self.people.append(Person(sock))
        return await self.people[-1].is_named(name)

    async def pair(self, one: str, two: str) -> dict[Seat, Person]:
        """Two in a duel together; the first is Player 1."""
        players = {Seat.ONE: await self.comes_as(one), Seat.TWO: await self.comes_as(two)}
        for player in players.values():
            await player.reads("* Your opponent is")
        return players


def settings_for(game: Game) -> Settings:
    return Settings(
        rulebook=game.book.slug,
        number=game.number,
        divisors=game.restriction.value,
        first_turn="first-come",
        state="none",
    )


@contextlib.asynccontextmanager
async def open_port(settings: Settings) -> AsyncIterator[Port]:
    server = Server(settings, listen(("127.0.0.1",), 0), random.Random(7))
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run)
        port = Port(server)
        try:
            yield port
        finally:
            server.stop()
            for person in port.people:
                person.hangs_up()


@each_playthrough
async def test_both_terminals_show_the_rule_book_line_for_line(it: Playthrough) -> None:
    async with open_port(settings_for(it.game)) as port:
        players = await port.pair("Anna", "Ben")
        await type_moves(it, players)
        for seat, player in players.items():
            await player.reads("* Next: ")
            assert rule_book_lines(player.screen) == it.screen(seat)


@each_playthrough
async def test_watchers_read_the_same_from_whenever_they_come(it: Playthrough) -> None:
    first_move, more_moves = it.moves[:1], it.moves[1:]
    async with open_port(settings_for(it.game)) as port:
        players = await port.pair("Anna", "Ben")
        early = await watcher_of(players, port, "Early")
        await type_moves(attrs.evolve(it, moves=first_move), players)
        await early.reads(f"{it.game.book.prompt(Seat.ONE)}{first_move[0]}\n")
        late = await watcher_of(players, port, "Late")
        await type_moves(attrs.evolve(it, moves=more_moves), players, Seat.TWO)
        for watcher in (early, late):
            await watcher.reads("* The game is over.")
            _, watching, watched = watcher.screen.partition("* Anna against Ben: ")
            assert rule_book_lines(watching + watched) == it.screen(None)
        for seat, player in players.items():
            await player.reads("* Next: ")
            assert rule_book_lines(player.screen) == it.screen(seat)


async def watcher_of(players: dict[Seat, Person], port: Port, name: str) -> Person:
    """Somebody who only looks on; the players have read that somebody does."""
    watcher = await port.comes_as(name)
    await watcher.types("stop")  # looking for an opponent
    await watcher.types("watch Anna")
    await watcher.reads("* Anna against Ben: ")
    for player in players.values():
        await player.reads("watching.\n")
    return watcher


async def type_moves(it: Playthrough, players: dict[Seat, Person], seat: Seat = Seat.ONE) -> None:
    for move in it.moves:
        await is_asked(players[seat], it.game.book.prompt(seat))
        await players[seat].types(str(move))
        seat = seat.other


async def is_asked(person: Person, prompt: str) -> None:
    """Read on to an open prompt; the one the opponent has answered is on the screen as well."""
    await person.reads(prompt)
    while not person.screen.endswith(prompt):
        await person.reads(prompt)


# Many at once.


@pytest.fixture
def many_descriptors():
    """Room for all the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        pytest.skip(f"only {hard} files can be open at once, {DESCRIPTORS} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_five_hundred_duels_at_once_all_come_to_their_right_end(many_descriptors) -> None:
    rng = random.Random(500)
    games = [some_game(index, rng) for index in range(DUELS)]
    async with open_port(settings_for(games[0])) as port, trio.open_nursery() as nursery:
        tables = []
        for index, game in enumerate(games):
            # Whoever comes next finds another game; those who play go on with theirs.
            port.server.reconfigure(settings_for(game))
            tables.append(await port.pair(f"Anna{index}", f"Ben{index}"))
        assert len(port.server.hall.tables) == DUELS
        for game, players in zip(games, tables, strict=True):
            nursery.start_soon(play_out, game, players, random.Random(rng.random()))


def some_game(index: int, rng: random.Random) -> Game:
    """One book after the other, from a number at which there is something to play."""
    book = SHELF[index % len(SHELF)]
    restriction = rng.choice(list(Restriction))
    numbers = (rng.randint(20, 400) for _ in range(1000))
    return Game(book, next(n for n in numbers if book.is_playable(n, restriction)), restriction)


async def play_out(game: Game, players: dict[Seat, Person], rng: random.Random) -> None:
    """Play any moves, beside a duel of our own that says what must come of them."""
    duel = Duel(game)
    events = list(duel.open())
    while duel.is_on:
        mover = duel.mover
        survey = game.survey(duel.number)
        move = rng.choice(survey.first + survey.last)
        await is_asked(players[mover], game.book.prompt(mover))
        await players[mover].types(str(move))
        events += duel.play(mover, move)
    ended = events[-1]
    assert isinstance(ended, Ended)
    assert replay(game, duel.turns).result == duel.result
    for seat, player in players.items():
        await player.reads("* Next: ")
        assert ("* You won against " in player.screen) == (ended.winner is seat)
        assert without_prompts(player.screen, game) == without_prompts(
            tell(game, events).to(seat), game
        )


def without_prompts(screen: str, game: Game) -> str:
    prompts = tuple(game.book.prompt(seat) for seat in Seat)
    lines = rule_book_lines(screen).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(prompts))
