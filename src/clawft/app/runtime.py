"""Composition root of the runtime: builds everything that turns need from an app."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio
from msgspec import structs

from clawft.agent.builtin_stages import (
    TELL_SANDBOX,
    TELL_UNTRUSTED,
    Renew,
    hook_insertions,
    memory_insertions,
    served_insertion,
    server_insertion,
)
from clawft.agent.delegate import delegate_tool
from clawft.agent.extension import Extension, join_extensions
from clawft.agent.hooks.registry import Hooks
from clawft.agent.ledger import Ledger, RequestPace
from clawft.agent.mcp import McpServerPool
from clawft.agent.memory import open_memory
from clawft.agent.prompt import SKILL_TOOLS
from clawft.agent.records import SkillStats, UsageDatabase, UsageRecords, work_on
from clawft.agent.runtime import (
    Conversation,
    Insertion,
    JoinedExtensions,
    Runtime,
    SkillAccess,
    UsageMeters,
    spill_dir,
)
from clawft.agent.skill_invocation import INVOKE, TELL_CONFIG, fork_skill
from clawft.agent.tools.builtin import build_tools
from clawft.agent.tools.command_session import open_command_sessions
from clawft.agent.tools.skill import skill_tools
from clawft.agent.tools.tool import Tool
from clawft.app.hooks import make_skill_variables, open_hooks, open_hosts
from clawft.app.mcp_skills.servers import ListingCheck, join_servers
from clawft.app.plugin_host import guard_turns, open_plugins, pick_memory
from clawft.config.agents import BudgetSettings
from clawft.contracts import MemoryBackend
from clawft.errors import ClawftError
from clawft.plugins.extensions import plugin_extensions
from clawft.plugins.host import call_native, native_plugins
from clawft.plugins.notices import make_plugin_refresh
from clawft.trust.status import SkillStatus

if TYPE_CHECKING:
    from clawft.agent.run_request import RunRequest
    from clawft.app.app import App


_SKILL_TOOLS = (*SKILL_TOOLS, "skill_run_script")
_AWAY_S = 30.0  # how long the record of costs may be away when a runtime is opened


def open_usage(app: "App", *, patient: bool = False) -> UsageDatabase:
    """Open the user's database of costs and counts. Raises: ClawftError."""
    return UsageDatabase(app.user_file("usage.sqlite"), patient=patient)


def _until(deadline: float) -> Callable[[ClawftError], None]:
    """Return a callback for failed tries, which raises the error once the deadline has passed."""

    def tell(error: ClawftError) -> None:
        if anyio.current_time() > deadline:
            raise error

    return tell


