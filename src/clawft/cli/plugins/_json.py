"""A plugin as other programs read it: the objects of `clawft.plugins.list.v1`."""

from typing import Any

import msgspec

from clawft.contracts import Permissions
from clawft.describe.diagnostics import to_json
from clawft.trust.plugins import PluginStanding

__all__ = ["permissions_json", "plugin_json"]


def plugin_json(standing: PluginStanding) -> dict[str, Any]:
    """The summary of one plugin."""
    found, manifest = standing.found, standing.found.manifest
    return {
        "id": standing.id,
        "name": manifest.name if manifest else None,
        "version": manifest.version if manifest else None,
        "state": standing.state,
        "scope": found.scope,
        "path": found.folder,
        "dialect": manifest.dialect if manifest else None,
        "description": manifest.description if manifest else None,
        "capabilities": [one.value for one in manifest.capabilities] if manifest else [],
        "tools": [one.name for one in manifest.tools] if manifest else [],
        "channels": manifest.channels if manifest else [],
        "stages": [one.name for one in manifest.stages] if manifest else [],
        "memory": manifest.memory if manifest else [],
        "asked": permissions_json(manifest.permissions) if manifest else None,
        "granted": permissions_json(standing.granted) if standing.grant else None,
        "reasons": [to_json(one) for one in standing.reasons],
    }


def permissions_json(permissions: Permissions) -> dict[str, Any]:
    """Permissions with every field, also those that are empty."""
    fields: dict[str, Any] = msgspec.to_builtins(msgspec.structs.asdict(permissions))
    return fields
