"""A folder of skills as the product loads it, with a cache of its own."""

import os
import shutil
from dataclasses import dataclass

from clawft.config import SkillsSettings
from clawft.skills.discovery import Catalog, Location, load_catalog


@dataclass(frozen=True)
class Folder:
    location: Location
    cache_dir: str

    def load(self) -> Catalog:
        limit = SkillsSettings().max_skill_prompt_bytes
        return load_catalog((self.location,), max_prompt_bytes=limit, cache_dir=self.cache_dir)

    def read(self) -> Catalog:
        """Load without a cache, neither read nor written."""
        return load_catalog((self.location,), max_prompt_bytes=SkillsSettings().max_skill_prompt_bytes)

    def forget(self) -> None:
        """Remove the cache: the next load is a cold one."""
        shutil.rmtree(self.cache_dir, ignore_errors=True)


def open_folder(root: str, cache_dir: str) -> Folder:
    path = os.path.abspath(root)
    return Folder(Location("dir", root, path), cache_dir)
