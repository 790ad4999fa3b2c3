"""A provider that answers without a model: it finds a skill, runs the commands that the skill names, and reports."""

from clawft.agent.providers.offline.provider import OfflineProvider

__all__ = ["OfflineProvider"]
