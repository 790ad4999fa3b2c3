"""Models: one file per wire, and what answers without one."""

from clawft.agent.providers.endpoint import PRESETS, Endpoint, Preset, build_endpoint
from clawft.agent.providers.request import ModelRequest, Provider, ProviderError, StreamCut
from clawft.agent.providers.selection import check_model, open_provider, parse_model

__all__ = [
    "PRESETS",
    "Endpoint",
    "ModelRequest",
    "Preset",
    "Provider",
    "ProviderError",
    "StreamCut",
    "build_endpoint",
    "check_model",
    "open_provider",
    "parse_model",
]
