"""Records lead to the state they were made from, and a torn one costs only itself."""

from hypothesis import given
from hypothesis import strategies as st

from duel_daemon import ledger
from duel_daemon.kept import KeptChallenge, KeptDuel, KeptPlayer, KeptTable, Place, Running
from duel_daemon.ledger import fold, line, records
from duel_daemon.rulebooks import SHELF
from duel_daemon.survey import Restriction
from duel_daemon.terms import Terms, Wish

NAMES = ("Anna", "Ben", "Carl", "Dora")
LEFT = "Zoe"  # who is here no more

terms = st.builds(
    Terms,
    st.sampled_from(SHELF),
    st.one_of(st.none(), st.just(60)),
    st.sampled_from(Restriction),
    st.sampled_from([1, 3, 5]),
    st.just(False),
)
games = st.builds(Wish, terms, st.booleans())
wishes = st.one_of(st.none(), games)
duels = st.builds(
    KeptDuel,
    st.integers(4, 100),
    st.just(1.5),
    st.lists(st.tuples(st.integers(1, 10**20), st.sampled_from([0.0, 1.25]))),
)
ended = st.builds(
    KeptDuel, st.just(60), st.just(1.5), st.just([(2, 1.0)]), st.just(9.0),
    st.sampled_from([1, 2, None]), st.sampled_from(["left", "time"]),
    st.sampled_from([None, 4]),
)  # fmt: skip

losses = st.tuples(st.integers(0, 3), st.integers(0, 3))


@st.composite
def tables(draw: st.DrawFn, ident: int, sides: tuple[str, str], *, is_over: bool) -> KeptTable:
    on = [] if is_over else draw(st.lists(duels, max_size=1))
    table = KeptTable(
        ident, "uid", draw(terms), 3, sides, ("A", "B"), "the coin decided",
        [*draw(st.lists(ended)), *on], [*draw(losses)], is_over,
    )  # fmt: skip
    if is_over:
        table.verdict = draw(st.sampled_from(["", "Ben wins the match."]))
    return table


@st.composite
def runnings(draw: st.DrawFn) -> Running:
    """Some who wait, some who play, and what they remember."""
    running = Running()
    for name in draw(st.permutations(NAMES)):
        running.players[name] = KeptPlayer(
            name, draw(st.sampled_from(["", "c7"])), draw(st.booleans()), draw(st.booleans()),
            draw(st.booleans()), draw(st.sampled_from(["", "[1]"])), draw(wishes),
            watches=draw(st.sampled_from([None, 9])),
        )  # fmt: skip
    over = draw(st.sets(st.integers(1, 4)))
    for ident in over:
        sides = draw(st.sampled_from([("Anna", "Ben"), (LEFT, "Ben"), ("Anna", "*perfect")]))
        running.tables[ident] = draw(tables(ident, sides, is_over=True))
    places = st.sampled_from([None, *(Place(ident, side) for ident in over for side in (0, 1))])
    for player in running.players.values():
        player.last, player.last_with = draw(places), draw(places)
    remembered = {p.table for player in running.players.values() for p in player.places}
    for ident in over & remembered:
        running.tables[ident].is_closed = draw(st.booleans())
    _seat(draw, running, 5, draw(st.sampled_from([None, ("Anna", "Carl")])))
    _seat(draw, running, 6, draw(st.sampled_from([None, ("*easy", "Dora")])))
    running.last_table = max(running.tables, default=0)
    _ask(draw, running)
    return running


def _seat(draw: st.DrawFn, running: Running, ident: int, sides: tuple[str, str] | None) -> None:
    if sides is None:
        return
    table = running.tables[ident] = draw(tables(ident, sides, is_over=False))
    for place in table.people:
        player = running.players[sides[place.side]]
        player.seat, player.watches = place, None
        if not table.is_practice:
            player.wish = None


def _ask(draw: st.DrawFn, running: Running) -> None:
    """Whoever does not play with somebody may have asked for a game, or be asked."""
    playing = {name for table in running.tables.values() if not table.is_over
               and not table.is_practice for name in table.sides}  # fmt: skip
    free = [name for name in running.players if name not in playing]
    for name in draw(st.lists(st.sampled_from(free), unique=True)):
        running.players[name].wants_rematch = True
    for name in playing & running.players.keys():
        running.drop_rematch(running.players[name])  # a game has overtaken it
    for name in draw(st.lists(st.sampled_from(free), unique=True)):
        other = draw(st.sampled_from([each for each in free if each != name]))
        running.challenges[name] = KeptChallenge(other, draw(games))


