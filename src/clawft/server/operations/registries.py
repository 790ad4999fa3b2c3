"""Places that skills come from: what they have, what would be installed, and installing it as it was shown."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import anyio
import msgspec
from anyio import to_thread
from msgspec import Struct

from clawft.app.app import App
from clawft.app.install import finish_interrupted, open_sources, open_supplies
from clawft.errors import Diagnostic, Refused
from clawft.install.sources.reference import parse_reference
from clawft.install.sources.selection import choose_registries, search_registries
from clawft.install.transaction.installation import InstallChoices, Transaction, open_transaction
from clawft.install.transaction.plan import PlannedSkill
from clawft.install.transaction.resolution import SkillChoice, SkillResolver
from clawft.install.transaction.scanning import ScanProcesses
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import find_site
from clawft.messages import ReportProgress
from clawft.scanner.power_changes import PowerChange
from clawft.server.callers import DaemonCall
from clawft.server.daemon import Daemon, record_request
from clawft.server.protocol import registries as messages
from clawft.server.protocol.base import diagnostic_json, to_problem
from clawft.server.views.details import load_body
from clawft.server.views.install_plans import find_unmet, list_objections, name_plan, planned_json
from clawft.server.views.registries import view_registries, view_registry_hit
from clawft.server.views.review import ScannedSkill, load_texts, scanned_json
from clawft.server.views.skills import digest_of, view_skill


async def list_registries(
    daemon: Daemon, _call: DaemonCall, _request: messages.ListRegistries
) -> messages.RegistriesList:
    app = daemon.app  # whether a token is known may be asked of a keyring: in a thread
    return messages.RegistriesList(registries=await to_thread.run_sync(view_registries, app, limiter=daemon.reading))


async def search_registry(
    daemon: Daemon, _call: DaemonCall, request: messages.SearchRegistry
) -> messages.RegistryFound:
    """Raises: ClawftError."""
    async with open_sources(daemon.app) as sources:
        asked = choose_registries(sources, request.registry)
        searched = await search_registries(sources, asked, request.query, request.limit)
    failed = tuple(
        messages.FailedRegistry(registry=name, problem=to_problem(diagnostic))
        for name, diagnostic in searched.failed.items()
    )
    return messages.RegistryFound(
        query=request.query, results=tuple(map(view_registry_hit, searched.hits)), failed=failed
    )


async def plan_install(daemon: Daemon, call: DaemonCall, request: messages.PlanInstall) -> messages.InstallPlan:
    """Raises: ClawftError."""
    app = daemon.app.copy().refresh()
    work = _Work(app, request.reference, request.scope, _teller(call))
    return await to_thread.run_sync(work.plan, limiter=daemon.installing)


async def install_skill(daemon: Daemon, call: DaemonCall, request: messages.InstallSkill) -> messages.SkillInstalled:
    """Raises: Refused for what speaks against it, and for what is not as it was planned; ClawftError."""
    app = daemon.app.copy().refresh()
    work = _Work(app, request.reference, request.scope, _teller(call))
    placed = await to_thread.run_sync(work.install, request.plan, call, limiter=daemon.installing)
    generation = await daemon.registry.live.refresh()
    found = [skill for skill in generation.app.skills if skill.found.folder in placed.folders]
    described = await to_thread.run_sync(lambda: [view_skill(status, digest_of(status)) for status in found])
    return messages.SkillInstalled(
        skills=tuple(described), generation=generation.number, diagnostics=tuple(map(to_problem, placed.notes))
    )


def _teller(call: DaemonCall) -> ReportProgress:
    """Tells a client how far it is, from any thread, when there is something new to tell."""
    loop, last_sent = asyncio.get_running_loop(), [(0, 0)]

    def tell(done: int, total: int) -> None:
        if last_sent[0] != (done, total):
            last_sent[0] = (done, total)
            loop.call_soon_threadsafe(call.send, messages.InstallProgress(done=done, total=total))

    return tell


class _Placed(Struct, frozen=True):
    """The result of an installation: its folders and diagnostics."""

    folders: frozenset[str]
    notes: tuple[Diagnostic, ...]


class _Work(Struct, frozen=True):
    """One installation, from the reference to its end, in a thread: as `weft skills install` does it."""

    app: App
    reference: str
    scope: Literal["user", "project"]
    tell: ReportProgress

    def plan(self) -> messages.InstallPlan:
        """Raises: ClawftError."""
        with self._begin() as transaction:
            plans = self._look(transaction)
            objections = list_objections((plan.name, plan.objections) for plan in plans)
            return messages.InstallPlan(
                reference=self.reference,
                scope=self.scope,
                plan=name_plan(transaction, plans),
                skills=tuple(self._describe(transaction, plan) for plan in plans),
                refused=tuple(map(to_problem, objections)),
            )

    def install(self, plan: str, call: DaemonCall) -> _Placed:
        """Raises: Refused; ClawftError."""
        diagnostics = finish_interrupted(self.app)
        with self._begin() as transaction:
            plans = self._look(transaction)
            for objection in list_objections((plan.name, plan.objections) for plan in plans)[:1]:
                raise Refused(
                    objection.code,
                    objection.message,
                    path=objection.path,
                    hint=objection.hint or "Nothing was installed",
                )
            if name_plan(transaction, plans) != plan:
                message = f"'{self.reference[:80]}' is not what it was when it was looked at"
                raise Refused("install-changed", message, hint="Look at it again, then decide")
            self.app.audit.by = call.caller.name
            with record_request(self.app, call, f"install {self.reference}", detail={"plan": plan}):
                more = transaction.commit(plans, InstallChoices())
            folders = {transaction.site.folder(client, plan.name) for plan in plans for client in plan.to}
        return _Placed(frozenset(folders), (*diagnostics, *more))

    def _begin(self) -> AbstractContextManager[Transaction]:
        site = find_site(self.app.workspace, self.scope)
        return open_transaction(f"install {self.reference}"[:200], site, (), open_supplies(self.app))

    def _look(self, transaction: Transaction) -> Sequence[PlannedSkill]:
        with ScanProcesses(1, self.app.scan_dir) as scans:
            return transaction.plan(anyio.run(self._stage, transaction, scans), InstallChoices())

    async def _stage(self, transaction: Transaction, scans: ScanProcesses) -> list[StagedSkill]:
        workspace = self.app.workspace
        async with open_sources(self.app) as sources:
            reference = parse_reference(self.reference, sources.registries, workspace.cwd, workspace.home)
            asking = SkillResolver(sources, scans, lambda: self.app.catalog.versions)
            return await asking.stage(transaction, [reference], SkillChoice(), self.tell)

    def _describe(self, transaction: Transaction, one: PlannedSkill) -> dict[str, Any]:
        review = one.review
        more = {
            "unmet": [diagnostic_json(need) for need in find_unmet(self.app, one)],
            "scan": scanned_json(ScannedSkill(review.report, review.undeclared, (), PowerChange())),
            "body": load_body(self.app, review.found),
        }
        fields: dict[str, Any] = msgspec.to_builtins(planned_json(transaction, one) | more)
        fields["review"]["texts"] = load_texts(review.found.folder)
        return fields
