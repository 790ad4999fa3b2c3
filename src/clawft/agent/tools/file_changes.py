"""The tool `edit_file`: replace exact text in a file, all of the edits or none.

Line ends and encoding stay as they are: in a file of Windows lines a plain newline means one of those.

An edit may not be made twice: many add to a text that they leave in place, and would add again. Whether one that a
crash cut short was made is told by what it kept of the file, else by the texts that are there.
"""

import re
from difflib import get_close_matches
from typing import Annotated

from anyio import to_thread
from msgspec import Meta, Struct, structs

from clawft.tools.beneath import read_file_at
from clawft.tools.encoding import decode, encode
from clawft.tools.paths import resolve_inside, show_path
from clawft.tools.spill import find_kept
from clawft.tools.tool import Checked, Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.tools.write_file import MAX_WRITE_BYTES, replace_file

__all__ = ["edit_file_tool"]

_DESCRIPTION = """\
Replace text in a file of the project. `old_string` must be in the file exactly as given, with its indentation and
without the line numbers that read_file shows, and only once unless `replace_all`. Several edits of one file go into
`edits`; they are made in order, and either all of them or none."""
_NUMBERED = re.compile(r"\s*\d+\t")
_SEARCHED_LINES = 20_000
_MAX_LINE = 300


class Replacement(Struct, frozen=True, forbid_unknown_fields=True):
    """One edit."""

    old_string: Annotated[str, Meta(description="The text to be replaced.")]
    new_string: Annotated[str, Meta(description="The text to stand there instead.")]
    replace_all: Annotated[bool, Meta(description="Replace it wherever it stands.")] = False


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file, relative to the current folder or absolute.")]
    old_string: Annotated[str, Meta(description="The text to be replaced.")] = ""
    new_string: Annotated[str, Meta(description="The text to stand there instead.")] = ""
    replace_all: Annotated[bool, Meta(description="Replace it wherever it stands.")] = False
    edits: Annotated[tuple[Replacement, ...], Meta(description="Several edits, instead of one.", max_length=200)] = ()


def edit_file_tool() -> Tool:
    return structs.replace(define_tool("edit_file", _DESCRIPTION, Arguments, _run), check=_check)


async def _run(arguments: Arguments, context: ToolContext) -> ToolResult:
    # Not abandoned when cancelled: an edit is done, or not begun.
    return await to_thread.run_sync(_edit, arguments, context)


async def _check(arguments: Arguments, context: ToolContext) -> Checked:
    return await to_thread.run_sync(_find_outcome, arguments, context)


def _edit(arguments: Arguments, context: ToolContext) -> ToolResult:
    edits = _list_edits(arguments)
    real = resolve_inside(context, arguments.path, write=True)
    raw, status = read_file_at(real, MAX_WRITE_BYTES)
    changed, count = _change(raw, edits, show_path(context, real))
    replace_file(context, real, changed, (raw, status))
    return _tell(context, real, count)


def _find_outcome(arguments: Arguments, context: ToolContext) -> Checked:
    """What came of an edit that may have been made. Raises: OSError, ToolError where nothing can be told."""
    edits = _list_edits(arguments)
    real = resolve_inside(context, arguments.path, write=True)
    raw, _ = read_file_at(real, MAX_WRITE_BYTES)
    kept = find_kept(context, real)
    if kept is None or kept.before is None:
        return _judge(raw, edits, context, real)
    if raw == kept.before:
        return "not-done"
    changed, count = _change(kept.before, edits, show_path(context, real))
    return _tell(context, real, count) if raw == changed else None


def _judge(raw: bytes, edits: tuple[Replacement, ...], context: ToolContext, real: str) -> Checked:
    """The same by the texts alone, if all of the edits agree."""
    decoded = decode(raw)
    if decoded is None:
        return None
    text = _plain(decoded.text)
    made = {_was_made(text, edit) for edit in edits}
    if made == {True}:
        return ToolResult(f"Changed {show_path(context, real)}, before the crash", path_resolved=real)
    return "not-done" if made == {False} else None


