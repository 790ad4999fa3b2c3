"""The search below a location for skill folders, bounded in depth and count, and safe reads of their files."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice

from msgspec import Struct

from clawft.errors import Diagnostic, Severity, Unreadable
from clawft.files import is_within, read_regular, real_path
from clawft.skills.discovery.folder_cache import SKIPPED, SkillFolder, SkillFolderListing, list_folder
from clawft.skills.parse.model import LEFT_OUT

MAX_FILE_BYTES = 1 << 20
LEGACY_PROMPT = "prompt.md"  # beside skill.json
Load = Callable[[str, str], tuple[bytes, os.stat_result]]  # (path, root): how the files of a skill are read


class SkillFileContent(Struct, frozen=True, gc=False):
    """The file of a skill, as it was read."""

    folder: str
    name: str
    path: str
    data: bytes
    status: os.stat_result


def load_bytes(path: str, root: str) -> tuple[bytes, os.stat_result]:
    """A file of a skill; a link is followed only if it stays below the searched folder.

    Raises: FileNotFoundError, NotADirectoryError, Unreadable.
    """
    try:
        return read_regular(path, MAX_FILE_BYTES)
    except Unreadable as error:
        if error.code != "is-a-link":
            raise
    real = real_path(path)
    if not is_within(real, real_path(root)) or not LEFT_OUT.isdisjoint(real.split("/")):
        raise Unreadable(
            "link-leaves-root",
            f"The link leads out of the searched folder, to {real}",
            path=path,
            hint="Put a copy of the file here",
        )
    try:
        return read_regular(real, MAX_FILE_BYTES)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Unreadable("unreadable", f"The link leads to nothing: {real}", path=path) from error


def load_file(folder: str, name: str, root: str, load: Load = load_bytes) -> SkillFileContent:
    """The skill file of a folder. Raises: FileNotFoundError, NotADirectoryError, Unreadable."""
    path = f"{folder}/{name}"
    data, status = load(path, root)
    return SkillFileContent(folder, name, path, data, status)


MAX_DEPTH = 4
MAX_FOLDERS = 100_000

TakeSkills = Callable[[Iterable[SkillFolder]], Iterator[str]]
TakeFile = Callable[[str, str], bool]


class Walk:
    """One search of a location. `known` are the listings of the last one, `listings` those of this one.

    `take_skills` takes the SKILL.md of the places it is given and yields the folders that have none, as it comes to
    them; these are searched further. `take_file` is offered what else may be a skill's file, and tells whether it is.
    """

    def __init__(self, take_skills: TakeSkills, take_file: TakeFile, known: dict[str, SkillFolderListing]) -> None:
        self.take_skills = take_skills
        self.take_file = take_file
        self.known = known
        self.listings: dict[str, SkillFolderListing] = {}
        self.diagnostics: list[Diagnostic] = []
        self.real_root = ""
        self.seen: set[str] = set()
        self.folders = 0
        self.full = False
        self.linked = False  # a link was met
        self.too_deep: list[str] = []

    def run(self, root: str) -> None:
        """Offer every folder that may hold a skill, in sorted order."""
        self.real_root = real_path(root)
        self.listings[""] = self.known.get("") or SkillFolderListing([SkillFolder(root)])
        self.search(self.listings[""].places, 0)
        if self.too_deep:
            places = f"({len(self.too_deep)} places, the first is this)"
            message = f"Folders more than {MAX_DEPTH} levels down were not searched {places}"
            self.say("depth-limit", "note", message, self.too_deep[0])

    @cached_property
    def known_places(self) -> dict[str, SkillFolder]:
        return {place.folder: place for listing in self.known.values() for place in listing.places if place.skill}

    def search(self, places: Iterable[SkillFolder], depth: int) -> None:
        for bare in self.take_skills(places):
            self.enter(bare, depth)

    def enter(self, folder: str, depth: int) -> None:
        """Look at a folder that holds no SKILL.md: another spelling of it, a legacy skill, or folders below."""
        try:
            entries = list_folder(folder, self.known.get(folder), self.known_places)
        except OSError as error:
            self.say("unreadable", "warning", f"The folder cannot be read: {error.strerror}", folder)
            return
        if entries.file and self.take_file(folder, entries.file):
            return
        self.listings[folder] = entries.listing
        if entries.loose and depth == 0:
            many = f" ({len(entries.loose)} such files; the first is this)" if len(entries.loose) > 1 else ""
            message = f"A Markdown file beside the skills is no skill{many}"
            self.say("loose-file", "note", message, entries.loose[0], "A skill is a folder with a SKILL.md")
        below: Iterable[SkillFolder] = self.limit(folder, entries.listing.places)
        self.linked |= bool(entries.links)
        if entries.links:  # each is judged when its turn comes: it may lead where the walk has been by then
            below = (place for place in below if place.folder not in entries.links or self.follows(place.folder))
        if depth < MAX_DEPTH:
            self.search(below, depth + 1)
        else:
            self.too_deep += [place.folder for place in islice(below, 1)]

    def limit(self, folder: str, places: list[SkillFolder]) -> list[SkillFolder]:
        self.folders += len(places)
        if self.folders <= MAX_FOLDERS:
            return places
        if self.full:
            return []
        self.full = True
        self.say("too-many-folders", "warning", f"More than {MAX_FOLDERS} folders; the rest was not searched", folder)
        return places[: MAX_FOLDERS - self.folders]

    def follows(self, link: str) -> bool:
        """A link counts only if it leads to a folder below the root that is not found without it."""
        real = real_path(link)
        if not os.path.exists(real):
            self.say("link-broken", "note", "The link leads to nothing", link)
            return False
        if not os.path.isdir(real) or real in self.seen or self.finds(real):
            return False
        if not is_within(real, self.real_root):
            message = f"The link leads out of the searched folder, to {real}; it was not followed"
            self.say("link-leaves-root", "warning", message, link, "Add that folder to skills.load.extra_dirs")
            return False
        self.seen.add(real)
        return True

    def finds(self, real: str) -> bool:
        """Return whether the walk comes to a folder by itself: not too deep, nothing hidden above it, and no skill."""
        if not is_within(real, self.real_root):
            return False
        parts = real[len(self.real_root) + 1 :].split("/") if real != self.real_root else []
        above = [os.path.join(self.real_root, *parts[:depth]) for depth in range(1, len(parts))]
        hidden = any(part.startswith(".") or part in SKIPPED for part in parts)
        skills = any(
            os.path.lexists(f"{folder}/{name}") for folder in above for name in ("SKILL.md", "skill.md", "skill.json")
        )
        return len(parts) <= MAX_DEPTH and not hidden and not skills

    def say(self, code: str, severity: Severity, message: str, path: str, hint: str = "") -> None:
        self.diagnostics.append(Diagnostic(code, severity, message, path, 0, hint))
