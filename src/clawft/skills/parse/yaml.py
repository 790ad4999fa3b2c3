"""Safe YAML: a fast reader for simple texts, the full parser, and recovery of what is nearly YAML."""

import re
from typing import Any

import ryaml
from msgspec import DecodeError, Struct, json

from clawft.errors import Edit
from clawft.skills.parse.diagnostics import DiagnosticCollector, quote_yaml
from clawft.skills.parse.fields import KEYS

_MAX_BRACKETS = 64  # more may be nested too deep
_MAX_JSON = 1024  # YAML refuses longer keys; what is no longer as a whole has none
_LONG_NUMBER, _TO_ZERO = b"0" * 16, bytes.maketrans(b"123456789", b"000000000")
_KEY = re.compile(r"[a-z][\w-]{0,63}", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[0-9a-fxo.+-]+", re.IGNORECASE)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL")),
}


def read_plain(source: str) -> dict[str, Any] | None:
    """The mapping that a YAML text holds, or None when only a YAML parser could tell."""
    if ("[" in source or "{" in source) and source.count("[") + source.count("{") > _MAX_BRACKETS:
        return None
    fields: dict[str, Any] = {}
    for line in source.removesuffix("\n").split("\n"):
        key, _, text = line.partition(": ")
        if key in fields or not (key in KEYS or _is_key(key)) or not text.isprintable():
            return None
        if ":" in text or "#" in text or not text[:1].isalpha() or text[-1] == " " or text in _WORDS:
            value = _read_odd(text.strip(" "))
            if value is None:
                return None
            fields[key] = value
        else:
            fields[key] = text  # a text without quotes is taken as written
    return fields


def _is_key(key: str) -> bool:
    return key not in _WORDS and _KEY.fullmatch(key) is not None


def _read_odd(text: str) -> Any:
    """A value with something to it: quotes, JSON, a number, a comment. None where it takes more to tell."""
    first = text[:1]
    if first == "{" or first == "[":
        return _read_json(text)
    if first == '"' or first == "'":
        inner = text[1:-1]
        return inner if text[-1] == first and len(text) > 1 and first not in inner and "\\" not in inner else None
    if not first.isalnum() or ": " in text or " #" in text or text[-1] == ":":
        return None
    if first.isdigit() and text.count(".") < 2 and _NUMBER.fullmatch(text):
        return None
    return _WORDS.get(text, text)


def _read_json(text: str) -> Any:
    """JSON is YAML but for odd numbers, escapes and keys that stand twice, which do not come back as written."""
    try:
        value = json.decode(text)
    except DecodeError:
        return None
    written = text.encode()
    same = json.encode(value).replace(b" ", b"") == written.replace(b" ", b"")
    long = len(text) > _MAX_JSON or written.translate(_TO_ZERO).find(_LONG_NUMBER) >= 0
    return value if same and not long else None


MAX_DEPTH = 64  # also keeps hostile nesting away from the parser, which needs quadratic time for it
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


def load_yaml(source: str, notes: DiagnosticCollector) -> tuple[Any, str]:
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
    if "&" in text and len(_ALIAS.findall(text)) > _MAX_ALIASES:  # each may expand to as much as the file holds
        raise ValueError(f"more than {_MAX_ALIASES} aliases")
    return ryaml.loads(text)


def _depth(text: str) -> int:
    """Count how deep brackets nest. Quoted ones count too, which is too careful only where a text holds many."""
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _relocate(complaint: str, first_line: int) -> str:
    """YAML counts lines from its own start; the reader counts them from the top of the file."""
    return _LINE.sub(lambda match: f"line {int(match[1]) + first_line - 1}", complaint)


def _recover(lines: list[_Line], indent: int, notes: DiagnosticCollector, depth: int) -> dict[str, Any]:
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


def _chunks(lines: list[_Line], indent: int, notes: DiagnosticCollector) -> list[list[_Line]]:
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


def _value(chunk: _Chunk, notes: DiagnosticCollector, depth: int) -> Any:
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


def _plain(chunk: _Chunk, notes: DiagnosticCollector) -> str:
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


def _comment_out(lines: list[_Line], notes: DiagnosticCollector) -> tuple[Edit, ...]:
    return tuple(
        Edit(notes.start + line.offset, notes.start + line.offset, "# ") for line in lines if line.text.strip()
    )
