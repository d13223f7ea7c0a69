"""Bytes to lines and text to bytes: everything that depends on what nc and telnet really send.

Pure: no socket, no clock, nothing of the game. Strangers write what is read here, so every buffer
is bounded, every line that leaves is printable, and no cut into packets changes the result.
"""

import enum
import functools
import json
import re
import unicodedata

import attrs

MOST_LINE_BYTES = 4096  # that the limit can be set to: int() refuses more than 4300 digits
MARKS_PER_BASE = 3  # combining marks; Vietnamese and Thai need two, "zalgo" has dozens

IAC, DONT, DO, WONT, WILL, SB = 255, 254, 253, 252, 251, 250
EL, EC, AYT, AO, IP, BRK = 248, 247, 246, 245, 244, 243
SE, ABORT, SUSP, EOF = 240, 238, 237, 236
BINARY, TIMING_MARK = 0, 6

_BACKSPACE, _DELETE, _CTRL_U, _CR, _LF, _NUL = 0x08, 0x7F, 0x15, 0x0D, 0x0A, 0x00
_NOT_TEXT = re.compile(rb"[\x00\x08\n\r\x15\x7f\xff]")
_PLAIN = bytes(range(0x20, 0x7F)) + b"\r\n"
_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Signal(enum.Enum):
    """What can come out of the decoder besides lines."""

    TOO_LONG = enum.auto()  # a line over line_bytes ended; nothing of it was kept
    INTERRUPT = enum.auto()  # telnet IP, BRK or ABORT; the line begun is gone
    ARE_YOU_THERE = enum.auto()  # telnet AYT
    END = enum.auto()  # telnet EOF: nothing more will come
    UTF16 = enum.auto()  # the first two bytes are a byte order mark of UTF-16
    MUCH = enum.auto()  # a packet longer than any line, without the end of one


class _State(enum.Enum):
    TEXT = enum.auto()
    COMMAND = enum.auto()  # after IAC
    OPTION = enum.auto()  # after IAC WILL, WONT, DO or DONT
    INSIDE = enum.auto()  # in a subnegotiation
    INSIDE_IAC = enum.auto()  # after IAC in a subnegotiation


_SIGNALS = {
    IP: Signal.INTERRUPT,
    BRK: Signal.INTERRUPT,
    ABORT: Signal.INTERRUPT,
    AYT: Signal.ARE_YOU_THERE,
    EOF: Signal.END,
}

# Debian's telnet takes these bytes for Ctrl-C, -O, -Z and -\\ while it is not in binary mode.
_MANGLED = {IP: b"\x83", AO: b"\x8f", SUSP: b"\x9a", BRK: b"\x9c"}
_CUT_CHARACTER = re.compile(
    rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z"
)

Decoded = list[str | Signal]


@attrs.frozen(kw_only=True)
class Limits:
    """How much is taken in; one record for all connections."""

    line_bytes: int = 512
    endless_bytes: int = 64 * 1024  # since the last end of line
    telnet_bytes: int = 4 * 1024  # of subnegotiations in a connection's life; none is kept
    telnet_answers: int = 64  # without the timing marks, which endless_bytes bounds


DEFAULT_LIMITS = Limits()
_NOTHING: frozenset[tuple[int, int]] = frozenset()  # one for all: few clients speak telnet


