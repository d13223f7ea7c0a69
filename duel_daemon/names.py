"""What a player may be called, and what a guest is called who did not say.

Pure. A name is shown to others, stands in files, and must not be mistaken for another's.
"""

import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Set

import attrs

from duel_daemon import wire

MIN_COLUMNS, MAX_COLUMNS = 2, 16
MARKS_PER_BASE = 2  # a vowel sign and a tone, say; more pile up

_RESERVED_WORDS = """
    admin all anybody anyone bot computer daemon duel everybody everyone guest her him host house me
    moderator nobody none null opponent operator player root server somebody someone system teacher
    them you
"""
RESERVED = frozenset(_RESERVED_WORDS.split())
_IMPERSONATION_LETTERS = 5  # "Adm1n" is as bad as "admin", but Ali is not "all"

# The scripts in everyday use (UAX 31, table 5), by the first word of their letters' Unicode names.
# Others hold whole alphabets of look-alikes: Lisu is Latin capitals, to the eye.
_EVERYDAY = """
    ARABIC ARMENIAN BENGALI BOPOMOFO CYRILLIC DEVANAGARI ETHIOPIC GEORGIAN GREEK GUJARATI GURMUKHI
    HANGUL HEBREW HIRAGANA KANNADA KATAKANA KHMER LAO LATIN MALAYALAM MYANMAR ORIYA SINHALA TAMIL
    TELUGU THAANA THAI TIBETAN
"""
_SCRIPTS = {script: script for script in _EVERYDAY.split()} | {
    "CJK": "HAN",
    "IDEOGRAPHIC": "HAN",  # the iteration mark
}
_WRITTEN_TOGETHER = (  # in Japan, in Taiwan, in Korea
    {"HAN", "HIRAGANA", "KATAKANA"},
    {"HAN", "BOPOMOFO"},
    {"HAN", "HANGUL"},
)

# One script per name is not enough: "сосо" is Cyrillic from end to end, and 0 O, 1 I l and - _ pass
# for each other in many fonts. Letters alike only as capitals (В, Н, Τ) count, since case does not.
_LOOK_ALIKES = {
    "авекмнорстухіјѕһԁԛԝ": "abekmhopctyxijshdqw",  # Cyrillic
    "αβεζηικμνορτυχγ": "abezhikmvoptyxy",  # Greek
    "օսո": "oun",  # Armenian
    "ıǀl10_": "iiiio-",
}
_TATWEEL = "\u0640"  # makes an Arabic word longer, not another
_FOLD = str.maketrans("".join(_LOOK_ALIKES), "".join(_LOOK_ALIKES.values()), _TATWEEL)

_ANIMAL_WORDS = """
    Alpaca Antelope Badger Beaver Bison Bobcat Buffalo Bunny Camel Canary Caribou Cheetah Chipmunk
    Condor Corgi Cougar Crane Dolphin Dove Eagle Egret Falcon Ferret Finch Flamingo Fox Gazelle
    Gecko Giraffe Hamster Hare Hawk Hedgehog Heron Husky Ibex Ibis Iguana Jaguar Kestrel Kitten
    Kiwi Koala Lark Lemur Leopard Lion Llama Lynx Macaw Magpie Marmot Marten Meerkat Moose Narwhal
    Ocelot Okapi Orca Oriole Osprey Otter Owl Panda Panther Parrot Pelican Penguin Plover Pony
    Puffin Puma Puppy Quail Quokka Rabbit Raccoon Raven Robin Salmon Seal Sparrow Squirrel Stork
    Swallow Swan Swift Tapir Tiger Toucan Turtle Wolf Wombat Wren Zebra
"""
ANIMALS = tuple(_ANIMAL_WORDS.split())
_GUEST_NUMBERS = range(1, 21)


@attrs.frozen
class Refusal:
    """Why a name will not do, in a sentence that says what would."""

    sentence: str


