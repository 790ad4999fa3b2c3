"""A skill that the person starts: its text is the message, and its tools are the turn's (R92)."""

from msgspec import structs

from clawft.errors import NotFound, Refused
from clawft.messages import Noticed
from clawft.render import Arguments, split_arguments
from clawft.run.turn import Insertion, Phase, Turn
from clawft.trust import STATES, Standing

__all__ = ["INVOKE", "TELL_CONFIG"]


async def _invoke(turn: Turn) -> None:
    if not turn.request.skill:
        return
    standing = _get(turn, turn.request.skill)
    given = turn.request
    arguments = Arguments(given.text, given.words) if given.words else split_arguments(given.text)
    activation = turn.skills.read(standing, arguments)
    said = f"/{activation.name} {turn.request.text}".strip()
    turn.invoked = structs.replace(activation, text=f"{said}\n\n{activation.text}")
    turn.skills.activate(activation)
    turn.emit(turn.skills.event(activation, "user"))
    for one in (*standing.reasons, *activation.diagnostics):
        if one.severity != "note":
            turn.emit(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))
    if activation.skill.context == "fork":
        message = f"The skill '{activation.name}' asks for an agent of its own; it runs in this conversation"
        turn.emit(Noticed(code="fork-inline", message=message, severity="warning"))
    scope, content = standing.found.location.scope, turn.runtime.secrets.mask(activation.text)
    turn.session.activate(activation.name, content, turn.id, scope=scope, digest=activation.digest)


def _get(turn: Turn, reference: str) -> Standing:
    """The skill of a name or of `scope:name`, if a person may start it. Raises: NotFound, Refused."""
    scope, colon, bare = reference.rpartition(":")
    named = [
        one for one in turn.skills.standings if one.name == bare and (not colon or one.found.location.scope == scope)
    ]
    if not named:
        raise NotFound("skill-not-found", f"No skill '{reference}'", hint="Run: weft skills list")
    standing = next((one for one in named if one.usable), named[0])
    if not standing.user_may_invoke:
        why = STATES[standing.state] if not standing.usable else "its user-invocable is false"
        raise Refused(
            "skill-refused",
            f"The skill '{standing.name}' may not be started: {why}",
            hint=f"Run: weft skills why {bare}",
        )
    return standing


async def _tell_config(turn: Turn) -> None:
    """What there is to say about the config, at the first turn of a conversation."""
    for one in turn.runtime.config.diagnostics if turn.id == 1 else ():
        where = turn.runtime.workspace.shorten(one.path)
        turn.emit(Noticed(code=one.code, message=f"{where}: {one.message}", severity="warning", hint=one.hint))


INVOKE = Insertion(Phase.PRE_ROUTE, "invoke", _invoke)
TELL_CONFIG = Insertion(Phase.PRE_ROUTE, "config", _tell_config)
