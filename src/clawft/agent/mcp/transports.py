"""A server as a child process: one JSON message per line on its pipes, and all that it started ended with it.

The SDK's own transport passes on variables of ours, keeps lines of any length, and leaves a server's children alone
when the server itself ends in time.
"""

import errno
import os
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress

import anyio
from anyio.abc import AsyncResource, ByteReceiveStream, ByteSendStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from clawft.errors import Refused
from clawft.mcp.confine import Confine
from clawft.mcp.launch import StdioLaunch
from clawft.mcp.watch import MAX_MESSAGE_BYTES, Watch
from clawft.programs import find_program
from clawft.sandbox.kept import BROKEN, open_kept
from clawft.sandbox.process import Launch

__all__ = ["Streams", "open_stdio"]

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def open_stdio(
    launch: StdioLaunch, watch: Watch, name: str = "", confine: Confine | None = None
) -> AsyncGenerator[Streams, None]:
    """Start a server and speak with it. Raises: OSError if it cannot be started; Refused if it cannot be confined."""
    async with _prepare(launch, name, confine) as program, _speak(program, watch) as streams:
        yield streams


def _prepare(launch: StdioLaunch, name: str, confine: Confine | None) -> AbstractAsyncContextManager[Launch]:
    if launch.confinement is None:
        program = launch.prepare()
        return nullcontext(Launch(program.words, program.cwd, program.env))
    if confine is None:
        raise Refused("sandbox-unavailable", "There is no sandbox to run it in")
    command = launch.command[0]
    if os.sep not in command and not find_program(command, launch.env.get("PATH", os.defpath)):
        raise FileNotFoundError(errno.ENOENT, "There is no such program", command)  # the sandbox would say it worse
    record, confinement = confine.recorder(name), launch.confinement
    return confine.sandbox.prepare(
        launch.command, cwd=launch.cwd, env=launch.env, confinement=confinement, record=record
    )


@asynccontextmanager
async def _speak(program: Launch, watch: Watch) -> AsyncGenerator[Streams, None]:
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with open_kept(program) as kept:
            kept.group.start_soon(_read_messages, kept.stdout, to_session, watch)
            kept.group.start_soon(_read_words, kept.stderr, watch)
            kept.group.start_soon(_write_messages, kept.stdin, from_session, watch)
            yield from_server, to_server
    finally:
        with anyio.CancelScope(shield=True):
            await _close_all(to_session, from_server, to_server, from_session)


async def _read_messages(
    stdout: ByteReceiveStream, to_session: MemoryObjectSendStream[SessionMessage | Exception], watch: Watch
) -> None:
    rest = bytearray()
    try:
        async with to_session:
            async for chunk in stdout:
                *ends, begun = chunk.split(b"\n")
                for end in ends:
                    line, rest = bytes(rest + end), bytearray()
                    if message := _parse_line(line, watch):
                        await to_session.send(message)
                rest += begun
                if len(rest) > MAX_MESSAGE_BYTES:
                    watch.hear(f"\nIt sent a message of more than {MAX_MESSAGE_BYTES} bytes\n".encode())
                    return
    except BROKEN:
        pass  # the session or the server is gone: that is what the end says
    finally:
        watch.end()


def _parse_line(line: bytes, watch: Watch) -> SessionMessage | None:
    """A message; None for what is none, as a greeting printed on stdout, which is kept as last words."""
    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        watch.hear(line + b"\n")
        return None


async def _read_words(stderr: ByteReceiveStream, watch: Watch) -> None:
    with suppress(*BROKEN):
        async for chunk in stderr:
            watch.hear(chunk)


async def _write_messages(
    stdin: ByteSendStream, from_session: MemoryObjectReceiveStream[SessionMessage], watch: Watch
) -> None:
    try:
        async with from_session:
            async for item in from_session:
                await stdin.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
    except BROKEN:
        watch.end()


async def _close_all(*resources: AsyncResource) -> None:
    for resource in resources:
        with suppress(*BROKEN):
            await resource.aclose()
