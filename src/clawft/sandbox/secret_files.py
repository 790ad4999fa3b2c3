"""Secrets that only the content of a file tells: private keys, and tokens in the configs of git repositories."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

from clawft.config.redaction import looks_secret
from clawft.config.secret import names_secret
from clawft.errors import Unreadable
from clawft.files import read_regular, replace_file
from clawft.git import find_git_root, is_git_dir, list_tracked, resolve_git_dir
from clawft.trust.protected_paths import fold_name, holds_private_key, may_hold_key

_MAX_CONFIG = 1 << 20
_MAX_TRACKED = 1 << 20  # bytes of a key
_MAX_MODULES = 1_000
_USER_INFO = re.compile(r"(?<=://)[^/\s\"'@]+@")
_SETTING = re.compile(r"[ \t]*(?:\[[^\]\n]*\][ \t]*)?([A-Za-z][A-Za-z0-9-]*)[ \t]*=")
_PASSWORD = re.compile(r"(?i)password\s*=\s*\S")  # of a helper that is written into the config
_PUBLIC = frozenset({"signingkey"})  # a name for a key, or its public half
MASK = "masked"
_UNREAD = b"unread"
Mark = tuple[int, int, int, int]


class SecretFiles:
    """Finds them, and remembers what files held that have not changed since. Masked copies go into one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._keys: dict[str, tuple[Mark, bool]] = {}
        self._masked: dict[str, tuple[Mark, bytes]] = {}
        self._tracked: dict[str, tuple[Mark, dict[str, bytes]]] = {}

    def find_keys(self, folder: str, names: Iterable[str]) -> list[str]:
        """The files of these names that hold a private key, but for those that git tracks as they are."""
        return [path for name in names if self._is_key(path := os.path.join(folder, name), fold_name(name))]

    def find_configs(self, git_dir: str) -> list[str]:
        """The configs of a repository that hold a token."""
        return [path for path in _list_configs(git_dir) if self._mask(path)]

    def find_copies(self, paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """For configs that hold a token: a copy without it, and the config; one that cannot be copied stays hidden."""
        copies = []
        for path in paths:
            content = self._masked[path][1] if path in self._masked else b""
            with suppress(OSError):
                copies += [(self._store(content), path)] if content else []
        return tuple(copies)

    def _is_key(self, path: str, name: str) -> bool:
        try:
            mark = _mark(os.stat(path))
            known = self._keys.get(path)
            if known is None or known[0] != mark:
                known = self._keys[path] = mark, holds_private_key(path, name)
        except FileNotFoundError:
            return False
        except OSError:  # a program may change its rights, and read it then
            return True
        return known[1] and not self._is_tracked(path)

    def _is_tracked(self, path: str) -> bool:
        """Return whether git tracks a file with just this content: then it is in git's objects, and no secret of this
        folder.

        The index entry alone is not trusted: a program can change it without knowing what is in the file.
        """
        root = find_git_root(os.path.dirname(path))
        try:
            content = read_regular(path, _MAX_TRACKED)[0]
            mark = _mark(os.stat(os.path.join(resolve_git_dir(root), "index"))) if root else None
        except (OSError, Unreadable):
            return False
        if root is None or mark is None:
            return False
        if root not in self._tracked or self._tracked[root][0] != mark:
            self._tracked[root] = mark, {entry.path: entry.object_id for entry in list_tracked(root)}
        object_id = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()
        return self._tracked[root][1].get(os.path.relpath(path, root)) == object_id

    def _mask(self, path: str) -> bytes:
        """A config without its tokens; nothing for one that holds none."""
        try:
            data, status = read_regular(path, _MAX_CONFIG)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except (OSError, Unreadable):  # a program may change its rights, and read it then
            self._masked.pop(path, None)
            return _UNREAD
        mark = _mark(status)
        if path not in self._masked or self._masked[path][0] != mark:
            masked = mask_config(data)
            self._masked[path] = mark, masked if masked != data else b""
        return self._masked[path][1]

    def _store(self, content: bytes) -> str:
        place = os.path.join(self._folder, hashlib.sha256(content).hexdigest())
        if not os.path.exists(place):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            replace_file(place, content, 0o600)
        return place


def holds_secret(path: str) -> bool:
    """Return whether a file holds a private key, or is a config of git that holds a token."""
    folder, name = os.path.split(path)
    with suppress(OSError, Unreadable):
        folded = fold_name(name)
        if may_hold_key(folded) and holds_private_key(path, folded):
            return True
        named = ".git" in map(fold_name, folder.split("/"))
        if folded in ("config", "config.worktree") and (named or is_git_dir(folder)):
            data = read_regular(path, _MAX_CONFIG)[0]
            return mask_config(data) != data
    return False


def mask_config(data: bytes) -> bytes:
    """A config of git without the users, passwords and tokens that stand in it; the same bytes where there are none."""
    whole = data.decode("utf-8", "surrogateescape").replace("\\\n", "")  # a value may go on in the next line
    masked = "\n".join(map(_mask_line, whole.split("\n")))
    return data if masked == whole else masked.encode("utf-8", "surrogateescape")


def _mask_line(line: str) -> str:
    setting, masked = _SETTING.match(line), _mask_users(line)
    is_secret = looks_secret(masked) or bool(_PASSWORD.search(masked))
    if setting and (is_secret or _is_secret(setting[1])):
        return f"{line[: setting.end()]} {MASK}"
    return MASK if is_secret else masked


def _mask_users(line: str) -> str:
    """Addresses without who asks, which may be a token, unless it is a plain name for SSH."""
    return _USER_INFO.sub(lambda found: found[0] if _is_ssh_user(line, found) else f"{MASK}@", line)


def _is_ssh_user(line: str, found: re.Match[str]) -> bool:
    return ":" not in found[0] and line[: found.start()].endswith(("ssh://", "git://"))


def _is_secret(name: str) -> bool:
    lower = name.lower()
    return lower not in _PUBLIC and (lower == "extraheader" or names_secret(name) or lower.endswith("pass"))


def _list_configs(git_dir: str) -> Iterator[str]:
    """The configs that git may read in a repository, those of its submodules and worktrees among them."""
    yield from (os.path.join(git_dir, name) for name in ("config", "config.worktree"))
    for folder in ("modules", "worktrees"):
        left = _MAX_MODULES
        errors: list[OSError] = []
        for where, folders, files in os.walk(os.path.join(git_dir, folder), onerror=errors.append):
            folders[:] = [name for name in folders if name not in ("objects", "refs", "hooks", "logs", "info")]
            yield from (os.path.join(where, name) for name in files if name in ("config", "config.worktree"))
            left -= 1
            if left < 0:
                break
        yield from (error.filename for error in errors)


def _mark(status: os.stat_result) -> Mark:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
