"""The state of the agent: a runtime lives with its process, a conversation is one session with an
agent, a turn answers one request. What is done with them stands in the modules that import this one.
"""

import os
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_origin

import anyio
from msgspec import Struct, structs

from clawft.agent.catalog import CatalogText
from clawft.agent.checkpoints.turn import TurnCheckpoint, TurnIdentity
from clawft.agent.hooks.registry import Hooks
from clawft.agent.ledger import Ledger, Price, RequestPace, TokenAllowance
from clawft.agent.lineage import AgentPermissions, Lineage, get_agent_permissions
from clawft.agent.providers.request import ModelRequest, ModelTool, Provider
from clawft.agent.providers.selection import check_model, open_provider
from clawft.agent.records import SkillStats
from clawft.agent.run_request import RunRequest, TurnRequest
from clawft.agent.sessions import OpenSession, SessionStore, SkillRecord, TextLimits, encode_key
from clawft.agent.sessions.record import format_time
from clawft.agent.sessions.session import AboutSkill
from clawft.agent.tools.command_session import CommandSessions
from clawft.agent.tools.dynamic import DynamicContext
from clawft.agent.tools.environment import SkillVariables
from clawft.agent.tools.skill_programs import SkillPrograms, program_tools
from clawft.agent.tools.skill_tools import CallPlugin, SkillEngines
from clawft.agent.tools.skillset import Activation, Skillset
from clawft.agent.tools.steps import TurnSteps
from clawft.agent.tools.tool import Tool, ToolRegistry
from clawft.config import Config
from clawft.config.extensions import PluginsSettings
from clawft.config.redaction import Secrets
from clawft.contracts import Phase
from clawft.errors import ClawftError, Diagnostic
from clawft.messages import (
    Answer,
    ApprovalAnswer,
    ApprovalNeeded,
    By,
    Event,
    Message,
    Noticed,
    SkillActivated,
    TurnEnding,
    Usage,
)
from clawft.sandbox.sandbox import Sandbox
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.parse.model import Agent
from clawft.trust.approvals import Approvals
from clawft.trust.audit import AuditLog
from clawft.trust.command_policy import CommandPolicy
from clawft.trust.modes import Mode, agent_mode, default_mode, lower_mode
from clawft.trust.permissions import CallAuthority, PermissionRules, UsableSkill, load_rules
from clawft.trust.status import SkillStatus
from clawft.workspace import Workspace

if TYPE_CHECKING:
    from clawft.sandbox.wasi import Wasi


Approve = Callable[[ApprovalNeeded], Awaitable[Answer | ApprovalAnswer]]
MakeTools = Callable[["Conversation"], Sequence[Tool]]
Stage = Callable[["Turn"], Awaitable[None]]
S = TypeVar("S", bound=Struct)

_LOCAL = ("offline", "scripted")


class Insertion(Struct, frozen=True):
    """A stage that is inserted at a phase: a `contracts.PipelineStage` that works on the turn itself.

    What is inserted before the transport is asked for every request to a model, which it finds in `turn.outgoing`.
    """

    phase: Phase
    name: str
    process: Stage


