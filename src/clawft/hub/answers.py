"""Skills and versions of the store in the words of ClawHub's interface (INTEROP 3.2, 3.3)."""

from collections.abc import Sequence
from typing import Any

from clawft.hub.model import HubFile, HubRelease, HubSkill, HubVersion

__all__ = [
    "describe_detail",
    "describe_files",
    "describe_item",
    "describe_moderation",
    "describe_owner",
    "describe_security",
    "describe_version",
    "describe_version_line",
    "describe_version_shortly",
    "reason_codes",
]

Answer = dict[str, Any]
MAX_LINE = 500  # of a changelog in a list


def describe_owner(owner: str) -> Answer:
    return {"handle": owner, "displayName": owner, "image": None}


def describe_item(skill: HubSkill, latest: HubRelease | None, tags: dict[str, str]) -> Answer:
    """A skill as a list has it; a client takes no list in which `latestVersion` is null."""
    found: Answer = {
        "slug": skill.slug,
        "ownerHandle": skill.owner,
        "displayName": skill.display_name,
        "summary": skill.summary or None,
        "tags": tags,
        "topics": [],
        "stats": {"downloads": skill.downloads, "stars": 0, "versions": 0, "installsCurrent": 0, "installsAllTime": 0},
        "createdAt": skill.created,
        "updatedAt": skill.updated,
        "metadata": None,
    }
    if latest is not None:
        found["latestVersion"] = describe_version_shortly(latest)
    return found


def describe_detail(skill: HubSkill, latest: HubVersion | None, tags: dict[str, str]) -> Answer:
    item = describe_item(skill, None, tags)
    return {
        "skill": item,
        "latestVersion": describe_version_line(latest) if latest else None,
        "metadata": None,
        "owner": describe_owner(skill.owner),
        "moderation": describe_moderation(latest) if latest else None,
    }


def describe_version_line(version: HubVersion | HubRelease) -> Answer:
    """A version without its files. The clients know one license, and the hub asks for none."""
    return {
        "version": version.version,
        "createdAt": version.created,
        "changelog": version.changelog,
        "changelogSource": "user",
        "license": None,
        "yanked": version.yanked or None,
    }


def describe_version_shortly(version: HubRelease) -> Answer:
    """The same in a list, which may have two hundred of them: how a changelog begins."""
    line = describe_version_line(version)
    if len(version.changelog) > MAX_LINE:
        line["changelog"] = f"{version.changelog[: MAX_LINE - 1]}…"
    return line


def describe_version(skill: HubSkill, version: HubVersion) -> Answer:
    return {
        "skill": {"slug": skill.slug, "displayName": skill.display_name, "ownerHandle": skill.owner},
        "version": {
            **describe_version_line(version),
            "files": describe_files(version.files),
            "digest": f"sha256:{version.archive}",
            "dependencies": list(version.dependencies),
            "security": describe_security(version),
        },
    }


def describe_files(files: Sequence[HubFile]) -> list[Answer]:
    return [
        {
            "path": one.path,
            "size": one.size,
            "sha256": one.sha256,
            "contentType": one.content_type,
            "executable": one.executable,
        }
        for one in files
    ]


def describe_moderation(version: HubVersion) -> Answer:
    """What the scanner said when it was published. A version that it called malicious was never taken."""
    return {
        "isSuspicious": version.verdict == "suspicious",
        "isMalwareBlocked": version.verdict == "malicious",
        "verdict": version.verdict,
        "reasonCodes": reason_codes(version),
        "updatedAt": version.created,
        "engineVersion": version.engine or None,
        "summary": _summarize(version),
    }


def describe_security(version: HubVersion) -> Answer:
    return {
        "status": version.verdict,
        "hasWarnings": version.verdict != "clean",
        "checkedAt": version.created,
        "model": None,
        "hasScanResult": True,
        "sha256hash": version.archive,
        "virustotalUrl": None,
        "scanners": {"clawft": {"status": version.verdict, "engineVersion": version.engine}},
    }


def reason_codes(version: HubVersion) -> list[str]:
    return [f"{version.verdict}.{rule}" for rule in version.reasons] if version.verdict != "clean" else []


def _summarize(version: HubVersion) -> str | None:
    if version.verdict == "clean":
        return None
    return f"The hub's scanner calls it {version.verdict}: {', '.join(version.reasons)}"
