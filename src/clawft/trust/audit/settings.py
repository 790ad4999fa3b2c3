"""Changes of settings as lines of the audit log: none that protects the user is lowered unseen."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from clawft.config.edit import Change, Scope
from clawft.config.keys import join_path
from clawft.config.listing import redact
from clawft.trust.audit.log import Entry

__all__ = ["list_replaced"]


def list_replaced(scope: Scope, replaced: Sequence[tuple[Change, Any]], environ: Mapping[str, str]) -> list[Entry]:
    """A line for each setting that gets another value, with what it has and had, as they may be shown."""

    def show(path: tuple[str, ...], value: Any) -> str:
        return msgspec.json.encode(redact(path, value, environ)).decode()

    lines = []
    for change, before in replaced:
        key = join_path(change.path)
        subject = f"{key} taken out" if change.value is UNSET else f"{key} = {show(change.path, change.value)}"
        detail = {} if before is UNSET else {"before": show(change.path, before)}
        lines.append(Entry("setting", subject, "allowed", {"rule": f"the {scope}'s config", "detail": detail}))
    return lines
