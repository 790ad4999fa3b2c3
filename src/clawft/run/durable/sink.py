"""The events of a run on their way to the database: in batches, and each once however often the run is begun again."""

from collections import Counter
from collections.abc import Callable

import anyio
import msgspec
from anyio import to_thread

from clawft.messages import Event, TextDelta
from clawft.run.durable.store import RunStore

__all__ = ["Sink"]

_PAGE = 1000
# What tells one event from another; times and counts may differ when a turn is run again.
_TELLING = ("turn", "call", "tool", "child", "name", "code", "message", "model")
_EVENT = msgspec.json.Decoder(dict[str, object])


class Sink:
    """Takes the events of one attempt. What an earlier attempt wrote down already is not written again."""

    def __init__(self, store: RunStore, run: str) -> None:
        self._store = store
        self._run = run
        self._next = 1
        self._pending: list[tuple[str, Event]] = []
        self._known: Counter[tuple[object, ...]] = Counter()
        self._flushing = anyio.Lock()
        self.step: Callable[[], str] = str  # the step that is being done
        self.is_served: Callable[[], bool] = bool  # whether its result is from before

    async def open(self) -> None:
        """Read what earlier attempts wrote. Raises: ClawftError."""
        while page := await to_thread.run_sync(self._store.events, self._run, self._next - 1, _PAGE):
            for number, _, text in page:
                self._known[_identify(_EVENT.decode(text))] += 1
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
        if self.is_served():  # an answer is recorded only after all of its text is here
            return
        last = self._pending[-1][1] if self._pending else None
        if isinstance(last, TextDelta) and last.session == event.session:
            whole = msgspec.structs.replace(last, text=last.text + event.text)
            self._pending[-1] = (self._pending[-1][0], whole)
        else:
            self._pending.append((self.step(), event))

    @property
    def has_text(self) -> bool:
        """Whether text of an answer is not in the database yet."""
        return any(isinstance(event, TextDelta) for _, event in self._pending)

    async def flush(self) -> None:
        """Write down what came. Raises: ClawftError, and then nothing is lost."""
        async with self._flushing:
            pending, self._pending = self._pending, []
            if not pending:
                return
            rows = [(step, msgspec.json.encode(event).decode()) for step, event in pending]
            try:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(self._store.append, self._run, self._next, rows)
            except BaseException:
                self._pending = [*pending, *self._pending]
                raise
            self._next += len(rows)


def _identify(event: dict[str, object]) -> tuple[object, ...]:
    return (event.get("event"), event.get("session"), *(event.get(name) for name in _TELLING))
