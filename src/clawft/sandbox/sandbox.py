"""One sandbox for every command line: bubblewrap, else Landlock, else nothing runs unasked.

Which of them works here is found by really running a tiny program in it, once, when the first command comes.
"""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from threading import Lock
from typing import Literal

from anyio import to_thread
from msgspec import Struct, structs

from clawft.config.sandbox import SandboxSettings
from clawft.errors import Refused
from clawft.sandbox.bubblewrap import base_flags, view_flags
from clawft.sandbox.confinement import Confinement, limits_of
from clawft.sandbox.placeholder import Placeholders
from clawft.sandbox.process import Finished, Launch, Streams, run_launch, run_process
from clawft.sandbox.view import View, Viewer
from clawft.sandbox.wrapped import Wrapped
from clawft.workspace import Workspace

__all__ = ["Ask", "Sandbox", "Status"]

Ask = Callable[[str], Awaitable[bool]]  # may it run without a sandbox, since there is none for this reason?
_PROBE_S = 10


class Status(Struct, frozen=True):
    """Which sandbox commands run in, and why it is no better one."""

    kind: Literal["bubblewrap", "landlock", "off", "none"]
    reason: str = ""


class Sandbox:
    """Runs programs confined. Made once, for the settings and the workspace; `environ` tells where programs are."""

    def __init__(self, settings: SandboxSettings, workspace: Workspace, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self.limits = limits_of(settings)
        self._environ = environ
        self._home = workspace.home
        self._viewer = Viewer(settings, workspace)
        self._status: Status | None = None
        self._lock = Lock()
        self._bwrap = ""
        self._base: list[str] = []

    def status(self) -> Status:
        """Which sandbox there is; probed the first time, which takes a moment."""
        with self._lock:
            if self._status is None:
                self._status = self._probe()
            return self._status

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
    ) -> Finished:
        """Run words, or a line with the POSIX shell, confined; whatever it started ends with it.

        Where there is no sandbox, `ask` is told why, and a person may say yes to running it without one.

        Raises: Refused; OSError if it cannot be started.
        """
        status = self._status if self._status else await to_thread.run_sync(self.status)
        words = ("/bin/sh", "-c", command) if isinstance(command, str) else tuple(command)
        if status.kind in ("off", "none"):
            if status.kind == "none":
                await self._ask_without(status.reason, ask)
            return await run_process(words, cwd=cwd, env=env, timeout_s=timeout_s, max_bytes=max_bytes, streams=streams)
        with self._wrap(words, cwd, env, confinement) as wrapped:
            finished = await run_launch(wrapped.launch, timeout_s=timeout_s, max_bytes=max_bytes, streams=streams)
            return wrapped.finish(finished)

    @asynccontextmanager
    async def prepare(
        self, words: Sequence[str], *, cwd: str, env: Mapping[str, str], confinement: Confinement
    ) -> AsyncIterator[Launch]:
        """A program that the caller starts and speaks with, for as long as it likes: it runs `attend` beside it, and
        `settle` after it. Nobody is asked: where there is no sandbox, it is not to be started.

        Raises: Refused.
        """
        status = self._status if self._status else await to_thread.run_sync(self.status)
        if status.kind == "off":
            yield Launch(tuple(words), cwd, env)
            return
        if status.kind == "none":
            await self._ask_without(status.reason, None)
        with self._wrap(tuple(words), cwd, env, confinement) as wrapped:
            yield wrapped.launch

    @contextmanager
    def _wrap(
        self, words: tuple[str, ...], cwd: str, env: Mapping[str, str], confinement: Confinement
    ) -> Iterator[Wrapped]:
        view = self._viewer.view(confinement, env.get("PATH", os.defpath))
        places = Placeholders(path for _, guard in view.writable for path in guard.missing)
        try:
            held = _keep_held(view, places)
            flags = [*self._base, *view_flags(held, {**env, "TMPDIR": "/tmp"}, cwd)]
            with Wrapped(self._bwrap, flags, words, confinement.limits or self.limits) as wrapped:
                yield wrapped
        finally:
            places.release()

    async def _ask_without(self, reason: str, ask: Ask | None) -> None:
        if self.settings.if_unavailable == "refuse" or ask is None or not await ask(reason):
            message = f"There is no sandbox to run commands in: {reason}"
            raise Refused("sandbox-unavailable", message, hint="Run: weft doctor")

    def _probe(self) -> Status:
        mode = self.settings.mode
        if mode == "off":
            return Status("off", "it is turned off by sandbox.mode")
        reason = self._probe_bubblewrap()
        return Status("none", reason) if reason else Status("bubblewrap")

    def _probe_bubblewrap(self) -> str:
        """Why bubblewrap does not work here; '' if it does."""
        self._bwrap = shutil.which("bwrap", path=self._environ.get("PATH", os.defpath)) or ""
        if not self._bwrap:
            return "bubblewrap is not installed"
        said = ""
        for nested in (False, True):
            self._base = base_flags(self._home, self.limits, nested=nested)
            try:
                words = (self._bwrap, *self._base, "/bin/sh", "-c", ":")
                done = subprocess.run(words, env={}, capture_output=True, timeout=_PROBE_S, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                return f"bubblewrap does not start: {error}"
            if done.returncode == 0:
                return ""
            said = done.stderr.decode("utf-8", "replace").strip() or f"it ended with {done.returncode}"
        return f"bubblewrap does not work: {said[-300:]}"


def _keep_held(view: View, places: Placeholders) -> View:
    """The view with only those placeholders that could be made."""
    held = set(places.paths)
    writable = tuple(
        (root, structs.replace(guard, missing=tuple(path for path in guard.missing if path in held)))
        for root, guard in view.writable
    )
    return structs.replace(view, writable=writable)
