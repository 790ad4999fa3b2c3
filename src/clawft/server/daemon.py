"""The daemon: its subsystems (skill registry, background runs), started in order and stopped in reverse."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from msgspec import Raw, structs

from clawft.app.app import App
from clawft.app.jobs import open_app_runs
from clawft.config.jobs import RunsSettings
from clawft.config.serve import ServeSettings
from clawft.errors import ClawftError, Diagnostic
from clawft.files import encode_json
from clawft.jobs import is_installed, is_used, missing
from clawft.server.callers import DaemonCall, DaemonCaller, Topics
from clawft.server.executions import Executions, Questions
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, to_problem
from clawft.server.protocol.executions import Question, Verdict
from clawft.server.protocol.operations import find_operation
from clawft.server.protocol.records import RunEntry, RunsChanged
from clawft.server.protocol.skills import SkillsList, SkillSummary
from clawft.server.protocol.subscriptions import SkillsChanged
from clawft.server.reload import Generation, LiveRuntimes, LiveSkills
from clawft.server.views.runs import view_run
from clawft.server.views.skills import digest_of, view_skill
from clawft.skills.discovery.digest import Digest
from clawft.trust.audit import AuditEntry
from clawft.trust.audit.log import AuditFields
from clawft.trust.status import SkillStatus

if TYPE_CHECKING:
    from clawft.jobs.runs import Runs


@asynccontextmanager
async def run_in_background(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Do the work until the block ends. What goes wrong in the block is raised as it is, not as a part of a group."""
    wrong: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        try:
            yield
        except Exception as error:
            wrong = error
        finally:
            group.cancel_scope.cancel()
    if wrong is not None:
        raise wrong


_NAMED = b'{"type":"skills_list","id":%b'
_NAMELESS = _NAMED % b'""'


class EncodedSkills:
    """The skills of one generation, as summaries and as the encoded bytes of an answer."""

    def __init__(self, generation: Generation, skills: tuple[SkillSummary, ...]) -> None:
        app = generation.app
        self.number = generation.number
        self.skills = skills
        diagnostics = (*app.config.diagnostics, *app.catalog.diagnostics)
        self.answer = SkillsList(
            generation=generation.number, skills=skills, diagnostics=tuple(map(to_problem, diagnostics))
        )
        self.encoded = Raw(encode_json(self.answer))


