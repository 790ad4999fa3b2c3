"""Hooks and plugins are turned on and off in the user's config."""

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import UNSET

from clawft.app import App
from clawft.config.edit import Change, Edited

__all__ = ["write_switches"]


def write_switches(app: App, section: Literal["hooks", "plugins"], keys: Iterable[str], *, enabled: bool) -> Edited:
    """Have entries of a section on or off, in one write. One that only turned something off is taken out.

    Raises: ClawftError.
    """

    def plan(values: dict[str, Any]) -> list[Change]:
        written = values.get(section, {}).get("entries", {})
        changes = []
        for key in dict.fromkeys(keys):
            path = (section, "entries", key)
            entry: dict[str, Any] = written.get(key, {})
            if not enabled:
                changes.append(Change((*path, "enabled"), False))
            elif entry.get("enabled", True):
                continue  # it is on already
            elif entry.keys() <= {"enabled"}:
                changes.append(Change(path, UNSET))
            else:
                changes.append(Change((*path, "enabled"), True))
        return changes

    return app.edit_config("user", plan)
