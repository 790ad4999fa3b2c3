"""What a stage of a plugin sees of a request before a model gets it, and what it may change: texts, and nothing else.

A stage is shown each text of a conversation once, and what it makes of it is kept: a long conversation costs no more
than its new messages, and what a provider caches of it stays the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from clawft.messages import Message, ToolCall
from clawft.providers.request import Request, ToolSpec

__all__ = ["Piece", "collect_batches", "join_request", "read_changes", "show_batch", "split_request"]

MAX_BATCH_BYTES = 512 * 1024  # of one call; a single text may be longer
MAX_BATCH = 200
MAX_GROWN = 100_000  # characters that a text may become longer by


class Piece(Struct, frozen=True):
    """One text of a request, as plain data. The same text has the same digest."""

    where: Literal["system", "tools", "messages"]
    plain: Any
    digest: bytes
    size: int


def split_request(request: Request) -> list[Piece]:
    """All texts of a request: the system prompt, what tools say of themselves, and each message."""
    pieces = [_piece("tools", _show_tool(one)) for one in request.tools]
    for message in request.messages:
        is_system = message.role == "system"
        pieces.append(_piece("system" if is_system else "messages", _show_message(message)))
    return pieces


def _piece(where: Literal["system", "tools", "messages"], plain: Any) -> Piece:
    encoded = msgspec.json.encode((where, plain))
    return Piece(where, plain, blake2b(encoded, digest_size=16).digest(), len(encoded))


def _show_tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


def _show_message(message: Message) -> Any:
    if message.role == "system":
        return message.content or ""
    shown: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        shown["tool_calls"] = [
            {"name": one.name, "arguments": one.malformed or one.arguments} for one in message.tool_calls
        ]
    if message.images:
        shown["images"] = len(message.images)
    return shown


def collect_batches(pieces: Sequence[Piece], known: Mapping[bytes, Any]) -> Iterator[list[Piece]]:
    """The pieces that a stage does not know yet, each once, in parts that fit a call."""
    batch: list[Piece] = []
    for one in {piece.digest: piece for piece in pieces if piece.digest not in known}.values():
        full = len(batch) >= MAX_BATCH or sum(piece.size for piece in batch) + one.size > MAX_BATCH_BYTES
        again = one.where == "system" and any(piece.where == "system" for piece in batch)
        if batch and (full or again):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def show_batch(batch: Sequence[Piece]) -> dict[str, Any]:
    """The fields of a request for the stage."""
    shown: dict[str, Any] = {"tools": [], "messages": []}
    for one in batch:
        if one.where == "system":
            shown["system"] = one.plain
        else:
            shown[one.where].append(one.plain)
    return {name: value for name, value in shown.items() if value or name == "messages"}


def read_changes(batch: Sequence[Piece], answer: Mapping[str, Any]) -> dict[bytes, Any]:
    """What became of each piece; None for one that stayed as it was. Raises: ValueError."""
    given = show_batch(batch)
    for name in ("tools", "messages"):
        if name in given and (not isinstance(answer.get(name), list) or len(answer[name]) != len(given[name])):
            raise ValueError(f"it gave another number of {name} than it was given")
    left = {name: iter(answer[name]) for name in ("tools", "messages") if name in given}
    changes: dict[bytes, Any] = {}
    for one in batch:
        after = answer.get("system") if one.where == "system" else next(left[one.where])
        changes[one.digest] = None if after == _as_shown(one.plain) else _CHECKS[one.where](one.plain, after)
    return changes


def _as_shown(plain: Any) -> Any:
    """As it was on its way to the stage and back, where a tuple is a list."""
    return msgspec.json.decode(msgspec.json.encode(plain))


def _check_text(before: str | None, after: Any) -> Any:
    if before is None or not isinstance(after, str):
        if after is not before:
            raise ValueError("it made something else of a text than a text")
        return after
    if len(after) > 2 * len(before) + MAX_GROWN:
        raise ValueError(f"it made {len(after)} characters of {len(before)}")
    return after


def _check_tool(before: Mapping[str, Any], after: Any) -> dict[str, Any]:
    if not isinstance(after, dict) or after.get("name") != before["name"] or set(after) != set(before):
        raise ValueError("it changed which tools there are")
    if not _has_shape(before["parameters"], after.get("parameters")):
        raise ValueError(f"it changed more than texts in the parameters of the tool '{before['name']}'")
    _check_size(before, after)
    return {**before, "description": _check_text(before["description"], after.get("description"))} | {
        "parameters": after["parameters"]
    }


def _check_message(before: Mapping[str, Any], after: Any) -> dict[str, Any]:
    if not isinstance(after, dict) or after.get("role") != before["role"] or set(after) != set(before):
        raise ValueError("it changed who said something, or more than texts")
    if after.get("images") != before.get("images"):
        raise ValueError("it changed how many images a message has")
    made = {**before, "content": _check_text(before["content"], after.get("content"))}
    if "tool_calls" in before:
        made["tool_calls"] = _check_calls(before["tool_calls"], after.get("tool_calls"))
        _check_size(before["tool_calls"], made["tool_calls"])
    return made


def _check_calls(before: Sequence[Mapping[str, Any]], after: Any) -> list[dict[str, Any]]:
    if not isinstance(after, list) or len(after) != len(before):
        raise ValueError("it changed which tools were called")
    for old, new in zip(before, after, strict=True):
        same = isinstance(new, dict) and new.get("name") == old["name"]
        if not same or type(new.get("arguments")) is not type(old["arguments"]):
            raise ValueError("it changed which tools were called")
    return [{"name": new["name"], "arguments": new["arguments"]} for new in after]


def _check_size(before: Any, after: Any) -> None:
    sizes = [len(msgspec.json.encode(one)) for one in (before, after)]
    if sizes[1] > 2 * sizes[0] + MAX_GROWN:
        raise ValueError(f"it made {sizes[1]} bytes of {sizes[0]}")


_CHECKS: dict[str, Any] = {"system": _check_text, "tools": _check_tool, "messages": _check_message}


def _has_shape(before: Any, after: Any) -> bool:
    """Whether nothing but texts differ."""
    if isinstance(before, dict):
        same = isinstance(after, dict) and list(after) == list(before)
        return same and all(_has_shape(before[key], after[key]) for key in before)
    if isinstance(before, list | tuple):
        same = isinstance(after, list) and len(after) == len(before)
        return same and all(_has_shape(old, new) for old, new in zip(before, after, strict=True))
    if isinstance(before, str):
        return isinstance(after, str)
    return type(before) is type(after) and bool(before == after)


def join_request(request: Request, pieces: Sequence[Piece], known: Mapping[bytes, Any]) -> Request:
    """The request with what the stage made of it; its pieces are those of `split_request`."""
    changed = [known[piece.digest] for piece in pieces]
    if all(one is None for one in changed):
        return request
    count = len(request.tools)
    tools = tuple(
        one if new is None else ToolSpec(one.name, new["description"], new["parameters"])
        for one, new in zip(request.tools, changed[:count], strict=True)
    )
    messages = tuple(
        one if new is None else _rewrite(one, new) for one, new in zip(request.messages, changed[count:], strict=True)
    )
    return structs.replace(request, tools=tools, messages=messages)


def _rewrite(message: Message, new: Any) -> Message:
    if message.role == "system":
        return structs.replace(message, content=new)
    calls = tuple(
        _rewrite_call(old, made["arguments"])
        for old, made in zip(message.tool_calls, new.get("tool_calls", ()), strict=True)
    )
    return structs.replace(message, content=new["content"], tool_calls=calls)


def _rewrite_call(call: ToolCall, arguments: Any) -> ToolCall:
    if isinstance(arguments, str):
        return structs.replace(call, malformed=arguments)
    return structs.replace(call, arguments=arguments)
