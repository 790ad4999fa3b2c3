"""A hook as other programs read it: the objects of `clawft.hooks.list.v1`."""

from typing import Any

from clawft.describe.diagnostics import to_json
from clawft.hooking import HookRow

__all__ = ["row_json"]


def row_json(row: HookRow) -> dict[str, Any]:
    """The summary of one hook."""
    return {
        "name": row.name,
        "kind": row.kind,
        "state": row.state,
        "events": row.events,
        "origin": row.origin,
        "path": row.file,
        "description": row.description,
        "reasons": [to_json(one) for one in row.reasons],
    }
