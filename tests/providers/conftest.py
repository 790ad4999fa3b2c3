"""Clients of the scripted server, closed after the test."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from clawft.config.providers import ProviderSettings
from clawft.providers.anthropic import AnthropicWire
from clawft.providers.endpoint import build_endpoint
from clawft.providers.http import HttpProvider
from clawft.providers.openai import OpenAiWire
from wire import WireServer


class Connect:
    """Opens providers that do not sleep, and notes how long they would have."""

    def __init__(self) -> None:
        self.opened: list[HttpProvider] = []
        self.waits: list[float] = []
        self.now: Callable[[], float] = lambda: 0.0

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def __call__(
        self, server: WireServer | str, wire: str = "openai", environ: dict[str, str] | None = None, **settings: Any
    ) -> HttpProvider:
        url = server if isinstance(server, str) else server.url
        written = ProviderSettings(wire=wire, base_url=url, **settings)  # type: ignore[arg-type]
        endpoint = build_endpoint("test", written, environ or {})
        spoken = OpenAiWire() if wire == "openai" else AnthropicWire()
        self.opened.append(HttpProvider(endpoint, spoken, environ or {}, sleep=self._sleep, now=self.now))
        return self.opened[-1]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    opener = Connect()
    yield opener
    for provider in opener.opened:
        await provider.close()


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)
