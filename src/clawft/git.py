"""A git repository read from its files, without running a program, and whether running git in it is safe."""

import os
import re
import struct

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.files import read_optional, read_regular, real_path

MAX_BYTES = 4096
MAX_INDEX_BYTES = 128 << 20
_STATUS = struct.Struct(">24xI12x")  # of an entry of the index: its mode, and what is known of the file
_ID_BYTES = 20
_FLAGS = struct.Struct(">H")
_NAME_BYTES = 0xFFF  # in the flags of an entry: the length of its path, or more
_BRANCH = re.compile(r"ref: refs/heads/([^\s\x00-\x20\x7f~^:?*\[\\]{1,200})")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REPOSITORY_PARTS = frozenset(("HEAD", "objects", "refs", "commondir"))
_ELSEWHERE = ".invalid"  # where branches are kept in one table, HEAD names none


class IndexEntry(Struct, frozen=True, gc=False):
    """One file that git tracks, or a repository inside of this one: its path from the root, its object, and where its
    flags stand in the index."""

    path: str
    mode: int
    object_id: bytes
    flags_at: int = 0


def find_git_root(folder: str) -> str | None:
    """The nearest folder, upwards, with a `.git`: a folder, or the file of a worktree or a submodule."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return folder


def current_branch(folder: str) -> str | None:
    """The branch of the repository that a folder is in; the first digits of the commit where none is checked out."""
    root = find_git_root(folder)
    head = _read(os.path.join(resolve_git_dir(root), "HEAD")) if root else ""
    if (branch := _BRANCH.fullmatch(head)) and branch[1] != _ELSEWHERE and branch[1].isprintable():
        return branch[1]
    return head[:12] if _COMMIT.fullmatch(head) else None


MAX_REFS_BYTES = 32 << 20


def find_head(folder: str) -> str | None:
    """Find what is checked out in the repository that a folder is in: the commit, or the name of a branch without one;
    '' outside of repositories, None where it cannot be known."""
    root = find_git_root(folder)
    if root is None:
        return ""
    own = resolve_git_dir(root)
    head = _read(os.path.join(own, "HEAD"))
    branch = _BRANCH.fullmatch(head)
    if branch is None or branch[1] == _ELSEWHERE:
        return head if _COMMIT.fullmatch(head) else None
    common = os.path.join(own, _read(os.path.join(own, "commondir")) or ".")
    ref = f"refs/heads/{branch[1]}"
    if os.path.lexists(place := os.path.join(common, ref)):
        commit = _read(place)
        return commit if _COMMIT.fullmatch(commit) else None
    try:
        packed = read_optional(os.path.join(common, "packed-refs"), MAX_REFS_BYTES, follow=True) or b""
    except Unreadable:
        return None
    named = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(os.fsencode(ref)) + rb"$", packed, re.MULTILINE)
    return named[1].decode() if named else head


def find_git_dir(root: str) -> str | None:
    """Find the main repository of a worktree; None unless the repository, too, names the worktree.

    A `.git` file may be untrusted, and must not make another folder of the machine seem a repository.
    """
    marker = os.path.join(root, ".git")
    if not os.path.isfile(marker) or os.path.islink(marker):
        return None
    own = real_path(resolve_git_dir(root))
    whole = real_path(os.path.join(own, _read(os.path.join(own, "commondir")) or "."))
    named = os.path.dirname(own) == os.path.join(whole, "worktrees") and os.path.basename(whole) == ".git"
    back = _read(os.path.join(own, "gitdir"))
    return whole if named and back and real_path(back) == real_path(marker) != "" else None


def list_git_dirs(root: str) -> tuple[str, ...]:
    """List the folders that may hold the files of a repository with this root: for a worktree its own, and those of the
    main repository.

    The contents of a `.git` file are untrusted, so use this only to deny access to folders, never to allow it. Raises:
    Unreadable.
    """
    own = os.path.join(root, ".git")
    if not os.path.isdir(own):
        try:
            text = (read_optional(own, MAX_BYTES, follow=True) or b"").decode("utf-8", errors="replace")
        except Unreadable as error:
            if error.code != "not-a-file":  # a folder that was made just now
                raise
            text = ""
        own = os.path.join(root, text.strip().removeprefix("gitdir:").strip() or ".git")
    return (own, os.path.join(own, _read(os.path.join(own, "commondir")) or "."))


def is_git_dir(folder: str) -> bool:
    """Return whether a folder holds the files of a repository, whatever its name."""
    return _exists(folder, "HEAD", "objects", "refs")


def has_repository(names: set[str]) -> bool:
    """Return whether git takes a folder with these names in it for a repository, or its objects for those of another
    folder."""
    return "HEAD" in names and ("commondir" in names or names >= {"objects", "refs"})


def list_tracked(root: str) -> list[IndexEntry]:
    """List all that git tracks in the repository with this root; empty where its index cannot be parsed."""
    try:
        data = read_optional(os.path.join(resolve_git_dir(root), "index"), MAX_INDEX_BYTES, follow=True)
        return parse_index(data)[0] if data else []
    except (Unreadable, ValueError, struct.error, IndexError):
        return []


def parse_index(data: bytes) -> tuple[list[IndexEntry], int]:
    """The entries of an index of version 2, 3 or 4, and where they end. Raises: ValueError, struct.error."""
    sign, version, count = struct.unpack_from(">4sII", data)
    if sign != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("an index of another form")
    entries, at, path = [], 12, b""
    for _ in range(count):
        (mode,) = _STATUS.unpack_from(data, at)
        start = flags_at = at + _STATUS.size + _ID_BYTES
        (flags,) = _FLAGS.unpack_from(data, start)
        object_id = data[start - _ID_BYTES : start]
        start += 4 if flags & 0x4000 else 2
        prefix_bytes = 0
        if version == 4:  # only what differs from the path before is written
            dropped, start = _read_number(data, start)
            prefix_bytes = len(path) - dropped
        end = data.index(b"\0", start)
        path = path[:prefix_bytes] + data[start:end]
        if flags & _NAME_BYTES != min(len(path), _NAME_BYTES):
            raise ValueError("an entry that git would see another path in")
        entries.append(IndexEntry(os.fsdecode(path), mode, object_id, flags_at))
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)
    return entries, at


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """A number of any length, as git packs it, and where it ends."""
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 127)
    return value, at + 1


def resolve_git_dir(root: str) -> str:
    """Return the folder of the repository's own files; a worktree's `.git` is a file that names it."""
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    return os.path.join(root, _read(path).removeprefix("gitdir:").strip())


def _read(path: str) -> str:
    """The text of a small file; nothing where it cannot be had."""
    try:
        data = read_optional(path, MAX_BYTES, follow=True)
    except (Unreadable, ValueError):  # ValueError: a NUL byte in the path
        return ""
    return (data or b"").decode("utf-8", errors="replace").strip()


MAX_GIT_SETTINGS_BYTES = 1 << 20
_HEAD = re.compile(rb'[ \t]*\[([A-Za-z0-9.-]+)(?:[ \t]+"[^"\\\]]*")?\][ \t]*')
_SETTING = re.compile(rb"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?")
_HARMLESS = {
    section: frozenset(keys.split())
    for section, keys in {
        "core": """abbrev autocrlf bare bigfilethreshold commentchar compression eol filemode ignorecase
            logallrefupdates loosecompression precomposeunicode protecthfs protectntfs quotepath repositoryformatversion
            safecrlf sharedrepository sparsecheckout sparsecheckoutcone symlinks untrackedcache whitespace""",
        "remote": "fetch mirror prune push pushurl skipdefaultupdate skipfetchall tagopt url gh-resolved",
        "branch": "base description gh-merge-base merge pushremote rebase remote vscode-merge-base",
        "user": "email name signingkey useconfigonly",
        "author": "email name",
        "committer": "email name",
        "submodule": "active url",
        "extensions": "worktreeconfig",
        "init": "defaultbranch",
        "pull": "ff rebase",
        "push": "autosetupremote default followtags",
        "fetch": "prune prunetags",
        "merge": "conflictstyle ff",
        "rebase": "autosquash autostash updaterefs",
        "rerere": "enabled",
        "commit": "gpgsign verbose",
        "tag": "gpgsign sort",
        "color": "branch diff status ui",
        "gc": "auto",
        "maintenance": "auto strategy",
        "lfs": "access locksverify repositoryformatversion",
    }.items()
}
_GITLINK = 0xE000


_STEERING = re.compile(
    rb"(?im)^[ \t]*(?:\[[^\]\n]*\][ \t]*)?(hookspath|path|attributesfile|fsmonitor)"
    rb'[ \t]*=[ \t]*"?([^"\n]+?)"?[ \t\r]*$'
)


def list_steering_paths(root: str, git_dir: str) -> list[str]:
    """List the paths that the config of a repository names and that git obeys or runs: hooks, further configs."""
    found = []
    for name in ("config", "config.worktree"):
        try:
            text = read_optional(os.path.join(git_dir, name), MAX_GIT_SETTINGS_BYTES) or b""
        except Unreadable:
            continue
        for setting, value in _STEERING.findall(text):
            above = git_dir if setting.lower() == b"path" else root
            found.append(os.path.normpath(os.path.join(above, os.fsdecode(value))))
    return found


def find_unsafe_git_setting(folder: str) -> str:
    """Find the setting that makes it unsafe to run git in a folder; '' if there is none.

    git goes on to the folder above where it finds no whole repository, so all of them are judged.
    """
    current = folder
    while True:
        try:
            if reason := _judge_folder(current):
                return reason
        except (OSError, Unreadable) as error:
            return f"{os.path.basename(_path_of(error)) or '.git'} cannot be read"
        parent = os.path.dirname(current)
        if parent == current:
            return ""
        current = parent


def _path_of(error: OSError | Unreadable) -> str:
    return str(error.filename or "") if isinstance(error, OSError) else error.diagnostic.path


def _judge_folder(folder: str) -> str:
    marker = os.path.join(folder, ".git")
    if os.path.islink(marker):
        return ".git is a link"
    if os.path.isdir(marker):
        return "commondir" if _exists(marker, "commondir") else _judge_repository(marker, folder)
    if os.path.lexists(marker):
        return _judge_linked(marker, folder)
    if _exists(folder, "HEAD", "commondir"):
        return "commondir"
    if is_git_dir(folder):
        return _judge_repository(folder, folder)  # to an older git any folder of this form is a repository
    return ""


def _judge_linked(marker: str, folder: str) -> str:
    """A worktree: `.git` is a file that names a folder, which names it in turn, and stands in the repository."""
    named = _read_git(marker).removeprefix(b"gitdir:")
    real = os.path.realpath(os.path.join(folder, os.fsdecode(named.strip())))
    if not _exists(real, "gitdir", "commondir"):
        return ".git leads elsewhere"
    back = os.path.join(real, os.fsdecode(_read_git(os.path.join(real, "gitdir")).strip()))
    common = os.path.realpath(os.path.join(real, os.fsdecode(_read_git(os.path.join(real, "commondir")).strip())))
    if os.path.realpath(back) != os.path.realpath(marker) or not real.startswith(common + "/"):
        return ".git leads elsewhere"
    return _judge_repository(real, folder) or _judge_repository(common, folder)


def _judge_repository(where: str, tree: str) -> str:
    """A folder with what git keeps, and the folder of the files it is about."""
    for name in ("config", "config.worktree"):
        if _exists(where, name) and (setting := _find_setting(_read_git(os.path.join(where, name)))):
            return setting
    if _exists(where, "hooks/post-index-change"):
        return "post-index-change"
    if _exists(where, "objects/info/alternates"):
        return "alternates"
    for name in ("", "objects", "objects/pack"):
        if _exists(where, name) and (link := _find_link(os.path.join(where, name))):
            return f"'{link}' is a link"
    return _judge_index(where, tree) if _exists(where, "index") else ""


def _exists(folder: str, *names: str) -> bool:
    return all(os.path.lexists(os.path.join(folder, name)) for name in names)


def _read_git(path: str, max_bytes: int = MAX_GIT_SETTINGS_BYTES) -> bytes:
    return read_regular(path, max_bytes)[0]


def _find_link(folder: str) -> str:
    with os.scandir(folder) as entries:
        return next((entry.name for entry in entries if entry.is_symlink()), "")


def _find_setting(text: bytes) -> str:
    """The first setting that is not known to be harmless, or a line of a form that people do not write."""
    section = b""
    for number, line in enumerate(text.split(b"\n"), 1):
        rest = line.removesuffix(b"\r")
        if head := _HEAD.match(rest):
            section, rest = head[1].lower(), rest[head.end() :]
        rest = rest.strip(b" \t")
        if not rest or rest[:1] in b"#;":
            continue
        setting = _SETTING.fullmatch(rest)
        if setting is None or rest.endswith(b"\\") or b"\r" in rest or b"\0" in rest:
            return f"line {number} of its config"
        name = setting[1].decode("ascii").lower()
        if name not in _HARMLESS.get(section.decode("ascii"), ()):
            return f"{section.decode('ascii')}.{name}"
    return ""


def _judge_index(where: str, tree: str) -> str:
    """Return whether there is a repository inside of this one: git looks into that as well, and at its config."""
    index = _read_git(os.path.join(where, "index"), MAX_INDEX_BYTES)
    try:
        entries, end = parse_index(index)
    except (ValueError, struct.error, IndexError):
        return "index"
    links = [entry.path for entry in entries if entry.mode & 0xF000 == _GITLINK]
    if b"link" in list_extensions(index, end):
        return "index"
    return next((f"submodule {name}" for name in links if _exists(tree, f"{name}/.git")), "")


def list_extensions(index: bytes, at: int) -> list[bytes]:
    """The names of what an index holds after its entries. Raises: struct.error."""
    found = []
    while at + 8 <= len(index) - 20:
        name, size = struct.unpack_from(">4sI", index, at)
        found.append(name)
        at += 8 + size
    return found
