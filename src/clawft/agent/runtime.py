"""The runtime that all turns of one process share: settings, tools, providers, stores; and a preview of what the
next turn would send.
"""

import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from clawft.agent.conversation import Approve, Conversation
from clawft.agent.extension import MakeTools
from clawft.agent.hooks.registry import Hooks
from clawft.agent.ledger import Ledger, RequestPace
from clawft.agent.lineage import Lineage, check_lineage
from clawft.agent.loop import make_request, run_until_transport
from clawft.agent.model_call import prepare_request
from clawft.agent.prompt import choose_tools
from clawft.agent.providers.request import ModelRequest, Provider
from clawft.agent.providers.selection import check_model, open_provider
from clawft.agent.records import SkillStats
from clawft.agent.sessions import SessionStore, encode_key
from clawft.agent.tools.dynamic import DynamicContext
from clawft.agent.tools.environment import SkillVariables
from clawft.agent.tools.skill_programs import SkillPrograms, program_tools
from clawft.agent.tools.skill_tools import CallPlugin, SkillEngines
from clawft.agent.tools.steps import TurnSteps
from clawft.agent.tools.tool import Tool, ToolRegistry
from clawft.agent.turn import Insertion, Turn, TurnRequest, run_inserted
from clawft.config import Config
from clawft.config.extensions import PluginsSettings
from clawft.config.redaction import Secrets
from clawft.contracts import Phase
from clawft.errors import ClawftError
from clawft.messages import Event, Noticed
from clawft.sandbox.sandbox import Sandbox
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.instructions import Instructions, load_instructions
from clawft.skills.parse.model import Agent
from clawft.trust.approvals import Approvals
from clawft.trust.audit import AuditLog
from clawft.trust.command_policy import CommandPolicy
from clawft.trust.modes import Mode, default_mode
from clawft.trust.permissions import CallAuthority, PermissionRules, UsableSkill, load_rules
from clawft.trust.status import SkillStatus
from clawft.workspace import Workspace

if TYPE_CHECKING:
    from clawft.agent.run_request import RunRequest
    from clawft.sandbox.wasi import Wasi


_LOCAL = ("offline", "scripted")