class Decoder:
    """One connection's input. Feed it packets; send the peer what `take_replies` returns."""

    __slots__ = (
        "_after_cr",
        "_answered",
        "_head",
        "_limits",
        "_line",
        "_overlong",
        "_peer_binary",
        "_plain_bytes",
        "_replies",
        "_since_end",
        "_state",
        "_subnegotiated",
        "_verb",
        "overrun",
        "telnet",
    )

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._plain_bytes = 0  # line_bytes between two lines, nothing pending: the fast path
        self._head: bytes | None = b""  # the first bytes, until it is clear whether they are a BOM
        self._state = _State.TEXT
        self._line = bytearray()
        self._overlong = False
        self._after_cr = False
        self._since_end = 0  # bytes since the last end of line
        self._subnegotiated = 0
        self.overrun = False  # the peer sent more than any person's client does: time to close
        self.telnet = False  # the peer has sent a telnet command
        self._verb = 0
        self._peer_binary = False
        self._answered = _NOTHING
        self._replies = b""

    def limit(self, limits: Limits) -> None:
        """From now on; a line begun that is too long by now is so when it goes on."""
        self._limits = limits
        self._open_fast_path(self._plain_bytes > 0)

    def _open_fast_path(self, is_idle: bool) -> None:
        self._plain_bytes = self._limits.line_bytes if is_idle else 0

    def feed(self, data: bytes) -> Decoded:
        """The lines completed and the signals, in their order."""
        # Nearly every packet is a short complete line of plain ASCII that follows a complete line.
        # Such text needs no editing, decoding or neutralising, so splitting it is all there is to
        # do; about four times as fast. The first packet of all goes the long way (BOM).
        if (
            len(data) <= self._plain_bytes
            and data.endswith(b"\n")
            and not data.translate(None, _PLAIN)
        ):
            text = data.decode("ascii")
            if "\r" in text:
                text = text.replace("\r\n", "\n")
            if "\r" not in text:
                lines: Decoded = [*text.split("\n")]
                lines.pop()
                return lines
        return self._feed_carefully(data)

    def take_replies(self) -> bytes:
        """The telnet answers due to the peer; asking empties them."""
        replies, self._replies = self._replies, b""
        return replies

    @property
    def unfinished(self) -> bool:
        """A line or a telnet sequence has begun and not ended."""
        return bool(self._line) or self._overlong or self._state is not _State.TEXT

    @property
    def is_at_rest(self) -> bool:
        """Nothing has begun, and nothing was ever negotiated."""
        return self._plain_bytes > 0 and not self.telnet

    def freeze(self) -> str:
        """What would be lost with this decoder: a line half typed, what has been negotiated."""
        if self.is_at_rest:
            return ""
        answered = sorted([verb, option] for verb, option in self._answered)
        state = [self._line.hex(), self._overlong, self._after_cr, self._state.name, self._verb,
                 self.telnet, self._peer_binary, answered]  # fmt: skip
        return json.dumps(state, separators=(",", ":"))

    @classmethod
    def thaw(cls, state: str, limits: Limits = DEFAULT_LIMITS) -> "Decoder":
        """The decoder that was frozen; a new one, in the middle of its life, from nothing."""
        decoder = cls(limits)
        decoder._head = None
        decoder._open_fast_path(not state)
        if state:
            (line, decoder._overlong, decoder._after_cr, name, decoder._verb, decoder.telnet,
             decoder._peer_binary, answered) = json.loads(state)  # fmt: skip
            decoder._line = bytearray.fromhex(line)
            decoder._state = _State[name]
            decoder._answered = frozenset((verb, option) for verb, option in answered)
        return decoder

    def _feed_carefully(self, data: bytes) -> Decoded:
        out: Decoded = []
        if self._head is not None:
            self._look_for_bom(data, out)
        at = 0
        while at < len(data):
            end = self._step(data, at, out)
            self._since_end += end - at
            if self._since_end > self._limits.endless_bytes:
                self.overrun = True
            at = end
        self._open_fast_path(self._since_end == 0 and not self._after_cr and self._head is None)
        return out

    def _look_for_bom(self, data: bytes, out: Decoded) -> None:
        head = (self._head or b"") + data[:2]
        if head[:2] in _BOMS:
            out.append(Signal.UTF16)
        undecided = len(head) < 2 and (not head or head[0] >= 0xFE)
        self._head = head if undecided else None

    def _step(self, data: bytes, at: int, out: Decoded) -> int:
        """Take in at least a byte or a change of state; where the next step begins."""
        if self._state is _State.TEXT:
            return self._text(data, at, out)
        if self._state is _State.COMMAND:
            return at + self._command(data[at], out)
        if self._state is _State.OPTION:
            self._state = _State.TEXT
            self._negotiate(self._verb, data[at])
            return at + 1
        return self._inside(data, at, out)

    # Text

    def _text(self, data: bytes, at: int, out: Decoded) -> int:
        found = _NOT_TEXT.search(data, at)
        end = found.start() if found else len(data)
        if end > at:
            self._append(data[at : min(end, at + self._limits.line_bytes + 1)])
            return end
        if data[at] == IAC:
            self._state = _State.COMMAND  # a CR before it still waits for its LF
        else:
            self._control(data[at], out)
        return at + 1

    def _append(self, text: bytes) -> None:
        self._after_cr = False
        if self._overlong:
            return
        if len(self._line) + len(text) > self._limits.line_bytes:
            self._drop_line()
            self._overlong = True
        else:
            self._line += text

    def _drop_line(self) -> None:
        self._line.clear()
        self._overlong = False

    def _control(self, byte: int, out: Decoded) -> None:
        after_cr, self._after_cr = self._after_cr, byte == _CR
        if after_cr and byte in (_LF, _NUL):
            self._since_end = -1  # the second half of an end of line
        elif byte in (_CR, _LF):
            self._end_line(out)
        elif byte in (_BACKSPACE, _DELETE):
            self._erase()
        elif byte == _CTRL_U:
            self._drop_line()

    def _end_line(self, out: Decoded) -> None:
        if self._overlong:
            out.append(Signal.TOO_LONG)
        else:
            out.append(neutralise(self._line.decode("utf-8", "replace")))
        self._drop_line()
        self._since_end = -1  # the byte that ends the line is yet to be counted

    def _erase(self) -> None:
        """Take back the last character, or the last byte where it is no UTF-8.

        Of a line already too long nothing is kept, so there backspace does nothing; Ctrl-U does.
        """
        line = self._line
        size = 1
        while size < min(4, len(line)) and 0x80 <= line[-size] < 0xC0:
            size += 1
        if size > 1:
            try:
                line[-size:].decode("utf-8")
            except UnicodeDecodeError:
                size = 1
        del line[-size:]

    # Telnet (RFC 854, 855, 1143)

    def _command(self, byte: int, out: Decoded) -> int:
        """Carry out IAC `byte`; how many bytes that took."""
        self._state = _State.TEXT
        if byte == IAC or byte < EOF:
            # Escaped, or no command at all: a lone ff is a "ÿ" of Latin-1, and the byte after it
            # (an Enter, perhaps) must not be lost.
            self._append(b"\xff")
            return 1 if byte == IAC else 0
        self.telnet = True
        self._answer(DO, BINARY)  # else Debian's telnet mangles letters that hold 80 to 9f
        if byte in (WILL, WONT, DO, DONT):
            self._verb = byte
            self._state = _State.OPTION
        elif byte == SB:
            self._state = _State.INSIDE
        elif byte in _MANGLED and _CUT_CHARACTER.search(self._line, len(self._line) - 3):
            # No key was pressed: the letter being typed holds that byte ("\u00dc" is c3 9c).
            self._append(_MANGLED[byte])
        elif byte == EC:
            self._erase()
        elif byte == EL:
            self._drop_line()
        elif byte in _SIGNALS:
            if _SIGNALS[byte] is Signal.INTERRUPT:
                self._drop_line()
            out.append(_SIGNALS[byte])
        return 1

    def _negotiate(self, verb: int, option: int) -> None:
        """Every option stays off, but for BINARY from the peer to us."""
        if verb == DO and option == TIMING_MARK:
            # Debian's telnet shows nothing after Ctrl-C until this comes, so it never counts.
            self._replies += bytes((IAC, WONT, TIMING_MARK))
        elif verb == DO:
            self._answer(WONT, option)
        elif verb == WILL and option == BINARY:
            self._peer_binary = True
        elif verb == WILL or (verb == WONT and option == BINARY and self._peer_binary):
            self._answer(DONT, option)

    def _answer(self, verb: int, option: int) -> None:
        """Say it once, and not too much in all: two peers must not answer each other for ever."""
        answered = self._answered
        if (verb, option) not in answered and len(answered) < self._limits.telnet_answers:
            self._answered = answered | {(verb, option)}
            self._replies += bytes((IAC, verb, option))

    def _inside(self, data: bytes, at: int, out: Decoded) -> int:
        """A subnegotiation: counted, never kept, for we ask for none."""
        end = at + 1
        if self._state is _State.INSIDE_IAC:
            self._state = _State.INSIDE
            if data[at] == SE:
                self._state = _State.TEXT
            elif EOF <= data[at] < IAC:  # a command where SE is missing: the subnegotiation is over
                return at + self._command(data[at], out)
        else:
            found = data.find(IAC, at)
            end = found + 1 or len(data)
            if found >= 0:
                self._state = _State.INSIDE_IAC
        self._subnegotiated += end - at
        if self._subnegotiated > self._limits.telnet_bytes:
            self.overrun = True
        return end


