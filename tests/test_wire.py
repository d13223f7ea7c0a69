"""The wire against real clients, hand-made nonsense, and whatever hypothesis thinks of."""

import itertools
import json
import string
import sys
import tracemalloc
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duel_daemon import protocols, wire
from duel_daemon.wire import Decoder, Limits, Signal

LIMITS = Limits()

CAPTURES = Path(__file__).parent / "captures"
RECORDINGS = sorted(CAPTURES.glob("*.hex"))
HUGE_BYTES = 5_000  # above this, byte by byte is too slow; chunks of odd sizes stand in


def bad_inputs():
    entries = map(json.loads, (CAPTURES / "bad_inputs.jsonl").read_text().splitlines())
    return [pytest.param(entry, id=entry["id"]) for entry in entries]


def bytes_of(entry):
    parts = entry.get("repeat") or [[entry["hex"], 1]]
    return b"".join(bytes.fromhex(part) * count for part, count in parts)


def lines_of(entry):
    lines = entry["lines"]
    if isinstance(lines, dict):
        return [lines["same"]] * lines["count"]
    return [Signal.TOO_LONG if line is None else line for line in lines]


def packets_of(recording):
    events = (line.split("#")[0].split() for line in recording.read_text().splitlines())
    return [bytes.fromhex("".join(event[2:])) for event in events if event[1:2] == ["C"]]


def recording(name):
    (path,) = CAPTURES.glob(name)
    return packets_of(path)


def chunks(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def bytewise(data):
    return chunks(data, 1) if len(data) <= HUGE_BYTES else [data[:1], *chunks(data[1:], 4099)]


def decode(packets):
    """All that came out, all replies, and whether it was too much."""
    decoder = Decoder()
    out, replies = [], b""
    for packet in packets:
        out += decoder.feed(packet)
        replies += decoder.take_replies()
    return out, replies, decoder.overrun, decoder.unfinished, decoder.telnet


def only_lines(packets):
    out, *_ = decode(packets)
    return [item for item in out if isinstance(item, str) or item is Signal.TOO_LONG]


def cut(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


def any_bytes(max_size):
    """Like st.binary, with which hypothesis compares bytes to int in its cache: an error by -bb."""
    return st.lists(st.integers(0, 255), max_size=max_size).map(bytes)


# Bytes as strangers send them: mostly those that mean something to the decoder.
MEANINGFUL = (
    b"\xff\xff\xff\xfb\xfc\xfd\xfe\xfa\xf0\xf4\xf7\xf8\xec\x00\x06\r\n\x08\x7f\x15a\xc3\xa9"
)
hostile = st.lists(
    st.sampled_from([bytes([byte]) for byte in MEANINGFUL] + [b"x" * 300, b"\xff\xfa" + b"y" * 900])
    | any_bytes(max_size=4),
    max_size=60,
).map(b"".join)
places = st.lists(st.integers(min_value=0), max_size=12)


# Recordings and bad inputs


SMALL = [param for param in bad_inputs() if len(bytes_of(param.values[0])) <= HUGE_BYTES]


@pytest.mark.parametrize("entry", SMALL)
@given(places=places)
@settings(max_examples=30)
def test_a_bad_input_decodes_the_same_however_it_is_cut(entry, places):
    data = bytes_of(entry)
    assert decode(cut(data, places)) == decode([data])


@pytest.mark.parametrize("entry", bad_inputs())
def test_a_bad_input_gives_the_lines_it_should_whole_and_byte_by_byte(entry):
    data = bytes_of(entry)
    assert decode(bytewise(data)) == decode([data])
    if isinstance(entry["lines"], str):
        first_line = data[: data.find(b"\n") + 1] or data
        recognised = protocols.wrong_protocol(first_line) or protocols.wrong_protocol(data)
        assert recognised, "the entry leaves a choice; we know every one of these"
    else:
        assert protocols.wrong_protocol(data) is None
        assert only_lines([data]) == only_lines(bytewise(data)) == lines_of(entry)


@pytest.mark.parametrize("entry", [p for p in bad_inputs() if p.values[0]["lines"] == "CLOSE"])
def test_a_textual_wrong_protocol_is_known_at_the_end_of_its_first_line(entry):
    data = bytes_of(entry)
    assert protocols.wrong_protocol(data[: data.index(b"\n") + 1])
    assert protocols.wrong_protocol(data[: data.index(b"\r") + 1])


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_decodes_the_same_at_its_packet_borders_whole_and_byte_by_byte(path):
    packets = packets_of(path)
    data = b"".join(packets)
    assert decode(packets) == decode([data]) == decode(chunks(data, 1))


def test_there_are_recordings_of_every_kind():
    clients = {path.name.split(".")[0] for path in RECORDINGS}
    assert {"telnet-inetutils", "plink-telnet", "nc-openbsd", "socat-raw", "wrong-ssh"} <= clients


@pytest.mark.parametrize(
    "path", sorted(CAPTURES.glob("*.1-silent-server.hex")), ids=lambda p: p.stem
)
def test_every_client_can_say_hi(path):
    assert only_lines(packets_of(path)) == ["hi"]


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("[!w]*.hex")), ids=lambda path: path.stem)
def test_no_real_client_is_taken_for_another_protocol_or_for_a_flood(path):
    data = b"".join(packets_of(path))
    assert not any(protocols.wrong_protocol(data[:size]) for size in range(len(data) + 1))
    _, replies, overrun, _, telnet = decode([data])
    assert not overrun
    assert bool(replies) == telnet == (b"\xff" in data)


