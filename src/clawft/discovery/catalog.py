"""What was found: every skill file in precedence order, usable or not, and what there is to say about the search."""

from msgspec import Struct, msgpack, structs

from clawft.discovery.listing import Place
from clawft.discovery.locations import Location
from clawft.errors import Diagnostic
from clawft.format.model import Skill

__all__ = ["Catalog", "Found", "encode_skill"]

_decoder = msgpack.Decoder(Skill)
encode_skill = msgpack.Encoder().encode  # for `Found.content`


class Found(Struct, frozen=True, eq=False, gc=False):
    """One skill folder: the skill in it, or the problem that keeps it from being one. A command is its file alone."""

    location: Location
    folder: str
    file: str
    content: Skill | bytes | None = None  # bytes: as the cache has it, decoded when it is first asked for
    problem: Diagnostic | None = None
    seen: Place | None = None  # the status of the file, where it was found as the cache has it

    @property
    def skill(self) -> Skill | None:
        if type(self.content) is bytes:
            structs.force_setattr(self, "content", _decoder.decode(self.content))
        return self.content  # type: ignore[return-value]

    @property
    def name(self) -> str:
        if self.skill:
            return self.skill.name
        if self.location.kind == "commands":
            return self.file[len(self.location.path) + 1 :].removesuffix(".md").replace("/", "-")
        return self.folder.rpartition("/")[2]

    @property
    def base_dir(self) -> str:
        """Where the skill's own files are; a command has none."""
        return "" if self.location.kind == "commands" else self.folder

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.skill.diagnostics if self.skill else (self.problem,) if self.problem else ()

    def __eq__(self, other: object) -> bool:
        """Decoded or not, the same skill at the same place is equal."""
        if not isinstance(other, Found):
            return NotImplemented
        mine, theirs = (
            (found.location, found.folder, found.file, found.skill, found.problem) for found in (self, other)
        )
        return mine == theirs


class Catalog(Struct, frozen=True):
    """All skills found, highest precedence first. Which of them is usable is decided in `trust.state`.

    `linked`: links were met among them, so that an edit in one folder may change what is found elsewhere.
    """

    found: tuple[Found, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    linked: bool = False

    @property
    def versions(self) -> dict[str, str]:
        """The version of each skill that can be read, '' where it names none, by its name."""
        return {one.name: one.skill.version for one in reversed(self.found) if one.skill is not None}
