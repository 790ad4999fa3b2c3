"""What turns share in one process: settings, tools, providers, stores. Built by `app`, closed when all is done."""

import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from clawft.config import Config
from clawft.config.masking import Secrets
from clawft.config.plugins import PluginsSettings, own_plugins
from clawft.discovery.catalog import Found
from clawft.discovery.instructions import Instructions, load_instructions
from clawft.errors import ClawftError
from clawft.format.model import Agent
from clawft.hooks.registry import Hooks
from clawft.messages import Event, Noticed
from clawft.providers.request import Provider
from clawft.providers.select import check_model, open_provider
from clawft.run.conversation import Approve, Conversation
from clawft.run.extension import MakeTools
from clawft.run.ledger import Ledger
from clawft.run.lineage import Lineage, check_lineage
from clawft.run.pace import Pace
from clawft.run.stats import Stats
from clawft.run.turn import Insertion
from clawft.sandbox.sandbox import Sandbox
from clawft.sessions import SessionStore, encode_key
from clawft.tools.dynamic import DynamicContext
from clawft.tools.engines import CallPlugin, Engines
from clawft.tools.program import Programs
from clawft.tools.registry import Registry
from clawft.tools.skill_env import Supplies
from clawft.tools.skill_programs import program_tools
from clawft.tools.steps import Steps
from clawft.tools.tool import Tool
from clawft.trust import Standing
from clawft.trust.approvals import Approvals
from clawft.trust.audit import Audit
from clawft.trust.cleared import Cleared
from clawft.trust.commands import CommandPolicy
from clawft.trust.decide import Authority
from clawft.trust.modes import Mode, default_mode
from clawft.trust.rules import Rules, load_rules
from clawft.workspace import Workspace

if TYPE_CHECKING:
    from clawft.run.durable.request import RunRequest
    from clawft.sandbox.wasi import Wasi

__all__ = ["Runtime", "new_key"]

_LOCAL = ("offline", "scripted")


@dataclass
class Runtime:
    """Long-lived parts; conversations are opened on it."""

    workspace: Workspace
    environ: Mapping[str, str]
    config: Config
    secrets: Secrets
    load_skills: Callable[[], Sequence[Standing]]
    clear: Callable[[Found], Cleared]
    find_agent: Callable[[str], Agent]  # raises a ClawftError for one that is not there, or not approved
    sessions: SessionStore
    ledger: Ledger
    pace: Pace
    stats: Stats
    approvals: Approvals
    sandbox: Sandbox
    audit: Audit
    supplies: Supplies
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
    _told: set[str] = field(default_factory=set)  # about instructions, each once

    @cached_property
    def rules(self) -> Rules:
        """The lasting rules of the user and the project."""
        return load_rules(self.config, self.workspace.project)

    @cached_property
    def default_mode(self) -> Mode:
        """How much a conversation may do unasked, until a person says otherwise."""
        return default_mode(self.config, self.workspace.user_dir)

    def open_provider(self, model: str) -> tuple[Provider, str]:
        """The provider of a model, opened once, and its own name of the model. Raises: ClawftError."""
        return open_provider(
            model, self.config.providers, self.environ, base_dir=self.workspace.project, opened=self._providers
        )

    def check_model(self, model: str) -> None:
        """Raises: ClawftError for a model that cannot be used (R115)."""
        check_model(model, self.config.providers, self.environ)

    def is_remote(self, model: str) -> bool:
        """Whether a model's tokens are paid for, by money or by somebody's machine."""
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
        steps: Steps | None = None,
    ) -> AsyncIterator[Conversation]:
        """A conversation in the session of a key, new or continued; it is the only writer while it is open.

        With a `lineage` alone it is a fork that another process asked for. Raises: ClawftError.
        """
        if lineage is not None and parent is None:
            check_lineage(lineage, agent, self)
        kept = steps or (parent.steps.below() if parent else Steps())
        with kept.open_session(self.sessions, key or new_key(datetime.now()), self.workspace.cwd) as session:
            conversation = Conversation(self, session, agent, approve, parent, lineage)
            conversation.steps = kept
            yield conversation

    def registry_for(self, conversation: Conversation) -> Registry:
        """Every tool of a conversation; built once, and anew only when a server's tools changed (R81, R158)."""
        known = conversation.registry
        if known is None or any(known.find(tool.name) is not tool for tool in self.server_tools):
            made = (tool for make in self.makers for tool in make(conversation))
            known = conversation.registry = Registry((*self.tools, *made, *self.server_tools))
        if not conversation.skills.loaded:
            return known
        return Registry((*known, *program_tools(self._programs_of(conversation), known.names)))

    def _programs_of(self, conversation: Conversation) -> Programs:
        """What runs the programs of the skills that are loaded in a conversation."""
        settings, session = self.config.tools.exec, conversation.session.key
        policy = CommandPolicy(settings)
        return Programs(
            conversation.skills,
            settings,
            policy,
            lambda cleared: self.supplies.take(cleared, session),
            Engines(self.plugins_settings.wasm, lambda: self.wasi, self.native_plugins, self.call_plugin),
        )

    @cached_property
    def plugins_settings(self) -> PluginsSettings:
        """What the user says of plugins, and of WebAssembly."""
        return own_plugins(self.config, self.workspace.user_dir, self.environ)

    @cached_property
    def wasi(self) -> "Wasi":
        """What runs programs of skills that are WebAssembly."""
        from clawft.sandbox.wasi import Wasi  # few skills have any

        return Wasi(self.plugins_settings, self.sandbox)

    def instructions(self, emit: Callable[[Event], None]) -> list[Instructions]:
        """AGENTS.md and CLAUDE.md that are the user's own or were approved; the others are named."""
        found, problems = load_instructions(self.workspace)
        for problem in problems:
            emit(Noticed(code=problem.code, message=f"{problem.path}: {problem.message}", severity="warning"))
        used = []
        for one in found:
            if one.own or self.approvals.has("instructions", one.path, one.content):
                used.append(one)
            else:
                shown = self.workspace.shorten(one.path)
                known = any(old.path == one.path for old in self.approvals.load() if old.kind == "instructions")
                why = "changed since it was approved" if known else "is not approved"
                message = f"{shown} {why}, so it is not part of the prompt"
                hint = "Read it, then start weft agent with --trust-instructions"
                if message not in self._told:
                    emit(Noticed(code="instructions-untrusted", message=message, severity="warning", hint=hint))
                self._told.add(message)
        return used

    def dynamic(self, authority: Callable[[], Authority], steps: Callable[[], Steps] = Steps) -> DynamicContext:
        """What the text of skills may be used with, as far as an authority goes; `steps` are the conversation's."""
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
        """Where the rest of long output of a session goes; made when it is needed."""
        return os.path.join(self.workspace.user_dir, "output", encode_key(session))

    @property
    def char_budget(self) -> int:
        """D24: the variable wins over the setting."""
        written = self.environ.get("SKILLS_PROMPT_CHAR_BUDGET", "")
        return int(written) if written.isdecimal() else self.config.skills.prompt.char_budget

    @property
    def refresh_on_call(self) -> bool:
        written = self.environ.get("SKILLS_REFRESH_ON_CALL", "").lower()
        return written not in ("0", "false", "no", "off") if written else self.config.skills.prompt.refresh_on_call

    def is_pinned(self, standing: Standing) -> bool:
        entries, skill = self.config.skills.entries, standing.found.skill
        entry = entries.get(standing.name) or (entries.get(skill.skill_key) if skill else None)
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
