"""Folders to a Catalog: where to look, what is there, what it requires."""

from clawft.discovery.catalog import Catalog, Found
from clawft.discovery.load import load_catalog, load_prompt
from clawft.discovery.locations import SCOPES, Location, agent_locations, explicit_locations, skill_locations
from clawft.discovery.requirements import Host, check_requirements

__all__ = [
    "SCOPES",
    "Catalog",
    "Found",
    "Host",
    "Location",
    "agent_locations",
    "check_requirements",
    "explicit_locations",
    "load_catalog",
    "load_prompt",
    "skill_locations",
]
