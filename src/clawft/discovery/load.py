"""Locations to Catalog: each skill file is read once, or taken from the cache while it has not changed."""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clawft.discovery.cache import Cached, load_cache, store_cache
from clawft.discovery.catalog import Catalog, Found
from clawft.discovery.locations import Location
from clawft.discovery.walk import walk_skills
from clawft.errors import ClawftError, Diagnostic
from clawft.format.model import Skill

__all__ = ["load_catalog", "load_prompt"]

_SIDECAR = "/agents/openai.yaml"


def load_catalog(locations: Sequence[Location], *, max_prompt_bytes: int, cache_dir: str | None = None) -> Catalog:
    """Every skill below the locations, broken ones included. Without `cache_dir` everything is read afresh."""
    found: list[Found] = []
    diagnostics: list[Diagnostic] = []
    with _gc_paused():
        for location in locations:
            if not os.path.isdir(location.path):
                if location.scope in ("dir", "extra"):
                    diagnostics.append(Diagnostic("no-folder", "warning", "There is no such folder", location.path))
                continue
            loader = _Loader(location, max_prompt_bytes, cache_dir)
            diagnostics += loader.load()
            found += loader.found
    return Catalog(tuple(found), tuple(diagnostics))


def load_prompt(found: Found, max_prompt_bytes: int) -> Skill:
    """The skill of an entry with its prompt, read from disk now (R30). Raises: ClawftError."""
    from clawft.discovery.read import load_skill  # the parsers are not needed for a warm catalog

    folder, _, file = found.file.rpartition("/")
    try:
        return load_skill(folder, file, found.location.path, max_prompt_bytes)[0]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ClawftError("skill-gone", "The skill was removed meanwhile", path=found.file) from error


class _Loader:
    """Loads one location, and keeps its cache."""

    def __init__(self, location: Location, max_prompt_bytes: int, cache_dir: str | None) -> None:
        self.location = location
        self.max_prompt_bytes = max_prompt_bytes
        self.cache_dir = cache_dir
        self.cached = load_cache(cache_dir, location.path, max_prompt_bytes) if cache_dir else {}
        self.fresh: dict[str, Cached] = {}
        self.missed = False
        self.found: list[Found] = []

    def load(self) -> list[Diagnostic]:
        diagnostics = walk_skills(self.location.path, self.visit)
        if self.cache_dir and (self.missed or len(self.fresh) != len(self.cached)):
            store_cache(self.cache_dir, self.location.path, self.max_prompt_bytes, self.fresh)
        return diagnostics

    def visit(self, folder: str, file: str) -> bool:
        """Take the skill of a folder, if `file` is there; tells whether it is."""
        path = f"{folder}/{file}"
        cached = self.cached.get(path)
        if cached is not None:
            try:
                status = os.lstat(path)
            except OSError:
                status = None
            if (
                status is not None
                and status.st_mtime_ns == cached.mtime_ns
                and status.st_ctime_ns == cached.ctime_ns
                and status.st_size == cached.size
                and not os.access(folder + _SIDECAR, os.F_OK)
            ):
                self.fresh[path] = cached
                self.found.append(Found(self.location, folder, path, cached.skill))
                return True
        return self.parse(folder, file, path)

    def parse(self, folder: str, file: str, path: str) -> bool:
        from clawft.discovery.read import load_skill  # the parsers are not needed for a warm catalog

        try:
            skill, status = load_skill(folder, file, self.location.path, self.max_prompt_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except ClawftError as error:
            self.found.append(Found(self.location, folder, path, problem=error.diagnostic))
            return True
        self.missed = True
        skill = _without_prompt(skill)
        self.found.append(Found(self.location, folder, path, skill))
        if status is not None:
            self.fresh[path] = Cached(status.st_mtime_ns, status.st_ctime_ns, status.st_size, skill)
        return True


def _without_prompt(skill: Skill) -> Skill:
    from msgspec import structs

    return structs.replace(skill, prompt=None)


@contextmanager
def _gc_paused() -> Iterator[None]:
    """Thousands of small values that all stay: looking for cycles among them takes longer than making them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
