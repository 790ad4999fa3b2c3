"""Hot reload: everything that is read from disk, swapped as a whole when it changes, and the notice to subscribers."""

from clawft.server.reload.generation import Generation
from clawft.server.reload.live import LiveRuntimes, LiveSkills

__all__ = ["Generation", "LiveRuntimes", "LiveSkills"]
