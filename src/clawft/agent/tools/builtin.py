"""`memory_read` and `memory_write`: what a model may recall and keep, in whatever memory it is given."""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

import anyio.to_thread
import msgspec
from msgspec import Meta, Struct, structs

from clawft.contracts import MemoryBackend, MemoryResult
from clawft.errors import ClawftError, find_close
from clawft.tools.tool import Checked, ErrorCode, Tool, ToolContext, ToolError, ToolResult, define_tool

__all__ = ["memory_tools"]

_READ = """Recall what was remembered in earlier sessions: facts, notes of the user, and what happened.
Usage: give `query` to search, `key` for one fact in full, or neither to list all keys. Search before you ask the user
something they may have told you before.
Example: {"query": "how is the project deployed"}"""
_WRITE = """Remember something for later sessions, under a short key.
Usage: keep lasting facts and wishes of the user, not the course of this conversation. `replace` (the default) sets the
text of the key, `append` adds a paragraph to it, `delete` forgets the key.
Example: {"key": "project/deploy", "content": "Deployed by `make release` from the branch main."}"""
_CODES: dict[str, ErrorCode] = {
    "memory-key": "INVALID_PARAM",
    "memory-text": "INVALID_PARAM",
    "memory-too-large": "INVALID_PARAM",
    "memory-busy": "CONFLICT",
    "memory-unwritable": "PERMISSION_DENIED",
}
_MAX_LISTED = 500
T = TypeVar("T")


class ReadArguments(Struct, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="What to look for")] = ""
    key: Annotated[str, Meta(description="Key of one memory, as a search or the list names it")] = ""
    limit: Annotated[int, Meta(description="How many results a search returns", ge=1, le=100)] = 8


class WriteArguments(Struct, forbid_unknown_fields=True):
    key: Annotated[str, Meta(description="Short name of the memory, one line", min_length=1)]
    content: Annotated[str, Meta(description="The text to keep; not used by `delete`")] = ""
    mode: Annotated[Literal["replace", "append", "delete"], Meta(description="What to do with the text of the key")] = (
        "replace"
    )


def memory_tools(backend: MemoryBackend) -> tuple[Tool, ...]:
    """Both tools, for one memory."""

    async def read(arguments: ReadArguments, _context: ToolContext) -> ToolResult:
        return await _run(lambda: _read(backend, arguments))

    async def write(arguments: WriteArguments, _context: ToolContext) -> ToolResult:
        return await _run(lambda: _write(backend, arguments))

    async def check(arguments: WriteArguments, _context: ToolContext) -> Checked:
        return await _run(lambda: _find_outcome(backend, arguments))

    return (
        define_tool("memory_read", _READ, ReadArguments, read, read_only=True),
        structs.replace(define_tool("memory_write", _WRITE, WriteArguments, write), check=check),
    )


async def _run(work: Callable[[], T]) -> T:
    """Work that waits for a disk, in a thread; its errors as the model reads them."""
    try:
        return await anyio.to_thread.run_sync(work)
    except ToolError:
        raise
    except ClawftError as error:
        code = _CODES.get(error.code, "EXECUTION_ERROR")
        raise ToolError(code, error.diagnostic.message, hint=error.hint) from error


def _read(backend: MemoryBackend, arguments: ReadArguments) -> ToolResult:
    if arguments.key:
        value = backend.retrieve(arguments.key)
        if value is None:
            raise _not_found(backend, arguments.key)
        return ToolResult(value, data={"key": arguments.key, "value": value})
    if arguments.query:
        return _describe(backend.search(arguments.query, arguments.limit))
    keys = backend.list_keys()
    if not keys:
        return ToolResult("The memory is empty.", data={"keys": []})
    more = [f"and {len(keys) - _MAX_LISTED} more; search for them"] if len(keys) > _MAX_LISTED else []
    return ToolResult("\n".join(["Keys:", *(f"- {key}" for key in keys[:_MAX_LISTED]), *more]), data={"keys": [*keys]})


def _describe(results: Sequence[MemoryResult]) -> ToolResult:
    if not results:
        return ToolResult("Nothing in the memory matches.", data={"results": []})
    told = [f"## {one.key}\n{one.value}" for one in results]
    return ToolResult("\n\n".join(told), data={"results": msgspec.to_builtins(results)})


def _write(backend: MemoryBackend, arguments: WriteArguments) -> ToolResult:
    key = arguments.key
    if arguments.mode == "delete":
        if not backend.delete(key):
            raise _not_found(backend, key)
        return _tell(arguments)
    if not arguments.content.strip():
        raise ToolError("INVALID_PARAM", "There is no content to keep", hint="Give content, or mode 'delete'")
    write = backend.append if arguments.mode == "append" else backend.store
    write(key, arguments.content)
    return _tell(arguments)


def _tell(arguments: WriteArguments) -> ToolResult:
    did = "Forgot" if arguments.mode == "delete" else "Remembered"
    return ToolResult(f"{did} '{arguments.key}'.", data={"key": arguments.key})


def _find_outcome(backend: MemoryBackend, arguments: WriteArguments) -> Checked:
    """What came of a write that may have been made, by what is remembered now."""
    if arguments.mode != "delete" and not arguments.content.strip():
        return "not-done"  # it is refused
    value = backend.retrieve(arguments.key)
    if arguments.mode == "delete":
        return _tell(arguments) if value is None else "not-done"
    held, wanted = _plain(value or ""), _plain(arguments.content)
    if arguments.mode == "replace":  # another text is the one before, or of somebody who was later
        return _tell(arguments) if held == wanted else "not-done"
    if held == wanted or held.endswith(f"\n\n{wanted}"):
        return _tell(arguments)
    return None if wanted in held else "not-done"


def _plain(text: str) -> str:
    """A text as any memory gives it back: white space around it does not count."""
    return text.replace("\r\n", "\n").strip()


def _not_found(backend: MemoryBackend, key: str) -> ToolError:
    close = find_close(key, backend.list_keys())
    hint = f"Did you mean '{close}'?" if close else "Call memory_read without arguments to list the keys"
    return ToolError("NOT_FOUND", f"Nothing is remembered under '{key}'", hint=hint)
