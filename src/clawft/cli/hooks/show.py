"""`weft hooks show`: everything about one hook, and what it would get when it runs."""

import os
from collections.abc import Callable
from typing import Any

import click
import msgspec
from msgspec import Struct, structs

from clawft.agent.hooks.handlers import HookLaunch, make_hook_launch
from clawft.app.app import App
from clawft.app.hooks import AnyHookStatus, find_hook, load_all_hooks
from clawft.cli.hooks.list import complete_hooks, row_json
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, diagnostic_lines, one_line
from clawft.cli.review import NOTHING, render_hook_command, render_reach, render_requests
from clawft.config.extensions import HookPermissions, HooksSettings
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.parse.dependencies import install_command
from clawft.trust.command_hooks import CommandHooksStatus
from clawft.trust.hooks import HookStatus, compute_hook_digest, get_hook_entry, why_untrusted
from clawft.trust.network import PrivateIp, UrlPolicy, parse_grant
from clawft.trust.status import HOOK_STATES


class HookInputs(Struct, frozen=True):
    """The launch settings and variables that a hook gets when it runs.

    `job` is None if that cannot be determined, and `problem` says why.
    """

    job: HookLaunch | None
    asked: bool  # it gets what it asks for; else what the config says
    missing: tuple[str, ...] = ()  # variables that it asks for, or was promised, and that have no value
    problem: Diagnostic | None = None
    strict: bool = False
    is_untrusted: bool = False  # written by another author


def load_inputs(app: App, status: HookStatus, settings: HooksSettings) -> HookInputs:
    """Return what a hook would get now."""
    found = status.found
    entry = get_hook_entry(found, settings)
    asked = entry.permissions is None
    strict = entry.on_failure == "deny"
    if status.hosts is None and (found.skill is not None or why_untrusted(found, app.workspace)):
        untrusted = found.skill is None or app.trust_policy.requires_approval(found.skill)
        status = structs.replace(status, hosts=() if untrusted else None)
    try:
        job = make_hook_launch(status, settings, app.workspace, app.environ)
    except ClawftError as error:
        return HookInputs(None, asked, problem=error.diagnostic, strict=strict)
    wanted = (
        (found.hook.wants if found.hook else HookPermissions()) if asked else entry.permissions or HookPermissions()
    )
    missing = tuple(name for name in dict.fromkeys((*wanted.env, *entry.env)) if not job.grants.env.get(name))
    return HookInputs(job, asked, missing, strict=strict, is_untrusted=status.hosts is not None)


def find_unusable_inputs(app: App, inputs: HookInputs, file: str) -> list[Diagnostic]:
    """Find what a hook is granted and cannot use: missing paths to write to, and addresses that cannot be reached."""
    if inputs.job is None:
        return []
    problems = []
    for path in inputs.job.grants.write:
        if inputs.is_untrusted and is_within(os.path.realpath(path), os.path.realpath(inputs.job.root)):
            what = f"It may change {app.workspace.shorten(path)}, which is approved with it: if it does, it waits again"
            hint = f"Let it write elsewhere: permissions in [hooks.entries.{inputs.job.name}] of your config"
            problems.append(("hook-write", what, hint))
        elif not os.path.lexists(path):
            what = f"It may change {app.workspace.shorten(path)}, which is not there, so it cannot"
            problems.append(("hook-write", what, "Make it first: only what is there can be opened to a hook"))
    policy = UrlPolicy(app.config.tools.web)
    for grant in inputs.job.grants.net:
        host = parse_grant(grant).host
        try:
            policy.read_allowed(f"http://{f'[{host}]' if ':' in host else host}/")
        except PrivateIp as error:
            problems.append(("hook-net", f"It may reach {grant}, which is kept from it: {error}", error.hint))
        except ClawftError:
            continue  # the proxy says so when it is tried
    return [Diagnostic(code, "warning", what, file, 0, hint) for code, what, hint in problems]


def render_inputs(inputs: HookInputs, shorten: Callable[[str], str]) -> list[str]:
    """Render the inputs of a hook for a person."""
    job = inputs.job
    if job is None:
        return [one_line(f"Gets: cannot be told: {inputs.problem.message}" if inputs.problem else "Gets: nothing")]
    grants = job.grants
    parts = {"read": [*map(shorten, grants.read)], "write": [*map(shorten, grants.write)], "net": grants.net}
    whose = "" if inputs.asked else " (your config says so)"
    known = [name for name, value in grants.env.items() if value]
    lines = [f"Gets: {render_reach({**parts, 'env': known}) or NOTHING}{whose}"]
    if inputs.missing:
        lines.append(f"Not given: {one_line(', '.join(inputs.missing))} (give it in env of [hooks.entries.{job.name}])")
    persistence = ", kept between calls" if job.persistent else ""
    lines.append(
        f"Limits: {job.timeout_s:g} s, {job.memory_mb} MB, {job.max_bytes / 1024:,.0f} KB of output{persistence}"
    )
    return [*lines, "On failure: a tool call that it hears is refused"] if inputs.strict else lines


