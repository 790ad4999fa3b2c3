"""`weft permissions import`: the rules of Claude Code's settings, shown as what they become, then written."""

import click

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json, print_table, say
from clawft.cli.permissions._rules import Lists, change_lists
from clawft.config.edit import Change, Edited, Scope
from clawft.config.permissions import KINDS
from clawft.errors import NotFound
from clawft.trust.claude_settings import Imported, load_settings, settings_files

__all__ = ["command"]


@click.command("import")
@click.argument("path", required=False)
@target_option
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(path: str | None, scope: Scope, dry_run: bool, yes: bool, output: str) -> int:
    """Take over permissions of Claude Code: from PATH, or from .claude/settings.json, settings.local.json and those of
    your home folder. What has no meaning here is said, and left out."""
    app = open_here()
    found = [one for file in settings_files(app.workspace, path) for one in load_settings(file, app.workspace, scope)]
    if not found:
        hint = "Name a file: weft permissions import PATH"
        raise NotFound("settings-not-found", "No settings of Claude Code with permissions were found", hint=hint)
    if output != "json":
        _show(app, found)
    edited = None if dry_run or not any(one.becomes for one in found) else _write(app, found, scope, yes=yes)
    if output == "json":
        written = edited is not None and edited.changed
        rules = [_to_json(one) for one in found]
        print_json("clawft.permissions.import.v1", rules=rules, written=written, path=edited.file if edited else None)
    elif edited is not None:
        click.echo(one_line(f"Written to {app.workspace.shorten(edited.file)}"))
    else:
        say("Nothing was written")
    return 0


def _show(app: App, found: list[Imported]) -> None:
    rows = [(one.kind, one.text, one.becomes or "(left out)", app.workspace.shorten(one.file)) for one in found]
    print_table(("RULE", "THEIRS", "BECOMES", "FROM"), rows, wide=1, after=[one.note for one in found])


def _to_json(one: Imported) -> dict[str, object]:
    return {"kind": one.kind, "text": one.text, "becomes": one.becomes or None, "note": one.note, "source": one.file}


def _write(app: App, found: list[Imported], scope: Scope, *, yes: bool) -> Edited | None:
    if not yes and not _agrees(sum(bool(one.becomes) for one in found), scope):
        return None

    def add(rules: Lists) -> Lists:
        return {
            kind: tuple(
                dict.fromkeys((*rules[kind], *(one.becomes for one in found if one.kind == kind and one.becomes)))
            )
            for kind in KINDS
        }

    edited, _ = change_lists(app, scope, add)
    mode = next((one.becomes for one in found if one.kind == "mode" and one.becomes), "")
    if mode:
        edited = app.edit_config(scope, [Change(("agents", "defaults", "mode"), mode)])
    return edited


def _agrees(count: int, scope: Scope) -> bool:
    """Raises: Refused where there is nobody to ask."""
    hint = "Look at them with --dry-run, then pass --yes"
    return confirm(f"Write {count} to the {scope}'s config?", "To import rules", hint)