@pytest.mark.parametrize(
    ("name", "protocol"),
    [("wrong-http-*.1*", "HTTP"), ("wrong-https-*.1*", "TLS"), ("wrong-ssh.1*", "SSH")],
)
def test_recorded_strangers_are_known(name, protocol):
    assert protocols.wrong_protocol(recording(name)[0]) == protocol


@pytest.mark.parametrize("client", ["telnet-inetutils", "plink-telnet", "busybox-telnet", "curl-*"])
def test_after_do_binary_letters_arrive_unharmed(client):
    assert only_lines(recording(f"{client}.8-*.hex"))[:2] == ["Übung “x” я", "after"]


def test_ctrl_c_of_debian_telnet_interrupts_and_gets_its_timing_mark():
    out, replies, *_ = decode(recording("telnet-inetutils.10-*.hex"))
    assert out == [Signal.INTERRUPT, "ok"]
    assert replies == b"\xff\xfd\x00\xff\xfc\x06"


def test_all_that_plink_offers_is_refused_once():
    out, replies, *_ = decode(recording("plink-telnet.6-*.hex"))
    assert out == ["one", "two", Signal.END]
    refused = "fffd00 fffe1f fffe20 fffe18 fffe27 fffc01 fffe03 fffc03"
    assert replies == bytes.fromhex(refused)


def test_a_negotiating_client_edits_in_character_mode():
    lines = only_lines(recording("telnet-inetutils.3-*.hex"))
    assert lines == ["hi", "é✓", "ac", "·[A", "·z"]


# Lines


def test_a_bare_cr_ends_a_line_at_once():
    decoder = Decoder()
    assert decoder.feed(b"15\r") == ["15"]
    assert not decoder.unfinished
    assert decoder.feed(b"16\r") == ["16"]


@pytest.mark.parametrize("second", [b"\n", b"\0"])
def test_cr_and_its_second_half_may_come_in_different_packets(second):
    decoder = Decoder()
    assert decoder.feed(b"15\r") == ["15"]
    assert decoder.feed(second) == []
    assert decoder.feed(b"\n") == [""]


def test_a_telnet_command_between_cr_and_lf_does_not_make_two_ends():
    assert only_lines([b"15\r\xff\xf1\n16\n"]) == ["15", "16"]


@pytest.mark.parametrize("typed", ["ab\x7fc", "aé\x08c", "a日\x7fc", "a\U0001f469\x7fc", "x\x15ac"])
def test_backspace_takes_a_whole_character_and_ctrl_u_the_line(typed):
    assert only_lines(chunks(typed.encode() + b"\n", 1)) == ["ac"]


def test_backspace_takes_a_single_byte_that_is_no_utf_8():
    assert only_lines([b"\xc3\xa9\x80\x7f\x7f\x7fx\n"]) == ["x"]