@dataclass
class Runtime:
    """Long-lived parts; conversations are opened on it."""

    workspace: Workspace
    environ: Mapping[str, str]
    config: Config
    secrets: Secrets
    load_skills: Callable[[], Sequence[SkillStatus]]
    clear: Callable[[DiscoveredSkill], UsableSkill]
    find_agent: Callable[[str], Agent]  # raises a ClawftError for one that is not there, or not approved
    sessions: SessionStore
    ledger: Ledger
    pace: RequestPace
    stats: SkillStats
    approvals: Approvals
    sandbox: Sandbox
    audit: AuditLog
    supplies: SkillVariables
    hooks: Hooks
    tools: tuple[Tool, ...] = ()
    makers: tuple[MakeTools, ...] = ()  # of tools that know their conversation
    insertions: tuple[Insertion, ...] = ()
    server_tools: tuple[Tool, ...] = ()  # of MCP servers, as they were last listed
    # Starts a run in the background, and names it. A session of a fork has one run: to start that again gives the same.
    start_run: "Callable[[RunRequest], Awaitable[str]] | None" = None
    native_plugins: Collection[str] = ()  # that do tools of skills which they bring
    call_plugin: CallPlugin | None = None
    _providers: dict[str, Provider] = field(default_factory=dict)
    _noticed: set[str] = field(default_factory=set)  # about instructions, each once

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

    @asynccontextmanager
    async def open_conversation(
        self,
        agent: Agent,
        *,
        key: str = "",
        approve: Approve | None = None,
        parent: Conversation | None = None,
        lineage: Lineage | None = None,
        steps: TurnSteps | None = None,
    ) -> AsyncIterator[Conversation]:
        """A conversation in the session of a key, new or continued; it is the only writer while it is open.

        With a `lineage` alone it is a fork that another process asked for. Raises: ClawftError.
        """
        if lineage is not None and parent is None:
            check_lineage(lineage, agent, self)
        turn_steps = steps or (parent.steps.below() if parent else TurnSteps())
        with turn_steps.open_session(self.sessions, key or new_key(datetime.now()), self.workspace.cwd) as session:
            conversation = Conversation(self, session, agent, approve, parent, lineage)
            conversation.steps = turn_steps
            yield conversation

    def registry_for(self, conversation: Conversation) -> ToolRegistry:
        """Return every tool of a conversation; built once, and again only when a server's tools change."""
        known = conversation.registry
        if known is None or any(known.find(tool.name) is not tool for tool in self.server_tools):
            made = (tool for make in self.makers for tool in make(conversation))
            known = conversation.registry = ToolRegistry((*self.tools, *made, *self.server_tools))
        if not conversation.skills.loaded:
            return known
        return ToolRegistry((*known, *program_tools(self._programs_of(conversation), known.names)))

    def _programs_of(self, conversation: Conversation) -> SkillPrograms:
        """Return the runner for the programs of the skills that are loaded in a conversation."""
        settings, session = self.config.tools.exec, conversation.session.key
        policy = CommandPolicy(settings)
        return SkillPrograms(
            conversation.skills,
            settings,
            policy,
            lambda cleared: self.supplies.take(cleared, session),
            SkillEngines(self.plugins_settings.wasm, lambda: self.wasi, self.native_plugins, self.call_plugin),
        )

    @cached_property
    def plugins_settings(self) -> PluginsSettings:
        """The user's settings for plugins and for WebAssembly."""
        return self.config.own(self.workspace.user_dir, self.environ).plugins

    @cached_property
    def wasi(self) -> "Wasi":
        """The engine for skill programs that are WebAssembly."""
        from clawft.sandbox.wasi import Wasi  # few skills have any

        return Wasi(self.plugins_settings, self.sandbox)

    def instructions(self, emit: Callable[[Event], None]) -> list[Instructions]:
        """AGENTS.md and CLAUDE.md that are the user's own or were approved; the others are named."""
        found, problems = load_instructions(self.workspace)
        for problem in problems:
            emit(Noticed(code=problem.code, message=f"{problem.path}: {problem.message}", severity="warning"))
        used = []
        for instructions in found:
            if instructions.own or self.approvals.has("instructions", instructions.path, instructions.content):
                used.append(instructions)
            else:
                shown = self.workspace.shorten(instructions.path)
                known = any(
                    old.path == instructions.path for old in self.approvals.load() if old.kind == "instructions"
                )
                why = "changed since it was approved" if known else "is not approved"
                message = f"{shown} {why}, so it is not part of the prompt"
                hint = "Read it, then start weft agent with --trust-instructions"
                if message not in self._noticed:
                    emit(Noticed(code="instructions-untrusted", message=message, severity="warning", hint=hint))
                self._noticed.add(message)
        return used

    def dynamic(
        self, authority: Callable[[], CallAuthority], steps: Callable[[], TurnSteps] = TurnSteps
    ) -> DynamicContext:
        """Return the context in which skill texts are rendered, limited by an authority; `steps` are the
        conversation's."""
        return DynamicContext(
            self.workspace,
            self.environ,
            self.config,
            self.secrets,
            self.audit,
            self.sandbox,
            self.supplies,
            authority,
            steps,
        )

    def spill_dir(self, session: str) -> str:
        """Return the folder for the rest of a session's long output; it is created when needed."""
        return os.path.join(self.workspace.user_dir, "output", encode_key(session))

    @property
    def char_budget(self) -> int:
        """The character budget of the skill catalog; the environment variable wins over the setting."""
        written = self.environ.get("SKILLS_PROMPT_CHAR_BUDGET", "")
        return int(written) if written.isdecimal() else self.config.skills.prompt.char_budget

    @property
    def refresh_on_call(self) -> bool:
        written = self.environ.get("SKILLS_REFRESH_ON_CALL", "").lower()
        return written not in ("0", "false", "no", "off") if written else self.config.skills.prompt.refresh_on_call

    def is_pinned(self, status: SkillStatus) -> bool:
        entries, skill = self.config.skills.entries, status.found.skill
        entry = entries.get(status.name) or (entries.get(skill.skill_key) if skill else None)
        return entry is not None and entry.pinned

    def keep_trace(self, trace: str) -> str:
        """Write the trace of a bug, without secrets, to a file of the user; where it is, or '' if it cannot be."""
        folder = os.path.join(self.workspace.user_dir, "logs")
        path = os.path.join(folder, f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.txt")
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(self.secrets.mask(trace))
        except OSError:
            return ""
        return path

    async def close(self) -> None:
        with suppress(ClawftError):  # what cost nothing may be forgotten
            self.ledger.write_booked()
        for provider in self._providers.values():
            await provider.close()


def new_key(now: datetime, mark: str = "") -> str:
    """A key for a session that nobody named: it sorts by time, and is short enough to type.

    Where many begin in the same second, a `mark` keeps them apart.
    """
    return f"{now:%Y%m%d-%H%M%S}-{mark or uuid.uuid4().hex[:4]}"


async def preview_turn(
    runtime: Runtime, agent: Agent, key: str, request: TurnRequest, take: Callable[[Event], None]
) -> tuple[Turn, ModelRequest]:
    """The turn as it stands before the model is called, and the request. Raises: ClawftError."""
    with runtime.sessions.open_draft(key or "preview", cwd=runtime.workspace.cwd) as session:
        turn = Turn(Conversation(runtime, session, agent), request, take)
        # Hooks that change the prompt run, or the preview would differ. No message is sent, so no message hook runs.
        turn.is_preview = True
        await run_until_transport(turn)
        return turn, await prepare_request(turn, make_request(turn))


async def list_tools(conversation: Conversation, take: Callable[[Event], None]) -> ToolRegistry:
    """The tools that the next turn would have; servers are started for it, as a turn does."""
    turn = Turn(conversation, TurnRequest(""), take)
    await run_inserted(turn, Phase.PRE_ASSEMBLE)
    return choose_tools(conversation)