# Characters

DOT = "·"  # stands where something unprintable stood

# Printable to Python, yet nothing to see: grapheme joiner, Hangul and Khmer fillers, Mongolian and
# other variation selectors, the empty braille cell, two fillers of music and of Khitan.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159"
) | {chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))}


def neutralise(text: str) -> str:
    """The same with a dot for all that could act on a terminal, hide, or pile up."""
    if text.isascii() and text.isprintable():
        return text
    safe = []
    marks = MARKS_PER_BASE  # a mark in front would sit on whatever is shown before the text
    for char in map(_visible, text):
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        safe.append(char if marks <= MARKS_PER_BASE else DOT)
    return "".join(safe)


def _visible(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return " "
    return char if char.isprintable() and char not in _INVISIBLE else DOT


def columns(text: str) -> int:
    """How wide a terminal shows it; tables align by this."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    if "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff":
        return 0  # Hangul vowels and final consonants join the syllable begun
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


# Accents need no entry, they fall off in `_ascii`.
_ASCII_TWINS = (
    dict(zip("÷·×−‐‑‒–—―•⁄„“”«»‘’‚‹›´", "/.x-------*/\"\"\"\"\"''''''", strict=True))
    | dict(zip("øØłŁđĐðı", "oOlLdDdi", strict=True))
    | {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "Th"}
    | {"≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "←": "<-"}
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@functools.lru_cache(maxsize=1024)
def _ascii(char: str) -> str:
    if char in _ASCII_TWINS:
        return _ASCII_TWINS[char]
    parts = unicodedata.normalize("NFKD", char)
    bases = (part for part in parts if not unicodedata.combining(part))
    return "".join(base if base.isascii() else _ASCII_TWINS.get(base, "?") for base in bases)


def in_ascii(text: str) -> str:
    """As somebody reads it who wants plain letters only."""
    return text if text.isascii() else _NOT_ASCII.sub(lambda found: _ascii(found[0]), text)


def encode(text: str, ascii_only: bool = False) -> bytes:
    """What to send for our own text: ends of line as CR LF, and no byte that telnet would take."""
    if ascii_only:
        text = in_ascii(text)
    return text.replace("\n", "\r\n").encode("utf-8", "replace")
