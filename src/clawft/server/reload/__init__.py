"""Hot reload: everything that is read from disk, swapped as a whole when it changes, and who is told of it."""

from clawft.reloading.generation import Generation
from clawft.reloading.live import LiveSkills
from clawft.reloading.runtimes import LiveRuntimes

__all__ = ["Generation", "LiveRuntimes", "LiveSkills"]
