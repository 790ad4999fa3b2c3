"""One generation: an app whose config, skills and agents are all read. It is never changed after."""

from msgspec import Struct

from clawft.app import App

__all__ = ["Generation", "load_generation"]


class Generation(Struct, frozen=True):
    """Everything as it was read at one time. Whoever works with it keeps it for a whole turn."""

    number: int
    app: App
    at: str
    base: int = 0  # the generation since which only skills changed: what was opened with it still holds


def load_generation(number: int, app: App, at: str) -> Generation:
    """Read everything anew. Raises: ClawftError."""
    now = app.reopen()
    now.skills, now.agents  # noqa: B018  read now, on this thread
    return Generation(number, now, at, number)
