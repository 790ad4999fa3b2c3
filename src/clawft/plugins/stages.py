"""The pipeline stages of plugins: which texts of a turn or request they see, and what they may change."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, Protocol
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct, structs

from clawft.agent.providers.request import ModelRequest, ModelTool
from clawft.agent.runtime import Conversation, Insertion, Turn
from clawft.agent.tools.steps import TurnStep
from clawft.contracts import Phase, PipelineContext, PluginError
from clawft.errors import ClawftError, Refused
from clawft.messages import Message, Noticed, ToolCall
from clawft.plugins.runtime import PluginFailed
from clawft.skills.parse.plugin import StageSpec
from clawft.trust.plugins import PluginStatus

MAX_BATCH_BYTES = 512 * 1024  # of one call; a single text may be longer
MAX_BATCH = 200
MAX_GROWN = 100_000  # characters that a text may become longer by


class RequestPiece(Struct, frozen=True):
    """One text of a request, as plain data. The same text has the same digest."""

    where: Literal["system", "tools", "messages"]
    plain: Any
    digest: bytes
    size: int


def split_request(request: ModelRequest) -> list[RequestPiece]:
    """All texts of a request: the system prompt, what tools say of themselves, and each message."""
    pieces = [
        _piece("tools", {"name": tool.name, "description": tool.description, "parameters": tool.parameters})
        for tool in request.tools
    ]
    for message in request.messages:
        is_system = message.role == "system"
        pieces.append(_piece("system" if is_system else "messages", _show_message(message)))
    return pieces


def _piece(where: Literal["system", "tools", "messages"], plain: Any) -> RequestPiece:
    encoded = msgspec.json.encode((where, plain))
    return RequestPiece(where, plain, blake2b(encoded, digest_size=16).digest(), len(encoded))


def _show_message(message: Message) -> Any:
    if message.role == "system":
        return message.content or ""
    shown: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        shown["tool_calls"] = [
            {"name": tool_call.name, "arguments": tool_call.malformed or tool_call.arguments}
            for tool_call in message.tool_calls
        ]
    if message.images:
        shown["images"] = len(message.images)
    return shown


def collect_batches(pieces: Sequence[RequestPiece], known: Mapping[bytes, Any]) -> Iterator[list[RequestPiece]]:
    """The pieces that a stage does not know yet, each once, in parts that fit a call."""
    batch: list[RequestPiece] = []
    for new_piece in {piece.digest: piece for piece in pieces if piece.digest not in known}.values():
        full = len(batch) >= MAX_BATCH or sum(piece.size for piece in batch) + new_piece.size > MAX_BATCH_BYTES
        again = new_piece.where == "system" and any(piece.where == "system" for piece in batch)
        if batch and (full or again):
            yield batch
            batch = []
        batch.append(new_piece)
    if batch:
        yield batch


def show_batch(batch: Sequence[RequestPiece]) -> dict[str, Any]:
    """The fields of a request for the stage."""
    shown: dict[str, Any] = {"tools": [], "messages": []}
    for piece in batch:
        if piece.where == "system":
            shown["system"] = piece.plain
        else:
            shown[piece.where].append(piece.plain)
    return {name: value for name, value in shown.items() if value or name == "messages"}


def read_changes(batch: Sequence[RequestPiece], answer: Mapping[str, Any]) -> dict[bytes, Any]:
    """Parse the new form of each piece; None for one that did not change. Raises: ValueError."""
    shown = show_batch(batch)
    for name in ("tools", "messages"):
        if name in shown and (not isinstance(answer.get(name), list) or len(answer[name]) != len(shown[name])):
            raise ValueError(f"it gave another number of {name} than it was given")
    left = {name: iter(answer[name]) for name in ("tools", "messages") if name in shown}
    changes: dict[bytes, Any] = {}
    for piece in batch:
        after = answer.get("system") if piece.where == "system" else next(left[piece.where])
        before = msgspec.json.decode(msgspec.json.encode(piece.plain))  # where a tuple is a list
        changes[piece.digest] = None if after == before else _CHECKS[piece.where](piece.plain, after)
    return changes


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
    sizes = [len(msgspec.json.encode(context)) for context in (before, after)]
    if sizes[1] > 2 * sizes[0] + MAX_GROWN:
        raise ValueError(f"it made {sizes[1]} bytes of {sizes[0]}")


_CHECKS: dict[str, Any] = {"system": _check_text, "tools": _check_tool, "messages": _check_message}


def _has_shape(before: Any, after: Any) -> bool:
    """Return whether nothing but texts differ."""
    if isinstance(before, dict):
        same = isinstance(after, dict) and list(after) == list(before)
        return same and all(_has_shape(before[key], after[key]) for key in before)
    if isinstance(before, list | tuple):
        same = isinstance(after, list) and len(after) == len(before)
        return same and all(_has_shape(old, new) for old, new in zip(before, after, strict=True))
    if isinstance(before, str):
        return isinstance(after, str)
    return type(before) is type(after) and bool(before == after)


def join_request(request: ModelRequest, pieces: Sequence[RequestPiece], known: Mapping[bytes, Any]) -> ModelRequest:
    """The request with what the stage made of it; its pieces are those of `split_request`."""
    changed = [known[piece.digest] for piece in pieces]
    if all(change is None for change in changed):
        return request
    count = len(request.tools)
    tools = tuple(
        tool if new is None else ModelTool(tool.name, new["description"], new["parameters"])
        for tool, new in zip(request.tools, changed[:count], strict=True)
    )
    messages = tuple(
        message if new is None else _rewrite(message, new)
        for message, new in zip(request.messages, changed[count:], strict=True)
    )
    return structs.replace(request, tools=tools, messages=messages)


def _rewrite(message: Message, new: Any) -> Message:
    if message.role == "system":
        return structs.replace(message, content=new)
    calls = tuple(
        _rewrite_call(old, made["arguments"])
        for old, made in zip(message.tool_calls, new.get("tool_calls", ()), strict=True)
    )
    return structs.replace(message, content=new["content"], tool_calls=calls, reasoning=())  # no stage saw that


def _rewrite_call(call: ToolCall, arguments: Any) -> ToolCall:
    if isinstance(arguments, str):
        return structs.replace(call, malformed=arguments, problem="")
    return structs.replace(call, arguments=arguments)


MAX_TEXT = 1_000_000  # characters that a stage may make of a message
MAX_SHOWN = 3 * 1024 * 1024  # bytes of one text, so that it fits a line to the plugin
MAX_METADATA = 64 * 1024  # bytes that stages tell each other in one turn
_EARLY = (Phase.PRE_ROUTE, Phase.PRE_ASSEMBLE)


class PluginCaller(Protocol):
    """Has a plugin do something, as `plugins.host.Plugins` does."""

    async def call(self, plugin_id: str, what: str, **arguments: Any) -> Any:
        """Raises: PluginError with the plugin's own answer; PluginFailed."""


