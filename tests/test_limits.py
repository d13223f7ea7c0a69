"""The counting behind the limits. The time is handed in: nothing here waits for anything."""

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from duel_daemon.limits import (
    OPEN_SECONDS,
    Gate,
    GateLimits,
    LineRate,
    Offence,
    OncePer,
    SoOften,
    Why,
    address_key,
    networks,
)

HERE = "192.168.1.20"
THERE = "192.168.1.21"
NOW = 1000.0
FREE = GateLimits().free_offences
MOST = int(GateLimits().most_offences)
KNOWN = GateLimits().known_addresses


def why(gate: Gate, address: str = HERE, now: float = NOW) -> Why | None:
    refusal = gate.admit(address, now)
    return None if refusal is None else refusal.why


def admitted(gate: Gate, tries: int, address: str = HERE, now: float = NOW) -> int:
    return sum(gate.admit(address, now) is None for _ in range(tries))


def offend(gate: Gate, times: int, address: str = HERE, now: float = NOW) -> None:
    for _ in range(times):
        gate.offend(address, now)


# Addresses.


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.168.1.20", "192.168.1.20"),
        ("::ffff:192.168.1.20", "192.168.1.20"),
        ("::FFFF:c0a8:0114", "192.168.1.20"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:0DB8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::1"),  # a LAN is not one stranger
        ("fe80::1%3", "fe80::1"),
        ("fe80::2%3", "fe80::2"),
        ("febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("fec0::1", "fec0::/64"),
        ("fd00::1", "fd00::/64"),
        ("::ffff:10.0.0.1%lo", "10.0.0.1"),
        ("::1", "::/64"),
        ("", ""),
        ("a Unix socket", "a Unix socket"),
    ],
)
def test_the_key_of_an_address(address: str, key: str) -> None:
    assert address_key(address) == key


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_the_same_stranger_over_ipv6(address: object) -> None:
    assert address_key(f"::ffff:{address}") == address_key(str(address)) == str(address)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(1, 2**62))
def test_a_machine_cannot_pose_as_many_by_its_ipv6_addresses(one: int, two: int, net: int) -> None:
    key, same, other = (
        address_key(":".join(f"{number:032x}"[i : i + 4] for i in range(0, 32, 4)))
        for number in (net << 64 | one, net << 64 | two, (net + 1) << 64 | one)
    )
    assert key == same != other


@given(st.text())
def test_any_text_has_a_key(text: str) -> None:
    assert isinstance(address_key(text), str)


def test_networks_are_read_as_people_write_them() -> None:
    found = networks(" 192.168.1.20/24, fd00::/8,10.0.0.7 ,")
    assert list(map(str, found)) == ["192.168.1.0/24", "fd00::/8", "10.0.0.7/32"]
    assert networks("") == ()


@pytest.mark.parametrize("text", ["school", "10.0.0.0/33", "10.0.0.1,nonsense/8", "10.0.0.0-9"])
def test_what_is_no_network_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is no network, such as") as caught:
        networks(text)
    assert repr(text.rsplit(",", maxsplit=1)[-1]) in str(caught.value)


# The gate: at once.


def test_an_address_has_so_many_connections_at_once() -> None:
    gate = Gate(GateLimits(per_address=3))
    assert admitted(gate, 5) == 3
    assert gate.connected(HERE) == 3


def test_the_refused_one_reads_why_and_what_to_do() -> None:
    gate = Gate(GateLimits(per_address=41))
    admitted(gate, 41)
    refusal = gate.admit(HERE, NOW)
    assert refusal is not None
    assert refusal.sentence == (
        "Too many connections from your address (41 at once). "
        "Close one, or ask your teacher to raise per_address."
    )


def test_another_address_is_not_concerned() -> None:
    gate = Gate(GateLimits(per_address=1))
    admitted(gate, 2)
    assert why(gate, THERE) is None


def test_who_leaves_makes_room() -> None:
    gate = Gate(GateLimits(per_address=1))
    gate.admit(HERE, NOW)
    gate.left(HERE)
    assert why(gate) is None


def test_the_refused_are_not_counted_as_connected() -> None:
    gate = Gate(GateLimits(per_address=1))
    admitted(gate, 10)
    gate.left(HERE)
    assert gate.connected(HERE) == 0


def test_being_one_too_many_is_no_offence() -> None:
    """A class of 41 behind one address: the last one tries again and again."""
    gate = Gate(GateLimits(per_address=1, new_per_minute=1000))
    admitted(gate, 100)
    gate.left(HERE)
    assert why(gate) is None


