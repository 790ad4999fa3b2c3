"""The events of runs on their way to the database: all of a worker in one batch, and each event once however often its
run is begun again."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import anyio
import msgspec
from anyio import to_thread

from clawft.errors import ClawftError
from clawft.messages import Event, TextDelta
from clawft.run.durable.store import EventRow, RunStore

__all__ = ["Scribe", "Sink"]

_PAGE = 1000
_EVERY_S = 0.25
# What tells one event from another; times and counts may differ when a turn is run again.
_TELLING = ("turn", "call", "tool", "child", "name", "code", "message", "model")
_EVENT = msgspec.json.Decoder(dict[str, Any])


class Sink:
    """Takes the events of one attempt. What an earlier attempt wrote down already is not written again."""

    def __init__(self, store: RunStore, run: str) -> None:
        self._store = store
        self._run = run
        self._next = 1
        self._pending: list[tuple[str, Event]] = []
        self._known: Counter[tuple[object, ...]] = Counter()
        self._texts: Counter[str] = Counter()  # characters of answers that are there, by step
        self.step: Callable[[], str] = str  # the step that is being done
        self.served: Callable[[], str] = str  # the step whose answer is from before

    async def open(self) -> None:
        """Read what earlier attempts wrote. Raises: ClawftError."""
        while page := await to_thread.run_sync(self._store.events, self._run, self._next - 1, _PAGE):
            for number, step, text in page:
                event = _decode(text)
                if event.get("event") == "TextDelta":
                    self._texts[step] += len(event.get("text", ""))
                else:
                    self._known[_identify(event)] += 1
                self._next = number + 1

    def put(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, TextDelta):
            self._put_text(event)
            return
        known = _identify(msgspec.to_builtins(event))
        if self._known[known]:
            self._known[known] -= 1
        else:
            self._pending.append((self.step(), event))

    def _put_text(self, event: TextDelta) -> None:
        served = self.served()
        text = event.text[self._texts[served] :] if served else event.text  # of an answer from before, what is missing
        if not text:
            return
        step = served or self.step()
        last = self._pending[-1] if self._pending else None
        if last and last[0] == step and isinstance(last[1], TextDelta):
            self._pending[-1] = (step, msgspec.structs.replace(last[1], text=last[1].text + text))
        else:
            self._pending.append((step, msgspec.structs.replace(event, text=text)))

    def take(self) -> list[EventRow]:
        """What is to be written now."""
        rows = [
            EventRow(self._run, self._next + at, step, _encode(one)) for at, (step, one) in enumerate(self._pending)
        ]
        self._next += len(rows)
        self._pending = []
        return rows


class Source(Protocol):
    """An attempt, for whoever writes down what becomes of it."""

    def take_events(self) -> list[EventRow]: ...

    def take_progress(self) -> dict[str, Any] | None: ...


class Scribe:
    """Writes down what the attempts of a worker tell: every so often all of it, in one transaction."""

    def __init__(self, store: RunStore, worker: str, warn: Callable[[ClawftError], None]) -> None:
        self._store = store
        self._worker = worker
        self._warn = warn
        self._sources: dict[int, Source] = {}
        self._writing = anyio.Lock()
        self._events: list[EventRow] = []  # that could not be written yet
        self._progress: list[dict[str, Any]] = []

    def follow(self, source: Source) -> None:
        self._sources[id(source)] = source

    def leave(self, source: Source) -> None:
        self._sources.pop(id(source), None)

    async def run(self) -> None:
        """Write for ever; a database that is away is tried again at the next turn."""
        while True:
            await anyio.sleep(_EVERY_S)
            try:
                await self.flush()
            except ClawftError as error:
                self._warn(error)

    async def flush(self) -> None:
        """Write down what came. Raises: ClawftError, and then nothing is lost."""
        async with self._writing:
            for source in tuple(self._sources.values()):
                self._events += source.take_events()
                progress = source.take_progress()
                self._progress += [progress] if progress else []
            if not self._events and not self._progress:
                return
            events, progress_rows = tuple(self._events), tuple(self._progress)
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._store.write, events, progress_rows, self._worker)
            self._events, self._progress = [], []


def _encode(event: Event) -> str:
    try:
        return msgspec.json.encode(event).decode()
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):  # one that cannot be told must not stop others
        plain = {"event": type(event).__name__, "at": event.at, "session": event.session}
        return msgspec.json.encode(plain).decode()


def _decode(text: str) -> dict[str, Any]:
    """An event as it was written down; nothing of one that cannot be read."""
    try:
        event: dict[str, Any] = _EVENT.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return event


def _identify(event: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(event.get(name)) for name in ("event", "session", *_TELLING))
