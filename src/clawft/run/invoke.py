"""A skill that the person starts: its text is the message, and its tools are the turn's (R92)."""

from msgspec import structs

from clawft.errors import NotFound, Refused
from clawft.messages import Noticed
from clawft.render import Arguments, split_arguments
from clawft.run.fork_skill import has_room, tell_inline
from clawft.run.text_limits import record_skill
from clawft.run.turn import Insertion, Phase, Turn
from clawft.tools.skill import wants_fork
from clawft.tools.skillset import Activation
from clawft.trust import STATES, Standing

__all__ = ["INVOKE", "TELL_CONFIG"]


async def _invoke(turn: Turn) -> None:
    forked = turn.conversation.forked
    if not turn.request.skill:
        return
    given = turn.request
    standings = [forked] if forked else [_get(turn, name) for name in (given.skill, *given.more_skills)]
    if forked is None and wants_fork(standings[0]) and len(standings) == 1 and has_room(turn.conversation):
        turn.forking = standings[0]
        return
    arguments = Arguments(given.text, given.words) if given.words else split_arguments(given.text)
    # Several skills share one message: what follows them is said to the model, not filled into each.
    loaded = [await _start(turn, one, Arguments() if given.more_skills else arguments) for one in standings]
    said = " ".join([*(f"/{one.name}" for one in loaded), given.text]).strip()
    text = "\n\n".join([said, *(one.text for one in loaded)])
    turn.invoked = structs.replace(loaded[0], text=text)


async def _start(turn: Turn, standing: Standing, arguments: Arguments) -> Activation:
    """Load one skill, and say what there is to say about it. Raises: ClawftError."""
    asked_for = turn.conversation.lineage.skill
    activation = await turn.skills.read(standing, arguments, turn.emit, asked_for.digest if asked_for else "")
    turn.skills.activate(activation)
    turn.emit(turn.skills.event(activation, turn.conversation.forked_by))
    for one in (*standing.reasons, *activation.diagnostics):
        if one.severity != "note":
            turn.emit(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))
    if wants_fork(standing) and turn.conversation.forked is None:
        turn.emit(tell_inline(turn, standing))
    record_skill(turn, activation, arguments)
    return activation


def _get(turn: Turn, reference: str) -> Standing:
    """The skill of a name or of `scope:name` or `plugin:name`, if a person may start it. Raises: NotFound, Refused."""
    scope, colon, bare = reference.rpartition(":")
    named = [
        one for one in turn.skills.standings if one.name == bare and (not colon or one.found.location.goes_by(scope))
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
    """What there is to say about the config and its rules, at the first turn of a conversation."""
    runtime = turn.runtime
    first = turn.id == 1 and not turn.conversation.depth
    for one in (*runtime.config.diagnostics, *runtime.rules.diagnostics()) if first else ():
        where = turn.runtime.workspace.shorten(one.path)
        turn.emit(Noticed(code=one.code, message=f"{where}: {one.message}", severity="warning", hint=one.hint))


INVOKE = Insertion(Phase.PRE_ROUTE, "invoke", _invoke)
TELL_CONFIG = Insertion(Phase.PRE_ROUTE, "config", _tell_config)
