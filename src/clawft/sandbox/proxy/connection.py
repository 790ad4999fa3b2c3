"""One connection of a program to the proxy: what it sends, what it is answered, and how it ends."""

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["GONE", "Connection"]

# What it looks like when the other side went away.
GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, anyio.IncompleteRead)
_LINGER_S = 1.0
_LINGER_BYTES = 256 * 1024
_PHRASES = {
    400: "Bad Request",
    403: "Forbidden",
    408: "Request Timeout",
    500: "Internal Server Error",
    502: "Bad Gateway",
}


class Connection:
    """`idle_s` is how long nothing may move on it."""

    def __init__(self, stream: SocketStream, idle_s: float) -> None:
        self.stream = stream
        self.source = BufferedByteReceiveStream(stream)
        self.idle_s = idle_s
        self._answered = False  # the head of an answer is out: no other can follow

    async def begin(self, head: bytes) -> None:
        """Send the head of the answer."""
        self._answered = True
        await self.stream.send(head)

    async def refuse(self, status: int, message: str, hint: str = "") -> None:
        """Answer with a text that says why; nothing, where an answer has begun."""
        if self._answered:
            return
        body = "\n".join(filter(None, (f"clawft: {message}", f"hint: {hint}" if hint else ""))).encode() + b"\n"
        head = (
            f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        await self.begin(head.encode() + body)
        await self._linger()

    async def _linger(self) -> None:
        """Take what is still on its way: closing on unread bytes would make the system drop the answer."""
        await self.stream.send_eof()
        taken = 0
        with anyio.move_on_after(_LINGER_S):
            while taken < _LINGER_BYTES:
                taken += len(await self.stream.receive())