def key(name: str) -> str:
    """What names are compared by: equal keys are the same name to a hasty reader."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_FOLD)


def check(
    raw: str, taken: Callable[[str], bool], reserved: Set[str] = frozenset()
) -> str | Refusal:
    """The name in its clean form, or why not. `taken` is asked about a key."""
    name = unicodedata.normalize("NFKC", raw).strip()
    sentence = next(_objections(name, taken, RESERVED | reserved), None)
    return name if sentence is None else Refusal(sentence)


def _objections(name: str, taken: Callable[[str], bool], words: Set[str]) -> Iterator[str]:
    """Each rule in turn; later ones may rely on the earlier ones, as only the first is used."""
    if not name:
        yield "Please type a name, such as Anna or Max7."
    if key(name.rstrip("0123456789-_ ")) == key("player"):
        yield "Player and a number is what the rules call the seats; please choose your own name."
    if " " in name:
        yield _one_word(name, taken, words)
    yield from _bad_characters(name)
    yield from _bad_marks(name)
    yield from _bad_scripts(name)
    width = wire.columns(name)
    if width < MIN_COLUMNS:
        yield f"That is too short: a name has at least {MIN_COLUMNS} letters, such as Bo."
    if width > MAX_COLUMNS:
        yield f"That is too long: a name has at most {MAX_COLUMNS} letters and digits."
    if _is_reserved(name, words):
        yield f"{name} means something else here; please choose a name, such as Anna or Max7."
    if taken(key(name)):
        yield f"Someone here is called {name}, or nearly so; {_another(name, taken)} would work."


def _another(name: str, taken: Callable[[str], bool]) -> str:
    longer = (f"{name}{number}" for number in range(2, 100))
    free = (new for new in longer if wire.columns(new) <= MAX_COLUMNS and not taken(key(new)))
    return next(free, "another name")


def _one_word(name: str, taken: Callable[[str], bool], words: Set[str]) -> str:
    # Words with digits are left out of the advice: one of them may be a mistyped return code.
    advice = "-".join(word for word in name.split() if word.isalpha())
    if isinstance(check(advice, taken, words), Refusal):
        return "A name is one word, such as Anna or Anna-Lena."
    return f"A name is one word, without spaces: {advice} would work."


def _bad_characters(name: str) -> Iterator[str]:
    if "\ufffd" in name:
        yield "Some letters did not arrive as UTF-8; the letters a to z always work."
    for char in name:
        if not (_is_letter(char) or _is_mark(char) or char in "0123456789-_"):
            shown = wire.neutralise(char)
            yield f"A name has letters, the digits 0 to 9, - and _ only; {shown} is none of these."
    if wire.neutralise(name) != name:
        yield "There is something invisible in that name; please type it by hand."
    if not _is_letter(name[:1]):
        yield "A name begins with a letter, such as Anna or Max7."


def _bad_marks(name: str) -> Iterator[str]:
    shape = "".join("m" if _is_mark(char) else "b" for char in name)
    if "m" * (MARKS_PER_BASE + 1) in shape:
        yield f"At most {MARKS_PER_BASE} marks fit on one letter; fewer of them would work."
    if any(_is_mark(char) and _script(char) is None for char in name):
        # What composes has composed by now (NFKC), and a script's own marks bear its name.
        yield "That letter does not go with that accent; the letter alone would work."


def _bad_scripts(name: str) -> Iterator[str]:
    scripts = {_script(char) for char in name if char not in "0123456789-_"}
    if None in scripts:
        yield "Some of these letters are easily taken for others; the letters a to z always work."
    if len(scripts) > 1 and not any(scripts <= together for together in _WRITTEN_TOGETHER):
        yield "Letters of different alphabets look alike; please use those of a single one."


def _is_letter(char: str) -> bool:
    return unicodedata.category(char) in ("Lu", "Ll", "Lt", "Lm", "Lo") if char else False


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Mc")


def _script(char: str) -> str | None:
    return _SCRIPTS.get(re.split("[ -]", unicodedata.name(char, ""), maxsplit=1)[0])


def _is_reserved(name: str, words: Set[str]) -> bool:
    if name.casefold() in words:
        return True
    guarded = {key(word) for word in words if len(word) >= _IMPERSONATION_LETTERS}
    return key(name) in guarded


def guest(rng: random.Random, taken: Callable[[str], bool]) -> str:
    """A friendly name; an animal nobody bears yet, while there is one."""
    crowd = []
    for animal in rng.sample(ANIMALS, len(ANIMALS)):
        names = [f"{animal}-{number}" for number in _GUEST_NUMBERS]
        free = [name for name in names if not taken(key(name))]
        if len(free) == len(names):
            return rng.choice(free)
        crowd += free
    if crowd:
        return rng.choice(crowd)
    # Over 1,800 guests: more than are ever let in. Millions of names remain, so no search.
    return f"{rng.choice(ANIMALS)}-{rng.randrange(1000, 100_000)}"
