"""The process of a Python plugin: drop privileges, load the plugin, serve the host's requests and end with the host."""

import asyncio
import ctypes
import os
import resource
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import TextIOWrapper
from threading import Lock
from types import TracebackType
from typing import Any

import msgspec
from msgspec import convert

from clawft.contracts import ChannelError, PluginError, Unsupported
from clawft.plugins.guest.plugin import GuestHost, PartCalls, PluginParts, load_class
from clawft.plugins.guest.refusals import RefusalMonitor
from clawft.plugins.guest.wire import (
    MAX_LINE,
    GuestError,
    GuestRequest,
    GuestResponse,
    HostRequest,
    PluginStart,
    RefusalReport,
)

_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_CREATE_RULESET, _RESTRICT_SELF, _EXECUTE = 444, 446, 1  # of Landlock, the same on every machine


def drop_privileges(program: bytes) -> None:
    """Have the kernel refuse the calls of a filter, for this thread and all that it starts. Raises: OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    forward_only = libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    _stay_apart(libc)
    if not forward_only or libc.prctl(_SECCOMP, _FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "The kernel takes no filter of system calls")


def _stay_apart(libc: ctypes.CDLL) -> None:
    """Have the kernel keep it from the memory of others, such as the first process of the sandbox, through which it
    could start programs after all. Where there is no Landlock, the kernel's own rules about that hold."""
    rules = libc.syscall(_CREATE_RULESET, struct.pack("Q", _EXECUTE), 8, 0)
    if rules >= 0:
        libc.syscall(_RESTRICT_SELF, rules, 0)
        os.close(rules)


def limit_memory(data_bytes: int) -> None:
    """Have the kernel refuse more memory than that, and leave no image of it on the disk."""
    for what, most in ((resource.RLIMIT_DATA, data_bytes), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (lower, lower))


_CHUNK = 64 * 1024


class HostPipes:
    """Takes the pipes away from the standard descriptors. Any thread may write."""

    def __init__(self) -> None:
        self._orders, self._answers = os.dup(0), os.dup(1)  # neither reaches a program that is started
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # its log has what it printed before it was ended
        self._lock = Lock()
        self._decoder = msgspec.json.Decoder(HostRequest)

    def read(self) -> Iterator[HostRequest]:
        """Yield the host's requests, until it closes the pipe."""
        rest = bytearray()
        while chunk := os.read(self._orders, _CHUNK):
            rest += chunk
            if b"\n" in chunk:
                *lines, left = rest.split(b"\n")
                rest = bytearray(left)
                yield from map(self._decoder.decode, lines)

    def write(self, what: GuestResponse | GuestRequest | RefusalReport) -> None:
        """Say something to the host; if it is too long, that instead."""
        try:
            line = msgspec.json.encode(what)
        except (TypeError, ValueError, RecursionError) as error:
            line = msgspec.json.encode(_refuse(what, f"It gave what is no JSON: {error}"))
        if len(line) >= MAX_LINE:
            line = msgspec.json.encode(_refuse(what, f"It gave {len(line)} bytes; the most is {MAX_LINE}"))
        left = memoryview(line + b"\n")
        with self._lock:
            while left:
                left = left[os.write(self._answers, left) :]


def _refuse(what: GuestResponse | GuestRequest | RefusalReport, message: str) -> GuestResponse:
    if not isinstance(what, GuestResponse):
        raise ValueError(message)
    return GuestResponse(what.id, error=GuestError("failed", message[:2000], "plugin-result"))


_MAX_TASKS = 256  # that a plugin may have at once
_MAX_ASKING = 32  # deliveries that wait for the host at once
_MAX_TEXT = 2000
_FAILURES = ("plugin-parts", "plugin-result")  # of its code, which are no answers
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def serve() -> None:
    """Do as the host says until it is gone."""
    pipes = HostPipes()
    asyncio.run(_Guest(pipes).live())
    sys.stderr.flush()
    os._exit(0)  # whatever threads it left


