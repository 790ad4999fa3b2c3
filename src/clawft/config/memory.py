"""The section `[memory]`: what the agent keeps between sessions."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.load import Config, own_section

__all__ = ["FILES", "MemorySettings", "Section", "own_backend"]

FILES = "files"


class MemorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[memory]`."""

    #: false offers no memory tools and reads no memory into the prompt.
    enabled: bool = True
    #: Where it is kept: `files` is MEMORY.md and HISTORY.md, any other name is that of a memory which a plugin brings,
    #: and `ID:NAME` says which plugin's. What a project's config says here is not followed.
    backend: Annotated[str, Meta(min_length=1, max_length=200)] = FILES
    #: Which hash embedding a new index uses; an index that exists keeps its own until `weft memory reindex`.
    embedding: Literal[2, 3] = 3


def own_backend(config: Config, user_dir: str, environ: Mapping[str, str]) -> str:
    """The memory that the user chose. A project's file chooses none: what is remembered would go elsewhere."""
    section: MemorySettings = own_section(config, user_dir, "memory", environ)
    return section.backend


Section = MemorySettings
