"""Plugins that were granted something and are not there any more: a turn may still wait for one."""

from collections.abc import Sequence

from msgspec import structs

from clawft.app import App
from clawft.discovery.plugins import FoundPlugin
from clawft.errors import ClawftError, Diagnostic
from clawft.format.plugin import PluginManifest
from clawft.plugging import load_missing, open_grants, plugin_settings
from clawft.trust.plugins import PluginGrant, PluginStanding

__all__ = ["GONE", "load_gone", "load_missed"]

GONE = "gone"  # in the place of a scope


def load_gone(app: App, standings: Sequence[PluginStanding]) -> tuple[PluginStanding, ...]:
    """All of them. Raises: ClawftError."""
    here = {one.found.folder for one in standings}
    return tuple(_describe(app, one) for one in open_grants(app).load() if one.folder not in here)


def load_missed(app: App, standings: Sequence[PluginStanding]) -> tuple[PluginStanding, ...]:
    """Those that no turn goes on without."""
    missing = {one.plugin: one for one in load_missing(app, standings, plugin_settings(app))}
    try:
        gone = load_gone(app, standings) if missing else ()
    except ClawftError:  # what was granted cannot be read, and is told for every plugin that is here
        return ()
    missed = []
    for one in gone:
        if one.id in missing:
            stages = ", ".join(f"'{name}'" for name in missing[one.id].stages)
            message = f"{one.reasons[0].message}, and no turn goes on without its stage {stages}"
            hint = f"Install it again, or go on without it: weft plugins disable {one.id}"
            missed.append(structs.replace(one, reasons=(structs.replace(one.reasons[0], message=message, hint=hint),)))
    return tuple(missed)


def _describe(app: App, grant: PluginGrant) -> PluginStanding:
    message = f"It is not in {app.workspace.shorten(grant.folder)} any more"
    manifest = PluginManifest(id=grant.id, name=grant.id, version=grant.version)
    reason = Diagnostic("plugin-gone", "note", message, grant.folder)
    return PluginStanding(FoundPlugin(GONE, grant.folder, manifest=manifest), "broken", (reason,))
