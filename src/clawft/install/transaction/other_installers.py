"""What other installers' locks say of the skills they brought, against the folders as they are."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import structs

from clawft.discovery.digest import MAX_BYTES, MAX_FILES
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, real_path
from clawft.locks.clawhub import folder_of, load_clawhub, load_origin
from clawft.locks.compare import MAX_DEPTH, Difference
from clawft.locks.foreign import load_document, skills_of
from clawft.locks.tree import hash_tree
from clawft.locks.vercel import folder_name
from clawft.packing.hashes import fingerprint_folder, vercel_folder_hash
from clawft.supply.targets import Site
from clawft.supply.verified import Checked, Verified
from clawft.supply.verify import vercel_lock

__all__ = ["verify_others"]

_TREE = 40  # digits of the hash of a git tree; others have 64
_META = "_meta.json"  # of the registry, in what it sends


def verify_others(site: Site, environ: Mapping[str, str], names: Collection[str] = ()) -> Verified:
    """All locks of others in one scope; `names`: only these. One that cannot be read does not hide the rest."""
    locks: list[str] = []
    checked: list[Checked] = []
    said: list[Diagnostic] = []
    for client, root in site.roots.items():
        try:
            path, entries = load_clawhub(root)
        except ClawftError as error:
            said.append(error.diagnostic)
            continue
        locks += [path] if path else []
        checked += [_check_clawhub(site, client, path, *one) for one in entries.items()]
    path = vercel_lock(site, environ)
    try:
        document = load_document(path)
    except ClawftError as error:
        said.append(error.diagnostic)
    else:
        locks += [path] if document is not None else []
        checked += [_check_vercel(site, path, *one) for one in skills_of(document).items()]
    wanted = tuple(one for one in checked if not names or one.name in names)
    return Verified(tuple(locks), wanted, tuple(said))


def _check_clawhub(site: Site, client: str, lock: str, key: str, entry: Mapping[str, Any]) -> Checked:
    places = folder_of(key, site.roots[client])
    folder = next((one for one in places if os.path.lexists(one)), places[-1] if places else "")
    version = entry.get("version")
    found = Checked(
        os.path.basename(folder) or key, site.scope, client, folder, lock, "same", str(version) if version else ""
    )
    try:
        problem = _object(site, folder)
        if problem is not None:
            return structs.replace(problem, name=found.name, client=client, lock=lock, version=found.version)
        origin = load_origin(folder)
        if origin is None or not origin.fingerprint:
            return structs.replace(found, state="unknown", why="Its installer noted no fingerprint of what it brought")
        if origin.fingerprint in (fingerprint_folder(folder), fingerprint_folder(folder, leave_out=(_META,))):
            return found
    except (ClawftError, OSError) as error:
        return structs.replace(found, state="unknown", why=f"It cannot be read: {error}")
    return structs.replace(found, state="changed", why="It is not what its fingerprint says: some text of it changed")


def _check_vercel(site: Site, lock: str, name: str, entry: Mapping[str, Any]) -> Checked:
    folders = [os.path.join(root, folder_name(name)) for root in (site.roots["agents"], *site.roots.values())]
    folder = next((one for one in folders if os.path.isdir(one)), folders[0])
    found = Checked(folder_name(name), site.scope, "agents", folder, lock, "same")
    wanted = entry.get("computedHash") or entry.get("skillFolderHash")
    try:
        problem = _object(site, folder)
        if problem is not None:
            return structs.replace(problem, name=found.name, client=found.client, lock=lock)
        if not isinstance(wanted, str) or not wanted:
            return structs.replace(found, state="unknown", why="Its installer noted no hash of what it brought")
        if wanted in _vercel_hashes(folder, tree=len(wanted) == _TREE):
            return found
    except OSError as error:
        return structs.replace(found, state="unknown", why=f"It cannot be read: {error.strerror}")
    why = "It is not what its hash says: some file changed, or its installer left some out, as it does metadata.json"
    return structs.replace(found, state="changed", why=why)


def _vercel_hashes(folder: str, *, tree: bool) -> Iterator[str]:
    if not tree:
        yield vercel_folder_hash(folder)
        return
    yield hash_tree(folder)
    yield hash_tree(folder, scripts=True)  # what it downloads file by file is not executable any more


def _object(site: Site, folder: str) -> Checked | None:
    """Why a folder is not looked at: it is missing, leads out of the project, or is too large. Raises: OSError."""
    nothing = Checked("", site.scope, "", folder, "", "missing", difference=Difference(gone=True))
    if not folder:
        return structs.replace(nothing, state="unknown", difference=Difference(), why="Its name leads elsewhere")
    if not os.path.isdir(folder):
        return nothing
    if site.scope == "project" and not is_within(real_path(folder), real_path(site.base)):
        return structs.replace(nothing, state="unknown", difference=Difference(), why="It lies out of the project")
    files = size = 0
    for current, _, names in os.walk(folder):
        files += len(names)
        size += sum(os.lstat(os.path.join(current, name)).st_size for name in names)
        if files > MAX_FILES or size > MAX_BYTES or current.count("/", len(folder)) > MAX_DEPTH:
            return structs.replace(nothing, state="unknown", difference=Difference(), why="It is too large to look at")
    return None