def test_a_line_of_513_bytes_is_reported_once_and_the_next_one_works():
    assert only_lines([b"a" * 513 + b"\x7f\x7f\nok\n"]) == [Signal.TOO_LONG, "ok"]


@pytest.mark.parametrize("kill", [b"\x15", b"\xff\xf8", b"\xff\xf4"])
def test_a_line_too_long_can_be_killed(kill):
    assert only_lines([b"a" * 600 + kill + b"ok\n"]) == ["ok"]


def test_64_kib_without_an_end_of_line_are_an_overrun_but_many_lines_are_not():
    decoder = Decoder()
    decoder.feed(b"a" * 500 + b"\n")
    decoder.feed(b"a\n" * 64 * 1024)
    decoder.feed(b"a" * 64 * 1024)
    assert not decoder.overrun
    decoder.feed(b"a")
    assert decoder.overrun


SMALL = Limits(line_bytes=8, endless_bytes=100, telnet_bytes=20, telnet_answers=2)


def test_other_limits_can_be_set():
    decoder = Decoder(SMALL)
    assert decoder.feed(b"12345678\n123456789\n") == ["12345678", Signal.TOO_LONG]
    assert decoder.feed(b"12345678\n") == ["12345678"]
    assert decoder.feed(b"123456789\n") == [Signal.TOO_LONG]
    decoder.feed(b"\xff\xfd\x01\xff\xfd\x02\xff\xfd\x03\n")
    assert decoder.take_replies() == b"\xff\xfd\x00\xff\xfc\x01"  # DO BINARY is one of two
    decoder.feed(b"a" * 100)
    assert not decoder.overrun
    decoder.feed(b"a")
    assert decoder.overrun


def test_other_limits_hold_for_subnegotiations():
    decoder = Decoder(SMALL)
    decoder.feed(b"\xff\xfa" + b"x" * 20)
    assert not decoder.overrun
    decoder.feed(b"x")
    assert decoder.overrun


@pytest.mark.parametrize("before", [b"", b"\n", b"ab"])
def test_new_limits_hold_for_a_decoder_in_the_middle_of_its_life(before):
    decoder = Decoder()
    decoder.feed(before)
    decoder.limit(SMALL)
    assert decoder.feed(b"123456789\nok\n") == [Signal.TOO_LONG, "ok"]
    assert decoder.feed(b"123456789\n") == [Signal.TOO_LONG]
    decoder.limit(LIMITS)
    assert decoder.feed(b"123456789\n") == ["123456789"]


@pytest.mark.parametrize("before", [b"\n", b"ab", b"\xff\xfd\x01\n", b"\xff\xfa"])
def test_a_decoder_taken_up_again_goes_on_under_the_limits_of_its_new_process(before):
    decoder = Decoder()
    decoder.feed(before)
    taken_up = Decoder.thaw(decoder.freeze(), SMALL)
    assert taken_up.freeze() == decoder.freeze()
    assert taken_up.feed(b"\xff\xf0" + b"123456789\nok\n")[-2:] == [Signal.TOO_LONG, "ok"]


def test_a_decoder_at_rest_is_small():
    """There is one for each connection; the limits are shared by all."""
    decoder = Decoder()
    decoder.feed(b"Anna\n")
    own = [getattr(decoder, name) for name in Decoder.__slots__ if name != "_limits"]
    assert sys.getsizeof(decoder) + sum(map(sys.getsizeof, own)) < 1024
    assert not hasattr(decoder, "__dict__")
    assert Decoder()._answered is Decoder()._answered


@pytest.mark.parametrize("begun", [b"a", b"\xff", b"\xff\xfd", b"\xff\xfaxyz", b"a" * 999])
def test_what_has_begun_and_not_ended_is_unfinished(begun):
    decoder = Decoder()
    assert not decoder.unfinished
    decoder.feed(begun)
    assert decoder.unfinished


def test_a_lone_ff_is_a_latin_1_letter_and_costs_no_enter():
    out, replies, *_, telnet = decode([b"\xff\nx\xff1\n"])
    assert out == ["\ufffd", "x\ufffd1"]
    assert not replies
    assert not telnet


