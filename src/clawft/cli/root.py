"""`weft` itself, and groups that load a command when it is asked for."""

import os
from importlib import import_module

import click

from clawft import __version__

__all__ = ["LazyGroup", "weft"]


class LazyGroup(click.Group):
    """A group whose commands are named by module: `{"list": "clawft.cli.skills.list"}`, the command being `command`.

    `aliases` are further names, which help does not list.
    """

    def __init__(self, *args: object, modules: dict[str, str], aliases: dict[str, str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.modules = modules
        self.aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self.modules.get(self.aliases.get(cmd_name, cmd_name))
        if module is None:
            return None
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with the whole of its first sentence, which click would cut off at the end of the line."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=400)) for name, one in named if one])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from clawft.errors import find_close

            close = find_close(args[0], self.modules)
            if close is None:
                raise
            raise click.UsageError(f"{error.message} Did you mean '{close}'?", ctx) from error


@click.group(
    cls=LazyGroup,
    modules={
        "agent": "clawft.cli.agent",
        "skills": "clawft.cli.skills",
        "scan": "clawft.cli.scan",
        "agents": "clawft.cli.agents",
        "hooks": "clawft.cli.hooks",
        "plugins": "clawft.cli.plugins",
        "serve": "clawft.cli.serve",
        "mcp": "clawft.cli.mcp",
        "hub": "clawft.cli.hub",
        "registries": "clawft.cli.registries",
        "publishers": "clawft.cli.publishers",
        "sessions": "clawft.cli.sessions",
        "memory": "clawft.cli.memory",
        "runs": "clawft.cli.runs",
        "fleet": "clawft.cli.fleet",
        "worker": "clawft.cli.worker",
        "gateway": "clawft.cli.gateway",
        "cron": "clawft.cli.cron",
        "audit": "clawft.cli.audit",
        "config": "clawft.cli.config",
        "permissions": "clawft.cli.permissions",
        "onboard": "clawft.cli.onboard",
        "doctor": "clawft.cli.doctor",
        "demo": "clawft.cli.demo",
        "help": "clawft.cli.help",
        "completion": "clawft.cli.completion",
    },
    aliases={"skill": "skills", "hook": "hooks", "plugin": "plugins", "publisher": "publishers"},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "--version", message="weft %(version)s")
@click.pass_context
def weft(ctx: click.Context) -> None:
    """An agent that runs skills of every dialect, and says of each what it is, does and costs."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
