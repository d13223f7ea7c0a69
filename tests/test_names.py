"""Names: any text gets an answer, and no two at a table can be mistaken for each other."""

import random
import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duel_daemon import names, wire
from duel_daemon.names import Refusal


def nobody(key):
    return False


def everybody(key):
    return True


def sentence(raw, taken=nobody, **kwargs):
    answer = names.check(raw, taken, **kwargs)
    assert isinstance(answer, Refusal), f"{answer!r} was accepted"
    return answer.sentence


# Letters, marks and signs that take a name close to being right.
near_names = st.text(
    st.sampled_from("abAB19-_ éñßİıſﬁＡаяΑω日ひカー々ㄅ한글कि्ाไม้שָكَـ\u0301\u200d\u3164ꓐʻ·\ufffd"),
    max_size=18,
)


@given(st.text() | near_names)
def test_any_text_gives_a_name_or_a_refusal(raw):
    answer = names.check(raw, nobody)
    if isinstance(answer, Refusal):
        assert answer.sentence.isprintable()
        assert answer.sentence.endswith(".")
        assert names.check(raw, everybody) != raw
    else:
        assert names.check(answer, nobody) == answer
        assert 2 <= wire.columns(answer) <= 16
        assert wire.neutralise(answer) == answer == unicodedata.normalize("NFKC", answer)


@given(near_names)
def test_an_accepted_name_is_refused_in_any_case_once_it_is_taken(raw):
    name = names.check(raw, nobody)
    if isinstance(name, str):
        owner = {names.key(name)}
        for same in (name, name.casefold(), f" {name}"):
            assert isinstance(names.check(same, owner.__contains__), Refusal)


@given(st.text())
def test_a_key_is_its_own_key(text):
    key = names.key(text)
    assert names.key(key) == key
    assert names.key(text.casefold()) == key


WORLD = """
Anna Jörg Zoë Max7 Anna-Lena a_b Bo Ali Ian Łukasz Nguyễn Αλέξης Иван 李 李明 山田たろう カー 佐々木
김철수 金철수 शक्ति ไม้เอก მარია Հայկ שרה کاوه ሰላም
"""


@pytest.mark.parametrize("name", WORLD.split())
def test_names_of_the_world_are_accepted_as_they_are(name):
    assert names.check(name, nobody) == name


@pytest.mark.parametrize(
    ("raw", "name"),
    [("  Anna ", "Anna"), ("Ａｎｎａ", "Anna"), ("Zoe\u0308", "Zoë"), ("ﬁnn", "finn")],
)
def test_a_name_is_cleaned(raw, name):
    assert names.check(raw, nobody) == name


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ("", "type a name"),
        (" \t ", "type a name"),
        ("Anna Lena", "Anna-Lena would work"),
        ("Anna B0b!", "Anna would work"),
        ("! ?", "one word"),
        ("Anna!", "! is none"),
        ("An\x1b[2Jna", "· is none"),
        ("Ann\u0663", "0 to 9"),
        ("M\ufffdller", "UTF-8"),
        ("\u3164\u3164", "invisible"),
        ("7up", "begins with a letter"),
        ("-Anna", "begins with a letter"),
        ("\u093fक", "begins with a letter"),
        ("Q\u0301a", "accent"),
        ("क\u093e\u093f\u0941", "marks"),
        ("ꓐꓐ", "taken for others"),
        ("ʻAta", "taken for others"),
        ("Аnna", "alphabets"),
        ("Annα", "alphabets"),
        ("ひ한", "alphabets"),
        ("x", "too short"),
        ("a" * 17, "too long"),
        ("日" * 9, "too long"),
        ("Player 1", "seats"),
        ("Player1", "seats"),
        ("PLAYER-2", "seats"),
        ("P1ayer_2", "seats"),
        ("House", "something else"),
        ("all", "something else"),
        ("TEACHER", "something else"),
        ("Adm1n", "something else"),
    ],
)
def test_each_reason_has_its_own_sentence(raw, word):
    assert re.search(word, sentence(raw))


def test_command_words_are_reserved_too():
    assert "something else" in sentence("Resign", reserved=frozenset({"resign"}))
    assert names.check("Resigned", nobody, reserved=frozenset({"resign"})) == "Resigned"


@pytest.mark.parametrize("word", sorted(names.RESERVED))
def test_no_reserved_word_passes_in_any_case(word):
    for raw in (word, word.title(), word.upper()):
        sentence(raw)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice", "ALICE"),
        ("Alice", "AIice"),
        ("Alice", "A1ice"),
        ("Otto", "0tto"),
        ("coco", "сосо"),
        ("TOM", "ТОМ"),
        ("KATE", "ΚΑΤΕ"),
        ("Straße", "STRASSE"),
        ("Anna-1", "Anna_l"),
        ("سلام", "ســلام"),
    ],
)
def test_look_alikes_have_one_key(one, other):
    assert names.key(one) == names.key(other)


@pytest.mark.parametrize(("one", "other"), [("Jose", "José"), ("Tim", "Tom"), ("Max7", "Max8")])
def test_different_names_have_different_keys(one, other):
    assert names.key(one) != names.key(other)


def test_a_taken_name_comes_with_advice_that_works():
    here = {names.key(name) for name in ("Anna", "Anna2", "a" * 16)}
    assert "Anna3 would work" in sentence("anna".title(), here.__contains__)
    assert "another name would work" in sentence("A" * 16, here.__contains__)


# Guests


def test_the_animals_are_many_short_and_different():
    assert len(names.ANIMALS) >= 60
    assert len({names.key(animal) for animal in names.ANIMALS}) == len(names.ANIMALS)
    for animal in names.ANIMALS:
        assert len(animal) <= 10
        assert set(animal) <= set(string.ascii_letters)
        assert names.check(f"{animal}-20", nobody) == f"{animal}-20"


def test_guests_are_different_animals_while_there_are_any():
    rng, here, guests = random.Random(7), set(), []
    for _ in range(len(names.ANIMALS) + 10):
        guests.append(names.guest(rng, here.__contains__))
        here.add(names.key(guests[-1]))
    assert len(here) == len(guests)
    first = [guest.split("-")[0] for guest in guests[: len(names.ANIMALS)]]
    assert len(set(first)) == len(names.ANIMALS)


@given(seed=st.integers(), full=st.booleans())
def test_a_guest_always_gets_a_good_name(seed, full):
    name = names.guest(random.Random(seed), everybody if full else nobody)
    assert names.check(name, nobody) == name