# Telnet


def test_no_telnet_is_sent_to_a_peer_that_speaks_none():
    assert decode([b"hi\r\n\xff\xff\n"])[1] == b""


def test_options_are_refused_once_per_direction_and_binary_is_welcome():
    asked = b"\xff\xfb\x00\xff\xfb\x01\xff\xfb\x01\xff\xfd\x01\xff\xfd\x01\xff\xfc\x03\xff\xfe\x03"
    assert decode([asked])[1] == b"\xff\xfd\x00\xff\xfe\x01\xff\xfc\x01"


def test_binary_taken_back_is_acknowledged_once():
    assert decode([b"\xff\xfc\x00"])[1] == b"\xff\xfd\x00"
    asked = b"\xff\xfb\x00\xff\xfc\x00" * 5
    assert decode([asked])[1] == b"\xff\xfd\x00\xff\xfe\x00"


def test_there_are_at_most_64_answers_but_timing_marks_always():
    offers = b"".join(bytes((255, verb, n)) for verb in (251, 253) for n in range(10, 256))
    _, replies, *_ = decode([offers + b"\xff\xfd\x06" * 3])
    assert len(replies) == 3 * (64 + 3)
    assert replies.endswith(b"\xff\xfc\x06" * 3)


def test_a_peer_may_ask_whether_we_are_there():
    assert decode([b"a\xff\xf6b\n"])[0] == [Signal.ARE_YOU_THERE, "ab"]


def test_subnegotiations_are_an_overrun_after_4_kib_in_all():
    decoder = Decoder()
    one = b"\xff\xfa\x18" + b"\xff\xff" * 127 + b"\xff\xf0"
    for _ in range(15):
        decoder.feed(one + b"\n")
    assert not decoder.overrun
    decoder.feed(one + one)
    assert decoder.overrun


@pytest.mark.parametrize("bom", wire._BOMS)
def test_utf_16_is_noticed_in_the_first_two_bytes_only(bom):
    assert decode(chunks(bom + b"\n", 1))[0][0] is Signal.UTF16
    assert Signal.UTF16 not in decode([b"a" + bom])[0]
    assert Signal.UTF16 not in decode([b"", b"\n", bom])[0]


# Properties


@given(data=hostile, places=places)
@settings(max_examples=400)
def test_any_bytes_decode_the_same_however_they_are_cut(data, places):
    assert decode(cut(data, places)) == decode([data]) == decode(chunks(data, 1))


@given(data=hostile | st.text().map(lambda text: text.encode("utf-8", "replace")))
def test_only_printable_text_comes_out(data):
    for line in only_lines([data + b"\n"]):
        assert line is Signal.TOO_LONG or line.isprintable()


plain = st.text(string.printable[:-5], max_size=20) | st.sampled_from(["\r\n", "\n", "x" * 513])


@given(data=st.lists(plain, max_size=60).map("".join))
def test_the_fast_path_and_the_slow_one_agree(data):
    packet = data.encode()
    slow, fast = Decoder(), Decoder()  # a decoder's first packet never takes the fast path
    fast.feed(b"\n")
    assert fast.feed(packet) == slow.feed(packet)
    begun = len(packet) - 1 - max(packet.rfind(b"\n"), packet.rfind(b"\r"))
    for tail in (b"a" * (64 * 1024 - begun), b"a", b"\n"):
        assert fast.feed(tail) == slow.feed(tail)
        assert (fast.overrun, fast.unfinished) == (slow.overrun, slow.unfinished)


@given(data=hostile)
def test_little_is_ever_held(data):
    decoder = Decoder()
    for _ in range(3):
        decoder.feed(data)
        decoder.take_replies()
        assert len(decoder._line) <= LIMITS.line_bytes


