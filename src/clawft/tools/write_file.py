"""The tool `write_file`: a whole file, put in place at once."""

import os
import stat
from typing import Annotated

from anyio import to_thread
from msgspec import Meta, Struct, structs

from clawft.tools.beneath import read_file_at, write_file_at
from clawft.tools.paths import resolve_inside, show_path
from clawft.tools.spill import Kept, digest_of, find_kept, keep_original
from clawft.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool

__all__ = ["MAX_WRITE_BYTES", "replace_file", "write_file_tool"]

MAX_WRITE_BYTES = 10 * 1024 * 1024
_DESCRIPTION = """\
Write a whole file inside the project, and the folders it needs. What was there is replaced; to change a part of a
file use edit_file."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file, relative to the current folder or absolute.")]
    content: Annotated[str, Meta(description="All that the file is to hold.")]


def write_file_tool() -> Tool:
    # The same bytes once more change nothing, and `_was_done` sees to what others wrote since.
    return structs.replace(define_tool("write_file", _DESCRIPTION, Arguments, _run), repeatable=lambda _: True)


async def _run(arguments: Arguments, context: ToolContext) -> ToolResult:
    # Not abandoned when cancelled: a write is done, or not begun.
    return await to_thread.run_sync(_write, arguments, context)


def _write(arguments: Arguments, context: ToolContext) -> ToolResult:
    real = resolve_inside(context, arguments.path, write=True)
    try:
        content = arguments.content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("INVALID_PARAM", "`content` has halves of characters, which no file can hold") from error
    before = _find_before(real)
    kept = find_kept(context, real)
    if kept and kept.change.after != digest_of(content):
        kept = None
    if kept is None or not _was_done(before, kept, content):
        replace_file(context, real, content, before)
    created = (kept.before if kept else before) is None
    did = "Created" if created else "Replaced"
    data = {"created": created, "bytes": len(content)}
    return ToolResult(f"{did} {show_path(context, real)}: {len(content)} bytes", data=data, path_resolved=real)


def _was_done(now: tuple[bytes, os.stat_result] | None, kept: Kept, content: bytes) -> bool:
    """Whether this call wrote the file already, before a crash. Raises: ToolError if others did so since."""
    held = now[0] if now else None
    if held not in (content, kept.before):
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
    keep_original(context, real, raw, status.st_mode if status else 0, content)
    write_file_at(real, content, status)


def _find_before(real: str) -> tuple[bytes, os.stat_result] | None:
    try:
        return read_file_at(real, MAX_WRITE_BYTES)
    except FileNotFoundError:
        return None
