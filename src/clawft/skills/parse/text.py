"""The text of a file: decode it, find its frontmatter and first paragraph, and read TOML in bounded time."""

import re
from typing import Any

from msgspec import Struct

from clawft.errors import Diagnostic, Edit, MissingFrontmatter, Unreadable

REENCODE = (Edit(0, 0, ""),)  # the fix for an encoding: write the same text again, as UTF-8

_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_NUL, _CR = 0, 13  # as numbers: Python looks for a byte twice as fast as for bytes
_MARKS = (*_UTF16, b"\xef\xbb\xbf")


class DecodedSource(Struct, frozen=True, gc=False):
    """A text with `\\n` line ends, and how it was written."""

    text: str
    crlf: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


def decode_text(data: bytes, path: str) -> DecodedSource:
    """Decode a file that should be UTF-8. Raises: Unreadable when it holds NUL bytes, so is not text."""
    if _NUL not in data and _CR not in data and not data.startswith(_MARKS):
        try:
            return DecodedSource(data.decode())
        except UnicodeDecodeError:
            pass
    return _decode_odd(data, path)


def encode_text(text: str, *, crlf: bool) -> bytes:
    """The bytes to write back: UTF-8 without a mark, with the line ends the file had."""
    return (text.replace("\n", "\r\n") if crlf else text).encode("utf-8", errors="replace")


def _decode_odd(data: bytes, path: str) -> DecodedSource:
    found: list[Diagnostic] = []
    encoding = _UTF16.get(data[:2])
    if encoding:
        found.append(
            Diagnostic(
                "utf-16",
                "warning",
                "The file is UTF-16; other clients expect UTF-8",
                path,
                1,
                "Save it as UTF-8",
                REENCODE,
            )
        )
        data = data[2:].decode(encoding, errors="replace").encode("utf-8", errors="replace")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise Unreadable(
            "not-text",
            "The file holds a NUL byte: it is not text",
            path=path,
            line=line,
            hint="Save it as plain UTF-8 text",
        )
    crlf = b"\r" in data
    if crlf:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        found.append(Diagnostic("crlf", "note", "Lines end in CR LF", path, 1))
    return DecodedSource(_decode_utf8(data, path, found), crlf, tuple(found))


def _decode_utf8(data: bytes, path: str, found: list[Diagnostic]) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        found.append(
            Diagnostic(
                "bom",
                "note",
                "The file starts with a byte order mark",
                path,
                1,
                "Save it as UTF-8 without BOM",
                REENCODE,
            )
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found.append(
            Diagnostic(
                "invalid-utf8",
                "warning",
                "The file is not valid UTF-8; unreadable bytes became \ufffd",
                path,
                line,
                "Save it as UTF-8",
            )
        )
        return data.decode("utf-8", errors="replace")


_OPEN = re.compile(r"\s*^---[ \t]*\n", re.MULTILINE)
_CLOSE = re.compile(r"\n---[ \t]*(?:\n\s*|\Z)")
_YAML_LINE = re.compile(r"[ \t#-]|[A-Za-z_][\w.-]*[ \t]*:(?:[ \t]|$)|$")


class Frontmatter(Struct, frozen=True, gc=False):
    """The positions of the YAML and of the first word of the body. `start` is 0 unless blank lines come first."""

    yaml: str
    yaml_start: int
    body_start: int
    start: int = 0


def split_frontmatter(text: str, path: str, label: str) -> Frontmatter | None:
    """Find the frontmatter; None where there is none. Raises: MissingFrontmatter when it never ends."""
    opening = _OPEN.match(text)
    if opening is None:
        return None
    yaml_start = opening.end()
    closing = _CLOSE.search(text, yaml_start - 1)
    if closing is None:
        raise _unterminated(text, yaml_start, path, label)
    start = text.index("---")
    return Frontmatter(text[yaml_start : closing.start() + 1], yaml_start, closing.end(), start)


def _unterminated(text: str, yaml_start: int, path: str, label: str) -> MissingFrontmatter:
    """The error for a frontmatter without end, with the place where the end most likely belongs."""
    offset, line = yaml_start, text.count("\n", 0, yaml_start)
    for content in text[yaml_start:].split("\n"):
        if not content.strip() or not _YAML_LINE.match(content) or content.startswith("# "):
            break
        offset, line = offset + len(content) + 1, line + 1
    if offset > len(text):  # the last line has no end
        fix: tuple[Edit, ...] = (Edit(len(text), len(text), "\n---\n"),)
    else:
        fix = (Edit(offset, offset, "---\n"),) if offset > yaml_start else ()
    return MissingFrontmatter(
        "frontmatter-unterminated",
        f"{label}: the frontmatter opens with '---' but no later line is '---' alone",
        path=path,
        line=text.count("\n", 0, text.index("---")) + 1,
        hint=f"End it with a line '---', most likely after line {line}" if fix else "End it with a line '---'",
        fix=fix,
    )


MAX_PARAGRAPH = 200
_MAX_CHARS, _MAX_LINES = 20_000, 60  # a description is at the top or nowhere
_SKIP = re.compile(r"#|!\[|\[!\[|<!--|---+$|\*\*\*+$|===+$|\|")


def first_paragraph(body: str) -> str:
    """Return the first paragraph that is prose, its lines joined, at most 200 characters; else the first heading."""
    paragraph: list[str] = []
    heading, fenced = "", False
    for raw in body[:_MAX_CHARS].split("\n", _MAX_LINES)[:_MAX_LINES]:
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
            line = ""
        elif fenced:
            continue
        if not line or _SKIP.match(line):
            if paragraph:
                break
            if line.startswith("#") and not heading:
                heading = line.lstrip("#").strip()
            continue
        paragraph.append(line)
    return (" ".join(paragraph) or heading)[:MAX_PARAGRAPH].strip()


def truncate_utf8(text: str, max_bytes: int) -> str:
    """Return the longest start of a text that fits, ending on a character boundary."""
    if len(text) * 4 <= max_bytes:
        return text
    encoded = text.encode("utf-8", errors="replace")
    return text if len(encoded) <= max_bytes else encoded[:max_bytes].decode("utf-8", errors="ignore")


MAX_PARTS = 16
# The square of the parts of a key is what the standard library takes for it: hours, for one that fills a file.
_LONG_KEY = re.compile(
    r"""(?<![\w"'-])(?:(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*\.[ \t]*){%d}""" % MAX_PARTS  # noqa: UP031
)


def read_toml(text: str) -> dict[str, Any]:
    """The table of a text. Raises: ValueError, RecursionError."""
    import tomllib  # seldom needed

    if _LONG_KEY.search(text):
        raise ValueError(f"A key of more than {MAX_PARTS} parts is not read")
    return tomllib.loads(text)
