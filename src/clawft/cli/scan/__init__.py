"""`weft scan`: `weft scan PATH…` is `weft scan path PATH…`."""

from typing import TYPE_CHECKING

import click

from clawft.cli.root import LazyGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["command"]

DEFAULT = "path"


class _ScanGroup(LazyGroup):
    """A group whose first word may be a path: what is none of its commands goes to `path`, options included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.modules and args[0] not in ctx.help_option_names:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of `path`, since they are what `weft scan` is asked for; then the commands."""
        default = self.get_command(ctx, DEFAULT)
        assert default is not None
        click.Command.format_options(default, ctx, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        from click.shell_completion import CompletionItem

        return [*super().shell_complete(ctx, incomplete), CompletionItem(incomplete, type="file")]


@click.group(
    "scan",
    cls=_ScanGroup,
    modules={name: f"clawft.cli.scan.{name}" for name in (DEFAULT, "rules", "explain")},
    aliases={},
    subcommand_metavar="PATH... | COMMAND [ARGS]...",
    no_args_is_help=True,
)
def command() -> None:
    """Tell what folders, files and archives would do, and whether they attack. Nothing of them is run.

    PATH is a skill, a folder of skills, a single file or an archive. Of a folder that holds skills each is scanned by
    itself, then what lies outside them. A path that is named like a command is written ./rules.

    Exit code: 0, or 3 when a verdict is `malicious` (see --fail-on), or 1 when something could not be scanned.
    """
