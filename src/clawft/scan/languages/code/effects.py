"""What a call does: each effect takes the call apart, leaves its marks and says what the call gives."""

from clawft.scan.languages.code import commands, curl, encodings, files, network, odd, passing, running, sources
from clawft.scan.languages.code.calls import Effect

__all__ = ["EFFECTS"]

EFFECTS: dict[str, Effect] = {}
for _part in (sources, files, commands, running, encodings, network, curl, passing, odd):
    EFFECTS.update(_part.EFFECTS)
