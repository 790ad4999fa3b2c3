"""What a hook is given when it runs: `show`, `enable` and `check` share it."""

import os
from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from clawft.app import App
from clawft.cli.hooks._brought import NOTHING, say_reach
from clawft.cli.output import one_line
from clawft.config.hooks import HooksSettings, Permissions
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within
from clawft.hooks.grants import HookJob
from clawft.hooks.handlers import make_job
from clawft.trust.hooks import HookStanding, entry_of, why_strange
from clawft.trust.hosts import parse_grant
from clawft.trust.urls import PrivateIp, UrlPolicy

__all__ = ["Given", "find_vain", "given_json", "given_lines", "load_given"]


class Given(Struct, frozen=True):
    """What a hook gets when it runs; `job` is None where that cannot be told, and `problem` says why."""

    job: HookJob | None
    asked: bool  # it gets what it asks for; else what the config says
    missing: tuple[str, ...] = ()  # variables that it asks for, or was promised, and that have no value
    problem: Diagnostic | None = None
    strict: bool = False
    strange: bool = False  # somebody else wrote it


def load_given(app: App, standing: HookStanding, settings: HooksSettings) -> Given:
    """What a hook would get now."""
    found = standing.found
    entry = entry_of(found, settings)
    asked = entry.permissions is None
    strict = entry.on_failure == "deny"
    if standing.hosts is None and (found.skill is not None or why_strange(found, app.workspace)):
        strange = found.skill is None or app.strangers.is_strange(found.skill)
        standing = structs.replace(standing, hosts=() if strange else None)
    try:
        job = make_job(standing, settings, app.workspace, app.environ)
    except ClawftError as error:
        return Given(None, asked, problem=error.diagnostic, strict=strict)
    wanted = (found.hook.wants if found.hook else Permissions()) if asked else entry.permissions or Permissions()
    missing = tuple(name for name in dict.fromkeys((*wanted.env, *entry.env)) if not job.grants.env.get(name))
    return Given(job, asked, missing, strict=strict, strange=standing.hosts is not None)


def find_vain(app: App, given: Given, file: str) -> list[Diagnostic]:
    """What it is given and cannot use: places to write to that are not there, addresses that nothing here reaches."""
    if given.job is None:
        return []
    said = []
    for path in given.job.grants.write:
        if given.strange and is_within(os.path.realpath(path), os.path.realpath(given.job.root)):
            what = f"It may change {app.workspace.shorten(path)}, which is approved with it: if it does, it waits again"
            hint = f"Let it write elsewhere: permissions in [hooks.entries.{given.job.name}] of your config"
            said.append(("hook-write", what, hint))
        elif not os.path.lexists(path):
            what = f"It may change {app.workspace.shorten(path)}, which is not there, so it cannot"
            said.append(("hook-write", what, "Make it first: only what is there can be opened to a hook"))
    policy = UrlPolicy(app.config.tools.web)
    for grant in given.job.grants.net:
        host = parse_grant(grant).host
        try:
            policy.read_allowed(f"http://{f'[{host}]' if ':' in host else host}/")
        except PrivateIp as error:
            said.append(("hook-net", f"It may reach {grant}, which is kept from it: {error}", error.hint))
        except ClawftError:
            continue  # the proxy says so when it is tried
    return [Diagnostic(code, "warning", what, file, 0, hint) for code, what, hint in said]


def given_lines(given: Given, shorten: Callable[[str], str]) -> list[str]:
    """The same, to be read."""
    job = given.job
    if job is None:
        return [one_line(f"Gets: cannot be told: {given.problem.message}" if given.problem else "Gets: nothing")]
    grants = job.grants
    parts = {"read": [*map(shorten, grants.read)], "write": [*map(shorten, grants.write)], "net": grants.net}
    whose = "" if given.asked else " (your config says so)"
    known = [name for name, value in grants.env.items() if value]
    lines = [f"Gets: {say_reach({**parts, 'env': known}) or NOTHING}{whose}"]
    if given.missing:
        lines.append(f"Not given: {one_line(', '.join(given.missing))} (give it in env of [hooks.entries.{job.name}])")
    kept = ", kept between calls" if job.persistent else ""
    lines.append(f"Limits: {job.timeout_s:g} s, {job.memory_mb} MB, {job.max_bytes / 1024:,.0f} KB of output{kept}")
    return [*lines, "On failure: a tool call that it hears is refused"] if given.strict else lines


def given_json(given: Given) -> dict[str, Any] | None:
    """The same for other programs; variables by their names."""
    job = given.job
    if job is None:
        return None
    names = ("timeout_s", "memory_mb", "max_bytes", "persistent")
    grants = {name: getattr(job.grants, name) for name in ("read", "write", "net")}
    return {
        **grants,
        "env": sorted(name for name, value in job.grants.env.items() if value),
        "missing_env": given.missing,
        "as_asked": given.asked,
        **{name: getattr(job, name) for name in names},
        "on_failure": "deny" if given.strict else "ignore",
    }
