"""Safe YAML, and the recovery of what is nearly YAML (D3).

A whole document is tried first. When it fails it is read key by key: a value that YAML refuses is taken as the
text it plainly is, and every such guess is a diagnostic with the edit that would make it certain.
"""

import re
from typing import Any

import ryaml
from msgspec import Struct

from clawft.errors import Edit
from clawft.format.notes import Notes, quote_yaml
from clawft.format.plain import read_plain

__all__ = ["load_yaml"]

MAX_DEPTH = 64  # R111; also keeps hostile nesting away from the parser, which needs quadratic time for it
_MAX_ALIASES = 32
_ALIAS = re.compile(r"(?<!\w)\*\w")
_MAX_BLOCKS = 8
_MAX_KEY = 200
_NAME = re.compile(r"[A-Za-z_][\w .$/-]*")
_BRACKET = re.compile(r"[\[{]|[\]}]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_LINE = re.compile(r"line (\d+)")


class _Line(Struct, frozen=True, gc=False):
    offset: int
    number: int
    text: str


def load_yaml(source: str, notes: Notes) -> tuple[Any, str]:
    """The value of a YAML text and, when it had to be recovered, YAML's own complaint."""
    plain = read_plain(source)
    if plain is not None:
        return plain, ""
    try:
        return _parse(source), ""
    except ValueError as error:
        complaint = str(error)
    lines, offset = [], 0
    for number, text in enumerate(source.split("\n")):
        lines.append(_Line(offset, number, text))
        offset += len(text) + 1
    indent = len(source) - len(source.lstrip(" "))
    return _recover(lines, indent, notes, 0), _relocate(complaint, notes.first_line)


def _parse(text: str) -> Any:
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if "&" in text and len(_ALIAS.findall(text)) > _MAX_ALIASES:  # each may stand for as much as the file holds
        raise ValueError(f"more than {_MAX_ALIASES} aliases")
    return ryaml.loads(text)


def _depth(text: str) -> int:
    """How deep brackets nest. Quoted ones count too: too careful only where a text holds many."""
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _relocate(complaint: str, first_line: int) -> str:
    """YAML counts lines from its own start; the reader counts them from the top of the file."""
    return _LINE.sub(lambda match: f"line {int(match[1]) + first_line - 1}", complaint)


def _recover(lines: list[_Line], indent: int, notes: Notes, depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for chunk in _chunks(lines, indent, notes):
        key, value_at = _split_key(chunk[0].text[indent:])
        if key in result:
            notes.add(
                "duplicate-key",
                "warning",
                f"'{key}' stands twice; the first one counts",
                line=notes.first_line + chunk[0].number,
                hint="Remove one of them",
                fix=_comment_out(chunk, notes),
            )
            continue
        result[key] = _value(_Chunk(key, chunk, indent, indent + value_at), notes, depth)
    return result


def _split_key(content: str) -> tuple[str, int]:
    """The key that a line starts with, and where its value begins; no key gives ''."""
    if content[:1] in ("'", '"'):
        name, _, rest = content[1:].partition(content[0])
        at = len(content) - len(rest) + len(rest) - len(rest.lstrip(" \t"))
        key = name if rest.lstrip(" \t").startswith(":") else ""
    else:
        name = content.partition(":")[0]
        at = len(name)
        key = name.rstrip() if at < len(content) and len(name) <= _MAX_KEY and _NAME.fullmatch(name) else ""
    after = content[at + 1 :]
    if not key or after[:1].strip():
        return "", 0
    return key, len(content) - len(after.lstrip(" \t"))


def _chunks(lines: list[_Line], indent: int, notes: Notes) -> list[list[_Line]]:
    """Group lines into keys with what belongs to them; a line that belongs nowhere is said and left out."""
    chunks: list[list[_Line]] = []
    for line in lines:
        content = line.text[indent:]
        if not line.text[:indent].strip() and _split_key(content)[0]:
            chunks.append([line])
        elif not content.strip() or content.startswith("#"):
            if chunks and (not content.strip()):
                chunks[-1].append(line)
        elif chunks and content[0] in " \t-}]":
            chunks[-1].append(line)
        else:
            notes.add(
                "yaml-stray-line",
                "warning",
                f"This line belongs to no key and was left out: {content.strip()[:60]}",
                line=notes.first_line + line.number,
                hint="Remove it, or indent it under its key",
                fix=_comment_out([line], notes),
            )
    return chunks


class _Chunk(Struct, frozen=True):
    """A key with all lines that belong to it; `value_at` is where the value begins on the first of them."""

    key: str
    lines: list[_Line]
    indent: int
    value_at: int


def _value(chunk: _Chunk, notes: Notes, depth: int) -> Any:
    text = "\n".join(line.text[chunk.indent :] for line in chunk.lines)
    try:
        parsed = read_plain(text) or _parse(text)
        if isinstance(parsed, dict) and len(parsed) == 1:
            return next(iter(parsed.values()))
    except ValueError:
        pass
    rest = [line for line in chunk.lines[1:] if line.text.strip()]
    inline = chunk.lines[0].text[chunk.value_at :].strip()
    if not inline and rest and depth < _MAX_BLOCKS and not rest[0].text.lstrip().startswith("-"):
        inner = min(len(line.text) - len(line.text.lstrip()) for line in rest)
        if inner > chunk.indent:
            return _recover(rest, inner, notes, depth + 1)
    return _plain(chunk, notes)


def _plain(chunk: _Chunk, notes: Notes) -> str:
    """Take a value as plain text: what stands after the colon, with its lines joined."""
    first, start = chunk.lines[0], chunk.value_at
    words = [first.text[start:].strip(), *(line.text.strip() for line in chunk.lines[1:])]
    if words[0][:1] in ("|", ">"):
        words[0] = ""
    value = " ".join(word for word in words if word)
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    elif value[:1] in ("'", '"') and value.count(value[0]) == 1:  # opened and never closed
        value = value[1:]
    value = _CONTROL.sub("", value).strip()
    last = [line for line in chunk.lines if line.text.strip()][-1]
    gap = "" if first.text[:start].endswith((" ", "\t")) else " "
    end = notes.start + last.offset + len(last.text)
    edit = Edit(notes.start + first.offset + start, end, gap + quote_yaml(value))
    notes.add(
        "yaml-unquoted",
        "warning",
        f"The value of '{chunk.key}' is not valid YAML; it was read as plain text",
        line=notes.first_line + first.number,
        hint="Put the value in quotes",
        fix=(edit,),
    )
    return value


def _comment_out(lines: list[_Line], notes: Notes) -> tuple[Edit, ...]:
    return tuple(
        Edit(notes.start + line.offset, notes.start + line.offset, "# ") for line in lines if line.text.strip()
    )
