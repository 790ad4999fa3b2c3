"""One WebSocket to the daemon: requests get ids, and what comes is handed to whoever it is for."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from itertools import count
from ssl import SSLContext
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct, structs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from clawft.client.errors import ClientError
from clawft.client.streams import Mailbox
from clawft.protocol.base import VERSION, Answer, Refusal, Request
from clawft.protocol.operations import PUSHED, decode_answer
from clawft.protocol.running import QuestionAsked, QuestionClosed, TurnEvent
from clawft.protocol.watching import Topic

__all__ = ["Wire", "open_wire"]

MAX_MESSAGE = 256 << 20
_CLOSE_S = 2.0
_NO_MESSAGE = (msgspec.MsgspecError, RecursionError, UnicodeError)


class _Head(Struct):
    id: str = ""


async def open_wire(
    url: str, token: str, on_aside: Callable[[Answer], None], timeout_s: float, tls: SSLContext | None
) -> "Wire":
    """Raises: ClientError."""
    parts = _split(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    target = f"{scheme}://{parts.netloc}{parts.path if parts.path.strip('/') else '/ws'}"
    more: dict[str, Any] = {"ssl": tls} if tls else {}
    try:
        connection = await connect(
            target,
            additional_headers={"Authorization": f"Bearer {token}"},
            subprotocols=[Subprotocol(f"clawft.{VERSION}")],
            compression=None,
            max_size=MAX_MESSAGE,
            max_queue=None,
            open_timeout=timeout_s,
            close_timeout=_CLOSE_S,
            **more,
            proxy=None if _is_near(parts.hostname or "") else True,
        )
    except InvalidStatus as error:
        raise _refused(error) from error
    except (OSError, InvalidHandshake, InvalidURI, EOFError, ValueError) as error:  # TimeoutError is an OSError
        reason = str(error) or "it did not answer in time"
        hint = "Is it running? Start it: weft serve"
        raise ClientError("serve-unreachable", f"The daemon at {url} cannot be reached: {reason}", hint=hint) from error
    return Wire(connection, on_aside)


def _split(url: str) -> SplitResult:
    """Raises: ClientError for what is no address of a daemon."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname:
            return parts
    hint = "Write it whole, as in http://127.0.0.1:8717"
    raise ClientError("serve-address", f"'{url[:200]}' is no address of a daemon", hint=hint)


def _is_near(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _refused(error: InvalidStatus) -> ClientError:
    with suppress(msgspec.MsgspecError):
        return ClientError.of(msgspec.json.decode(error.response.body or b"", type=Refusal).error)
    return ClientError("serve-unreachable", f"The daemon did not let us in: {error}")


class Wire:
    """The connection while it is open."""

    def __init__(self, connection: ClientConnection, on_aside: Callable[[Answer], None]) -> None:
        self._connection = connection
        self._on_aside = on_aside
        self._numbers = count(1)
        self._asked: dict[str, Mailbox] = {}
        self._told: dict[Mailbox, frozenset[Topic]] = {}
        self._reader = asyncio.create_task(self._read())

    async def close(self) -> None:
        await self._connection.close()
        await self._reader  # it ends with the connection

    async def begin(self, request: Request) -> tuple[str, Mailbox]:
        """Send a request; what comes for it is in the mailbox, which is to be forgotten. Raises: ClientError."""
        name = str(next(self._numbers))
        mailbox = self._asked[name] = Mailbox()
        try:
            await self._connection.send(msgspec.json.encode(structs.replace(request, id=name)).decode())
        except ConnectionClosed as error:
            self.forget(name)
            raise _closed(error) from error
        except BaseException:
            self.forget(name)
            raise
        return name, mailbox

    def forget(self, name: str) -> None:
        self._asked.pop(name, None)

    def listen(self, topics: frozenset[Topic]) -> Mailbox:
        """Where what is pushed for these topics goes; it is to be given back."""
        mailbox = Mailbox()
        self._told[mailbox] = topics
        return mailbox

    def unlisten(self, mailbox: Mailbox) -> frozenset[Topic]:
        """The topics that nobody listens to any more."""
        topics = self._told.pop(mailbox, frozenset[Topic]())
        return topics - frozenset(one for others in self._told.values() for one in others)

    async def _read(self) -> None:
        try:
            async for text in self._connection:
                self._hand_out(text)
            failure = ClientError.closed(self._connection.close_code or 1000, self._connection.close_reason or "")
        except ConnectionClosed as error:
            failure = _closed(error)
        for mailbox in (*self._asked.values(), *self._told):
            mailbox.fail(failure)

    def _hand_out(self, text: str | bytes) -> None:
        try:
            message = decode_answer(text)
        except _NO_MESSAGE as error:
            self._fail_unknown(text, error)
            return
        if isinstance(message, QuestionAsked | QuestionClosed) and message.id:
            self._on_aside(message)
        elif message.id or isinstance(message, Refusal):
            mailbox = self._asked.get(message.id)
            if mailbox is not None:
                mailbox.put(message, len(text))
            elif isinstance(message, TurnEvent) and message.sequence == 1:  # it begins, and nobody wants it any more
                self._on_aside(message)
        else:
            topic = PUSHED.get(type(message))
            for mailbox, topics in self._told.items():
                if topic in topics:
                    mailbox.put(message, len(text))

    def _fail_unknown(self, text: str | bytes, error: Exception) -> None:
        """A newer daemon may push what we know nothing of; but an answer is waited for."""
        hint = "The daemon is newer than this client"
        why = ClientError("answer-unknown", f"The answer cannot be read: {error}", hint=hint)
        try:
            wanted = self._asked.get(msgspec.json.decode(text, type=_Head).id)
        except _NO_MESSAGE:  # whose answer it is cannot be said: whoever that is would wait for ever
            for mailbox in (*self._asked.values(), *self._told):
                mailbox.fail(why)
        else:
            if wanted is not None:
                wanted.fail(why)


def _closed(error: ConnectionClosed) -> ClientError:
    found = error.rcvd or error.sent
    return ClientError.closed(found.code, found.reason) if found else ClientError.closed(1006, "the other end is gone")
