"""The plugin: it opens the file that its settings mean, and is the memory `sqlite`."""

import os
import re

from clawft.contracts import Plugin as PluginBase
from clawft.contracts import PluginError, PluginHost

from .memory import SqliteMemory
from .schema import open_database

__all__ = ["Plugin"]


class Plugin(PluginBase):
    """One memory, for all projects or for the one that it was started in."""

    def __init__(self) -> None:
        self._memory: SqliteMemory | None = None

    def init(self, host: PluginHost) -> None:
        """Raises: PluginError for a file that cannot be used."""
        name = "global"
        if host.config_value("scope") == "project":
            name = os.environ.get("CLAWFT_PROJECT_ID", "")
            if not re.fullmatch("[0-9a-f]{32}", name):
                raise PluginError("The host does not tell which project this is")
        path = os.path.join(host.data_dir(), f"{name}.sqlite")
        self._memory = SqliteMemory(open_database(path), int(host.config_value("max_facts") or 20_000))

    def parts(self) -> tuple[object, ...]:
        return (self._memory,)

    def shutdown(self) -> None:
        if self._memory is not None:
            self._memory.close()

    def is_healthy(self) -> bool:
        return self._memory is not None and self._memory.is_sound()
