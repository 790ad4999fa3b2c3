"""Verify skills of other installers against their own locks."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import structs

from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, real_path
from clawft.install.archive.hashes import fingerprint_folder, vercel_folder_hash
from clawft.install.lockfile.compare import MAX_DEPTH, FolderDifference
from clawft.install.lockfile.foreign import (
    folder_name,
    folder_of,
    hash_tree,
    load_clawhub,
    load_document,
    load_origin,
    skills_of,
)
from clawft.install.transaction.targets import InstallSite
from clawft.install.transaction.verification import VerificationResult, VerifiedFolder, vercel_lock
from clawft.skills.discovery.digest import MAX_BYTES, MAX_FILES

_TREE = 40  # digits of the hash of a git tree; others have 64
_META = "_meta.json"  # of the registry, in what it sends
_UNORDERED = "It cannot be verified: its hash depends on the order of file names, which is known only for plain ASCII"


def verify_others(site: InstallSite, environ: Mapping[str, str], names: Collection[str] = ()) -> VerificationResult:
    """All locks of others in one scope; `names`: only these. One that cannot be read does not hide the rest."""
    locks: list[str] = []
    checked: list[VerifiedFolder] = []
    diagnostics: list[Diagnostic] = []
    for client, root in site.roots.items():
        try:
            path, entries = load_clawhub(root)
        except ClawftError as error:
            diagnostics.append(error.diagnostic)
            continue
        locks += [path] if path else []
        checked += [_check_clawhub(site, client, path, *item) for item in entries.items()]
    path = vercel_lock(site, environ)
    try:
        document = load_document(path)
    except ClawftError as error:
        diagnostics.append(error.diagnostic)
    else:
        locks += [path] if document is not None else []
        checked += [_check_vercel(site, path, *item) for item in skills_of(document).items()]
    wanted = tuple(folder for folder in checked if not names or folder.name in names)
    return VerificationResult(tuple(locks), wanted, tuple(diagnostics))


def _check_clawhub(site: InstallSite, client: str, lock: str, key: str, entry: Mapping[str, Any]) -> VerifiedFolder:
    places = folder_of(key, site.roots[client])
    folder = next((place for place in places if os.path.lexists(place)), places[-1] if places else "")
    version = entry.get("version")
    found = VerifiedFolder(
        os.path.basename(folder) or key, site.scope, client, folder, lock, "same", str(version) if version else ""
    )
    try:
        problem = _object(site, folder)
        if problem is not None:
            return structs.replace(problem, name=found.name, client=client, lock=lock, version=found.version)
        origin = load_origin(folder)
        if origin is None or not origin.fingerprint:
            return structs.replace(found, state="unknown", why="Its installer noted no fingerprint of what it brought")
        hashes = (fingerprint_folder(folder), fingerprint_folder(folder, leave_out=(_META,)))
        if origin.fingerprint in hashes:
            return found
        if None in hashes:
            return structs.replace(found, state="unknown", why=_UNORDERED)
    except (ClawftError, OSError) as error:
        return structs.replace(found, state="unknown", why=f"It cannot be read: {error}")
    return structs.replace(found, state="changed", why="It is not what its fingerprint says: some text of it changed")


def _check_vercel(site: InstallSite, lock: str, name: str, entry: Mapping[str, Any]) -> VerifiedFolder:
    folders = [os.path.join(root, folder_name(name)) for root in (site.roots["agents"], *site.roots.values())]
    folder = next((folder for folder in folders if os.path.isdir(folder)), folders[0])
    found = VerifiedFolder(folder_name(name), site.scope, "agents", folder, lock, "same")
    wanted = entry.get("computedHash") or entry.get("skillFolderHash")
    try:
        problem = _object(site, folder)
        if problem is not None:
            return structs.replace(problem, name=found.name, client=found.client, lock=lock)
        if not isinstance(wanted, str) or not wanted:
            return structs.replace(found, state="unknown", why="Its installer noted no hash of what it brought")
        hashes = list(_vercel_hashes(folder, tree=len(wanted) == _TREE))
        if wanted in hashes:
            return found
        if None in hashes:
            return structs.replace(found, state="unknown", why=_UNORDERED)
    except OSError as error:
        return structs.replace(found, state="unknown", why=f"It cannot be read: {error.strerror}")
    why = "It is not what its hash says: some file changed, or its installer left some out, as it does metadata.json"
    return structs.replace(found, state="changed", why=why)


def _vercel_hashes(folder: str, *, tree: bool) -> Iterator[str | None]:
    if not tree:
        yield vercel_folder_hash(folder)
        return
    yield hash_tree(folder)
    yield hash_tree(folder, scripts=True)  # what it downloads file by file is not executable any more


def _object(site: InstallSite, folder: str) -> VerifiedFolder | None:
    """Return why a folder is not checked: it is missing, leads out of the project, or is too large; None where it can
    be checked. Raises: OSError."""
    unknown = VerifiedFolder("", site.scope, "", folder, "", "unknown")
    if not folder:
        return structs.replace(unknown, why="Its name leads elsewhere")
    if not os.path.isdir(folder):
        return structs.replace(unknown, state="missing", difference=FolderDifference(is_absent=True))
    if site.scope == "project" and not is_within(real_path(folder), real_path(site.base)):
        return structs.replace(unknown, why="It lies out of the project")
    files = size = 0
    for current, _, names in os.walk(folder):
        files += len(names)
        size += sum(os.lstat(os.path.join(current, name)).st_size for name in names)
        if files > MAX_FILES or size > MAX_BYTES or current.count("/", len(folder)) > MAX_DEPTH:
            return structs.replace(unknown, why="It is too large to look at")
    return None
