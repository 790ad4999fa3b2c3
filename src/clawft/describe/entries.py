"""What the config says of single skills."""

from clawft.app import App
from clawft.config import SkillEntry
from clawft.trust import Standing

__all__ = ["entry_name", "entry_of"]


def entry_name(app: App, standing: Standing) -> str:
    """Under which name the config has a skill: its own, or the key that it gives itself."""
    key = standing.found.skill.skill_key if standing.found.skill else ""
    entries = app.config.skills.entries
    return key if key in entries and standing.name not in entries else standing.name


def entry_of(app: App, standing: Standing) -> SkillEntry:
    """What the config says of a skill."""
    return app.config.skills.entries.get(entry_name(app, standing), SkillEntry())
