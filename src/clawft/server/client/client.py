"""The client: a method for each operation, thin, over one `request`."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext
from typing import TypeVar

from clawft.client.admin import AdminMethods
from clawft.client.connection import Wire, open_wire
from clawft.client.errors import ClientError
from clawft.client.local import find_local
from clawft.client.streams import Mailbox, R, Subscription, Work
from clawft.protocol.base import Answer, Refusal, Request
from clawft.protocol.deciding import (
    ApproveSkill,
    BlockSkill,
    EnableSkill,
    ReviewSkill,
    RevokeSkill,
    SkillDecided,
    SkillReview,
)
from clawft.protocol.operations import PUSHED
from clawft.protocol.running import (
    AnswerQuestion,
    Cancel,
    Cancelled,
    Chat,
    ExecuteSkill,
    ExecutionsList,
    ListExecutions,
    ListQuestions,
    Question,
    QuestionAnswered,
    QuestionAsked,
    QuestionClosed,
    QuestionsList,
    SkillResult,
    TurnEvent,
    TurnResult,
    Verdict,
)
from clawft.protocol.skills import (
    GetSkill,
    GetSkillFile,
    ListSkills,
    ScanResult,
    ScanSkill,
    SearchSkills,
    SkillAnswer,
    SkillFile,
    SkillsFound,
    SkillsList,
    State,
)
from clawft.protocol.watching import GetStatus, Status, Subscribe, Subscribed, Topic, Unsubscribe

__all__ = ["Approve", "Client"]

A = TypeVar("A", bound=Answer)
Approve = Callable[[Question], Awaitable[Verdict]]
TIMEOUT_S = 60.0


class Client(AdminMethods):
    """A connection to a daemon. Many requests can go on at a time."""

    def __init__(self, approve: Approve | None, timeout_s: float) -> None:
        self._approve = approve
        self._timeout_s = timeout_s
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._wire: Wire

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
        """A connection until the end of the block. `approve` answers what tools ask about work of this client; without
        it somebody else may. An answer takes `timeout_s` at most; work takes as long as it takes. `tls` is for a daemon
        whose certificate nobody else vouches for.

        Raises: ClientError.
        """
        client = cls(approve, timeout_s)
        client._wire = await open_wire(url, token, client._hear_aside, timeout_s, tls)
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
        """The same to the user's own daemon on this machine. Raises: ClientError."""
        url, token = find_local(environ, os.getcwd())
        async with cls.connect(url, token, approve=approve, timeout_s=timeout_s, tls=tls) as client:
            yield client

    async def request(self, request: Request, answer: type[A]) -> A:
        """Ask for anything; the methods below are this. Raises: ClientError."""
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

    async def _take(self, mailbox: Mailbox) -> Answer:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await mailbox.take()
        except TimeoutError as error:
            raise ClientError("serve-slow", f"There was no answer in {self._timeout_s:g} seconds") from error

    async def list_skills(self, state: State | None = None) -> SkillsList:
        return await self.request(ListSkills(state=state or ""), SkillsList)

    async def get_skill(self, name: str) -> SkillAnswer:
        return await self.request(GetSkill(name=name), SkillAnswer)

    async def get_skill_file(self, name: str, path: str, digest: str = "") -> SkillFile:
        """One of the files that `get_skill` lists; with a `digest`, only of the skill that has it."""
        return await self.request(GetSkillFile(name=name, path=path, digest=digest), SkillFile)

    async def search_skills(self, query: str, limit: int = 10) -> SkillsFound:
        return await self.request(SearchSkills(query=query, limit=limit), SkillsFound)

    async def scan_skill(self, name: str = "", *, path: str = "") -> ScanResult:
        """A skill by its name, or a folder of the daemon's machine by its path."""
        return await self.request(ScanSkill(name=name, path=path), ScanResult)

    def execute(
        self, name: str, arguments: str = "", *, session: str = "", model: str = "", agent: str = ""
    ) -> Work[SkillResult]:
        """A skill: go through its events, or await its `result()`."""
        request = ExecuteSkill(name=name, arguments=arguments, session=session, model=model, agent=agent)
        return self._work(request, SkillResult)

    def chat(self, text: str, *, session: str = "", model: str = "", agent: str = "") -> Work[TurnResult]:
        """A message to the agent; the same session goes on with what was said in it."""
        return self._work(Chat(text=text, session=session, model=model, agent=agent), TurnResult)

    async def list_executions(self) -> ExecutionsList:
        return await self.request(ListExecutions(), ExecutionsList)

    async def cancel(self, execution: str) -> Cancelled:
        return await self.request(Cancel(execution=execution), Cancelled)

    async def list_questions(self) -> QuestionsList:
        return await self.request(ListQuestions(), QuestionsList)

    async def answer_question(self, question: str, answer: Verdict) -> QuestionAnswered:
        return await self.request(AnswerQuestion(question=question, answer=answer), QuestionAnswered)

    async def review_skill(self, name: str) -> SkillReview:
        return await self.request(ReviewSkill(name=name), SkillReview)

    async def approve_skill(self, name: str, digest: str) -> SkillDecided:
        """Approve a skill as it was reviewed: the `digest` of its review."""
        return await self.request(ApproveSkill(name=name, digest=digest), SkillDecided)

    async def revoke_skill(self, name: str) -> SkillDecided:
        return await self.request(RevokeSkill(name=name), SkillDecided)

    async def block_skill(self, name: str) -> SkillDecided:
        return await self.request(BlockSkill(name=name), SkillDecided)

    async def enable_skill(self, name: str) -> SkillDecided:
        return await self.request(EnableSkill(name=name), SkillDecided)

    async def get_status(self) -> Status:
        return await self.request(GetStatus(), Status)

    @asynccontextmanager
    async def subscribe(self, *topics: Topic) -> AsyncIterator[Subscription]:
        """Be told of topics until the end of the block: `async for` over what it gives. Raises: ClientError."""
        mailbox = self._wire.listen(frozenset(topics))
        try:
            answer = await self.request(Subscribe(topics=topics), Subscribed)
            yield Subscription(mailbox, answer.generation)
        finally:
            rest = self._wire.unlisten(mailbox)
            if rest and mailbox.failure is None:
                with suppress(ClientError):
                    await self.request(Unsubscribe(topics=tuple(sorted(rest))), Subscribed)

    def _work(self, request: Request, result: type[R]) -> Work[R]:
        names: list[str] = []

        async def begin() -> Mailbox:
            name, mailbox = await self._wire.begin(request)
            names.append(name)
            return mailbox

        return Work(result, begin, self.cancel, lambda: self._wire.forget(names[0]) if names else None)

    def _hear_aside(self, message: Answer) -> None:
        """What comes beside answers: a question about work of ours, its end, or work that nobody waits for any more."""
        if isinstance(message, QuestionAsked) and self._approve is not None:
            question = message.question
            self._asking[question.question] = asyncio.create_task(self._answer(self._approve, question))
        elif isinstance(message, QuestionClosed) and (task := self._asking.pop(message.question, None)):
            task.cancel()  # somebody else was faster, or its time is over
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
                with suppress(ClientError):  # somebody else was faster
                    await self.answer_question(question.question, answer)
