"""What turns of the daemon need, opened once for as long as the settings stay as they are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from clawft.errors import Diagnostic
from clawft.run import Runtime
from clawft.serve.registry import SkillRegistry

__all__ = ["CurrentRuntime"]


class CurrentRuntime:
    """A subsystem of the daemon: the runtime of the current generation."""

    name = "runtime"

    def __init__(self, registry: SkillRegistry) -> None:
        self._registry = registry
        self._runtime: Runtime | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Raises: ClawftError."""
        async with self._registry.app.open_runtime() as runtime:
            self._runtime = runtime
            yield

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Runtime]:
        assert self._runtime is not None  # the daemon is open
        yield self._runtime

    def check(self) -> Diagnostic | None:
        return None
