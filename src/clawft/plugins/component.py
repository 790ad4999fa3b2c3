"""A plugin that is a WebAssembly component: its launch, its thread and its life in this process."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import anyio
import msgspec
from anyio import CancelScope
from anyio.lowlevel import current_token

from clawft.config.extensions import PluginsSettings
from clawft.contracts import ToolOutput
from clawft.errors import Refused
from clawft.plugins.component_host import ComponentFiles, ComponentWeb, HostFunctions
from clawft.plugins.launch import PluginLaunch
from clawft.plugins.runtime import Health, PluginEnvironment, PluginFailed, PluginLog, log_path, render_refusal
from clawft.sandbox.wasm import CompiledCache, StoreGuard, WasmError, import_wasmtime, load_wasm
from clawft.trust.run_copies import open_skill_copy

if TYPE_CHECKING:
    from clawft.plugins.component_instance import ComponentInstance, LinkedComponent


T = TypeVar("T")
_STACK_BYTES = 8 << 20  # a guest may take half a megabyte, and some systems give a thread less than that
_END_S = 5.0  # for the host to finish work for a caller that cancelled it


class Cancellable(Protocol):
    """A running call that can be cancelled."""

    cancelled: bool

    def cancel(self) -> None: ...


class JobCancelled(Exception):
    """Something was cancelled before it began."""


class _Job(Generic[T]):
    """One thing to do. It is over when `over` is set, in the loop that asked for it."""

    def __init__(self, work: Callable[[], T], call: Cancellable | None) -> None:
        self.work = work
        self.call = call
        self.loop = asyncio.get_running_loop()
        self.over = asyncio.Event()
        self.begun = False
        self.value: T | None = None
        self.error: BaseException | None = None

    def do(self) -> None:
        self.begun = (
            True  # set before the check for cancellation below: a cancelling caller does the two in the opposite order
        )
        try:
            if self.call is not None and self.call.cancelled:
                raise JobCancelled
            self.value = self.work()
        except BaseException as error:  # it is raised where it was asked for
            self.error = error
        with suppress(RuntimeError):  # the loop is gone, and nobody waits
            self.loop.call_soon_threadsafe(self.over.set)


class ComponentThread:
    """The thread. It ends with the process, if nobody ends it before."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        before = threading.stack_size(_STACK_BYTES)
        try:
            self._thread.start()
        finally:
            threading.stack_size(before)

    async def run(self, work: Callable[[], T], call: Cancellable | None = None) -> T:
        """Do something in the thread. Cancelling this cancels the call, and waits a while for its end."""
        job = _Job(work, call)
        self._jobs.put(job)
        try:
            await job.over.wait()
        except BaseException:
            if call is not None:
                call.cancel()
            if job.begun:
                with CancelScope(shield=True), anyio.move_on_after(_END_S):
                    await job.over.wait()
            raise
        if job.error is not None:
            raise job.error
        return cast(T, job.value)

    def put(self, work: Callable[[], None]) -> None:
        """Do something after all else that was asked for, for which nobody waits."""
        self._jobs.put(_Job(work, None))

    async def close(self, last: Callable[[], None]) -> None:
        """Do a last thing, and end. Who is busy for too long is left to end by itself."""
        with CancelScope(shield=True), anyio.move_on_after(_END_S):
            await self.run(last)
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.do()
            del job  # what it holds is not kept until the next comes


_MB = 1 << 20
_GRACE_S = 0.5
_MAX_DENIALS = 100  # lines of the audit log, of one plugin; each denial is logged once
_MAX_CONTENT = 4 << 20  # bytes of what a tool gives


