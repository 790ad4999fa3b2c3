"""Bring what a confined program did in its private copies into the real files: repositories by git's rules, other
protected files when a person has seen the difference and agreed."""

import os
import stat
from collections.abc import Sequence
from difflib import unified_diff

from msgspec import Struct

from clawft.errors import Unreadable
from clawft.sandbox.git_created import adopt_repository
from clawft.sandbox.git_import import ImportContext, import_repository
from clawft.sandbox.plain_tree import PlainTree, TreeFull
from clawft.sandbox.private_copies import MAX_PLAIN_BYTES, PrivateCopy
from clawft.sandbox.process import AskChange
from clawft.trust.programs import show_all
from clawft.trust.protected_paths import fold_name

MAX_SHOWN_LINES = 200
_MAX_LINE = 400
STEERS = "it steers programs outside of the sandbox: git, editors, shells or agents"


class FileDifference(Struct, frozen=True):
    """A file that differs: what it held, and what it is to hold; None where there is none."""

    path: str
    old: bytes | None
    new: bytes | None
    mode: int = 0o644


def import_copy(copy: PrivateCopy, root: str, ask: AskChange) -> list[str]:
    """Import what a command did in one copy; what was held back of it, and why."""
    context = ImportContext(root, ask, [])
    shown = os.path.relpath(copy.seen, root)
    try:
        if copy.kind == "repository":
            import_repository(copy, context)
        elif os.path.basename(copy.seen) == ".git":
            adopt_repository(copy, context)
        else:
            _import_plain(copy, context, shown)
    except (OSError, TreeFull, Unreadable) as error:
        context.problems.append(f"the rest of it: {error}")
    return [f"{shown}: {problem}" for problem in dict.fromkeys(context.problems)]


def _import_plain(copy: PrivateCopy, context: ImportContext, shown: str) -> None:
    """Raises: OSError; TreeFull; Unreadable."""
    changes = _find_changes(copy, context.problems)
    if not changes:
        return
    question = f"Change {shown} as the command did?\n{render_changes(changes)}"
    if not context.ask(question, STEERS):
        context.problems.append("the change was not approved")
        return
    with PlainTree(copy.base) as real:
        for change in changes:
            _write(real, change, context.problems)


def _find_changes(copy: PrivateCopy, problems: list[str]) -> list[FileDifference]:
    """Raises: OSError; TreeFull."""
    changes = []
    with PlainTree(copy.folder) as tree:
        for path in sorted(copy.find_changed()):
            file = copy.files.get(path)
            mark = tree.find_mark(path)
            if any(fold_name(part) in (".git", "head") for part in path.split("/")):
                problems.append(f"{path}: it may be part of a repository")
                continue
            try:
                new = tree.find(path, MAX_PLAIN_BYTES)
            except (OSError, Unreadable) as error:  # a link, or what is no file
                problems.append(f"{path}: {error}")
                continue
            old = file.content if file else None
            if file and old is None:
                problems.append(f"{path}: it is too large to be shown")
            elif new != old:
                changes.append(FileDifference(path, old, new, stat.S_IMODE(mark[0]) & 0o755 if mark else 0))
    return changes


def _write(real: PlainTree, change: FileDifference, problems: list[str]) -> None:
    try:
        with real.locked(change.path, change.mode, ending=f".{os.urandom(6).hex()}.tmp") as locked:
            if locked.read(MAX_PLAIN_BYTES) != change.old:
                problems.append(f"{change.path}: another program changed it meanwhile")
            elif change.new is None:
                locked.remove()
            else:
                locked.replace(change.new)
        if change.new is None:
            real.prune(change.path)
    except (OSError, Unreadable) as error:
        problems.append(f"{change.path}: {error}")


def render_changes(changes: Sequence[FileDifference]) -> str:
    """The difference as a person must see it to judge it, cut where it is long."""
    lines: list[str] = []
    for change in changes:
        rights = ", to be run as a program" if change.new is not None and change.mode & 0o100 else ""
        texts = [_decode(content) for content in (change.old, change.new)]
        if None in texts:
            size = "removed" if change.new is None else f"{len(change.new)} bytes that are no text"
            lines.append(f"{change.path}: {size}{rights}")
            continue
        lines.append(f"--- {change.path}{rights}" if change.new is not None else f"--- {change.path} is removed")
        # Only at line feeds: what else ends a line for Python may be part of one for the program that reads it.
        old, new = (text.removesuffix("\n").split("\n") if text else [] for text in texts)
        lines += [_cut(line) for line in unified_diff(old, new, lineterm="", n=2)][2:]
    if len(lines) > MAX_SHOWN_LINES:
        lines[MAX_SHOWN_LINES:] = [f"… and {len(lines) - MAX_SHOWN_LINES} more lines"]
    return "\n".join(show_all(line) for line in lines)


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} … and {len(line) - _MAX_LINE} more characters"


def _decode(content: bytes | None) -> str | None:
    try:
        return (content or b"").decode()
    except UnicodeDecodeError:
        return None
