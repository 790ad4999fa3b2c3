"""The files of a component: its data folder, its own folder to read, and what it was granted. Nothing else is there.

A path leads to one place, whatever lies elsewhere: else a file of a project could be taken for the plugin's own, or the
other way round. A relative one is in the data folder, `plugin:NAME` in the plugin's own and `project:NAME` in the
project; the last, and an absolute one, have to lie in what was granted. A path is judged by where its links lead, and
opened without following any that appeared since. Inside a granted folder, what holds secrets stays closed, and what
gives power (`.git`, files that agents obey) is not changed, as for commands in the sandbox; unless it was itself
granted by name.
"""

import os
import stat

from msgspec import Struct

from clawft.contracts import PluginError
from clawft.errors import ClawftError
from clawft.files import is_within, real_path
from clawft.sandbox.secret_files import holds_secret
from clawft.tools.beneath import read_file_at, write_file_at
from clawft.trust.places import is_power, is_private, own_folders, steers_home
from clawft.workspace import resolve_path

__all__ = ["Denied", "Files", "Roots"]

MAX_FILE_BYTES = 4 << 20
MAX_WRITTEN_BYTES = 256 << 20  # by one plugin, from its start to its end
_MAX_PATH = 4096
_PLUGIN, _PROJECT = "plugin:", "project:"


class Denied(PluginError):
    """What was not granted."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="plugin-denied")


class Roots(Struct, frozen=True):
    """Where a component may go. `own` is the approved copy of its folder; the other places are resolved."""

    data_dir: str
    own: str
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    project: str
    home: str


class Files:
    """Reads and writes texts for one plugin."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._written = 0

    def read(self, path: str) -> str:
        """A text. Raises: Denied; PluginError."""
        return _read(self._find(path, write=False), path)

    def write(self, path: str, content: str) -> None:
        """Put a text in place of what was there, at once. Raises: Denied; PluginError."""
        real = self._find(path, write=True)
        data = content.encode("utf-8", "replace")
        if len(data) > MAX_FILE_BYTES:
            raise PluginError(f"'{path}' would have {len(data)} bytes; {MAX_FILE_BYTES} is the limit")
        if self._written + len(data) > MAX_WRITTEN_BYTES:
            raise PluginError(f"It wrote {self._written} bytes; {MAX_WRITTEN_BYTES} is the limit")
        try:
            before = _stat(real)
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise PluginError(f"'{path}' is not a regular file")
            write_file_at(real, data, before, 0 if before else 0o600)
        except (OSError, ClawftError) as error:
            raise _failure(error, path) from error
        self._written += len(data)

    def _find(self, path: str, *, write: bool) -> str:
        """Where a path leads. Raises: Denied."""
        if not path or "\0" in path or len(path) > _MAX_PATH:
            raise Denied("The path is empty, too long or no path")
        if path.startswith(_PLUGIN):
            if write:
                raise Denied(f"'{path}' may not be written: the plugin's own folder is only read")
            return _below(path, path.removeprefix(_PLUGIN), self._roots.own)
        if path.startswith((_PROJECT, "/", "~/")):
            return self._find_granted(path, write=write)
        return _below(path, path, self._roots.data_dir)

    def _find_granted(self, path: str, *, write: bool) -> str:
        roots = self._roots
        inner = f"./{path.removeprefix(_PROJECT)}" if path.startswith(_PROJECT) else path
        full = resolve_path(inner, roots.project, roots.home)
        real = real_path(full)
        places = roots.writable if write else (*roots.writable, *roots.readable)
        # The innermost one counts: it may name what would be closed in another.
        root = max((one for one in places if is_within(real, one)), key=len, default="")
        if not root:
            what = "written" if write else "read"
            raise Denied(f"'{path}' may not be {what}: it lies in nothing that was granted")
        return self._check_place(path, (full, real), root, write=write)

    def _check_place(self, path: str, places: tuple[str, str], root: str, *, write: bool) -> str:
        """The real one of two places below a granted one, as written and as it is. Raises: Denied if it is closed."""
        inner = [os.path.relpath(one, root) for one in places if is_within(one, root)]
        if any(is_private(one) for one in inner) or (set(inner) != {"."} and holds_secret(places[1])):
            raise Denied(f"'{path}' is a place for secrets, and was not granted by name")
        if write:
            at_home = root == real_path(self._roots.home)
            steering = any(is_power(one) or (at_home and steers_home(one.split("/")[0])) for one in inner)
            if steering or any(is_within(places[1], one) for one in own_folders()):
                raise Denied(f"'{path}' gives power over programs or agents, and was not granted by name")
        return places[1]


def _below(path: str, inner: str, root: str) -> str:
    """Where the inner part of a path leads, in a folder. Raises: Denied if it leads out of it."""
    real = real_path(f"{root}/{inner}")
    if real == root or not is_within(real, root):
        raise Denied(f"'{path}' leads out of the plugin's folder")
    return real


def _read(real: str, path: str) -> str:
    try:
        return read_file_at(real, MAX_FILE_BYTES)[0].decode()
    except UnicodeDecodeError as error:
        raise PluginError(f"'{path}' is not text in UTF-8") from error
    except (OSError, ClawftError) as error:
        raise _failure(error, path) from error


def _stat(real: str) -> os.stat_result | None:
    try:
        return os.stat(real, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _failure(error: OSError | ClawftError, path: str) -> PluginError:
    if isinstance(error, PluginError):
        return error
    if isinstance(error, FileNotFoundError):
        return PluginError(f"There is no '{path}'")
    why = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return PluginError(f"'{path}': {why}")
