"""A plugin that is a WebAssembly component, at work in this process (R129, R139).

It is called in threads, one call at a time, each within its instructions, its time and its memory. A call that is
cancelled ends. After a trap the next call finds a fresh instance: what the old one knew is lost, and it gets ready
anew.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import msgspec
from anyio import CancelScope
from anyio.lowlevel import current_token

from clawft.config.plugins import PluginsSettings
from clawft.contracts import ToolOutput
from clawft.errors import Refused
from clawft.plugins.log import PluginLog, log_path
from clawft.plugins.refusals import describe_refusal
from clawft.plugins.running import Around, Health, PluginFailed
from clawft.plugins.wasm.files import Files, Roots
from clawft.plugins.wasm.host import Given, HostFunctions
from clawft.plugins.wasm.job import WasmJob
from clawft.plugins.wasm.web import Web
from clawft.plugins.wasm.worker import Unwanted, Worker
from clawft.sandbox.wasm import CompiledCache, Guard, WasmError, import_wasmtime, load_wasm
from clawft.trust.copies import open_skill_copy

if TYPE_CHECKING:
    from clawft.plugins.wasm.instance import Instance, Linked

__all__ = ["Component"]

T = TypeVar("T")
_MB = 1 << 20
_GRACE_S = 0.5
_MAX_DENIALS = 100  # lines of the audit log, of one plugin; each thing is told once
_MAX_CONTENT = 4 << 20  # bytes of what a tool gives


class _Call:
    """One call, which may be cancelled at any time, even before it has a store."""

    def __init__(self, web: Web | None) -> None:
        self.cancelled = False
        self._guard: Guard | None = None
        self._web = web

    def use(self, guard: Guard) -> None:
        self._guard = guard
        if self.cancelled:
            guard.stop()

    def cancel(self) -> None:
        self.cancelled = True
        if self._guard is not None:
            self._guard.stop()
        if self._web is not None:
            self._web.cancel()


class Component:
    """One component, from its start to its end: a `Running`."""

    def __init__(self, job: WasmJob, settings: PluginsSettings, around: Around) -> None:
        self.job = job
        self._settings = settings.wasm
        self._around = around
        self._log = PluginLog(log_path(around.workspace.user_dir, job.id), around.secrets.mask)
        self._worker: Worker | None = None
        self._open = AsyncExitStack()
        self._linked: Linked | None = None
        self._instance: Instance | None = None
        self._functions: HostFunctions | None = None
        self._web: Web | None = None
        self._calls: set[_Call] = set()
        self._denied: set[str] = set()

    @property
    def alive(self) -> bool:
        return self._linked is not None

    async def start(self) -> None:
        """Load, compile and check it, and have it get ready. Raises: ClawftError."""
        import_wasmtime()
        self._web = Web(self.job.hosts, self._around.sandbox.web, self._record, current_token())
        self._worker = Worker(f"plugin {self.job.id}")
        try:
            await self._in_thread(self._prepare, await self._copy())
        except WasmError as error:
            await self._end()
            raise self._fail(error) from error
        except OSError as error:
            await self._end()
            raise PluginFailed(f"It cannot be started: {error}", code="plugin-start") from error
        except BaseException:
            await self._end()
            raise

    async def _copy(self) -> str:
        """Its folder as it was granted. Raises: Refused if it is that no longer."""
        job = self.job
        try:
            copying = open_skill_copy(self._around.workspace.user_dir, job.folder, job.digest)
            return await self._open.enter_async_context(copying)
        except Refused as error:
            if error.code != "skill-changed":
                raise
            hint = f"Look at it, then: weft plugins enable {job.id}"
            message = "It changed since it was granted"
            raise Refused("plugin-changed", message, path=job.folder, hint=hint) from error

    async def call(self, what: str, given: Mapping[str, Any]) -> Any:
        """Raises: PluginError; PluginFailed."""
        if what != "execute_tool":
            message = f"A plugin in WebAssembly does tools, and not '{what}'"
            raise PluginFailed(message, code="plugin-unsupported")
        arguments = msgspec.json.encode(given["arguments"]).decode()
        name = given["name"]
        content, is_error = await self._in_thread(self._execute, name, arguments)
        if self._worker is not None:  # written before the next call, and nobody has to wait for it
            self._worker.put(lambda: self._note_use(name, is_error=is_error))
        return ToolOutput(_read_content(content), is_error)

    async def health(self) -> Health:
        return "healthy" if self.alive else "stopped"

    async def close(self) -> None:
        """Raises: PluginFailed, once it has ended."""
        try:
            if self.alive:
                with anyio.move_on_after(self.job.times.shutdown_s + _GRACE_S):  # a call may be under way before it
                    await self._in_thread(self._shut_down)
        finally:
            await self._end()

    async def _end(self) -> None:
        with CancelScope(shield=True):
            self._linked = None
            for call in self._calls:
                call.cancel()
            worker, self._worker = self._worker, None
            if worker is not None:
                await worker.close(self._drop)
            self._log.close()
            await self._open.aclose()

    async def _in_thread(self, work: Callable[..., T], *args: Any) -> T:
        """Do something with the guest, beside the loop. Cancelling this ends the guest, and waits for that."""
        if self._worker is None:
            raise PluginFailed("It was ended", code="plugin-ended")
        call = _Call(self._web)
        self._calls.add(call)
        try:
            return await self._worker.run(lambda: work(call, *args), call)
        except Unwanted as error:
            raise PluginFailed("It was ended", code="plugin-ended") from error
        finally:
            self._calls.discard(call)

    # What follows runs in the thread.

    def _prepare(self, call: _Call, copy: str) -> None:
        from clawft.plugins.wasm.instance import Linked
        from clawft.plugins.wasm.world import check_world

        path = os.path.join(copy, self.job.module)
        shown = os.path.join(self.job.folder, self.job.module)
        data = load_wasm(path, self._settings, shown)
        cache = CompiledCache(self._around.workspace.user_dir, self._around.audit.seal)
        component = cache.compile_component(data, shown)
        check_world(component, shown)
        os.makedirs(self.job.data_dir, mode=0o700, exist_ok=True)
        self._functions = self._make_functions(copy)
        self._linked = Linked(component, self._functions.by_name())
        try:
            self._instance = self._revive(call, self._linked, check=True)
        except BaseException:
            self._linked = None
            raise

    def _make_functions(self, copy: str) -> HostFunctions:
        job, workspace = self.job, self._around.workspace
        data_dir, own = os.path.realpath(job.data_dir), os.path.realpath(copy)
        roots = Roots(data_dir, own, job.readable, job.writable, workspace.project, workspace.home)
        given = Given(job.config, job.env, job.granted_env)
        assert self._web is not None
        return HostFunctions(given, Files(roots), self._web, self._log, self._record)

    def _revive(self, call: _Call, linked: "Linked", *, check: bool = False) -> "Instance":
        """A fresh instance that is ready. Raises: PluginFailed."""
        from clawft.plugins.wasm.instance import Limits

        end = time.monotonic() + self.job.times.init_s
        limits = Limits(self._settings.fuel, self._settings.memory_mb * _MB)
        instance = linked.instantiate(limits, self.job.times.init_s)
        try:
            call.use(instance.guard)
            self._begin(instance)
            if check:
                self._check_info(instance.info(end - time.monotonic()))
            refusal = instance.init(end - time.monotonic())
            if refusal is not None:
                said = self._around.secrets.mask(refusal)[:2000]
                raise PluginFailed(f"It does not start: {said}", code="plugin-start")
        except BaseException:
            instance.close()
            raise
        return instance

    def _check_info(self, info: tuple[str, str, str]) -> None:
        id, _, version = info
        if (id, version) != (self.job.id, self.job.version):
            message = (
                f"It says that it is {id[:100]} {version[:40]}; its manifest says {self.job.id} {self.job.version}"
            )
            raise PluginFailed(message, code="plugin-start", hint="Build it anew, or correct its manifest")

    def _begin(self, instance: "Instance") -> None:
        if self._functions is not None:
            self._functions.begin(lambda: instance.guard.left_s)

    def _execute(self, call: _Call, name: str, arguments: str) -> tuple[str, bool]:
        linked = self._linked
        if linked is None:
            raise PluginFailed("It was ended", code="plugin-ended")
        try:
            if self._instance is None:
                self._instance = self._revive(call, linked)
            instance = self._instance
            call.use(instance.guard)
            self._begin(instance)
            content, is_error = instance.execute_tool(name, arguments, self.job.times.call_s)
            if len(content) > _MAX_CONTENT:
                message = f"{name}: It gave {len(content)} characters; {_MAX_CONTENT} is the limit"
                raise PluginFailed(message, code="plugin-result")
            return content, is_error
        except WasmError as error:
            raise self._fail(error, name) from error
        finally:
            if call.cancelled or (self._instance is not None and not self._instance.alive):
                self._drop()

    def _shut_down(self, call: _Call) -> None:
        if self._instance is None:
            return
        try:
            call.use(self._instance.guard)
            self._begin(self._instance)
            self._instance.shutdown(self.job.times.shutdown_s)
        except WasmError as error:
            raise self._fail(error, "shutdown") from error

    def _fail(self, error: WasmError, name: str = "") -> PluginFailed:
        code = "plugin-timeout" if error.code == "wasm-timeout" else error.code
        return PluginFailed(f"{name}: {error}" if name else str(error), code=code, hint=error.hint)

    def _drop(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            instance.close()

    def _record(self, kind: str, subject: str, decision: str, rule: str) -> None:
        """Write down what was decided; a refusal once, and not for ever."""
        if decision == "deny":
            if subject in self._denied or len(self._denied) > _MAX_DENIALS:
                return
            if len(self._denied) == _MAX_DENIALS:
                subject, rule = "and more", f"after {_MAX_DENIALS} refusals no more are written down"
            self._denied.add(subject)
            self._log.say(describe_refusal(self.job.id, subject, rule))
        audit = self._around.audit
        write = audit.tell if decision == "deny" else audit.write
        write(kind, subject, decision=decision, rule=rule, digest=self.job.digest, detail={"plugin": self.job.id})

    def _note_use(self, tool: str, *, is_error: bool) -> None:
        detail = {"plugin": self.job.id, "outcome": "error" if is_error else "success"}
        self._around.audit.tell("plugin", tool, decision="used", rule="granted", digest=self.job.digest, detail=detail)


def _read_content(content: str) -> str:
    """What a model reads: the world says that it is JSON, and a text in JSON is that text."""
    if content.startswith('"'):
        try:
            return msgspec.json.decode(content, type=str)
        except msgspec.DecodeError:
            pass
    return content
