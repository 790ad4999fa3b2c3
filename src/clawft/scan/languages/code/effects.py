"""What a call does: each effect takes the call apart, leaves its marks and says what the call gives."""

from typing import Any

from clawft.scan.languages.code import commands, curl, encodings, files, network, passing, running, sources

__all__ = ["EFFECTS"]

EFFECTS: dict[str, Any] = {}
for _part in (sources, files, commands, running, encodings, network, curl, passing):
    EFFECTS.update(_part.EFFECTS)