def _was_made(text: str, edit: Replacement) -> bool | None:
    """Whether a text has an edit; None if that cannot be told, as where the old text stands in the new one only."""
    old, new = _plain(edit.old_string), _plain(edit.new_string)
    rest = text.replace(new, "\0") if new else text
    if old in rest and (edit.replace_all or text.count(old) == 1):
        return False
    return True if new and new in text and old not in text else None


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _change(raw: bytes, edits: tuple[Replacement, ...], shown: str) -> tuple[bytes, int]:
    """The bytes of a file after all edits, and how many replacements those are. Raises: ToolError."""
    decoded = decode(raw)
    if decoded is None:
        raise ToolError("INVALID_PARAM", f"'{shown}' is no text file")
    text, count = decoded.text, 0
    for number, edit in enumerate(edits, 1):
        place = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        text, made = _apply(text, edit, decoded.newline, place)
        count += made
    return encode(text, decoded), count


def _tell(context: ToolContext, real: str, count: int) -> ToolResult:
    said = f"Changed {show_path(context, real)}: {count} replacement{'s' if count > 1 else ''}"
    return ToolResult(said, data={"replacements": count}, path_resolved=real)


def _list_edits(arguments: Arguments) -> tuple[Replacement, ...]:
    single = Replacement(arguments.old_string, arguments.new_string, arguments.replace_all)
    edits = arguments.edits or (single,)
    if arguments.edits and (arguments.old_string or arguments.new_string):
        raise ToolError("INVALID_PARAM", "Give either `old_string` and `new_string`, or `edits`")
    for edit in edits:
        if not edit.old_string:
            raise ToolError("INVALID_PARAM", "`old_string` is empty", hint="write_file writes a whole file")
        if edit.old_string == edit.new_string:
            raise ToolError("INVALID_PARAM", "`old_string` and `new_string` are the same")
    return edits


def _apply(text: str, edit: Replacement, newline: str, place: str) -> tuple[str, int]:
    old, new = edit.old_string, edit.new_string
    if newline == "\r\n":
        windows = [re.sub(r"\r?\n", "\r\n", one) for one in (old, new)]
        if windows[0] in text:
            old, new = windows
    count = text.count(old)
    if count == 0:
        raise ToolError("NOT_FOUND", f"{place}`old_string` is not in the file", hint=_hint_nearest(text, old))
    if count > 1 and not edit.replace_all:
        lines = ", ".join(map(str, _lines_of(text, old)))
        raise ToolError(
            "CONFLICT",
            f"{place}`old_string` is in the file {count} times, at line {lines}",
            hint="Give more of the text around it, or set `replace_all`",
        )
    if len(text) + count * (len(new) - len(old)) > MAX_WRITE_BYTES:  # before it is made: it may not fit the memory
        raise ToolError("INVALID_PARAM", f"{place}The file would have more than {MAX_WRITE_BYTES} characters")
    return text.replace(old, new), count


def _lines_of(text: str, part: str, limit: int = 10) -> list[int]:
    lines: list[int] = []
    at = text.find(part)
    while at >= 0 and len(lines) < limit:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + len(part))
    return lines


def _hint_nearest(text: str, old: str) -> str:
    """What was most likely meant: numbers left in, other blanks, or a line that is nearly the same."""
    wanted = [line for line in old.split("\n") if line.strip()]
    if wanted and all(_NUMBERED.match(line) for line in wanted):
        return "Leave out the line numbers that read_file shows"
    first = wanted[0].strip() if wanted else ""
    lines = [line.strip()[:_MAX_LINE] for line in text.split("\n", _SEARCHED_LINES)[:_SEARCHED_LINES]]
    if first and first in lines:
        return f"Line {lines.index(first) + 1} differs in its blanks, or the lines after it differ; read it again"
    close = get_close_matches(first[:_MAX_LINE], dict.fromkeys(lines[:2000]), n=1, cutoff=0.6) if first else []
    if close:
        return f"The nearest is line {lines.index(close[0]) + 1}: {close[0]}"
    return "Read the file again"
