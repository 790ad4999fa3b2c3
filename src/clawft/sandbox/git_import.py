"""Bring into a repository what a confined program did in its private copy, and nothing that steers git.

Objects come first, then what names them. Everything is read once through descriptors, judged, and written as a regular
file under git's own locks, where the real file still is what it was when the copy was made. What stays out is reported.
"""

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.files import is_within
from clawft.sandbox import git_refs
from clawft.sandbox.git_config import merge_config
from clawft.sandbox.git_index import BadIndex, check_index, load_index, write_index
from clawft.sandbox.git_objects import ObjectStore, import_objects, is_known, is_plain_name
from clawft.sandbox.git_packs import MAX_CONTENT, MAX_PACK_BYTES, BadPack, unpack
from clawft.sandbox.git_refs import HEAD, PACKED, RefChange
from clawft.sandbox.git_state import GROUPS, MAX_STATE_BYTES, SINGLE, Check, is_reflog, is_sound
from clawft.sandbox.plain_tree import PlainTree, TreeFull
from clawft.sandbox.private_copies import MAX_ENTRIES, MAX_FILE_BYTES, PrivateCopy
from clawft.sandbox.process import AskChange

_MAX_LOG = 64 << 20
_MAX_CONFIG = 1 << 20
_LINKS = ("commondir", "gitdir")  # from the folder of a work tree to the repository, and to the work tree
_PARTIAL = re.compile(rb"(?i)partialclone|promisor")
_PACK = re.compile(r"objects/pack/[\w.-]+\.pack")
_WORKTREE = re.compile(r"worktrees/([^/]+)/")
_HEADS = re.compile(r"(?:worktrees/[^/]+/)?HEAD")
# Objects, what git leaves, and what it makes anew when it needs it.
_SILENT = re.compile(
    r".*\.lock|objects/(?:[0-9a-f]{2}|pack)/.*|gc\.(?:log|pid)|(?:objects/)?info/(?:refs|packs|commit-graph.*)"
)


class _Changed(Exception):
    """Another program has changed the real file since it was copied."""


class ImportContext(Struct, frozen=True):
    """The folder that the command could write, a callback to ask a person, and what was held back of the import."""

    root: str
    ask: AskChange
    problems: list[str]


