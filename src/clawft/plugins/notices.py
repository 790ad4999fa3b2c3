"""The notices of plugins in a turn: plugins that are not in use, problems, and required stages that are missing."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from clawft.agent.runtime import Insertion, Turn
from clawft.config.extensions import PluginsSettings
from clawft.contracts import Phase
from clawft.errors import ClawftError
from clawft.files import is_within_any
from clawft.messages import Noticed
from clawft.plugins.host import Plugins
from clawft.trust.plugins import PluginGrant, PluginStatus
from clawft.trust.status import PLUGIN_STATES

_MAX_REPORTED = 5
_NOTICE_CODES = {"broken": "plugin-broken", "untrusted": "plugin-untrusted", "ineligible": "plugin-ineligible"}


def make_plugin_notices(plugins: Plugins) -> tuple[Insertion, ...]:
    """At the first turn of a conversation what is kept back, and at each what went wrong since."""

    async def begin(turn: Turn) -> None:
        if turn.id == 1 and not turn.conversation.depth:
            for notice in _list_retained(plugins.statuses):
                turn.emit(notice)
        await tell(turn)

    async def tell(turn: Turn) -> None:
        for diagnostic in plugins.check():
            turn.notice(
                Noticed(code=diagnostic.code, message=diagnostic.message, severity="warning", hint=diagnostic.hint)
            )

    return Insertion(Phase.PRE_ROUTE, "plugins", begin), Insertion(Phase.POST_SCORE, "plugins", tell)


def make_plugin_refresh(plugins: Plugins, rejoin: Callable[[], None]) -> Insertion:
    """Return a step that checks, at the start of a turn, whether the usable plugins changed, and then adds their parts
    anew."""
    seen = plugins.changes

    async def look(turn: Turn) -> None:
        nonlocal seen
        plugins.refresh()
        if plugins.changes != seen:
            seen = plugins.changes
            rejoin()
            turn.conversation.registry = None

    return Insertion(Phase.PRE_ROUTE, "plugins-now", look)


def _list_retained(statuses: Sequence[PluginStatus]) -> Iterator[Noticed]:
    unused = [status for status in statuses if status.state in _NOTICE_CODES]
    for plugin in unused[:_MAX_REPORTED]:
        reason = next(iter(plugin.reasons), None)
        why, hint = (reason.message, reason.hint) if reason else ("", "")
        message = f"The plugin '{plugin.id}' is not used: {why}"
        yield Noticed(code=_NOTICE_CODES[plugin.state], message=message, severity="warning", hint=hint)
    if len(unused) > _MAX_REPORTED:
        message = f"{len(unused) - _MAX_REPORTED} more plugins are not used"
        yield Noticed(code="plugins-kept", message=message, severity="warning", hint="Run: weft plugins list")


class MissingStages(Struct, frozen=True):
    """A plugin whose stages are missed, and why it cannot be asked."""

    plugin: str
    stages: tuple[str, ...]
    why: str
    hint: str = ""


def find_missing_stages(
    statuses: Sequence[PluginStatus],
    settings: PluginsSettings,
    grants: Callable[[], Sequence[PluginGrant]],
    bases: Sequence[str],
) -> tuple[MissingStages, ...]:
    """The plugins whose stages must be asked and cannot be; `bases` are the folders that plugins of here are in."""
    try:
        known = grants()
    except ClawftError as error:  # nobody can tell what was granted: what says that it must be asked is missed
        return tuple(_miss_all(statuses, error))
    here = {status.found.folder: status for status in statuses}
    ready = {status.id: _find_strict(status) for status in statuses if status.state == "ready"}
    missing = []
    for grant in known:
        entry = settings.entries.get(grant.id)
        is_off = not settings.enabled or (entry is not None and not entry.enabled)
        if not grant.stages or is_off or set(grant.stages) <= ready.get(grant.id, frozenset()):
            continue
        status = here.get(grant.folder)
        if status is None and is_within_any(grant.folder, bases):
            why = f"it is not in {grant.folder} any more"
            missing.append(MissingStages(grant.id, grant.stages, why, f"Install it again, or {_turn_off(grant.id)}"))
        elif status is not None and status.state != "disabled":
            missing.append(_miss(grant.id, status, grant.stages))
    return tuple(missing)


def _turn_off(plugin: str) -> str:
    """Return the command that turns off a plugin, even one that is gone."""
    return f"turn it off: weft config set 'plugins.entries.\"{plugin}\".enabled' false"


def _miss(plugin: str, status: PluginStatus, stages: tuple[str, ...]) -> MissingStages:
    reason = next(iter(status.reasons), None)
    why = reason.message if reason else PLUGIN_STATES[status.state]
    hint = reason.hint if reason and reason.hint else "Mend it"
    return MissingStages(plugin, stages, why, f"{hint}; or {_turn_off(plugin)}")


def _miss_all(statuses: Sequence[PluginStatus], error: ClawftError) -> Iterator[MissingStages]:
    for status in statuses:
        strict = _find_strict(status) if status.state == "untrusted" else frozenset()
        if strict and status.found.scope != "project":
            yield MissingStages(status.id, tuple(sorted(strict)), str(error), error.hint)


def _find_strict(one: PluginStatus) -> frozenset[str]:
    """The stages of a plugin that no turn goes on without."""
    stages = one.found.manifest.stages if one.found.manifest else ()
    return frozenset(stage.name for stage in stages if stage.on_failure == "stop")


def make_stage_guard(find: Callable[[], Sequence[MissingStages]]) -> tuple[Insertion, ...]:
    """Return the steps that end every turn while a required stage is missing: before anything is done, and before
    anything is sent, since a plugin may be lost while a turn begins."""

    async def refuse(_turn: Turn) -> None:
        for missing in find():
            named = ", ".join(f"'{name}'" for name in missing.stages)
            message = f"Nothing goes to a model without {named} of the plugin '{missing.plugin}', which cannot be used"
            raise ClawftError("stage-missing", f"{message}: {missing.why}", hint=missing.hint)

    return tuple(Insertion(phase, "required stages", refuse) for phase in (Phase.PRE_ROUTE, Phase.PRE_TRANSPORT))