class JoinedExtensions(Struct, frozen=True):
    """All extensions as turns use them: those that came first win, and stages run in this order."""

    tools: tuple[Tool, ...] = ()
    makers: tuple[MakeTools, ...] = ()  # of tools that know their conversation
    stages: tuple[Insertion, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    native_plugins: Collection[str] = ()  # that do tools of skills which they bring


class SkillAccess(Struct, frozen=True):
    """The skills and agents of a runtime, as they are on disk now, and the variables that the user set for skills."""

    load: Callable[[], Sequence[SkillStatus]]
    load_usable: Callable[[DiscoveredSkill], UsableSkill]
    find_agent: Callable[[str], Agent]  # raises a ClawftError for one that is not there, or not approved
    variables: SkillVariables


class UsageMeters(Struct, frozen=True):
    """The records of what turns cost, how fast models are asked, and which skills are used."""

    ledger: Ledger
    pace: RequestPace
    stats: SkillStats


@dataclass(kw_only=True)
class Runtime:
    """Long-lived parts; conversations are opened on it."""

    workspace: Workspace
    environ: Mapping[str, str]
    config: Config
    secrets: Secrets
    skills: SkillAccess
    sessions: SessionStore
    usage: UsageMeters
    approvals: Approvals
    audit: AuditLog
    sandbox: Sandbox
    commands: CommandSessions
    hooks: Hooks
    extensions: JoinedExtensions
    call_plugin: CallPlugin
    # Starts a run in the background, and names it. A session of a fork has one run: to start that again gives the same.
    start_run: Callable[[RunRequest], Awaitable[str]] | None
    watch_turn: Callable[[], AbstractContextManager[None]]  # what changes meanwhile is not the person's own edit
    server_tools: tuple[Tool, ...] = ()  # of MCP servers, as they were last listed
    noticed: set[str] = field(default_factory=set)  # notices that are said once
    _providers: dict[str, Provider] = field(default_factory=dict)

    @cached_property
    def rules(self) -> PermissionRules:
        """The lasting rules of the user and the project."""
        return load_rules(self.config, self.workspace.project)

    @cached_property
    def default_mode(self) -> Mode:
        """The mode of a conversation until the user changes it."""
        return default_mode(self.config, self.workspace.user_dir)

    def open_provider(self, model: str) -> tuple[Provider, str]:
        """The provider of a model, opened once, and its own name of the model. Raises: ClawftError."""
        return open_provider(
            model, self.config.providers, self.environ, base_dir=self.workspace.project, opened=self._providers
        )

    def check_model(self, model: str) -> None:
        """Check that a model can be used. Raises: ClawftError."""
        check_model(model, self.config.providers, self.environ)

    def is_remote(self, model: str) -> bool:
        """Return whether a model's tokens cost something: money, or the time of another machine."""
        name = model.partition("/")[0]
        settings = self.config.providers.get(name)
        return name not in _LOCAL and not (settings and settings.wire == "scripted")

    @cached_property
    def plugins_settings(self) -> PluginsSettings:
        """The user's settings for plugins and for WebAssembly."""
        return self.config.own(self.workspace.user_dir, self.environ).plugins

    @cached_property
    def wasi(self) -> "Wasi":
        """The engine for skill programs that are WebAssembly."""
        from clawft.sandbox.wasi import Wasi  # few skills have any

        return Wasi(self.plugins_settings, self.sandbox)

    def dynamic(
        self,
        authority: Callable[[], CallAuthority],
        steps: Callable[[], TurnSteps] = TurnSteps,
        ask: Callable[[str, str], Awaitable[bool]] | None = None,
    ) -> DynamicContext:
        """Return the context in which skill texts are rendered, limited by an authority; `steps` are the
        conversation's, and `ask` puts a command to its person."""
        return DynamicContext(
            self.workspace,
            self.environ,
            self.config,
            self.secrets,
            self.audit,
            self.sandbox,
            self.skills.variables,
            authority,
            steps,
            ask,
        )

    def spill_dir(self, session: str) -> str:
        """Return the folder for the rest of a session's long output; it is created when needed."""
        return spill_dir(self.workspace, session)

    async def close(self) -> None:
        with suppress(ClawftError):  # what cost nothing may be forgotten
            self.usage.ledger.write_booked()
        for provider in self._providers.values():
            await provider.close()


def spill_dir(workspace: Workspace, session: str) -> str:
    return os.path.join(workspace.user_dir, "output", encode_key(session))


class Conversation:
    """The state of a conversation between turns. `approve` answers when a tool asks; without it the answer is no.

    A conversation with a `parent` or a `lineage` is a fork. It sees no message of the parent and can do no more than
    the parent: the agents above it, and the skills that were active in them, limit it too. With a parent it also shares
    the parent's approvals and token budget while both run.
    """

    skills: Skillset  # set by who makes it: what limits it depends on the conversation

    def __init__(
        self,
        runtime: Runtime,
        session: OpenSession,
        agent: Agent,
        lineage: Lineage,
        approve: Approve | None = None,
        parent: "Conversation | None" = None,
    ) -> None:
        self.runtime = runtime
        self.session = session
        self.agent = agent
        self.approve = approve
        self.steps = TurnSteps()
        self.lineage = lineage
        self.depth: int = lineage.depth  # how many forks deep
        self.account: str = lineage.account  # the session whose budget pays
        self.turn: int = lineage.turn  # that session's turn which runs, or ran last
        self.running: Turn | None = None
        # A yes "for this session" is the person's word for all that works for them in it.
        self.approved: set[str] = parent.approved if parent else set(lineage.approved)
        self.mode: Mode = lineage.mode
        # Limits of what was read, by the name of their record, until the next message is written.
        self.pending_limits: list[tuple[str, AboutSkill]] = []
        self.older_limits: dict[SkillRecord, tuple[TextLimits, ...]] = {}  # those of lines of earlier versions
        self.started = False  # hooks heard that it begins in this process
        self.sections: list[str] = []  # what they added to its prompts then
        self.noticed: set[str] = set()  # notices that are said once
        self.forked: SkillStatus | None = None  # the skill that this conversation is for
        self.forked_by: By = lineage.by
        self.forks: tuple[str, ...] = lineage.forks  # the skills that were forked, down to here
        self.allowance: TokenAllowance = TokenAllowance(lineage.max_tokens, parent.allowance if parent else None)
        self.slots = anyio.CapacityLimiter(runtime.config.agents.fork.max_parallel)
        self.registry: ToolRegistry | None = None
        self.checkpoint: TurnCheckpoint | None = None  # of the running turn
        self._parent = parent
        self._ending = ""
        # What it means when the task of its turn is cancelled from outside, in the words of the audit log.
        self.reason_if_left: str = parent.reason_if_left if parent else "the turn was stopped"
        self._asking = anyio.Lock()
        self._scope: anyio.CancelScope | None = None

    @property
    def agents(self) -> tuple[AgentPermissions, ...]:
        """The agents that limit it: those above, then its own."""
        return (*self.lineage.above, get_agent_permissions(self.agent))

    @property
    def effective_mode(self) -> Mode:
        """The mode in force: the chosen one, or the agent's if that allows less without asking. What is no language
        model asks, since it has no judgement of its own about the commands in a skill."""
        mode = agent_mode(self.agent, self.mode)
        is_offline = self.running is not None and self.running.route.model == _LOCAL[0]
        return lower_mode(mode, Mode.ASK) if is_offline else mode

    @property
    def has_room(self) -> bool:
        """Return whether a fork of it would not be too deep."""
        return self.depth < self.runtime.config.agents.fork.max_depth

    @property
    def current_turn(self) -> "Turn":
        """The turn that is running, for what only a turn calls: tools."""
        assert self.running is not None
        return self.running

    def set_mode(self, mode: Mode, by: str) -> None:
        """Only a person changes the mode; it is written down. Raises: Refused if that is not possible."""
        detail, session = {"from": self.mode.value, "by": by}, self.session.key
        self.runtime.audit.write("mode", mode.value, decision="allow", rule=by, session=session, detail=detail)
        self.mode = mode

    async def ask(self, event: ApprovalNeeded) -> Answer | ApprovalAnswer:
        """Put an approval question to the person behind this conversation, one question at a time; "nobody" if there is
        no one to ask."""
        if self.approve is None:
            return "nobody"
        async with self._asking:
            return await self.approve(event)

    @contextmanager
    def start_turn(self) -> Iterator[anyio.CancelScope]:
        """Begin a turn, which ends with this block, or with the scope. Raises: ClawftError while another one runs."""
        if self._scope is not None:
            raise ClawftError("turn-running", "A turn of this conversation is still running")
        self._scope, self._ending = anyio.CancelScope(), ""
        if not self.depth:  # a fork is one turn, with the skills that its parent sees
            self.turn = self.session.next_turn
            self.skills.start_turn()
            self.runtime.hooks.refresh(self.skills.statuses)
        self.checkpoint = self._parent.checkpoint if self._parent else self._make_checkpoint()
        try:
            yield self._scope
        finally:
            self._scope = self.running = None

    def _make_checkpoint(self) -> TurnCheckpoint:
        at, identity = self.runtime.workspace, TurnIdentity(self.account, self.turn, self.session.key)
        return TurnCheckpoint(at.user_dir, at.project, identity)

    async def end_checkpoint(self) -> None:
        """Record what the turn changed; a fork in the process of its parent belongs to the parent's turn."""
        if self.checkpoint is not None and self._parent is None:
            await self.checkpoint.end()

    def cancel(self, why: str = "") -> None:
        """End the turn that is running; its last event says so. `why` is for the audit log."""
        if self._scope is not None:
            self._ending = why
            self._scope.cancel()

    @property
    def ending(self) -> str:
        """The cause that ends the running turn, here or in a parent; '' if unknown."""
        above = self._parent.ending if self._parent else ""
        return self._ending or above or self.steps.ending

    def list_tools(self) -> ToolRegistry:
        """Return every tool there is for it; built once, and again only when a server's tools change."""
        known, runtime = self.registry, self.runtime
        if known is None or any(known.find(tool.name) is not tool for tool in runtime.server_tools):
            made = (tool for make in runtime.extensions.makers for tool in make(self))
            known = self.registry = ToolRegistry((*runtime.extensions.tools, *made, *runtime.server_tools))
        if not self.skills.loaded:
            return known
        return ToolRegistry((*known, *program_tools(self._skill_programs(), known.names)))

    def _skill_programs(self) -> SkillPrograms:
        """Return the runner for the programs of the skills that are loaded."""
        runtime, session = self.runtime, self.session.key
        settings, extensions = runtime.config.tools.exec, runtime.extensions
        return SkillPrograms(
            self.skills,
            settings,
            CommandPolicy(settings),
            lambda usable: runtime.skills.variables.take(usable, session),
            SkillEngines(
                runtime.plugins_settings.wasm, lambda: runtime.wasi, extensions.native_plugins, runtime.call_plugin
            ),
        )


class ModelRoute(Struct, frozen=True):
    """The model that answers a turn: its name, its provider's name of it, the provider, and what is known of it."""

    model: str = ""
    bare_model: str = ""
    provider: Provider | None = None
    price: Price | None = None
    context_window: int | None = None
    max_output: int | None = None  # tokens of one answer


class TurnPrompt(Struct, frozen=True):
    """The system prompt of a turn, the skills listed in it, and the tools that the model is offered."""

    system: str = ""
    catalog: CatalogText = CatalogText()
    tools: ToolRegistry = ToolRegistry(())

    @property
    def specs(self) -> tuple[ModelTool, ...]:
        """The tools as the model gets them."""
        return tuple(ModelTool(tool.name, tool.description, tool.parameters) for tool in self.tools)


class CallCount(Struct):
    """The tool calls of a turn, those that failed, and those that were refused."""

    made: int = 0
    failed: int = 0
    refused: int = 0


class Turn:
    """The context of one turn: what was asked, what the stages found out, and what came of it."""

    def __init__(self, conversation: Conversation, request: TurnRequest, send: Callable[[Event], None]) -> None:
        self.conversation = conversation
        self.runtime = conversation.runtime
        self.session = conversation.session
        self.skills = conversation.skills
        self.agent: Agent = conversation.agent
        self.request = request
        self.id = self.session.next_turn
        self._send = send
        self._noticed: set[tuple[str, str]] = set()
        self.is_preview = False  # nothing was sent, so no message hook runs
        self.is_received = False  # hooks heard of the message, so they hear of the answer
        self.added = request.added  # what hooks wrote beside the message
        self.metadata: dict[str, Any] = {}  # for inserted stages, to tell each other something
        self.invoked: Activation | None = None  # the skill that the person started
        self.answer: Stage | None = None  # answers in the place of a model: the fork of a skill that a person started
        self.extra_sections: list[str] = []  # what inserted stages add to the system prompt
        self.route = ModelRoute()
        self.max_tokens = self.runtime.config.agents.defaults.max_tokens  # of one answer
        self.prompt = TurnPrompt()
        self.outgoing: ModelRequest | None = None  # what a model is about to be sent; stages before that may change it
        self.began = False  # something of it is on record
        self.partial = ""  # of an answer that is still coming
        self.text = ""
        self.stop: TurnEnding = "done"
        self.usage = Usage()
        self.calls = CallCount()
        self.shortened: dict[str, str] = {}  # tool results that are sent in short, by call
        self.scale = 1.0  # tokens that were counted to tokens that were estimated
        self.score = 0.0

    def emit(self, event: Event) -> None:
        """Send an event: stamped, and without any secret."""
        masked = mask_struct(self.runtime.secrets, event)
        if isinstance(masked, Noticed):
            self._noticed.add((masked.code, masked.message))
        if isinstance(masked, SkillActivated):
            skill, digest, session = masked.name, masked.digest, self.session.key
            audit = self.runtime.audit
            audit.tell("skill", skill, decision="loaded", rule=masked.by, skill=skill, digest=digest, session=session)
        now = format_time(time.time())
        self._send(structs.replace(masked, at=now, session=self.session.key))

    def forward(self, event: Event) -> None:
        """Send an event of a fork as that stamped it."""
        self._send(event)

    def warn(self, code: str, message: str, hint: str = "") -> None:
        """Send a warning."""
        self.emit(Noticed(code=code, message=message, severity="warning", hint=hint))

    def notice(self, event: Noticed) -> None:
        """Say something once a turn."""
        if not self.has_noticed(event):
            self.emit(event)

    def has_noticed(self, event: Noticed) -> bool:
        """Return whether this turn said the same already."""
        return (event.code, event.message) in self._noticed

    def messages(self) -> tuple[Message, ...]:
        """The messages to send to the model: the system prompt, and the conversation so far."""
        messages = self.session.messages
        if self.shortened:
            messages = tuple(
                structs.replace(message, content=self.shortened[message.tool_call_id])
                if message.role == "tool" and message.tool_call_id in self.shortened
                else message
                for message in messages
            )
        return (Message("system", self.prompt.system), *messages)


def mask_struct(secrets: Secrets, value: S) -> S:
    """Return the same value without any secret."""
    if not secrets:
        return value
    changed = {name: _mask_field(secrets, getattr(value, name)) for name in _list_masked_fields(type(value))}
    return structs.replace(value, **changed)


@cache
def _list_masked_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields that may hold a secret; words of our own do not."""
    return tuple(field.name for field in structs.fields(kind) if get_origin(field.type) is not Literal)


def _mask_field(secrets: Secrets, value: Any) -> Any:
    if isinstance(value, Struct):
        return mask_struct(secrets, value)
    if isinstance(value, tuple):
        return tuple(_mask_field(secrets, part) for part in value)
    return secrets.mask_value(value)


async def run_inserted(turn: Turn, phase: Phase | None) -> None:
    """Run the insertions of a phase, each once, even if insertions are added or removed meanwhile."""
    before: set[str] = set()  # those that ran when it changed who is there
    while phase is not None:
        now, ran = turn.runtime.extensions, set[str]()
        for insertion in now.stages:
            if insertion.phase == phase and insertion.name not in before:
                ran.add(insertion.name)
                await insertion.process(turn)
                if turn.runtime.extensions is not now:
                    before |= ran
                    break
        else:
            return
