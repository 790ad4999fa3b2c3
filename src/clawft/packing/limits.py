"""How much an archive may hold, and how it is refused."""

from msgspec import Struct

from clawft.errors import Refused

__all__ = ["PLUGIN", "SKILL", "Limits", "refuse"]


class Limits(Struct, frozen=True):
    """What one archive may come to. `max_ratio`: how much larger than the archive, once that is more than a little."""

    max_files: int
    max_file_bytes: int
    max_bytes: int
    max_ratio: int = 100

    @property
    def max_entries(self) -> int:
        """Folders are listed too."""
        return 2 * self.max_files

    def is_bomb(self, size: int, packed: int) -> bool:
        """Whether so few bytes become so many that nobody packed anything of use. Text comes to a tenth at best."""
        return size > _LITTLE and size > self.max_ratio * packed


_LITTLE = 1 << 20
SKILL = Limits(2_000, 10 << 20, 50 << 20)  # bytes: as ClawHub takes them
PLUGIN = Limits(5_000, 64 << 20, 128 << 20)


def refuse(code: str, message: str, path: str) -> Refused:
    """An archive is not unpacked, not even in part."""
    return Refused(code, message, path=path, hint="Nothing of it was kept")
