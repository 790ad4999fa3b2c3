"""Stages that no turn goes on without, and that are not there: their plugin was changed, removed, or cannot be used.

They were granted as such, so a turn ends before anything is done. What nobody granted stops nothing, and neither does
what the user turned off.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from clawft.config.plugins import PluginsSettings
from clawft.errors import ClawftError
from clawft.files import is_within
from clawft.run.turn import Insertion, Phase, Turn
from clawft.trust.plugins import PLUGIN_STATES, PluginGrant, PluginStanding

__all__ = ["Missing", "find_missing", "guard"]


class Missing(Struct, frozen=True):
    """A plugin whose stages are missed, and why it cannot be asked."""

    plugin: str
    stages: tuple[str, ...]
    why: str
    hint: str = ""


def find_missing(
    standings: Sequence[PluginStanding],
    settings: PluginsSettings,
    grants: Callable[[], Sequence[PluginGrant]],
    bases: Sequence[str],
) -> tuple[Missing, ...]:
    """The plugins whose stages must be asked and cannot be; `bases` are the folders that plugins of here are in."""
    try:
        known = grants()
    except ClawftError as error:  # nobody can tell what was granted: what says that it must be asked is missed
        return tuple(_miss_all(standings, error))
    here = {one.found.folder: one for one in standings}
    ready = {one.id: _find_strict(one) for one in standings if one.state == "ready"}
    missing = []
    for grant in known:
        entry = settings.entries.get(grant.id)
        is_off = not settings.enabled or (entry is not None and not entry.enabled)
        if not grant.stages or is_off or set(grant.stages) <= ready.get(grant.id, frozenset()):
            continue
        standing = here.get(grant.folder)
        if standing is None and any(is_within(grant.folder, base) for base in bases):
            why = f"it is not in {grant.folder} any more"
            missing.append(Missing(grant.id, grant.stages, why, f"Install it again, or {_turn_off(grant.id)}"))
        elif standing is not None and standing.state != "disabled":
            missing.append(_miss(grant.id, standing, grant.stages))
    return tuple(missing)


def _turn_off(plugin: str) -> str:
    """How a user goes on without a plugin, also where it is gone."""
    return f"turn it off: weft config set 'plugins.entries.\"{plugin}\".enabled' false"


def _miss(plugin: str, standing: PluginStanding, stages: tuple[str, ...]) -> Missing:
    reason = next(iter(standing.reasons), None)
    why = reason.message if reason else PLUGIN_STATES[standing.state]
    hint = reason.hint if reason and reason.hint else "Mend it"
    return Missing(plugin, stages, why, f"{hint}; or {_turn_off(plugin)}")


def _miss_all(standings: Sequence[PluginStanding], error: ClawftError) -> Iterator[Missing]:
    for one in standings:
        strict = _find_strict(one) if one.state == "untrusted" else frozenset()
        if strict and one.found.scope != "project":
            yield Missing(one.id, tuple(sorted(strict)), str(error), error.hint)


def _find_strict(one: PluginStanding) -> frozenset[str]:
    """The stages of a plugin that no turn goes on without."""
    stages = one.found.manifest.stages if one.found.manifest else ()
    return frozenset(stage.name for stage in stages if stage.on_failure == "stop")


def guard(find: Callable[[], Sequence[Missing]]) -> tuple[Insertion, ...]:
    """What ends every turn as long as such a stage is missed: before anything is done, and before anything is sent,
    since a plugin may be lost while a turn begins."""

    async def refuse(_turn: Turn) -> None:
        for one in find():
            named = ", ".join(f"'{name}'" for name in one.stages)
            message = f"Nothing goes to a model without {named} of the plugin '{one.plugin}', which cannot be used"
            raise ClawftError("stage-missing", f"{message}: {one.why}", hint=one.hint)

    return tuple(Insertion(phase, "required stages", refuse) for phase in (Phase.PRE_ROUTE, Phase.PRE_TRANSPORT))