def test_leaving_twice_frees_nobody_elses_place() -> None:
    gate = Gate(GateLimits(per_address=1))
    gate.left(HERE)
    gate.left(HERE)
    assert admitted(gate, 2) == 1


# The gate: new ones.


def coming_and_going(gate: Gate, tries: int, now: float) -> int:
    """How many of those who come are let in, each leaving at once."""
    count = 0
    for _ in range(tries):
        if gate.admit(HERE, now) is None:
            gate.left(HERE)
            count += 1
    return count


def test_an_address_has_so_many_new_connections_a_minute() -> None:
    gate = Gate(GateLimits(new_per_minute=120))
    assert coming_and_going(gate, 121, NOW) == 120
    assert why(gate) is Why.TOO_FAST


def test_after_a_minute_all_of_them_are_free_again() -> None:
    gate = Gate(GateLimits(new_per_minute=120))
    coming_and_going(gate, 121, NOW)
    assert coming_and_going(gate, 121, NOW + 60) == 120


def test_an_honest_class_waits_for_half_a_second_and_not_for_a_minute() -> None:
    gate = Gate(GateLimits(new_per_minute=120))
    coming_and_going(gate, 121, NOW)
    assert coming_and_going(gate, 2, NOW + 0.5) == 1


@given(
    st.integers(1, 200),
    st.lists(st.floats(0, 40, allow_nan=False), max_size=300),
)
def test_no_rhythm_gets_more_through_the_gate(per_minute: int, pauses: list[float]) -> None:
    """In any stretch of time: the allowance, and what grew back meanwhile."""
    gate = Gate(GateLimits(new_per_minute=per_minute))
    times = list(itertools.accumulate(pauses, initial=NOW))
    entries = [now for now in times if coming_and_going(gate, 1, now)]
    for first, start in enumerate(entries):
        for count, end in enumerate(entries[first:], start=1):
            assert count <= per_minute * (1 + (end - start) / 60) + 1e-3


# The gate: offenders.


def test_the_first_offences_cost_nothing() -> None:
    gate = Gate()
    offend(gate, FREE)
    assert why(gate) is None


def waits(gate: Gate, now: float) -> float:
    """How long an address is kept out, to the second."""
    return next(float(s) for s in itertools.count() if why(gate, now=now + s) is not Why.OFFENDER)


def test_repeat_offenders_wait_longer_up_to_a_ceiling() -> None:
    found = []
    for offences in range(FREE, MOST + 3):
        gate = Gate()
        offend(gate, offences)
        found.append(waits(gate, NOW))
    assert found == [0, 2, 4, 8, 16, 32, 64, 64, 64]


@pytest.mark.parametrize(
    ("longest", "found"), [(0, [0, 0]), (2, [2, 2]), (3, [2, 3]), (600, [2, 4])]
)
def test_how_many_offences_are_free_and_how_long_is_waited_is_for_the_operator_to_say(
    longest: float, found: list[float]
) -> None:
    gates = [Gate(GateLimits(free_offences=1, longest_wait_seconds=longest)) for _ in range(2)]
    for gate, offences in zip(gates, (2, 3), strict=True):
        offend(gate, offences)
    assert [waits(gate, NOW) for gate in gates] == found
    offend(gates[0], 100, now=NOW + 1000)
    assert waits(gates[0], NOW + 1000) == {600: 600}.get(longest, found[1])


def test_new_limits_hold_for_those_who_wait_already() -> None:
    gate = Gate()
    offend(gate, 100)
    gate.limits = GateLimits(longest_wait_seconds=5)
    refusal = gate.admit(HERE, NOW)
    assert refusal is not None
    assert "Try again in 5 s." in refusal.sentence
    gate.limits = GateLimits(longest_wait_seconds=0)
    assert why(gate) is None


def test_how_soon_an_offence_is_forgiven_is_for_the_operator_to_say() -> None:
    gate = Gate(GateLimits(offence_seconds=5))
    offend(gate, FREE)
    offend(gate, 1, now=NOW + 5)
    assert why(gate, now=NOW + 5) is None
    offend(gate, 1, now=NOW + 6)
    assert why(gate, now=NOW + 6) is Why.OFFENDER


def test_the_wait_is_told() -> None:
    gate = Gate()
    offend(gate, FREE + 3)
    refusal = gate.admit(HERE, NOW + 1.5)
    assert refusal is not None
    assert "Try again in 7 s." in refusal.sentence


