"""A hook that must have its say, and cannot: it was changed, cannot be read, or lacks what it needs."""

from clawft.errors import Diagnostic
from clawft.hooks.events import HookEvent, HookFailed, Reply

__all__ = ["Absent"]


class Absent:
    """Stands for a hook with `on_failure = "deny"`: whatever it was to be asked about is refused."""

    strict = True
    hosts: tuple[str, ...] | None = None
    events = frozenset({"tool:before"})

    def __init__(self, name: str, why: Diagnostic | None) -> None:
        self.name = name
        self._why = why

    def hears(self, event: HookEvent) -> bool:
        return event.key in self.events

    async def call(self, event: HookEvent) -> Reply:
        """Raises: HookFailed."""
        why, hint = (self._why.message, self._why.hint) if self._why else ("it is not there", "")
        raise HookFailed("hook-failed", f"it cannot be asked about {event.key}: {why}", hint=hint)
