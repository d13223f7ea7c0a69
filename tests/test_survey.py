import pytest

from duel_daemon.numbers import divisors, factorise
from duel_daemon.survey import SHOWN_EACH_END, Restriction, allowed_divisors, survey

ANY, EVEN, ODD, PRIME = Restriction

ALL_UP_TO = 2000

NAIVE = {n: [d for d in range(1, n + 1) if n % d == 0] for n in range(1, ALL_UP_TO + 1)}

# What each restriction lets through, said again without the code under test.
PASSES = {
    ANY: lambda divisor: True,
    EVEN: lambda divisor: divisor in range(0, ALL_UP_TO, 2),
    ODD: lambda divisor: divisor in range(1, ALL_UP_TO, 2),
    PRIME: lambda divisor: len(NAIVE[divisor]) == 2,
}

MANY = 55440  # 120 divisors, 118 of them to choose from
MOST = 897612484786617600  # 103,680 divisors


def naive(number: int, lowest: int, restriction: Restriction) -> list[int]:
    return [d for d in NAIVE[number] if lowest <= d < number and PASSES[restriction](d)]


def test_no_restriction_is_left_unchecked_here() -> None:
    assert set(PASSES) == set(Restriction)


@pytest.mark.parametrize("restriction", Restriction)
@pytest.mark.parametrize("lowest", [1, 2])
def test_the_allowed_divisors_agree_with_trying_each(lowest: int, restriction: Restriction) -> None:
    for number in range(1, ALL_UP_TO + 1):
        expected = naive(number, lowest, restriction)
        assert allowed_divisors(number, lowest, restriction) == expected, number


@pytest.mark.parametrize("restriction", Restriction)
@pytest.mark.parametrize("lowest", [1, 2])
def test_a_survey_says_what_can_be_played(lowest: int, restriction: Restriction) -> None:
    for number in range(1, ALL_UP_TO + 1):
        expected = naive(number, lowest, restriction)
        seen = survey(number, lowest, restriction)
        assert (seen.number, seen.restriction) == (number, restriction)
        assert (seen.count, seen.first, seen.last) == (len(expected), tuple(expected), ())
        assert seen.is_prime == (len(NAIVE[number]) == 2)


@pytest.mark.parametrize("restriction", Restriction)
@pytest.mark.parametrize("divisor", range(1, 50))
def test_a_restriction_allows_what_its_name_says(restriction: Restriction, divisor: int) -> None:
    assert restriction.allows(divisor) == PASSES[restriction](divisor)


def test_a_list_of_a_hundred_is_shown_whole() -> None:
    seen = survey(2**101, 2, ANY)
    assert seen.first == tuple(2**exponent for exponent in range(1, 101))
    assert (seen.count, seen.last) == (100, ())


def test_a_list_of_more_is_cut_to_its_first_and_last_fifty() -> None:
    seen = survey(2**102, 2, ANY)
    assert seen.count == 101
    assert seen.first == tuple(2**exponent for exponent in range(1, 51))
    assert seen.last == tuple(2**exponent for exponent in range(52, 102))


@pytest.mark.parametrize("number", [MANY, MOST])
@pytest.mark.parametrize("lowest", [1, 2])
@pytest.mark.parametrize("restriction", [ANY, EVEN])
def test_a_cut_list_keeps_both_ends_and_the_count(
    number: int, lowest: int, restriction: Restriction
) -> None:
    proper = divisors(factorise(number))[lowest - 1 : -1]
    expected = [d for d in proper if restriction is ANY or d % 2 == 0]
    seen = survey(number, lowest, restriction)
    if len(expected) <= 2 * SHOWN_EACH_END:
        assert seen.first == tuple(expected)
    else:
        assert seen.count == len(expected)
        assert seen.first == tuple(expected[:SHOWN_EACH_END])
        assert seen.last == tuple(expected[-SHOWN_EACH_END:])


@pytest.mark.parametrize("separator", [",", ", "])
def test_a_short_list_is_written_out(separator: str) -> None:
    assert survey(60, 2, PRIME).listed(separator) == separator.join("235")


def test_a_cut_list_says_that_it_is_cut_and_how_long_it_was() -> None:
    words = survey(MANY, 2, ANY).listed(", ").split(", ")
    assert len(words) == 2 * SHOWN_EACH_END + 1
    assert words[SHOWN_EACH_END] == "..."
    assert words[-1] == "27720 (118 in all)"
    assert survey(MANY, 2, ANY).listed(",").count(" ") == 3


@pytest.mark.parametrize(
    ("restriction", "kind"),
    [
        (ANY, "Proper divisors"),
        (EVEN, "Even proper divisors"),
        (ODD, "Odd proper divisors"),
        (PRIME, "Prime proper divisors"),
    ],
)
def test_the_list_is_called_by_its_restriction(restriction: Restriction, kind: str) -> None:
    assert survey(60, 2, restriction).kind == kind
