"""Fill in a template in one pass, so that what is filled in is never interpreted again, and wrap attached files."""

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.skills.render.code import is_code

Span = tuple[int, int, str | None]  # a part of a template, and what it becomes; None: it stays as it is written

MAX_FILLED = 4_000_000
_MAX_QUOTED = 100_000  # a shell's quoting is looked at in arguments up to this long; a pasted document has none
_SESSION = frozenset({"SESSION_ID", "CLAUDE_SESSION_ID"})
_FOLDERS = {"CLAUDE_SKILL_DIR": "skill_dir", "CLAUDE_PROJECT_DIR": "project_dir"}
# Starts with its only two first characters, so that plain text is skipped at full speed.
_TOKEN = re.compile(
    r"[${](?:"
    r"(?<=\$)(?:"
    r"ARGUMENTS\[(?P<index>[0-9]+)\]"
    r"|(?P<all>ARGUMENTS)(?![A-Za-z0-9_])"
    r"|\{(?P<shorthand>[0-9]+)\}"
    r"|(?P<number>[1-9][0-9]?)(?![0-9]|[.,][0-9])"
    r"|\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}"
    r"|(?P<bare>[A-Za-z_][A-Za-z0-9_-]{0,99})"
    r")|(?<=\{)(?:"
    r"\{[ \t]*(?P<variable>[A-Za-z_][A-Za-z0-9_-]*)[ \t]*\}\}"
    r"|(?P<base>baseDir)\}"
    r"))"
)


class PromptArguments(Struct, frozen=True):
    """The arguments after a skill's name: the text as typed, and its words as a shell would split them."""

    raw: str = ""
    words: tuple[str, ...] = ()


class TemplateVariables(Struct, frozen=True):
    """The values that a template may use in addition to its arguments. `names` are the skill's named arguments, in
    order.

    Where `numbered`, as in Claude's own files, `$1` is the first argument, but not in code; else it stays as it is.
    """

    session_id: str = ""
    skill_dir: str = ""
    project_dir: str = ""
    names: tuple[str, ...] = ()
    numbered: bool = False


def split_arguments(raw: str) -> PromptArguments:
    """Split a line of arguments by the rules of a shell; unbalanced quotes fall back to white space."""
    try:
        words = shlex.split(raw) if len(raw) <= _MAX_QUOTED else raw.split()
    except ValueError:
        words = raw.split()
    return PromptArguments(raw.strip(), tuple(words))


def join_arguments(words: Sequence[str]) -> PromptArguments:
    """Arguments that a shell has already split: the raw text is their plain join."""
    return PromptArguments(" ".join(words), tuple(words))


def render_template(
    template: str,
    arguments: Sequence[str] | PromptArguments,
    session_id: str = "",
    variables: TemplateVariables | None = None,
    spans: Sequence[Span] = (),
) -> str:
    """Render a template with its arguments; they are appended if it has no place for them.

    The `spans`, in order, are replaced by their values, or stay as they are written. The values are not expanded again.
    Raises: ClawftError when it would become enormous.
    """
    parsed = arguments if isinstance(arguments, PromptArguments) else join_arguments(arguments)
    known = variables or TemplateVariables(session_id=session_id)
    text, placed = _fill_in(template, parsed, known, spans)
    return text if placed or not parsed.raw else f"{text}\n\nARGUMENTS: {parsed.raw}"


def fill_in(text: str, arguments: PromptArguments, known: TemplateVariables) -> str:
    """A text with its tokens replaced, and nothing appended."""
    return _fill_in(text, arguments, known, ())[0]


def find_token(text: str, at: int, arguments: PromptArguments, known: TemplateVariables) -> tuple[int, str] | None:
    """Find the token that begins here and return its end and its value; None where none begins."""
    match = _TOKEN.match(text, at)
    found = _look_up(match, arguments, known, _places(known.names)) if match else None
    return (match.end(), found[0]) if match and found else None


