"""The groups of commands: for each command, the module and the attribute that it is loaded from when it is run."""

from typing import TYPE_CHECKING, Any

import click

from clawft.cli.root import LazyGroup, events_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from clawft.server.protocol.base import TokenScope


@click.group(
    "agents",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.agents:list_command",
        "show": "clawft.cli.agents:show_command",
        "use": "clawft.cli.agents:use_command",
    },
    aliases={"info": "show"},
)
def agents_group() -> None:
    """List, show and choose agents.

    An agent is a named persona with a model, a prompt, tools and skills.
    """


@click.group(
    "audit",
    cls=LazyGroup,
    modules={
        "show": "clawft.cli.audit:show_command",
        "verify": "clawft.cli.audit:verify_command",
    },
    aliases={},
)
def audit_group() -> None:
    """Show what was decided and done, and whether that record is intact.

    Every approval, denial, command, address and use of a secret is one line of the log.
    """


@click.group(
    "config",
    cls=LazyGroup,
    modules={
        "show": "clawft.cli.config:show_command",
        "get": "clawft.cli.config:get_command",
        "set": "clawft.cli.config_changes:set_command",
        "path": "clawft.cli.config:path_command",
        "trust": "clawft.cli.config_changes:trust_command",
    },
    aliases={},
)
def config_group() -> None:
    """Show and change settings, and where they come from."""


@click.group(
    "cron",
    cls=LazyGroup,
    modules={
        "add": "clawft.cli.cron:add_command",
        "list": "clawft.cli.cron:list_command",
        "remove": "clawft.cli.cron:remove_command",
        "run": "clawft.cli.cron:run_command",
    },
    aliases={},
)
def cron_group() -> None:
    """Run messages and skills on a schedule.

    A worker starts what is due, so one must be running: weft worker. All machines that share a database of runs have
    one list of jobs, and each time is run for once.
    """


@click.group(
    "fleet",
    cls=LazyGroup,
    modules={
        "run": "clawft.cli.fleet:run_command",
        "scan": "clawft.cli.fleet:scan_command",
        "list": "clawft.cli.fleet:list_command",
        "show": "clawft.cli.fleet:show_command",
        "cancel": "clawft.cli.fleet:cancel_command",
    },
    aliases={},
)
def fleet_group() -> None:
    """Run a skill on many inputs, or scan many skills, over all workers.

    What comes of it is one line of JSON for each input, in their order. A fleet that was left goes on with --resume.
    """


