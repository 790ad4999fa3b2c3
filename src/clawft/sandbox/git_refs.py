"""Branches, tags and other refs that a confined program changed in its copy: valid ones are set by compare and swap."""

import re
import stat
from collections.abc import Mapping

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.sandbox.plain_tree import PlainTree

PACKED = "packed-refs"
HEAD = "HEAD"
SAVED = "refs/weft/kept"  # the commits of refs that two programs changed
MAX_PACKED_BYTES = 64 << 20
MAX_REF_BYTES = 4096
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED_LINE = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs/\S+)")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_LINK = "ref: "
# Others change what git shows for an object (refs/replace), or belong to a program.
_TAKEN = re.compile(r"refs/(?:heads|tags|remotes|notes|rewritten|original|changes|pull)/.+|refs/stash")


def is_object_id(text: str) -> bool:
    return bool(_ID.fullmatch(text))


def is_ref_name(name: str) -> bool:
    """Return whether git takes a name for a ref below `refs/`."""
    parts = name.split("/")
    plain = all(part and part[0] not in ".-" and not part.endswith((".lock", ".")) for part in parts)
    return plain and parts[0] == "refs" and len(parts) > 1 and len(name) < MAX_REF_BYTES and not _FORBIDDEN.search(name)


def is_taken(name: str) -> bool:
    """Return whether a ref is of a kind that a command may change."""
    return bool(_TAKEN.fullmatch(name)) and is_ref_name(name)


class RefChange(Struct, frozen=True):
    """A ref that was changed: its value when the command started and at its end; '' where there was none."""

    name: str
    old: str
    new: str


def parse_ref(content: bytes) -> str:
    """The value of a ref: an object, or `ref: ` and another ref; '' for what is neither."""
    text = content.decode("utf-8", "replace").rstrip("\n")
    if text.startswith(_LINK):
        return text if is_ref_name(text.removeprefix(_LINK).strip()) else ""
    return text if is_object_id(text.strip()) else ""


def parse_packed(content: bytes) -> dict[str, str]:
    """The refs in a table of packed refs."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    return {found[2]: found[1] for line in lines if (found := _PACKED_LINE.fullmatch(line))}


def read_loose(tree: PlainTree, max_entries: int) -> tuple[dict[str, str], set[str]]:
    """The refs that are files of their own, and the paths of what is no ref. Raises: OSError; TreeFull."""
    found, bad = {}, set()
    for path, mark in tree.list(lambda path: path.endswith(".lock"), max_entries, "refs").items():
        if stat.S_ISDIR(mark[0]):
            continue
        value = ""
        if stat.S_ISREG(mark[0]) and is_ref_name(path):
            value = _read_value(tree, path)
        if value:
            found[path] = value
        else:
            bad.add(path)
    return found, bad


def _read_value(tree: PlainTree, path: str) -> str:
    try:
        return parse_ref(tree.find(path, MAX_REF_BYTES) or b"")
    except (OSError, Unreadable):
        return ""


def find_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[RefChange]:
    """The refs that differ, those that are removed first: another may take the place of their folder."""
    changes = [RefChange(name, old.get(name, ""), new.get(name, "")) for name in sorted({*old, *new})]
    return sorted((change for change in changes if change.old != change.new), key=lambda change: bool(change.new))


def set_ref(real: PlainTree, change: RefChange) -> bool:
    """Set or remove a real ref; False where another program has changed it since. Raises: OSError; Unreadable."""
    with real.locked(change.name) as locked:
        loose = locked.read(MAX_REF_BYTES)
        packed = parse_packed(real.find(PACKED, MAX_PACKED_BYTES) or b"").get(change.name, "")
        current = packed if loose is None else parse_ref(loose)
        if current == change.new:
            return True
        if current != change.old:
            return False
        if change.new:
            locked.replace(f"{change.new}\n".encode())
            return True
        if packed:
            _remove_packed(real, change.name)
        if loose is not None:
            locked.remove()
    if not change.new:
        real.prune(change.name)
    return True


def _remove_packed(real: PlainTree, name: str) -> None:
    """Raises: OSError; Unreadable."""
    with real.locked(PACKED) as locked:
        lines = (locked.read(MAX_PACKED_BYTES) or b"").split(b"\n")
        wanted = name.encode("utf-8", "surrogateescape")
        left, is_dropped = [], False
        for line in lines:
            # A line with ^ tells what the tag in the line before is of.
            is_dropped = line.endswith(b" " + wanted) or (is_dropped and line.startswith(b"^"))
            left += [] if is_dropped else [line]
        locked.replace(b"\n".join(left))
