"""What people are told of plugins in a turn: which are kept back and why, and what goes wrong with the others."""

from collections.abc import Callable, Iterator, Sequence

from clawft.messages import Noticed
from clawft.plugins.host import Plugins
from clawft.run.turn import Insertion, Phase, Turn
from clawft.trust.plugins import PluginStanding

__all__ = ["renew", "tell_of"]

_MAX_TOLD = 5
_TOLD = {"broken": "plugin-broken", "untrusted": "plugin-untrusted", "ineligible": "plugin-ineligible"}


def tell_of(plugins: Plugins) -> tuple[Insertion, ...]:
    """At the first turn of a conversation what is kept back, and at each what went wrong since."""

    async def begin(turn: Turn) -> None:
        if turn.id == 1 and not turn.conversation.depth:
            for notice in _describe_kept(plugins.standings):
                turn.emit(notice)
        await tell(turn)

    async def tell(turn: Turn) -> None:
        for one in plugins.check():
            turn.notice(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))

    return Insertion(Phase.PRE_ROUTE, "plugins", begin), Insertion(Phase.POST_SCORE, "plugins", tell)


def renew(plugins: Plugins, rejoin: Callable[[], None]) -> Insertion:
    """Where other plugins may be used than at the turn before, what they bring joins turns anew."""
    seen = plugins.changes

    async def look(turn: Turn) -> None:
        nonlocal seen
        plugins.refresh()
        if plugins.changes != seen:
            seen = plugins.changes
            rejoin()
            turn.conversation.registry = None

    return Insertion(Phase.PRE_ROUTE, "plugins-now", look)


def _describe_kept(standings: Sequence[PluginStanding]) -> Iterator[Noticed]:
    kept = [one for one in standings if one.state in _TOLD]
    for one in kept[:_MAX_TOLD]:
        reason = next(iter(one.reasons), None)
        why, hint = (reason.message, reason.hint) if reason else ("", "")
        message = f"The plugin '{one.id}' is not used: {why}"
        yield Noticed(code=_TOLD[one.state], message=message, severity="warning", hint=hint)
    if len(kept) > _MAX_TOLD:
        message = f"{len(kept) - _MAX_TOLD} more plugins are not used"
        yield Noticed(code="plugins-kept", message=message, severity="warning", hint="Run: weft plugins list")
