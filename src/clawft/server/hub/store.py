"""The hub's store: skills of owners, immutable versions with their zips, and opening it by the settings."""

import fcntl
import hashlib
import io
import math
import os
import stat
import threading
import time
import zipfile
from collections.abc import Iterable, Mapping

import msgspec

from clawft.config.registries import HubSettings, QuotaSettings
from clawft.errors import ClawftError, NotFound, Refused
from clawft.files import get_hint, is_there
from clawft.install.archive.hashes import clawhub_fingerprint, counts_for_clawhub
from clawft.install.publish.versions import version_order
from clawft.server.hub.blobs import BlobStore, DatabaseBlobs, FolderBlobs
from clawft.server.hub.database import Execute, HubDatabase, HubUnavailable, SqliteDatabase, prepare_tables
from clawft.server.hub.model import (
    NO_REASON,
    CheckedDraft,
    HubFile,
    HubPage,
    HubRelease,
    HubSkill,
    HubVersion,
    OwnerUsage,
    PublicationDraft,
)
from clawft.server.hub.queries import (
    RELEASE,
    SKILL,
    VERSION,
    VersionAdditions,
    add_skill,
    add_version,
    check_quota,
    choose_latest,
    list_page,
    read_files,
    read_release,
    read_skill,
    read_usage,
    read_version,
    renew_skill,
    search_skills,
    set_tag,
    update_search_words,
)

