"""Locations to Catalog: each skill file is read once, or taken from the cache while it has not changed."""

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from clawft.discovery.cache import load_cache, store_cache
from clawft.discovery.catalog import Catalog, Found, encode_skill
from clawft.discovery.listing import Listing, Place
from clawft.discovery.locations import Location
from clawft.discovery.read import Load, SkillFile, load_bytes, load_file
from clawft.discovery.sidecars import with_sidecar
from clawft.discovery.walk import Walk
from clawft.errors import ClawftError, Diagnostic
from clawft.format.model import Skill

__all__ = ["load_catalog", "load_folder", "load_location", "load_prompt", "no_collection"]

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
    found: list[Found] = []
    diagnostics: list[Diagnostic] = []
    linked = False
    with no_collection():
        for location in locations:
            one = load_location(location, max_prompt_bytes, cache_dir)
            found += one.found
            diagnostics += one.diagnostics
            linked |= one.linked
    return Catalog(tuple(found), tuple(diagnostics), linked)


@contextmanager
def no_collection() -> Iterator[None]:
    """Thousands of small values that all stay: looking for cycles among them takes longer than making them."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def load_location(location: Location, max_prompt_bytes: int, cache_dir: str | None) -> Catalog:
    """The same of one location."""
    if not os.path.isdir(location.path) and not _is_command(location):
        missed = location.scope in ("dir", "extra")
        said = Diagnostic("no-folder", "warning", "There is no such folder", location.path)
        return Catalog((), (said,) if missed else ())
    if location.kind == "commands":
        from clawft.discovery.commands import load_commands  # where there are any

        return load_commands(location, max_prompt_bytes, cache_dir)
    loader = _Loader(location, max_prompt_bytes, cache_dir)
    walk = loader.load()
    found = map(_skip_odd, loader.found) if location.strict else loader.found
    return Catalog(tuple(found), tuple(walk.diagnostics), walk.linked)


def load_folder(location: Location, folder: str, max_prompt_bytes: int) -> Found | None:
    """The skill of one folder that has a SKILL.md, as a search of its location would find it; None if it has none."""
    loader = _Loader(location, max_prompt_bytes, None)
    if not loader.take_file(folder, "SKILL.md"):
        return None
    loader.parse()
    return _skip_odd(loader.found[0]) if location.strict else loader.found[0]


def _is_command(location: Location) -> bool:
    return location.kind == "commands" and location.path.endswith(".md") and os.path.isfile(location.path)


def _skip_odd(found: Found) -> Found:
    """A skill, or what is not as Agent Skills has it where only that counts."""
    odd = next((one for one in found.skill.diagnostics if one.code in _ODD), None) if found.skill else None
    if odd is None:
        return found
    why = odd.message.removesuffix(f"; it is loaded as '{found.name}'")  # elsewhere it is
    message = f"It is left out, as its plugin's format wants: {why[0].lower()}{why[1:]}"
    problem = Diagnostic("skill-nonconforming", "error", message, odd.path, odd.line, odd.hint)
    return Found(found.location, found.folder, found.file, problem=problem)


def load_prompt(found: Found, max_prompt_bytes: int, load: Load = load_bytes) -> Skill:
    """The skill of an entry with its prompt, read from disk now (R30). Raises: ClawftError."""
    from clawft.discovery.parse import parse_command_file, parse_file  # not needed for a warm catalog

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
        self.found: list[Found] = []
        self.changed: dict[str, Place] = {}
        self.files: list[SkillFile] = []
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

    def take_skills(self, places: Iterable[Place]) -> Iterator[str]:
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
                    self.found.append(Found(location, folder, path, place.skill, None, place))
                    continue
                self.changed[folder] = Place(folder)
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
            self.found.append(Found(self.location, folder, f"{folder}/{name}", problem=error.diagnostic))
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
        from clawft.discovery.parse import parse_entry  # the parsers are not needed for a warm catalog

        for file in self.files:
            try:
                skill = parse_entry(file, self.location.path, self.max_prompt_bytes)
            except ClawftError as error:
                self.found.append(Found(self.location, file.folder, file.path, problem=error.diagnostic))
                continue
            self.found.append(Found(self.location, file.folder, file.path, skill))
            if self.cache_dir and file.name == "SKILL.md":
                self.remember(file, skill)
        self.files.clear()
        self.unparsed_bytes = 0

    def remember(self, file: SkillFile, skill: Skill) -> None:
        try:
            encoded = encode_skill(skill)
        except (OverflowError, UnicodeEncodeError):  # a number in what is kept as it is, or a path that is not text
            return
        status = file.status
        self.changed[file.folder] = Place(file.folder, status.st_mtime_ns, status.st_ctime_ns, status.st_size, encoded)

    def update(self, listing: Listing) -> Listing:
        places = [self.changed.get(place.folder, place) for place in listing.places]
        return Listing(places, listing.mtime_ns, listing.ctime_ns, listing.links)