class SkillRegistry:
    """The daemon's skills. `live` holds the generation that is current; readers take it once."""

    name = "skills"

    def __init__(self, app: App, topics: Topics) -> None:
        self.live = LiveSkills(app)
        self._topics = topics
        self._described: EncodedSkills | None = None
        self._describing = anyio.Lock()
        self._digests: dict[str, tuple[object, Digest]] = {}

    @property
    def app(self) -> App:
        """Everything as it was read last."""
        return self.live.current.app

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read the skills, then follow what changes on disk until the block ends. Raises: ClawftError."""
        await self.live.open()
        forget = self.live.subscribe(self._tell)
        async with run_in_background(self.live.run):
            try:
                yield
            finally:
                forget()

    def check(self) -> Diagnostic | None:
        """Return the reason why the served skills may be older than those on disk, as a warning: they are served all
        the same."""
        failure = self.live.failure
        return structs.replace(failure, severity="warning") if failure else None

    async def describe(self) -> EncodedSkills:
        """Return the summaries of the current skills; made once for each generation."""
        await self.live.refresh()
        async with self._describing:
            current = self.live.current
            if self._described is None or self._described.number != current.number:
                self._described = await to_thread.run_sync(self._describe, current)
            return self._described

    def encode(self, answer: DaemonAnswer, request: str = "") -> bytes:
        """An answer with the id of its request. The list of all skills, which is large, is not encoded anew."""
        described = self._described
        if described is None or answer is not described.answer:
            return encode_json(structs.replace(answer, id=request) if request else answer)
        if not request:
            return bytes(described.encoded)
        return _NAMED % encode_json(request) + memoryview(described.encoded)[len(_NAMELESS) :]

    def _describe(self, generation: Generation) -> EncodedSkills:
        statuses = sorted(generation.app.skills, key=lambda one: one.name)
        before, self._digests = self._digests, {}
        return EncodedSkills(generation, tuple(view_skill(status, self._digest(status, before)) for status in statuses))

    def _digest(self, status: SkillStatus, before: dict[str, tuple[object, Digest]]) -> Digest:
        """Taken again only of what was read again."""
        found = status.found
        known = before.get(found.file)
        digest = known[1] if known is not None and known[0] is found else digest_of(status)
        self._digests[found.file] = (found, digest)
        return digest

    def _tell(self, change: SkillsChanged) -> None:
        self._topics.publish("skills", change)


POLL_S = 1.0  # between two looks at the database, while there are subscribers
_NEWEST = 100  # runs that are looked at
_AT_ONCE = 4  # threads that use the database
_UNUSED = Diagnostic("runs-unused", "note", "No runs yet", hint="Start one: weft agent --background -m TEXT")

R = TypeVar("R")


class BackgroundRuns:
    """A subsystem of the daemon."""

    name = "runs"

    def __init__(self, load_app: Callable[[], App], topics: Topics) -> None:
        self._load_app = load_app
        self._topics = topics
        self._room = CapacityLimiter(_AT_ONCE)
        self._opening = threading.Lock()
        self._opened: tuple[RunsSettings, Runs] | None = None
        self._seen: dict[str, RunEntry] = {}
        self._soon = anyio.Event()
        self._problem: Diagnostic | None = None

    def check(self) -> Diagnostic | None:
        return self._problem

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Tell subscribers of changes until the block ends."""
        try:
            async with run_in_background(self._watch):
                yield
        finally:
            if self._opened is not None:
                self._opened[1].close()

    def why_unavailable(self) -> Diagnostic | None:
        """Return the reason why there can be no runs here: the part is not installed, or no run was ever started."""
        if not is_installed():
            return missing().diagnostic
        app = self._load_app()
        return None if is_used(app.own_config.runs, app.workspace.user_dir) else _UNUSED

    async def use(self, work: "Callable[[Runs], R]") -> R:
        """Do something with the runs, in a thread. Raises: ClawftError."""
        return await to_thread.run_sync(lambda: work(self._open()), limiter=self._room)

    def refresh_soon(self) -> None:
        """Look for changes at once, so that subscribers need not wait for the next poll."""
        self._soon.set()

    def _open(self) -> "Runs":
        """Raises: ClawftError."""
        app = self._load_app()
        settings = app.own_config.runs
        with self._opening:
            if self._opened is None or self._opened[0] != settings:
                before, self._opened = self._opened, (settings, open_app_runs(app))
                if before is not None:
                    before[1].close()
            return self._opened[1]

    async def _watch(self) -> None:
        while True:
            with anyio.move_on_after(POLL_S):
                await self._soon.wait()
            self._soon = anyio.Event()
            if not self._topics.has_listeners("runs"):
                self._seen = {}
            elif self.why_unavailable() is None:
                try:
                    self._tell(await self.use(_look))
                    self._problem = None
                except ClawftError as error:  # a database that is away may come back
                    self._problem = error.diagnostic

    def _tell(self, looked: tuple[dict[str, RunEntry], dict[str, int]]) -> None:
        now, counts = looked
        changed = tuple(entry for key, entry in now.items() if self._seen.get(key) != entry)
        self._seen = now
        if changed:
            self._topics.publish("runs", RunsChanged(runs=changed, counts=counts))


def _look(runs: "Runs") -> tuple[dict[str, RunEntry], dict[str, int]]:
    """The newest runs and those that are not over, as they are now."""
    questions = runs.store.questions()
    found = (*runs.store.list(limit=_NEWEST), *runs.store.list(statuses=("running", "waiting"), limit=_NEWEST))
    return {run.id: view_run(run, questions) for run in found}, runs.store.counts()