META = "_meta.json"  # what ClawHub adds; its clients read it, and it is no part of the skill
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def make_archive(files: Iterable[tuple[HubFile, bytes]]) -> bytes:
    """A zip of these files, in byte order of their names.

    Nothing is compressed: what is made of the same bytes differs between versions of zlib.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for file, content in sorted(files, key=lambda one: one[0].path.encode()):
            entry = zipfile.ZipInfo(file.path, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | (0o755 if file.executable else 0o644)) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def make_meta(owner: str, slug: str, version: str, published: int) -> tuple[HubFile, bytes]:
    """The file that ClawHub adds to a download."""
    content = msgspec.json.encode({"ownerId": owner, "slug": slug, "version": version, "publishedAt": published})
    return HubFile(META, len(content), hashlib.sha256(content).hexdigest(), "application/json"), content


DATABASE = "hub.sqlite"
LOCK = "lock"
_BLOBS = "blobs"
_ORPHAN_S = 6 * 3600.0  # bytes that no version uses are kept as long: a client may be about to publish them
_CONTENT = """SELECT s.id, s.deleted, v.files FROM hub_skill s LEFT JOIN hub_version v
ON v.skill = s.id AND v.version = ? WHERE s.owner = ? AND s.slug = ?"""
_USED = "SELECT 1 FROM hub_use WHERE sha256 = ? LIMIT 1"
_YANK = "UPDATE hub_version SET yanked = ? WHERE skill = ? AND version = ? RETURNING 1"


class VersionExists(ClawftError):
    """There is this version with other bytes. Versions do not change."""


class HubStore:
    """Opened on a folder (SQLite and files) or on a database that several instances share. Threads may use it.

    Everything is synchronous and raises ClawftError (`HubUnavailable` for what passes). Reading from SQLite takes
    microseconds, so it may be done on the event loop (`quick`); PostgreSQL, blobs and writing belong on a thread.
    Times are milliseconds since 1970. A skill is named by its `id` once it was found.

    - bytes: `blobs`
    - write: `publish(draft, checked, publisher) -> HubVersion`, `yank(skill, version, reason)`,
      `unyank(skill, version)`, `delete(skill)`, `undelete(skill)`,
      `set_tag(skill, tag, version)`, `count_download(skill)`, `flush()`, `sweep()`
    - read: `find(slug, owner='')` gives all that match, deleted ones too: more than one is ambiguous;
      `get_skill(id)`, `get_version(skill, version='')` ('' for the latest), `find_version`, `versions(skill)` newest
      first, `tags(skill)`, `list_skills(sort, limit, cursor, …)`, `search(query, limit)`,
      `resolve(skill, fingerprint) -> version or ''`, `owners()`, `usage(owner)`
    - a version's `archive` is the blob of the plain zip, whose sha256 an index may name; `download` is the blob of the
      one with `_meta.json`, as ClawHub's `/download` gives it.
    """

    def __init__(self, database: HubDatabase, blobs: BlobStore) -> None:
        """Raises: ClawftError."""
        prepare_tables(database)
        self.database = database
        self.blobs = blobs
        self.quick = database.dialect == "sqlite"
        self._downloads: dict[int, int] = {}
        self._counting = threading.Lock()
        self._held = -1

    @classmethod
    def open_folder(cls, folder: str) -> "HubStore":
        """The store of one machine; made if it is not there. Raises: ClawftError."""
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            message = f"The hub's folder cannot be made: {error.strerror or error}"
            raise ClawftError("hub-database", message, path=folder, hint=get_hint(error, folder)) from error
        held = _hold(folder)
        try:
            store = cls(SqliteDatabase(os.path.join(folder, DATABASE)), FolderBlobs(os.path.join(folder, _BLOBS)))
        except BaseException:
            os.close(held)
            raise
        store._held = held
        return store

    @classmethod
    def open_shared(cls, address: str) -> "HubStore":
        """A store that several instances share, in a PostgreSQL. Raises: ClawftError."""
        from clawft.server.hub.postgres import PostgresDatabase

        database = PostgresDatabase(address)
        try:
            return cls(database, DatabaseBlobs(database))
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self.database.close()
            if self._held >= 0:
                os.close(self._held)
                self._held = -1

    # Writing

    def publish(
        self, draft: PublicationDraft, checked: CheckedDraft, publisher: str, quota: QuotaSettings | None = None
    ) -> HubVersion:
        """Keep a version, whole or not at all. The same version again is fine if it has the same content.

        Raises: VersionExists, Refused.
        """
        if same := _find_same(self.database.read, draft):
            return self.get_version(same, draft.version)
        made = self._make(draft, publisher)
        try:
            with self.database.write() as execute:
                skill = _find_same(execute, draft)
                if not skill:
                    skill = add_skill(execute, draft, checked, made.created)
                    if quota is not None:
                        check_quota(execute, draft, quota)
                    self._check_quota(execute, made, draft)
                    add_version(execute, skill, draft, checked, made)
                    choose_latest(execute, skill)
                    renew_skill(execute, skill, draft, checked, made.created)
                    update_search_words(execute, self.database.dialect, skill)
        except (Refused, VersionExists):
            self.discard((made.archive, made.download))
            raise
        return self.get_version(skill, draft.version)

    def yank(self, skill: int, version: str, reason: str) -> None:
        """Give a version only to those who name it. Raises: NotFound."""
        self._set_yanked(skill, version, reason or NO_REASON)

    def unyank(self, skill: int, version: str) -> None:
        """Raises: NotFound."""
        self._set_yanked(skill, version, "")

    def delete(self, skill: int) -> None:
        """Give it to nobody any more; its versions stay taken."""
        self._set_deleted(skill, 1)

    def undelete(self, skill: int) -> None:
        self._set_deleted(skill, 0)

    def set_tag(self, skill: int, tag: str, version: str) -> None:
        """Point a tag to a version; '' for none. Raises: NotFound."""
        with self.database.write() as execute:
            if version and not execute("SELECT 1 FROM hub_version WHERE skill = ? AND version = ?", (skill, version)):
                raise _no_version(version)
            set_tag(execute, skill, tag, version)

    def count_download(self, skill: int) -> None:
        """Count a download in memory. `flush` writes many at once: writing each would cost more than the download."""
        with self._counting:
            self._downloads[skill] = self._downloads.get(skill, 0) + 1

    def flush(self) -> None:
        """Write down what was counted."""
        with self._counting:
            counted, self._downloads = self._downloads, {}
        if counted:
            with self.database.write() as execute:
                for skill, number in sorted(counted.items()):
                    execute("UPDATE hub_skill SET downloads = downloads + ? WHERE id = ?", (number, skill))

    def discard(self, blobs: Iterable[str]) -> int:
        """Take away those of these bytes that no version uses; how many there were."""
        return sum(self._drop(sha256, math.inf) for sha256 in blobs)

    def sweep(self, older_s: float = _ORPHAN_S) -> int:
        """Take away bytes that no version uses and that nobody sent lately; how many there were."""
        before = time.time() - older_s
        return sum(self._drop(sha256, before) for sha256 in list(self.blobs.old(before)))

    # Reading

    def find(self, slug: str, owner: str = "") -> tuple[HubSkill, ...]:
        """Find all skills of this name, of one owner or of any; deleted ones too, so that the answer can say so."""
        only, values = (" AND owner = ?", (slug, owner)) if owner else ("", (slug,))
        rows = self.database.read(f"SELECT {SKILL} FROM hub_skill WHERE slug = ?{only} ORDER BY owner", values)
        return tuple(map(read_skill, rows))

    def list_names(self, prefix: str, limit: int) -> tuple[HubSkill, ...]:
        """The skills whose name begins so and is had by one owner alone; deleted ones too."""
        rows = self.database.read(
            f"""SELECT {SKILL} FROM hub_skill WHERE slug >= ? AND slug < ? AND slug IN
            (SELECT slug FROM hub_skill GROUP BY slug HAVING count(*) = 1) ORDER BY slug LIMIT ?""",
            (prefix, prefix + "\U0010ffff", limit),
        )
        return tuple(map(read_skill, rows))

    def get_skill(self, skill: int) -> HubSkill:
        """Raises: NotFound."""
        rows = self.database.read(f"SELECT {SKILL} FROM hub_skill WHERE id = ?", (skill,))
        if not rows:
            raise NotFound("hub-not-found", "The hub has no such skill")
        return read_skill(rows[0])

    def get_version(self, skill: int, version: str = "") -> HubVersion:
        """A version, the latest for ''. Raises: NotFound."""
        found = self.find_version(skill, version)
        if found is None:
            raise _no_version(version)
        return found

    def find_version(self, skill: int, version: str = "") -> HubVersion | None:
        """A version, the latest for ''; None if there is none."""
        which = "?" if version else "(SELECT latest FROM hub_skill WHERE id = ?)"
        statement = f"SELECT {VERSION} FROM hub_version WHERE skill = ? AND version = {which}"
        rows = self.database.read(statement, (skill, version or skill))
        if not rows:
            return None
        tags = self.database.read(
            "SELECT tag FROM hub_tag WHERE skill = ? AND version = ? ORDER BY tag", (skill, rows[0][1])
        )
        return read_version(rows[0], tuple(tag for (tag,) in tags))

    def versions(self, skill: int) -> tuple[HubRelease, ...]:
        """All versions, newest first; yanked ones too."""
        rows = self.database.read(f"SELECT {RELEASE} FROM hub_version v WHERE v.skill = ?", (skill,))
        return tuple(sorted(map(read_release, rows), key=lambda one: version_order(one.version), reverse=True))

    def tags(self, skill: int) -> dict[str, str]:
        """Return the version of each tag."""
        return dict(self.database.read("SELECT tag, version FROM hub_tag WHERE skill = ? ORDER BY tag", (skill,)))

    def list_skills(
        self, sort: str = "updated", limit: int = 50, cursor: str = "", *, prefix: str = "", owner: str = ""
    ) -> HubPage:
        """A part of all skills that have a version to give. `sort`: updated, created, downloads or name."""
        return list_page(self.database, sort, limit, cursor, prefix=prefix, owner=owner)

    def search(self, query: str, limit: int = 20) -> HubPage:
        """The skills that share words with a query, best first."""
        return search_skills(self.database, query, limit)

    def resolve(self, skill: int, fingerprint: str) -> str:
        """The newest version with this content, '' for none, by ClawHub's fingerprint of it or of a download."""
        statement = "SELECT version FROM hub_version WHERE skill = ? AND (fingerprint = ? OR bundle = ?)"
        rows = self.database.read(statement, (skill, fingerprint, fingerprint))
        return max((version for (version,) in rows), key=version_order, default="")

    def owners(self) -> tuple[str, ...]:
        """Everybody who has a skill here, in order."""
        return tuple(owner for (owner,) in self.database.read("SELECT DISTINCT owner FROM hub_skill ORDER BY owner"))

    def usage(self, owner: str) -> OwnerUsage:
        """Return the storage that an owner uses; deleted skills count, since they are stored."""
        return read_usage(self.database.read, owner)

    def _make(self, draft: PublicationDraft, publisher: str) -> VersionAdditions:
        """The zips of a version, kept. Raises: ClawftError."""
        now = _now()
        contents = [(file, self.blobs.get(file.sha256)) for file in draft.files]
        bundle = [*contents, make_meta(draft.owner, draft.slug, draft.version, now)]
        archive, download = make_archive(contents), make_archive(bundle)
        counted = [(member.path, member.sha256) for member, data in bundle if counts_for_clawhub(member.path, data)]
        return VersionAdditions(
            created=now,
            publisher=publisher,
            archive=self.blobs.put(archive),
            archive_size=len(archive),
            download=self.blobs.put(download),
            download_size=len(download),
            bundle=clawhub_fingerprint(counted) or "",
        )

    def _check_quota(self, execute: Execute, made: VersionAdditions, draft: PublicationDraft) -> None:
        """Check that all bytes of a version are still stored: no sweep runs during the write. Raises: ClawftError."""
        needed = {made.archive, made.download, *(file.sha256 for file in draft.files)}
        if not all(self.blobs.has(blob, execute) for blob in needed):
            raise ClawftError("hub-not-found", "Files of this version are not there any more", hint="Send them again")

    def _drop(self, sha256: str, before: float) -> bool:
        if self.database.read(_USED, (sha256,)):
            return False
        with self.database.write() as execute:
            return not execute(_USED, (sha256,)) and self.blobs.drop(sha256, before, execute)

    def _set_yanked(self, skill: int, version: str, reason: str) -> None:
        with self.database.write() as execute:
            if not execute(_YANK, (reason, skill, version)):
                raise _no_version(version)
            choose_latest(execute, skill)
            execute("UPDATE hub_skill SET updated = ? WHERE id = ?", (_now(), skill))
            update_search_words(execute, self.database.dialect, skill)

    def _set_deleted(self, skill: int, deleted: int) -> None:
        with self.database.write() as execute:
            execute("UPDATE hub_skill SET deleted = ?, updated = ? WHERE id = ?", (deleted, _now(), skill))
            update_search_words(execute, self.database.dialect, skill)


