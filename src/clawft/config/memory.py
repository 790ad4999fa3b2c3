"""The section `[memory]`: what the agent keeps between sessions."""

from typing import Literal

from msgspec import Struct

__all__ = ["MemorySettings", "Section"]


class MemorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[memory]`."""

    #: false offers no memory tools and reads no memory into the prompt.
    enabled: bool = True
    #: Which hash embedding a new index uses; an index that exists keeps its own until `weft memory reindex`.
    embedding: Literal[2, 3] = 3


Section = MemorySettings
