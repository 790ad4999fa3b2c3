"""One sandbox for every command line: bubblewrap, else Landlock, else nothing runs unasked.

Which of them works here is found by really running a tiny program in it, once, when the first command comes.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from threading import Lock

from anyio import to_thread
from msgspec import structs

from clawft.config.tools import SandboxSettings, WebSettings
from clawft.errors import ClawftError, Refused
from clawft.sandbox.bubblewrap import FAILED, BubblewrapRun
from clawft.sandbox.confinement import Confinement, limits_of
from clawft.sandbox.landlock import LandlockRun
from clawft.sandbox.listener import PROXY_PORT
from clawft.sandbox.pinned_path import CHANGED
from clawft.sandbox.placeholder import Placeholders
from clawft.sandbox.probe import SandboxStatus, UsableSandbox, probe
from clawft.sandbox.process import Finished, Launch, Streams, run_launch
from clawft.sandbox.proxy import HostAccess, Record, proxy_env
from clawft.sandbox.visible_files import ConfinedProgram, VisibleFiles, VisibleFilesBuilder
from clawft.trust.network import UrlPolicy
from clawft.trust.programs import HostPrograms, make_host_programs
from clawft.workspace import Workspace

_ATTEMPTS = 5  # while others exchange files
Ask = Callable[[str], Awaitable[bool]]  # may it run without a sandbox, since there is none for this reason?


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
        self.web = web
        self._policy = UrlPolicy(web)
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
    ) -> Finished:
        """Run words, or a line with the POSIX shell, confined; every process it started ends with it.

        Where there is no sandbox, `ask` gets the reason, and a person may approve running it without one. `record` gets
        every host that it reaches, or may not reach.

        Raises: Refused; ClawftError if the sandbox cannot be made; OSError if nothing can be started.
        """
        words = ("/bin/sh", "-c", command) if isinstance(command, str) else command
        for attempt in range(_ATTEMPTS):
            try:
                async with self.prepare(
                    words, cwd=cwd, env=env, confinement=confinement, ask=ask, record=record
                ) as launch:
                    return await run_launch(launch, timeout_s=timeout_s, max_bytes=max_bytes, streams=streams)
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
        found = self._found if self._found else await to_thread.run_sync(self._find)
        bare = Launch(tuple(words), cwd, env)
        if found.status.kind == "none":
            await self._ask_without(found.status.reason, ask)
        if found.status.kind in ("off", "none"):
            yield bare
            return
        with self._confine(found, bare, confinement, record) as launch:
            yield launch

    @contextmanager
    def _confine(
        self, found: UsableSandbox, bare: Launch, confinement: Confinement, record: Record
    ) -> Iterator[Launch]:
        """A program in the sandbox that there is."""
        by_children = found.status.kind == "landlock"
        visible = self._visible_files.build(confinement, bare.env.get("PATH", os.defpath), by_children=by_children)
        places = Placeholders(path for _, guard in visible.writable for path in guard.missing)
        try:
            hosts, hint = confinement.hosts, confinement.host_hint
            access = HostAccess(hosts, self._policy, record, hint=hint) if hosts else None
            own = {"TMPDIR": "/tmp", **(proxy_env(PROXY_PORT) if access else {})}
            limits = confinement.limits or self.limits
            job = ConfinedProgram(
                bare.words,
                bare.cwd,
                {**bare.env, **own},
                _keep_held(visible, places),
                limits,
                access,
                confinement.quiet_s,
            )
            base = found.least if confinement.least else found.base
            with closing(LandlockRun(job) if by_children else BubblewrapRun(found.bwrap, base, job)) as confined:
                yield confined.launch
        finally:
            places.release()

    async def _ask_without(self, reason: str, ask: Ask | None) -> None:
        if self.settings.if_unavailable == "refuse" or ask is None or not await ask(reason):
            message = f"There is no sandbox to run commands in: {reason}"
            raise Refused("sandbox-unavailable", message, hint="Run: weft doctor")

    def _find(self) -> UsableSandbox:
        with self._lock:
            if self._found is None:
                self._found = probe(self.settings.mode, self.host_programs, self.limits)
            return self._found


def _keep_held(visible: VisibleFiles, places: Placeholders) -> VisibleFiles:
    """The visible files with only those placeholders that could be made."""
    held = set(places.paths)
    writable = tuple(
        (root, structs.replace(guard, missing=tuple(path for path in guard.missing if path in held)))
        for root, guard in visible.writable
    )
    return structs.replace(visible, writable=writable)