def _find_same(read: Execute, draft: PublicationDraft) -> int:
    """The skill that has this version with these files already; 0 if there is no such version.

    A digest would not do: what it leaves out, as a signature, would be sent again and not be kept.

    Raises: VersionExists where it has other content, Refused where the skill was deleted.
    """
    name = f"@{draft.owner}/{draft.slug}"
    for skill, deleted, files in read(_CONTENT, (draft.version, draft.owner, draft.slug)):
        if deleted:
            raise Refused("hub-deleted", f"{name} was deleted", hint="Undelete it first")
        if files is not None and _content(read_files(files)) == _content(draft.files):
            return int(skill)
        if files is not None:
            message = f"Version {draft.version} of {name} exists with other content"
            raise VersionExists("hub-version-exists", message, hint="Versions do not change: publish a new one")
    return 0


def _content(files: Iterable[HubFile]) -> set[tuple[str, str, bool]]:
    return {(file.path, file.sha256, file.executable) for file in files}


def _hold(folder: str) -> int:
    """Keep others from replacing the folder while it is in use; the system lets go when this process ends.

    Raises: ClawftError.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(os.path.join(folder, LOCK), flags, 0o600)
    except OSError as error:
        message = f"The hub's folder cannot be used: {error.strerror or error}"
        raise ClawftError("hub-database", message, path=folder, hint=get_hint(error, folder)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise HubUnavailable("hub-busy", "The hub is being restored", path=folder, hint="Try again") from error
    return descriptor


def _no_version(version: str) -> NotFound:
    return NotFound("hub-not-found", f"The skill has no version {version}" if version else "The skill has no version")


def _now() -> int:
    return time.time_ns() // 1_000_000


def store_folder(settings: HubSettings, user_dir: str) -> str:
    """Return the folder of the hub's files, used unless a server holds all of it."""
    return os.path.expanduser(settings.folder) if settings.folder else os.path.join(user_dir, "hub")


def render_store_location(settings: HubSettings, user_dir: str) -> str:
    """Render the location of the hub's storage for people: without the database address, which holds a password."""
    return f"PostgreSQL ({settings.database})" if settings.database else store_folder(settings, user_dir)


def has_store(settings: HubSettings, user_dir: str) -> bool:
    """Return whether there is one already; a server is taken to have one."""
    return settings.database is not None or is_there(os.path.join(store_folder(settings, user_dir), DATABASE))


def open_store(settings: HubSettings, user_dir: str, environ: Mapping[str, str]) -> HubStore:
    """The hub's store, made if it is not there. Raises: ClawftError."""
    if settings.database is None:
        return HubStore.open_folder(store_folder(settings, user_dir))
    address = settings.database.resolve(environ)
    if not address:
        message = f"The address of the hub's database is not set: {settings.database}"
        raise ClawftError("hub-database", message, hint="Set what hub.database refers to")
    return HubStore.open_shared(address)
