"""One WebSocket to the daemon: requests, the streams of events and subscriptions on it, and its errors."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address
from itertools import count
from ssl import SSLContext
from types import TracebackType
from typing import Any, Generic, TypeVar
from urllib.parse import SplitResult, urlsplit

import anyio
import msgspec
from msgspec import Struct, structs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from clawft.errors import ClawftError
from clawft.server.protocol.base import VERSION, DaemonAnswer, DaemonRequest, Problem, Refusal
from clawft.server.protocol.executions import QuestionAsked, QuestionClosed, SkillResult, TurnEvent, TurnResult
from clawft.server.protocol.operations import PUSHED, decode_answer
from clawft.server.protocol.subscriptions import Topic

_CLOSED = {1012: "serve-stopping", 4001: "token-wrong", 4002: "request-invalid", 4008: "slow-consumer"} | {
    4029: "too-many-requests",
    1009: "request-too-large",
}


class ClientError(ClawftError):
    """`code` is stable, and `hint` says what to do. `close_code` is set where the connection is gone."""

    def __init__(self, code: str, message: str, *, hint: str = "", close_code: int = 0) -> None:
        super().__init__(code, message, hint=hint)
        self.close_code = close_code

    @classmethod
    def of(cls, problem: Problem) -> "ClientError":
        """Make an error from a problem that the daemon reported."""
        return cls(problem.code, problem.message, hint=problem.hint or "")

    @classmethod
    def closed(cls, code: int, reason: str) -> "ClientError":
        """The connection is gone, and why."""
        message = f"The connection was closed: {reason or 'no reason was given'}"
        return cls(_CLOSED.get(code, "connection-closed"), message, hint="Connect again", close_code=code)


MAX_UNREAD = 16 << 20  # bytes that wait for a program that does not go through what it asked for
_END_S = 5.0  # for work that is cancelled to say so
R = TypeVar("R", bound=SkillResult | TurnResult)


class Mailbox:
    """The messages that came for one request or subscription. It never blocks those of others."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[DaemonAnswer, int]] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self.failure: ClientError | None = None

    def put(self, message: DaemonAnswer, size: int) -> None:
        self._bytes += size
        self._waiting.append((message, size))
        if self._bytes > MAX_UNREAD:
            self._waiting.clear()
            self.fail(ClientError("slow-consumer", "What came was not read, and is lost", hint="Go through it faster"))
        self._news.set()

    def fail(self, why: ClientError) -> None:
        """There is no more, and why; what came before can still be taken."""
        self.failure = self.failure or why
        self._news.set()

    async def take(self) -> DaemonAnswer:
        """Raises: ClientError."""
        while not self._waiting:
            if self.failure is not None:
                raise self.failure
            self._news.clear()
            await self._news.wait()
        message, size = self._waiting.popleft()
        self._bytes -= size
        return message


class Subscription:
    """The events of a subscription, until the block of `subscribe` ends. `generation` is that of the skills at its
    beginning."""

    def __init__(self, mailbox: Mailbox, generation: int) -> None:
        self._mailbox = mailbox
        self.generation = generation

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> DaemonAnswer:
        """Raises: ClientError when the connection is gone."""
        return await self._mailbox.take()


