"""Import skills of other installers into our lock: fetched again, and only if they are the same."""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic
from clawft.install.archive.hashes import vercel_folder_hash
from clawft.install.lockfile.file import is_plain_name
from clawft.install.lockfile.foreign import folder_name, load_document, load_origin, skills_of
from clawft.install.lockfile.model import SkillOrigin
from clawft.install.sources.model import AvailableVersion, SkillReference
from clawft.install.sources.selection import SkillSources
from clawft.install.transaction.installation import WantedSkill
from clawft.install.transaction.other_installers import verify_others
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import InstallSite
from clawft.install.transaction.verification import VerifiedFolder, vercel_lock


class ForeignSkill(Struct, frozen=True):
    """One skill of another installer's lock, and where it can be had; `content` is the hash that it must have."""

    checked: VerifiedFolder
    origin: SkillOrigin
    version: str = ""
    content: str = ""


def find_foreign(
    site: InstallSite, environ: Mapping[str, str], ours: Collection[str]
) -> tuple[list[ForeignSkill], list[tuple[str, str]]]:
    """Find the skills of other installers that can be imported, and the others with the reason: only a skill that is
    unchanged since it was installed is imported."""
    verified = verify_others(site, environ)
    listed = _load_vercel(site, environ)
    found: list[ForeignSkill] = []
    left = [(diagnostic.path, diagnostic.message) for diagnostic in verified.diagnostics]
    seen: set[str] = set()
    for folder in verified.checked:
        if folder.name in ours or folder.name in seen:
            continue
        seen.add(folder.name)
        foreign = _describe(folder, listed.get(folder.name, {}))
        if folder.state != "same":
            left.append((folder.name, folder.why or f"it is {folder.state}"))
        elif not is_plain_name(folder.name) or foreign is None:
            left.append((folder.name, "where it came from cannot be told"))
        else:
            found.append(foreign)
    return found, left


def _load_vercel(site: InstallSite, environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    try:
        document = load_document(vercel_lock(site, environ))
    except ClawftError:  # already reported by the verification
        return {}
    return {folder_name(name): entry for name, entry in skills_of(document).items()}


def _describe(checked: VerifiedFolder, entry: Mapping[str, Any]) -> ForeignSkill | None:
    try:
        origin = load_origin(checked.folder) if checked.folder else None
    except ClawftError:
        return None
    if origin is not None and os.path.basename(checked.lock) == "lock.json":
        source = SkillOrigin("clawhub", origin.registry, origin.owner_handle or "", origin.slug)
        return ForeignSkill(checked, source, origin.installed_version)
    kind, name, path = entry.get("sourceType"), entry.get("source"), entry.get("skillPath")
    content = entry.get("computedHash")
    if kind not in ("github", "gitlab", "git") or not isinstance(name, str) or not isinstance(content, str):
        return None
    url = f"https://github.com/{name}" if kind == "github" and "://" not in name else entry.get("sourceUrl") or name
    inside = os.path.dirname(path) if isinstance(path, str) else ""
    return ForeignSkill(
        checked, SkillOrigin("git", str(url), ref=str(entry.get("ref") or ""), path=inside), content=content
    )


async def want_foreign(
    sources: SkillSources, site: InstallSite, found: Sequence[ForeignSkill]
) -> tuple[list[WantedSkill], list[tuple[str, str]]]:
    """Find the source of each skill to import, and list those without one, with the reason."""
    wanted: list[WantedSkill] = []
    left: list[tuple[str, str]] = []
    for skill in found:
        origin = skill.origin
        try:
            source = sources.find(origin, own=site.scope == "user")
            if origin.kind == "clawhub":
                wanted.append(
                    WantedSkill(source, await source.renew(AvailableVersion(origin, skill.version), exact=True))
                )
            else:
                asked = SkillReference(origin.url, "git", url=origin.url, ref=origin.ref, path=origin.path)
                wanted += [
                    WantedSkill(source, each) for each in await source.resolve(asked) if each.origin.path == origin.path
                ]
        except ClawftError as error:
            left.append((skill.checked.name, str(error)))
    return wanted, left


def keep_same(
    staged: Sequence[StagedSkill], found: Sequence[ForeignSkill]
) -> tuple[list[StagedSkill], list[tuple[str, str]]]:
    """Split the staged skills into those that match the other installer's lock, and those that do not, with the
    reason."""
    known = {skill.checked.name: skill for skill in found}
    same: list[StagedSkill] = []
    left: list[tuple[str, str]] = []
    for skill in staged:
        foreign = known.get(skill.name)
        if foreign is None:
            left.append((skill.name, "its source has it under another name"))
        elif foreign.content and vercel_folder_hash(skill.folder) != foreign.content:
            left.append((skill.name, "its source has a newer one. Run: weft skills install"))
        else:
            same.append(skill)
    return same, left


def tell_left(left: Sequence[tuple[str, str]]) -> list[Diagnostic]:
    """Build the warnings for the skills that were not imported."""
    return [Diagnostic("not-imported", "warning", f"'{name}' was not taken over: {why}") for name, why in left]
