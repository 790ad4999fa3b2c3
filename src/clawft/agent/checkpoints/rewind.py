"""Plan what taking turns back would do to a project: for each path what it held before, and what it holds now.

A path goes back only as far as these turns changed it. One that is not as they left it was changed by others since, a
person or another session; it is named, and goes back only where the person says so.
"""

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from clawft.agent.checkpoints.snapshot import record_project, show_bytes
from clawft.agent.checkpoints.store import (
    Change,
    CheckpointStore,
    Snapshot,
    TreeEntry,
    UncoveredPath,
    has_store,
    open_store,
)
from clawft.git import parse_index

_NOTHING: Mapping[bytes, TreeEntry] = {}
TURN, REWIND, REDO = "turn", "rewind", "redo"
FOLDER_MARK = b"folder"  # in the place of a digest: a folder by itself, whatever is in it
NOT_RECORDED = "what it held was not recorded"


class RewindStep(Struct, frozen=True):
    """One path: what it holds now and what it goes back to, None for nothing.

    `changed` says why it may hold another's work; `problem`, why nothing can be done.
    """

    path: bytes
    seen: TreeEntry | None
    want: TreeEntry | None
    changed: str = ""
    problem: str = ""

    @property
    def shown(self) -> str:
        return show_bytes(self.path)

    @property
    def effect(self) -> Literal["change", "remove", "bring back"]:
        """Effect on the path."""
        if self.want is None:
            return "remove"
        return "change" if self.seen is not None else "bring back"


class RewindPlan(Struct, frozen=True):
    """Effects of a rewind to the end of turn `to`; `head` is the last turn before it, or after a redo."""

    session: str
    to: int
    head: int
    redo: bool
    steps: tuple[RewindStep, ...] = ()
    gaps: tuple[UncoveredPath, ...] = ()

    @property
    def clean(self) -> tuple[RewindStep, ...]:
        """The steps that need no further question."""
        return tuple(step for step in self.steps if not step.changed and not step.problem)

    @property
    def doubtful(self) -> tuple[RewindStep, ...]:
        """The steps that may take back another's work."""
        return tuple(step for step in self.steps if step.changed and not step.problem)


def plan_rewind(
    user_dir: str, project: str, session: str, turns: Collection[int], to: int, head: int, *, redo: bool = False
) -> RewindPlan:
    """Plan taking back these turns of a session, or with `redo` the rewind from `head`. Raises: ClawftError."""
    if not has_store(user_dir, project):
        return RewindPlan(session, to, head, redo)
    with open_store(user_dir, project) as store:
        changes = _find_changes(store, session, turns, head, redo=redo)
        if not changes:
            return RewindPlan(session, to, head, redo)
        now = record_project(store, project, user_dir)
        store.close_broken(now.tree, session)
        changes = _find_changes(store, session, turns, head, redo=redo)
        gaps = tuple(dict.fromkeys(gap for change in changes for gap in change.gaps))
        kind = REDO if redo else REWIND
        broken = store.list_changes("kind = ? AND session = ? AND turn = ? AND broken", kind, session, head)
        return RewindPlan(session, to, head, redo, _list_steps(store, now, changes, broken), gaps)


def _find_changes(
    store: CheckpointStore, session: str, turns: Collection[int], head: int, *, redo: bool
) -> list[Change]:
    """Find the changes to take back, the last one first."""
    if redo:
        found = store.list_changes("kind = ? AND session = ? AND turn = ?", REWIND, session, head)
    else:
        found = [
            change for change in store.list_changes("kind = ? AND session = ?", TURN, session) if change.turn in turns
        ]
    return found[::-1]


