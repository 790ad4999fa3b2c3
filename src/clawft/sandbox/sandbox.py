"""One sandbox for every command line: bubblewrap, else Landlock, else nothing runs unasked.

Which of them works here is found by really running a tiny program in it, once, when the first command comes.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from threading import Lock
from typing import Any

from anyio import CancelScope, from_thread, get_cancelled_exc_class, to_thread
from msgspec import structs

from clawft.config.tools import SandboxSettings, WebSettings
from clawft.errors import ClawftError, Refused
from clawft.files import is_within, real_path
from clawft.sandbox.bubblewrap import FAILED, BubblewrapRun
from clawft.sandbox.confinement import Confinement, limits_of
from clawft.sandbox.copy_import import import_copy
from clawft.sandbox.created_paths import review_created, set_aside
from clawft.sandbox.git_defaults import GIT_CONFIG, GitDefaults
from clawft.sandbox.landlock import LandlockRun
from clawft.sandbox.listener import PROXY_PORT
from clawft.sandbox.pinned_path import CHANGED, find_pinned
from clawft.sandbox.placeholder import Placeholders
from clawft.sandbox.private_copies import CopyStore, PrivateCopy
from clawft.sandbox.probe import SandboxStatus, UsableSandbox, probe
from clawft.sandbox.process import AskChange, Finished, Launch, PausableClock, Streams, run_launch
from clawft.sandbox.proxy import AskHost, HostAccess, Record, proxy_env
from clawft.sandbox.room import SandboxRoom, share_flags
from clawft.sandbox.session_tmp import show_session_tmp
from clawft.sandbox.visible_files import ConfinedProgram, VisibleFiles, VisibleFilesBuilder
from clawft.trust.network import UrlPolicy
from clawft.trust.programs import HostPrograms, make_host_programs
from clawft.workspace import Workspace

_ATTEMPTS = 5  # while others exchange files
Ask = Callable[[str], Awaitable[bool]]  # may it run without a sandbox, since there is none for this reason?
# A question on what a command did in a private copy, and why it is asked: may it come in?
Review = Callable[[str, str], Coroutine[Any, Any, bool]]


class Sandbox:
    """Runs programs confined. Made once; `web` is the policy for hosts that a program is granted."""

    def __init__(
        self,
        settings: SandboxSettings,
        workspace: Workspace,
        environ: Mapping[str, str],
        web: WebSettings = WebSettings(),  # noqa: B008
        host_programs: HostPrograms | None = None,
    ) -> None:
        """`host_programs` starts what runs outside, with all rights; by default that of the project and settings."""
        self.settings = settings
        self.host_programs = host_programs or make_host_programs(workspace, environ, settings.writable)
        self.limits = limits_of(settings)
        self.workspace = workspace
        self._visible_files = VisibleFilesBuilder(settings, workspace)
        self._git = GitDefaults(self.host_programs, workspace.home)
        self._copies = CopyStore(os.path.join(real_path(workspace.user_dir), "cache", "copies"))
        self.web = web
        self._policy = UrlPolicy(web, block_metadata=True)
        self._found: UsableSandbox | None = None
        self._lock = Lock()

    def status(self) -> SandboxStatus:
        """Return the sandbox in use; it is probed the first time, which takes a moment."""
        return self._find().status

    async def run(  # noqa: PLR0913  (all but the first are named, as for run_process)
        self,
        command: Sequence[str] | str,
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout_s: float,
        max_bytes: int,
        streams: Streams = Streams(),  # noqa: B008
        confinement: Confinement = Confinement(),  # noqa: B008
        ask: Ask | None = None,
        record: Record = lambda *_: None,
        room: SandboxRoom | None = None,
        ask_host: AskHost | None = None,
        clock: PausableClock | None = None,
        review: Review | None = None,
    ) -> Finished:
        """Run words, or a line with the POSIX shell, confined; every process it started ends with it. Under bubblewrap
        it shares the namespaces of `room`, where they can be made. `ask_host` is asked about hosts that were not
        granted, and `clock` stops the time of the program meanwhile.

        Where there is no sandbox, `ask` gets the reason, and a person may approve running it without one. `record` gets
        every host that it reaches, or may not reach. With `review` it works on private copies of what steers other
        programs, which is read-only otherwise; what it did there comes in when it has ended, with a yes where that is
        needed.

        Raises: Refused; ClawftError if the sandbox cannot be made; OSError if nothing can be started.
        """
        words = ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)
        for attempt in range(_ATTEMPTS):
            try:
                async with self._prepare(
                    Launch(words, cwd, env), confinement, ask, (record, ask_host), review, room
                ) as launch:
                    try:
                        done = await run_launch(
                            launch, timeout_s=timeout_s, max_bytes=max_bytes, streams=streams, clock=clock
                        )
                    except get_cancelled_exc_class():  # nobody waits for what it did until then, but it is not lost
                        with CancelScope(shield=True):
                            await _import(launch, None)
                        raise
                    return structs.replace(done, held_back=await _import(launch, review))
            except ClawftError as error:  # nothing was started yet; what is exchanged may also be in bubblewrap's way
                if error.code not in (CHANGED, FAILED) or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    @asynccontextmanager
    async def prepare(
        self,
        words: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        confinement: Confinement,
        ask: Ask | None = None,
        record: Record = lambda *_: None,
    ) -> AsyncIterator[Launch]:
        """A program that the caller starts and speaks with for as long as it likes, such as an MCP server.

        The caller runs `attend` beside it and `settle` after it. `ask` and `record` are as for `run`.

        Raises: Refused.
        """
        async with self._prepare(Launch(tuple(words), cwd, env), confinement, ask, (record, None), None) as launch:
            yield launch

    @asynccontextmanager
    async def _prepare(
        self,
        bare: Launch,
        confinement: Confinement,
        ask: Ask | None,
        observers: tuple[Record, AskHost | None],
        review: Review | None,
        room: SandboxRoom | None = None,
    ) -> AsyncIterator[Launch]:
        """Raises: Refused."""
        found = self._found if self._found else await to_thread.run_sync(self._find)
        if found.status.kind == "none":
            await self._ask_without(found.status.reason, ask)
        if found.status.kind in ("off", "none"):
            yield bare
            return
        is_shared = room is not None and found.status.kind == "bubblewrap" and await room.open()
        shared = room if is_shared else None
        with self._confine(found, bare, confinement, observers, shared, copied=review is not None) as launch:
            yield launch

    @contextmanager
    def _confine(
        self,
        found: UsableSandbox,
        bare: Launch,
        confinement: Confinement,
        observers: tuple[Record, AskHost | None],
        room: SandboxRoom | None,
        *,
        copied: bool,
    ) -> Iterator[Launch]:
        """A program in the sandbox that there is."""
        by_children = found.status.kind == "landlock"
        visible = self._visible_files.build(confinement, bare.env.get("PATH", os.defpath), by_children=by_children)
        places = Placeholders(path for _, guard in visible.writable for path in guard.missing)
        copies: list[PrivateCopy] = []
        try:
            guarded = visible = _keep_held(visible, places)
            if copied and not by_children:  # where nothing can be mounted, they stay read-only
                visible, copies = self._copies.replace(self._add_git_defaults(visible))
            hosts, hint = confinement.hosts, confinement.host_hint
            record, ask_host = observers
            # Where bubblewrap shares no room, a proxy costs as much as the command.
            is_reached = hosts or (confinement.proxy and (room or by_children))
            access = HostAccess(hosts, self._policy, record, hint=hint, ask=ask_host) if is_reached else None
            base = found.least if confinement.least else found.base
            if confinement.tmp:
                visible = show_session_tmp(visible, confinement.tmp, base)
            listener = room.listen() if room and access else None
            port = listener.getsockname()[1] if listener else PROXY_PORT
            own = {"TMPDIR": "/tmp", **(_merge_proxy(bare.env, port, confinement) if access else {})}
            own |= {"GIT_CONFIG_SYSTEM": GIT_CONFIG} if any(seen == GIT_CONFIG for _, seen in visible.mounts) else {}
            limits = confinement.limits or self.limits
            words, env = bare.words, {**bare.env, **own}
            job = ConfinedProgram(words, bare.cwd, env, visible, limits, access, confinement.quiet_s)
            run: LandlockRun | BubblewrapRun
            if by_children:
                run = LandlockRun(job)
            else:
                run = BubblewrapRun(found.bwrap, share_flags(base) if room else base, job, room, listener)
            with closing(run) as confined:
                launch = confined.launch
                if copied and not by_children:
                    launch = structs.replace(launch, import_copies=partial(self._import, guarded, copies))
                yield launch
        finally:
            places.release()
            self._copies.give_back(copies)

    def _add_git_defaults(self, visible: VisibleFiles) -> VisibleFiles:
        with suppress(OSError):
            if place := find_pinned(self._git.write(self._copies.open())):
                return structs.replace(visible, mounts=(*visible.mounts, (place, GIT_CONFIG)))
        return visible

    def _import(self, visible: VisibleFiles, copies: Sequence[PrivateCopy], ask: AskChange) -> tuple[str, ...]:
        """Import what a program did in its copies, and look at what it made anew that steers other programs."""
        notes: list[str] = []
        created = []
        for root, guard in visible.writable:  # at once: until it was looked at, nobody shall obey it
            try:
                named, unread = self._visible_files.list_named(root.path) if guard.children is None else ([], [])
            except Refused as error:
                notes.append(f"Look for repositories that it made before you use git here: {error}")
                continue
            created += set_aside(root.path, guard, named)
            notes += [
                f"{path} cannot be looked into: do not use git in it" for path in unread if path not in guard.hidden
            ]
        for copy in copies:
            notes += import_copy(copy, _find_root(copy, visible), ask)
        for item in created:
            notes += review_created(item, ask)
        return tuple(dict.fromkeys(notes))

    async def _ask_without(self, reason: str, ask: Ask | None) -> None:
        if self.settings.if_unavailable == "refuse" or ask is None or not await ask(reason):
            message = f"There is no sandbox to run commands in: {reason}"
            raise Refused("sandbox-unavailable", message, hint="Run: weft doctor")

    def _find(self) -> UsableSandbox:
        with self._lock:
            if self._found is None:
                self._found = probe(self.settings.mode, self.host_programs, self.limits)
            return self._found


def _find_root(copy: PrivateCopy, visible: VisibleFiles) -> str:
    """The folder that a program could write in which the real one lies."""
    roots = (root.path for root, _ in visible.writable)
    return next((root for root in roots if is_within(copy.seen, root)), os.path.dirname(copy.seen))


async def _import(launch: Launch, review: Review | None) -> tuple[str, ...]:
    """Import what a program did in its copies; what was held back. Without `review` nobody agrees to anything."""

    def ask(question: str, reason: str) -> bool:
        return review is not None and from_thread.run(review, question, reason)

    return await to_thread.run_sync(launch.import_copies, ask) if launch.import_copies else ()


def _keep_held(visible: VisibleFiles, places: Placeholders) -> VisibleFiles:
    """The visible files with only those placeholders that could be made."""
    held = set(places.paths)
    writable = tuple(
        (root, structs.replace(guard, missing=tuple(path for path in guard.missing if path in held)))
        for root, guard in visible.writable
    )
    return structs.replace(visible, writable=writable)


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _merge_proxy(env: Mapping[str, str], port: int, confinement: Confinement) -> dict[str, str]:
    """The variables of the proxy, beside those that Java has already.

    In a session the loopback is direct, where a server of an earlier command may listen, but for a name of it that was
    granted: that is this machine's.
    """
    granted = {host.rpartition(":")[0] or host for host in confinement.hosts}
    direct = ",".join(name for name in _LOOPBACK if name not in granted) if confinement.proxy else ""
    own = proxy_env(port, direct)
    options = f"{env.get('JAVA_TOOL_OPTIONS', '')} {own['JAVA_TOOL_OPTIONS']}".strip()
    return own | {"JAVA_TOOL_OPTIONS": options}
