"""The wire `anthropic`: the messages API."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clawft.agent.providers.endpoint import Endpoint
from clawft.agent.providers.request import CallChunk, Chunk, DoneChunk, ModelRequest, ReasoningChunk, Stop, TextChunk
from clawft.agent.providers.wire import (
    arguments_of,
    as_dict,
    count_tokens,
    decode_frame,
    parse_call,
    read_error,
    safe_name,
)
from clawft.messages import Message, Reasoning, Usage

_VERSION = "2023-06-01"
_STOPS: dict[str, Stop] = {
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_CACHED = {"cache_control": {"type": "ephemeral"}}
Block = dict[str, Any]


class AnthropicWire:
    path = "/messages"

    def build_headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": _VERSION} | ({"x-api-key": key} if key else {})

    def build_body(self, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "stream": True,
            "messages": _messages(request.messages, endpoint.name),
        }
        system = [block for message in request.messages if message.role == "system" for block in _blocks(message, "")]
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        if request.temperature is not None:
            body["temperature"] = min(request.temperature, 1.0)  # this wire knows no more
        for key, marked in (("system", system), ("tools", tools)):
            if marked:
                body[key] = _mark_last(marked)
        return body

    def open_reader(self) -> "_Reader":
        return _Reader()


def _messages(messages: tuple[Message, ...], provider: str) -> list[Block]:
    """Messages in turn between two roles: results of tools are the user's, and neighbours of one role are one."""
    merged: list[Block] = []
    for message in messages:
        blocks = [] if message.role == "system" else _blocks(message, provider)
        role = "assistant" if message.role == "assistant" else "user"
        if blocks and merged and merged[-1]["role"] == role:
            merged[-1]["content"] += blocks
        elif blocks:
            merged.append({"role": role, "content": blocks})
    if merged and merged[0]["role"] == "assistant":  # the wire wants the user to begin
        merged.insert(0, {"role": "user", "content": [_text("Go on.")]})
    if merged:
        _mark_last(merged[-1]["content"])
    return merged


def _blocks(message: Message, provider: str) -> list[Block]:
    """The parts of a message. The wire refuses an empty text, so there is none; thoughts are sent back as they came to
    the provider that they came from."""
    text = [_text(message.content)] if message.content and message.content.strip() else []
    images = [_image(image.media_type, image.base64) for image in message.images]
    if message.role == "tool":
        result: Block = {"type": "tool_result", "tool_use_id": safe_name(message.tool_call_id)}
        if text or images:
            result["content"] = [*text, *images]
        return [result | ({"is_error": True} if message.is_error else {})]
    calls = [
        {"type": "tool_use", "id": safe_name(call.id), "name": safe_name(call.name), "input": arguments_of(call)}
        for call in message.tool_calls
    ]
    thoughts = [_thought(part) for part in message.reasoning if part.signature and part.provider == provider]
    return [*(thoughts if text or calls else ()), *images, *text, *calls]


def _thought(part: Reasoning) -> Block:
    if part.kind == "redacted_thinking":
        return {"type": part.kind, "data": part.signature}
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _image(media_type: str, base64: str) -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": base64}}


def _mark_last(blocks: list[Block]) -> list[Block]:
    """Mark the last block, so that the server caches everything up to it, which makes the next request cheaper."""
    blocks[-1] = blocks[-1] | _CACHED
    return blocks


class _Reader:
    """One answer: `message_start`, blocks that start, grow and stop, `message_delta`, `message_stop`."""

    def __init__(self) -> None:
        self.complete = False
        self.ended = False
        self._open: dict[object, tuple[Block, list[str]]] = {}
        self._reason = ""
        self._called = False
        self._counts: dict[str, int] = {}

    def read(self, frame: str) -> Iterator[Chunk]:
        body = decode_frame(frame)
        kind = body.get("type")
        if kind == "error" or body.get("error"):
            raise read_error(body)
        if kind == "message":
            yield from self._read_whole(body)
        elif kind == "message_start":
            self._count(as_dict(body.get("message")).get("usage"))
        elif kind == "content_block_start":
            yield from self._start(body.get("index"), as_dict(body.get("content_block")))
        elif kind == "content_block_delta":
            yield from self._grow(body.get("index"), as_dict(body.get("delta")))
        elif kind == "content_block_stop":
            yield from self._stop(body.get("index"))
        elif kind == "message_delta":
            self._end(as_dict(body.get("delta")).get("stop_reason"), body.get("usage"))
        elif kind == "message_stop":
            self.complete = self.ended = True

    def finish(self) -> Iterator[Chunk]:
        for index in list(self._open):
            yield from self._stop(index)
        stop = _STOPS.get(self._reason, "tools" if self._called else "end")
        cached = self._counts.get("cache_read_input_tokens", 0), self._counts.get("cache_creation_input_tokens", 0)
        yield DoneChunk(
            stop,
            Usage(
                input_tokens=self._counts.get("input_tokens", 0) + sum(cached),
                output_tokens=self._counts.get("output_tokens", 0),
                cache_read_tokens=cached[0],
                cache_write_tokens=cached[1],
            ),
        )

    def _read_whole(self, body: Block) -> Iterator[Chunk]:
        """An answer that came as one object, block by block."""
        content = body.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            yield from self._start(index, as_dict(block))
            yield from self._stop(index)
        self._end(body.get("stop_reason"), body.get("usage"))
        self.complete = self.ended = True

    def _start(self, index: object, block: Block) -> Iterator[Chunk]:
        kind, text = block.get("type"), block.get("text")
        if kind == "text" and isinstance(text, str) and text:
            yield TextChunk(text)
        if kind == "redacted_thinking":
            yield ReasoningChunk("redacted_thinking", signature=str(block.get("data") or ""))
        if kind in ("tool_use", "thinking"):
            self._open[_key(index)] = (block, [])

    def _grow(self, index: object, delta: Block) -> Iterator[Chunk]:
        text, written = delta.get("text"), delta.get("partial_json")
        if delta.get("type") == "text_delta" and isinstance(text, str) and text:
            yield TextChunk(text)
        opened = self._open.get(_key(index))
        if opened and isinstance(written, str):
            opened[1].append(written)
        if opened and opened[0].get("type") == "thinking":
            _grow_thought(opened, delta)

    def _stop(self, index: object) -> Iterator[Chunk]:
        block, written = self._open.pop(_key(index), ({}, []))
        if block.get("type") == "thinking":
            text, signature = "".join((str(block.get("thinking") or ""), *written)), str(block.get("signature") or "")
            yield ReasoningChunk("thinking", text, signature)
        elif block:
            whole = as_dict(block.get("input"))
            text = "".join(written) or msgspec.json.encode(whole).decode()
            self._called = True
            yield CallChunk(parse_call(str(block.get("id") or ""), str(block.get("name") or ""), text))

    def _end(self, reason: object, usage: object) -> None:
        self._count(usage)
        if isinstance(reason, str) and reason:
            self._reason = reason
            self.complete = True

    def _count(self, usage: object) -> None:
        """Counts come with the start and again with the end, where they are final."""
        self._counts |= {key: count_tokens(value) for key, value in as_dict(usage).items() if value is not None}


def _grow_thought(opened: tuple[Block, list[str]], delta: Block) -> None:
    block, written = opened
    if isinstance(thought := delta.get("thinking"), str):
        written.append(thought)
    if isinstance(signature := delta.get("signature"), str):
        block["signature"] = str(block.get("signature") or "") + signature


def _key(index: object) -> int:
    return index if isinstance(index, int) else -1
