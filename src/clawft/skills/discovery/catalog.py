"""The catalog of discovered skills in precedence order. Each skill file is read once, or taken from the cache while
unchanged."""

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol

from msgspec import Struct, msgpack, structs

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import is_within, real_path
from clawft.skills.discovery.folder_cache import SkillFolder, SkillFolderListing, load_cache, store_cache
from clawft.skills.discovery.locations import Location
from clawft.skills.discovery.walk import Load, SkillFileContent, Walk, load_bytes, load_file
from clawft.skills.parse.model import Skill

_decoder = msgpack.Decoder(Skill)
encode_skill = msgpack.Encoder().encode  # for `DiscoveredSkill.content`


SubjectKind = Literal["skill", "hook", "plugin"]


class ReviewSubject(Protocol):
    """A skill, a hook or a plugin, as it is scanned, reviewed and approved.

    `root` is the folder, or the file of a command, that its digest covers and the scanner looks at; `base_dir` the same
    where it has files of its own, '' for a command; `seen` the status of the file, where it was found as the cache has
    it.
    """

    @property
    def kind(self) -> SubjectKind: ...

    @property
    def name(self) -> str: ...

    @property
    def location(self) -> Location: ...

    @property
    def root(self) -> str: ...

    @property
    def base_dir(self) -> str: ...

    @property
    def file(self) -> str: ...

    @property
    def about(self) -> Skill | None: ...  # what it says of itself

    @property
    def problem(self) -> Diagnostic | None: ...

    @property
    def seen(self) -> SkillFolder | None: ...


class DiscoveredSkill(Struct, frozen=True, eq=False, gc=False):
    """One skill folder: the skill in it, or the problem that keeps it from being one. A command is its file alone."""

    location: Location
    folder: str
    file: str
    content: Skill | bytes | None = None  # bytes: as the cache has it, decoded when it is first asked for
    problem: Diagnostic | None = None
    seen: SkillFolder | None = None  # the status of the file, where it was found as the cache has it

    @property
    def skill(self) -> Skill | None:
        if type(self.content) is bytes:
            structs.force_setattr(self, "content", _decoder.decode(self.content))
        return self.content  # type: ignore[return-value]

    @property
    def kind(self) -> Literal["skill"]:
        return "skill"

    @property
    def root(self) -> str:
        return self.folder

    @property
    def about(self) -> Skill | None:
        return self.skill

    @property
    def name(self) -> str:
        if self.skill:
            return self.skill.name
        if self.location.kind == "commands":
            return self.file[len(self.location.path) + 1 :].removesuffix(".md").replace("/", "-")
        return self.folder.rpartition("/")[2]

    @property
    def base_dir(self) -> str:
        """The folder of the skill's own files; '' for a command, which has none."""
        return "" if self.location.kind == "commands" else self.folder

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.skill.diagnostics if self.skill else (self.problem,) if self.problem else ()

    def __eq__(self, other: object) -> bool:
        """Decoded or not, the same skill at the same place is equal."""
        if not isinstance(other, DiscoveredSkill):
            return NotImplemented
        mine, theirs = (
            (found.location, found.folder, found.file, found.skill, found.problem) for found in (self, other)
        )
        return mine == theirs