def _list_steps(
    store: CheckpointStore, now: Snapshot, changes: Sequence[Change], broken: Sequence[Change]
) -> tuple[RewindStep, ...]:
    agreed = {path for change in broken for path in change.paths or ()}
    held: dict[bytes, TreeEntry | None] = {}  # once the changes looked at so far are taken back
    why: dict[bytes, str] = {}
    for change in changes:
        others = _list_others(store, change, now)
        for path, old, new in compare_trees(store, change.before, change.after or now.tree):
            if change.paths is not None and path not in change.paths:
                continue
            current = held[path] if path in held else find_entry(store, now.tree, path)
            if current == old:
                held[path] = old
                continue
            if current is None and path in agreed:
                pass  # it was about to be put there
            elif current != new and not _is_same_index(store, path, current, new):
                why.setdefault(path, "changed since")
            elif path in others:
                why.setdefault(path, f"also changed by session {others[path]}")
            elif change.broken and change.kind == TURN:
                why.setdefault(path, "may be your change: the turn was broken off")
            held[path] = old
    steps = (
        RewindStep(path, find_entry(store, now.tree, path), want, why.get(path, "")) for path, want in held.items()
    )
    return tuple(_judge(step) for step in sorted(steps, key=lambda step: step.path) if step.seen != step.want)


def _is_same_index(store: CheckpointStore, path: bytes, one: TreeEntry | None, other: TreeEntry | None) -> bool:
    """Return whether two forms of an index of git list the same files: whatever reads it may note their times anew."""
    parts = path.split(b"/")
    if parts[-1] != b"index" or b".git" not in parts or one is None or other is None:
        return False
    if not (one.digest and other.digest) or FOLDER_MARK in (one.digest, other.digest):
        return False
    try:
        return parse_index(store.get(one.digest))[0] == parse_index(store.get(other.digest))[0]
    except (ValueError, struct.error, IndexError):
        return False


def _judge(step: RewindStep) -> RewindStep:
    for entry in (step.seen, step.want):
        if entry is not None and not entry.digest:
            return RewindStep(step.path, step.seen, step.want, step.changed, NOT_RECORDED)
    return step


def _list_others(store: CheckpointStore, change: Change, now: Snapshot) -> dict[bytes, str]:
    """List the paths that other sessions changed in the same span, each with its session."""
    until = float("inf") if change.ended is None else change.ended
    condition = "session != ? AND began < ? AND coalesce(ended, 9e99) > ?"
    overlapping = store.list_changes(condition, change.session, until, change.began)
    return {
        path: other.session
        for other in overlapping
        for path, _, _ in compare_trees(store, other.before, other.after or now.tree)
        if other.paths is None or path in other.paths
    }


def compare_trees(
    store: CheckpointStore, before: bytes, after: bytes, path: bytes = b""
) -> Iterator[tuple[bytes, TreeEntry | None, TreeEntry | None]]:
    """Compare two recorded folders: each path that differs, with what it was and what it became."""
    if before == after:
        return
    old_entries = store.load_tree(before) if before else _NOTHING
    new_entries = store.load_tree(after) if after else _NOTHING
    for name in sorted(old_entries.keys() | new_entries.keys()):
        old, new = old_entries.get(name), new_entries.get(name)
        if old == new:
            continue
        place = path + b"/" + name if path else name
        if _plain(old) != _plain(new):
            yield place, _plain(old), _plain(new)
        inner = [entry.digest if entry is not None and entry.is_folder else b"" for entry in (old, new)]
        is_unknown = any(entry is not None and entry.is_folder and not entry.digest for entry in (old, new))
        if any(inner) and not is_unknown:
            yield from compare_trees(store, inner[0], inner[1], place)


def _plain(entry: TreeEntry | None) -> TreeEntry | None:
    """A folder by itself, whatever is in it."""
    if entry is None or not entry.is_folder or not entry.digest:
        return entry
    return TreeEntry(entry.name, entry.mode, 0, FOLDER_MARK)


def find_entry(store: CheckpointStore, tree: bytes, path: bytes) -> TreeEntry | None:
    """Find what a path held in a recorded project; None for nothing."""
    *folders, name = path.split(b"/")
    for folder in folders:
        entry = store.load_tree(tree).get(folder)
        if entry is None or not entry.is_folder or not entry.digest:
            return None
        tree = entry.digest
    return _plain(store.load_tree(tree).get(name))