def test_trying_again_does_not_prolong_the_wait() -> None:
    gate = Gate()
    offend(gate, FREE + 1)
    assert admitted(gate, 1000) == 0
    assert why(gate, now=NOW + 2) is None


def test_a_heavy_offence_counts_for_several() -> None:
    gate = Gate()
    gate.offend(HERE, NOW, FREE + 2)
    assert waits(gate, NOW) == 4


def test_an_offence_is_forgiven_after_a_while() -> None:
    gate = Gate()
    offend(gate, MOST)
    later = NOW + MOST * GateLimits().offence_seconds
    offend(gate, FREE, now=later)
    assert why(gate, now=later) is None


def test_hammering_at_the_gate_is_an_offence() -> None:
    gate = Gate(GateLimits(new_per_minute=1))
    coming_and_going(gate, FREE + 2, NOW)
    assert why(gate) is Why.OFFENDER


def test_an_offender_keeps_what_is_connected() -> None:
    gate = Gate()
    admitted(gate, 3)
    offend(gate, 100)
    assert gate.connected(HERE) == 3
    assert why(gate) is Why.OFFENDER


def test_the_neighbour_of_an_offender_comes_in() -> None:
    gate = Gate()
    offend(gate, 100)
    assert why(gate, THERE) is None


def test_between_two_waits_the_door_is_open_for_a_while() -> None:
    gate = Gate()
    offend(gate, FREE + 1)
    offend(gate, 1, now=NOW + 2)
    assert why(gate, now=NOW + 2) is None
    offend(gate, 1, now=NOW + 2 + OPEN_SECONDS - 0.1)
    assert why(gate, now=NOW + 2 + OPEN_SECONDS - 0.1) is None
    offend(gate, 1, now=NOW + 2 + OPEN_SECONDS)
    assert waits(gate, NOW + 2 + OPEN_SECONDS) > 8  # what was done meanwhile is counted


def test_while_the_wait_lasts_more_offences_make_it_longer() -> None:
    """They come from connections that were there before."""
    gate = Gate()
    offend(gate, FREE + 2)
    offend(gate, 1, now=NOW + 1)
    assert waits(gate, NOW + 1) == 8


# The gate: a class behind one address, with a joker in it.


def joke(gate: Gate, now: float) -> None:
    """One request of a web browser, if it is let in."""
    if gate.admit(HERE, now) is None:
        gate.left(HERE)
        gate.offend(HERE, now, Offence.OTHER_PROTOCOL.weight)


def pupils_let_in(gate: Gate, jokes_every: float, *, stay: bool) -> list[bool]:
    """Half an hour of a joker who never stops, and of a pupil who tries every 7 seconds.

    `stay`: the first who comes in gives a name, and is there from then on.
    """
    tries = int(1800 / jokes_every)
    jokes = [(NOW + jokes_every * number, False) for number in range(tries)]
    honest = [(NOW + 5 + 7 * number, True) for number in range(257)]
    came: list[bool] = []
    for now, is_honest in sorted(jokes + honest):
        if not is_honest:
            joke(gate, now)
            continue
        came.append(gate.admit(HERE, now) is None)
        if came[-1] and stay and not any(came[:-1]):
            gate.named(HERE)
        elif came[-1]:
            gate.left(HERE)
    return came


def a_class(people: int) -> Gate:
    gate = Gate()
    for _ in range(people):
        assert gate.admit(HERE, NOW - 600) is None
        gate.named(HERE)
    return gate


@pytest.mark.parametrize(("people", "jokes_every"), [(1, 0.5), (2, 0.25), (20, 0.05)])
def test_a_joker_does_not_lock_out_the_class_at_his_address(
    people: int, jokes_every: float
) -> None:
    assert all(pupils_let_in(a_class(people), jokes_every, stay=False))


def test_a_joker_who_came_first_keeps_the_class_out_for_a_minute_at_most() -> None:
    came = pupils_let_in(Gate(), 0.5, stay=True)
    assert came.index(True) <= (GateLimits().longest_wait_seconds + OPEN_SECONDS) / 7
    assert all(came[came.index(True) :])


def test_even_where_nobody_has_a_name_a_joker_leaves_room_for_others() -> None:
    assert sum(pupils_let_in(Gate(), 0.5, stay=False)) >= 257 // 10


