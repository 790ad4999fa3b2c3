"""The wire `openai`: chat completions as OpenAI, Ollama, vLLM, llama.cpp, LM Studio and OpenRouter speak them."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clawft.agent.providers.endpoint import Endpoint
from clawft.agent.providers.request import (
    CallChunk,
    Chunk,
    DoneChunk,
    ModelRequest,
    ProviderError,
    ReasoningChunk,
    Stop,
    TextChunk,
)
from clawft.agent.providers.wire import (
    arguments_of,
    as_dict,
    count_tokens,
    decode_frame,
    is_json,
    parse_call,
    read_error,
    safe_name,
)
from clawft.messages import Image, Message, Reasoning, ReasoningKind, ToolCall, Usage

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


_REASONING_FIELDS: tuple[ReasoningKind, ...] = ("reasoning_content", "reasoning")
_STOPS: dict[str, Stop] = {"length": "length", "content_filter": "refusal"}


class OpenAiWire:
    path = "/chat/completions"

    def build_headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def build_body(self, request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
        # OpenAI's newer models refuse `max_tokens`; most other servers know nothing else.
        limit = "max_completion_tokens" if endpoint.host == "api.openai.com" else "max_tokens"
        body: dict[str, Any] = {
            "model": request.model,
            "messages": list(_messages(request.messages, endpoint)),
            "stream": True,
            "stream_options": {"include_usage": True},
            limit: request.max_tokens,
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.tools:
            body["tools"] = [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in request.tools]
        return body

    def open_reader(self) -> "_Reader":
        return _Reader()


def _messages(messages: tuple[Message, ...], endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Messages as the wire has them. Results of tools carry text alone, so their images follow as from the user.

    A model gets back what it thought between the calls of one turn; of earlier turns servers want none.
    """
    shown: list[Image] = []
    last = max((at for at, message in enumerate(messages) if message.role == "user"), default=0)
    for at, message in enumerate(messages):
        if shown and message.role != "tool":
            yield _from_tools(shown)
            shown = []
        written = _message(message, with_null=endpoint.empty_content == "null")
        if at > last and message.tool_calls:
            _add_reasoning(written, [part for part in message.reasoning if part.provider == endpoint.name])
        yield written
        if message.role == "tool":
            shown += message.images
    if shown:
        yield _from_tools(shown)


def _add_reasoning(written: dict[str, Any], reasoning: list[Reasoning]) -> None:
    """Add the thoughts of a message as they came: in a field of their own, or before the text."""
    for part in reasoning:
        if part.kind == "think":
            written["content"] = f"<think>{part.text}</think>\n\n{written.get('content') or ''}"
        elif part.kind in _REASONING_FIELDS:
            written[part.kind] = part.text


def _message(message: Message, *, with_null: bool) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role}
    content: Any = message.content
    if message.images and message.role == "user":
        content = [*([_text(content)] if content else []), *map(_image, message.images)]
    if message.tool_calls and not content:
        content = None  # some servers refuse "" together with tool calls
    if content is not None or with_null:
        written["content"] = content
    if message.tool_calls:
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": safe_name(call.name),
                    "arguments": msgspec.json.encode(arguments_of(call)).decode(),
                },
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        written["tool_call_id"] = message.tool_call_id
    return written


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.base64}"}}


def _from_tools(images: list[Image]) -> dict[str, Any]:
    return {"role": "user", "content": [_text("Images from the results above:"), *map(_image, images)]}


class _Reader:
    """One answer; a whole one has a `message` where a piece has a `delta`."""

    def __init__(self) -> None:
        self.complete = False
        self.ended = False
        self._calls = CallMerger()
        self._reason = ""
        self._refused = False
        self._usage = Usage()

    def read(self, frame: str) -> Iterator[Chunk]:
        if frame.strip() == "[DONE]":
            self.complete = self.ended = True
            return
        body = decode_frame(frame)
        if body.get("error"):
            raise read_error(body)
        self._usage = _usage(as_dict(body.get("usage"))) or self._usage
        choices = body.get("choices")
        if isinstance(choices, list) and choices:
            yield from self._read_choice(as_dict(choices[0]))

    def _read_choice(self, choice: dict[str, Any]) -> Iterator[Chunk]:
        whole = as_dict(choice.get("message"))
        delta = as_dict(choice.get("delta")) or whole
        refusal = delta.get("refusal")
        self._refused = self._refused or bool(refusal)
        for field in _REASONING_FIELDS:
            if thought := _written(delta.get(field)):
                yield ReasoningChunk(field, thought)
                break  # some servers send the same in both
        for text in (_written(delta.get("content")), _written(refusal)):
            if text:
                yield TextChunk(text)
        self._calls.add(delta.get("tool_calls"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._reason = reason
        self.complete = self.complete or bool(self._reason or whole)

    def finish(self) -> Iterator[Chunk]:
        calls = self._calls.finish()
        yield from map(CallChunk, calls)
        stop: Stop = "refusal" if self._refused else _STOPS.get(self._reason, "tools" if calls else "end")
        yield DoneChunk(stop, self._usage)


def _written(content: object) -> str:
    """The text of a content, which some servers send in parts; thoughts and other kinds are left out."""
    if isinstance(content, list):
        return "".join(_written(as_dict(part).get("text")) for part in content)
    return content if isinstance(content, str) else ""


def _usage(raw: dict[str, Any]) -> Usage | None:
    """Parse the usage: `prompt_tokens` are the input and `completion_tokens` the output; None if there is none."""
    if not raw:
        return None
    details = as_dict(raw.get("prompt_tokens_details"))
    return Usage(
        input_tokens=count_tokens(raw.get("prompt_tokens")),
        output_tokens=count_tokens(raw.get("completion_tokens")),
        cache_read_tokens=count_tokens(details.get("cached_tokens")),
    )