def encode_inputs(inputs: HookInputs) -> dict[str, Any] | None:
    """Return the inputs of a hook as JSON; variables by their names."""
    job = inputs.job
    if job is None:
        return None
    names = ("timeout_s", "memory_mb", "max_bytes", "persistent")
    grants = {name: getattr(job.grants, name) for name in ("read", "write", "net")}
    return {
        **grants,
        "env": sorted(name for name, value in job.grants.env.items() if value),
        "missing_env": inputs.missing,
        "as_asked": inputs.asked,
        **{name: getattr(job, name) for name in names},
        "on_failure": "deny" if inputs.strict else "ignore",
    }


@click.command("show")
@click.argument("name", shell_complete=complete_hooks)
@format_option
def command(name: str) -> CommandResult:
    """Show one hook: NAME, or FROM:NAME where several have that name."""
    app = open_here()
    row = find_hook(load_all_hooks(app), name)
    fields = row_json(row) | {
        "reasons": [diagnostic_json(reason) for reason in (*all_reasons(row), *_find_vain(app, row))]
    }

    def show() -> None:
        for line in hook_detail_lines(app, row):
            click.echo(line)

    return CommandResult("clawft.hooks.show.v1", {**fields, **_details(app, row)}, show)


def hook_detail_lines(app: App, row: AnyHookStatus) -> list[str]:
    """All there is to know about a hook, to be read."""
    shorten = app.workspace.shorten
    lines = [
        ("Hook", row.name),
        ("Description", row.found.about.description if isinstance(row, HookStatus) and row.found.about else ""),
        ("Events", ", ".join(row.found.events) or "none"),
        ("From", f"{row.found.origin} ({shorten(row.file)})"),
        (
            "Kind",
            "TypeScript or JavaScript, run with Deno" if isinstance(row, HookStatus) else "commands, as Claude Code's",
        ),
        ("State", f"{row.state}: {HOOK_STATES.get(row.state, '')}"),
    ]
    rendered = [f"{label}: {one_line(value)}" for label, value in lines if value]
    if isinstance(row, HookStatus):
        rendered += _deno_lines(app, row)
    elif isinstance(row, CommandHooksStatus):
        rendered += _command_lines(row)
    for reason in (*all_reasons(row), *_find_vain(app, row)):
        elsewhere = reason.path != row.file
        where = shorten(reason.where) if elsewhere else f"line {reason.line}" if reason.line else ""
        rendered += diagnostic_lines(reason, where=where)
    return rendered


def all_reasons(row: AnyHookStatus) -> tuple[Diagnostic, ...]:
    """Return the reasons for a hook's state, and the diagnostics of its file."""
    hook = row.found.hook if isinstance(row, HookStatus) else None
    return tuple(dict.fromkeys((*row.reasons, *(hook.diagnostics if hook else ()))))


def _deno_lines(app: App, status: HookStatus) -> list[str]:
    found, hook = status.found, status.found.hook
    if hook is None:
        return []
    requires = hook.about.requires
    wanted = [(field, getattr(requires, field)) for field in requires.__struct_fields__]
    return [
        f"Handler: {one_line(found.handler)}" + (f", its export {one_line(hook.export)}" * (hook.export != "default")),
        *([f"Homepage: {one_line(hook.about.homepage)}"] if hook.about.homepage else []),
        *(f"Requires {field.replace('_', ' ')}: {one_line(', '.join(names))}" for field, names in wanted if names),
        *(
            f"Install: {one_line(install_command(requirement))}"
            for requirement in hook.about.install
            if install_command(requirement)
        ),
        f"Asks for: {render_requests(hook.wants)}",
        *render_inputs(_make_inputs(app, status), app.workspace.shorten),
        f"Digest: {compute_hook_digest(found).value or 'none'}" + (" (approved)" if status.digest else ""),
    ]


def _find_vain(app: App, row: AnyHookStatus) -> list[Diagnostic]:
    if not isinstance(row, HookStatus) or row.found.hook is None:
        return []
    return find_unusable_inputs(app, _make_inputs(app, row), row.file)


def _make_inputs(app: App, status: HookStatus) -> HookInputs:
    return load_inputs(app, status, app.own_config.hooks)


def _command_lines(status: CommandHooksStatus) -> list[str]:
    runs = status.runs if status.state == "ready" else status.found.hooks
    return [
        one_line(f"At {run.event}{f' ({run.matcher})' if run.matcher else ''}: ")
        + f" {render_hook_command(run.command)}"
        for run in runs
    ]


def _details(app: App, status: AnyHookStatus) -> dict[str, Any]:
    if isinstance(status, CommandHooksStatus):
        return {"commands": msgspec.to_builtins(status.found.hooks)}
    if status.found.hook is None:
        return {}
    found, hook = status.found, status.found.hook
    return {
        "handler": f"{found.folder}/{found.handler}",
        "export": hook.export,
        "key": hook.key or None,
        "homepage": hook.about.homepage or None,
        "requires": msgspec.to_builtins(msgspec.structs.asdict(hook.about.requires)),
        "asks": msgspec.to_builtins(hook.wants),
        "gets": encode_inputs(_make_inputs(app, status)),
        "digest": compute_hook_digest(found).value or None,
        "approved": bool(status.digest),
    }