def test_nobody_waits_where_somebody_with_a_name_is() -> None:
    gate = a_class(2)
    offend(gate, 100)
    assert why(gate) is None
    gate.unnamed(HERE, NOW - 300)
    assert why(gate) is None  # the other is still here
    assert why(gate, THERE) is None
    offend(gate, 100, THERE)
    assert why(gate, THERE) is Why.OFFENDER


@pytest.mark.parametrize("seconds", [0, 30, 60, 600])
def test_whoever_was_lost_can_come_back_to_the_seat_through_any_storm(seconds: float) -> None:
    gate = a_class(1)
    gate.limits = GateLimits(return_seconds=seconds)
    gate.unnamed(HERE, NOW)
    gate.left(HERE)
    for half in range(int(seconds * 2)):
        joke(gate, NOW + half / 2)
    offend(gate, 100, now=NOW + seconds)
    if seconds:
        assert why(gate, now=NOW + seconds - 0.1) is None
    assert why(gate, now=NOW + seconds) is Why.OFFENDER


def test_whoever_took_a_name_and_was_no_person_does_not_speak_for_the_address() -> None:
    gate = a_class(1)
    gate.unnamed(HERE, NOW, was_person=False)
    offend(gate, 100)
    assert why(gate) is Why.OFFENDER


def test_each_with_a_name_adds_to_what_their_address_may_open_and_no_more() -> None:
    gate = Gate(GateLimits(new_per_minute=10, per_address=1000))
    for _ in range(3):
        gate.named(HERE)
    assert coming_and_going(gate, 100, NOW) == 40
    refusal = gate.admit(HERE, NOW)
    assert refusal is not None
    assert "(40 a minute)" in refusal.sentence
    assert coming_and_going(gate, 100, NOW + 3) == 2
    for _ in range(3):
        gate.unnamed(HERE, NOW + 3)
    assert coming_and_going(gate, 100, NOW + 33) == 10  # half a minute, at the share of one
    assert coming_and_going(gate, 100, NOW + 123) == 10


def test_the_limit_of_connections_at_once_holds_for_a_class_too() -> None:
    gate = a_class(GateLimits().per_address)
    assert why(gate) is Why.AT_ONCE


# The gate: the trusted.


def test_trusted_addresses_are_exempt_from_all_of_it() -> None:
    trusted = networks("192.168.1.0/24, fd00::/8")
    gate = Gate(GateLimits(per_address=1, new_per_minute=1, trusted=trusted))
    offend(gate, 100)
    assert admitted(gate, 200) == 200
    assert admitted(gate, 200, "::ffff:192.168.1.99") == 200
    assert admitted(gate, 200, "fd12::1%eth0") == 200
    assert admitted(gate, 200, "192.168.2.1") == 1


def test_trust_can_be_given_and_taken_while_they_are_connected() -> None:
    strict = GateLimits(per_address=2)
    trusting = GateLimits(per_address=2, trusted=networks(HERE))
    gate = Gate(trusting)
    admitted(gate, 3)
    gate.limits = strict
    assert why(gate) is Why.AT_ONCE
    gate.left(HERE)
    gate.left(HERE)
    assert why(gate) is None
    gate.limits = trusting
    gate.left(HERE)
    gate.left(HERE)
    assert gate.connected(HERE) == 0


# The gate: its memory.


