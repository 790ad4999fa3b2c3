"""`weft config show`: every setting with its value and where it comes from. Secrets stay hidden."""

from collections.abc import Sequence

import click

from clawft.cli.config._text import with_state
from clawft.cli.options import format_option, open_here
from clawft.cli.output import print_json, say, show_diagnostic, table_lines, terminal_width
from clawft.config.listing import Setting, get_path, list_settings
from clawft.describe.diagnostics import to_json
from clawft.trust.unfollowed import find_unfollowed
from clawft.workspace import Workspace

__all__ = ["command", "setting_lines"]


@click.command("show")
@click.argument("section", default="")
@click.option("--all", "defaults", is_flag=True, help="Also those that nothing sets, with their defaults.")
@format_option
def command(section: str, defaults: bool, output: str) -> None:
    """Show what is set, or all of SECTION that is set: its value, and the file or variable that sets it."""
    app = open_here()
    path = get_path(section) if section else ()
    settings = list_settings(app.config, app.environ, app.plugin_schemas, defaults=defaults)
    shown = [one for one in settings if one.path[: len(path)] == path]
    said = (*app.config.diagnostics, *find_unfollowed(app.config, app.workspace.user_dir))
    if output == "json":
        return print_json(
            "clawft.config.show.v1",
            settings=[_to_json(one) for one in shown],
            diagnostics=[to_json(one) for one in said],
        )
    if shown:
        for line in setting_lines(shown, app.workspace, terminal_width()):
            click.echo(line)
    for diagnostic in said:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
    if not shown:
        say("Nothing is set" + ("" if defaults else ". Run: weft config show --all"))
    return None


def setting_lines(settings: Sequence[Setting], workspace: Workspace, columns: int | None) -> list[str]:
    """A table of settings for so many columns."""
    rows = [(one.key, with_state(one), _place(one, workspace)) for one in settings]
    return table_lines(("SETTING", "VALUE", "FROM"), rows, wide=1, columns=columns)


def _to_json(setting: Setting) -> dict[str, object]:
    shown = {"key": setting.key, "value": setting.value, "source": setting.source, "line": setting.line or None}
    return shown if setting.configured is None else {**shown, "configured": setting.configured}


def _place(setting: Setting, workspace: Workspace) -> str:
    place = workspace.shorten(setting.source)
    return f"{place}:{setting.line}" if setting.line else place
