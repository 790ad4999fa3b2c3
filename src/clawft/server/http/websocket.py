"""WebSocket connections that are closed when the client reads nothing or sends messages in tiny fragments."""

import asyncio
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

from clawft.server.http.server import HttpConnection

GOING_AWAY = 1012  # "service restart": come again
TOO_BIG = 1009
NO_TEXT = 1007
_LINGER_S = 2.0  # for a client to read the reason
_MOST_PIECES = 1_024  # of one message; each needs memory, even one with nothing in it


class SocketConnection(WebSocketsSansIOProtocol):
    """Uvicorn's, with the same end to a client that does not read as a request has."""

    stopping = "The server is stopping"
    _stalled: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(HttpConnection.stall_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= _MOST_PIECES:
            self.conn.fail(TOO_BIG, "too many pieces")
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """A text that is none ends the connection; uvicorn would log that as an error of ours."""
        if self.curr_msg_data_type == "text" and not _is_text(b"".join(self.frames)):
            self.conn.fail(NO_TEXT, "this is no UTF-8")
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def handle_ping(self) -> None:
        """One that asks and takes no answer gets none: what is unread would grow without end."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_parser_exception(self) -> None:
        """The rest of what comes is read and forgotten: to hang up on it would lose our words about why."""
        if self.close_sent:
            return
        assert self.conn.close_sent is not None
        code, reason = self.conn.close_sent.code, self.conn.close_sent.reason
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_timer = self.loop.call_later(_LINGER_S, self.transport.abort)

    async def send(self, message: Any) -> None:
        """A text that is encoded already, as `utf8`, is sent as it is.

        To close waits for nobody: it goes behind what a client did not take yet, and that is not kept for long.
        """
        if "utf8" in message:
            await self.writable.wait()
            if self.disconnected or self.conn.state is not State.OPEN:
                raise ClientDisconnected
            self.conn.send_text(message["utf8"])
            self.transport.write(b"".join(self.conn.data_to_send()))
            await self.writable.wait()  # until most of it was taken, so that the sender knows what is on its way
            return
        if message["type"] == "websocket.close" and self.handshake_complete and not self.writable.is_set():
            self.writable.set()
            try:
                await super().send(message)
            finally:
                self.writable.clear()
            self.loop.call_later(self.close_timeout, self.transport.abort)
            return
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # else uvicorn logs that the refused client got no answer

    def shutdown(self) -> None:
        if self.handshake_complete and not self.close_sent:
            self.stop_keepalive()
            self.queue.put_nowait({"type": "websocket.disconnect", "code": GOING_AWAY})
            self.conn.send_close(GOING_AWAY, self.stopping)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()
            return
        super().shutdown()

    def _stop_waiting(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


def _is_text(message: bytes) -> bool:
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True
