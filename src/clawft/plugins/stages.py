"""The stages of plugins in the pipeline: what they are shown of a turn, what they may change, and what a failure does.

Before `route` and `assemble` a stage may change the `text` that somebody wrote, unless that is for a skill, and before
`route` the `model`, unless somebody chose one. Before the transport it may change every text of each request; what is
kept on disk stays. After the transport it looks on: the answer was shown and kept while it came. Nothing else can be
changed, and whatever is changed is told.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct, structs

from clawft.contracts import PipelineContext, PluginError
from clawft.errors import ClawftError, Refused
from clawft.format.plugin import StageSpec
from clawft.messages import Noticed
from clawft.plugins.outgoing import collect_batches, join_request, read_changes, show_batch, split_request
from clawft.plugins.running import PluginFailed
from clawft.run.conversation import Conversation
from clawft.run.turn import Insertion, Phase, Turn
from clawft.tools.steps import Step
from clawft.trust.plugins import PluginStanding

__all__ = ["Caller", "plugin_stages"]

MAX_TEXT = 1_000_000  # characters that a stage may make of a message
MAX_SHOWN = 3 * 1024 * 1024  # bytes of one text, so that it fits a line to the plugin
MAX_METADATA = 64 * 1024  # bytes that stages tell each other in one turn
_EARLY = (Phase.PRE_ROUTE, Phase.PRE_ASSEMBLE)


class Caller(Protocol):
    """Has a plugin do something, as `plugins.host.Plugins` does."""

    async def call(self, plugin_id: str, what: str, **given: Any) -> Any:
        """Raises: PluginError with the plugin's own answer; PluginFailed."""


class Reply(Struct, frozen=True):
    """What came of asking a stage once: what it made of the context, or why nothing came of it."""

    context: PipelineContext | None = None
    problem: str = ""
    hint: str = ""


def plugin_stages(plugins: Caller, standing: PluginStanding) -> tuple[Insertion, ...]:
    """The stages that a plugin brings, in the order of its manifest. Nothing is started for them."""
    manifest = standing.found.manifest
    assert manifest is not None
    stages = [_PluginStage(plugins, standing.id, one) for one in manifest.stages]
    return tuple(Insertion(one.spec.phase, f"{standing.id}:{one.spec.name}", one.process) for one in stages)


class _PluginStage:
    """One stage; it remembers what it made of each text, as long as the conversation lasts."""

    def __init__(self, plugins: Caller, plugin: str, spec: StageSpec) -> None:
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
        step = Step("stage", f"{self._plugin}:{self.spec.name}")
        at = f"{self._plugin.replace('.', '-')}:{self.spec.name}"  # a dot parts the places of steps
        reply = await turn.conversation.steps.run(step, lambda: self._ask(turn, request, response), Reply, at=at)
        after = self._accept(turn, reply)
        if after is None:
            return
        problem = self._take(turn, request, after.request)
        if problem:
            self._fail(turn, problem)
        self._tell_refused(turn, after, {**request, "text": None, "model": None}, response)

    def _tell_refused(
        self, turn: Turn, after: PipelineContext, given: Mapping[str, Any], response: dict[str, Any] | None
    ) -> None:
        """Say what a stage changed and cannot; where None is given, it can."""
        refused = [name for name, value in given.items() if value is not None and after.request.get(name) != value]
        refused += [str(name)[:50] for name in after.request if name not in given]
        if after.response != response:
            refused.append("the answer")
        if refused:
            self._tell(turn, "stage-ignored", f"{self._who} changed {', '.join(refused)}, which no stage can")

    async def _ask(self, turn: Turn, request: dict[str, Any], response: dict[str, Any] | None) -> Reply:
        """Raises: Refused with what the stage says."""
        context = PipelineContext(request, response, turn.metadata)
        try:
            given = msgspec.to_builtins(context)
            answer = await self._plugins.call(self._plugin, "process", stage=self.spec.name, context=given)
            after = msgspec.convert(answer, PipelineContext)
            if len(msgspec.json.encode(after.metadata)) > MAX_METADATA:
                raise ValueError(f"its metadata has more than {MAX_METADATA} bytes")
        except PluginFailed as error:
            return Reply(problem=str(error), hint=error.hint)
        except PluginError as error:
            raise Refused("stage-refused", f"{self._who} ended the turn: {error}", hint=error.hint) from error
        except ClawftError as error:  # it may not be used, or its start cannot be written down
            return Reply(problem=str(error), hint=error.hint)
        except (ValueError, TypeError, RecursionError) as error:  # msgspec's ValidationError is a ValueError
            return Reply(problem=f"What it answered is no context: {error}")
        return Reply(after)

    def _accept(self, turn: Turn, reply: Reply) -> PipelineContext | None:
        """What a stage made of a context; None where it failed and may. Raises: ClawftError where it may not."""
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
        if message not in turn.conversation.told:
            turn.conversation.told.add(message)
            turn.emit(Noticed(code=code, message=message, severity="warning", hint=hint))

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
        assert request is not None  # whoever sends one asks
        known = self._known.get(turn.conversation, {})
        pieces = split_request(request)
        facts, is_changed = turn.runtime.secrets.mask_value(_show_turn(turn)), False
        for batch in collect_batches(pieces, known):
            if sum(one.size for one in batch) > MAX_SHOWN:
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
            is_changed = is_changed or any(one is not None for one in changes.values())
            known = known | changes
        self._known[turn.conversation] = {piece.digest: known[piece.digest] for piece in pieces}
        turn.outgoing = join_request(request, pieces, known)
        if is_changed:
            turn.notice(Noticed(code="stage-changed", message=f"{self._who} changed texts that the model reads"))


def _show_turn(turn: Turn) -> dict[str, Any]:
    """What every stage is told of a turn."""
    return {
        "text": turn.request.text,
        "model": turn.model or turn.request.model,
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
