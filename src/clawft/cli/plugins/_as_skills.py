"""Plugins as the scanner sees them: each folder as if it were a skill."""

from clawft.app import App
from clawft.plugging import load_plugin_standings
from clawft.trust import Standing
from clawft.trust.plugin_review import plugin_as_skill

__all__ = ["load_plugins_as_skills"]


def load_plugins_as_skills(app: App) -> dict[str, Standing]:
    """By id. Raises: ClawftError."""
    standings = [one for one in load_plugin_standings(app) if one.found.manifest is not None]
    return {one.id: Standing(plugin_as_skill(one.found), one.state, one.reasons) for one in reversed(standings)}
