"""`weft hooks show NAME`: all there is to know about one hook."""

from typing import Any

import click
import msgspec

from clawft.app import App
from clawft.cli._complete import complete_hooks
from clawft.cli.hooks._brought import asks_line, command_line
from clawft.cli.hooks._given import Given, find_vain, given_json, given_lines, load_given
from clawft.cli.hooks._json import row_json
from clawft.cli.options import format_option, open_here
from clawft.cli.output import diagnostic_lines, one_line, print_json
from clawft.describe.diagnostics import to_json
from clawft.discovery.installing import install_command
from clawft.errors import Diagnostic
from clawft.hooking import HookRow, find_row, hook_settings, load_rows
from clawft.trust.command_hooks import CommandStanding
from clawft.trust.hooks import HOOK_STATES, HookStanding, digest_of

__all__ = ["all_reasons", "command", "detail_lines"]


@click.command("show")
@click.argument("name", shell_complete=complete_hooks)
@format_option
def command(name: str, output: str) -> None:
    """Show one hook: NAME, or FROM:NAME where several have that name."""
    app = open_here()
    row = find_row(load_rows(app), name)
    if output == "json":
        fields = row_json(row) | {"reasons": [to_json(one) for one in (*all_reasons(row), *_find_vain(app, row))]}
        return print_json("clawft.hooks.show.v1", **fields, **_details(app, row))
    for line in detail_lines(app, row):
        click.echo(line)
    return None


def detail_lines(app: App, row: HookRow) -> list[str]:
    """All there is to know about a hook, to be read."""
    shorten = app.workspace.shorten
    lines = [
        ("Hook", row.name),
        ("Description", row.description),
        ("Events", ", ".join(row.events) or "none"),
        ("From", f"{row.origin} ({shorten(row.file)})"),
        ("Kind", "TypeScript or JavaScript, run with Deno" if row.kind == "deno" else "commands, as Claude Code's"),
        ("State", f"{row.state}: {HOOK_STATES.get(row.state, '')}"),
    ]
    said = [f"{label}: {one_line(value)}" for label, value in lines if value]
    if isinstance(row.standing, HookStanding):
        said += _deno_lines(app, row.standing)
    elif isinstance(row.standing, CommandStanding):
        said += _command_lines(row.standing)
    for one in (*all_reasons(row), *_find_vain(app, row)):
        elsewhere = one.path != row.file
        where = shorten(one.where) if elsewhere else f"line {one.line}" if one.line else ""
        said += diagnostic_lines(one, where=where)
    return said


def all_reasons(row: HookRow) -> tuple[Diagnostic, ...]:
    """Why a hook is as it is, and what there is to say of its file either way."""
    hook = row.standing.found.hook if isinstance(row.standing, HookStanding) else None
    return tuple(dict.fromkeys((*row.reasons, *(hook.diagnostics if hook else ()))))


def _deno_lines(app: App, standing: HookStanding) -> list[str]:
    found, hook = standing.found, standing.found.hook
    if hook is None:
        return []
    requires = hook.about.requires
    wanted = [(field, getattr(requires, field)) for field in requires.__struct_fields__]
    return [
        f"Handler: {one_line(found.handler)}" + (f", its export {one_line(hook.export)}" * (hook.export != "default")),
        *([f"Homepage: {one_line(hook.about.homepage)}"] if hook.about.homepage else []),
        *(f"Requires {field.replace('_', ' ')}: {one_line(', '.join(names))}" for field, names in wanted if names),
        *(f"Install: {one_line(install_command(one))}" for one in hook.about.install if install_command(one)),
        f"Asks for: {asks_line(hook.wants)}",
        *given_lines(_given(app, standing), app.workspace.shorten),
        f"Digest: {digest_of(found).value or 'none'}" + (" (approved)" if standing.digest else ""),
    ]


def _find_vain(app: App, row: HookRow) -> list[Diagnostic]:
    one = row.standing
    return find_vain(app, _given(app, one), row.file) if isinstance(one, HookStanding) and one.found.hook else []


def _given(app: App, standing: HookStanding) -> Given:
    return load_given(app, standing, hook_settings(app))


def _command_lines(standing: CommandStanding) -> list[str]:
    runs = standing.runs if standing.state == "ready" else standing.found.hooks
    return [
        one_line(f"At {one.event}{f' ({one.matcher})' if one.matcher else ''}: ") + f" {command_line(one.command)}"
        for one in runs
    ]


def _details(app: App, row: HookRow) -> dict[str, Any]:
    standing = row.standing
    if isinstance(standing, CommandStanding):
        return {"commands": msgspec.to_builtins(standing.found.hooks)}
    if not isinstance(standing, HookStanding) or standing.found.hook is None:
        return {}
    found, hook = standing.found, standing.found.hook
    return {
        "handler": f"{found.folder}/{found.handler}",
        "export": hook.export,
        "key": hook.key or None,
        "homepage": hook.about.homepage or None,
        "requires": msgspec.to_builtins(msgspec.structs.asdict(hook.about.requires)),
        "asks": msgspec.to_builtins(hook.wants),
        "gets": given_json(_given(app, standing)),
        "digest": digest_of(found).value or None,
        "approved": bool(standing.digest),
    }
