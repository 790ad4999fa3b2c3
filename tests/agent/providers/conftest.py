"""Clients of the scripted server, closed after the test."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from clawft.agent.providers.anthropic import AnthropicWire
from clawft.agent.providers.endpoint import build_endpoint
from clawft.agent.providers.http import HttpProvider
from clawft.agent.providers.openai import OpenAiWire
from clawft.agent.providers.request import Chunk, ModelRequest, ProviderError, TextChunk
from clawft.config.agents import ProviderSettings
from clawft.messages import Message
from wire import WireServer

_ASK = ModelRequest("m", (Message("user", "hi"),))


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

    async def collect(self, provider: HttpProvider, request: ModelRequest = _ASK) -> list[Chunk]:
        return [chunk async for chunk in provider.stream(request)]

    async def fail_with(self, provider: HttpProvider) -> tuple[ProviderError, list[Chunk]]:
        """The error that a stream ends with, and what came before it."""
        chunks: list[Chunk] = []
        try:
            async for chunk in provider.stream(_ASK):
                chunks.append(chunk)
        except ProviderError as error:
            return error, chunks
        pytest.fail(f"the stream came to its end: {chunks}")

    def text_of(self, chunks: list[Chunk]) -> str:
        return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    opener = Connect()
    yield opener
    for provider in opener.opened:
        await provider.close()


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)
