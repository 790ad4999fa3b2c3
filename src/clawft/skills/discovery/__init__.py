"""Folders to a Catalog: where to look, what is there, what it requires."""

from clawft.skills.discovery.catalog import Catalog, DiscoveredSkill, load_catalog, load_prompt
from clawft.skills.discovery.locations import SCOPES, Location, agent_locations, explicit_locations, skill_locations
from clawft.skills.discovery.requirements import LocalMachine, check_requirements

__all__ = [
    "SCOPES",
    "Catalog",
    "DiscoveredSkill",
    "LocalMachine",
    "Location",
    "agent_locations",
    "check_requirements",
    "explicit_locations",
    "load_catalog",
    "load_prompt",
    "skill_locations",
]