def ipv4(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def test_the_table_of_addresses_is_bounded() -> None:
    gate = Gate()
    for number in range(3 * KNOWN):
        gate.admit(ipv4(number), NOW)
        gate.left(ipv4(number))
        gate.offend(ipv4(~number), NOW)
        gate.named(ipv4(number))
        gate.unnamed(ipv4(number), NOW)
    assert gate.known == KNOWN
    assert not gate._connected
    assert not gate._named


def test_a_smaller_table_forgets_at_once() -> None:
    gate = Gate()
    for number in range(100):
        gate.admit(ipv4(number), NOW)
    gate.limits = GateLimits(known_addresses=20)
    gate.admit(HERE, NOW)
    assert gate.known == 20
    assert gate.connected(ipv4(0)) == 1


def test_offenders_are_forgotten_after_the_harmless() -> None:
    gate = Gate()
    offend(gate, MOST)
    for number in range(3 * KNOWN):
        gate.admit(ipv4(number), NOW)
    assert why(gate) is Why.OFFENDER


def test_what_is_connected_is_counted_however_many_came_after() -> None:
    gate = Gate(GateLimits(per_address=1))
    gate.admit(HERE, NOW)
    for number in range(KNOWN + 1):
        gate.admit(ipv4(number), NOW)
    assert why(gate) is Why.AT_ONCE


class AnyDay(RuleBasedStateMachine):
    """Whatever happens at the gate, in whatever order."""

    addresses = st.sampled_from([HERE, THERE, f"::ffff:{HERE}", "2001:db8::1", "2001:db8::2", ""])

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate(GateLimits(per_address=3, new_per_minute=10, trusted=networks(THERE)))
        self.now = NOW
        self.inside: list[str] = []
        self.named: list[str] = []

    @rule(seconds=st.floats(0, 100))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(address=addresses)
    def comes(self, address: str) -> None:
        count = self.gate.connected(address)
        refusal = self.gate.admit(address, self.now)
        if refusal is None:
            self.inside.append(address)
            assert count < 3 or address == THERE
        else:
            assert address != THERE
            assert refusal.why is not Why.OFFENDER or address not in self.named
            assert self.gate.connected(address) == count

    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        if self.inside:
            at = data.draw(st.integers(0, len(self.inside) - 1))
            address = self.inside.pop(at)
            if address in self.named:
                self.named.remove(address)
                self.gate.unnamed(address, self.now)
            self.gate.left(address)

    @rule(data=st.data())
    def gives_a_name(self, data: st.DataObject) -> None:
        if strangers := list((Counter(self.inside) - Counter(self.named)).elements()):
            self.named.append(data.draw(st.sampled_from(strangers)))
            self.gate.named(self.named[-1])

    @rule(address=addresses, weight=st.floats(0, 20))
    def offends(self, address: str, weight: float) -> None:
        self.gate.offend(address, self.now, weight)

    @invariant()
    def everybody_is_counted(self) -> None:
        keys = [address_key(address) for address in self.inside]
        assert self.gate._connected == {key: keys.count(key) for key in keys}
        keys = [address_key(address) for address in self.named]
        assert self.gate._named == {key: keys.count(key) for key in keys}

    @invariant()
    def nobody_waits_longer_than_the_longest(self) -> None:
        for past in self.gate._pasts.values():
            assert past.wait_until <= self.now + self.gate.limits.longest_wait_seconds
            assert past.offences_at(self.now, self.gate.limits) <= MOST


TestAnyDay = AnyDay.TestCase


# Lines.


def taken_at(rate: LineRate, arrivals: list[float]) -> list[float]:
    """When each line is acted on, by somebody who waits as long as told before the next."""
    now, times = -math.inf, []
    for arrival in arrivals:
        now = max(now, arrival)
        now += rate.take(now)
        times.append(now)
    return times


def test_a_burst_is_taken_at_once_and_then_so_many_a_second() -> None:
    times = taken_at(LineRate(burst=10, per_second=4), [NOW] * 14)
    assert times == pytest.approx([NOW] * 10 + [NOW + 0.25, NOW + 0.5, NOW + 0.75, NOW + 1])


def test_a_quiet_client_has_its_burst_back() -> None:
    rate = LineRate(burst=10, per_second=4)
    taken_at(rate, [NOW] * 14)
    assert not any(rate.take(NOW + 3.5) for _ in range(10))
    assert rate.take(NOW + 3.5) == pytest.approx(0.25)


def test_another_rate_holds_from_the_next_line_on() -> None:
    rate = LineRate(burst=10, per_second=4)
    taken_at(rate, [NOW] * 10)
    rate.limit(burst=2, per_second=1)
    assert rate.take(NOW) > 1
    rate.limit(burst=100, per_second=100)
    assert rate.take(NOW + 3) == 0


def test_a_person_never_waits() -> None:
    rate = LineRate()
    arrivals = [NOW + line / 4 for line in range(1000)]
    assert taken_at(rate, arrivals) == arrivals


@given(
    st.integers(1, 20),
    st.floats(0.5, 1000),
    st.lists(st.floats(0, 5), min_size=1, max_size=60),
)
def test_no_rhythm_gets_more_lines_through(
    burst: int, per_second: float, pauses: list[float]
) -> None:
    arrivals = list(itertools.accumulate(pauses, initial=NOW))
    times = taken_at(LineRate(burst, per_second), arrivals)
    assert len(times) == len(arrivals)  # nothing is dropped
    for first, start in enumerate(times):
        for count, end in enumerate(times[first:], start=1):
            assert count <= burst + (end - start) * per_second + 1e-2


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60))
def test_nobody_waits_longer_than_for_one_line(pauses: list[float]) -> None:
    rate, now = LineRate(10, 4), NOW
    for pause in pauses:
        now += pause
        wait = rate.take(now)
        assert wait <= 0.25 + 1e-6
        now += wait