class StageReply(Struct, frozen=True):
    """The reply of a stage: the changed context, or why there is none."""

    context: PipelineContext | None = None
    problem: str = ""
    hint: str = ""


def plugin_stages(plugins: PluginCaller, status: PluginStatus) -> tuple[Insertion, ...]:
    """The stages that a plugin brings, in the order of its manifest. Nothing is started for them."""
    manifest = status.found.manifest
    assert manifest is not None
    stages = [_PluginStage(plugins, status.id, stage) for stage in manifest.stages]
    return tuple(Insertion(stage.spec.phase, f"{status.id}:{stage.spec.name}", stage.process) for stage in stages)


class _PluginStage:
    """One stage; it remembers what it made of each text, as long as the conversation lasts."""

    def __init__(self, plugins: PluginCaller, plugin: str, spec: StageSpec) -> None:
        self.spec = spec
        self._plugins = plugins
        self._plugin = plugin
        self._known: WeakKeyDictionary[Conversation, dict[bytes, Any]] = WeakKeyDictionary()

    async def process(self, turn: Turn) -> None:
        """Raises: Refused if the stage will not have the turn; ClawftError if it fails and must not."""
        if self.spec.phase is Phase.PRE_TRANSPORT:
            await self._change_outgoing(turn)
        else:
            await self._join(turn)

    @property
    def _who(self) -> str:
        return f"The stage '{self.spec.name}' of the plugin '{self._plugin}'"

    async def _join(self, turn: Turn) -> None:
        """Show the turn as it stands, once: where a run is begun again, what came of it is taken."""
        request = turn.runtime.secrets.mask_value(_show_turn(turn))
        response = turn.runtime.secrets.mask_value(_show_answer(turn, self.spec.phase))
        step = TurnStep("stage", f"{self._plugin}:{self.spec.name}")
        at = f"{self._plugin.replace('.', '-')}:{self.spec.name}"  # a dot parts the places of steps
        reply = await turn.conversation.steps.run(step, lambda: self._ask(turn, request, response), StageReply, at=at)
        after = self._accept(turn, reply)
        if after is None:
            return
        problem = self._take(turn, request, after.request)
        if problem:
            self._fail(turn, problem)
        self._tell_refused(turn, after, {**request, "text": None, "model": None}, response)

    def _tell_refused(
        self, turn: Turn, after: PipelineContext, shown: Mapping[str, Any], response: dict[str, Any] | None
    ) -> None:
        """Say what a stage changed and cannot; where None is arguments, it can."""
        refused = [name for name, value in shown.items() if value is not None and after.request.get(name) != value]
        refused += [str(name)[:50] for name in after.request if name not in shown]
        if after.response != response:
            refused.append("the answer")
        if refused:
            self._tell(turn, "stage-ignored", f"{self._who} changed {', '.join(refused)}, which no stage can")

    async def _ask(self, turn: Turn, request: dict[str, Any], response: dict[str, Any] | None) -> StageReply:
        """Raises: Refused with what the stage says."""
        context = PipelineContext(request, response, turn.metadata)
        try:
            plain = msgspec.to_builtins(context)
            answer = await self._plugins.call(self._plugin, "process", stage=self.spec.name, context=plain)
            after = msgspec.convert(answer, PipelineContext)
            if len(msgspec.json.encode(after.metadata)) > MAX_METADATA:
                raise ValueError(f"its metadata has more than {MAX_METADATA} bytes")
        except PluginFailed as error:
            return StageReply(problem=str(error), hint=error.hint)
        except PluginError as error:
            raise Refused("stage-refused", f"{self._who} ended the turn: {error}", hint=error.hint) from error
        except ClawftError as error:  # it may not be used, or its start cannot be written down
            return StageReply(problem=str(error), hint=error.hint)
        except (ValueError, TypeError, RecursionError) as error:  # msgspec's ValidationError is a ValueError
            return StageReply(problem=f"What it answered is no context: {error}")
        return StageReply(after)

    def _accept(self, turn: Turn, reply: StageReply) -> PipelineContext | None:
        """Accept the context that a stage returned; None where an optional stage failed. Raises: ClawftError where a
        required one did."""
        if reply.context is None:
            self._fail(turn, reply.problem, reply.hint)
            return None
        turn.metadata = reply.context.metadata
        return reply.context

    def _fail(self, turn: Turn, problem: str, hint: str = "") -> None:
        hint = hint or f"Run: weft plugins show {self._plugin}"
        if self.spec.on_failure == "stop":
            message = f"{self._who} failed, and nothing goes to a model without it: {problem}"
            raise ClawftError("stage-failed", message, hint=hint)
        self._tell(turn, "stage-failed", f"{self._who} failed, and the turn goes on without it: {problem}", hint)

    def _tell(self, turn: Turn, code: str, message: str, hint: str = "") -> None:
        """Say what went wrong, once a conversation."""
        if message not in turn.conversation.noticed:
            turn.conversation.noticed.add(message)
            turn.warn(code, message, hint)

    def _take(self, turn: Turn, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """Take over what may be changed; what is wrong with it, if something is."""
        text, model = after.get("text"), after.get("model")
        if not isinstance(text, str) or not isinstance(model, str) or len(text) > MAX_TEXT:
            return "its text or model is none"
        if text != before["text"]:
            self._take_text(turn, text)
        if model != before["model"]:
            self._take_model(turn, model)
        return ""

    def _take_text(self, turn: Turn, text: str) -> None:
        if self.spec.phase not in _EARLY or turn.request.skill:
            why = "that of a skill" if self.spec.phase in _EARLY else "which was sent already"
            self._tell(turn, "stage-ignored", f"{self._who} changed the message, {why}; it stays as it is")
            return
        before = len(turn.request.text)
        turn.request = structs.replace(turn.request, text=text, words=())
        message = f"{self._who} changed the message: {before} characters became {len(text)}"
        turn.emit(Noticed(code="stage-changed", message=message))

    def _take_model(self, turn: Turn, model: str) -> None:
        if self.spec.phase is not Phase.PRE_ROUTE or turn.request.model:
            why = "somebody chose another" if turn.request.model else "it is chosen by now"
            self._tell(turn, "stage-ignored", f"{self._who} asks for the model '{model[:100]}', but {why}")
            return
        try:
            turn.runtime.check_model(model)
        except ClawftError as error:
            self._tell(turn, "stage-ignored", f"{self._who} asks for a model that cannot be used: {error}", error.hint)
            return
        turn.request = structs.replace(turn.request, model=model)
        turn.emit(Noticed(code="stage-changed", message=f"{self._who} chose the model {model}"))

    async def _change_outgoing(self, turn: Turn) -> None:
        request = turn.outgoing
        assert request is not None  # the caller is about to send one
        known = self._known.get(turn.conversation, {})
        pieces = split_request(request)
        facts, is_changed = turn.runtime.secrets.mask_value(_show_turn(turn)), False
        for batch in collect_batches(pieces, known):
            if sum(batch_piece.size for batch_piece in batch) > MAX_SHOWN:
                self._fail(turn, f"a text of more than {MAX_SHOWN} bytes cannot be shown to it")
                return
            reply = await self._ask(turn, {**facts, **show_batch(batch)}, None)
            after = self._accept(turn, reply)
            if after is None:
                return
            self._tell_refused(turn, after, {**facts, "system": None, "messages": None, "tools": None}, None)
            try:
                changes = read_changes(batch, after.request)
            except (ValueError, TypeError, RecursionError) as error:
                self._fail(turn, str(error))
                return
            is_changed = is_changed or any(change is not None for change in changes.values())
            known = known | changes
        self._known[turn.conversation] = {piece.digest: known[piece.digest] for piece in pieces}
        turn.outgoing = join_request(request, pieces, known)
        if is_changed:
            turn.notice(Noticed(code="stage-changed", message=f"{self._who} changed texts that the model reads"))


def _show_turn(turn: Turn) -> dict[str, Any]:
    """Return the description of a turn that every stage gets."""
    return {
        "text": turn.request.text,
        "model": turn.route.model or turn.request.model,
        "agent": turn.agent.name,
        "session": turn.session.key,
        "root": turn.conversation.account,
        "skill": turn.request.skill,
    }


def _show_answer(turn: Turn, phase: Phase) -> dict[str, Any] | None:
    if phase in _EARLY:
        return None
    shown: dict[str, Any] = {"text": turn.text, "stop": turn.stop}
    return {**shown, "score": turn.score} if phase is Phase.POST_SCORE else shown