class _Repository:
    """One repository of a copy: the main one, or one of a submodule. Paths are relative to it."""

    def __init__(
        self, context: ImportContext, copy: PrivateCopy, prefix: str, real: PlainTree, tree: PlainTree
    ) -> None:
        self._context, self._copy, self._prefix = context, copy, prefix
        self._real, self._tree = real, tree
        self._problems = context.problems
        self._changed: set[str] = set()
        partial = bool(_PARTIAL.search(real.find("config", _MAX_CONFIG) or b""))
        self._store = ObjectStore(os.path.join(real.path, "objects"), whole=not partial)
        self._unpacked = 0  # bytes, of all packs
        self._added: set[str] = set()
        self._refused: set[str] = set()  # refs that did not come in
        self._removed: set[str] = set()

    def run(self, changed: set[str]) -> None:
        """Import what was changed at these paths. Raises: OSError; TreeFull; Unreadable."""
        self._changed = changed
        if not self._is_intact():
            self._problems.append(f"{self._name('')}everything, since it is no repository any more")
            return
        self._import_objects()
        self._import_refs()
        for prefix in self._list_checkouts():
            self._import_checkout(prefix)
        if "config" in self._changed:
            self._changed.discard("config")
            self._guard("config", self._merge_config, "config")
        for path in sorted(self._changed):
            if not _SILENT.fullmatch(path):
                self._problems.append(self._name(path))

    def _is_intact(self) -> bool:
        head = self._tree.find(HEAD, git_refs.MAX_REF_BYTES) or b""
        folders = [self._tree.find_mark(name) for name in ("objects", "refs")]
        return bool(git_refs.parse_ref(head)) and all(mark and stat.S_ISDIR(mark[0]) for mark in folders)

    def _name(self, path: str) -> str:
        return f"{self._prefix}{path}"

    def _guard(self, what: str, work: Callable[..., None], *arguments: object) -> None:
        """Do one part of the import; what goes wrong with it does not stop the others."""
        try:
            work(*arguments)
        except _Changed:
            self._problems.append(f"{self._name(what)}: another program changed it meanwhile")
        except FileExistsError:
            self._problems.append(f"{self._name(what)}: another program has locked it")
        except BadIndex as error:
            self._problems.append(f"{self._name(what)}: {error}")
        except (OSError, Unreadable) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._problems.append(f"{self._name(what)}: {why}")

    def _is_known(self, name: str) -> bool:
        return is_known(name, self._added, self._store)

    def _import_objects(self) -> None:
        for path in sorted(self._changed):
            if _PACK.fullmatch(path):
                self._guard(path, self._unpack, path)
        try:
            self._guard("objects", self._store_objects)
        except TreeFull:
            self._problems.append(f"{self._name('objects')}: too many or too large")

    def _unpack(self, path: str) -> None:
        """Make loose objects of a pack, in the copy. Raises: OSError; Unreadable."""
        data = self._tree.read(path, MAX_PACK_BYTES)[0]
        try:
            for kind, content in unpack(data):
                self._unpacked += len(content)
                if self._unpacked > MAX_CONTENT:
                    raise BadPack
                whole = b"%s %d\0" % (kind, len(content)) + content
                name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
                if not self._store.has(name):
                    self._tree.add(f"objects/{name[:2]}/{name[2:]}", zlib.compress(whole, 1), 0o444)
        except BadPack:
            self._problems.append(f"{self._name(path)}, which is damaged or too large")

    def _store_objects(self) -> None:
        """Raises: OSError; TreeFull."""
        with PlainTree(os.path.join(self._real.path, "objects")) as target:
            source = os.path.join(self._tree.path, "objects")
            self._added = import_objects(source, target, self._store, self._problems)

    # --- refs

    def _import_refs(self) -> None:
        touched = {path for path in self._changed if path.startswith("refs/") or path == PACKED}
        self._changed -= touched
        if not touched:
            return
        new = git_refs.parse_packed(self._tree.find(PACKED, git_refs.MAX_PACKED_BYTES) or b"")
        loose, self._refused = git_refs.read_loose(self._tree, MAX_ENTRIES)
        new |= loose
        self._problems += [f"the ref {self._name(path)!r}, which git would not take" for path in sorted(self._refused)]
        try:
            old = self._read_old_refs()
        except _Changed:
            self._problems.append(f"{self._name(PACKED)}: another program changed it meanwhile")
            return
        self._removed = set(old) - set(new)
        for change in git_refs.find_changes(old, new):
            if not any(is_within(bad, change.name) or is_within(change.name, bad) for bad in self._refused):
                self._set_ref(change)

    def _read_old_refs(self) -> dict[str, str]:
        """The refs when the copy was made. Raises: _Changed; OSError; Unreadable."""
        old = git_refs.parse_packed(self._read_base(PACKED, git_refs.MAX_PACKED_BYTES) or b"")
        paths = [path for path in self._list_base() if path.startswith("refs/")]
        return old | {path: git_refs.parse_ref(self._read_base(path, git_refs.MAX_REF_BYTES) or b"") for path in paths}

    def _set_ref(self, change: RefChange) -> None:
        name, new = change.name, change.new
        if not git_refs.is_taken(name) and not _HEADS.fullmatch(name):
            self._problems.append(f"the ref {name!r}, which is of no kind that is taken over")
        elif new and not new.startswith("ref: ") and not self._is_known(new):
            self._problems.append(f"{self._name(name)}: it names an object that did not come in")
        else:
            self._guard(name, self._swap_ref, change)
            return
        self._refused.add(name)

    def _swap_ref(self, change: RefChange) -> None:
        """Raises: OSError; Unreadable."""
        if not git_refs.set_ref(self._real, change):
            self._keep_commits(change)

    def _keep_commits(self, change: RefChange) -> None:
        """Keep what a ref was set to where another program has set it, too. Raises: OSError; Unreadable."""
        self._refused.add(change.name)
        message = f"{self._name(change.name)}: another program changed it meanwhile"
        if git_refs.is_object_id(change.new):
            stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
            saved = f"{git_refs.SAVED}/{stamp}/{change.name.removeprefix('refs/')}"
            if git_refs.set_ref(self._real, RefChange(saved, "", change.new)):
                message += f"; what the command made of it is {saved}"
        self._problems.append(message)

    # --- what belongs to a work tree

    def _list_checkouts(self) -> list[str]:
        """The prefixes of what belongs to a work tree: the main one's, and those of further ones that are sound."""
        names = sorted({found[1] for path in self._changed if (found := _WORKTREE.match(path))})
        known = {found[1] for path in self._list_base() if (found := _WORKTREE.match(path))}
        return ["", *(f"worktrees/{name}/" for name in names if name in known or self._is_worktree(name))]

    def _is_worktree(self, name: str) -> bool:
        """Return whether a new work tree lies where the command could write, and names the repository in turn."""
        prefix = f"worktrees/{name}/"
        if not is_plain_name(name) or not re.fullmatch(r"[\w.-]+", name) or self._prefix:
            return False
        try:
            marker = os.fsdecode(self._tree.find(f"{prefix}gitdir", git_refs.MAX_REF_BYTES) or b"").rstrip("\n")
            common = self._tree.find(f"{prefix}commondir", git_refs.MAX_REF_BYTES)
            inside = os.path.relpath(marker, self._context.root)
            if common != b"../..\n" or not is_within(os.path.normpath(marker), self._context.root):
                return False
            with PlainTree(self._context.root) as root:
                back = os.fsdecode(root.find(inside, git_refs.MAX_REF_BYTES) or b"")
        except (OSError, Unreadable, ValueError):
            return False
        return os.path.basename(marker) == ".git" and back == f"gitdir: {self._copy.seen}/{prefix[:-1]}\n"

    def _import_checkout(self, prefix: str) -> None:
        taken = {path for path in self._changed if path.startswith(prefix)}
        base = set(self._list_base())
        parts: list[tuple[str, Callable[..., None], object]] = []
        for path in sorted(taken):
            name = path.removeprefix(prefix)
            if prefix and name in _LINKS:
                is_made = path not in base and self._is_worktree(prefix.split("/")[1])
                if is_made or self._is_removed(path):  # with its work tree, but never changed
                    parts.append((path, self._copy_file, path))
            elif name in SINGLE:
                parts.append((path, self._import_single, SINGLE[name]))
        for name, checks in GROUPS.items():
            if members := {path for path in taken if path.startswith(f"{prefix}{name}/")}:
                parts.append((f"{prefix}{name}", self._import_group, checks))
                self._changed -= members
        further = ((HEAD, self._import_head), ("index", self._import_index))
        parts += [(path, work, None) for name, work in further if (path := f"{prefix}{name}") in taken]
        parts += [(path, self._import_log, None) for path in sorted(taken) if path.startswith(f"{prefix}logs/")]
        for path, work, argument in parts:
            self._guard(path, work, path, argument)
            self._changed.discard(path)
        if prefix and not self._tree.find_mark(prefix[:-1]):
            for folder in ("logs", ""):
                self._real.remove_empty(f"{prefix}{folder}".rstrip("/"))

    def _import_head(self, path: str, _: object) -> None:
        """Raises: _Changed; OSError; Unreadable."""
        new = git_refs.parse_ref(self._tree.find(path, git_refs.MAX_REF_BYTES) or b"")
        is_branch = new.startswith("ref: refs/heads/") or git_refs.is_object_id(new)
        if not is_branch and not self._is_removed(path):
            self._problems.append(f"{self._name(path)}, which names no branch and no commit")
            return
        self._set_ref(RefChange(path, git_refs.parse_ref(self._read_base(path, git_refs.MAX_REF_BYTES) or b""), new))

    def _import_single(self, path: str, check: Check) -> None:
        """Raises: _Changed; OSError; Unreadable."""
        content = self._tree.find(path, MAX_STATE_BYTES)
        if content is not None and not is_sound(check, content):
            self._problems.append(f"{self._name(path)}, which is not of git's form")
        else:
            self._put(path, content)

    def _import_group(self, group: str, checks: dict[str, Check]) -> None:
        """Raises: _Changed; OSError; Unreadable."""
        there = self._tree.find_mark(group)
        inner = self._tree.list(lambda _: False, MAX_ENTRIES, group) if there and stat.S_ISDIR(there[0]) else {}
        contents = {path: self._tree.find(path, MAX_STATE_BYTES) or b"" for path in inner}
        for path, content in contents.items():
            check = checks.get(path.removeprefix(f"{group}/"))
            if check is None or not is_sound(check, content):
                self._problems.append(f"{self._name(group)}, because of {path.rpartition('/')[2]}")
                return
        base = [path for path in self._list_base() if path.startswith(f"{group}/")]
        for path in dict.fromkeys((*contents, *base)):
            self._put(path, contents.get(path))
        if not contents:
            self._real.remove_empty(group)

    def _import_index(self, path: str, _: object) -> None:
        """Raises: _Changed; BadIndex; OSError; Unreadable."""
        new = load_index(self._tree.find(path, MAX_FILE_BYTES))
        if not new.data and not self._is_removed(path):
            raise BadIndex("it was removed")
        base = self._read_base(path, MAX_FILE_BYTES)
        old = load_index(base)
        check_index(new, old, self._is_known)
        added = sorted(new.list_repositories() - old.list_repositories())
        if added and not self._context.ask(
            f"Let git track {', '.join(added)} as repositories inside of this one",
            "a command added them to the index, and git looks into each",
        ):
            raise BadIndex(f"it has the repositories {', '.join(added)}, which were not approved")
        with self._real.locked(path) as locked:
            current = locked.read(MAX_FILE_BYTES)
            if current != base and load_index(current).list_entries() != old.list_entries():
                raise _Changed
            if new.data:
                locked.replace(write_index(new, old))
            elif current is not None:
                locked.remove()

    def _import_log(self, path: str, _: object) -> None:
        """Raises: _Changed; OSError; Unreadable."""
        name = path.partition("logs/")[2]
        if name in self._refused or not (name.endswith(HEAD) or git_refs.is_ref_name(name)):
            self._problems.append(self._name(path))
            return
        content, base = self._tree.find(path, _MAX_LOG), self._read_base(path, _MAX_LOG) or b""
        if content is None and name not in self._removed and not self._is_removed(path):
            self._problems.append(f"{self._name(path)}, which was removed")
            return
        if content is not None and not self._is_log(content, base):
            self._problems.append(f"{self._name(path)}, which is not of git's form, or names what did not come in")
            return
        with self._real.locked(path) as locked:
            current = locked.read(_MAX_LOG) or b""
            if current != base and (content is None or not content.startswith(base)):
                raise _Changed
            if content is None:
                if current:
                    locked.remove()
            else:
                locked.replace(current + content[len(base) :] if current != base else content)
        if content is None:
            self._real.prune(path)

    def _is_log(self, content: bytes, base: bytes) -> bool:
        """Return whether a reflog is of git's form, and names commits that are there in what is new in it."""
        if not is_reflog(content):
            return False
        known = set(base.split(b"\n"))
        added = {line.split(b" ", 2)[1].decode() for line in content.split(b"\n") if line and line not in known}
        return all(not name.strip("0") or self._is_known(name) for name in added)

    def _is_removed(self, path: str) -> bool:
        """Return whether a path belongs to a further work tree that was removed."""
        worktree = _WORKTREE.match(path)
        return worktree is not None and self._tree.find_mark(f"{worktree[0]}{HEAD}") is None

    # --- single files

    def _list_base(self) -> Iterable[str]:
        """The paths of the repository that were there when the copy was made."""
        return (path.removeprefix(self._prefix) for path in self._copy.files if path.startswith(self._prefix))

    def _read_base(self, path: str, max_bytes: int) -> bytes | None:
        """Read a real file as it was when it was copied; None where there was none.

        Raises: _Changed; OSError; Unreadable.
        """
        file = self._copy.files.get(self._prefix + path)
        if file is None or file.real is None:
            return None
        if file.content is not None:
            return file.content
        content, mark = self._real.read(path, max_bytes)
        if mark != file.real:
            raise _Changed
        return content

    def _put(self, path: str, content: bytes | None) -> None:
        """Put new content in the place of what was there when the copy was made; None removes it.

        Raises: _Changed; OSError; Unreadable.
        """
        base = self._read_base(path, MAX_STATE_BYTES)
        if content == base:
            return
        with self._real.locked(path) as locked:
            current = locked.read(MAX_STATE_BYTES)
            if current not in (base, content):
                raise _Changed
            if content is not None:
                locked.replace(content)
            elif current is not None:
                locked.remove()

    def _copy_file(self, path: str, _: object) -> None:
        """Raises: _Changed; OSError; Unreadable."""
        self._put(path, self._tree.find(path, git_refs.MAX_REF_BYTES))

    def _merge_config(self, _: object) -> None:
        """Raises: _Changed; OSError; Unreadable."""
        file = self._copy.files.get(f"{self._prefix}config")
        base = self._read_base("config", _MAX_CONFIG) or b""
        shown = file.written if file and file.written is not None else base
        changed = self._tree.find("config", _MAX_CONFIG)
        if changed is None:
            self._problems.append(f"{self._name('config')}, which was removed")
            return
        merged = merge_config(base, shown, changed, self._context.ask, self._problems)
        self._put("config", merged)


def import_repository(copy: PrivateCopy, context: ImportContext) -> None:
    """Import what a command did in the copy of a repository, and in those of its submodules.

    Raises: OSError; TreeFull; Unreadable.
    """
    changed = copy.find_changed()
    prefixes = [os.path.relpath(real, copy.seen).removesuffix("objects") for real, _ in copy.stores]
    owners = {path: max((prefix for prefix in prefixes if path.startswith(prefix)), key=len) for path in changed}
    for prefix in prefixes:
        if own := {path.removeprefix(prefix) for path in changed if owners[path] == prefix}:
            with (
                PlainTree(os.path.join(copy.seen, prefix)) as real,
                PlainTree(os.path.join(copy.folder, prefix)) as tree,
            ):
                _Repository(context, copy, prefix, real, tree).run(own)
