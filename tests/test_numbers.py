import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duel_daemon import numbers

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

ALL_UP_TO = 5000

PRIMES = (2, 3, 5, 7, 11, 13, 97, 101, 991, 997, 1009, 1013, 10007, 65537, 994013, 1000003)
NINE_DIGIT_PRIMES = (999999937, 999999929, 999999893, 999999883, 999999797, 999999761)
LARGE_PRIMES = (
    *NINE_DIGIT_PRIMES,
    2**31 - 1,
    10**12 + 39,
    2**61 - 1,
    10**18 - 11,
    10**18 + 3,
)

# Fermat's test calls each of these prime, whatever base it tries that is coprime to it.
CARMICHAELS = (
    561,
    1105,
    1729,
    41041,
    825265,
    321197185,
    5394826801,
    232250619601,
    9746347772161,
    1436697831295441,
    60977817398996785,
    7156857700403137441,
)

# The smallest that Miller-Rabin calls prime with the bases 2; 2, 3; 2, 3, 5; ... up to 37.
STRONG_PSEUDOPRIMES = (
    2047,
    1373653,
    25326001,
    3215031751,
    2152302898747,
    3474749660383,
    341550071728321,
    3825123056546413051,
    318665857834031151167461,
)

MOST_DIVISORS = 897612484786617600  # 103,680 of them, more than any other number up to 10^18


def every_divisor_up_to(limit: int) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(limit + 1)]
    for divisor in range(1, limit + 1):
        for multiple in range(divisor, limit + 1, divisor):
            found[multiple].append(divisor)
    return found


NAIVE = every_divisor_up_to(ALL_UP_TO)


def product(factors: numbers.Factors) -> int:
    return math.prod(prime**exponent for prime, exponent in factors)


def assert_is_a_factorisation(factors: numbers.Factors, number: int) -> None:
    primes = [prime for prime, _ in factors]
    assert product(factors) == number
    assert primes == sorted(set(primes))
    assert all(numbers.is_prime(prime) for prime in primes)
    assert all(exponent >= 1 for _, exponent in factors)


def test_primality_agrees_with_counting_divisors() -> None:
    for number in range(1, ALL_UP_TO + 1):
        assert numbers.is_prime(number) == (len(NAIVE[number]) == 2), number


def test_divisors_agree_with_trying_each() -> None:
    for number in range(1, ALL_UP_TO + 1):
        assert numbers.divisors(numbers.factorise(number)) == NAIVE[number], number


def test_factors_are_primes_that_multiply_to_the_number() -> None:
    for number in range(1, ALL_UP_TO + 1):
        assert_is_a_factorisation(numbers.factorise(number), number)


@pytest.mark.parametrize(
    ("number", "factors", "divisors"),
    [
        (1, (), [1]),
        (2, ((2, 1),), [1, 2]),
        (4, ((2, 2),), [1, 2, 4]),
        (60, ((2, 2), (3, 1), (5, 1)), [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60]),
    ],
)
def test_small_numbers_by_hand(number: int, factors: numbers.Factors, divisors: list[int]) -> None:
    assert numbers.factorise(number) == factors
    assert numbers.divisors(factors) == divisors


@pytest.mark.parametrize("number", [-7, -2, -1, 0, 1])
def test_below_two_nothing_is_prime(number: int) -> None:
    assert not numbers.is_prime(number)


@pytest.mark.parametrize("number", [0, -1, -60])
def test_below_one_there_is_no_factorisation(number: int) -> None:
    with pytest.raises(ValueError, match="no factorisation"):
        numbers.factorise(number)


@pytest.mark.parametrize("number", [*PRIMES, *LARGE_PRIMES])
def test_a_prime_is_its_own_only_factor(number: int) -> None:
    assert numbers.is_prime(number)
    assert numbers.factorise(number) == ((number, 1),)


@pytest.mark.parametrize("number", [*CARMICHAELS, *STRONG_PSEUDOPRIMES])
def test_a_pseudoprime_is_not_taken_for_a_prime(number: int) -> None:
    assert not numbers.is_prime(number)


@pytest.mark.parametrize("number", [*CARMICHAELS, *STRONG_PSEUDOPRIMES[:-1]])
def test_a_pseudoprime_is_divided_up(number: int) -> None:
    assert_is_a_factorisation(numbers.factorise(number), number)


@pytest.mark.parametrize("first", NINE_DIGIT_PRIMES)
@pytest.mark.parametrize("second", NINE_DIGIT_PRIMES)
def test_two_large_primes_are_found_again(first: int, second: int) -> None:
    factors = numbers.factorise(first * second)
    assert product(factors) == first * second
    assert {prime for prime, _ in factors} == {first, second}


@pytest.mark.parametrize("exponent", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("prime", [3, 31, 991, 997, 1009, 1013, 10007, 999983])
def test_a_power_of_a_prime_is_one_factor(prime: int, exponent: int) -> None:
    assert numbers.factorise(prime**exponent) == ((prime, exponent),)


@pytest.mark.parametrize("number", [1009 * 1709, 1013 * 1109, 1217**3])
def test_where_the_first_walk_finds_nothing_another_does(number: int) -> None:
    assert numbers._rho(number, 1) == number
    assert_is_a_factorisation(numbers.factorise(number), number)


@pytest.mark.parametrize("number", [997**2 - 1, 997**2, 997 * 1009, 1009**2, 1009**2 + 1])
def test_the_seam_between_trial_and_rho_does_not_show(number: int) -> None:
    assert_is_a_factorisation(numbers.factorise(number), number)


def test_the_number_with_most_divisors_has_them_all() -> None:
    found = numbers.divisors(numbers.factorise(MOST_DIVISORS))
    assert len(found) == len(set(found)) == 103_680
    assert found == sorted(found)
    assert (found[0], found[-1]) == (1, MOST_DIVISORS)
    assert all(MOST_DIVISORS % divisor == 0 for divisor in found)


@unhurried
@given(st.lists(st.sampled_from(PRIMES + LARGE_PRIMES), max_size=12))
def test_a_product_of_primes_is_divided_into_just_these(primes: list[int]) -> None:
    chosen: list[int] = []
    for prime in primes:
        if math.prod(chosen) * prime <= 10**18:
            chosen.append(prime)
    expected = tuple((prime, chosen.count(prime)) for prime in sorted(set(chosen)))
    assert numbers.factorise(math.prod(chosen)) == expected


@unhurried
@given(st.integers(1, 10**18))
def test_any_number_is_divided_up(number: int) -> None:
    factors = numbers.factorise(number)
    assert_is_a_factorisation(factors, number)
    assert numbers.is_prime(number) == (factors == ((number, 1),))


@unhurried
@given(st.integers(1, 10**9))
def test_the_divisors_of_any_number_pair_up(number: int) -> None:
    found = numbers.divisors(numbers.factorise(number))
    assert [number // divisor for divisor in reversed(found)] == found


def test_powers_of_two_are_known() -> None:
    powers = {2**exponent for exponent in range(13)}
    assert {n for n in range(-10, ALL_UP_TO) if numbers.is_power_of_two(n)} == powers