_READERS = 2  # threads that read what can be long: conversations, the audit log, what the scanner says of a skill
_INSTALLERS = 2  # that download, and scan any folder


class Subsystem(Protocol):
    """A part that lives as long as the daemon."""

    @property
    def name(self) -> str: ...

    def check(self) -> Diagnostic | None:
        """Return the current problem of this part, or None."""


class Daemon:
    """The state that every front end works with. `started` is when it began; `reading` and `installing` limit
    threads."""

    def __init__(self, app: App, settings: ServeSettings) -> None:
        self.settings = settings
        self.started = datetime.now(UTC).isoformat(timespec="seconds")
        self.topics = Topics()
        self.registry = SkillRegistry(app, self.topics)
        self.runtimes = LiveRuntimes(self.registry.live)
        self.questions = Questions(self.topics, settings.approval_timeout_s, self._note_answer)
        self.executions = Executions(
            self.runtimes.use,
            lambda name: self.registry.app.choose_agent(name),
            self.questions,
            self.topics,
            settings.limits,
        )
        self.runs = BackgroundRuns(lambda: self.registry.app, self.topics)
        self.reading = CapacityLimiter(_READERS)
        self.installing = CapacityLimiter(_INSTALLERS)

    @property
    def app(self) -> App:
        """Everything as it was read last: taken once for whatever is done with it."""
        return self.registry.app

    @property
    def subsystems(self) -> tuple[Subsystem, ...]:
        return (self.registry, self.questions, self.executions, self.runs)

    def _note_answer(self, caller: DaemonCaller, asked: Question, answer: Verdict) -> None:
        """Raises: Refused for a yes that cannot be written down."""
        is_no = answer == "no"
        note, decision = (self.app.audit.tell, "deny") if is_no else (self.app.audit.write, "allow")
        detail = {"by": caller.name, "tool": asked.tool, "execution": asked.execution, "call": asked.call}
        subject, about = f"answer {answer}: {asked.text}", {"skill": asked.skill, "session": asked.session}
        note("serve", subject, decision=decision, rule=caller.described, detail=detail, **about)

    async def answer(self, call: DaemonCall, request: DaemonRequest) -> DaemonAnswer:
        """Do what a client asks for, if it may. Raises: ClawftError."""
        from clawft.server.operations import HANDLERS  # they know the daemon

        operation = find_operation(request)
        call.caller.need(operation.scope)
        return await HANDLERS[operation.request](self, call, request)


@contextmanager
def record_request(
    app: App,
    call: DaemonCall,
    subject: str,
    *,
    decision: str = "allow",
    session: str = "",
    detail: Mapping[str, object] = {},
) -> Iterator[None]:
    """Write down what a caller has done in the block, before it is done; if that fails, a second line says so.

    Raises: Refused for what gives power and cannot be written down.
    """
    about: AuditFields = {
        "rule": call.caller.described,
        "session": session,
        "detail": {"by": call.caller.name, **detail},
    }
    line = AuditEntry("serve", subject, decision, about)
    with app.audit.last_step([line], must=decision == "allow") as write:
        write()
        yield


# What does one kind of request, for a daemon and a call.
Handler = Callable[[Daemon, DaemonCall, Any], Awaitable[DaemonAnswer]]


@asynccontextmanager
async def open_daemon(app: App, settings: ServeSettings) -> AsyncIterator[Daemon]:
    """A daemon at work; what goes on when the block ends has `drain_s` to end too. Raises: ClawftError."""
    daemon = Daemon(app, settings)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(daemon.registry.running())
        stack.push_async_callback(daemon.runtimes.close)
        await stack.enter_async_context(daemon.runs.running())
        try:
            yield daemon
        finally:
            daemon.questions.close()
            await daemon.executions.drain(settings.drain_s)