def _fill_in(
    template: str, arguments: PromptArguments, known: TemplateVariables, spans: Sequence[Span]
) -> tuple[str, bool]:
    """The template with its tokens replaced, and whether one of them was a place for arguments."""
    parts: list[str] = []
    position, placed, size, span = 0, False, 0, 0
    places = _places(known.names)
    for match in _TOKEN.finditer(template):
        start = match.start()
        while span < len(spans) and spans[span][1] <= start:
            position = _splice(parts, template, position, spans[span])
            span += 1
        inside = span < len(spans) and spans[span][0] <= start
        found = None if inside and spans[span][2] is None else _look_up(match, arguments, known, places)
        if match["number"] and not inside and known.numbered and is_code(template, start):
            found = None
        if found is None:
            continue
        if inside:  # its value is in what the span becomes
            placed = placed or (found[1] and not _is_escaped(template, start))
            continue
        if _is_escaped(template, start):  # the backslash goes, the token stays
            parts.append(template[position : start - 1])
            position = start
            continue
        value, is_argument = found
        size += len(value)
        if size > MAX_FILLED:
            raise ClawftError("prompt-too-large", f"The arguments would fill more than {MAX_FILLED} characters")
        parts += (template[position:start], value)
        position, placed = match.end(), placed or is_argument
    for remaining_span in spans[span:]:
        position = _splice(parts, template, position, remaining_span)
    return "".join((*parts, template[position:])), placed


def _splice(parts: list[str], template: str, position: int, span: Span) -> int:
    """Put in place what a span becomes; where the template goes on."""
    start, end, text = span
    if text is None:
        return position
    parts += (template[position:start], text)
    return end


@lru_cache(maxsize=8)
def _places(names: tuple[str, ...]) -> dict[str, int]:
    """Map each named argument to its position; the first of a name counts."""
    return {name: index for index, name in reversed(list(enumerate(names)))}


def _is_escaped(template: str, start: int) -> bool:
    """Return whether just one backslash stands before a token; two or more are no escape."""
    return template[start - 1 : start] == "\\" and template[start - 2 : start - 1] != "\\"


def _look_up(
    match: re.Match[str], arguments: PromptArguments, known: TemplateVariables, places: dict[str, int]
) -> tuple[str, bool] | None:
    """Look up the value of a token and whether it is an argument; None for an unknown token, which stays as written."""
    kind = match.lastgroup
    name = match[kind] if kind else ""
    if kind == "all":
        return arguments.raw, True
    if kind in ("index", "shorthand"):
        return _word(arguments, int(name) if len(name) < 9 else len(arguments.words)), True
    if kind == "number":
        return _numbered(int(name), arguments) if known.numbered else None
    if kind == "base":
        return (known.skill_dir, False) if known.skill_dir else None
    if kind in ("braced", "bare") and name in _SESSION and (kind == "braced" or name == "SESSION_ID"):
        return known.session_id, False
    if kind == "braced" and name in _FOLDERS:
        folder: str = getattr(known, _FOLDERS[name])
        return (folder, False) if folder else None
    rest = ""
    while kind == "bare" and name not in places and "-" in name:  # `$topic-based` asks for `topic`
        name, hyphen, tail = name.rpartition("-")
        rest = hyphen + tail + rest
    if kind in ("bare", "braced", "variable") and name in places:
        return _word(arguments, places[name]) + rest, True
    return None


def _numbered(number: int, arguments: PromptArguments) -> tuple[str, bool]:
    """`$1` as Claude fills it in; a number that no argument has stays: it may be a price."""
    there = number <= len(arguments.words)
    return (arguments.words[number - 1], True) if there else (f"${number}", False)


def _word(arguments: PromptArguments, index: int) -> str:
    return arguments.words[index] if index < len(arguments.words) else ""


def extract_variables(template: str, names: tuple[str, ...] = (), *, numbered: bool = False) -> list[str]:
    """List the variables that a template uses, each once: `ARGUMENTS`, `ARGUMENTS[0]`, `1`, `SESSION_ID`, named
    arguments …"""
    anything = TemplateVariables("-", "-", "-", names, numbered)
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(template):
        kind = match.lastgroup
        known = kind and _look_up(match, PromptArguments(), anything, _places(names)) is not None
        if known and not _is_escaped(template, match.start()):
            found[f"ARGUMENTS[{match['index']}]" if kind == "index" else match[str(kind)]] = None
    return list(found)


def wrap_file(path: str, text: str, max_chars: int) -> str:
    """A file's text, whole or its beginning; nothing in it can end the wrapper."""
    body = text.replace("</file>", "<\\/file>")
    if len(body) > max_chars:
        body = f"{body[:max_chars]}\n[the rest of {len(body)} characters is left out; read_file reads it]"
    name = re.sub(r'[<>"\n]', "_", path)
    return f'<file path="{name}">\n{body}\n</file>'
