"""What answers without a model: it finds a skill, runs the commands that the skill names, and reports."""

from clawft.providers.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
