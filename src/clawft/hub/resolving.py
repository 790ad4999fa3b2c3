"""Which version a folder is. What the clawhub command installed holds one more file, so it has another fingerprint."""

import hashlib
from collections.abc import Callable

from clawft.hub.archives import META, make_meta
from clawft.hub.model import HubFile, HubSkill, HubVersion
from clawft.hub.store import HubStore
from clawft.packing.hashes import clawhub_fingerprint, counts_for_clawhub

__all__ = ["bundle_fingerprint", "resolve_fingerprint"]

_MAX_TRIED = 50  # newest first


def resolve_fingerprint(store: HubStore, skill: HubSkill, fingerprint: str) -> str:
    """The newest version with this content, as it was published or as it was downloaded; '' if there is none."""
    found = store.resolve(skill.id, fingerprint)
    if found:
        return found
    for release in store.versions(skill.id)[:_MAX_TRIED]:
        version = store.find_version(skill.id, release.version)
        if version is not None and bundle_fingerprint(skill, version, store.get_blob) == fingerprint:
            return version.version
    return ""


def bundle_fingerprint(skill: HubSkill, version: HubVersion, read: Callable[[str], bytes]) -> str:
    """ClawHub's fingerprint of a download: with the file that the hub adds to it."""
    _, added = make_meta(skill.owner, skill.slug, version.version, version.created)
    counted = [(file.path, file.sha256) for file in version.files if _counts(file, read)]
    return clawhub_fingerprint([*counted, (META, hashlib.sha256(added).hexdigest())])


def _counts(file: HubFile, read: Callable[[str], bytes]) -> bool:
    if "." in file.path.rpartition("/")[2]:  # the name tells
        return counts_for_clawhub(file.path, b"")
    return counts_for_clawhub(file.path, read(file.sha256))
