"""What other installers are told of our skills: their locks, and the note of ClawHub in a skill's own folder."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from clawft.files import read_optional
from clawft.locks.clawhub import ORIGIN, add_clawhub, drop_clawhub, find_installed_at, render_origin
from clawft.locks.model import LockedSkill
from clawft.locks.names import MAX_LOCK_BYTES
from clawft.locks.tree import hash_tree
from clawft.locks.vercel import PROJECT_LOCK, add_global, add_project, drop_global, drop_project, find_global_lock
from clawft.packing.hashes import fingerprint_folder, vercel_folder_hash
from clawft.supply.journal import TEXT, Text
from clawft.supply.targets import Site

__all__ = ["MARKED", "Beside"]

MARKED = ("openclaw",)  # where ClawHub's own tools look; elsewhere it would change what the `skills` command hashes


class Beside:
    """The locks of others in one scope, while they are being changed."""

    def __init__(self, site: Site, environ: Mapping[str, str]) -> None:
        self._project = site.scope == "project"
        self._clawhub = os.path.join(os.path.dirname(site.roots["openclaw"]), ".clawhub", "lock.json")
        own = os.path.join(site.base, PROJECT_LOCK)
        self._agents = own if self._project else find_global_lock(site.base, environ)
        self._texts: dict[str, str] = {}
        self._before: dict[str, bytes | None] = {}
        self._now_ms = int(time.time() * 1000)

    @property
    def texts(self) -> tuple[Text, ...]:
        """Those that changed."""
        return tuple(
            Text(path, content, before=None if (was := self._before[path]) is None else was.decode(*TEXT))
            for path, content in self._texts.items()
        )

    def add(self, skill: LockedSkill, folder: str) -> None:
        """A skill, whose files lie in a folder, is installed. Raises: ClawftError for a lock that cannot be read."""
        if "openclaw" in skill.to and skill.origin.kind == "clawhub":
            path = self._clawhub
            self._texts[path] = add_clawhub(self._read(path), path, skill, self._now_ms)
        if "agents" in skill.to:
            path = self._agents
            now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._texts[path] = (
                add_project(self._read(path), path, skill, vercel_folder_hash(folder))
                if self._project
                else add_global(self._read(path), path, skill, _hash_for_user(skill, folder), now)
            )

    def drop(self, skill: LockedSkill) -> None:
        """A skill is removed. Raises: ClawftError."""
        if "openclaw" in skill.to and skill.origin.kind == "clawhub":
            self._put(self._clawhub, drop_clawhub(self._read(self._clawhub), self._clawhub, skill.origin.slug))
        if "agents" in skill.to:
            drop = drop_project if self._project else drop_global
            self._put(self._agents, drop(self._read(self._agents), self._agents, skill.name))

    def mark_origin(self, skill: LockedSkill, folder: str, client: str) -> None:
        """Note in a folder that is not in its place yet that it came from ClawHub. Raises: ClawftError, OSError."""
        if skill.origin.kind != "clawhub" or client not in MARKED:
            return
        path = os.path.join(folder, ORIGIN)
        known = find_installed_at(self._read(self._clawhub), self._clawhub, skill)  # what is restored is as it was
        text = render_origin(skill, fingerprint_folder(folder), known or self._now_ms)
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def _read(self, path: str) -> bytes | None:
        if path in self._texts:
            return self._texts[path].encode(*TEXT)
        return self._before.setdefault(path, read_optional(path, MAX_LOCK_BYTES))

    def _put(self, path: str, text: str | None) -> None:
        if text is not None:
            self._texts[path] = text


def _hash_for_user(skill: LockedSkill, folder: str) -> str:
    """What the `skills` command compares with what is there now: on GitHub the tree, else the contents."""
    github = skill.origin.kind == "git" and skill.origin.url.startswith("https://github.com/")
    return hash_tree(folder) if github else vercel_folder_hash(folder)
