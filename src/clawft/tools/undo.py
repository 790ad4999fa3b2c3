"""Take back what the agent did to files, from the originals that `spill` keeps. What others changed since is told.

A change is all that one turn did, or one undo: an undo is kept like any change, so that it can be taken back too.
"""

import os
import secrets
from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import is_within, real_path
from clawft.tools.beneath import read_file_at, remove_file_at, write_file_at
from clawft.tools.spill import MANIFEST, Original, digest_of, load_originals, load_saved, save_original
from clawft.tools.tool import ToolError
from clawft.tools.write_file import MAX_WRITE_BYTES

__all__ = ["Step", "Undo", "find_undo", "run_undo"]


class Step(Struct, frozen=True):
    """One file, and what it goes back to: `saved` names the bytes, '' removes it. `seen` is what it holds now.

    `changed` tells that this is not what the agent left there; a `problem`, that nothing can be done.
    """

    path: str
    saved: str = ""
    mode: int = 0
    seen: str = ""
    changed: bool = False
    problem: str = ""


class Undo(Struct, frozen=True):
    """What would be taken back: a turn's change, or an undo of it."""

    name: str
    turn: int
    steps: tuple[Step, ...]


def find_undo(keep_dir: str, project: str, *, redo: bool = False) -> Undo | None:
    """The last change that is still there, or with `redo` the last undo; None where there is nothing.

    Raises: ClawftError.
    """
    done, undone = _stack(load_originals(keep_dir))
    hopeless = None
    for change in reversed(undone if redo else done):
        steps = tuple(step for step in _plan(change, real_path(project), keep_dir) if step)
        undo = Undo(_name(change[0]), change[0].turn, steps)
        if any(not step.problem for step in steps):
            return undo
        hopeless = hopeless or (undo if steps else None)
    return hopeless


def run_undo(keep_dir: str, undo: Undo, paths: Collection[str]) -> dict[str, str]:
    """Take a change back for some of its paths, whatever they hold; by path, '' or why it stayed as it is."""
    name = f"undo-{secrets.token_hex(6)}"
    told = {step.path: step.problem for step in undo.steps if step.path in paths}
    for step in undo.steps:
        if step.path in paths and not step.problem:
            try:
                _restore(keep_dir, step, Original(step.path, "", turn=undo.turn, undo=name, undoes=undo.name))
            except (OSError, ClawftError) as error:
                told[step.path] = _why(error)
    return told


def _restore(keep_dir: str, step: Step, change: Original) -> None:
    content, status = _read(step.path) or (None, None)
    if digest_of(content) != step.seen:
        raise ToolError("CONFLICT", "it was changed just now")
    wanted = load_saved(keep_dir, step.saved) if step.saved else None
    mode = status.st_mode if status else step.mode
    kept = msgspec.structs.replace(change, mode=mode, after=digest_of(wanted))
    save_original(os.path.join(keep_dir, os.path.dirname(MANIFEST)), kept, content)
    if wanted is not None:
        write_file_at(step.path, wanted, status, step.mode)
    elif status is not None:
        remove_file_at(step.path, status)


def _name(original: Original) -> str:
    return original.undo or f"turn-{original.turn}"


def _stack(originals: Iterable[Original]) -> tuple[list[list[Original]], list[list[Original]]]:
    """The changes that stand, and the undos that could be taken back, oldest first."""
    changes: dict[str, list[Original]] = {}
    for one in originals:
        changes.setdefault(_name(one), []).append(one)
    done: list[list[Original]] = []
    undone: list[list[Original]] = []
    for change in changes.values():
        taken_back = changes.get(change[0].undoes)
        if taken_back is None:
            done.append(change)
            undone.clear()  # something new was done: the way forward is lost
        elif taken_back in done:
            done.remove(taken_back)
            undone.append(change)
        elif taken_back in undone:
            undone.remove(taken_back)
            done.append(changes[taken_back[0].undoes])
    return done, undone


def _plan(change: Sequence[Original], project: str, keep_dir: str) -> Iterable[Step | None]:
    """A step for every file that is not as it was; its first original counts, and what was last written to it."""
    first = {one.path: one for one in reversed(change)}
    last = {one.path: one for one in change}
    return [_plan_one(first[path], last[path].after, project, keep_dir) for path in last]


def _plan_one(original: Original, after: str, project: str, keep_dir: str) -> Step | None:
    step = Step(original.path, original.saved, original.mode)
    try:
        if not is_within(step.path, project):
            raise ToolError("PERMISSION_DENIED", "it is in another project")
        before = digest_of(load_saved(keep_dir, step.saved) if step.saved else None)
        now = _read(step.path)
    except (OSError, ClawftError) as error:
        return msgspec.structs.replace(step, problem=_why(error))
    seen = digest_of(now[0] if now else None)
    return None if seen == before else msgspec.structs.replace(step, seen=seen, changed=seen != after)


def _why(error: OSError | ClawftError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _read(path: str) -> tuple[bytes, os.stat_result] | None:
    try:
        return read_file_at(path, MAX_WRITE_BYTES)
    except FileNotFoundError:
        return None
