"""Claude's commands: every `.md` file below `.claude/commands` is one, found and cached as a skill is."""

import os

from msgspec import structs

from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, real_path
from clawft.skills.discovery.catalog import Catalog, DiscoveredSkill, encode_skill
from clawft.skills.discovery.folder_cache import (
    DOCUMENTS,
    SKIPPED,
    SkillFolder,
    SkillFolderListing,
    load_cache,
    store_cache,
)
from clawft.skills.discovery.locations import Location
from clawft.skills.discovery.walk import MAX_DEPTH, load_file
from clawft.skills.parse.model import Skill

MAX_FILES = 10_000


def load_commands(location: Location, max_prompt_bytes: int, cache_dir: str | None) -> Catalog:
    """Every command of a location, broken ones included, and what there is to say about the search."""
    root = location.path
    single = os.path.isfile(root)  # a plugin may name a file
    at = structs.replace(location, path=os.path.dirname(root)) if single else location
    loader = _Loader(at, max_prompt_bytes)
    known = load_cache(cache_dir, root, max_prompt_bytes) if cache_dir else {}
    loader.known = {place.folder: place for listing in known.values() for place in listing.places}
    if single:
        loader.take(root)
    else:
        loader.search(root, 0)
    if cache_dir and loader.places != loader.known:
        store_cache(cache_dir, root, max_prompt_bytes, {"": SkillFolderListing(list(loader.places.values()))})
    return Catalog(tuple(loader.found), tuple(loader.diagnostics), loader.linked)


class _Loader:
    """One search. The cache knows a command by the path of its file."""

    def __init__(self, location: Location, max_prompt_bytes: int) -> None:
        self.location = location
        self.max_prompt_bytes = max_prompt_bytes
        self.known: dict[str, SkillFolder] = {}
        self.places: dict[str, SkillFolder] = {}
        self.found: list[DiscoveredSkill] = []
        self.diagnostics: list[Diagnostic] = []
        self.full = False
        self.linked = False  # a link was met

    def search(self, folder: str, depth: int) -> None:
        try:
            with os.scandir(folder) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
        except OSError as error:
            message = f"The folder cannot be read: {error.strerror}"
            self.diagnostics.append(Diagnostic("unreadable", "warning", message, folder))
            return
        for entry in entries:
            if entry.name.startswith(".") or entry.name in SKIPPED:
                continue
            self.linked |= entry.is_symlink()
            if entry.is_dir(follow_symlinks=False):
                self.enter(entry.path, depth + 1)
            elif entry.is_symlink() and entry.is_dir():
                self.tell_of_link(entry.path)
            elif entry.name.endswith(".md") and entry.name[:-3].upper() not in DOCUMENTS:
                self.take(entry.path)

    def enter(self, folder: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            message = f"Folders more than {MAX_DEPTH} levels down were not searched"
            self.diagnostics.append(Diagnostic("depth-limit", "note", message, folder))
        else:
            self.search(folder, depth)

    def tell_of_link(self, link: str) -> None:
        """A link to a folder inside is found without it; any other leads to what nobody put here."""
        real = real_path(link)
        if not is_within(real, real_path(self.location.path)):
            message = f"The link leads out of the searched folder, to {real}; it was not followed"
            self.diagnostics.append(Diagnostic("link-leaves-root", "warning", message, link))

    def take(self, path: str) -> None:
        if len(self.places) == MAX_FILES:
            if not self.full:
                message = f"More than {MAX_FILES} commands; the rest was not read"
                self.diagnostics.append(Diagnostic("too-many-folders", "warning", message, path))
            self.full = True
            return
        place = self.known.get(path)
        if place is None or not place.skill or not _is_unchanged(place):
            place = self.load(path)
        else:
            self.found.append(DiscoveredSkill(self.location, path, path, place.skill, None, place))
        if place is not None:
            self.places[path] = place

    def load(self, path: str) -> SkillFolder | None:
        """Read and parse one file; None if it was removed meanwhile."""
        from clawft.skills.discovery.skill_files import parse_command_file  # not needed where nothing changed

        root = self.location.path
        try:
            file = load_file(*os.path.split(path), root)
            skill = structs.replace(parse_command_file(file, root, self.max_prompt_bytes), prompt=None, body_line=0)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ClawftError as error:
            self.found.append(DiscoveredSkill(self.location, path, path, problem=error.diagnostic))
            return SkillFolder(path)
        self.found.append(DiscoveredSkill(self.location, path, path, skill))
        return _remember(path, file.status, skill)


def _remember(path: str, status: os.stat_result, skill: Skill) -> SkillFolder:
    try:
        encoded = encode_skill(skill)
    except (OverflowError, UnicodeEncodeError):  # as for skills: it is read again next time
        return SkillFolder(path)
    return SkillFolder(path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, encoded)


def _is_unchanged(place: SkillFolder) -> bool:
    try:
        status = os.lstat(place.folder)
    except OSError:
        return False
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size) == (place.mtime_ns, place.ctime_ns, place.size)
