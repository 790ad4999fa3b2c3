"""Paths that a confined program made anew in a folder and that steer others: a `.git`, an `.envrc`, a `.vscode`.

Nothing keeps it from being made, since nothing is there to be mounted on. So it is renamed as soon as the command has
ended, and gets its name back when it was found harmless, or a person agreed.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.files import is_within_any
from clawft.sandbox.copy_import import STEERS, FileDifference, render_changes
from clawft.sandbox.git_created import find_steering, is_marker, tidy_repository
from clawft.sandbox.git_import import ImportContext
from clawft.sandbox.git_refs import MAX_REF_BYTES
from clawft.sandbox.guard import FolderGuard
from clawft.sandbox.landlock_launcher import open_plain
from clawft.sandbox.plain_tree import PlainTree, TreeFull
from clawft.sandbox.private_copies import MAX_PLAIN_BYTES, MAX_PLAIN_ENTRIES
from clawft.sandbox.process import AskChange
from clawft.trust.protected_paths import POWER_FOLDERS, fold_name


class CreatedPath(Struct, frozen=True):
    """A new path, and the name beside it that it has until it was looked at. Of a repository that is its HEAD; the
    marker of a work tree that is to come into a known repository keeps its name, and leads nowhere until then."""

    root: str
    path: str
    aside: str
    problem: str = ""
    is_marker: bool = False

    @property
    def shown(self) -> str:
        return os.path.relpath(self.path, self.root)


def set_aside(root: str, before: FolderGuard, after: Iterable[str]) -> list[CreatedPath]:
    """Rename all that steers programs and was not there before, inner ones before the outer; the outer ones first."""
    known = {*before.named, *before.missing}
    found = sorted({path for path in after if path not in known}, key=len, reverse=True)
    created = [_set_aside(root, path, known) for path in found if not is_within_any(os.path.dirname(path), known)]
    return created[::-1]


def _set_aside(root: str, path: str, known: set[str]) -> CreatedPath:
    above, name = os.path.split(path)
    try:
        for folder in (above, path) if not os.path.islink(path) else (above,):
            _make_writable(folder)
        if fold_name(name) == ".git" and _names_known(above, known):
            return CreatedPath(root, path, "", is_marker=True)
        if _is_repository(path):
            with PlainTree(path) as tree:
                return CreatedPath(root, path, tree.rename_aside("HEAD"))
        with PlainTree(above) as tree:
            return CreatedPath(root, path, tree.rename_aside(name))
    except OSError as error:
        return CreatedPath(root, path, "", f"it could not be set aside: {error}. Look at it: ls -la")


def _make_writable(path: str) -> None:
    """Give the owner of a folder the right to change it, which a command may have taken away. Raises: OSError."""
    place = open_plain(path)
    try:
        status = os.fstat(place)
        if stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(f"/proc/self/fd/{place}", stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
    finally:
        os.close(place)


def _names_known(folder: str, known: set[str]) -> bool:
    """Return whether the marker in a folder names a work tree of a repository that was there before."""
    with suppress(OSError, Unreadable), PlainTree(folder) as tree:
        target = os.fsdecode(tree.find(".git", MAX_REF_BYTES) or b"").removeprefix("gitdir: ").removesuffix("\n")
        repository, worktrees, name = target.rpartition("/worktrees/")
        return bool(worktrees) and repository in known and "/" not in name
    return False


def _is_repository(path: str) -> bool:
    name = fold_name(os.path.basename(path))
    return os.path.isdir(path) and not os.path.islink(path) and (name == ".git" or name not in POWER_FOLDERS)


def review_created(item: CreatedPath, ask: AskChange) -> list[str]:
    """Give what was set aside its name back, if that may be; what was held back, and why."""
    context = ImportContext(item.root, ask, [])
    try:
        if item.is_marker:
            _review_marker(item, context)
        elif item.problem:
            context.problems.append(item.problem)
        elif _is_repository(item.path):
            _review_repository(item, context)
        else:
            _review(item, context)
    except (OSError, TreeFull, Unreadable) as error:
        context.problems.append(f"it is {item.aside} now: {error}")
    return [f"{item.shown}: {problem}" for problem in dict.fromkeys(context.problems)]


def _review(item: CreatedPath, context: ImportContext) -> None:
    """Raises: OSError; TreeFull; Unreadable."""
    above, name = os.path.split(item.path)
    with PlainTree(above) as tree:
        if fold_name(name) == ".git":
            context.problems.append(f"it would lead git elsewhere, and is {item.aside} now")
            return
        changes = _list_files(tree, item.aside, name)
        question = f"Keep {item.shown}, which was made while the command ran?\n{render_changes(changes)}"
        if changes and context.ask(question, STEERS):
            tree.rename(item.aside, name)
        else:
            context.problems.append(f"it was not approved, and is {item.aside} now")


def _review_marker(item: CreatedPath, context: ImportContext) -> None:
    """Raises: OSError; TreeFull; Unreadable."""
    if not is_marker(item.path, item.root):
        with PlainTree(os.path.dirname(item.path)) as tree:
            aside = tree.rename_aside(os.path.basename(item.path))
        context.problems.append(f"it would lead git elsewhere, and is {aside} now")


def _review_repository(item: CreatedPath, context: ImportContext) -> None:
    """Raises: OSError; TreeFull; Unreadable."""
    if fold_name(os.path.basename(item.path)) == ".git":
        tidy_repository(item.path, item.aside, context)
        return
    with PlainTree(item.path) as tree:
        wrong = find_steering(tree, item.aside)
    if wrong:
        context.problems.append(f"git would take it for a repository ({wrong[0]}), so its HEAD is {item.aside} now")
        return
    tidy_repository(item.path, item.aside, context)


def _list_files(tree: PlainTree, path: str, name: str) -> list[FileDifference]:
    """The files of what was set aside; none where there is something else among them. Raises: OSError; TreeFull."""
    mark = tree.find_mark(path)
    if mark is None or stat.S_ISLNK(mark[0]):
        return []
    is_folder = stat.S_ISDIR(mark[0])
    entries = tree.list(lambda _: False, MAX_PLAIN_ENTRIES, path) if is_folder else {path: mark}
    changes = []
    for inner, found in sorted(entries.items()):
        if stat.S_ISDIR(found[0]):
            continue
        shown = name + inner[len(path) :]
        changes.append(FileDifference(shown, None, tree.read(inner, MAX_PLAIN_BYTES)[0], stat.S_IMODE(found[0])))
    return changes
