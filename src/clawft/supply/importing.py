"""Skills that another installer brought, taken into our lock: fetched anew, just as they are, and looked at first."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.locks.check import is_plain_name
from clawft.locks.clawhub import load_origin
from clawft.locks.foreign import load_document, skills_of
from clawft.locks.model import Origin
from clawft.locks.vercel import folder_name
from clawft.packing.hashes import vercel_folder_hash
from clawft.sources.choose import Sources
from clawft.sources.model import Reference, Version
from clawft.supply.install import Wanted
from clawft.supply.others import verify_others
from clawft.supply.stage import Staged
from clawft.supply.targets import Site
from clawft.supply.verified import Checked
from clawft.supply.verify import vercel_lock

__all__ = ["Foreign", "find_foreign", "keep_same", "tell_left", "want_foreign"]


class Foreign(Struct, frozen=True):
    """One skill of another installer's lock, and where it can be had; `content` is the hash that it must have."""

    checked: Checked
    origin: Origin
    version: str = ""
    content: str = ""


def find_foreign(
    site: Site, environ: Mapping[str, str], ours: Collection[str]
) -> tuple[list[Foreign], list[tuple[str, str]]]:
    """What can be taken over; and the others with why not: only what is still as it was installed is."""
    verified = verify_others(site, environ)
    listed = _load_vercel(site, environ)
    found: list[Foreign] = []
    left = [(one.path, one.message) for one in verified.diagnostics]
    seen: set[str] = set()
    for one in verified.checked:
        if one.name in ours or one.name in seen:
            continue
        seen.add(one.name)
        foreign = _describe(one, listed.get(one.name, {}))
        if one.state != "same":
            left.append((one.name, one.why or f"it is {one.state}"))
        elif not is_plain_name(one.name) or foreign is None:
            left.append((one.name, "where it came from cannot be told"))
        else:
            found.append(foreign)
    return found, left


def _load_vercel(site: Site, environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    try:
        document = load_document(vercel_lock(site, environ))
    except ClawftError:  # it was told by whoever verified it
        return {}
    return {folder_name(name): entry for name, entry in skills_of(document).items()}


def _describe(checked: Checked, entry: Mapping[str, Any]) -> Foreign | None:
    try:
        origin = load_origin(checked.folder) if checked.folder else None
    except ClawftError:
        return None
    if origin is not None and os.path.basename(checked.lock) == "lock.json":
        source = Origin("clawhub", origin.registry, origin.owner_handle or "", origin.slug)
        return Foreign(checked, source, origin.installed_version)
    kind, name, path = entry.get("sourceType"), entry.get("source"), entry.get("skillPath")
    content = entry.get("computedHash")
    if kind not in ("github", "gitlab", "git") or not isinstance(name, str) or not isinstance(content, str):
        return None
    url = f"https://github.com/{name}" if kind == "github" and "://" not in name else entry.get("sourceUrl") or name
    inside = os.path.dirname(path) if isinstance(path, str) else ""
    return Foreign(checked, Origin("git", str(url), ref=str(entry.get("ref") or ""), path=inside), content=content)


async def want_foreign(
    sources: Sources, site: Site, found: Sequence[Foreign]
) -> tuple[list[Wanted], list[tuple[str, str]]]:
    """Who brings each; and those that nobody does, with why."""
    wanted: list[Wanted] = []
    left: list[tuple[str, str]] = []
    for one in found:
        origin = one.origin
        try:
            source = sources.find(origin, own=site.scope == "user")
            if origin.kind == "clawhub":
                wanted.append(Wanted(source, await source.renew(Version(origin, one.version), exact=True)))
            else:
                asked = Reference(origin.url, "git", url=origin.url, ref=origin.ref, path=origin.path)
                wanted += [
                    Wanted(source, each) for each in await source.resolve(asked) if each.origin.path == origin.path
                ]
        except ClawftError as error:
            left.append((one.checked.name, str(error)))
    return wanted, left


def keep_same(staged: Sequence[Staged], found: Sequence[Foreign]) -> tuple[list[Staged], list[tuple[str, str]]]:
    """What is what the other lock says; and what is not, with why."""
    known = {one.checked.name: one for one in found}
    kept: list[Staged] = []
    left: list[tuple[str, str]] = []
    for one in staged:
        foreign = known.get(one.name)
        if foreign is None:
            left.append((one.name, "its source has it under another name"))
        elif foreign.content and vercel_folder_hash(one.folder) != foreign.content:
            left.append((one.name, "its source has a newer one. Run: weft skills install"))
        else:
            kept.append(one)
    return kept, left


def tell_left(left: Sequence[tuple[str, str]]) -> list[Diagnostic]:
    """What was not taken over, to be said."""
    return [Diagnostic("not-imported", "warning", f"'{name}' was not taken over: {why}") for name, why in left]