@pytest.mark.parametrize("flood", [b"A", b"\xff", b"\0", b"\xff\xfaA", b"\xff\xfd\x01", b"\x7f"])
def test_ten_megabytes_without_an_end_leave_less_than_8_kib(flood):
    decoder = Decoder()
    packet = flood * 4096
    decoder.feed(packet)
    tracemalloc.start()
    try:
        for _ in range(10 * 2**20 // len(packet) if flood == b"A" else 20):
            decoder.feed(packet)
            decoder.take_replies()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 8 * 1024


# Characters


@given(st.text())
def test_neutralising_twice_is_neutralising_once_and_leaves_nothing_to_hide(text):
    safe = wire.neutralise(text)
    assert wire.neutralise(safe) == safe
    assert safe.isprintable()
    assert len(safe) == len(text)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a\xa0b\u3000c", "a b c"),
        ("\u202eabc\u2069", "·abc·"),
        ("x\ufe0f\u034f\u3164\u2800", "x····"),
        ("\u0301a", "·a"),
        ("a" + "\u0301" * 6, "a\u0301\u0301\u0301···"),
        ("\ud800\ue000\U000e0041\u0378", "····"),
        ("Nguyễn शक्ति ไม้", "Nguyễn शक्ति ไม้"),
    ],
)
def test_what_hides_or_piles_up_becomes_a_dot(text, safe):
    assert wire.neutralise(text) == safe


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本語", 6), ("e\u0301·", 2), ("\U0001f469", 2), ("한", 2), ("\u1112\u1161", 2)],
)
def test_columns_are_what_a_terminal_shows(text, width):
    assert wire.columns(text) == width


def test_text_is_sent_as_utf_8_with_cr_lf():
    assert wire.encode("15 ÷ 3\n\n") == b"15 \xc3\xb7 3\r\n\r\n"
    assert wire.encode("\ud800") == b"?"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("15 ÷ 3 · 5 × 2 − 1", "15 / 3 . 5 x 2 - 1"),
        ("“Übung” – Straße, Øre…", '"Ubung" - Strasse, Ore...'),
        ("ǖ½日я", "u1/2??"),
    ],
)
def test_ascii_keeps_what_it_can(text, plain):
    assert wire.encode(text, ascii_only=True) == plain.encode()


@given(st.text())
def test_any_text_can_be_sent(text):
    assert b"\xff" not in wire.encode(text)
    assert wire.encode(text, ascii_only=True).isascii()


# Other protocols


PEOPLE = (
    """
Get|Post|GET|POST|Options|GETA|OPTIONS|help|HELP|Nick K7M2-9QXT|NICK K7M2-9QXT|GET K7M2-9QXT|Head
POST ABCD2345|EHLO K7M2-9QXT|HELO K7M2-9QXT|helo everyone|PROXY K7M2-9QXT|PROXY|SSH|SSH-2|USER|Redis
Nick Miller|NICK MILLER|nick x|Connect|CONNECT K7M2-9QXT|Jörg|日本|0|15|*|lotte|Bob|AMQP|Helo
Max /|quit|CAP K7M2-9QXT|OPTIONS K7M2-9QXT|user bob|ehlo k7m2-9qxt|EHLO k7m2-9qxt.|nick k7m2-9qxt
get k7m2-9qxt|say hello|say 3/4 is not HTTP|http|HTTP/1.1|help HTTP
a very long line that someone typed instead of a name
""".strip()
    .replace("\n", "|")
    .split("|")
)


@pytest.mark.parametrize("typed", PEOPLE)
def test_people_are_not_taken_for_machines(typed):
    data = typed.encode() + b"\r\n"
    assert not any(protocols.wrong_protocol(data[:size]) for size in range(len(data) + 1))


@given(
    name=st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=16),
    code=st.text(string.ascii_uppercase + string.digits + "-", min_size=4, max_size=12),
)
def test_a_name_with_or_without_a_return_code_is_a_person(name, code):
    for line in (name, f"{name} {code}", f"{name.upper()} {code}"):
        assert protocols.wrong_protocol(line.encode() + b"\r\n") is None


@given(any_bytes(max_size=40))
def test_telnet_is_no_wrong_protocol_and_no_bytes_break_the_check(data):
    assert protocols.wrong_protocol(b"\xff" + data) is None
    protocols.wrong_protocol(data)


