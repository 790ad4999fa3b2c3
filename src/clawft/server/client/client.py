"""The Python client of the daemon: a method for each operation, over one `request`."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext
from typing import Any, Protocol, TypeVar

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
from clawft.server.protocol.envelope import DaemonAnswer, DaemonRequest, Refusal
from clawft.server.protocol.executions import (
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
from clawft.server.protocol.operations import PUSHED
from clawft.server.protocol.records import (
    AnswerRun,
    AuditList,
    AuditVerdict,
    CancelRun,
    GetRun,
    GetSession,
    GetUsage,
    ListAudit,
    ListRuns,
    ListSessions,
    RetryRun,
    RunAnswer,
    RunsList,
    RunStarted,
    RunStatus,
    SessionAnswer,
    SessionsList,
    StartRun,
    UsageAnswer,
    VerifyAudit,
)
from clawft.server.protocol.registries import (
    InstallPlan,
    InstallSkill,
    ListRegistries,
    PlanInstall,
    RegistriesList,
    RegistryFound,
    SearchRegistry,
    SkillInstalled,
)
from clawft.server.protocol.skills import (
    ApproveSkill,
    BlockSkill,
    EnableSkill,
    GetSkill,
    GetSkillFile,
    ListSkills,
    ReviewSkill,
    RevokeSkill,
    ScanResult,
    ScanSkill,
    SearchSkills,
    SkillAnswer,
    SkillDecided,
    SkillFile,
    SkillReview,
    SkillsFound,
    SkillsList,
    State,
)
from clawft.server.protocol.subscriptions import GetStatus, Status, Subscribe, Subscribed, Topic, Unsubscribe

A = TypeVar("A", bound=DaemonAnswer)


class _Asks(Protocol):
    async def request(self, request: DaemonRequest, answer: type[A]) -> A: ...


class AdminMethods:
    """Methods of the client. Those with `**more` take the other fields of their request by name."""

    async def list_sessions(self: _Asks, search: str = "", **more: Any) -> SessionsList:
        return await self.request(ListSessions(search=search, **more), SessionsList)

    async def get_session(self: _Asks, key: str, start: int = 0, limit: int = 200) -> SessionAnswer:
        return await self.request(GetSession(key=key, start=start, limit=limit), SessionAnswer)

    async def list_runs(self: _Asks, statuses: Sequence[RunStatus] = (), **more: Any) -> RunsList:
        return await self.request(ListRuns(statuses=tuple(statuses), **more), RunsList)

    async def get_run(self: _Asks, run: str) -> RunAnswer:
        return await self.request(GetRun(run=run), RunAnswer)

    async def start_run(self: _Asks, skill: str = "", text: str = "", **more: Any) -> RunStarted:
        """A skill with its arguments, or a message: it goes on when this client is gone."""
        return await self.request(StartRun(skill=skill, text=text, **more), RunStarted)

    async def cancel_run(self: _Asks, run: str) -> RunAnswer:
        return await self.request(CancelRun(run=run), RunAnswer)

    async def retry_run(self: _Asks, run: str) -> RunAnswer:
        return await self.request(RetryRun(run=run), RunAnswer)

    async def answer_run(self: _Asks, run: str, key: str, answer: Any) -> RunAnswer:
        """Answer a question that a run waits for: one of its `choices`."""
        return await self.request(AnswerRun(run=run, key=key, answer=answer), RunAnswer)

    async def get_usage(self: _Asks, since: str = "", until: str = "", limit: int = 50) -> UsageAnswer:
        return await self.request(GetUsage(since=since, until=until, limit=limit), UsageAnswer)

    async def list_audit(self: _Asks, **more: Any) -> AuditList:
        return await self.request(ListAudit(**more), AuditList)

    async def verify_audit(self: _Asks) -> AuditVerdict:
        return await self.request(VerifyAudit(), AuditVerdict)

    async def list_registries(self: _Asks) -> RegistriesList:
        return await self.request(ListRegistries(), RegistriesList)

    async def search_registry(self: _Asks, query: str, registry: str = "", limit: int = 20) -> RegistryFound:
        return await self.request(SearchRegistry(query=query, registry=registry, limit=limit), RegistryFound)

    async def plan_install(self: _Asks, reference: str, **more: Any) -> InstallPlan:
        return await self.request(PlanInstall(reference=reference, **more), InstallPlan)

    async def install_skill(self: _Asks, reference: str, plan: str, **more: Any) -> SkillInstalled:
        """Install what was planned: the `plan` of `plan_install`."""
        return await self.request(InstallSkill(reference=reference, plan=plan, **more), SkillInstalled)


Approve = Callable[[Question], Awaitable[Verdict]]
TIMEOUT_S = 60.0


class Client(AdminMethods):
    """A connection to a daemon. Many requests can go on at a time."""

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
        """The same to the user's own daemon on this machine. Raises: ClientError."""
        url, token = find_local_daemon(environ, os.getcwd())
        async with cls.connect(url, token, approve=approve, timeout_s=timeout_s, tls=tls) as client:
            yield client

    async def request(self, request: DaemonRequest, answer: type[A]) -> A:
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

    async def _take(self, mailbox: Mailbox) -> DaemonAnswer:
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
        """Subscribe to topics until the end of the block: iterate over the result with `async for`. Raises:
        ClientError."""
        mailbox = self._wire.listen(frozenset(topics))
        try:
            answer = await self.request(Subscribe(topics=topics), Subscribed)
            yield Subscription(mailbox, answer.generation)
        finally:
            rest = self._wire.unlisten(mailbox)
            if rest and mailbox.failure is None:
                with suppress(ClientError):
                    await self.request(Unsubscribe(topics=tuple(sorted(rest))), Subscribed)

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
