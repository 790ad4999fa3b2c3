"""Restore a project: carry out a plan, path by path, below the project's folder and through no link.

What is replaced was recorded before, and is looked at once more: what changed in the meantime stays as it is. One that
was broken off can be run again: each path is either as it was or as it should be.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

from clawft.agent.checkpoints.rewind import FOLDER_MARK, REDO, REWIND, RewindPlan, RewindStep
from clawft.agent.checkpoints.snapshot import MAX_FILE_BYTES, record_project, show_bytes
from clawft.agent.checkpoints.store import CheckpointStore, TreeEntry, open_store
from clawft.agent.tools.file_access import open_folder, read_status_at
from clawft.agent.tools.tool import ToolError
from clawft.errors import ClawftError
from clawft.files import read_regular, real_path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWN_RIGHTS = 0o700
_CHANGED_NOW = "it was changed just now"


def run_rewind(user_dir: str, project: str, plan: RewindPlan, paths: Collection[bytes]) -> dict[bytes, str]:
    """Carry out a plan for some of its paths; by path, '' or why it stayed as it is. Raises: ClawftError.

    What the project held before is recorded first, so that all of it can be redone.
    """
    steps = [step for step in plan.steps if step.path in paths and not step.problem]
    with open_store(user_dir, project) as store:
        before = record_project(store, project, user_dir)
        store.close_broken(before.tree, plan.session)
        kind = REDO if plan.redo else REWIND
        change = store.add_change(kind, plan.session, plan.head, plan.session, before)
        store.set_paths(change, [step.path for step in steps])
    with open_store(user_dir, project) as store:  # from here on it may be broken off
        problems = _Restorer(store, real_path(project)).run(steps)
        store.end_change(change, record_project(store, project, user_dir).tree)
        if plan.redo:  # what the rewind took back is there again
            done = store.list_changes("kind = ? AND session = ? AND turn = ?", REWIND, plan.session, plan.head)
            store.remove_changes(rewind.id for rewind in done)
        store.thin()
    return {step.path: problems.get(step.path, "") for step in steps}


class _Restorer:
    def __init__(self, store: CheckpointStore, project: str) -> None:
        self._store = store
        self._project = project
        self._problems: dict[bytes, str] = {}
        self._modes: dict[bytes, int] = {}  # of folders, set when all in them is done

    def run(self, steps: Iterable[RewindStep]) -> dict[bytes, str]:
        """Carry out steps; why those that failed did, by path."""
        ordered = sorted(steps, key=lambda step: (step.path.count(b"/"), step.path))
        for step in reversed(ordered):  # what is in a folder goes before the folder
            if step.want is None or (step.seen is not None and _is_folder(step.seen) != _is_folder(step.want)):
                self._try(step, self._remove)
        for step in ordered:
            if step.want is not None and step.path not in self._problems:
                self._try(step, self._put)
        for path in sorted(self._modes, key=lambda path: -path.count(b"/")):
            self._set_mode(path, self._modes[path])
        return self._problems

    def _try(self, step: RewindStep, act: Callable[[int, bytes, RewindStep], None]) -> None:
        above, _, name = step.path.rpartition(b"/")
        try:
            _check_git(self._project, step.path)
            with open_folder(os.path.join(self._project, os.fsdecode(above)).rstrip("/")) as folder:
                mode = stat.S_IMODE(os.fstat(folder).st_mode)
                if mode & _OWN_RIGHTS != _OWN_RIGHTS:
                    os.fchmod(folder, mode | _OWN_RIGHTS)
                    self._modes.setdefault(above, mode)
                act(folder, name, step)
        except (OSError, ClawftError) as error:
            is_full = isinstance(error, OSError) and error.errno == errno.ENOTEMPTY
            reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
            self._problems[step.path] = "it holds what stays, or was not recorded" if is_full else reason

    def _remove(self, folder: int, name: bytes, step: RewindStep) -> None:
        """Remove what is to go, or is in the way of another kind."""
        now = _look(folder, name)
        if now is None:
            return
        if not _is_same(now, step.seen):
            raise ToolError("CONFLICT", _CHANGED_NOW)
        if now.is_folder:
            os.rmdir(name, dir_fd=folder)
            self._modes.pop(step.path, None)
        else:
            os.unlink(name, dir_fd=folder)

    def _put(self, folder: int, name: bytes, step: RewindStep) -> None:
        """Put what a path is to hold in its place, at once."""
        want, now = step.want, _look(folder, name)
        assert want is not None
        if want.is_folder:
            if now is None:
                os.mkdir(name, _OWN_RIGHTS, dir_fd=folder)
                _own_like(folder, None, name)
            elif not now.is_folder:
                raise ToolError("CONFLICT", _CHANGED_NOW)
            self._modes[step.path] = stat.S_IMODE(want.mode)
            return
        if now == want:
            return
        if now is not None and not _is_same(now, step.seen):
            raise ToolError("CONFLICT", _CHANGED_NOW)
        temporary = b".weft-undo-" + hashlib.sha256(step.path).hexdigest()[:16].encode()
        try:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)  # what a restore that was broken off left
            self._write(folder, temporary, want, name)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _write(self, folder: int, temporary: bytes, want: TreeEntry, name: bytes) -> None:
        content = self._store.get(want.digest)
        if stat.S_ISLNK(want.mode):
            os.symlink(content, temporary, dir_fd=folder)
            _own_like(folder, read_status_at(folder, os.fsdecode(name)), temporary)
            return
        mode = stat.S_IMODE(want.mode)
        with open(os.open(temporary, _NEW, 0o600, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            _own_like(folder, read_status_at(folder, os.fsdecode(name)), temporary)
            # Written by root, a program could get the rights of another owner than before.
            os.fchmod(file.fileno(), mode if os.geteuid() else mode & ~(stat.S_ISUID | stat.S_ISGID))
            os.fsync(file.fileno())

    def _set_mode(self, path: bytes, mode: int) -> None:
        try:
            with open_folder(os.path.join(self._project, os.fsdecode(path)).rstrip("/")) as folder:
                os.fchmod(folder, mode)
        except (OSError, ToolError) as error:
            self._problems[path] = f"its mode was not restored: {error}"


def _look(folder: int, name: bytes) -> TreeEntry | None:
    """Look at a name as a checkpoint does. Raises: OSError, Unreadable."""
    status = read_status_at(folder, os.fsdecode(name))
    if status is None:
        return None
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return TreeEntry(name, mode, 0, FOLDER_MARK)
    content = b""
    if stat.S_ISLNK(mode):
        content = os.readlink(name, dir_fd=folder)
    elif stat.S_ISREG(mode):
        content = read_regular(os.fsdecode(name), MAX_FILE_BYTES, folder=folder)[0]
    else:
        return TreeEntry(name, mode, status.st_size, b"")
    return TreeEntry(name, mode, status.st_size, hashlib.sha256(content).digest())


def _is_same(now: TreeEntry, seen: TreeEntry | None) -> bool:
    """Return whether a path is as it was planned; the mode of a folder may have been changed by the restore itself."""
    return now == seen or (seen is not None and now.is_folder and seen.is_folder)


def _is_folder(entry: TreeEntry | None) -> bool:
    return entry is not None and entry.is_folder


def _own_like(folder: int, status: os.stat_result | None, name: bytes) -> None:
    """Give a new name, where root makes it, the owner of what it replaces, or of its folder."""
    if os.geteuid() == 0:
        owner = status or os.fstat(folder)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)


def _check_git(project: str, path: bytes) -> None:
    """Check that no git is at work where a path lies in its files. Raises: ToolError."""
    parts = path.split(b"/")
    if b".git" in parts[:-1]:
        lock = os.path.join(os.fsencode(project), *parts[: parts.index(b".git") + 1], b"index.lock")
        if os.path.lexists(lock):
            raise ToolError("CONFLICT", f"git is at work: wait for it, or remove {show_bytes(lock)}")
