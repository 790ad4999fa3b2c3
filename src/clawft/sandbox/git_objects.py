"""Take objects of git from a store that a confined program wrote: each is hashed anew, and needs all that it names."""

import hashlib
import mmap
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.sandbox.plain_tree import PlainTree, TreeFull
from clawft.sandbox.private_copies import list_alternates
from clawft.trust.protected_paths import fold_name

MAX_OBJECTS = 50_000
_MAX_PACKED = 128 << 20  # bytes of one object as it is stored
_MAX_OBJECT = 512 << 20
_MAX_LINKED = 32 << 20  # of a commit, a tree or a tag
_MAX_ALL = 2 << 30  # as they are stored, and unpacked: a few bytes may be those of a huge one
_MAX_ALL_LINKS = 4_000_000
_CHUNK = 1 << 20
_LOOSE = re.compile(r"([0-9a-f]{2})/([0-9a-f]{38}|[0-9a-f]{62})")
_HEAD = re.compile(rb"(blob|tree|commit|tag) (0|[1-9]\d{0,18})\0")
_MODES = frozenset((b"40000", b"100644", b"100755", b"100664", b"120000", b"160000"))
_COMMIT_LINKS = re.compile(rb"(?:tree|parent) ([0-9a-f]{40}(?:[0-9a-f]{24})?)")
_TAG_LINK = re.compile(rb"object ([0-9a-f]{40}(?:[0-9a-f]{24})?)")
_IDX_HEAD = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = 256


class BadObject(Exception):
    """An object is not what its name says, or of a form that git does not write."""


class GitObject(Struct, frozen=True):
    """An object that was verified: where it lies in its store, the digest of what lies there, and what it names."""

    path: str
    stored: bytes
    links: tuple[str, ...] = ()


