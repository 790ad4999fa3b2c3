"""Subscriptions, and how the daemon is."""

from clawft import __version__
from clawft.errors import ClawftError
from clawft.protocol.base import Request, to_problem
from clawft.protocol.watching import GetStatus, Status, Subscribe, Subscribed, SubsystemHealth, Topic, Unsubscribe
from clawft.serve.caller import Call
from clawft.serve.daemon import Daemon, Handler, Subsystem
from clawft.serve.subscriptions import Subscriptions

__all__ = ["HANDLERS"]


async def subscribe(daemon: Daemon, call: Call, request: Subscribe) -> Subscribed:
    """Raises: Refused for what the caller may not hear of: then nothing is changed."""
    told = _subscriptions(call)
    told.add(request.topics)
    return _subscribed(daemon, told.topics)


async def unsubscribe(daemon: Daemon, call: Call, request: Unsubscribe) -> Subscribed:
    told = _subscriptions(call)
    told.remove(request.topics)
    return _subscribed(daemon, told.topics)


def _subscriptions(call: Call) -> Subscriptions:
    if call.subscriptions is None:
        raise ClawftError("request-invalid", "Only a connection that stays can subscribe", hint="GET /api/v1/events")
    return call.subscriptions


def _subscribed(daemon: Daemon, topics: tuple[Topic, ...]) -> Subscribed:
    return Subscribed(topics=topics, generation=daemon.registry.live.current.number)


async def get_status(daemon: Daemon, call: Call, _request: GetStatus) -> Status:
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
        subsystems=tuple(map(describe_health, daemon.subsystems)),
        executions=sum(not one.waiting for one in entries),
        waiting=sum(one.waiting for one in entries),
        questions=len(daemon.questions.waiting),
        you=call.caller.name,
        scopes=tuple(sorted(call.caller.scopes)),
    )


def describe_health(subsystem: Subsystem) -> SubsystemHealth:
    problem = subsystem.check()
    return SubsystemHealth(name=subsystem.name, problem=to_problem(problem) if problem else None)


HANDLERS: dict[type[Request], Handler] = {Subscribe: subscribe, Unsubscribe: unsubscribe, GetStatus: get_status}
