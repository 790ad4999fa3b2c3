"""The tools `write_file` and `edit_file`, and the undo of what they changed."""

import os
import re
import stat
from difflib import get_close_matches
from typing import Annotated

from anyio import to_thread
from msgspec import Meta, Struct, structs

from clawft.agent.tools.file_access import (
    decode,
    encode,
    read_file_at,
    resolve_inside,
    show_path,
    write_file_at,
)
from clawft.agent.tools.saved_files import (
    SavedChange,
    digest_of,
    find_saved_change,
    write_original,
)
from clawft.agent.tools.tool import FILE_ALIASES, Checked, Tool, ToolContext, ToolError, ToolResult, define_tool

MAX_WRITE_BYTES = 10 * 1024 * 1024
_DESCRIPTION = """\
Write a whole file inside the project, and the folders it needs. What was there is replaced; to change a part of a
file use edit_file."""


class WriteFileArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file, relative to the current folder or absolute.")]
    content: Annotated[str, Meta(description="All that the file is to hold.")]


def write_file_tool() -> Tool:
    # The same bytes once more change nothing, and `_was_done` sees to what others wrote since.
    return structs.replace(
        define_tool("write_file", _DESCRIPTION, WriteFileArguments, _run, aliases=FILE_ALIASES),
        repeatable=lambda _: True,
    )


async def _run(arguments: WriteFileArguments, context: ToolContext) -> ToolResult:
    # Not abandoned when cancelled: a write is done, or not begun.
    return await to_thread.run_sync(_write, arguments, context)


def _write(arguments: WriteFileArguments, context: ToolContext) -> ToolResult:
    real = resolve_inside(context, arguments.path, write=True)
    try:
        content = arguments.content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("INVALID_PARAM", "`content` has halves of characters, which no file can hold") from error
    before = _find_file(real)
    saved = find_saved_change(context, real)
    if saved and saved.change.after != digest_of(content):
        saved = None
    if saved is None or not _was_done(before, saved, content):
        replace_file(context, real, content, before)
    created = (saved.before if saved else before) is None
    did = "Created" if created else "Replaced"
    data = {"created": created, "bytes": len(content)}
    return ToolResult(f"{did} {show_path(context, real)}: {len(content)} bytes", data=data, path_resolved=real)


def _was_done(now: tuple[bytes, os.stat_result] | None, saved: SavedChange, content: bytes) -> bool:
    """Return whether this call wrote the file already, before a crash. Raises: ToolError if others did so since."""
    held = now[0] if now else None
    if held not in (content, saved.before):
        raise ToolError("CONFLICT", "The file was changed by somebody else since this was first tried", hint="Read it")
    return held == content


def replace_file(context: ToolContext, real: str, content: bytes, before: tuple[bytes, os.stat_result] | None) -> None:
    """Keep what is there, as it was read, then put the new content in its place.

    Raises: OSError, ToolError.
    """
    if len(content) > MAX_WRITE_BYTES:
        raise ToolError("INVALID_PARAM", f"The file would have {len(content)} bytes; {MAX_WRITE_BYTES} is the limit")
    raw, status = before or (None, None)
    if status is not None and not status.st_mode & stat.S_IWUSR:
        raise ToolError("PERMISSION_DENIED", f"'{os.path.basename(real)}' may only be read")
    write_original(context, real, raw, status.st_mode if status else 0, content)
    write_file_at(real, content, status)


def _find_file(real: str) -> tuple[bytes, os.stat_result] | None:
    try:
        return read_file_at(real, MAX_WRITE_BYTES)
    except FileNotFoundError:
        return None


_EDIT_FILE_DESCRIPTION = """\
Replace text in a file of the project. `old_string` must be in the file exactly as given, with its indentation and
without the line numbers that read_file shows, and only once unless `replace_all`. Several edits of one file go into
`edits`; they are made in order, and either all of them or none."""
_NUMBERED = re.compile(r"\s*\d+\t")
_SEARCHED_LINES = 20_000
_MAX_LINE = 300
_MAX_LINES = 10  # whose numbers an error tells


class Replacement(Struct, frozen=True, forbid_unknown_fields=True):
    """One edit."""

    old_string: Annotated[str, Meta(description="The text to be replaced.")]
    new_string: Annotated[str, Meta(description="The text to stand there instead.")]
    replace_all: Annotated[bool, Meta(description="Replace it wherever it stands.")] = False


class EditFileArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file, relative to the current folder or absolute.")]
    old_string: Annotated[str, Meta(description="The text to be replaced.")] = ""
    new_string: Annotated[str, Meta(description="The text to stand there instead.")] = ""
    replace_all: Annotated[bool, Meta(description="Replace it wherever it stands.")] = False
    edits: Annotated[tuple[Replacement, ...], Meta(description="Several edits, instead of one.", max_length=200)] = ()


def edit_file_tool() -> Tool:
    return structs.replace(
        define_tool("edit_file", _EDIT_FILE_DESCRIPTION, EditFileArguments, _run_edit_file, aliases=FILE_ALIASES),
        check=_check,
    )


async def _run_edit_file(arguments: EditFileArguments, context: ToolContext) -> ToolResult:
    # Not abandoned when cancelled: an edit is done, or not begun.
    return await to_thread.run_sync(_edit, arguments, context)


async def _check(arguments: EditFileArguments, context: ToolContext) -> Checked:
    return await to_thread.run_sync(_find_outcome, arguments, context)


def _edit(arguments: EditFileArguments, context: ToolContext) -> ToolResult:
    edits = _list_edits(arguments)
    real = resolve_inside(context, arguments.path, write=True)
    raw, status = read_file_at(real, MAX_WRITE_BYTES)
    changed, count = _change(raw, edits, show_path(context, real))
    replace_file(context, real, changed, (raw, status))
    return _tell(context, real, count)


def _find_outcome(arguments: EditFileArguments, context: ToolContext) -> Checked:
    """Find the outcome of an edit that may have been made. Raises: OSError, ToolError where it cannot be known."""
    edits = _list_edits(arguments)
    real = resolve_inside(context, arguments.path, write=True)
    raw, _ = read_file_at(real, MAX_WRITE_BYTES)
    saved = find_saved_change(context, real)
    if saved is None or saved.before is None:
        return _judge(raw, edits, context, real)
    if raw == saved.before:
        return "not-done"
    changed, count = _change(saved.before, edits, show_path(context, real))
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
    """Return whether a text contains an edit; None if unknown, such as where the old text occurs only inside the new
    one."""
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
    text = f"Changed {show_path(context, real)}: {count} replacement{'s' if count > 1 else ''}"
    return ToolResult(text, data={"replacements": count}, path_resolved=real)


def _list_edits(arguments: EditFileArguments) -> tuple[Replacement, ...]:
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
        windows = [re.sub(r"\r?\n", "\r\n", part) for part in (old, new)]
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


def _lines_of(text: str, part: str) -> list[int]:
    lines: list[int] = []
    at = text.find(part)
    while at >= 0 and len(lines) < _MAX_LINES:
        lines.append(text.count("\n", 0, at) + 1)
        at = text.find(part, at + len(part))
    return lines


def _hint_nearest(text: str, old: str) -> str:
    """Return a hint at what was most likely meant: line numbers left in, different whitespace, or a line that is nearly
    the same."""
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
