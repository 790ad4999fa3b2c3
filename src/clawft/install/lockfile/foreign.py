"""Lock files of other installers: the `clawhub` and the `skills` command."""

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import read_optional
from clawft.install.lockfile.model import MAX_LOCK_BYTES, LockedSkill

_MARKER = re.compile(rb"^(?:<{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)


def load_document(path: str) -> dict[str, Any] | None:
    """A lock of theirs; None where there is none. Raises: Unreadable, ClawftError `other-lock-invalid`."""
    data = read_optional(path, MAX_LOCK_BYTES)
    return None if data is None else parse_document(data, path)


def parse_document(data: bytes, path: str) -> dict[str, Any]:
    """The same from its bytes. What its own tool would take for empty, and write over, is an error here."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        why = "git left two versions in it" if _MARKER.search(data) else f"it is not JSON ({error})"
        raise _invalid(path, why) from error
    if not isinstance(document, dict) or not isinstance(document.get("skills"), dict):
        raise _invalid(path, "it does not list skills")
    return document


def skills_of(document: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Return a document's entry for each skill; an entry that is no table becomes an empty one."""
    listed = (document or {}).get("skills", {})
    return {str(name): entry if isinstance(entry, dict) else {} for name, entry in listed.items()}


def render_document(document: dict[str, Any]) -> str:
    """As JavaScript writes it with an indent of two."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False)


def _invalid(path: str, why: str) -> ClawftError:
    message = f"The lock of another installer cannot be used: {why}"
    return ClawftError("other-lock-invalid", message, path=path, hint="Mend or remove it; it is left as it is")


_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LEFT_OUT = frozenset({".git", ".clawhub", ".clawft", ".clawft-signature"})  # what came to the folder later


def hash_tree(folder: str, *, scripts: bool = False) -> str:
    """The hex SHA-1 of a folder as a git tree; empty folders are none of it.

    `scripts`: whatever begins as a script counts as executable, for folders whose files lost that. Raises: OSError.
    """
    return (_hash_folder(folder, scripts=scripts) or _hash(b"tree", b"")).hex()


def _hash_folder(folder: str, *, scripts: bool) -> bytes | None:
    lines: list[tuple[bytes, bytes]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = os.fsencode(entry.name)
            if entry.name in _LEFT_OUT:
                continue
            if entry.is_symlink():
                target = os.fsencode(os.readlink(entry.path))
                lines.append((name, b"120000 %s\0%s" % (name, _hash(b"blob", target))))
            elif entry.is_dir(follow_symlinks=False):
                inner = _hash_folder(entry.path, scripts=scripts)
                if inner is not None:
                    lines.append((name + b"/", b"40000 %s\0%s" % (name, inner)))  # git's order: as if it ended so
            else:
                lines.append((name, _hash_file(entry.path, name, scripts=scripts)))
    return _hash(b"tree", b"".join(line for _, line in sorted(lines))) if lines else None


def _hash_file(path: str, name: bytes, *, scripts: bool) -> bytes:
    with open(os.open(path, _FILE), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(None, "It holds what is no file", path)
        content = file.read()
    executable = content.startswith(b"#!") if scripts else mode & 0o100
    return b"%s %s\0%s" % (b"100755" if executable else b"100644", name, _hash(b"blob", content))


def _hash(kind: bytes, content: bytes) -> bytes:
    whole = hashlib.sha1(b"%s %d\0" % (kind, len(content)), usedforsecurity=False)
    whole.update(content)
    return whole.digest()


LOCKS = (".clawhub/lock.json", ".clawdhub/lock.json")  # the second is what it was called before
ORIGIN = ".clawhub/origin.json"
_ORIGINS = (ORIGIN, ".clawdhub/origin.json")
_MAX_ORIGIN = 1 << 20
_KEY = re.compile(r"(?:skills-sh:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/|@([A-Za-z0-9][A-Za-z0-9._-]*)/)?([A-Za-z0-9_-]+)")


class ClawhubOrigin(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The origin that ClawHub's client recorded in an installed folder."""

    version: int
    registry: str
    slug: str
    installed_version: str
    installed_at: float = 0
    owner_handle: str | None = None
    fingerprint: str | None = None


def load_clawhub(root: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """The lock of a folder of skills: where it is, '' for none, and its entries. Raises: ClawftError."""
    for name in LOCKS:
        path = os.path.join(os.path.dirname(root), name)
        document = load_document(path)
        if document is not None:
            return path, skills_of(document)
    return "", {}


def folder_of(key: str, root: str) -> list[str]:
    """Return the folders that a key may name: below its owner, or by its slug alone. None for a key that leads outside
    the root."""
    match = _KEY.fullmatch(key)
    if match is None:
        return []
    owner, slug = match.groups()
    plain = os.path.join(root, slug)
    return [os.path.join(root, f"@{owner}", slug), plain] if owner else [plain]


def load_origin(folder: str) -> ClawhubOrigin | None:
    """Load the recorded origin of a folder, None where there is none, or none that is valid. Raises: Unreadable."""
    for name in _ORIGINS:
        data = read_optional(os.path.join(folder, name), _MAX_ORIGIN)
        if data is not None:
            try:
                origin = msgspec.json.decode(data, type=ClawhubOrigin)
            except (msgspec.DecodeError, RecursionError):
                return None
            return origin if origin.version == 1 else None
    return None


def render_origin(skill: LockedSkill, fingerprint: str, now_ms: int) -> str:
    """The text of `origin.json` for what was installed from a registry."""
    origin = skill.origin
    fields: dict[str, Any] = {"version": 1, "registry": origin.url, "slug": origin.slug}
    if origin.owner:
        fields["ownerHandle"] = origin.owner
    fields |= {"installedVersion": skill.version or skill.commit, "installedAt": now_ms}
    return render_document(fields | ({"fingerprint": fingerprint} if fingerprint else {})) + "\n"


def add_clawhub(data: bytes | None, path: str, skill: LockedSkill, now_ms: int) -> str:
    """The lock with one more skill, or a newer one. Raises: ClawftError for one that cannot be read."""
    document = _open(data, path)
    known = document["skills"].get(skill.origin.slug)
    entry = {**known} if isinstance(known, dict) else {}
    same = find_installed_at(data, path, skill)  # nothing changes where nothing is new
    entry |= {"version": skill.version or skill.commit or None, "installedAt": same or now_ms}
    if skill.origin.owner:
        entry["ownerHandle"] = skill.origin.owner
    for field in ("pinned", "pinReason"):
        entry.pop(field, None)
    if skill.pinned:
        entry |= {"pinned": True, "pinReason": skill.pinned}
    document["skills"][skill.origin.slug] = entry
    return render_document(document) + "\n"


def find_installed_at(data: bytes | None, path: str, skill: LockedSkill) -> int | None:
    """Find when a lock says that this version was installed, in milliseconds; None where it does not say. Raises:
    ClawftError."""
    entry = _open(data, path)["skills"].get(skill.origin.slug)
    if not isinstance(entry, dict) or entry.get("version") != (skill.version or skill.commit or None):
        return None
    at = entry.get("installedAt")
    return at if type(at) is int else None


def drop_clawhub(data: bytes | None, path: str, slug: str) -> str | None:
    """The lock without a skill; None where it does not have it. Raises: ClawftError."""
    document = _open(data, path)
    return None if document["skills"].pop(slug, None) is None else render_document(document) + "\n"


PROJECT_LOCK = "skills-lock.json"
_GLOBAL_VERSION = 3


def find_global_lock(home: str, environ: Mapping[str, str]) -> str:
    """Return the path of the user's global lock."""
    state = environ.get("XDG_STATE_HOME")
    return os.path.join(state, "skills", ".skill-lock.json") if state else f"{home}/.agents/.skill-lock.json"


def folder_name(name: str) -> str:
    """The folder that a skill of this name lies in."""
    return re.sub(r"[^a-z0-9._]+", "-", name.lower()).strip(".-")[:255] or "unnamed-skill"


def add_project(data: bytes | None, path: str, skill: LockedSkill, computed: str) -> str:
    """`skills-lock.json` with one more skill, in their order. Raises: ClawftError for one that cannot be read."""
    document = _open(data, path)
    source, kind, url, inside = _describe(skill)
    entry = {**_known(document, skill.name), "source": source}
    _set(entry, "sourceUrl", url if kind in ("git", "gitlab") else "")
    _set(entry, "ref", skill.origin.ref)
    entry["sourceType"] = kind
    _set(entry, "skillPath", inside)
    document["skills"][skill.name] = entry | {"computedHash": computed}
    return _render_project(document)


def add_global(data: bytes | None, path: str, skill: LockedSkill, tree: str, now: str) -> str:
    """`.skill-lock.json` with one more skill; `now` is in ISO 8601. Raises: ClawftError."""
    document = _open(data, path, _GLOBAL_VERSION, dismissed={})
    source, kind, url, inside = _describe(skill)
    known = _known(document, skill.name)
    entry = {**known, "source": source, "sourceType": kind, "sourceUrl": url}
    _set(entry, "ref", skill.origin.ref)
    _set(entry, "skillPath", inside)
    entry |= {"skillFolderHash": tree, "installedAt": known.get("installedAt", now), "updatedAt": now}
    document["skills"][skill.name] = entry
    return render_document(document)


def drop_project(data: bytes | None, path: str, name: str) -> str | None:
    """The lock without a skill; None where it does not have it. Raises: ClawftError."""
    document = _open(data, path)
    return None if document["skills"].pop(name, None) is None else _render_project(document)


def drop_global(data: bytes | None, path: str, name: str) -> str | None:
    """Drop a skill from a user's lock. Raises: ClawftError."""
    document = _open(data, path, _GLOBAL_VERSION, dismissed={})
    return None if document["skills"].pop(name, None) is None else render_document(document)


def _open(data: bytes | None, path: str, version: int = 1, **more: Any) -> dict[str, Any]:
    """A lock of theirs, or a new one, which also has `more`. Raises: ClawftError."""
    if data is None:
        return {"version": version, "skills": {}, **more}
    document = parse_document(data, path)
    if document.get("version") != version:  # an older one its own tool would throw away
        message = "The lock of another installer has a version that is not known here"
        raise ClawftError("other-lock-invalid", message, path=path, hint="It is left as it is")
    return document


def _render_project(document: dict[str, Any]) -> str:
    ordered = sorted(document["skills"].items(), key=lambda one: one[0].encode("utf-16-be", "surrogatepass"))
    return render_document({**document, "skills": dict(ordered)}) + "\n"


def _known(document: dict[str, Any], name: str) -> dict[str, Any]:
    known = document["skills"].get(name)
    return known if isinstance(known, dict) else {}


def _set(entry: dict[str, Any], key: str, value: str) -> None:
    """A field that stands there only if it says something."""
    entry.pop(key, None)
    if value:
        entry[key] = value


def _describe(skill: LockedSkill) -> tuple[str, str, str, str]:
    """The source in their words: its short name, its type, its address, and where SKILL.md lies in it."""
    from urllib.parse import urlsplit  # slow, and not needed just to read the lock

    origin = skill.origin
    url = origin.url
    inside = f"{origin.path}/SKILL.md" if origin.path else "SKILL.md"
    if origin.kind == "git":
        parts = urlsplit(url)
        short = parts.path.strip("/").removesuffix(".git")
        if parts.hostname == "github.com":
            return short, "github", url, inside
        return url, "gitlab" if parts.hostname == "gitlab.com" else "git", url, inside
    if origin.kind == "folder" or "://" not in url:
        return url, "local", url, inside
    host = (urlsplit(url).hostname or "unknown").removeprefix("www.")
    if origin.kind == "clawhub" and origin.owner:
        url = f"{url.rstrip('/')}/api/v1/agent-skills/{origin.owner}/{origin.slug}/index.json"
    return host, "well-known", url, ""
