"""What else speaks to a port: HTTP, TLS, SSH and the like, known by its first bytes. Pure.

A web page must not be able to play: whoever is known here is told so, and nothing of it is a line.
"""

import re

from duel_daemon.wire import IAC, MOST_LINE_BYTES

_BLANK = b" \t\r\n\0"
_BEFORE_PROXY = b"\r\n\r\n"  # its binary header begins like somebody who presses Enter twice
_ENOUGH_BYTES = 16  # to judge a line that has not ended

# What may be a return code after a name tells a pupil called NICK from an IRC client. "nick x" and
# "helo everyone" are people; else the case is no matter.
_NO_CODE = rb"(?![A-Z0-9-]{4,}\s*$|[A-Za-z0-9]{4}-[A-Za-z0-9]{4}\.?\s*$)"
_METHODS = rb"GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT|PRI|PROPFIND|REPORT|SEARCH"

_TEXTS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("RTSP", rb"(?i:[A-Z_]+ \S+ RTSP/)"),
        ("SIP", rb"(?i:[A-Z]+ (sips?:|\S+ SIP/))"),
        ("HTTP", rb"(?i:[!-~]+[ \t]+(\S+[ \t]+HTTP/\d|.*[ \t]HTTP/\d(\.\d)?\s*$))"),
        ("HTTP", rb"(?i:(%b) (/|\* HT|[a-z]+://|\S+:\d))" % _METHODS),
        ("SMTP", rb"((?i:[EL]HLO)|HELO) %b\S+\s*$|(?i:HELO \S*[.\[]|MAIL FROM:)" % _NO_CODE),
        ("SSH", rb"(?i:SSH-\d\.\d+-)"),
        ("Redis", rb"\*\d+$"),
        ("IRC", rb"NICK %b\S+\s*$|(?i:USER \S+ \S+ \S+ :|CAP LS( 302)?$)" % _NO_CODE),
        ("PROXY", rb"(?i:PROXY (TCP[46] [0-9A-F:]|UNKNOWN \S))"),
        ("XMPP", rb"(?i:<\?xml |<stream:)"),
    )
)
# Each holds a byte no keyboard and no telnet client sends first, so they need no end of line.
_BINARIES = tuple(
    (name, re.compile(pattern, re.DOTALL))
    for name, pattern in (
        ("TLS", rb"\x16\x03[\x00-\x04]|\x80.\x01\x03[\x00-\x03]"),
        ("PROXY", rb"\r\n\r\n\x00"),
        ("SMB", rb"\x00...[\xfe\xff]SMB"),
        ("SOCKS", rb"\x04[\x01\x02](?=.{0,5}[\x00\x80-\xff]).{6}|\x05[\x01-\x09]\x00"),
        ("MQTT", rb"\x10.{1,4}\x00[\x04\x06]MQ"),
        ("LDAP", rb"0(\x84....|.)\x02\x01.[\x42\x60\x63\x77]"),
        ("X11", rb"l\x00\x0b\x00|B\x00\x00\x0b"),
        ("RDP", rb"\x03\x00\x00.[\x00-\x7f]\xe0"),
        ("PostgreSQL", rb"\x00\x00..(\x04\xd2\x16[\x2e-\x30]|\x00\x03\x00)"),
        ("AMQP", rb"AMQP[\x00-\x03]"),
    )
)


def wrong_protocol(first: bytes) -> str | None:
    """Whose the first bytes of a connection are, if not a player's.

    Ask again as they grow, until all is judged; a line begun is, from 16 bytes on.
    """
    line, has_ended = _first_line(first)
    texts = _TEXTS if has_ended or len(line) >= _ENOUGH_BYTES else ()
    names = [name for name, pattern in _BINARIES if pattern.match(first)]
    names += [name for name, pattern in texts if pattern.match(line)]
    return names[0] if names else None


def still_to_judge(first: bytes) -> bytes | None:
    """What to keep of the first bytes until more of them come; None: all is judged.

    An empty line tells nothing: a person wants a guest name, or a request comes after it. But
    telnet is spoken by people only.
    """
    line, has_ended = _first_line(first)
    if has_ended or line[:1] == bytes((IAC,)):
        return None
    return first if _BEFORE_PROXY.startswith(first) or line == first else b"\n" + line


def is_no_persons(first: bytes) -> bool:
    """Whether the first line is longer than any that could be taken, and so is not judged."""
    return len(_first_line(first)[0]) > MOST_LINE_BYTES


def _first_line(first: bytes) -> tuple[bytes, bool]:
    """The first that is not empty, as far as it came, and whether that is all of it."""
    line, *rest = re.split(rb"[\r\n]", first.lstrip(_BLANK), maxsplit=1)
    return line, bool(rest)
