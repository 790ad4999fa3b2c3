"""Operations on executions and questions, subscriptions, and the daemon's status."""

from anyio import to_thread

from clawft import __version__
from clawft.errors import ClawftError
from clawft.server.callers import DaemonCall, Subscriptions
from clawft.server.daemon import Daemon, Subsystem
from clawft.server.executions import ExecutionRequest
from clawft.server.protocol.envelope import copy_fields, to_problem
from clawft.server.protocol.executions import (
    AnswerQuestion,
    Cancel,
    Cancelled,
    Chat,
    ExecuteSkill,
    ExecutionsList,
    ListExecutions,
    ListQuestions,
    QuestionAnswered,
    QuestionsList,
    SkillResult,
    TurnResult,
)
from clawft.server.protocol.subscriptions import (
    GetStatus,
    Status,
    Subscribe,
    Subscribed,
    SubsystemHealth,
    Topic,
    Unsubscribe,
)


async def execute_skill(daemon: Daemon, call: DaemonCall, request: ExecuteSkill) -> SkillResult:
    app = (await daemon.registry.live.refresh()).app  # what was just decided, or turned off, counts
    # An unknown skill is refused before anything begins; the close match is searched in a thread: it takes long.
    await to_thread.run_sync(app.get_skill, request.name)
    work = copy_fields(ExecutionRequest, request, text=request.arguments, skill=request.name)
    return copy_fields(SkillResult, await daemon.executions.run(call, work))


async def chat(daemon: Daemon, call: DaemonCall, request: Chat) -> TurnResult:
    await daemon.registry.live.refresh()
    return copy_fields(TurnResult, await daemon.executions.run(call, copy_fields(ExecutionRequest, request)))


async def cancel(daemon: Daemon, call: DaemonCall, request: Cancel) -> Cancelled:
    daemon.executions.cancel(call.caller, request.execution)
    return Cancelled(execution=request.execution)


async def list_executions(daemon: Daemon, call: DaemonCall, _request: ListExecutions) -> ExecutionsList:
    return ExecutionsList(
        executions=tuple(entry for entry in daemon.executions.entries if call.caller.owns(entry.caller))
    )


async def list_questions(daemon: Daemon, _call: DaemonCall, _request: ListQuestions) -> QuestionsList:
    return QuestionsList(questions=daemon.questions.waiting)


async def answer_question(daemon: Daemon, call: DaemonCall, request: AnswerQuestion) -> QuestionAnswered:
    daemon.questions.answer(call.caller, request.question, request.answer)
    return QuestionAnswered(question=request.question, answer=request.answer)


async def subscribe(daemon: Daemon, call: DaemonCall, request: Subscribe) -> Subscribed:
    """Raises: Refused for what the caller may not hear of: then nothing is changed."""
    subscriptions = _subscriptions(call)
    subscriptions.add(request.topics)
    return _subscribed(daemon, subscriptions.topics)


async def unsubscribe(daemon: Daemon, call: DaemonCall, request: Unsubscribe) -> Subscribed:
    subscriptions = _subscriptions(call)
    subscriptions.remove(request.topics)
    return _subscribed(daemon, subscriptions.topics)


def _subscriptions(call: DaemonCall) -> Subscriptions:
    if call.subscriptions is None:
        raise ClawftError("request-invalid", "Only a connection that stays can subscribe", hint="GET /api/v1/events")
    return call.subscriptions


def _subscribed(daemon: Daemon, topics: tuple[Topic, ...]) -> Subscribed:
    return Subscribed(topics=topics, generation=daemon.registry.live.current.number)


async def get_status(daemon: Daemon, call: DaemonCall, _request: GetStatus) -> Status:
    await daemon.registry.live.refresh()
    app, live, entries = daemon.app, daemon.registry.live, daemon.executions.entries
    return Status(
        version=__version__,
        started=daemon.started,
        generation=live.current.number,
        skills=len(app.skills),
        watching=live.watching,
        project=app.workspace.project,
        model=app.config.agents.defaults.model,
        subsystems=tuple(map(view_health, daemon.subsystems)),
        executions=sum(not entry.waiting for entry in entries),
        waiting=sum(entry.waiting for entry in entries),
        questions=len(daemon.questions.waiting),
        you=call.caller.name,
        scopes=tuple(sorted(call.caller.scopes)),
    )


def view_health(subsystem: Subsystem) -> SubsystemHealth:
    problem = subsystem.check()
    return SubsystemHealth(name=subsystem.name, problem=to_problem(problem) if problem else None)
