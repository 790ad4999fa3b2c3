"""The memory of an agent between sessions: facts and history in Markdown, and an index that finds them."""

from clawft.agent.memory.files import MemoryFiles, open_memory
from clawft.contracts import MemoryBackend

__all__ = ["MemoryBackend", "MemoryFiles", "open_memory"]
