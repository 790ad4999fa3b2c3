"""The current generation, replaced when files change: what changed, who is notified, and the runtime of its turns."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Literal

import anyio
from anyio import to_thread
from anyio.abc import TaskStatus
from msgspec import structs

from clawft.agent.runtime import Runtime
from clawft.app.app import App
from clawft.app.runtime import open_runtime
from clawft.app.shared_runtime import SharedRuntime
from clawft.config.skills import LoadSettings
from clawft.errors import ClawftError, Diagnostic
from clawft.server.protocol.base import to_problem
from clawft.server.protocol.subscriptions import Also, PathChange, SkillChange, SkillsChanged
from clawft.server.reload.dependencies import check_width
from clawft.server.reload.generation import Generation, GenerationInputs, load_generation
from clawft.skills.discovery.watch import STEP_S, ChangeKind, FolderWatcher, find_remote
from clawft.trust.status import SkillStatus


def compare_generations(before: Generation, after: Generation) -> SkillsChanged | None:
    """Compare two generations; return the changes, or None if no subscriber could see a difference."""
    same = set(map(id, before.app.skills)) & set(map(id, after.app.skills))  # most are taken over
    old = {(skill.found.file, skill.name): skill for skill in before.app.skills if id(skill) not in same}
    new = {(skill.found.file, skill.name): skill for skill in after.app.skills if id(skill) not in same}
    added = tuple(_tell(status, status.state, "") for key, status in new.items() if key not in old)
    removed = tuple(_tell(status, "", status.state) for key, status in old.items() if key not in new)
    both = ((old[key], status) for key, status in new.items() if key in old)
    changed = tuple(_tell(status, status.state, was.state) for was, status in both if _differs(was, status))
    also = tuple(_find_else(before, after))
    if not (added or removed or changed or also or _list_diagnostics(before) != _list_diagnostics(after)):
        return None
    return SkillsChanged(generation=after.number, at=after.at, added=added, removed=removed, changed=changed, also=also)


def _differs(was: SkillStatus, one: SkillStatus) -> bool:
    return was.found is not one.found or was.state != one.state or was.reasons != one.reasons


def _find_else(before: Generation, after: Generation) -> Iterator[Also]:
    """Find the changes other than those of skills."""
    old, new = before.read, after.read
    if _settings(before) != _settings(after):
        yield "config"
    if old is None or new is None or old.stamps.decided(old.depends) != new.stamps.decided(new.depends):
        yield "approvals"
    if before.app.agents != after.app.agents:
        yield "agents"
    if old is None or new is None or old.stamps.hook_state(old.depends) != new.stamps.hook_state(new.depends):
        yield "hooks"
    if old is None or new is None or old.stamps.plugins != new.stamps.plugins:
        yield "plugins"


def _list_diagnostics(one: Generation) -> tuple[Diagnostic, ...]:
    return one.app.catalog.diagnostics


def _settings(one: Generation) -> tuple[object, ...]:
    config = one.app.config  # its sections are decoded when they are asked for, so they do not count
    return config.values, config.skills, config.files, config.diagnostics


def _tell(one: SkillStatus, state: str, was_state: str) -> SkillChange:
    at = one.found.location.scope
    return SkillChange(name=one.name, scope=at, state=state, was_state=was_state, path=one.found.file)


MAX_PATHS = 100  # that an event names
_MAX_PENDING = 10_000
_LOOK_S = 2.0  # how often everything is looked at without a watcher, and with one: it may have missed something
_DOUBT_S = 60.0
_MANY_STAMPS = 500  # more are compared in a thread
_SHARE = 20  # at most this part of the time goes into that
_RESTLESS_S = 5.0  # after so long, what still changes is read all the same


class LiveSkills:
    """`current` is taken once per turn: a reload is one assignment, so nobody sees half of one.

    `open` it, then keep `run` going in a task. `watching` tells how changes are noticed, and `failure` what is wrong:
    why what is older than the disk is kept, settings or all, or why changes are noticed more slowly than they could be.
    """

    def __init__(self, app: App) -> None:
        self._subscribers: dict[object, Callable[[SkillsChanged], None]] = {}
        self._loading = anyio.Lock()
        self._wake = anyio.Event()
        self._watcher: FolderWatcher | None = None
        self._asked: object = None
        self._started = 0  # loads
        self._pending: dict[str, ChangeKind] = {}  # what was seen to change and is not read yet
        self._seen = 0
        self._last = 0.0  # when something was last seen to change
        self._looked = 0.0  # when everything was last looked at, and how long that took
        self._took_s = 0.0
        self._doubt = False  # something may have been missed: everything is to be read
        self._failed: Diagnostic | None = None
        self._weak: Diagnostic | None = None
        self.current = Generation(0, app, "")
        self._newest = self.current  # as `current` for everybody, with what was learned since
        self.watching: Literal["watchfiles", "stat", "off"] = "off"

    @property
    def failure(self) -> Diagnostic | None:
        return self._failed or self._weak

    async def open(self) -> None:
        """Read everything for the first time. Raises: ClawftError."""
        self._newest = self.current = await to_thread.run_sync(
            load_generation, self.current, self._at(), abandon_on_cancel=True
        )

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Watch for changes until cancelled. `task_status` reports the start as soon as no change can be missed."""
        try:
            await self._watch()
            await self.reload()  # what changed before it was watched
            task_status.started()
            while True:
                pause_s = max(_DOUBT_S if self.watching == "watchfiles" else _LOOK_S, _SHARE * self._took_s)
                with anyio.move_on_after(pause_s) as waited:
                    await self._wake.wait()
                self._wake = anyio.Event()
                await self._rest()
                before, unseen = self.current, not self._pending
                is_due = time.monotonic() - self._looked >= pause_s  # however much is seen meanwhile
                if unseen and not (is_due or self._doubt or waited.cancelled_caught):
                    await self._watch()  # a call has read what was seen
                    continue
                await self._reload(everything=unseen or is_due)
                if unseen and self.current is not before:
                    self._stop_watcher()  # it may have missed that: it is started anew
                await self._watch()
        finally:
            self._stop_watcher()
            self.watching = "off"

    async def refresh(self) -> Generation:
        """Return the current generation, after a look at what changed: before a call, which sees every edit before it.

        The files that hold settings, decisions and skills are compared with what was read. Where settings or decisions
        changed, everything is read; else the skills that changed. Files deeper in a skill's folder, hooks and plugins
        are seen by the watcher; without one everything is read, but not more often than edits are to rest.
        """
        started = self._started
        if await self._find_stale() is not None:
            async with self._loading:
                # Enough if a load began after this call, however many calls waited for it.
                if self._started == started and (stale := await self._find_stale()) is not None:
                    await self._load(everything=stale == "all")
        return self.current

    async def _find_stale(self) -> Literal["all", "some"] | None:
        """Find out whether everything must be read again, or some of it, which is noted as pending."""
        read = self._newest.read
        if read is None or self._doubt:
            return "all"
        count = len(read.stamps.statuses) + len(read.stamps.places)
        if count > _MANY_STAMPS:
            changed_files, places = await to_thread.run_sync(_compare, read)
        else:
            changed_files, places = _compare(read)
        if changed_files:
            return "all"
        if self.watching != "watchfiles":
            is_old = time.monotonic() - self._looked >= self._settings.watch_debounce_ms / 1000
            return "all" if places or is_old or read.stamps.has_changed_trees(read.depends) else None
        for path in places:
            self._pending.setdefault(path, "modified")
        return "some" if self._pending else None

    async def reload(self) -> Generation:
        """The generation of what is on disk now, all of it: after an installation, or another change of our own."""
        return await self._reload(everything=True)

    def subscribe(self, callback: Callable[[SkillsChanged], None]) -> Callable[[], None]:
        """Have every change told to a callback, which must not wait; what is returned ends that."""
        key = object()
        self._subscribers[key] = callback
        return lambda: self._forget(key)

    def _forget(self, key: object) -> None:
        self._subscribers.pop(key, None)

    @property
    def _settings(self) -> LoadSettings:
        return self._newest.app.config.skills.load

    async def _rest(self) -> None:
        """Wait until nothing has changed for a while: a checkout of a thousand files is one change."""
        rest_s = self._settings.watch_debounce_ms / 1000 - STEP_S  # that long the watcher has waited
        until = time.monotonic() + max(_RESTLESS_S, 4 * rest_s)
        while self._pending and (left := min(self._last + rest_s, until) - time.monotonic()) > 0:
            await anyio.sleep(left)

    async def _reload(self, *, everything: bool) -> Generation:
        async with self._loading:
            await self._load(everything=everything)
        return self.current

    async def _load(self, *, everything: bool) -> None:
        """Read what is on disk now: what was seen to change, or everything. The caller holds the lock."""
        self._started += 1
        pending, self._pending = self._pending, {}
        seen, self._seen = self._seen, 0
        everything, start = everything or self._doubt, time.perf_counter()
        touched = None if everything else pending
        try:
            made = await to_thread.run_sync(load_generation, self._newest, self._at(), touched, abandon_on_cancel=True)
        except Exception as error:  # whatever it is, what was read before still serves
            self._doubt, self._looked = True, time.monotonic()
            self._fail(_diagnose(error), start)
            return
        except BaseException:  # who asked for it is gone: what was seen is not forgotten with them
            self._doubt = True
            self._wake.set()
            raise
        self._doubt = False
        if everything:
            self._looked, self._took_s = time.monotonic(), time.perf_counter() - start
        failed, self._failed = self._failed, None
        published = self._take(made, pending, max(seen, len(pending)), start)
        if made.app.failure:  # all but the settings is as it is on disk
            self._failed = failed
            self._fail(made.app.failure, start)
        elif failed and not published:
            self._tell(SkillsChanged(generation=self.current.number, at=self._at(), took_ms=_since(start)))

    def _take(self, made: Generation, pending: Mapping[str, ChangeKind], seen: int, start: float) -> bool:
        """Make a generation the current one, if anybody can tell it from the one before."""
        before = self.current
        change = compare_generations(before, made)
        if change is None:
            self._newest = structs.replace(made, number=before.number, at=before.at, base=before.base)
            return False
        held = not set(change.also) - {"agents"}
        self._newest = self.current = structs.replace(made, base=before.base) if held else made
        paths = tuple(PathChange(path=path, kind=kind) for path, kind in sorted(pending.items())[:MAX_PATHS])
        self._tell(structs.replace(change, paths=paths, seen=seen, took_ms=_since(start)))
        return True

    def _fail(self, why: Diagnostic, start: float) -> None:
        if why == self._failed:
            return
        self._failed = why
        self._tell(
            SkillsChanged(generation=self.current.number, at=self._at(), failed=to_problem(why), took_ms=_since(start))
        )

    def _tell(self, change: SkillsChanged) -> None:
        for callback in tuple(self._subscribers.values()):
            callback(change)

    async def _watch(self) -> None:
        """Watch what the newest generation depends on, if it is not watched already; else say why not."""
        read = self._newest.read
        assert read is not None, "it is open"
        if not self._settings.watch:
            self._stop_watcher()
            self.watching, self._weak = "stat", None
            return
        watched = read.depends.watched
        old, asked = self._watcher, (watched, time.monotonic() // _DOUBT_S)
        if old.watched == watched if old is not None else asked == self._asked:
            return
        self._asked = (
            asked  # this may fail: then it is tried again after a while, or when something else is to be watched
        )
        try:
            self._watcher = await to_thread.run_sync(self._start_watcher, read, asyncio.get_running_loop())
        except ClawftError as error:
            self._stop_watcher()
            self._weaken(error)
            return
        self.watching, self._weak = "watchfiles", None
        if old is not None:
            await to_thread.run_sync(old.stop)
            new = watched.trees - old.watched.trees  # what changed there before it was watched
            self._note(dict.fromkeys(new, "added"))

    def _start_watcher(self, read: GenerationInputs, loop: asyncio.AbstractEventLoop) -> FolderWatcher:
        """Raises: ClawftError if nothing can be watched, or not all changes would be seen."""
        watched = read.depends.watched
        check_width(self._newest.app, watched.trees)
        remote = find_remote(watched.trees)
        if remote:
            raise ClawftError("watch-remote", "The folder is on another machine, which tells of no change", path=remote)

        def tell(update: dict[str, ChangeKind] | ClawftError) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._hear, watcher, update)

        watcher = FolderWatcher(watched, tell)
        watcher.start()
        return watcher

    def _hear(self, watcher: FolderWatcher, update: dict[str, ChangeKind] | ClawftError) -> None:
        if isinstance(update, dict):
            self._note(update)
        elif watcher is self._watcher:
            self._watcher, self._doubt = None, True
            self._weaken(update)
            self._wake.set()

    def _note(self, changes: dict[str, ChangeKind]) -> None:
        if not changes:
            return
        self._seen += len(changes)
        self._last = time.monotonic()
        if len(self._pending) < _MAX_PENDING:
            self._pending.update(changes)
        self._wake.set()

    def _weaken(self, error: ClawftError) -> None:
        diagnostic = error.diagnostic
        message = f"{diagnostic.message}; edits are noticed every few seconds"
        self.watching, self._weak = "stat", structs.replace(diagnostic, severity="warning", message=message)

    def _stop_watcher(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def _at(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds")


def _compare(read: GenerationInputs) -> tuple[bool, list[str]]:
    """Return whether a file with settings or decisions changed, and which places of skills and agents."""
    changed = read.stamps.has_changed_files()
    return changed, [] if changed else read.stamps.find_changed_places()


def _since(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 1)


def _diagnose(error: Exception) -> Diagnostic:
    if isinstance(error, ClawftError):
        return error.diagnostic
    return Diagnostic("reload-failed", "error", f"The skills could not be read again: {error!r:.300}")


class LiveRuntimes:
    """The runtime for the turns of a long-lived process: one for as long as settings, approvals, hooks and plugins stay
    as they are. When they change, new turns get a new one, and the old one ends with the last turn that uses it.

    Skills are those of the generation that is current when a turn begins, or when its model asks for one.
    """

    def __init__(self, live: "LiveSkills") -> None:
        self._live = live
        self._open: dict[int, SharedRuntime] = {}

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Runtime]:
        """The runtime for a turn that begins now. Raises: ClawftError."""
        generation = self._live.current
        held = self._open.get(generation.base)
        if held is None:
            opening = open_runtime(generation.app.copy(), load_skills=lambda: self._live.current.app.skills)
            held = self._open[generation.base] = SharedRuntime(opening, lambda: self._open.pop(generation.base, None))
        async with held.use() as runtime:
            yield runtime

    async def close(self) -> None:
        """End them all."""
        for held in tuple(self._open.values()):
            await held.close()
