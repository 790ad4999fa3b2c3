"""The checkpoint of a turn: taken before its first change of the project, and once more when the turn is over."""

from collections.abc import Callable
from functools import partial

import anyio
from anyio import to_thread
from msgspec import Struct

from clawft.agent.checkpoints.rewind import TURN
from clawft.agent.checkpoints.snapshot import record_project, render_gaps
from clawft.agent.checkpoints.store import UncoveredPath, open_store, remove_old_stores
from clawft.errors import ClawftError
from clawft.messages import Noticed

Tell = Callable[[Noticed], None]


class TurnIdentity(Struct, frozen=True):
    """The turn that a change belongs to: the person's session and turn, and the session that is at work for it."""

    session: str
    turn: int
    owner: str


class TurnCheckpoint:
    """The checkpoint of one turn of a conversation, with all that its forks in this process do."""

    def __init__(self, user_dir: str, project: str, identity: TurnIdentity) -> None:
        self._places = (user_dir, project)
        self._identity = identity
        self._lock = anyio.Lock()
        self._is_begun = False
        self._change: int | None = None

    async def begin(self, tell: Tell) -> None:
        """Record the project once, before anything is changed. `tell` gets what is not covered; where nothing can
        be recorded the turn goes on, and `tell` gets that."""
        async with self._lock:
            if self._is_begun:
                return
            self._is_begun = True
            try:
                self._change, gaps = await to_thread.run_sync(self._record)
            except ClawftError as error:
                message = f"What this turn changes cannot be undone: {error}"
                tell(Noticed(code="undo-unavailable", message=message, severity="warning", hint=error.hint))
                return
        if gaps:
            tell(Noticed(code="undo-gap", message=f"Not covered by undo: {render_gaps(gaps)}", severity="warning"))

    async def end(self) -> None:
        """Record the project as the turn leaves it, where it may have changed it."""
        if self._change is not None:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(partial(self._finish, self._change))

    def _record(self) -> tuple[int, tuple[UncoveredPath, ...]]:
        user_dir, project = self._places
        session, turn, owner = self._identity.session, self._identity.turn, self._identity.owner
        remove_old_stores(user_dir)
        with open_store(user_dir, project) as store:
            store.thin()
            seen = record_project(store, project, user_dir)
            same = "kind = ? AND session = ? AND turn = ? AND owner = ? AND ended IS NULL"
            begun = store.list_changes(same, TURN, session, turn, owner)  # it goes on after a crash
            change = begun[-1].id if begun else store.add_change(TURN, session, turn, owner, seen)
            store.take_over(change)
            store.close_broken(seen.tree, owner, except_for=change)
            return change, seen.gaps

    def _finish(self, change: int) -> None:
        user_dir, project = self._places
        try:
            with open_store(user_dir, project) as store:
                store.end_change(change, record_project(store, project, user_dir).tree)
        except ClawftError:
            return  # it counts as broken off: what it changed is asked about
