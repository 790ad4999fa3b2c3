"""Operations on executions and questions, subscriptions, and the daemon's status."""

from anyio import to_thread

from clawft import __version__
from clawft.errors import ClawftError
from clawft.server.callers import DaemonCall, Subscriptions
from clawft.server.daemon import Daemon, Subsystem
from clawft.server.executions import ExecutionRequest
from clawft.server.protocol import executions as messages
from clawft.server.protocol import subscriptions
from clawft.server.protocol.base import copy_fields, to_problem


async def execute_skill(daemon: Daemon, call: DaemonCall, request: messages.ExecuteSkill) -> messages.SkillResult:
    app = (await daemon.registry.live.refresh()).app  # what was just decided, or turned off, counts
    # An unknown skill is refused before anything begins; the close match is searched in a thread: it takes long.
    await to_thread.run_sync(app.get_skill, request.name)
    work = copy_fields(ExecutionRequest, request, text=request.arguments, skill=request.name)
    return copy_fields(messages.SkillResult, await daemon.executions.run(call, work))


async def chat(daemon: Daemon, call: DaemonCall, request: messages.Chat) -> messages.TurnResult:
    await daemon.registry.live.refresh()
    return copy_fields(messages.TurnResult, await daemon.executions.run(call, copy_fields(ExecutionRequest, request)))


async def cancel(daemon: Daemon, call: DaemonCall, request: messages.Cancel) -> messages.Cancelled:
    daemon.executions.cancel(call.caller, request.execution)
    return messages.Cancelled(execution=request.execution)


async def list_executions(
    daemon: Daemon, call: DaemonCall, _request: messages.ListExecutions
) -> messages.ExecutionsList:
    return messages.ExecutionsList(
        executions=tuple(entry for entry in daemon.executions.entries if call.caller.owns(entry.caller))
    )


async def list_questions(daemon: Daemon, _call: DaemonCall, _request: messages.ListQuestions) -> messages.QuestionsList:
    return messages.QuestionsList(questions=daemon.questions.waiting)


async def answer_question(
    daemon: Daemon, call: DaemonCall, request: messages.AnswerQuestion
) -> messages.QuestionAnswered:
    daemon.questions.answer(call.caller, request.question, request.answer)
    return messages.QuestionAnswered(question=request.question, answer=request.answer)


async def subscribe(daemon: Daemon, call: DaemonCall, request: subscriptions.Subscribe) -> subscriptions.Subscribed:
    """Raises: Refused for what the caller may not hear of: then nothing is changed."""
    subscriptions = _subscriptions(call)
    subscriptions.add(request.topics)
    return _subscribed(daemon, subscriptions.topics)


async def unsubscribe(daemon: Daemon, call: DaemonCall, request: subscriptions.Unsubscribe) -> subscriptions.Subscribed:
    subscriptions = _subscriptions(call)
    subscriptions.remove(request.topics)
    return _subscribed(daemon, subscriptions.topics)


def _subscriptions(call: DaemonCall) -> Subscriptions:
    if call.subscriptions is None:
        raise ClawftError("request-invalid", "Only a connection that stays can subscribe", hint="GET /api/v1/events")
    return call.subscriptions


def _subscribed(daemon: Daemon, topics: tuple[subscriptions.Topic, ...]) -> subscriptions.Subscribed:
    return subscriptions.Subscribed(topics=topics, generation=daemon.registry.live.current.number)


async def get_status(daemon: Daemon, call: DaemonCall, _request: subscriptions.GetStatus) -> subscriptions.Status:
    await daemon.registry.live.refresh()
    app, live, entries = daemon.app, daemon.registry.live, daemon.executions.entries
    return subscriptions.Status(
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


def view_health(subsystem: Subsystem) -> subscriptions.SubsystemHealth:
    problem = subsystem.check()
    return subscriptions.SubsystemHealth(name=subsystem.name, problem=to_problem(problem) if problem else None)
