"""MCP on stdin and stdout: a message a line, each of them bounded; whatever else is written goes to stderr.

The streams are read and written on threads that nothing waits for, so that the process ends when it is told to, even
while a client neither writes nor reads.
"""

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from clawft.protocol.encoding import encode

__all__ = ["open_stdio"]

_CHUNK = 64 * 1024
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@contextmanager
def claim_streams() -> Iterator[tuple[int, int]]:
    """The descriptors of stdin and stdout, for the protocol alone: in their places are nothing, and stderr."""
    taken = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield taken
    finally:
        os.dup2(taken[0], 0)
        os.dup2(taken[1], 1)  # both copies stay open: a thread may still wait in them


@asynccontextmanager
async def open_stdio(max_bytes: int) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Streams of messages. The first ends when stdin does, or when the other end takes nothing any more."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    with claim_streams() as (source, target):
        writer = _Writer(target)
        async with anyio.create_task_group() as group:
            group.start_soon(_receive, _start_reader(source), incoming, writer, max_bytes)
            group.start_soon(_send, outgoing, writer, group.cancel_scope)
            yield read, write
            group.cancel_scope.cancel()


async def _receive(
    chunks: MemoryObjectReceiveStream[bytes],
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    writer: "_Writer",
    max_bytes: int,
) -> None:
    async with chunks, incoming:
        async for line in _split_lines(chunks, max_bytes):
            message = _parse(line) if line is not None else None
            if message is not None:
                await incoming.send(message)
            elif line is None or line.strip():
                what = "is no JSON-RPC" if line is not None else f"has more than {max_bytes >> 10} kB"
                error = {"code": PARSE_ERROR, "message": f"The message {what}"}
                await writer.write(msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error}) + b"\n")


async def _split_lines(chunks: MemoryObjectReceiveStream[bytes], max_bytes: int) -> AsyncIterator[bytes | None]:
    """Each line without its end; None for one that is too long, which is not kept."""
    kept, is_over = bytearray(), False
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for one in ended:
            is_over = is_over or len(kept) + len(one) > max_bytes
            yield None if is_over else bytes(kept) + one
            kept.clear()
            is_over = False
        kept += rest
        if len(kept) > max_bytes:
            kept.clear()
            is_over = True


def _parse(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError:
        return None


async def _send(
    outgoing: MemoryObjectReceiveStream[SessionMessage], writer: "_Writer", everything: anyio.CancelScope
) -> None:
    async with outgoing:
        async for one in outgoing:
            if not await writer.write(_encode(one) + b"\n"):
                everything.cancel()


def _encode(one: SessionMessage) -> bytes:
    try:
        return one.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except PydanticSerializationError:  # a text in it is no Unicode
        return encode(one.message.model_dump(by_alias=True, exclude_unset=True))


def _start_reader(source: int) -> MemoryObjectReceiveStream[bytes]:
    """What comes, read on a thread that waits for each piece to be taken."""
    loop = asyncio.get_running_loop()
    send, receive = anyio.create_memory_object_stream[bytes](0)

    def read() -> None:
        chunk = b"-"
        with suppress(RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError, asyncio.CancelledError):
            while chunk:
                try:
                    chunk = os.read(source, _CHUNK)
                except OSError:
                    chunk = b""
                asyncio.run_coroutine_threadsafe(send.send(chunk) if chunk else send.aclose(), loop).result()

    threading.Thread(target=read, name="mcp-stdin", daemon=True).start()
    return receive


class _Writer:
    """What goes out, written on a thread, one after the other."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.Future[bool]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="mcp-stdout", daemon=True).start()

    async def write(self, data: bytes) -> bool:
        """Whether it was taken."""
        done: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.put((data, done))
        return await done

    def _work(self) -> None:
        while True:
            data, done = self._waiting.get()
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(self._target, left) :]
                taken = True
            except OSError:
                taken = False
            with suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(_settle, done, taken)


def _settle(done: "asyncio.Future[bool]", taken: bool) -> None:
    if not done.done():
        done.set_result(taken)
