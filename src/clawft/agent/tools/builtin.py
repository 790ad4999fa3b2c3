"""The built-in tools of an agent: `message`, `memory_read` and `memory_write`, and the list of all that need no
conversation.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

import anyio.to_thread
import msgspec
from msgspec import Meta, Struct, structs

from clawft.agent.tools.dialogue import dialogue_tools
from clawft.agent.tools.exec_shell import exec_shell_tool
from clawft.agent.tools.file_changes import edit_file_tool, write_file_tool
from clawft.agent.tools.file_search import glob_tool, grep_tool, list_directory_tool
from clawft.agent.tools.processes import process_tools
from clawft.agent.tools.read_file import read_file_tool
from clawft.agent.tools.tool import Checked, ErrorCode, Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.agent.tools.web import web_fetch_tool, web_search_tool
from clawft.config import Config
from clawft.contracts import MemoryBackend, MemoryResult
from clawft.errors import ClawftError, find_close
from clawft.messages import MessageSent
from clawft.trust.command_policy import CommandPolicy


class MessageArguments(Struct, forbid_unknown_fields=True):
    text: Annotated[str, Meta(description="What to say, in a sentence or two", min_length=1, max_length=4000)]


async def _send(arguments: MessageArguments, context: ToolContext) -> ToolResult:
    context.emit(MessageSent(text=arguments.text))
    return ToolResult("The message was shown.", data={"characters": len(arguments.text)})


def message_tool() -> Tool:
    tool = define_tool(
        "message",
        "Tell the person something at once, while you go on working: progress of long work, or a finding that matters."
        " Not for the answer itself.",
        MessageArguments,
        _send,
    )
    return structs.replace(
        tool, judges_itself=True, repeatable=lambda _: True, changes_files=lambda _: False
    )  # read twice is better than never


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


class MemoryReadArguments(Struct, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="What to look for")] = ""
    key: Annotated[str, Meta(description="Key of one memory, as a search or the list names it")] = ""
    limit: Annotated[int, Meta(description="How many results a search returns", ge=1, le=100)] = 8


class MemoryWriteArguments(Struct, forbid_unknown_fields=True):
    key: Annotated[str, Meta(description="Short name of the memory, one line", min_length=1)]
    content: Annotated[str, Meta(description="The text to keep; not used by `delete`")] = ""
    mode: Annotated[Literal["replace", "append", "delete"], Meta(description="What to do with the text of the key")] = (
        "replace"
    )


def memory_tools(backend: MemoryBackend) -> tuple[Tool, ...]:
    """Both tools, for one memory."""

    async def read(arguments: MemoryReadArguments, _context: ToolContext) -> ToolResult:
        return await _run(lambda: _read(backend, arguments))

    async def write(arguments: MemoryWriteArguments, _context: ToolContext) -> ToolResult:
        return await _run(lambda: _write(backend, arguments))

    async def check(arguments: MemoryWriteArguments, _context: ToolContext) -> Checked:
        return await _run(lambda: _find_outcome(backend, arguments))

    return (
        define_tool("memory_read", _READ, MemoryReadArguments, read, read_only=True),
        structs.replace(
            define_tool("memory_write", _WRITE, MemoryWriteArguments, write),
            check=check,
            lasts=True,
            changes_files=lambda _: False,
        ),
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


def _read(backend: MemoryBackend, arguments: MemoryReadArguments) -> ToolResult:
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
    sections = [f"## {result.key}\n{result.value}" for result in results]
    return ToolResult("\n\n".join(sections), data={"results": msgspec.to_builtins(results)})


def _write(backend: MemoryBackend, arguments: MemoryWriteArguments) -> ToolResult:
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


def _tell(arguments: MemoryWriteArguments) -> ToolResult:
    did = "Forgot" if arguments.mode == "delete" else "Remembered"
    return ToolResult(f"{did} '{arguments.key}'.", data={"key": arguments.key})


def _find_outcome(backend: MemoryBackend, arguments: MemoryWriteArguments) -> Checked:
    """Find the outcome of a write that may have been made, from what is remembered now."""
    if arguments.mode != "delete" and not arguments.content.strip():
        return "not-done"  # it is refused
    value = backend.retrieve(arguments.key)
    if arguments.mode == "delete":
        return _tell(arguments) if value is None else "not-done"
    held, wanted = _plain(value or ""), _plain(arguments.content)
    if arguments.mode == "replace":  # another text was there before, or another writer replaced this one
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


def build_tools(config: Config, memory: MemoryBackend | None) -> dict[str, tuple[Tool, ...]]:
    """Every tool that does not depend on a conversation. Raises: ClawftError for a policy that makes no sense."""
    settings = config.tools
    search = web_search_tool(settings.web)
    return {
        "files": (
            read_file_tool(),
            write_file_tool(),
            edit_file_tool(),
            list_directory_tool(),
            glob_tool(),
            grep_tool(),
        ),
        "shell": (exec_shell_tool(settings.exec, CommandPolicy(settings.exec)), *process_tools()),
        "web": (web_fetch_tool(settings.web), *((search,) if search else ())),
        "memory": memory_tools(memory) if memory else (),
        "message": (message_tool(), *dialogue_tools()),
    }
