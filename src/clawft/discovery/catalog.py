"""What was found: every skill file in precedence order, usable or not, and what there is to say about the search."""

from msgspec import Struct

from clawft.discovery.locations import Location
from clawft.errors import Diagnostic
from clawft.format import Skill

__all__ = ["Catalog", "Found"]


class Found(Struct, frozen=True):
    """One skill folder: the skill in it, or the problem that keeps it from being one."""

    location: Location
    folder: str
    file: str
    skill: Skill | None = None
    problem: Diagnostic | None = None

    @property
    def name(self) -> str:
        return self.skill.name if self.skill else self.folder.rpartition("/")[2]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.skill.diagnostics if self.skill else (self.problem,) if self.problem else ()


class Catalog(Struct, frozen=True):
    """All skills found, highest precedence first. Which of them is usable is decided in `trust.state`."""

    found: tuple[Found, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