class ObjectStore:
    """The real objects of a repository, its alternates among them. `whole`: what it names is all there."""

    def __init__(self, folder: str, *, whole: bool = True) -> None:
        self._folders = [folder, *list_alternates(folder)]
        self._indexes: list[mmap.mmap] | None = None
        self._whole = whole
        self._known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Return whether an object is there; for one that git fetches when it needs it, that it may be."""
        if name not in self._known:
            self._known[name] = not self._whole or self._find(name)
        return self._known[name]

    def _find(self, name: str) -> bool:
        loose = f"{name[:2]}/{name[2:]}"
        if any(os.path.isfile(os.path.join(folder, loose)) for folder in self._folders):
            return True
        if self._indexes is None:
            self._indexes = [index for folder in self._folders for index in _open_indexes(folder)]
        wanted = bytes.fromhex(name)
        return any(_is_in_index(index, wanted) for index in self._indexes)


def _open_indexes(folder: str) -> Iterator[mmap.mmap]:
    try:
        names = [name for name in os.listdir(os.path.join(folder, "pack")) if name.endswith(".idx")]
    except OSError:
        return
    for name in names:
        with suppress(OSError, ValueError), open(os.path.join(folder, "pack", name), "rb") as file:
            index = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if index[:8] == _IDX_HEAD and len(index) > 8 + 4 * _FANOUT:
                yield index


def _is_in_index(index: mmap.mmap, wanted: bytes) -> bool:
    """Search the sorted names of an index of packs, version 2."""

    def count(first: int) -> int:
        return int.from_bytes(index[8 + 4 * first : 12 + 4 * first], "big")

    low, high = count(wanted[0] - 1) if wanted[0] else 0, count(wanted[0])
    size, start = len(wanted), 8 + 4 * _FANOUT
    while low < high:
        middle = (low + high) // 2
        found = index[start + middle * size : start + (middle + 1) * size]
        if found == wanted:
            return True
        low, high = (middle + 1, high) if found < wanted else (low, middle)
    return False


def import_objects(source: str, target: PlainTree, store: ObjectStore, problems: list[str]) -> set[str]:
    """Verify the loose objects in the folder `source`, and put those that are sound and complete into `target`, the
    real store; their names. Raises: OSError; TreeFull where there are too many, or one changes meanwhile."""
    with PlainTree(source) as tree:
        found = _verify_all(tree, store, problems)
        good = _find_complete(found, store)
        if len(good) < len(found):
            problems.append(f"{len(found) - len(good)} objects that name others which are not there")
        for name in good:
            path = found[name].path
            data = tree.read(path, _MAX_PACKED)[0]
            if hashlib.sha256(data).digest() != found[name].stored:
                raise TreeFull(path)
            target.add(path, data, 0o444)
    return good


def _verify_all(tree: PlainTree, store: ObjectStore, problems: list[str]) -> dict[str, GitObject]:
    found: dict[str, GitObject] = {}
    total = unpacked = linked = bad = 0
    for path, mark in tree.list(lambda path: path in ("info", "pack"), MAX_OBJECTS).items():
        loose = _LOOSE.fullmatch(path)
        if stat.S_ISDIR(mark[0]) or loose is None or store.has(name := loose[1] + loose[2]):
            continue
        total += mark[2]
        if total > _MAX_ALL or unpacked > _MAX_ALL or linked > _MAX_ALL_LINKS:
            raise TreeFull(tree.path)
        try:
            found[name], size = _verify(tree, path, name)
            unpacked, linked = unpacked + size, linked + len(found[name].links)
        except (BadObject, Unreadable, OSError, zlib.error):
            bad += 1
    if bad:
        problems.append(f"{bad} objects that are damaged, too large or of an unknown form")
    return found


def _verify(tree: PlainTree, path: str, name: str) -> tuple[GitObject, int]:
    """An object and its unpacked size. Raises: BadObject; Unreadable; OSError; zlib.error."""
    data, _ = tree.read(path, _MAX_PACKED)
    unpacker = zlib.decompressobj()
    first = unpacker.decompress(data, _CHUNK)
    head = _HEAD.match(first)
    if head is None or int(head[2]) > _MAX_OBJECT:
        raise BadObject(name)
    kind, size = head[1].decode(), int(head[2])
    digest = hashlib.new("sha1" if len(name) == 40 else "sha256", first, usedforsecurity=False)
    content, seen = [first[head.end() :]], len(first) - head.end()
    while not unpacker.eof and seen <= size:
        chunk = unpacker.decompress(unpacker.unconsumed_tail, _CHUNK)
        if not chunk:
            break
        digest.update(chunk)
        seen += len(chunk)
        if kind != "blob" and seen <= _MAX_LINKED:
            content.append(chunk)
    if not unpacker.eof or unpacker.unused_data or seen != size or digest.hexdigest() != name:
        raise BadObject(name)
    if kind != "blob" and size > _MAX_LINKED:
        raise BadObject(name)
    links = tuple(_find_links(kind, b"".join(content), len(name) // 2))
    return GitObject(path, hashlib.sha256(data).digest(), links), size


def _find_links(kind: str, content: bytes, id_bytes: int) -> Iterable[str]:
    """The objects that one names, but for commits of other repositories. Raises: BadObject."""
    if kind == "tree":
        return _parse_tree(content, id_bytes)
    if kind == "blob":
        return ()
    head = content.partition(b"\n\n")[0].split(b"\n")
    if kind == "tag":
        links = [_TAG_LINK.fullmatch(line) for line in head[:1]]
        if not all(links):
            raise BadObject(kind)
    else:
        links = [link for line in head if (link := _COMMIT_LINKS.fullmatch(line))]
        if not links or not head[0].startswith(b"tree "):
            raise BadObject(kind)
    return [link[1].decode() for link in links if link]


def _parse_tree(content: bytes, id_bytes: int) -> list[str]:
    """Raises: BadObject, also for a name that would be checked out elsewhere than in its folder, or as a repository."""
    links, at = [], 0
    while at < len(content):
        mode, _, rest = content[at : at + 4096 + 8].partition(b" ")
        name = rest.partition(b"\0")[0]
        start = at + len(mode) + len(name) + 2
        if mode not in _MODES or not is_plain_name(os.fsdecode(name)) or start + id_bytes > len(content):
            raise BadObject(name)
        if mode != b"160000":
            links.append(content[start : start + id_bytes].hex())
        at = start + id_bytes
    return links


def is_plain_name(name: str) -> bool:
    """Return whether a name is that of a file or folder of a work tree, on every file system."""
    folded = fold_name(name)
    return bool(folded) and "/" not in name and name not in (".", "..") and folded not in (".git", "git~1")


def _find_complete(found: dict[str, GitObject], store: ObjectStore) -> set[str]:
    """Those whose links, and the links of these, are all there."""
    good = set(found)
    users: dict[str, list[str]] = {}
    bad = []
    for name, item in found.items():
        for link in item.links:
            users.setdefault(link, []).append(name)
            if link not in found and not store.has(link) and not _is_empty(link):
                bad.append(name)
    while bad:
        name = bad.pop()
        if name in good:
            good.discard(name)
            bad += users.get(name, ())
    return good


def _is_empty(name: str) -> bool:
    """Return whether an object is the empty tree or blob, which git knows without having it."""
    return name in _EMPTY


_EMPTY = frozenset(
    hashlib.new(algorithm, head, usedforsecurity=False).hexdigest()
    for algorithm in ("sha1", "sha256")
    for head in (b"blob 0\0", b"tree 0\0")
)


def is_known(name: str, added: set[str], store: ObjectStore) -> bool:
    """Return whether an object is there after an import."""
    return name in added or store.has(name) or _is_empty(name)
