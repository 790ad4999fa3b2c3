"""The indexes of well-known discovery: of all skills, of one owner, or of one skill; kept until something changes."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from clawft.hub.model import HubSkill, Listed
from clawft.hub.store import HubStore

__all__ = ["SCHEMA", "Indexes", "describe_shortly"]

SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MAX_DESCRIPTION = 1024
MAX_NAME = 64  # what clients take; a slug may be longer
_PAGE = 200
_KEPT = 64
_KEPT_S = 5.0  # two changes can fall into one moment, and then only the first is seen
_UNSAFE = re.compile(r"\.\.|[\x00-\x1f\\?#%]")  # in a path: the older form has it in an address as it is


class Indexes:
    """Makes them from a store. Threads may use it: to make one reads every skill it holds."""

    def __init__(self, store: HubStore, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._alone = threading.Lock()
        self._making = threading.Lock()
        self._kept: OrderedDict[tuple[str, ...], tuple[object, float, bytes]] = OrderedDict()

    def newer(self, owner: str = "", slug: str = "") -> bytes:
        """Version 0.2.0, with the sha256 of each zip; empty where there is no such owner or skill."""
        return self._keep(("newer", owner, slug), lambda: self._make_newer(owner, slug))

    def older(self, owner: str = "", slug: str = "") -> bytes:
        """The form before that: names and files. A client takes all of it or nothing."""
        return self._keep(("older", owner, slug), lambda: self._make_older(owner, slug))

    def find(self, name: str, owner: str, slug: str) -> HubSkill | None:
        """The skill that an index means by a name."""
        listed, _ = self._choose(owner, slug or name)
        return next((one.skill for one in listed if one.skill.slug == name), None)

    def _keep(self, key: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
        if key[-1]:  # of one skill: it is as soon made as found, and there are many
            return make()
        if found := self._find_kept(key):
            return found
        with self._making:  # by one for all who ask at once
            if found := self._find_kept(key):
                return found
            state, now = self._read_state(), self._clock()
            if made := make():
                with self._alone:
                    self._kept[key] = (state, now, made)
                    if len(self._kept) > _KEPT:
                        self._kept.popitem(last=False)
            return made

    def _find_kept(self, key: tuple[str, ...]) -> bytes:
        """Empty where there is none that says what is there now."""
        state = self._read_state()
        with self._alone:
            known = self._kept.get(key)
            if known is None or known[0] != state or self._clock() - known[1] >= _KEPT_S:
                return b""
            self._kept.move_to_end(key)
            return known[2]

    def _read_state(self) -> object:
        return self._store.database.read("SELECT count(*), max(updated) FROM hub_skill")[0]

    def _make_newer(self, owner: str, slug: str) -> bytes:
        listed, omitted = self._choose(owner, slug)
        skills = [
            {
                "name": one.skill.slug,
                "type": "archive",
                "description": describe_shortly(one.skill),
                "url": f"./@{one.skill.owner}/{one.skill.slug}/{quote(one.release.version)}.zip",
                "digest": f"sha256:{one.release.archive}",
                "version": one.release.version,
            }
            for one in listed
            if one.release is not None
        ]
        return _encode({"$schema": SCHEMA}, skills, omitted, named=bool(owner))

    def _make_older(self, owner: str, slug: str) -> bytes:
        listed, omitted = self._choose(owner, slug)
        skills = []
        for one in listed:
            version = self._store.find_version(one.skill.id)
            paths = [file.path for file in version.files] if version else []
            if "SKILL.md" in paths and not any(_UNSAFE.search(path) for path in paths):
                skills.append({"name": one.skill.slug, "description": describe_shortly(one.skill), "files": paths})
            else:
                omitted.append(f"@{one.skill.owner}/{one.skill.slug}")
        return _encode({}, skills, omitted, named=bool(owner))

    def _choose(self, owner: str, slug: str) -> tuple[list[Listed], list[str]]:
        """The skills that an index holds, and those it cannot hold: a name that two owners have is no name."""
        seen: dict[str, list[Listed]] = {}
        for one in self._all(owner, slug):
            if slug not in ("", one.skill.slug):  # those of that name come first
                break
            seen.setdefault(one.skill.slug, []).append(one)
        chosen = [found[0] for found in seen.values() if len(found) == 1 and _is_held(found[0])]
        kept = {one.skill.id for one in chosen}
        others = [one.skill for found in seen.values() for one in found if one.skill.id not in kept]
        return chosen, [f"@{one.owner}/{one.slug}" for one in others]

    def _all(self, owner: str, prefix: str) -> Iterator[Listed]:
        cursor = ""
        while True:
            page = self._store.list_skills("name", _PAGE, cursor, prefix=prefix, owner=owner)
            yield from page.items
            cursor = page.cursor
            if not cursor:
                return


def describe_shortly(skill: HubSkill) -> str:
    """What an index says of a skill: something, on one line."""
    return (" ".join(skill.summary.split()) or skill.display_name or skill.slug)[:MAX_DESCRIPTION]


def _is_held(one: Listed) -> bool:
    return len(one.skill.slug) <= MAX_NAME and one.release is not None and one.release.verdict != "malicious"


def _encode(head: dict[str, Any], skills: list[dict[str, Any]], omitted: list[str], *, named: bool) -> bytes:
    """Nothing is left out in silence: what an index cannot hold is to be had under its owner's address."""
    if named and not skills and not omitted:
        return b""
    return msgspec.json.encode({**head, "skills": skills, **({"omitted": omitted} if omitted else {})})
