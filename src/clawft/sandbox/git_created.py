"""Repositories that a confined program made: what steers git in them is renamed, so that git outside passes it over."""

import os
import re
import stat
from collections.abc import Callable

from clawft.errors import Unreadable
from clawft.sandbox.git_config import merge_config
from clawft.sandbox.git_import import ImportContext
from clawft.sandbox.git_index import BadIndex, check_index, load_index
from clawft.sandbox.git_refs import HEAD, MAX_PACKED_BYTES, MAX_REF_BYTES, PACKED, is_ref_name, parse_packed, parse_ref
from clawft.sandbox.git_state import SINGLE, is_reflog
from clawft.sandbox.plain_tree import PlainTree
from clawft.sandbox.private_copies import MAX_FILE_BYTES, PrivateCopy

_MAX_CONFIG = 1 << 20
_MAX_LOG = 64 << 20
_MAX_PATHS = 200_000
_HARMLESS = re.compile(r"hooks/[\w.-]+\.sample|description|info/exclude|objects/(?:[0-9a-f]{2}|pack)/[\w.-]+|shallow")


def adopt_repository(copy: PrivateCopy, context: ImportContext) -> None:
    """Take over a repository that was made where there was none, as by `git init`.

    Raises: OSError; TreeFull; Unreadable.
    """
    with PlainTree(copy.folder) as tree, PlainTree(copy.seen) as real:
        entries = tree.list(lambda path: path.endswith(".lock"), _MAX_PATHS)
        if not entries:
            return
        if real.list(lambda _: False, _MAX_PATHS):
            context.problems.append("another program made it meanwhile")
            return
        wrong = find_steering(tree)
        context.problems.extend(wrong)
        # Until its HEAD is there, this is no repository.
        for path in sorted(entries.keys() - {*wrong}, key=lambda path: path == HEAD):
            _adopt(tree, real, path, entries[path][0], context)


def _adopt(tree: PlainTree, real: PlainTree, path: str, mode: int, context: ImportContext) -> None:
    """Raises: OSError; Unreadable."""
    if stat.S_ISDIR(mode):
        with real.folder(path, make=True):
            return
    if path == "config":
        content = tree.read(path, _MAX_CONFIG)[0]
        merged = merge_config(b"", b"", content, context.ask, context.problems, is_new=True)
        real.add(path, merged)
    else:
        real.add(path, tree.read(path, MAX_FILE_BYTES)[0], mode & 0o755)


def tidy_repository(path: str, head: str, context: ImportContext) -> None:
    """Rename what steers git in a repository, whose HEAD bears the name `head` meanwhile, and name that as before.

    Raises: OSError; TreeFull; Unreadable.
    """
    with PlainTree(path) as tree:
        for wrong in find_steering(tree, head):
            context.problems.append(f"{wrong}, which is {tree.rename_aside(wrong)} now")
        content = tree.find("config", _MAX_CONFIG) or b""
        merged = merge_config(b"", b"", content, context.ask, context.problems, is_new=True)
        if merged.strip() != content.strip():
            with tree.locked("config") as locked:
                locked.replace(merged)
        tree.rename(head, HEAD)


def find_steering(tree: PlainTree, head: str = HEAD) -> list[str]:
    """List the paths in a repository that are not known to be harmless, but for its config.

    Raises: OSError; TreeFull.
    """
    wrong = []
    for path, mark in tree.list(lambda _: False, _MAX_PATHS).items():
        if stat.S_ISDIR(mark[0]) or path == "config":
            continue
        if not stat.S_ISREG(mark[0]) or not _is_harmless(tree, path, head):
            wrong.append(path)
    return [path for path in wrong if not path.endswith(".lock")]


def _is_harmless(tree: PlainTree, path: str, head: str) -> bool:
    if _HARMLESS.fullmatch(path):
        return True
    try:
        if path == PACKED:
            return all(map(is_ref_name, parse_packed(tree.read(path, MAX_PACKED_BYTES)[0])))
        if path == head:
            return bool(parse_ref(tree.read(path, MAX_REF_BYTES)[0]))
        if path == "index":
            return _is_index(tree.read(path, MAX_FILE_BYTES)[0])
        if path in SINGLE:
            return SINGLE[path](tree.read(path, _MAX_CONFIG)[0].decode("latin-1"))
        if path.startswith("logs/"):
            return is_reflog(tree.read(path, _MAX_LOG)[0])
        return is_ref_name(path) and bool(parse_ref(tree.read(path, MAX_REF_BYTES)[0]))
    except (OSError, Unreadable):
        return False


def _is_index(content: bytes) -> bool:
    known: Callable[[str], bool] = bool
    try:
        index = load_index(content)
        check_index(index, load_index(b""), known)
    except BadIndex:
        return False
    return not index.list_repositories()


def is_marker(path: str, root: str) -> bool:
    """Return whether a `.git` file names the folder of a work tree that names it in turn, or a submodule's repository,
    in a repository below the root."""
    above = os.path.dirname(path)
    try:
        with PlainTree(above) as tree:
            named = os.fsdecode(tree.find(".git", MAX_REF_BYTES) or b"")
        target = os.path.normpath(os.path.join(above, named.removeprefix("gitdir: ").removesuffix("\n")))
        found = re.fullmatch(re.escape(root) + r"/((?:[^\0\n]*/)?\.git)/worktrees/[\w.-]+", target)
        if not named.startswith("gitdir: ") or found is None:
            return False
        with PlainTree(target) as tree:
            back = os.fsdecode(tree.find("gitdir", MAX_REF_BYTES) or b"")
            return back == f"{path}\n" and tree.find("commondir", MAX_REF_BYTES) == b"../..\n"
    except (OSError, Unreadable, ValueError):
        return False
