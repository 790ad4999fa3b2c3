"""`weft hooks check`: what keeps hooks from running, and what to do about it."""

from collections.abc import Iterable, Iterator

import anyio
import click

from clawft.app import App
from clawft.cli._complete import complete_hooks
from clawft.cli.hooks._given import find_vain, load_given
from clawft.cli.hooks.show import all_reasons
from clawft.cli.options import format_option, open_here
from clawft.cli.output import one_line, print_json, show_diagnostic
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, Diagnostic
from clawft.hooking import HookRow, find_row, hook_settings, load_rows
from clawft.hooks.deno import Deno, find_deno
from clawft.hooks.grants import HookJob
from clawft.hooks.notes import Notes
from clawft.sandbox.sandbox import Sandbox
from clawft.trust.hooks import HOOK_STATES, HookStanding

__all__ = ["command"]

_FAILS = frozenset({"broken", "blocked", "ineligible"})  # what is to run, and cannot


@click.command("check")
@click.argument("name", required=False, shell_complete=complete_hooks)
@format_option
def command(name: str | None, output: str) -> int:
    """Tell what keeps hooks from running: all of them, or NAME.

    Handlers are loaded, with what they are given, and not called. Exits 1 if one that is to run cannot. One that is
    off, or that nobody approved, is not to run.
    """
    app = open_here()
    rows = load_rows(app)
    chosen = [find_row(rows, name)] if name else sorted(rows, key=lambda one: one.name)
    shared = list(_check_machine(app, chosen))
    sandbox = app.open_sandbox() if not shared else None
    own = {id(row): _check_row(app, row, sandbox) for row in chosen}
    failed = bool(shared) or any(row.state in _FAILS or _has_error(own[id(row)]) for row in chosen)
    if output == "json":
        checked = [
            {"name": row.name, "kind": row.kind, "state": row.state, "problems": [to_json(one) for one in own[id(row)]]}
            for row in chosen
        ]
        print_json("clawft.hooks.check.v1", ok=not failed, hooks=checked, problems=[to_json(one) for one in shared])
        return int(failed)
    for one in shared:
        show_diagnostic(one, where="", err=False)
    for row in chosen:
        _print(app, row, own[id(row)])
    if not chosen:
        click.echo("There are no hooks to check. See: weft help hooks")
    return int(failed)


def _print(app: App, row: HookRow, problems: Iterable[Diagnostic]) -> None:
    fails = row.state in _FAILS or _has_error(problems)
    mark = "✗" if fails else "✓" if row.state == "ready" else "·"
    meaning = "but cannot run" if fails and row.state == "ready" else HOOK_STATES.get(row.state, "")
    click.echo(one_line(f"{mark} {row.name} is {row.state}{',' if meaning.startswith('but') else ':'} {meaning}"))
    for one in problems:
        where = app.workspace.shorten(one.where) if one.path != row.file else f"line {one.line}" if one.line else ""
        show_diagnostic(one, where=where, err=False, indent="    ")


def _has_error(problems: Iterable[Diagnostic]) -> bool:
    return any(one.severity == "error" for one in problems)


def _check_row(app: App, row: HookRow, sandbox: Sandbox | None) -> list[Diagnostic]:
    """What there is to say of one hook; a secret that it is to get and that is not there, too. With a sandbox to run in
    it is loaded."""
    said = list(all_reasons(row))
    if row.state == "ready" and isinstance(row.standing, HookStanding):
        given = load_given(app, row.standing, hook_settings(app))
        said += [given.problem] if given.problem else []
        said += find_vain(app, given, row.file)
        if given.missing:
            hint = f"Give them in env of [hooks.entries.{row.name}] of your config"
            message = f"It is to get variables that have no value: {', '.join(given.missing)}"
            said.append(Diagnostic("hook-env", "warning", message, row.file, 0, hint))
        said += _load(app, sandbox, given.job) if sandbox and given.job else []
    return said


def _load(app: App, sandbox: Sandbox, job: HookJob) -> list[Diagnostic]:
    """What is wrong with a handler, as a turn would find out."""
    try:
        anyio.run(Deno(sandbox, Notes(app.audit, app.secrets)).load, job)
    except ClawftError as error:
        return [error.diagnostic]
    return []


def _check_machine(app: App, rows: Iterable[HookRow]) -> Iterator[Diagnostic]:
    """What keeps all of them from running, each said once."""
    ready = [row for row in rows if row.state == "ready"]
    if any(row.kind == "deno" for row in ready):
        try:
            find_deno()
        except ClawftError as error:
            yield error.diagnostic
    status = app.open_sandbox().status() if ready else None
    if status is not None and status.kind == "none":
        message = f"Programs cannot be confined here, so no hook is run: {status.reason}"
        yield Diagnostic("sandbox-unavailable", "error", message, hint="Run: weft doctor")
