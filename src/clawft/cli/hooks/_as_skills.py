"""Hooks that belong to no skill, as the scanner sees them: each folder as if it were a skill."""

from clawft.app import App
from clawft.hooking import load_rows
from clawft.trust import Standing
from clawft.trust.hooks import HookStanding, as_skill

__all__ = ["load_as_skills"]


def load_as_skills(app: App) -> dict[str, Standing]:
    """By name; the first of a name that can run, or else the first. Raises: ClawftError."""
    hooks: dict[str, Standing] = {}
    for row in sorted(load_rows(app), key=lambda one: one.state != "ready"):
        one = row.standing
        if isinstance(one, HookStanding) and one.found.hook is not None and one.found.skill is None:
            hooks.setdefault(row.name, Standing(as_skill(one.found), row.state, row.reasons))
    return hooks
