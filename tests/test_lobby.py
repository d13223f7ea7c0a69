"""Who looks for a game, and who challenged whom."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duel_daemon.lobby import Challenge, Lobby
from duel_daemon.rulebooks import BY_SLUG
from duel_daemon.terms import Terms, Wish

DUEL = Terms.of(BY_SLUG["divisor-duel"], None)
USUAL = Wish(DUEL)
FIRST = Wish(DUEL, wants_first=True)
OTHER = Wish(attrs.evolve(DUEL, number=84))


@pytest.fixture
def lobby() -> Lobby[str]:
    return Lobby()


def test_whoever_came_first_fits_first(lobby: Lobby[str]) -> None:
    lobby.offer("Anna", USUAL)
    lobby.offer("Ben", USUAL)
    assert lobby.fitting("Cleo", USUAL) == ["Anna", "Ben"]


def test_nobody_fits_oneself(lobby: Lobby[str]) -> None:
    lobby.offer("Anna", USUAL)
    assert lobby.fitting("Anna", USUAL) == []


def test_two_offers_fit_when_they_are_the_same_game_only(lobby: Lobby[str]) -> None:
    lobby.offer("Anna", OTHER)
    assert lobby.fitting("Ben", USUAL) == []
    assert lobby.fitting("Ben", Wish(attrs.evolve(OTHER.terms))) == ["Anna"]


def test_one_may_want_to_begin_but_not_both(lobby: Lobby[str]) -> None:
    lobby.offer("Anna", FIRST)
    assert lobby.fitting("Ben", USUAL) == ["Anna"]
    assert lobby.fitting("Ben", FIRST) == []


def test_the_same_wish_again_keeps_the_place_and_another_loses_it(lobby: Lobby[str]) -> None:
    lobby.offer("Anna", USUAL)
    lobby.offer("Ben", USUAL)
    lobby.offer("Anna", Wish(DUEL))
    assert lobby.fitting("Cleo", USUAL) == ["Anna", "Ben"]
    lobby.offer("Anna", OTHER)
    lobby.offer("Anna", USUAL)
    assert lobby.fitting("Cleo", USUAL) == ["Ben", "Anna"]


def test_an_offer_can_be_withdrawn_once(lobby: Lobby[str]) -> None:
    lobby.offer("Anna", USUAL)
    assert lobby.withdraw_offer("Anna")
    assert not lobby.withdraw_offer("Anna")
    assert lobby.offer_of("Anna") is None
    assert lobby.offers() == []


def test_a_challenge_replaces_the_one_before(lobby: Lobby[str]) -> None:
    assert lobby.challenge("Anna", "Ben", USUAL) is None
    assert lobby.challenge("Anna", "Cleo", OTHER) == Challenge("Anna", "Ben", USUAL)
    assert lobby.challenges_to("Ben") == []
    assert lobby.challenges_to("Cleo") == [Challenge("Anna", "Cleo", OTHER)]


def test_one_can_be_challenged_by_many(lobby: Lobby[str]) -> None:
    lobby.challenge("Anna", "Cleo", USUAL)
    lobby.challenge("Ben", "Cleo", OTHER)
    assert [challenge.challenger for challenge in lobby.challenges_to("Cleo")] == ["Anna", "Ben"]


def test_a_challenge_can_be_withdrawn_once(lobby: Lobby[str]) -> None:
    lobby.challenge("Anna", "Ben", USUAL)
    assert lobby.withdraw_challenge("Anna") == Challenge("Anna", "Ben", USUAL)
    assert lobby.withdraw_challenge("Anna") is None


def test_whoever_leaves_leaves_nothing_pending(lobby: Lobby[str]) -> None:
    lobby.offer("Anna", USUAL)
    lobby.challenge("Anna", "Ben", USUAL)
    lobby.challenge("Cleo", "Anna", OTHER)
    lobby.challenge("Dora", "Ben", OTHER)
    assert set(lobby.clear("Anna")) == {
        Challenge("Anna", "Ben", USUAL),
        Challenge("Cleo", "Anna", OTHER),
    }
    assert lobby.offers() == []
    assert lobby.challenges_to("Ben") == [Challenge("Dora", "Ben", OTHER)]
    assert lobby.clear("Anna") == []


names = st.sampled_from("ABCD")
wishes = st.sampled_from([USUAL, FIRST, OTHER])
steps = st.lists(
    st.tuples(st.just("offer"), names, wishes)
    | st.tuples(st.just("challenge"), names, names, wishes)
    | st.tuples(st.sampled_from(["withdraw_offer", "withdraw_challenge", "clear"]), names)
)


@given(steps)
def test_whoever_has_been_cleared_is_nowhere_and_nobody_is_there_twice(steps) -> None:
    lobby: Lobby[str] = Lobby()
    for verb, *words in steps:
        getattr(lobby, verb)(*words)
        waiting = [player for player, _ in lobby.offers()]
        assert len(set(waiting)) == len(waiting)
        if verb == "clear":
            (player,) = words
            assert player not in waiting
            assert lobby.challenges_to(player) == []
            assert lobby.challenge_by(player) is None