@pytest.mark.parametrize(
    ("first", "protocol"),
    [
        (b"GET /a/very/long/path/that/has", "HTTP"),
        (b"POST http://example.org/ HTTP/1.1\r\n", "HTTP"),
        (b"FROB / HTTP/1.1\r\n", "HTTP"),
        (b"GET /\r\n", "HTTP"),
        (b"OPTIONS sip:nm SIP/2.0\r\n", "SIP"),
        (b"\x05\x01\x00", "SOCKS"),
        (b"\x03\x00\x00\x13\x0e\xe0\x00\x00", "RDP"),
        (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", "PostgreSQL"),
        (b"<?xml version='1.0'?>", "XMPP"),
        (b"HELO mail.example.org\r\n", "SMTP"),
        (b"helo mail.example.org\r\n", "SMTP"),
        (b"HELO x\r\n", "SMTP"),
        (b"ehlo localhost\r\n", "SMTP"),
        (b"mail from:<a@example.org>\r\n", "SMTP"),
        (b"get / http/1.1\r\n", "HTTP"),
        (b"get /\r\n", "HTTP"),
        (b"FOO /" + b"a" * 4000 + b" HTTP/1.1\r\n", "HTTP"),
        (b"$~1! /a b c HTTP/1.0\r\n", "HTTP"),
        (b"\r\n\n  \r\nGET / HTTP/1.1\r\n", "HTTP"),
        (b"\r\0GET / HTTP/1.1\r\n", "HTTP"),
        (b"options rtsp://x rtsp/1.0\r\n", "RTSP"),
        (b"proxy tcp4 1.2.3.4 5.6.7.8 1 2\r\n", "PROXY"),
    ],
)
def test_more_strangers_are_known(first, protocol):
    assert protocols.wrong_protocol(first) == protocol


@pytest.mark.parametrize(
    ("first", "kept"),
    [
        (b"", b""),
        (b"An", b"An"),
        (b"Anna\r", None),
        (b"Anna\nGET", None),
        (b"\r\n\r\n", b"\r\n\r\n"),  # PROXY's header may come yet
        (b"\r\n\r\n\r", b"\n"),
        (b"\n" * 4096, b"\n"),
        (b"\n \nGE", b"\nGE"),
        (b"\nGE\n", None),
        (b"\xff\xf1", None),  # a client that only keeps the connection alive
        (b"\n\xff\xf1", None),
    ],
)
def test_until_a_line_that_is_not_empty_has_ended_little_is_kept_to_judge(first, kept):
    assert protocols.still_to_judge(first) == kept


@pytest.mark.parametrize("before", [b"", b"\r\n" * 3000])
@pytest.mark.parametrize("end", [b"\r", b"\n"])
def test_a_first_line_longer_than_any_that_could_be_taken_is_no_persons(before, end):
    assert not protocols.is_no_persons(before + b"x" * wire.MOST_LINE_BYTES + end + b"y" * 9000)
    assert protocols.is_no_persons(before + b"x" * (wire.MOST_LINE_BYTES + 1) + end)
    assert protocols.is_no_persons(before + b"x" * (wire.MOST_LINE_BYTES + 1))


def test_no_printable_character_is_lost_without_need():
    kept = [chr(code) for code in range(0x20, 0x3000) if chr(code).isprintable()]
    lost = [char for char in kept if wire.neutralise("x" + char) != "x" + char]
    assert all(unicodedata.category(char) in ("Mn", "Lo", "So") for char in lost)
    assert len(lost) < 12


def test_letters_that_debians_telnet_takes_for_control_keys_are_put_together_again() -> None:
    typed = {
        "\u00c3": b"\xc3\xff\xf4\xff\xfd\x06",
        "\u00cf": b"\xc3\xff\xf5\xff\xfd\x06",
        "\u00da": b"\xc3\xff\xed\xff\xfd\x06",
        "\u00dc": b"\xc3\xff\xf3\xff\xfd\x06",
        "\u2713": b"\xe2\xff\xf3\xff\xfd\x06\x93",
    }
    for letter, arrives in typed.items():
        assert only_lines([b"a" + arrives + b"b\r\n"]) == [f"a{letter}b"]


def test_the_same_keys_interrupt_where_no_letter_is_cut() -> None:
    decoder = Decoder()
    assert decoder.feed("\u00fcb".encode() + b"\xff\xf4c\n") == [Signal.INTERRUPT, "c"]