class _Guest:
    def __init__(self, pipes: HostPipes) -> None:
        self._pipes = pipes
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="plugin")
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._asking = asyncio.Semaphore(_MAX_ASKING)
        self._numbers = 0
        self._plugin: Any = None
        self._doing: PartCalls | None = None
        self._refusals: RefusalMonitor | None = None
        self._over = asyncio.Event()
        self._own: set[asyncio.Task[Any]] = set()
        self._step = ""  # of starting and ending: where it is

    async def live(self) -> None:
        loop = asyncio.get_running_loop()
        self._own.update(asyncio.all_tasks())
        orders = self._pipes.read()
        first = next(orders, None)
        if first is None:  # the host is gone already
            return
        try:
            _confine(first)
        except OSError as error:
            self._pipes.write(GuestResponse(first.id, error=GuestError("failed", str(error), "plugin-start")))
            return
        self._take(first)
        reader = threading.Thread(target=self._read, args=(orders, loop), name="orders", daemon=True)
        reader.start()
        await self._over.wait()

    def _read(self, orders: Any, loop: asyncio.AbstractEventLoop) -> None:
        """Runs in a thread of its own."""
        for order in orders:
            if order.do == "ping":
                self._pipes.write(GuestResponse(order.id))
            else:
                loop.call_soon_threadsafe(self._take, order)
        os._exit(0)  # the host is gone

    def _take(self, order: HostRequest) -> None:
        if order.do == "cancel":
            task = self._tasks.get(order.id)
            if task is not None:
                task.cancel()
        elif order.do == "answer":
            self._hear(order)
        else:
            self._tasks[order.id] = task = asyncio.get_running_loop().create_task(self._perform(order))
            self._own.add(task)
            task.add_done_callback(partial(self._settle, order.id))

    def _settle(self, number: int, task: asyncio.Task[None]) -> None:
        """Answer for a task that was cancelled before it began."""
        self._own.discard(task)
        if self._tasks.pop(number, None) is not None:
            self._pipes.write(GuestResponse(number, error=GuestError("cancelled", "It was cancelled")))

    async def _perform(self, order: HostRequest) -> None:
        try:
            self._pipes.write(GuestResponse(order.id, await self._do(order)))
        except asyncio.CancelledError:
            self._pipes.write(GuestResponse(order.id, error=GuestError("cancelled", "It was cancelled")))
        except BaseException as error:  # also one that means to end the process: it fails this one call
            explain = self._refusals.explain if self._refusals else lambda _: ""
            step = self._step if order.do in ("start", "shutdown") else ""
            self._pipes.write(GuestResponse(order.id, error=_tell(error, step, explain)))
        del self._tasks[order.id]
        if order.do == "shutdown":
            self._over.set()

    async def _do(self, order: HostRequest) -> Any:
        if order.do == "start":
            return await self._start(order.arguments)
        if order.do == "shutdown":
            return await self._shut_down()
        if self._doing is None:
            raise PluginError("It was not started")
        done = await self._doing.do(order.what, order.arguments)
        if len(asyncio.all_tasks()) - len(self._own) > _MAX_TASKS:
            raise _Leaks(f"It has more than {_MAX_TASKS} tasks that nobody waits for")
        return done

    async def _start(self, parameters: Any) -> None:

        start = convert(parameters, PluginStart)
        self._refusals = RefusalMonitor(start, self._pipes.write)
        self._refusals.watch()
        self._step = " while it was loaded"
        kind = await self.run(load_class, start)
        self._plugin = await self.run(kind)
        self._step = " in init"
        await self.run(self._plugin.init, GuestHost(start, self._refusals.tell))
        self._step = " in parts"
        parts = PluginParts(await self.run(lambda: list(self._plugin.parts())), start.declared)
        self._doing = PartCalls(self._plugin, parts, start.config, self.run, self._ask)

    async def run(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call a method of the plugin where it belongs. Raises: whatever it raises."""
        if _is_async(method):
            return await method(*arguments, **named)
        call = partial(method, *arguments, **named)
        doing = asyncio.get_running_loop().run_in_executor(self._worker, _attempt, call)
        try:
            result, error = await asyncio.shield(doing)
        except asyncio.CancelledError:
            await asyncio.wait([doing])  # a thread cannot be interrupted; if it takes too long, the host ends us
            raise
        if error is not None:
            raise error
        return await result if hasattr(result, "__await__") else result

    async def _shut_down(self) -> dict[str, list[str]]:
        """Let it close what it opened; what it leaves behind."""
        if self._doing is not None:
            await self._doing.stop_channels()
        if self._plugin is not None:
            self._step = " in shutdown"
            await self.run(self._plugin.shutdown)
        tasks = [task.get_name() for task in asyncio.all_tasks() - self._own]
        ours = {"MainThread", "orders"}
        threads = [
            thread.name for thread in threading.enumerate() if thread.name not in ours and thread.name[:7] != "plugin_"
        ]
        return {"tasks": [name[:80] for name in tasks[:20]], "threads": [name[:80] for name in threads[:20]]}

    async def _ask(self, what: Any, channel: str, parameters: Any) -> Any:
        """Have the host do something. Raises: ChannelError."""
        async with self._asking:
            self._numbers += 1
            number = self._numbers
            waiting = self._asked[number] = asyncio.get_running_loop().create_future()
            try:
                self._pipes.write(GuestRequest(number, what, channel, parameters))
                return await waiting
            except ValueError as error:
                raise Unsupported(f"It cannot be handed in: {error}", code="channel-message") from error
            finally:
                del self._asked[number]

    def _hear(self, order: HostRequest) -> None:
        waiting = self._asked.get(order.id)
        if waiting is None or waiting.done():
            return
        if order.error is None:
            waiting.set_result(order.arguments)
        else:
            kind = Unsupported if order.error.kind == "unsupported" else ChannelError
            waiting.set_exception(kind(order.error.message, code=order.error.code, hint=order.error.hint))


class _Leaks(Exception):
    """It lets tasks run that nobody waits for."""


def _confine(order: HostRequest) -> None:
    """The first order says what the kernel is to refuse from now on. Raises: OSError."""
    if order.arguments.get("data_bytes"):
        limit_memory(order.arguments["data_bytes"])
    if order.arguments.get("filter"):
        drop_privileges(bytes.fromhex(order.arguments["filter"]))


def _is_async(method: Any) -> bool:
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return bool(code and code.co_flags & 0x80)  # CO_COROUTINE


def _attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """A future takes not every exception, so it is given none."""
    try:
        return call(), None
    except BaseException as error:
        return None, error


def _tell(error: BaseException, step: str, explain: Callable[[BaseException], str]) -> GuestError:
    """Build the error for the host from an exception; the rest is in the log."""
    try:
        return _describe(error, step, explain)
    except Exception:  # it does not even tell what it is
        return GuestError("failed", f"It raised {type(error).__name__[:80]}{step}", "plugin-raised")


def _skip_own(trace: TracebackType | None) -> TracebackType | None:
    """A trace from where it enters the plugin; all of it, if it never does."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename.startswith(_HERE):
        inner = inner.tb_next
    return inner or trace


def _describe(error: BaseException, step: str, explain: Callable[[BaseException], str]) -> GuestError:
    if isinstance(error, PluginError) and error.code not in _FAILURES:
        kind = "unsupported" if isinstance(error, Unsupported) else "answer"
        kind = "channel" if isinstance(error, ChannelError) and kind == "answer" else kind
        return GuestError(kind, str(error)[:_MAX_TEXT], error.code[:60], error.hint[:_MAX_TEXT])  # type: ignore[arg-type]
    if isinstance(error, PluginError):
        return GuestError("failed", str(error)[:_MAX_TEXT], error.code, error.hint[:_MAX_TEXT])
    code = "plugin-leaks" if isinstance(error, _Leaks) else "plugin-raised"
    code = "plugin-memory" if isinstance(error, MemoryError) else code
    hint = explain(error)
    traceback.print_exception(type(error), error, _skip_own(error.__traceback__), limit=30)
    if hint:
        sys.stderr.write(f"{hint}\n")
    message = str(error) if isinstance(error, _Leaks) else f"It raised {type(error).__name__}{step}: {error}"
    return GuestError("failed", message[:_MAX_TEXT], code, hint)
