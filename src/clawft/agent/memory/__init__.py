"""What an agent remembers between sessions: facts and history in Markdown, and an index that finds them."""

from clawft.contracts import MemoryBackend, MemoryResult
from clawft.memory.files import MemoryFiles, Reindexed, open_memory

__all__ = ["MemoryBackend", "MemoryFiles", "MemoryResult", "Reindexed", "open_memory"]