class Catalog(Struct, frozen=True):
    """All skills found, highest precedence first. Which of them is usable is decided in `trust/status.py`.

    `linked`: links were met among them, so that an edit in one folder may change what is found elsewhere.
    """

    found: tuple[DiscoveredSkill, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    linked: bool = False

    @property
    def versions(self) -> dict[str, str]:
        """The version of each skill that can be read, '' where it names none, by its name."""
        return {entry.name: entry.skill.version for entry in reversed(self.found) if entry.skill is not None}


SIDECAR = "agents/openai.yaml"


def apply_sidecars(catalog: Catalog) -> Catalog:
    """The catalog with what the sidecars say; a sidecar that cannot be used is said, not fatal."""
    return Catalog(tuple([apply_sidecar_of(found) for found in catalog.found]), catalog.diagnostics, catalog.linked)


def apply_sidecar_of(found: DiscoveredSkill) -> DiscoveredSkill:
    """Apply the sidecar of one skill."""
    if found.problem is not None or not os.access(f"{found.folder}/{SIDECAR}", os.F_OK):
        return found
    skill = found.skill
    assert skill is not None, "there is a skill or a problem"
    skill = with_sidecar(skill, found.folder, found.location.path)
    return DiscoveredSkill(found.location, found.folder, found.file, skill, None, found.seen)


def with_sidecar(skill: Skill, folder: str, root: str, load: Load = load_bytes) -> Skill:
    """The skill with what its sidecar says, if it has one."""
    path = f"{folder}/{SIDECAR}"
    if not os.access(path, os.F_OK):
        return skill
    from clawft.skills.parse.sidecar import apply_sidecar  # few skills have one, and a warm catalog needs no parser
    from clawft.skills.parse.text import decode_text

    try:
        if not is_within(real_path(path), real_path(root)):
            raise Unreadable(
                "link-leaves-root", "The sidecar stands behind a link out of the searched folder", path=path
            )
        return apply_sidecar(skill, decode_text(load(path, root)[0], path).text, path)
    except ClawftError as error:
        problem = structs.replace(error.diagnostic, severity="warning")
        return structs.replace(skill, diagnostics=(*skill.diagnostics, problem))


_BATCH_BYTES = 1 << 18
_ODD = frozenset(
    {
        "no-frontmatter",
        "name-missing",
        "name-not-folder",
        "name-not-canonical",
        "description-missing",
        "description-long",
        "file-name",
    }
)


def load_catalog(locations: Sequence[Location], *, max_prompt_bytes: int, cache_dir: str | None = None) -> Catalog:
    """Every skill below the locations, broken ones included. Without `cache_dir` everything is read afresh.

    Sidecars are a step of their own: `apply_sidecars`.
    """
    found: list[DiscoveredSkill] = []
    diagnostics: list[Diagnostic] = []
    linked = False
    with pause_garbage_collection():
        for location in locations:
            one = load_location(location, max_prompt_bytes, cache_dir)
            found += one.found
            diagnostics += one.diagnostics
            linked |= one.linked
    return Catalog(tuple(found), tuple(diagnostics), linked)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Thousands of small values that all stay: looking for cycles among them takes longer than making them."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def load_location(location: Location, max_prompt_bytes: int, cache_dir: str | None) -> Catalog:
    """Load the skills of one location."""
    if not os.path.isdir(location.path) and not _is_command(location):
        missed = location.scope in ("dir", "extra")
        missing = Diagnostic("no-folder", "warning", "There is no such folder", location.path)
        return Catalog((), (missing,) if missed else ())
    if location.kind == "commands":
        from clawft.skills.discovery.commands import load_commands  # where there are any

        return load_commands(location, max_prompt_bytes, cache_dir)
    loader = _Loader(location, max_prompt_bytes, cache_dir)
    walk = loader.load()
    found = map(_skip_odd, loader.found) if location.strict else loader.found
    return Catalog(tuple(found), tuple(walk.diagnostics), walk.linked)


def load_folder(location: Location, folder: str, max_prompt_bytes: int) -> DiscoveredSkill | None:
    """The skill of one folder that has a SKILL.md, as a search of its location would find it; None if it has none."""
    loader = _Loader(location, max_prompt_bytes, None)
    if not loader.take_file(folder, "SKILL.md"):
        return None
    loader.parse()
    return _skip_odd(loader.found[0]) if location.strict else loader.found[0]


def _is_command(location: Location) -> bool:
    return location.kind == "commands" and location.path.endswith(".md") and os.path.isfile(location.path)


def _skip_odd(found: DiscoveredSkill) -> DiscoveredSkill:
    """A skill, or what is not as Agent Skills has it where only that counts."""
    odd = (
        next((diagnostic for diagnostic in found.skill.diagnostics if diagnostic.code in _ODD), None)
        if found.skill
        else None
    )
    if odd is None:
        return found
    why = odd.message.removesuffix(f"; it is loaded as '{found.name}'")  # elsewhere it is
    message = f"It is left out, as its plugin's format wants: {why[0].lower()}{why[1:]}"
    problem = Diagnostic("skill-nonconforming", "error", message, odd.path, odd.line, odd.hint)
    return DiscoveredSkill(found.location, found.folder, found.file, problem=problem)


def load_prompt(found: DiscoveredSkill, max_prompt_bytes: int, load: Load = load_bytes) -> Skill:
    """Load the skill of an entry with its prompt, read from disk now. Raises: ClawftError."""
    from clawft.skills.discovery.skill_files import parse_command_file, parse_file  # not needed for a warm catalog

    root = found.location.path
    folder, _, name = found.file.rpartition("/")
    try:
        file = load_file(folder, name, root, load)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ClawftError("skill-gone", "The skill was removed meanwhile", path=found.file) from error
    if found.location.kind == "commands":
        return parse_command_file(file, root, max_prompt_bytes)
    return with_sidecar(parse_file(file, root, max_prompt_bytes, load), folder, root, load)


class _Loader:
    """Loads one location, and keeps its cache."""

    def __init__(self, location: Location, max_prompt_bytes: int, cache_dir: str | None) -> None:
        self.location = location
        self.max_prompt_bytes = max_prompt_bytes
        self.cache_dir = cache_dir
        self.found: list[DiscoveredSkill] = []
        self.changed: dict[str, SkillFolder] = {}
        self.files: list[SkillFileContent] = []
        self.unparsed_bytes = 0

    def load(self) -> Walk:
        root, limit, folder = self.location.path, self.max_prompt_bytes, self.cache_dir
        known = load_cache(folder, root, limit) if folder else {}
        walk = Walk(self.take_skills, self.take_file, known)
        walk.run(root)
        self.parse()
        if folder and (self.changed or walk.listings != known):
            store_cache(folder, root, limit, {path: self.update(listing) for path, listing in walk.listings.items()})
        return walk

    def take_skills(self, places: Iterable[SkillFolder]) -> Iterator[str]:
        """Take the SKILL.md of each place, as it is known if it has not changed; yields the folders without one."""
        location, lstat = self.location, os.lstat
        for place in places:
            folder = place.folder
            path = f"{folder}/SKILL.md"
            if place.skill:
                try:
                    status = lstat(path)
                except OSError:
                    status = None
                if (
                    status is not None
                    and status.st_mtime_ns == place.mtime_ns
                    and status.st_ctime_ns == place.ctime_ns
                    and status.st_size == place.size
                ):
                    if self.files:
                        self.parse()  # keeps the order
                    self.found.append(DiscoveredSkill(location, folder, path, place.skill, None, place))
                    continue
                self.changed[folder] = SkillFolder(folder)
            if not self.take_file(folder, "SKILL.md"):
                yield folder

    def take_file(self, folder: str, name: str) -> bool:
        """Read a skill file, to be parsed later; tells whether it is there."""
        try:
            file = load_file(folder, name, self.location.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except ClawftError as error:
            self.parse()  # keeps the order
            self.found.append(DiscoveredSkill(self.location, folder, f"{folder}/{name}", problem=error.diagnostic))
            return True
        self.files.append(file)
        self.unparsed_bytes += len(file.data)
        if self.unparsed_bytes > _BATCH_BYTES:
            self.parse()
        return True

    def parse(self) -> None:
        """Parse what was read. In one go: a processor that turns to system calls in between is slower at both."""
        if not self.files:
            return
        from clawft.skills.discovery.skill_files import parse_entry  # the parsers are not needed for a warm catalog

        for file in self.files:
            try:
                skill = parse_entry(file, self.location.path, self.max_prompt_bytes)
            except ClawftError as error:
                self.found.append(DiscoveredSkill(self.location, file.folder, file.path, problem=error.diagnostic))
                continue
            self.found.append(DiscoveredSkill(self.location, file.folder, file.path, skill))
            if self.cache_dir and file.name == "SKILL.md":
                self.remember(file, skill)
        self.files.clear()
        self.unparsed_bytes = 0

    def remember(self, file: SkillFileContent, skill: Skill) -> None:
        try:
            encoded = encode_skill(skill)
        except (OverflowError, UnicodeEncodeError):  # a number in what is kept as it is, or a path that is not text
            return
        status = file.status
        self.changed[file.folder] = SkillFolder(
            file.folder, status.st_mtime_ns, status.st_ctime_ns, status.st_size, encoded
        )

    def update(self, listing: SkillFolderListing) -> SkillFolderListing:
        places = [self.changed.get(place.folder, place) for place in listing.places]
        return SkillFolderListing(places, listing.mtime_ns, listing.ctime_ns, listing.links)
