"""Models: one file per wire, and what answers without one."""

from clawft.agent.providers.selection import check_model, open_provider, parse_model

__all__ = [
    "check_model",
    "open_provider",
    "parse_model",
]