class Work(Generic[R]):
    """A skill or a message being worked on. It begins when it is first looked at.

    `async for` gives every event and, last, the result; `await work.result()` only that. In an `async with`, work that
    is not over when the block is left is cancelled.
    """

    def __init__(
        self,
        result: type[R],
        begin: Callable[[], Awaitable[Mailbox]],
        end: Callable[[str], Awaitable[object]],
        forget: Callable[[], None],
    ) -> None:
        self._kind = result
        self._begin = begin
        self._end = end
        self._forget = forget
        self._mailbox: Mailbox | None = None
        self._is_unwanted = False
        self._is_over = False
        self.execution = ""  # the daemon's name for it, known from its first event on

    def __aiter__(self) -> "Work[R]":
        return self

    async def __anext__(self) -> TurnEvent | R:
        """Raises: ClientError if it was refused, or the connection is gone."""
        if self._is_over:
            raise StopAsyncIteration
        await self._start()
        assert self._mailbox is not None
        try:
            message = await self._mailbox.take()
        except ClientError:
            self._close()
            raise
        if isinstance(message, TurnEvent):
            is_first, self.execution = not self.execution, message.execution
            if is_first and self._is_unwanted:
                await self.cancel()
            return message
        self._close()
        if isinstance(message, self._kind):
            return message
        if isinstance(message, Refusal):
            raise ClientError.of(message.error)
        raise ClientError("answer-unknown", f"The daemon answered something else: {type(message).__name__}")

    async def result(self) -> R:
        """Return the final result, and skip the messages before it. Raises: ClientError."""
        async for message in self:
            if isinstance(message, self._kind):
                return message
        raise ClientError("work-over", "The result was taken already")

    async def cancel(self) -> None:
        """End it: the result says `cancelled`. Raises: ClientError."""
        self._is_unwanted = True
        if self.execution and not self._is_over:
            try:
                await self._end(self.execution)
            except ClientError as error:
                if error.code != "execution-not-found":  # it was over before
                    raise

    async def __aenter__(self) -> "Work[R]":
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_over or (self._mailbox is not None and self._mailbox.failure is not None):
            return
        with anyio.move_on_after(_END_S, shield=True), suppress(ClientError):
            await self.cancel()
            await self.result()
        self._close()

    async def _start(self) -> None:
        if self._mailbox is None:
            self._mailbox = await self._begin()

    def _close(self) -> None:
        self._is_over = True
        self._forget()


MAX_MESSAGE = 256 << 20
_CLOSE_S = 2.0
_NO_MESSAGE = (msgspec.MsgspecError, RecursionError, UnicodeError)


class _Head(Struct):
    id: str = ""


async def open_daemon_connection(
    url: str, token: str, on_aside: Callable[[DaemonAnswer], None], timeout_s: float, tls: SSLContext | None
) -> "DaemonConnection":
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
    return DaemonConnection(connection, on_aside)


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


class DaemonConnection:
    """The connection while it is open."""

    def __init__(self, connection: ClientConnection, on_aside: Callable[[DaemonAnswer], None]) -> None:
        self._connection = connection
        self._on_aside = on_aside
        self._numbers = count(1)
        self._asked: dict[str, Mailbox] = {}
        self._subscribed: dict[Mailbox, frozenset[Topic]] = {}
        self._reader = asyncio.create_task(self._read())

    async def close(self) -> None:
        await self._connection.close()
        await self._reader  # it ends with the connection

    async def begin(self, request: DaemonRequest) -> tuple[str, Mailbox]:
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
        """Open a mailbox for what is pushed for these topics; close it with `unlisten`."""
        mailbox = Mailbox()
        self._subscribed[mailbox] = topics
        return mailbox

    def unlisten(self, mailbox: Mailbox) -> frozenset[Topic]:
        """The topics that nobody listens to any more."""
        topics = self._subscribed.pop(mailbox, frozenset[Topic]())
        return topics - frozenset(other for others in self._subscribed.values() for other in others)

    async def _read(self) -> None:
        try:
            async for text in self._connection:
                self._hand_out(text)
            failure = ClientError.closed(self._connection.close_code or 1000, self._connection.close_reason or "")
        except ConnectionClosed as error:
            failure = _closed(error)
        for mailbox in (*self._asked.values(), *self._subscribed):
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
            for mailbox, topics in self._subscribed.items():
                if topic in topics:
                    mailbox.put(message, len(text))

    def _fail_unknown(self, text: str | bytes, error: Exception) -> None:
        """A newer daemon may push what we know nothing of; but an answer is waited for."""
        hint = "The daemon is newer than this client"
        why = ClientError("answer-unknown", f"The answer cannot be read: {error}", hint=hint)
        try:
            wanted = self._asked.get(msgspec.json.decode(text, type=_Head).id)
        except _NO_MESSAGE:  # it cannot be matched to a request: its sender would wait for ever
            for mailbox in (*self._asked.values(), *self._subscribed):
                mailbox.fail(why)
        else:
            if wanted is not None:
                wanted.fail(why)


def _closed(error: ConnectionClosed) -> ClientError:
    found = error.rcvd or error.sent
    return ClientError.closed(found.code, found.reason) if found else ClientError.closed(1006, "the other end is gone")
