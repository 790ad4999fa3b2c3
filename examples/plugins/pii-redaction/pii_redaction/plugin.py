"""The plugin: its settings, and the stage that every request passes."""

import os
from typing import Any

from clawft.contracts import Phase, PipelineContext, PluginError, PluginHost
from clawft.contracts import Plugin as PluginBase

from .allowed import Allowed
from .kinds import DETECTORS
from .own import make_detector
from .placeholders import Placeholders
from .redactor import Redactor

__all__ = ["Plugin"]


class Plugin(PluginBase):
    """The stage `redact`. What it changes is what the model gets; nothing on disk is changed."""

    name = "redact"
    phase = Phase.PRE_TRANSPORT

    def __init__(self) -> None:
        self._redactor: Redactor | None = None
        self._placeholders: Placeholders | None = None
        self._refuses_images = False

    def init(self, host: PluginHost) -> None:
        """Raises: PluginError for a pattern that could take for ever, and where placeholders cannot be kept."""
        wanted = host.config_value("kinds")
        detectors = [one for one in DETECTORS if wanted is None or one.kind.lower() in wanted]
        detectors += [make_detector(one["name"], one["pattern"]) for one in host.config_value("patterns") or ()]
        self._redactor = Redactor(detectors, Allowed(host.config_value("allow") or ()))
        self._placeholders = Placeholders(os.path.join(host.data_dir(), "placeholders.sqlite"))
        self._refuses_images = host.config_value("images") == "refuse"

    def shutdown(self) -> None:
        if self._placeholders is not None:
            self._placeholders.close()

    def process(self, context: PipelineContext) -> None:
        """Raises: PluginError for a picture, where those are refused."""
        assert self._redactor is not None
        assert self._placeholders is not None
        request = context.request
        if self._refuses_images and any(one.get("images") for one in request.get("messages", ())):
            raise PluginError("A picture cannot be looked through for personal data", hint="See its setting 'images'")
        session = self._placeholders.of(str(request.get("root") or request.get("session")))
        counts: dict[str, int] = context.metadata.setdefault("redacted", {})

        def redact(text: str) -> str:
            assert self._redactor is not None
            return self._redactor.redact(text, session, counts)

        if "system" in request:
            request["system"] = redact(request["system"])
        for message in request.get("messages", ()):
            if isinstance(message.get("content"), str):
                message["content"] = redact(message["content"])
            for call in message.get("tool_calls", ()):
                call["arguments"] = _walk(call["arguments"], redact, keys=True)
        for tool in request.get("tools", ()):
            tool["description"] = redact(tool["description"])
            tool["parameters"] = _walk(tool["parameters"], redact, keys=False)  # the tool goes by its names


def _walk(value: Any, redact: Any, *, keys: bool) -> Any:
    """The same value with other texts."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_walk(one, redact, keys=keys) for one in value]
    if isinstance(value, dict):
        return {redact(key) if keys else key: _walk(one, redact, keys=keys) for key, one in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and keys and abs(value) >= 10**12:
        hidden = redact(str(value))
        return value if hidden == str(value) else hidden  # a card's number is one, too
    return value
