"""`weft hooks check`: what keeps hooks from running, and what to do about it."""

from collections.abc import Iterable, Iterator

import anyio
import click

from clawft.agent.hooks.deno import DenoRunner, find_deno
from clawft.agent.hooks.handlers import HookAudit, HookLaunch
from clawft.app.app import App
from clawft.app.hooks import AnyHookStatus, find_hook, load_all_hooks
from clawft.cli.hooks.list import complete_hooks, kind_of
from clawft.cli.hooks.show import all_reasons, find_unusable_inputs, load_inputs
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, show_diagnostic, show_diagnostics
from clawft.errors import ClawftError, Diagnostic
from clawft.sandbox.sandbox import Sandbox
from clawft.server.protocol.base import diagnostic_json
from clawft.trust.hooks import HookStatus
from clawft.trust.status import HOOK_STATES

_FAILS = frozenset({"broken", "blocked", "ineligible"})  # what is to run, and cannot


@click.command("check")
@click.argument("name", required=False, shell_complete=complete_hooks)
@format_option
def command(name: str | None) -> CommandResult:
    """Tell what keeps hooks from running: all of them, or NAME.

    Handlers are loaded, with what they are given, and not called. Exits 1 if one that is to run cannot. One that is
    off, or that nobody approved, is not to run.
    """
    app = open_here()
    rows = load_all_hooks(app)
    chosen = [find_hook(rows, name)] if name else sorted(rows, key=lambda one: one.name)
    shared = list(_check_machine(app, chosen))
    sandbox = app.open_sandbox() if not shared else None
    own = {id(row): _check_row(app, row, sandbox) for row in chosen}
    failed = bool(shared) or any(row.state in _FAILS or _has_error(own[id(row)]) for row in chosen)
    checked = [
        {
            "name": row.name,
            "kind": kind_of(row),
            "state": row.state,
            "problems": [diagnostic_json(diagnostic) for diagnostic in own[id(row)]],
        }
        for row in chosen
    ]

    def show() -> None:
        show_diagnostics(shared, err=False)
        for row in chosen:
            _print(app, row, own[id(row)])
        if not chosen:
            click.echo("There are no hooks to check. See: weft help hooks")

    return CommandResult(
        "clawft.hooks.check.v1",
        {"ok": not failed, "hooks": checked, "problems": [diagnostic_json(diagnostic) for diagnostic in shared]},
        show,
        int(failed),
    )


def _print(app: App, row: AnyHookStatus, problems: Iterable[Diagnostic]) -> None:
    fails = row.state in _FAILS or _has_error(problems)
    mark = "✗" if fails else "✓" if row.state == "ready" else "·"
    meaning = "but cannot run" if fails and row.state == "ready" else HOOK_STATES.get(row.state, "")
    click.echo(one_line(f"{mark} {row.name} is {row.state}{',' if meaning.startswith('but') else ':'} {meaning}"))
    for problem in problems:
        where = (
            app.workspace.shorten(problem.where)
            if problem.path != row.file
            else f"line {problem.line}"
            if problem.line
            else ""
        )
        show_diagnostic(problem, where=where, err=False, indent="    ")


def _has_error(problems: Iterable[Diagnostic]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def _check_row(app: App, row: AnyHookStatus, sandbox: Sandbox | None) -> list[Diagnostic]:
    """Check one hook, including secrets that it should get and that have no value.

    With a sandbox to run in, the hook is loaded as well.
    """
    diagnostics = list(all_reasons(row))
    if row.state == "ready" and isinstance(row, HookStatus):
        inputs = load_inputs(app, row, app.own_config.hooks)
        diagnostics += [inputs.problem] if inputs.problem else []
        diagnostics += find_unusable_inputs(app, inputs, row.file)
        if inputs.missing:
            hint = f"Give them in env of [hooks.entries.{row.name}] of your config"
            message = f"It is to get variables that have no value: {', '.join(inputs.missing)}"
            diagnostics.append(Diagnostic("hook-env", "warning", message, row.file, 0, hint))
        diagnostics += _load(app, sandbox, inputs.job) if sandbox and inputs.job else []
    return diagnostics


def _load(app: App, sandbox: Sandbox, job: HookLaunch) -> list[Diagnostic]:
    """Load a handler as a turn would, and return the diagnostics."""
    try:
        anyio.run(DenoRunner(sandbox, HookAudit(app.audit, app.secrets)).load, job)
    except ClawftError as error:
        return [error.diagnostic]
    return []


def _check_machine(app: App, rows: Iterable[AnyHookStatus]) -> Iterator[Diagnostic]:
    """Check what keeps all hooks from running on this machine; each problem is yielded once."""
    ready = [row for row in rows if row.state == "ready"]
    if any(isinstance(row, HookStatus) for row in ready):
        try:
            find_deno()
        except ClawftError as error:
            yield error.diagnostic
    status = app.open_sandbox().status() if ready else None
    if status is not None and status.kind == "none":
        message = f"Programs cannot be confined here, so no hook is run: {status.reason}"
        yield Diagnostic("sandbox-unavailable", "error", message, hint="Run: weft doctor")