@asynccontextmanager
async def open_runtime(
    app: "App",
    only: str = "",
    records: UsageRecords | None = None,
    load_skills: Callable[[], Sequence[SkillStatus]] | None = None,
) -> AsyncIterator[Runtime]:
    """Open everything that turns need; on leaving, end it with all it started. `only` restricts it to one skill.

    Costs and request rates are kept in the user's file, unless `records` is given; that is closed too. `load_skills`
    gives the skills of a turn where the caller keeps them up to date (`LiveRuntimes`); otherwise they are read from
    disk at every turn.

    Raises: ClawftError.
    """
    config, user_dir = app.config, app.workspace.user_dir
    os.makedirs(os.path.join(user_dir, "output"), mode=0o700, exist_ok=True)
    async with AsyncExitStack() as stack:
        sandbox = app.open_sandbox()
        hosts = await stack.enter_async_context(open_hosts(app, sandbox))
        hooks = open_hooks(app, sandbox, only, hosts, own_skills=load_skills is None)
        plugins = await stack.enter_async_context(open_plugins(app, sandbox))
        pool, servers_context = join_servers(app, sandbox, plugins.settings)
        await stack.enter_async_context(pool)
        servers = await stack.enter_async_context(servers_context)
        files = stack.enter_context(closing(open_memory(app.workspace, config.memory)))
        memory = pick_memory(app, files, plugins) if config.memory.enabled else None
        built_in = _built_in(app, hooks, _ask_servers(app, pool, lambda: servers.renew(plugins.statuses)), memory)

        first = Extension(
            name="plugins", stages=(make_plugin_refresh(plugins, lambda: rejoin()), *guard_turns(app, plugins))
        )

        def join() -> JoinedExtensions:
            joined = join_extensions((first, *built_in, *plugin_extensions(plugins)))
            return structs.replace(joined, native_plugins=native_plugins(plugins))

        def rejoin() -> None:
            runtime.extensions = join()

        output_dir = partial(spill_dir, app.workspace)
        commands = await stack.enter_async_context(open_command_sessions(sandbox, output_dir))
        counts = stack.enter_context(closing(open_usage(app, patient=records is not None and records.patient)))
        used = counts if records is None else stack.enter_context(closing(records))
        runtime = Runtime(
            workspace=app.workspace,
            environ=app.environ,
            config=config,
            secrets=app.secrets,
            skills=SkillAccess(
                load_skills or (lambda: app.load_skills(only)),
                app.load_usable,
                lambda name: app.refresh().choose_agent(name),
                make_skill_variables(app),
            ),
            sessions=app.sessions,
            usage=await _open_meters(used, counts, config.agents.budget),
            approvals=app.approvals,
            audit=app.audit,
            sandbox=sandbox,
            commands=commands,
            hooks=hooks,
            extensions=join(),
            call_plugin=partial(call_native, plugins),
            start_run=partial(_start_run, app, only),
            watch_turn=app.watch_turn,
        )
        stack.push_async_callback(runtime.close)
        yield runtime


async def _open_meters(used: UsageRecords, counts: UsageDatabase, budget: BudgetSettings) -> UsageMeters:
    """Open the records of costs and counts, and try again for a while where they are away. Raises: ClawftError."""
    soon = _until(anyio.current_time() + _AWAY_S)
    ledger = await work_on(used, lambda: Ledger(used, budget, used.now), soon)
    pace = await work_on(used, lambda: RequestPace(used, used.clock), soon)
    return UsageMeters(ledger, pace, SkillStats(counts, datetime.now))


def _ask_servers(app: "App", pool: McpServerPool, renew_servers: Renew) -> tuple[Insertion, ...]:
    """Return the stages that ask MCP servers for what they offer now, and compare their skills with the approvals."""
    check = ListingCheck(app, pool).run
    return served_insertion(renew_servers, check), server_insertion(pool, renew_servers, check)


def _built_in(
    app: "App", hooks: Hooks, servers: tuple[Insertion, ...], memory: MemoryBackend | None
) -> tuple[Extension, ...]:
    """Return the built-in extensions. Their stages run in this order, before any plugin's. Raises: ClawftError."""
    tools = build_tools(app.config, memory)
    return (
        Extension(name="config", stages=(TELL_CONFIG,)),
        Extension(name="trust", stages=(TELL_UNTRUSTED, TELL_SANDBOX)),
        Extension(name="hooks", stages=hook_insertions(hooks)),
        Extension(name="mcp", stages=servers),  # before a skill of theirs is started
        Extension(name="skills", make_tools=_make_skill_tools, names=_SKILL_TOOLS, stages=(INVOKE,)),
        *(Extension(name=name, tools=tools[name]) for name in ("files", "shell", "web")),
        Extension(name="memory", tools=tools["memory"], stages=memory_insertions(memory) if memory else ()),
        Extension(name="message", tools=tools["message"]),
        Extension(name="delegation", make_tools=lambda one: (delegate_tool(one),), names=("delegate",)),
    )


def _make_skill_tools(conversation: Conversation) -> tuple[Tool, ...]:
    return skill_tools(conversation, partial(fork_skill, conversation))


async def _start_run(app: "App", only: str, request: "RunRequest") -> str:
    """Start a run that sees the skills, and has the trust, of this process.

    Raises: ClawftError, `durable-missing` without the extra.
    """
    from clawft.app.jobs import start_run  # few turns start a run

    trusted = dict(app.run_trust.digests)
    return await start_run(app, structs.replace(request, dirs=app.dirs, only=bool(only), trusted=trusted))