@given(runnings())
def test_records_lead_to_the_state_they_were_made_from(running: Running) -> None:
    assert fold([line(record) for record in records(running)]) == (running, 0)


@given(runnings(), st.data())
def test_a_torn_or_foreign_line_costs_that_line_only(running: Running, data: st.DataObject) -> None:
    lines = [line(record) for record in records(running)]
    garbage = data.draw(st.sampled_from(["", "{", "[]", '{"k":"no"}', "null", '{"k":"turn"}']))
    place = data.draw(st.integers(0, len(lines)))
    assert fold([*lines[:place], garbage, *lines[place:]]) == (running, 1)


def folded(*written: ledger.Record) -> Running:
    running, unreadable = fold(map(line, written))
    assert not unreadable
    return running


TERMS = Terms(SHELF[0], 60)
GAME = Wish(TERMS)
OTHER_GAME = Wish(Terms(SHELF[1], 60))


def table(ident: int, *sides: str) -> KeptTable:
    one, two = sides
    return KeptTable(ident, f"u{ident}", TERMS, 3, (one, two), ("A", "B"), "")


def test_sitting_down_ends_waiting_watching_and_practice_in_one_record() -> None:
    before = (
        ledger.enter("Anna", "c1", GAME),
        ledger.seat(table(1, "Anna", "*easy")),
        ledger.enter("Ben", "c2", OTHER_GAME),
        ledger.watch("Ben", 1),
    )
    running = folded(*before)
    assert [player.wish for player in running.players.values()] == [GAME, OTHER_GAME]
    assert [*running.tables] == [1]
    running = folded(*before, ledger.seat(table(2, "Anna", "Ben")))
    assert [player.wish for player in running.players.values()] == [None, None]
    assert [player.watches for player in running.players.values()] == [None, None]
    assert [player.seat for player in running.players.values()] == [Place(2, 0), Place(2, 1)]
    assert [*running.tables] == [2]


def test_the_queue_is_in_the_order_of_the_offers() -> None:
    written = (
        ledger.enter("Anna", "c1", GAME),
        ledger.enter("Ben", "c2", OTHER_GAME),
        ledger.offer("Anna", OTHER_GAME),
        ledger.offer("Ben", OTHER_GAME),  # as before: the place is kept
        ledger.rename("Ben", "Bert"),
    )
    running = folded(*written)
    assert [player.name for player in running.in_order()] == ["Bert", "Anna"]
    again = folded(*records(running))
    assert [player.name for player in again.in_order()] == ["Bert", "Anna"]


def test_what_was_asked_is_open_until_it_is_answered_or_somebody_leaves_or_plays() -> None:
    written = (
        *(ledger.enter(name, "c1") for name in NAMES),
        ledger.challenge("Anna", "Ben", GAME),
        ledger.challenge("Ben", "Anna", OTHER_GAME),
        ledger.challenge("Carl", "Ben", GAME),
        ledger.challenge("Carl", "Dora", GAME),  # instead
        ledger.rename("Ben", "Bert"),
    )
    by_anna, by_bert = KeptChallenge("Bert", GAME), KeptChallenge("Anna", OTHER_GAME)
    by_carl = KeptChallenge("Dora", GAME)

    def after(*more: ledger.Record) -> dict[str, KeptChallenge]:
        return folded(*written, *more).challenges

    assert after() == {"Anna": by_anna, "Bert": by_bert, "Carl": by_carl}
    assert after(ledger.challenge("Anna", "", None)) == {"Bert": by_bert, "Carl": by_carl}
    assert after(ledger.leave("Bert")) == {"Carl": by_carl}
    assert after(ledger.enter("Dora", "c2")) == {"Anna": by_anna, "Bert": by_bert}  # another one
    assert after(ledger.seat(table(1, "Dora", "Bert"))) == {}
    assert after(ledger.seat(table(1, "Dora", "*easy"))) == after()  # practice ends with accept


