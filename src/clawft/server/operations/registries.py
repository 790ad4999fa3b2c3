"""Places that skills come from: what they have, what would be installed, and installing it as it was shown."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import anyio
import msgspec
from anyio import to_thread
from msgspec import Struct

from clawft.app import App
from clawft.describe.detail import load_body
from clawft.describe.diagnostics import to_json
from clawft.describe.plans import find_unmet, list_objections, name_plan, planned_json
from clawft.describe.registries import describe_hit, describe_registries
from clawft.describe.reviews import load_texts
from clawft.describe.scanned import ScannedSkill, scanned_json
from clawft.describe.skills import describe_skill, digest_of
from clawft.errors import Diagnostic, Refused
from clawft.protocol.base import Request, to_problem
from clawft.protocol.registries import (
    FailedRegistry,
    InstallPlan,
    InstallProgress,
    InstallSkill,
    ListRegistries,
    PlanInstall,
    RegistriesList,
    RegistryFound,
    SearchRegistry,
    SkillInstalled,
)
from clawft.scan.compare import PowerChange
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler, record_request
from clawft.sources.reference import parse_reference
from clawft.sources.searching import choose_registries, search_registries
from clawft.supply.asking import Asking
from clawft.supply.choosing import Choice
from clawft.supply.install import Options, Transaction, begin
from clawft.supply.plan import Planned
from clawft.supply.scanning import Scans
from clawft.supply.stage import Staged
from clawft.supply.targets import find_site
from clawft.supplying import finish_broken, open_sources, open_supplies

__all__ = ["HANDLERS"]

Tell = Callable[[int, int], None]


async def list_registries(daemon: Daemon, _call: Call, _request: ListRegistries) -> RegistriesList:
    app = daemon.app  # whether a token is known may be asked of a keyring: in a thread
    return RegistriesList(registries=await to_thread.run_sync(describe_registries, app, limiter=daemon.reading))


async def search_registry(daemon: Daemon, _call: Call, request: SearchRegistry) -> RegistryFound:
    """Raises: ClawftError."""
    async with open_sources(daemon.app) as sources:
        asked = choose_registries(sources, request.registry)
        searched = await search_registries(sources, asked, request.query, request.limit)
    failed = tuple(FailedRegistry(registry=name, problem=to_problem(one)) for name, one in searched.failed.items())
    return RegistryFound(query=request.query, results=tuple(map(describe_hit, searched.hits)), failed=failed)


async def plan_install(daemon: Daemon, call: Call, request: PlanInstall) -> InstallPlan:
    """Raises: ClawftError."""
    app = daemon.app.reopen()
    work = _Work(app, request.reference, request.scope, _teller(call))
    return await to_thread.run_sync(work.plan, limiter=daemon.installing)


async def install_skill(daemon: Daemon, call: Call, request: InstallSkill) -> SkillInstalled:
    """Raises: Refused for what speaks against it, and for what is not as it was planned; ClawftError."""
    app = daemon.app.reopen()
    work = _Work(app, request.reference, request.scope, _teller(call))
    placed = await to_thread.run_sync(work.install, request.plan, call, limiter=daemon.installing)
    generation = await daemon.registry.live.refresh()
    found = [one for one in generation.app.skills if one.found.folder in placed.folders]
    described = await to_thread.run_sync(lambda: [describe_skill(one, digest_of(one)) for one in found])
    return SkillInstalled(
        skills=tuple(described), generation=generation.number, diagnostics=tuple(map(to_problem, placed.said))
    )


def _teller(call: Call) -> Tell:
    """Tells a client how far it is, from any thread, when there is something new to tell."""
    loop, told = asyncio.get_running_loop(), [(0, 0)]

    def tell(done: int, total: int) -> None:
        if told[0] != (done, total):
            told[0] = (done, total)
            loop.call_soon_threadsafe(call.send, InstallProgress(done=done, total=total))

    return tell


class _Placed(Struct, frozen=True):
    """What was installed: the folders, and what there is to say."""

    folders: frozenset[str]
    said: tuple[Diagnostic, ...]


class _Work(Struct, frozen=True):
    """One installation, from the reference to its end, in a thread: as `weft skills install` does it."""

    app: App
    reference: str
    scope: Literal["user", "project"]
    tell: Tell

    def plan(self) -> InstallPlan:
        """Raises: ClawftError."""
        with self._begin() as transaction:
            plans = self._look(transaction)
            objections = list_objections((one.name, one.objections) for one in plans)
            return InstallPlan(
                reference=self.reference,
                scope=self.scope,
                plan=name_plan(transaction, plans),
                skills=tuple(self._describe(transaction, one) for one in plans),
                refused=tuple(map(to_problem, objections)),
            )

    def install(self, plan: str, call: Call) -> _Placed:
        """Raises: Refused; ClawftError."""
        said = finish_broken(self.app)
        with self._begin() as transaction:
            plans = self._look(transaction)
            for one in list_objections((one.name, one.objections) for one in plans)[:1]:
                raise Refused(one.code, one.message, path=one.path, hint=one.hint or "Nothing was installed")
            if name_plan(transaction, plans) != plan:
                message = f"'{self.reference[:80]}' is not what it was when it was looked at"
                raise Refused("install-changed", message, hint="Look at it again, then decide")
            self.app.audit.by = call.caller.name
            with record_request(self.app, call, f"install {self.reference}", detail={"plan": plan}):
                more = transaction.commit(plans, Options())
            folders = {transaction.site.folder(client, one.name) for one in plans for client in one.to}
        return _Placed(frozenset(folders), (*said, *more))

    def _begin(self) -> AbstractContextManager[Transaction]:
        site = find_site(self.app.workspace, self.scope)
        return begin(f"install {self.reference}"[:200], site, (), open_supplies(self.app))

    def _look(self, transaction: Transaction) -> Sequence[Planned]:
        with Scans(1, self.app.scan_dir) as scans:
            return transaction.plan(anyio.run(self._stage, transaction, scans), Options())

    async def _stage(self, transaction: Transaction, scans: Scans) -> list[Staged]:
        workspace = self.app.workspace
        async with open_sources(self.app) as sources:
            reference = parse_reference(self.reference, sources.registries, workspace.cwd, workspace.home)
            asking = Asking(sources, scans, lambda: self.app.catalog.versions)
            return await asking.stage(transaction, [reference], Choice(), self.tell)

    def _describe(self, transaction: Transaction, one: Planned) -> dict[str, Any]:
        review = one.review
        more = {
            "unmet": [to_json(need) for need in find_unmet(self.app, one)],
            "scan": scanned_json(ScannedSkill(review.report, review.undeclared, (), PowerChange())),
            "body": load_body(self.app, review.found),
        }
        fields: dict[str, Any] = msgspec.to_builtins(planned_json(transaction, one) | more)
        fields["review"]["texts"] = load_texts(review.found.folder)
        return fields


HANDLERS: dict[type[Request], Handler] = {
    ListRegistries: list_registries,
    SearchRegistry: search_registry,
    PlanInstall: plan_install,
    InstallSkill: install_skill,
}
