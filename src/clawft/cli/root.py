"""`weft` itself, and groups that load a command when it is asked for."""

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import click

from clawft import __version__

F = TypeVar("F", bound=Callable[..., Any])


def events_option(text: str) -> Callable[[F], F]:
    """`--format` of a command that tells of events as they happen: `as_json` means a line of JSON for each."""
    return click.option(
        "--format",
        "as_json",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=lambda _context, _option, value: value == "json",
        help=text,
    )


class LazyGroup(click.Group):
    """A group that imports a command when it is asked for: `{"list": "clawft.cli.groups:list_command"}`.

    `aliases` are further names, which help does not list.
    """

    def __init__(self, *args: object, modules: dict[str, str], aliases: dict[str, str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.modules = modules
        self.aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self.modules.get(self.aliases.get(cmd_name, cmd_name))
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with the whole of its first sentence, which click would cut off at the end of the line."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=400)) for name, command in named if command])

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
        "agent": "clawft.cli.agent:command",
        "skills": "clawft.cli.groups:skills_group",
        "scan": "clawft.cli.groups:scan_group",
        "agents": "clawft.cli.groups:agents_group",
        "hooks": "clawft.cli.groups:hooks_group",
        "plugins": "clawft.cli.groups:plugins_group",
        "serve": "clawft.cli.serve:command",
        "mcp": "clawft.cli.groups:mcp_group",
        "hub": "clawft.cli.groups:hub_group",
        "registries": "clawft.cli.groups:registries_group",
        "publishers": "clawft.cli.groups:publishers_group",
        "sessions": "clawft.cli.groups:sessions_group",
        "memory": "clawft.cli.groups:memory_group",
        "runs": "clawft.cli.groups:runs_group",
        "fleet": "clawft.cli.groups:fleet_group",
        "worker": "clawft.cli.groups:worker_command",
        "gateway": "clawft.cli.groups:gateway_group",
        "cron": "clawft.cli.groups:cron_group",
        "audit": "clawft.cli.groups:audit_group",
        "config": "clawft.cli.groups:config_group",
        "permissions": "clawft.cli.groups:permissions_group",
        "trust": "clawft.cli.trust:command",
        "onboard": "clawft.cli.onboard:command",
        "doctor": "clawft.cli.doctor:command",
        "demo": "clawft.cli.demo:command",
        "help": "clawft.cli.help:command",
        "completion": "clawft.cli.completion:command",
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
