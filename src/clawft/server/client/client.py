"""The Python client of the daemon: its connection, its work and its subscriptions."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext

from clawft.server.client.connection import (
    ClientError,
    DaemonConnection,
    Mailbox,
    R,
    Subscription,
    Work,
    open_daemon_connection,
)
from clawft.server.client.daemons import find_local_daemon
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, Refusal
from clawft.server.protocol.executions import (
    Chat,
    ExecuteSkill,
    Question,
    QuestionAsked,
    QuestionClosed,
    SkillResult,
    TurnEvent,
    TurnResult,
    Verdict,
)
from clawft.server.protocol.operations import PUSHED, A, ClientMethods
from clawft.server.protocol.subscriptions import Topic

Approve = Callable[[Question], Awaitable[Verdict]]
TIMEOUT_S = 60.0


class Client(ClientMethods):
    """A connection to a daemon. Many requests can go on at a time. It has a method for each operation."""

    def __init__(self, approve: Approve | None, timeout_s: float) -> None:
        self._approve = approve
        self._timeout_s = timeout_s
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._wire: DaemonConnection

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        url: str,
        token: str,
        *,
        approve: Approve | None = None,
        timeout_s: float = TIMEOUT_S,
        tls: SSLContext | None = None,
    ) -> AsyncIterator["Client"]:
        """Open a connection until the end of the block.

        `approve` answers what tools ask about work of this client; without it another client may. An answer takes
        `timeout_s` at most; work takes as long as it takes. `tls` is for a daemon whose certificate no known authority
        signed.

        Raises: ClientError.
        """
        client = cls(approve, timeout_s)
        client._wire = await open_daemon_connection(url, token, client._hear_aside, timeout_s, tls)
        try:
            yield client
        finally:
            while client._asking:
                client._asking.popitem()[1].cancel()
            await client._wire.close()

    @classmethod
    @asynccontextmanager
    async def local(
        cls,
        *,
        approve: Approve | None = None,
        timeout_s: float = TIMEOUT_S,
        tls: SSLContext | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> AsyncIterator["Client"]:
        """Connect to the user's own daemon on this machine. Raises: ClientError."""
        url, token = find_local_daemon(environ, os.getcwd())
        async with cls.connect(url, token, approve=approve, timeout_s=timeout_s, tls=tls) as client:
            yield client

    async def request(self, request: DaemonRequest, answer: type[A]) -> A:
        """Ask for anything; every method for an operation is this. Raises: ClientError."""
        name, mailbox = await self._wire.begin(request)
        try:
            while type(message := await self._take(mailbox)) in PUSHED and not isinstance(message, Refusal):
                pass  # how far it is
        finally:
            self._wire.forget(name)
        if isinstance(message, answer):
            return message
        if isinstance(message, Refusal):
            raise ClientError.of(message.error)
        raise ClientError("answer-unknown", f"The daemon answered something else: {type(message).__name__}")

    async def _take(self, mailbox: Mailbox) -> DaemonAnswer:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await mailbox.take()
        except TimeoutError as error:
            raise ClientError("serve-slow", f"There was no answer in {self._timeout_s:g} seconds") from error

    def execute(
        self, name: str, arguments: str = "", *, session: str = "", model: str = "", agent: str = ""
    ) -> Work[SkillResult]:
        """A skill: go through its events, or await its `result()`."""
        request = ExecuteSkill(name=name, arguments=arguments, session=session, model=model, agent=agent)
        return self._work(request, SkillResult)

    def chat(self, text: str, *, session: str = "", model: str = "", agent: str = "") -> Work[TurnResult]:
        """A message to the agent; the same session goes on with what was said in it."""
        return self._work(Chat(text=text, session=session, model=model, agent=agent), TurnResult)

    @asynccontextmanager
    async def subscribe(self, *topics: Topic) -> AsyncIterator[Subscription]:
        """Subscribe to topics until the end of the block: iterate over the result with `async for`. Raises:
        ClientError."""
        mailbox = self._wire.listen(frozenset(topics))
        try:
            answer = await self._subscribe(topics)
            yield Subscription(mailbox, answer.generation)
        finally:
            rest = self._wire.unlisten(mailbox)
            if rest and mailbox.failure is None:
                with suppress(ClientError):
                    await self._unsubscribe(tuple(sorted(rest)))

    def _work(self, request: DaemonRequest, result: type[R]) -> Work[R]:
        names: list[str] = []

        async def begin() -> Mailbox:
            name, mailbox = await self._wire.begin(request)
            names.append(name)
            return mailbox

        return Work(result, begin, self.cancel, lambda: self._wire.forget(names[0]) if names else None)

    def _hear_aside(self, message: DaemonAnswer) -> None:
        """Handle what is no answer to a request: a question about this client's work, its end, or work that was given
        up."""
        if isinstance(message, QuestionAsked) and self._approve is not None:
            question = message.question
            self._asking[question.question] = asyncio.create_task(self._answer(self._approve, question))
        elif isinstance(message, QuestionClosed) and (task := self._asking.pop(message.question, None)):
            task.cancel()  # another client was faster, or its time is over
        elif isinstance(message, TurnEvent):
            self._asking[message.execution] = asyncio.create_task(self._drop(message.execution))

    async def _drop(self, execution: str) -> None:
        with suppress(ClientError):
            await self.cancel(execution)
        self._asking.pop(execution, None)

    async def _answer(self, approve: Approve, question: Question) -> None:
        answer: Verdict = "no"  # also of one who fails to decide
        try:
            answer = await approve(question)
        finally:
            if self._asking.pop(question.question, None):
                with suppress(ClientError):  # another client was faster
                    await self.answer_question(question.question, answer)