# The patience of others.


def test_a_thing_can_be_done_so_often_and_then_again_when_the_first_time_is_long_ago() -> None:
    often: SoOften[str] = SoOften(3, 60)
    assert [often.take("Anna", NOW + second) for second in (0, 10, 20)] == [0, 0, 0]
    assert [often.take("Anna", NOW + second) for second in (20, 59, 60, 61)] == [40, 1, 0, 9]


def test_one_who_did_it_too_often_costs_another_nothing() -> None:
    often: SoOften[str] = SoOften(1, 60)
    assert [often.take(name, NOW) for name in ("Anna", "Anna", "Ben")] == [0, 60, 0]


def test_what_is_given_back_does_not_count_and_what_was_before_does() -> None:
    often: SoOften[str] = SoOften(2, 60)
    often.take("Anna", NOW)
    for second in range(1, 50):
        assert often.take("Anna", NOW + second) == 0
        often.give_back("Anna")
    assert [often.take("Anna", NOW + 50), often.take("Anna", NOW + 50)] == [0, 10]


def test_whoever_is_forgotten_leaves_nothing() -> None:
    often: SoOften[str] = SoOften(1, 60)
    often.take("Anna", NOW)
    often.forget("Anna")
    often.forget("Ben")
    assert len(often) == 0
    assert often.take("Anna", NOW) == 0


@given(st.lists(st.tuples(st.sampled_from("AB"), st.floats(0, 30)), max_size=200))
def test_in_no_stretch_of_that_length_it_is_done_more_often(asked: list[tuple[str, float]]) -> None:
    often: SoOften[str] = SoOften(4, 60)
    now, done = NOW, []
    for who, pause in asked:
        now += pause
        if not often.take(who, now):
            done.append((who, now))
    for who, start in done:
        assert sum(each == who and 0 <= at - start < 59.999 for each, at in done) <= 4


# The log.


def test_each_thing_is_said_once_per_interval() -> None:
    once = OncePer(seconds=60)
    answers = [once.ask("flood", NOW + second) for second in range(0, 61, 10)]
    assert answers == [0, None, None, None, None, None, 5]


def test_different_things_are_said_each() -> None:
    once = OncePer()
    assert once.ask("flood", NOW) == 0
    assert once.ask("TLS", NOW) == 0


def test_the_unsaid_are_told_only_once() -> None:
    once = OncePer(seconds=60)
    for second in (0, 1, 60):
        once.ask("flood", NOW + second)
    assert once.ask("flood", NOW + 120) == 0


def test_made_up_kinds_do_not_flood_the_log() -> None:
    once = OncePer(seconds=60, kinds=8)
    said = [once.ask(f"kind {number}", NOW) for number in range(1000)]
    assert said.count(None) == 1000 - 9
    assert len(once) == 9
    assert once.ask("kind 2000", NOW + 60) == 0
    assert len(once) == 1


def test_what_was_known_before_the_flood_keeps_its_count() -> None:
    once = OncePer(seconds=60, kinds=8)
    once.ask("shortage", NOW + 1)
    for number in range(100):
        once.ask(f"kind {number}", NOW + 1)
    assert once.ask("shortage", NOW + 2) is None
    assert once.ask("shortage", NOW + 61) == 1


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 30)), max_size=200))
def test_the_log_is_bounded_whatever_is_asked(asked: list[tuple[int, float]]) -> None:
    once, now = OncePer(seconds=60, kinds=8), NOW
    said = []
    for kind, pause in asked:
        now += pause
        if once.ask(f"kind {kind}", now) is not None:
            said.append(now)
        assert len(once) <= 9
    for first, start in enumerate(said):
        assert sum(time - start < 60 for time in said[first:]) <= 2 * 9


def test_the_defaults_are_the_promised_ones() -> None:
    assert (GateLimits().per_address, GateLimits().new_per_minute) == (40, 120)
    assert (FREE, MOST, GateLimits().longest_wait_seconds, KNOWN) == (4, 10, 64, 4096)
    assert taken_at(LineRate(), [NOW] * 11) == pytest.approx([NOW] * 10 + [NOW + 0.25])
    assert OncePer().seconds == 60