@click.group(
    "gateway",
    cls=LazyGroup,
    modules={
        "status": "clawft.cli.gateway:command",
    },
    aliases={},
    invoke_without_command=True,
    subcommand_metavar="[status]",
)
@click.option("--check", is_flag=True, help="Say what would run, and who may write; start nothing.")
@events_option("json: one line of JSON for each thing that happens.")
@click.pass_context
def gateway_group(ctx: click.Context, check: bool, as_json: bool) -> int | None:
    """Run the channels of plugins: what people write there is answered, until Ctrl-C.

    Which channels run, and who may write there, stands in the config: see `weft help gateway`. Each message that is
    accepted becomes a run that survives; a gateway that is killed goes on where it was when it is started again.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from clawft.cli.gateway import check_channels, run_channels

    return check_channels(as_json=as_json) if check else run_channels(as_json=as_json)


@click.group(
    "hooks",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.hooks.list:command",
        "show": "clawft.cli.hooks.show:command",
        "check": "clawft.cli.hooks.check:command",
        "enable": "clawft.cli.hooks.enable:enable_command",
        "disable": "clawft.cli.hooks.enable:disable_command",
        "run": "clawft.cli.hooks.run:command",
    },
    aliases={"info": "show"},
)
def hooks_group() -> None:
    """List, explain, approve and try hooks.

    A hook is a small program that hears what happens in a session, and may have a say.
    """


@click.group(
    "hub",
    cls=LazyGroup,
    modules={
        "serve": "clawft.cli.hub_server:command",
        "status": "clawft.cli.hub:status_command",
        "show": "clawft.cli.hub:show_command",
        "token": "clawft.cli.groups:hub_token_group",
        "import": "clawft.cli.hub_import:command",
        "yank": "clawft.cli.hub:yank_command",
        "unyank": "clawft.cli.hub:unyank_command",
        "remove": "clawft.cli.hub:remove_command",
        "backup": "clawft.cli.hub:backup_command",
        "restore": "clawft.cli.hub:restore_command",
    },
    aliases={"tokens": "token", "delete": "remove"},
)
def hub_group() -> None:
    """Run a registry of your own, and look after it.

    One store of skills, served as ClawHub's interface, as a well-known index and through MCP. See: weft help hub.
    """


@click.group(
    "token",
    cls=LazyGroup,
    modules={
        "new": "clawft.cli.hub_tokens:new_command",
        "list": "clawft.cli.hub_tokens:list_command",
        "revoke": "clawft.cli.hub_tokens:revoke_command",
    },
    aliases={"create": "new", "remove": "revoke"},
)
def hub_token_group() -> None:
    """Make, list and revoke tokens: who may read, publish or administer.

    A token belongs to an owner, who publishes under that name. Only its hash is kept.
    """


@click.group(
    "mcp",
    cls=LazyGroup,
    modules={
        "skills": "clawft.cli.mcp:skills_command",
        "trust": "clawft.cli.mcp:trust_command",
        "untrust": "clawft.cli.mcp:untrust_command",
    },
    aliases={},
    invoke_without_command=True,
)
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(["read", "run", "approve"]),
    multiple=True,
    help="What the client may do; may be given several times. All of them, if none is.",
)
@click.pass_context
def mcp_group(ctx: click.Context, scopes: "tuple[TokenScope, ...]") -> None:
    """Serve your skills to MCP clients on stdio; with a command, use skills that MCP servers offer.

    Without a command it speaks MCP on its input and output until they are closed: what an MCP client starts. To add it
    to one: claude mcp add weft -- weft mcp. For others: weft help mcp.

    A client may read about your skills, run them, and ask you when a tool wants to act that needs a yes (approve).
    """
    if ctx.invoked_subcommand is None:
        from clawft.cli.mcp_server import run_stdio_server

        run_stdio_server(scopes or ("read", "run", "approve"))
    elif scopes:
        raise click.UsageError("--scope is for serving, without a command")


@click.group(
    "memory",
    cls=LazyGroup,
    modules={
        "show": "clawft.cli.memory:show_command",
        "search": "clawft.cli.memory:search_command",
        "reindex": "clawft.cli.memory:reindex_command",
    },
    aliases={"info": "show"},
)
def memory_group() -> None:
    """Read and search what agents remember between sessions."""


@click.group(
    "permissions",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.permissions:list_command",
        "allow": "clawft.cli.permissions:allow_command",
        "ask": "clawft.cli.permissions:ask_command",
        "deny": "clawft.cli.permissions:deny_command",
        "remove": "clawft.cli.permissions:remove_command",
        "import": "clawft.cli.permissions:import_command",
    },
    aliases={},
)
def permissions_group() -> None:
    """Show and change what is allowed, asked for and denied, whatever the mode.

    A rule is a pattern of tools: Bash(git push:*), Edit(docs/**), WebFetch(domain:example.org), github__*.
    """


@click.group(
    "plugins",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.plugins.list:command",
        "show": "clawft.cli.plugins.show:command",
        "install": "clawft.cli.plugins.install:install_command",
        "remove": "clawft.cli.plugins.install:remove_command",
        "enable": "clawft.cli.plugins.enable:enable_command",
        "disable": "clawft.cli.plugins.enable:disable_command",
        "grant": "clawft.cli.plugins.grant:command",
        "env": "clawft.cli.plugins.env:command",
        "new": "clawft.cli.plugins.install:new_command",
    },
    aliases={"info": "show", "uninstall": "remove"},
)
def plugins_group() -> None:
    """List, explain, install, grant and write plugins.

    A plugin brings tools, channels, stages, a memory or skills. What it may touch you grant, and nobody else.
    """


@click.group(
    "publishers",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.publishers:list_command",
        "trust": "clawft.cli.publishers:trust_command",
        "revoke": "clawft.cli.publishers:revoke_command",
        "rotate": "clawft.cli.publisher_keys:rotate_command",
        "remove": "clawft.cli.publishers:remove_command",
        "key": "clawft.cli.publisher_keys:key_command",
        "export": "clawft.cli.publishers:export_command",
    },
    aliases={},
)
def publishers_group() -> None:
    """Say whose signatures on skills count, and have a key of your own.

    Keys and signatures are OpenSSH's: what you have in ~/.ssh will do, and `ssh-keygen -Y verify` agrees.
    """


@click.group(
    "registries",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.registries:list_command",
        "add": "clawft.cli.registries:add_command",
        "token": "clawft.cli.registries:token_command",
        "remove": "clawft.cli.registries:remove_command",
    },
    aliases={},
)
def registries_group() -> None:
    """Show and change where skills are searched for and installed from.

    ClawHub is there without being added. A private hub is added by its address, and its skills go by NAME:skill.
    """


@click.group(
    "runs",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.runs:list_command",
        "show": "clawft.cli.runs:show_command",
        "watch": "clawft.cli.run_watch:command",
        "answer": "clawft.cli.runs:answer_command",
        "cancel": "clawft.cli.runs:cancel_command",
        "resume": "clawft.cli.runs:resume_command",
        "retry": "clawft.cli.runs:retry_command",
        "prune": "clawft.cli.runs:prune_command",
    },
    aliases={},
)
def runs_group() -> None:
    """Follow, answer and end what runs in the background."""


_DEFAULT_SCAN_COMMAND = "path"


class _ScanGroup(LazyGroup):
    """A group whose first word may be a path: what is none of its commands goes to `path`, options included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.modules and args[0] not in ctx.help_option_names:
            args = [_DEFAULT_SCAN_COMMAND, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of `path`, since they are what `weft scan` is asked for; then the commands."""
        default = self.get_command(ctx, _DEFAULT_SCAN_COMMAND)
        assert default is not None
        click.Command.format_options(default, ctx, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="file")]


@click.group(
    "scan",
    cls=_ScanGroup,
    modules={
        "path": "clawft.cli.scan:command",
        "rules": "clawft.cli.scan_rules:rules_command",
        "explain": "clawft.cli.scan_rules:explain_command",
    },
    aliases={},
    subcommand_metavar="PATH... | COMMAND [ARGS]...",
    no_args_is_help=True,
)
def scan_group() -> None:
    """Tell what folders, files and archives would do, and whether they attack. Nothing of them is run.

    PATH is a skill, a folder of skills, a single file or an archive. Of a folder that holds skills each is scanned by
    itself, then what lies outside them. A path that is named like a command is written ./rules.

    Exit code: 0, or 3 when a verdict is `malicious` (see --fail-on), or 1 when something could not be scanned.
    """


@click.group(
    "sessions",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.sessions:list_command",
        "show": "clawft.cli.sessions:show_command",
        "export": "clawft.cli.sessions:export_command",
        "fork": "clawft.cli.sessions:fork_command",
        "rewind": "clawft.cli.rewind:rewind_command",
        "remove": "clawft.cli.sessions:remove_command",
    },
    aliases={"info": "show"},
)
def sessions_group() -> None:
    """List, read, export, copy and remove conversations."""


def _check_queue(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    from clawft.cli.options import check_queue

    queues: tuple[str, ...] = check_queue(context, option, value)
    return queues


@click.command("worker")
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME",
    callback=_check_queue,
    help="Take runs from this queue (repeatable); else from runs.queue.",
)
@click.option("--concurrency", type=click.IntRange(1, 1000), help="Runs to do side by side; else runs.concurrency.")
@click.option("--until-idle", is_flag=True, help="End when there is nothing more to do.")
@click.option("--on-demand", is_flag=True, hidden=True, help="As started by another command: one for a queue.")
@events_option("json: one line of JSON for each thing that happens.")
def worker_command(**options: Any) -> None:
    """Do runs of the background, and go on with those of workers that died.

    Several may work on one database, on one machine or on many. Ctrl-C lets the steps that are being done come to
    their end; the runs go on elsewhere, or when a worker is started again.
    """
    from clawft.cli.worker import run_worker

    run_worker(**options)


@click.group(
    "skills",
    cls=LazyGroup,
    modules={
        "list": "clawft.cli.skills.list:command",
        "install": "clawft.cli.skills.install:install_command",
        "update": "clawft.cli.skills.update:command",
        "remove": "clawft.cli.skills.install:remove_command",
        "deps": "clawft.cli.skills.deps:command",
        "verify": "clawft.cli.skills.verify:command",
        "sync": "clawft.cli.skills.sync:command",
        "audit": "clawft.cli.skills.audit:command",
        "show": "clawft.cli.skills.show:command",
        "why": "clawft.cli.skills.status:why_command",
        "run": "clawft.cli.skills.run:run_command",
        "render": "clawft.cli.skills.run:render_command",
        "validate": "clawft.cli.skills.validation:validate_command",
        "fix": "clawft.cli.skills.validation:fix_command",
        "scan": "clawft.cli.skills.scan:command",
        "allow": "clawft.cli.skills.allow:command",
        "trust": "clawft.cli.skills.trust:command",
        "env": "clawft.cli.skills.variables:command",
        "search": "clawft.cli.skills.search:command",
        "stats": "clawft.cli.skills.status:stats_command",
        "pin": "clawft.cli.skills.settings:pin_command",
        "enable": "clawft.cli.skills.settings:enable_command",
        "disable": "clawft.cli.skills.settings:disable_command",
        "sign": "clawft.cli.skills.sign:command",
        "publish": "clawft.cli.skills.publish:command",
        "new": "clawft.cli.skills.validation:new_command",
        "pack": "clawft.cli.skills.pack:command",
    },
    aliases={"info": "show", "uninstall": "remove"},
)
def skills_group() -> None:
    """List, explain, run, approve, check and fix skills."""


@click.group(
    "token",
    cls=LazyGroup,
    modules={
        "new": "clawft.cli.serve.tokens:new_command",
        "list": "clawft.cli.serve.tokens:list_command",
        "remove": "clawft.cli.serve.tokens:remove_command",
    },
    aliases={"create": "new", "revoke": "remove", "delete": "remove"},
)
def serve_token_group() -> None:
    """Make, list and remove tokens: who may read, run, approve or administer.

    Each program should have one of its own. Only its hash is kept. Your own token, which may do everything, is not
    among them: it lies in ~/.clawft/serve-token.
    """
