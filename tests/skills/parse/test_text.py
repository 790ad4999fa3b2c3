"""Bytes to text and back: marks, line ends, broken encodings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import Unreadable
from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.parse.text import decode_text, encode_text


@pytest.mark.parametrize(
    ("data", "text", "crlf", "said"),
    [
        (b"a\nb", "a\nb", False, []),
        (b"", "", False, []),
        ("é🎉".encode(), "é🎉", False, []),
        (b"a\r\nb\r\n", "a\nb\n", True, [("crlf", 1)]),
        (b"a\rb", "a\nb", True, [("crlf", 1)]),
        (b"\xef\xbb\xbfa", "a", False, [("bom", 1)]),
        (b"\xef\xbb\xbfa\r\n", "a\n", True, [("crlf", 1), ("bom", 1)]),
        ("a\né".encode("utf-16"), "a\né", False, [("utf-16", 1)]),
        (b"\xfe\xff" + "a\r\nb".encode("utf-16-be"), "a\nb", True, [("utf-16", 1), ("crlf", 1)]),
        (b"a\nb\n\xffc", "a\nb\n\ufffdc", False, [("invalid-utf8", 3)]),
        (b"caf\xe9", "caf\ufffd", False, [("invalid-utf8", 1)]),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd", False, [("invalid-utf8", 1)]),
    ],
)
def test_bytes_of_every_kind(data: bytes, text: str, crlf: bool, said: list[tuple[str, int]]) -> None:
    decoded = decode_text(data, "p")
    assert (decoded.text, decoded.crlf) == (text, crlf)
    assert [(found.code, found.line) for found in decoded.diagnostics] == said


@pytest.mark.parametrize(
    ("data", "line"), [(b"\0", 1), (b"a\nb\n\0", 3), (b"\xff\xfea\0\0\0", 1), (b"PK\x03\x04\n\0", 2)]
)
def test_nul_byte_is_no_text(data: bytes, line: int) -> None:
    with pytest.raises(Unreadable) as caught:
        decode_text(data, "p")
    assert (caught.value.code, caught.value.diagnostic.where) == ("not-text", f"p:{line}")


@given(st.binary(max_size=200).filter(lambda data: b"\0" not in data and data[:2] not in (b"\xff\xfe", b"\xfe\xff")))
def test_any_bytes_without_nul_decode(data: bytes) -> None:
    text = decode_text(data, "p").text
    assert "\r" not in text
    text.encode()  # holds no lone surrogates


@given(st.binary(max_size=60), st.sampled_from([b"\xff\xfe", b"\xfe\xff"]))
def test_any_bytes_after_a_utf16_mark_decode_or_are_refused(data: bytes, mark: bytes) -> None:
    try:
        text = decode_text(mark + data, "p").text
    except Unreadable:
        text = ""
    text.encode()  # holds no lone surrogates


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\0\ufeff")), st.booleans())
def test_what_is_encoded_decodes_to_itself(text: str, crlf: bool) -> None:
    decoded = decode_text(encode_text(text, crlf=crlf), "p")
    assert decoded.text == text
    assert decoded.crlf == (crlf and "\n" in text)


def test_skill_with_windows_line_ends_and_a_mark_reads_like_any_other() -> None:
    data = b"\xef\xbb\xbf---\r\nname: a\r\ndescription: d\r\n---\r\nOne\r\nTwo\r\n"
    skill = parse_skill_md(decode_text(data, "p").text, "a")
    assert (skill.name, skill.prompt, skill.diagnostics) == ("a", "One\nTwo", ())
