"""The memory of an agent between sessions: facts and history in Markdown, and an index that finds them."""

from clawft.agent.memory.files import MemoryFiles, Reindexed, open_memory
from clawft.contracts import MemoryBackend, MemoryResult

__all__ = ["MemoryBackend", "MemoryFiles", "MemoryResult", "Reindexed", "open_memory"]
