"""Models: one file per wire, and what answers without one."""

from clawft.providers.endpoint import PRESETS, Endpoint, Preset, build_endpoint
from clawft.providers.request import Provider, ProviderError, Request, StreamCut
from clawft.providers.select import check_model, open_provider, parse_model

__all__ = [
    "PRESETS",
    "Endpoint",
    "Preset",
    "Provider",
    "ProviderError",
    "Request",
    "StreamCut",
    "build_endpoint",
    "check_model",
    "open_provider",
    "parse_model",
]
