"""The life of a plugin's process: load it, do what the host orders, and end with the host.

Three threads. One reads orders, and answers a ping whatever the plugin is at. The main one has the event loop, where
`async def` methods run. Plain methods run in the third, one after the other, so that they always see the same thread
and hold up nobody else.
"""

import asyncio
import os
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any

from clawft.contracts import ChannelError, PluginError, Unsupported
from clawft.plugins.guest.confining import give_up, limit_memory
from clawft.plugins.guest.doing import Doing
from clawft.plugins.guest.host import GuestHost
from clawft.plugins.guest.loading import Parts, load_class
from clawft.plugins.guest.pipes import Pipes
from clawft.plugins.guest.refusals import Refusals
from clawft.plugins.guest.wire import Answer, Ask, Error, Order, Start

__all__ = ["serve"]

_MAX_TASKS = 256  # that a plugin may have at once
_MAX_ASKING = 32  # deliveries that wait for the host at once
_MAX_SAID = 2000
_FAILURES = ("plugin-parts", "plugin-result")  # of its code, which are no answers
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def serve() -> None:
    """Do as the host says until it is gone."""
    pipes = Pipes()
    asyncio.run(_Guest(pipes).live())
    sys.stderr.flush()
    os._exit(0)  # whatever threads it left


class _Guest:
    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="plugin")
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._asking = asyncio.Semaphore(_MAX_ASKING)
        self._numbers = 0
        self._plugin: Any = None
        self._doing: Doing | None = None
        self._refusals: Refusals | None = None
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
            self._pipes.write(Answer(first.id, error=Error("failed", str(error), "plugin-start")))
            return
        self._take(first)
        reader = threading.Thread(target=self._read, args=(orders, loop), name="orders", daemon=True)
        reader.start()
        await self._over.wait()

    def _read(self, orders: Any, loop: asyncio.AbstractEventLoop) -> None:
        """Runs in a thread of its own."""
        for order in orders:
            if order.do == "ping":
                self._pipes.write(Answer(order.id))
            else:
                loop.call_soon_threadsafe(self._take, order)
        os._exit(0)  # the host is gone

    def _take(self, order: Order) -> None:
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
        """What was cancelled before it began has given no answer yet."""
        self._own.discard(task)
        if self._tasks.pop(number, None) is not None:
            self._pipes.write(Answer(number, error=Error("cancelled", "It was cancelled")))

    async def _perform(self, order: Order) -> None:
        try:
            self._pipes.write(Answer(order.id, await self._do(order)))
        except asyncio.CancelledError:
            self._pipes.write(Answer(order.id, error=Error("cancelled", "It was cancelled")))
        except BaseException as error:  # also one that means to end the process: it fails this one call
            explain = self._refusals.explain if self._refusals else lambda _: ""
            step = self._step if order.do in ("start", "shutdown") else ""
            self._pipes.write(Answer(order.id, error=_tell(error, step, explain)))
        del self._tasks[order.id]
        if order.do == "shutdown":
            self._over.set()

    async def _do(self, order: Order) -> Any:
        if order.do == "start":
            return await self._start(order.given)
        if order.do == "shutdown":
            return await self._shut_down()
        if self._doing is None:
            raise PluginError("It was not started")
        done = await self._doing.do(order.what, order.given)
        if len(asyncio.all_tasks()) - len(self._own) > _MAX_TASKS:
            raise _Leaks(f"It has more than {_MAX_TASKS} tasks that nobody waits for")
        return done

    async def _start(self, given: Any) -> None:
        from msgspec import convert

        start = convert(given, Start)
        self._refusals = Refusals(start, self._pipes.write)
        self._refusals.watch()
        self._step = " while it was loaded"
        kind = await self.run(load_class, start)
        self._plugin = await self.run(kind)
        self._step = " in init"
        await self.run(self._plugin.init, GuestHost(start, self._refusals.tell))
        self._step = " in parts"
        parts = Parts(await self.run(lambda: list(self._plugin.parts())), start.declared)
        self._doing = Doing(self._plugin, parts, start.config, self.run, self._ask)

    async def run(self, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Call a method of the plugin where it belongs. Raises: whatever it raises."""
        if _is_async(method):
            return await method(*given, **named)
        call = partial(method, *given, **named)
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
        tasks = [one.get_name() for one in asyncio.all_tasks() - self._own]
        ours = {"MainThread", "orders"}
        threads = [one.name for one in threading.enumerate() if one.name not in ours and one.name[:7] != "plugin_"]
        return {"tasks": [name[:80] for name in tasks[:20]], "threads": [name[:80] for name in threads[:20]]}

    async def _ask(self, what: Any, channel: str, given: Any) -> Any:
        """Have the host do something. Raises: ChannelError."""
        async with self._asking:
            self._numbers += 1
            number = self._numbers
            waiting = self._asked[number] = asyncio.get_running_loop().create_future()
            try:
                self._pipes.write(Ask(number, what, channel, given))
                return await waiting
            except ValueError as error:
                raise Unsupported(f"It cannot be handed in: {error}", code="channel-message") from error
            finally:
                del self._asked[number]

    def _hear(self, order: Order) -> None:
        waiting = self._asked.get(order.id)
        if waiting is None or waiting.done():
            return
        if order.error is None:
            waiting.set_result(order.given)
        else:
            kind = Unsupported if order.error.kind == "unsupported" else ChannelError
            waiting.set_exception(kind(order.error.message, code=order.error.code, hint=order.error.hint))


class _Leaks(Exception):
    """It lets tasks run that nobody waits for."""


def _confine(order: Order) -> None:
    """The first order says what the kernel is to refuse from now on. Raises: OSError."""
    if order.given.get("data_bytes"):
        limit_memory(order.given["data_bytes"])
    if order.given.get("filter"):
        give_up(bytes.fromhex(order.given["filter"]))


def _is_async(method: Any) -> bool:
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    return bool(code and code.co_flags & 0x80)  # CO_COROUTINE


def _attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """A future takes not every exception, so it is given none."""
    try:
        return call(), None
    except BaseException as error:
        return None, error


def _tell(error: BaseException, step: str, explain: Callable[[BaseException], str]) -> Error:
    """What the host is told of an exception; the rest stands in the log."""
    try:
        return _describe(error, step, explain)
    except Exception:  # it does not even tell what it is
        return Error("failed", f"It raised {type(error).__name__[:80]}{step}", "plugin-raised")


def _skip_own(trace: TracebackType | None) -> TracebackType | None:
    """A trace from where it enters the plugin; all of it, if it never does."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename.startswith(_HERE):
        inner = inner.tb_next
    return inner or trace


def _describe(error: BaseException, step: str, explain: Callable[[BaseException], str]) -> Error:
    if isinstance(error, PluginError) and error.code not in _FAILURES:
        kind = "unsupported" if isinstance(error, Unsupported) else "answer"
        kind = "channel" if isinstance(error, ChannelError) and kind == "answer" else kind
        return Error(kind, str(error)[:_MAX_SAID], error.code[:60], error.hint[:_MAX_SAID])  # type: ignore[arg-type]
    if isinstance(error, PluginError):
        return Error("failed", str(error)[:_MAX_SAID], error.code, error.hint[:_MAX_SAID])
    code = "plugin-leaks" if isinstance(error, _Leaks) else "plugin-raised"
    code = "plugin-memory" if isinstance(error, MemoryError) else code
    hint = explain(error)
    traceback.print_exception(type(error), error, _skip_own(error.__traceback__), limit=30)
    if hint:
        sys.stderr.write(f"{hint}\n")
    said = str(error) if isinstance(error, _Leaks) else f"It raised {type(error).__name__}{step}: {error}"
    return Error("failed", said[:_MAX_SAID], code, hint)
