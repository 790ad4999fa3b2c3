"""The daemon itself: its parts, started in order and ended in reverse, for whichever way people come in."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from anyio import CapacityLimiter

from clawft.app import App
from clawft.config.serve import ServeSettings
from clawft.errors import Diagnostic
from clawft.protocol.base import Answer, Request
from clawft.protocol.operations import find_operation
from clawft.protocol.running import Question, Verdict
from clawft.reloading import LiveRuntimes
from clawft.serve.background import BackgroundRuns
from clawft.serve.caller import Call, Caller
from clawft.serve.executions import Executions
from clawft.serve.questions import Questions
from clawft.serve.registry import SkillRegistry
from clawft.serve.topics import Topics
from clawft.trust.audit import Entry
from clawft.trust.audit.log import More

__all__ = ["Daemon", "Handler", "Subsystem", "open_daemon", "record_request"]

_READERS = 2  # threads that read what can be long: conversations, the audit log, what the scanner says of a skill
_INSTALLERS = 2  # that download, and scan any folder


class Subsystem(Protocol):
    """A part that lives as long as the daemon."""

    @property
    def name(self) -> str: ...

    def check(self) -> Diagnostic | None:
        """What is wrong with it now."""


class Daemon:
    """What every front end works with. `started` is when it began; `reading` and `installing` are room for threads."""

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

    def _note_answer(self, caller: Caller, asked: Question, answer: Verdict) -> None:
        """Raises: Refused for a yes that cannot be written down."""
        is_no = answer == "no"
        note, decision = (self.app.audit.tell, "denied") if is_no else (self.app.audit.write, "allowed")
        detail = {"by": caller.name, "tool": asked.tool, "execution": asked.execution, "call": asked.call}
        subject, about = f"answer {answer}: {asked.text}", {"skill": asked.skill, "session": asked.session}
        note("serve", subject, decision=decision, rule=caller.described, detail=detail, **about)

    async def answer(self, call: Call, request: Request) -> Answer:
        """Do what a client asks for, if it may. Raises: ClawftError."""
        from clawft.serve.operations import HANDLERS  # they know the daemon

        operation = find_operation(request)
        call.caller.need(operation.scope)
        return await HANDLERS[operation.request](self, call, request)


@contextmanager
def record_request(
    app: App,
    call: Call,
    subject: str,
    *,
    decision: str = "allowed",
    session: str = "",
    detail: Mapping[str, object] = {},
) -> Iterator[None]:
    """Write down what a caller has done in the block, before it is done; if that fails, a second line says so.

    Raises: Refused for what gives power and cannot be written down.
    """
    about: More = {"rule": call.caller.described, "session": session, "detail": {"by": call.caller.name, **detail}}
    line = Entry("serve", subject, decision, about)
    with app.audit.last_step([line], must=decision == "allowed") as write:
        write()
        yield


# What does one kind of request, for a daemon and a call.
Handler = Callable[[Daemon, Call, Any], Awaitable[Answer]]


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
