"""What only whoever may do everything asks for: sessions, background runs, usage, the audit log, and registries."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from clawft.protocol.audit import AuditList, AuditVerdict, ListAudit, VerifyAudit
from clawft.protocol.base import Answer, Request
from clawft.protocol.registries import (
    InstallPlan,
    InstallSkill,
    ListRegistries,
    PlanInstall,
    RegistriesList,
    RegistryFound,
    SearchRegistry,
    SkillInstalled,
)
from clawft.protocol.runs import (
    AnswerRun,
    CancelRun,
    GetRun,
    ListRuns,
    RetryRun,
    RunAnswer,
    RunsList,
    RunStarted,
    RunStatus,
    StartRun,
)
from clawft.protocol.sessions import GetSession, ListSessions, SessionAnswer, SessionsList
from clawft.protocol.usage import GetUsage, UsageAnswer

__all__ = ["AdminMethods"]

A = TypeVar("A", bound=Answer)


class _Asks(Protocol):
    async def request(self, request: Request, answer: type[A]) -> A: ...


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
