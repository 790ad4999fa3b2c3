"""Text files as they come: which encoding they are in, and how to write them back unchanged."""

import codecs

from msgspec import Struct

from clawft.tools.tool import ToolError

__all__ = ["Decoded", "decode", "encode"]

_LOOK_AT = 8192
# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Decoded(Struct, frozen=True):
    """A text, and what is needed to write it back: its encoding and the mark at its start."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """How most of its lines end."""
        return "\r\n" if 2 * self.text.count("\r\n") > self.text.count("\n") else "\n"


def decode(raw: bytes) -> Decoded | None:
    """The text of a file; None if it is none. What is neither marked nor UTF-8 is taken as Latin-1."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _try(raw[len(mark) :], encoding, mark)
    if b"\0" in raw[:_LOOK_AT]:
        return None
    return _try(raw, "utf-8", b"") or Decoded(raw.decode("latin-1"), "latin-1")


def encode(text: str, like: Decoded) -> bytes:
    """A text in the encoding of the file it goes to.

    Raises: ToolError.
    """
    try:
        return like.mark + text.encode(like.encoding)
    except UnicodeEncodeError as error:
        raise ToolError("INVALID_PARAM", f"The text has characters that {like.encoding} cannot hold") from error


def _try(raw: bytes, encoding: str, mark: bytes) -> Decoded | None:
    try:
        return Decoded(raw.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        return None
