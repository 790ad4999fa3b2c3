"""Tool calls of the wire `openai`, which come in pieces: put together by index, by id, or as best as can be."""

from typing import Any

import msgspec

from clawft.messages import ToolCall
from clawft.providers.request import ProviderError
from clawft.providers.wire import as_dict, is_json, parse_call

__all__ = ["CallMerger"]

_MAX_CALLS = 128


class _Slot:
    """One call while it grows."""

    def __init__(self, index: object, call_id: str) -> None:
        self.index = index
        self.id = call_id
        self.name = ""
        self.written: list[str] = []

    @property
    def is_whole(self) -> bool:
        return is_json("".join(self.written))


class CallMerger:
    """Collects the pieces of parallel calls.

    Servers differ: some leave out `index` or `id`, some repeat the id or the name in each piece, some send a
    whole call at once, and some give every call of an answer the index 0.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def add(self, pieces: object) -> None:
        """Take the `tool_calls` of one delta. Raises: ProviderError."""
        for piece in pieces if isinstance(pieces, list) else ():
            self._add_piece(as_dict(piece))

    def finish(self) -> tuple[ToolCall, ...]:
        """Every call that has a name, each with an id of its own."""
        calls: list[ToolCall] = []
        seen: set[str] = set()
        for slot in self._slots:
            call = parse_call("" if slot.id in seen else slot.id, slot.name, "".join(slot.written))
            seen.add(call.id)
            if slot.name:
                calls.append(call)
        return tuple(calls)

    def _add_piece(self, piece: dict[str, Any]) -> None:
        function = as_dict(piece.get("function"))
        name, call_id = _string(function.get("name")), _string(piece.get("id"))
        slot = self._find(piece.get("index"), call_id, name)
        if slot is None:
            if len(self._slots) >= _MAX_CALLS:
                raise ProviderError("provider-bad-answer", f"The answer holds over {_MAX_CALLS} tool calls")
            slot = _Slot(piece.get("index"), call_id)
            self._slots.append(slot)
        slot.id = slot.id or call_id
        if name != slot.name:
            slot.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = msgspec.json.encode(arguments).decode()
        slot.written.append(_string(arguments))

    def _find(self, index: object, call_id: str, name: str) -> _Slot | None:
        """The call that a piece goes on with; None where it opens one."""
        if isinstance(index, int):
            same = next((slot for slot in reversed(self._slots) if slot.index == index), None)
            is_other = same and call_id and same.id and call_id != same.id and name
            return None if is_other else same
        if call_id:
            return next((slot for slot in self._slots if slot.id == call_id), None)
        last = self._slots[-1] if self._slots else None
        return None if last and name and last.is_whole else last


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
