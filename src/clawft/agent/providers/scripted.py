"""A provider that answers from a file, for tests and demonstrations: always the same, without a model.

The file is JSON, `{"steps": [STEP, …], "loop": false}` or a list of steps, or JSONL with one step per line. A STEP:
`text`, `tool_calls` (`[{"name", "arguments", "id"}]`), `delay_ms` before it, `stop`, `error` (`{"code", "message"}`,
raised after the text), and `expect`, a regular expression that must match the last message of the user. Each call takes
the first unused step that fits; with `loop` all steps become unused again when none is left. With `by_turn` nothing is
remembered: the first answer to a message is the first step that fits, the second the second. `{asked}` is replaced by
the last message of the user, in texts and arguments.
"""

import os
import re
from collections.abc import AsyncGenerator
from typing import Annotated, Any

import anyio
import msgspec
from msgspec import Meta, Struct

from clawft.agent.providers.request import (
    CallChunk,
    Chunk,
    DoneChunk,
    ModelRequest,
    ProviderError,
    Stop,
    StreamCut,
    TextChunk,
)
from clawft.errors import ClawftError
from clawft.files import read_regular
from clawft.messages import Message, ToolCall, Usage

_MAX_BYTES = 16 * 1024 * 1024
_WORD = re.compile(r"\s*\S+\s*|\s+")


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = {}
    id: str = ""


class ScriptedError(Struct, frozen=True, forbid_unknown_fields=True):
    code: str = "provider-failed"
    message: str = "The script says so"


class ScriptedStep(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer."""

    text: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    delay_ms: Annotated[float, Meta(ge=0, le=600_000)] = 0
    stop: Stop | None = None
    error: ScriptedError | None = None
    expect: str = ""


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    steps: Annotated[tuple[ScriptedStep, ...], Meta(min_length=1)]
    loop: bool = False
    by_turn: bool = False


def parse_script(text: str | bytes, path: str = "") -> Script:
    """A script from JSON or JSONL. Raises: ClawftError."""
    try:
        script = _decode(text)
        for step in script.steps:
            re.compile(step.expect)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, re.error) as error:
        message = f"The script cannot be used: {error}"
        raise ClawftError("script-invalid", message, path=path, hint="A step has text, tool_calls, …") from error
    return script


def load_scripted(name: str, script: str, *, base_dir: str) -> "ScriptedProvider":
    """The provider of a script's file. Raises: ClawftError."""
    path = os.path.join(base_dir, script)
    try:
        text, _ = read_regular(path, _MAX_BYTES, follow=True)
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = f"Set providers.{name}.script to a file of answers"
        raise ClawftError("script-missing", "The script is not there", path=path, hint=hint) from error
    return ScriptedProvider(parse_script(text, path), name)


class ScriptedProvider:
    """Answers step by step. It remembers which steps it gave, and nothing else."""

    def __init__(self, script: Script, name: str = "scripted") -> None:
        self.name = name
        self._script = script
        self._left = list(enumerate(script.steps))
        self._answers = 0

    async def close(self) -> None:
        return None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """The next step that fits. Raises: ProviderError."""
        asked = _last_user_text(request.messages)
        step = self._choose(request, asked) if self._script.by_turn else self._take(asked)
        self._answers += 1
        if step.delay_ms:
            await anyio.sleep(step.delay_ms / 1000)
        for piece in _WORD.findall(_fill(step.text, asked)):
            yield TextChunk(piece)
        if step.error:
            failure = StreamCut if step.text else ProviderError
            raise failure(step.error.code, step.error.message, hint="This is what the script says")
        calls = [
            ToolCall(call.id or f"call_{self._answers}_{number}", call.name, _fill(call.arguments, asked))
            for number, call in enumerate(step.tool_calls, 1)
        ]
        for call in calls:
            yield CallChunk(call)
        yield DoneChunk(step.stop or ("tools" if calls else "end"), _usage(request, step))

    def _choose(self, request: ModelRequest, asked: str) -> ScriptedStep:
        """The step of a place in the conversation: so many answers were given since the user spoke."""
        since = next(at for at, message in enumerate(reversed(request.messages)) if message.role in ("user", "system"))
        answered = sum(message.role == "assistant" for message in request.messages[len(request.messages) - since :])
        fitting = [step for step in self._script.steps if re.search(step.expect, asked)]
        if answered >= len(fitting):
            raise ProviderError("script-ended", f"The script of '{self.name}' has no step {answered + 1} that fits")
        return fitting[answered]

    def _take(self, asked: str) -> ScriptedStep:
        found = self._find(asked)
        if found is None and self._script.loop:
            self._left = list(enumerate(self._script.steps))
            found = self._find(asked)
        if found is None:
            hint = 'Add a step, or set "loop": true'
            raise ProviderError("script-ended", f"The script of '{self.name}' has no step left that fits", hint=hint)
        self._left.remove(found)
        return found[1]

    def _find(self, asked: str) -> tuple[int, ScriptedStep] | None:
        return next((entry for entry in self._left if re.search(entry[1].expect, asked)), None)


def _decode(text: str | bytes) -> Script:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = msgspec.json.Decoder().decode_lines(text)
    if isinstance(value, dict) and "steps" not in value:
        value = [value]  # JSONL of one line
    return msgspec.convert({"steps": value} if isinstance(value, list) else value, Script)


def _last_user_text(messages: tuple[Message, ...]) -> str:
    return next((message.content or "" for message in reversed(messages) if message.role == "user"), "")


def _fill(value: Any, asked: str) -> Any:
    if isinstance(value, dict):
        return {name: _fill(part, asked) for name, part in value.items()}
    if isinstance(value, list):
        return [_fill(part, asked) for part in value]
    return value.replace("{asked}", asked) if isinstance(value, str) else value


def _usage(request: ModelRequest, step: ScriptedStep) -> Usage:
    """About four characters make a token."""
    read = sum(len(message.content or "") for message in request.messages)
    written = len(step.text) + sum(len(call.name) + len(str(call.arguments)) for call in step.tool_calls)
    return Usage(read // 4, written // 4)
