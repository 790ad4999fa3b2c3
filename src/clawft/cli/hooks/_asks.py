"""What a hook asks for and what it is given: `show`, `enable` and the review of skills share it."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from clawft.app import App
from clawft.cli.output import one_line
from clawft.config.hooks import HooksSettings, Permissions
from clawft.discovery.hooks import FoundHook
from clawft.errors import ClawftError, Diagnostic
from clawft.format.command_hooks import CommandHook, parse_skill_commands
from clawft.format.model import Skill
from clawft.hooks.grants import HookJob
from clawft.hooks.handlers import make_job
from clawft.trust.hooks import HookStanding, entry_of, why_strange

__all__ = ["Given", "asks_line", "brought_json", "brought_lines", "given_json", "given_lines", "load_given"]

_WORDS = {"read": "read {}", "write": "change {}", "net": "reach {}", "env": "variables {}"}
NOTHING = "nothing beside its own folder and the project, which it reads"


class Given(Struct, frozen=True):
    """What a hook gets when it runs; `job` is None where that cannot be told, and `problem` says why."""

    job: HookJob | None
    asked: bool  # it gets what it asks for; else what the config says
    missing: tuple[str, ...] = ()  # variables that it asks for in vain
    problem: Diagnostic | None = None
    strict: bool = False


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
    missing = tuple(name for name in wanted.env if name not in job.grants.env)
    return Given(job, asked, missing, strict=strict)


def given_lines(given: Given, shorten: Callable[[str], str]) -> list[str]:
    """The same, to be read."""
    job = given.job
    if job is None:
        return [one_line(f"Gets: cannot be told: {given.problem.message}" if given.problem else "Gets: nothing")]
    grants = job.grants
    parts = {"read": [*map(shorten, grants.read)], "write": [*map(shorten, grants.write)], "net": grants.net}
    whose = "" if given.asked else " (your config says so)"
    lines = [f"Gets: {_say({**parts, 'env': tuple(grants.env)}) or NOTHING}{whose}"]
    if given.missing:
        lines.append(f"Not given: {one_line(', '.join(given.missing))} (name it in env of [hooks.entries.{job.name}])")
    kept = ", kept between calls" if job.persistent else ""
    lines.append(f"Limits: {job.timeout_s:g} s, {job.memory_mb} MB, {job.max_bytes} bytes of output{kept}")
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
        "env": sorted(job.grants.env),
        "missing_env": given.missing,
        "as_asked": given.asked,
        **{name: getattr(job, name) for name in names},
        "on_failure": "deny" if given.strict else "ignore",
    }


def asks_line(wants: Permissions) -> str:
    """What a HOOK.md asks for, in a line."""
    return _say({name: getattr(wants, name) for name in _WORDS}) or NOTHING


def _say(parts: dict[str, Sequence[str]]) -> str:
    said = [_WORDS[name].format(", ".join(map(one_line, values))) for name, values in parts.items() if values]
    return "; ".join(said)


def brought_lines(hooks: Sequence[FoundHook], skill: Skill | None, file: str) -> list[str]:
    """The hooks that a skill brings: each with its events and what it asks for; and the commands of its frontmatter."""
    lines = []
    for one in hooks:
        if one.hook is None:
            why = f": {one.problem.message}" if one.problem else ""
            lines.append("  " + one_line(f"{one.name}: cannot be read{why}"))
        else:
            events = ", ".join(one.hook.events) or "no event that happens here"
            lines += [f"  {one_line(f'{one.name} at {events}')}", f"    may reach: {asks_line(one.hook.wants)}"]
    for each in _commands(skill, file):
        matcher = f" ({each.matcher})" if each.matcher else ""
        lines.append("  " + one_line(f"a command at {each.event}{matcher}: {each.command}")[:300])
    return ["Brings hooks, which run by themselves:", *lines] if lines else []


def brought_json(hooks: Sequence[FoundHook], skill: Skill | None, file: str) -> list[dict[str, Any]]:
    """The same for other programs."""
    deno = [
        {
            "kind": "deno",
            "name": one.name,
            "path": one.file,
            "events": one.hook.events if one.hook else [],
            "asks": msgspec.to_builtins(one.hook.wants) if one.hook else None,
            "problem": one.problem.message if one.problem else None,
        }
        for one in hooks
    ]
    commands = [
        {"kind": "command", "events": [one.event], "matcher": one.matcher, "command": one.command}
        for one in _commands(skill, file)
    ]
    return [*deno, *commands]


def _commands(skill: Skill | None, file: str) -> Sequence[CommandHook]:
    return parse_skill_commands(skill, file).hooks if skill is not None else ()