def test_a_rematch_is_wanted_until_it_is_not_or_there_is_a_game() -> None:
    written = (
        *(ledger.enter(name, "c1") for name in NAMES),
        ledger.rematch("Anna", is_wanted=True),
        ledger.rename("Anna", "Ada"),
    )

    def is_wanted_after(*more: ledger.Record) -> bool:
        return folded(*written, *more).players["Ada"].wants_rematch

    assert is_wanted_after()
    assert is_wanted_after(ledger.seat(table(1, "Ada", "*easy")))
    assert not is_wanted_after(ledger.rematch("Ada", is_wanted=False))
    assert not is_wanted_after(ledger.seat(table(1, "Ada", "Ben")))


def test_nobody_wants_a_rematch_with_somebody_who_has_left_or_found_a_game() -> None:
    written = (
        *(ledger.enter(name, "c1") for name in ("Anna", "Ben", "Cleo")),
        ledger.seat(table(1, "Anna", "Ben")),
        ledger.begin(1, 60, 0.0),
        ledger.end(1, 2, "resigned", 1.0),
        ledger.over(1),
        ledger.stored(1, 0, 7),
        ledger.close(1),
        ledger.rematch("Anna", is_wanted=True),
    )

    def is_wanted_after(*more: ledger.Record) -> bool:
        return folded(*written, *more).players["Anna"].wants_rematch

    assert is_wanted_after()
    assert is_wanted_after(ledger.seat(table(2, "Ben", "*easy")))
    assert is_wanted_after(ledger.leave("Cleo"))
    assert not is_wanted_after(ledger.seat(table(2, "Ben", "Cleo")))
    assert not is_wanted_after(ledger.leave("Ben"))


def test_a_table_that_is_over_is_kept_for_those_who_can_look_back() -> None:
    played = (
        ledger.enter("Anna", "c1"),
        ledger.enter("Ben", "c2"),
        ledger.seat(table(1, "Anna", "Ben")),
        ledger.begin(1, 60, 0.0),
        ledger.end(1, 2, "resigned", 1.0),
        ledger.over(1),
    )
    assert not folded(*played).tables[1].is_closed
    stored = (*played, ledger.stored(1, 0, 7))
    running = folded(*stored)
    assert running.tables[1].is_closed
    assert running.players["Ben"].last == running.players["Ben"].last_with == Place(1, 1)
    left = (*stored, ledger.close(1), ledger.leave("Anna"))
    assert [*folded(*left).tables] == [1]
    assert not folded(*left, ledger.leave("Ben")).tables


def test_lost_connections_are_counted_since_the_duel_began() -> None:
    written = (
        ledger.enter("Anna", "c1"),
        ledger.enter("Ben", "c2"),
        ledger.seat(table(1, "Anna", "Ben")),
        ledger.begin(1, 60, 0.0),
        ledger.connect("Ben", ""),
        ledger.connect("Ben", "c3"),
        ledger.connect("Anna", "c4"),  # over from another connection, which was not lost
        ledger.rename("Ben", "Bert"),
        ledger.connect("Bert", ""),
    )
    running = folded(*written)
    assert running.tables[1].losses == [0, 2]
    again = (*records(running), ledger.connect("Anna", ""))  # being away is no loss, losing is
    assert folded(*again).tables[1].losses == [1, 2]
    assert folded(*again, ledger.begin(1, 60, 1.0)).tables[1].losses == [0, 0]


def test_who_takes_the_name_of_somebody_is_not_taken_for_them() -> None:
    running = folded(
        ledger.enter("Anna", "c1"),
        ledger.enter("Ben", "c2"),
        ledger.seat(table(1, "Anna", "Ben")),
        ledger.over(1),
        ledger.rename("Anna", "Ada"),
        ledger.enter("Anna", "c3"),
        ledger.enter("Carl", "c4"),
        ledger.seat(table(2, "Ben", "Carl")),
        ledger.enter("Carl", "c5"),  # another one: the first did not come back
    )
    assert running.tables[1].sides == ("Ada", "Ben")
    assert running.players["Ada"].last_with == Place(1, 0)
    assert running.players["Anna"].last_with is None
    assert 2 not in running.tables
    assert running.players["Ben"].seat is None
