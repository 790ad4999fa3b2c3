"""The tool `read_file`: a text file with line numbers, or a picture."""

import base64
import os
from collections.abc import Callable
from typing import Annotated

from anyio import to_thread
from msgspec import Meta, Struct

from clawft.agent.tools.file_access import decode, read_file_at, resolve_inside, show_path
from clawft.agent.tools.tool import FILE_ALIASES, Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.files import real_path
from clawft.messages import Image

MAX_IMAGE_BYTES = 5 * 1024 * 1024
_MAX_FILE_BYTES = 32 * 1024 * 1024
_MAX_LINES = 2000
_MAX_LINE_CHARS = 2000
_MAX_CHARS = 30_000  # below what any tool may say, so that the end of the text tells how to go on
_DESCRIPTION = """\
Read a file of the project. Each line comes with its number and a tab, which are not part of the file: leave them
out in edit_file. Long files are read in parts with `offset` and `limit`. Pictures (PNG, JPEG, GIF, WebP) are shown."""


CheckContent = Callable[[bytes], None]


class ReadFileArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The file, relative to the current folder or absolute.")]
    offset: Annotated[int, Meta(ge=1, description="The first line to read; 1 is the first of the file.")] = 1
    limit: Annotated[int, Meta(ge=1, description=f"How many lines to read, at most {_MAX_LINES}.")] = _MAX_LINES


def read_file_tool() -> Tool:
    return define_tool("read_file", _DESCRIPTION, ReadFileArguments, _run, read_only=True, aliases=FILE_ALIASES)


async def read_path(
    path: str, check: CheckContent = lambda _: None, *, shown: str, offset: int = 1, limit: int = _MAX_LINES
) -> ToolResult:
    """The text or picture of a file whose folder is the caller's choice; the file itself may be no link.

    `check` is given the bytes before they are shown. Raises: OSError, ToolError; what `check` raises.
    """
    real = os.path.join(real_path(os.path.dirname(path)), os.path.basename(path))
    arguments = ReadFileArguments(shown, offset, limit)
    return await to_thread.run_sync(_read, real, shown, arguments, check, abandon_on_cancel=True)


async def _run(arguments: ReadFileArguments, context: ToolContext) -> ToolResult:
    real = resolve_inside(context, arguments.path)
    shown = show_path(context, real)
    return await to_thread.run_sync(_read, real, shown, arguments, abandon_on_cancel=True)


def _read(real: str, shown: str, arguments: ReadFileArguments, check: CheckContent = lambda _: None) -> ToolResult:
    raw, _ = read_file_at(real, _MAX_FILE_BYTES)
    check(raw)
    media_type = find_image_type(raw)
    if media_type is not None:
        return _show_image(raw, media_type, shown, real)
    decoded = decode(raw)
    if decoded is None:
        raise ToolError("INVALID_PARAM", f"'{shown}' is no text file: it has {len(raw)} bytes of something else")
    lines = decoded.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    note = "" if decoded.encoding == "utf-8" else f"[the file is in {decoded.encoding}]\n"
    return _show_lines(lines, arguments, note, real)


def _show_lines(lines: list[str], arguments: ReadFileArguments, note: str, real: str) -> ToolResult:
    first, total = arguments.offset, len(lines)
    if first > max(total, 1):
        raise ToolError("INVALID_PARAM", f"`offset` is {first}, but the file has {total} lines")
    text, shown = note, 0
    for number, line in enumerate(lines[first - 1 : first - 1 + min(arguments.limit, _MAX_LINES)], first):
        numbered = f"{number:>6}\t{_cut_line(line)}\n"
        if shown and len(text) + len(numbered) > _MAX_CHARS:
            break
        text += numbered
        shown += 1
    data = {"lines": shown, "total_lines": total, "first_line": first}
    last = first + shown - 1
    if total == 0:
        return ToolResult("[the file is empty]", data=data, path_resolved=real)
    if last < total and (shown < arguments.limit or arguments.limit >= _MAX_LINES):
        text += f"[cut: lines {first} to {last} of {total} are shown; go on with offset={last + 1}]"
        return ToolResult(text, "partial", data, path_resolved=real)
    return ToolResult(text, data=data, path_resolved=real)


def _cut_line(line: str) -> str:
    line = line.removesuffix("\r")
    if len(line) <= _MAX_LINE_CHARS:
        return line
    return f"{line[:_MAX_LINE_CHARS]}… [the line has {len(line)} characters]"


def find_image_type(raw: bytes) -> str | None:
    """The media type of a picture that models can see."""
    if raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if raw.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if raw.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP" else None


def _show_image(raw: bytes, media_type: str, shown: str, real: str) -> ToolResult:
    if len(raw) > MAX_IMAGE_BYTES:
        raise ToolError("INVALID_PARAM", f"'{shown}' has {len(raw)} bytes; {MAX_IMAGE_BYTES} is the limit for pictures")
    image = Image(media_type, base64.b64encode(raw).decode("ascii"))
    caption = f"{shown}: a picture ({media_type}, {len(raw)} bytes)"
    return ToolResult(caption, data={"media_type": media_type, "bytes": len(raw)}, images=(image,), path_resolved=real)