class _Call:
    """One call, which may be cancelled at any time, even before it has a store."""

    def __init__(self, web: ComponentWeb | None) -> None:
        self.cancelled = False
        self._guard: StoreGuard | None = None
        self._web = web

    def use(self, guard: StoreGuard) -> None:
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
    """One component, from its start to its end: a `PluginInstance`."""

    def __init__(self, job: PluginLaunch, settings: PluginsSettings, around: PluginEnvironment) -> None:
        self.job = job
        self._settings = settings.wasm
        self._around = around
        self._log = PluginLog(log_path(around.workspace.user_dir, job.id), around.secrets.mask)
        self._worker: ComponentThread | None = None
        self._open = AsyncExitStack()
        self._linked: LinkedComponent | None = None
        self._instance: ComponentInstance | None = None
        self._functions: HostFunctions | None = None
        self._web: ComponentWeb | None = None
        self._calls: set[_Call] = set()
        self._denied: set[str] = set()

    @property
    def alive(self) -> bool:
        return self._linked is not None

    async def start(self) -> None:
        """Load, compile and check it, and have it get ready. Raises: ClawftError."""
        import_wasmtime()
        self._web = ComponentWeb(self.job.permissions.network, self._around.sandbox.web, self._record, current_token())
        self._worker = ComponentThread(f"plugin {self.job.id}")
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

    async def call(self, what: str, parameters: Mapping[str, Any]) -> Any:
        """Raises: PluginError; PluginFailed."""
        if what != "execute_tool":
            message = f"A plugin in WebAssembly does tools, and not '{what}'"
            raise PluginFailed(message, code="plugin-unsupported")
        arguments = msgspec.json.encode(parameters["arguments"]).decode()
        name = parameters["name"]
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
                with anyio.move_on_after(self.job.shutdown_s + _GRACE_S):  # a call may be under way before it
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
        except JobCancelled as error:
            raise PluginFailed("It was ended", code="plugin-ended") from error
        finally:
            self._calls.discard(call)

    # What follows runs in the thread.

    def _prepare(self, call: _Call, copy: str) -> None:
        from clawft.plugins.component_instance import LinkedComponent, check_world

        module = self.job.manifest.wasm_module
        assert module is not None
        path, shown = os.path.join(copy, module), os.path.join(self.job.folder, module)
        data = load_wasm(path, self._settings, shown)
        cache = CompiledCache(self._around.workspace.user_dir, self._around.audit.seal)
        component = cache.compile_component(data, shown)
        check_world(component, shown)
        os.makedirs(self.job.data_dir, mode=0o700, exist_ok=True)
        self._functions = self._make_functions(copy)
        self._linked = LinkedComponent(component, self._functions.by_name())
        try:
            self._instance = self._revive(call, self._linked, check=True)
        except BaseException:
            self._linked = None
            raise

    def _make_functions(self, copy: str) -> HostFunctions:
        assert self._web is not None
        files = ComponentFiles(self.job, copy, self._around.workspace)
        return HostFunctions(self.job, files, self._web, self._log, self._record)

    def _revive(self, call: _Call, linked: "LinkedComponent", *, check: bool = False) -> "ComponentInstance":
        """A fresh instance that is ready. Raises: PluginFailed."""
        from clawft.plugins.component_instance import ComponentLimits

        end = time.monotonic() + self.job.init_s
        limits = ComponentLimits(self._settings.fuel, self._settings.memory_mb * _MB)
        instance = linked.instantiate(limits, self.job.init_s)
        try:
            call.use(instance.guard)
            self._begin(instance)
            if check:
                self._check_info(instance.info(end - time.monotonic()))
            refusal = instance.init(end - time.monotonic())
            if refusal is not None:
                message = self._around.secrets.mask(refusal)[:2000]
                raise PluginFailed(f"It does not start: {message}", code="plugin-start")
        except BaseException:
            instance.close()
            raise
        return instance

    def _check_info(self, info: tuple[str, str, str]) -> None:
        id, _, version = info
        own = self.job.manifest
        if (id, version) != (own.id, own.version):
            message = f"It says that it is {id[:100]} {version[:40]}; its manifest says {own.id} {own.version}"
            raise PluginFailed(message, code="plugin-start", hint="Build it anew, or correct its manifest")

    def _begin(self, instance: "ComponentInstance") -> None:
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
            content, is_error = instance.execute_tool(name, arguments, self.job.call_s)
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
            self._instance.shutdown(self.job.shutdown_s)
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
            self._log.say(render_refusal(self.job.id, subject, rule))
        digest, detail = self.job.digest, {"plugin": self.job.id}
        self._around.audit.record(kind, subject, decision=decision, rule=rule, digest=digest, detail=detail)

    def _note_use(self, tool: str, *, is_error: bool) -> None:
        detail = {"plugin": self.job.id, "outcome": "error" if is_error else "success"}
        self._around.audit.tell("plugin", tool, decision="used", rule="granted", digest=self.job.digest, detail=detail)


def _read_content(content: str) -> str:
    """Return a tool's content as the model reads it: content is JSON by the interface, and a JSON string becomes its
    plain text."""
    if content.startswith('"'):
        try:
            return msgspec.json.decode(content, type=str)
        except msgspec.DecodeError:
            pass
    return content
