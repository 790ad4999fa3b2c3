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
_KEY = re.compile(r"([A-Za-z_][\w .$/-]*?|\"[^\"\n]*\"|'[^'\n]*')[ \t]*:(?:[ \t]+(.*))?$")
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
    return _recover(lines, 0, notes, 0), _relocate(complaint, notes.first_line)


def _parse(text: str) -> Any:
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
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
        match = _KEY.match(chunk[0].text[indent:])
        assert match is not None, "a chunk starts with a key"
        key = match[1].strip("'\"")
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
        result[key] = _value(chunk, indent, key, match[2] or "", notes, depth)
    return result


def _chunks(lines: list[_Line], indent: int, notes: Notes) -> list[list[_Line]]:
    """Group lines into keys with what belongs to them; a line that belongs nowhere is said and left out."""
    chunks: list[list[_Line]] = []
    for line in lines:
        content = line.text[indent:]
        if line.text[:indent].strip() == "" and _KEY.match(content):
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


def _value(chunk: list[_Line], indent: int, key: str, first: str, notes: Notes, depth: int) -> Any:
    text = "\n".join(line.text[indent:] for line in chunk)
    try:
        parsed = read_plain(text) or _parse(text)
        if isinstance(parsed, dict) and len(parsed) == 1:
            return next(iter(parsed.values()))
    except ValueError:
        pass
    rest = [line for line in chunk[1:] if line.text.strip()]
    if not first.strip() and rest and depth < 8 and not rest[0].text.lstrip().startswith("-"):
        inner = min(len(line.text) - len(line.text.lstrip()) for line in rest)
        if inner > indent:
            return _recover(rest, inner, notes, depth + 1)
    return _plain(chunk, indent, key, notes)


def _plain(chunk: list[_Line], indent: int, key: str, notes: Notes) -> str:
    """Take a value as plain text: what stands after the colon, with its lines joined."""
    head = chunk[0].text
    start = indent + re.match(r"[^:]*:[ \t]*", head[indent:]).end()  # type: ignore[union-attr]
    words = [head[start:].strip(), *(line.text.strip() for line in chunk[1:])]
    if words[0][:1] in ("|", ">"):
        words[0] = ""
    value = " ".join(word for word in words if word)
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    value = _CONTROL.sub("", value).strip()
    last = [line for line in chunk if line.text.strip()][-1]
    gap = "" if head[:start].endswith((" ", "\t")) else " "
    edit = Edit(
        notes.start + chunk[0].offset + start, notes.start + last.offset + len(last.text), gap + quote_yaml(value)
    )
    notes.add(
        "yaml-unquoted",
        "warning",
        f"The value of '{key}' is not valid YAML; it was read as plain text",
        line=notes.first_line + chunk[0].number,
        hint="Put the value in quotes",
        fix=(edit,),
    )
    return value


def _comment_out(lines: list[_Line], notes: Notes) -> tuple[Edit, ...]:
    return tuple(
        Edit(notes.start + line.offset, notes.start + line.offset, "# ") for line in lines if line.text.strip()
    )
