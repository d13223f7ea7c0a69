"""Factors, divisors, primality of whole numbers up to 10^18 (and beyond, slower).

Pure arithmetic: nothing here knows that it is for a game. Small numbers are divided up by trial,
large ones by Miller-Rabin and Pollard's rho as Brent improved it.
"""

import math

SMALL_PRIMES = tuple(p for p in range(2, 1000) if all(p % q for q in range(2, math.isqrt(p) + 1)))
TRIAL_LIMIT = SMALL_PRIMES[-1] ** 2  # what has no factor up to here is itself prime

# These bases make Miller-Rabin exact below 3.3 * 10^24 (Sorenson and Webster, 2015).
WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)

# How many steps of the rho walk are multiplied together before one gcd is taken for all of them.
RHO_BATCH = 128

Factors = tuple[tuple[int, int], ...]
"""A factorisation: (prime, exponent) pairs, primes ascending."""


def is_prime(number: int) -> bool:
    for prime in SMALL_PRIMES:
        if number % prime == 0:
            return number == prime
        if prime * prime > number:
            return number > 1
    return number < TRIAL_LIMIT or _passes_miller_rabin(number)


def _passes_miller_rabin(number: int) -> bool:
    """For odd numbers above the witnesses."""
    twos = ((number - 1) & (1 - number)).bit_length() - 1
    odd_part = (number - 1) >> twos
    return not any(_is_composite_by(base, number, odd_part, twos) for base in WITNESSES)


def _is_composite_by(base: int, number: int, odd_part: int, twos: int) -> bool:
    power = pow(base, odd_part, number)
    if power in (1, number - 1):
        return False
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return False
    return True


def factorise(number: int) -> Factors:
    """The prime factors of a number from 1 on; 1 has none."""
    if number < 1:
        raise ValueError(f"{number} has no factorisation")
    found: dict[int, int] = {}
    for prime in SMALL_PRIMES:
        if prime * prime > number:
            break
        while number % prime == 0:
            number //= prime
            found[prime] = found.get(prime, 0) + 1
    _split(number, found)
    return tuple(sorted(found.items()))


def _split(number: int, found: dict[int, int]) -> None:
    """Divide up what is left when the small primes are out."""
    if number == 1:
        return
    if number < TRIAL_LIMIT or is_prime(number):
        found[number] = found.get(number, 0) + 1
        return
    factor = _find_factor(number)
    _split(factor, found)
    _split(number // factor, found)


def _find_factor(number: int) -> int:
    root = math.isqrt(number)
    if root * root == number:
        return root  # the one shape on which rho may walk in circles for long
    shift = 1
    while (factor := _rho(number, shift)) == number:
        shift += 1
    return factor


def _rho(number: int, shift: int) -> int:
    """Brent's walk x -> x*x + shift: a divisor above 1, which may be the number itself."""
    x, stride, product, divisor = 2, 1, 1, 1
    anchor = batch_start = x
    while divisor == 1:
        anchor = x
        for _ in range(stride):
            x = (x * x + shift) % number
        done = 0
        while done < stride and divisor == 1:
            batch_start = x
            for _ in range(min(RHO_BATCH, stride - done)):
                x = (x * x + shift) % number
                product = product * abs(anchor - x) % number
            divisor = math.gcd(product, number)
            done += RHO_BATCH
        stride *= 2
    if divisor == number:  # several factors fell into one batch: walk it again, step by step
        divisor, x = 1, batch_start
        while divisor == 1:
            x = (x * x + shift) % number
            divisor = math.gcd(abs(anchor - x), number)
    return divisor


def divisors(factors: Factors) -> list[int]:
    """Every divisor of a factorised number, from 1 to the number itself, ascending."""
    found = [1]
    for prime, exponent in factors:
        layer = found
        for _ in range(exponent):
            layer = [divisor * prime for divisor in layer]
            found = found + layer
    return sorted(found)


def is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
