"""The rest of the composition root: from an app to all that turns need."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio
from msgspec import structs

from clawft.borrowing.check import ListingCheck
from clawft.borrowing.servers import join_servers
from clawft.contracts import MemoryBackend
from clawft.errors import ClawftError
from clawft.hooking import open_hooks, open_hosts
from clawft.hooks.registry import Hooks
from clawft.mcp import McpHub
from clawft.memory import open_memory
from clawft.plugging import extend, guard_turns, open_plugins, pick_memory
from clawft.plugins.native import call_native, native_plugins
from clawft.plugins.telling import renew
from clawft.run import Conversation, Runtime
from clawft.run.assemble import SKILL_TOOLS
from clawft.run.database import Database, Records, work_on
from clawft.run.delegate import delegate_tool
from clawft.run.extension import Extension, Joined, join_extensions
from clawft.run.fork_skill import SkillForker
from clawft.run.insertions import (
    TELL_SANDBOX,
    TELL_UNTRUSTED,
    Renew,
    hook_insertions,
    memory_insertions,
    served_insertion,
    server_insertion,
)
from clawft.run.invoke import INVOKE, TELL_CONFIG
from clawft.run.ledger import Ledger
from clawft.run.pace import Pace
from clawft.run.stats import Stats
from clawft.run.text_limits import SkillTexts
from clawft.run.turn import Insertion
from clawft.tools.build import build_tools
from clawft.tools.skill import skill_tools
from clawft.tools.skill_env import Supplies
from clawft.tools.tool import Tool
from clawft.trust import Standing

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.run.durable.request import RunRequest

__all__ = ["open_runtime", "open_usage"]

_SKILL_TOOLS = (*SKILL_TOOLS, "skill_run_script")
_AWAY_S = 30.0  # how long the record of costs may be away when a runtime is opened


def open_usage(app: "App", *, patient: bool = False) -> Database:
    """The file of costs and counts of the user, for who is patient with it or not. Raises: ClawftError."""
    return Database(app.user_file("usage.sqlite"), patient=patient)


def _until(deadline: float) -> Callable[[ClawftError], None]:
    """Hears why something has to be tried again, and gives up in the end."""

    def tell(error: ClawftError) -> None:
        if anyio.current_time() > deadline:
            raise error

    return tell


@asynccontextmanager
async def open_runtime(
    app: "App",
    only: str = "",
    records: Records | None = None,
    load_skills: Callable[[], Sequence[Standing]] | None = None,
) -> AsyncIterator[Runtime]:
    """Everything that turns need; ended, with all it started, on leaving. `only` is the one skill there is.

    Costs and paces are kept in the user's file, unless `records` says otherwise; those are closed too. `load_skills`
    gives the skills of a turn where somebody keeps them up to date (`reloading.LiveRuntimes`): they are read from disk
    at every turn otherwise.

    Raises: ClawftError.
    """
    config, user_dir = app.config, app.workspace.user_dir
    os.makedirs(os.path.join(user_dir, "output"), mode=0o700, exist_ok=True)
    async with AsyncExitStack() as stack:
        sandbox = app.open_sandbox()
        hosts = await stack.enter_async_context(open_hosts(app, sandbox))
        hooks = open_hooks(app, sandbox, only, hosts)
        plugins = await stack.enter_async_context(open_plugins(app, sandbox))
        hub, joining = join_servers(app, sandbox, plugins.settings)
        await stack.enter_async_context(hub)
        servers = await stack.enter_async_context(joining)
        files = stack.enter_context(closing(open_memory(app.workspace, config.memory)))
        memory = pick_memory(app, files, plugins) if config.memory.enabled else None
        built_in = _built_in(app, hooks, _ask_servers(app, hub, lambda: servers.renew(plugins.standings)), memory)

        first = Extension(name="plugins", stages=(renew(plugins, lambda: rejoin()), *guard_turns(app, plugins)))

        def join() -> Joined:
            return join_extensions((first, *built_in, *extend(plugins)))

        def rejoin() -> None:
            again = join()
            runtime.tools, runtime.makers, runtime.insertions = again.tools, again.makers, again.stages
            runtime.native_plugins = native_plugins(plugins)

        joined = join()
        used = stack.enter_context(closing(records or open_usage(app)))
        counts = stack.enter_context(closing(open_usage(app, patient=used.patient)))
        soon = _until(anyio.current_time() + _AWAY_S)
        runtime = Runtime(
            app.workspace,
            app.environ,
            config,
            app.secrets,
            load_skills or (lambda: app.load_skills(only)),
            app.load_cleared,
            lambda name: app.reopen().choose_agent(name),
            app.sessions,
            await work_on(used, lambda: Ledger(used, config.agents.budget, used.now), soon),
            await work_on(used, lambda: Pace(used, used.clock), soon),
            Stats(counts, datetime.now),
            app.approvals,
            sandbox,
            app.audit,
            Supplies(lambda: app.reopen().config.skills.entries, app.environ, app.secrets, app.audit),
            hooks,
            joined.tools,
            joined.makers,
            joined.stages,
        )
        runtime.start_run = partial(_start_run, app, only)
        runtime.native_plugins, runtime.call_plugin = native_plugins(plugins), partial(call_native, plugins)
        stack.push_async_callback(runtime.close)
        yield runtime


def _ask_servers(app: "App", hub: McpHub, renew_servers: Renew) -> tuple[Insertion, ...]:
    """What asks MCP servers for what they offer now, and compares their skills with what was approved."""
    check = ListingCheck(app, hub).run
    return served_insertion(renew_servers, check), server_insertion(hub, renew_servers, check)


def _built_in(
    app: "App", hooks: Hooks, servers: tuple[Insertion, ...], memory: MemoryBackend | None
) -> tuple[Extension, ...]:
    """What comes with the product. Its stages run in this order, before any plugin's. Raises: ClawftError."""
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
    return skill_tools(conversation.skills, SkillForker(conversation), SkillTexts(conversation))


async def _start_run(app: "App", only: str, request: "RunRequest") -> str:
    """Start a run that sees the skills, and has the trust, of this process.

    Raises: ClawftError, `durable-missing` without the extra.
    """
    from clawft.working import start_run  # few turns start a run

    trusted = dict(app.run_trust.digests)
    return await start_run(app, structs.replace(request, dirs=app.dirs, only=bool(only), trusted=trusted))
