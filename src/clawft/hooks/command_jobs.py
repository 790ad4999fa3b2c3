"""From command hooks that may be run to handlers: what each gets, and equal ones as one."""

import os
from collections.abc import Callable, Iterable, Mapping

from msgspec import structs

from clawft.config.hooks import HooksSettings
from clawft.config.secret import names_secret
from clawft.discovery.catalog import Found
from clawft.hooks.command import CommandHandler, CommandJob, Surroundings
from clawft.trust.cleared import Cleared
from clawft.trust.command_hooks import STRANGE, CommandStanding, entry_for
from clawft.trust.hook_lines import fill_line, find_files
from clawft.workspace import Workspace, resolve_path

__all__ = ["make_command_handlers"]


def make_command_handlers(
    standings: Iterable[CommandStanding],
    settings: HooksSettings,
    environ: Mapping[str, str],
    around: Surroundings,
    skill: tuple[Callable[[Found], Cleared], Callable[[Cleared, str], Mapping[str, str]]],
) -> list[CommandHandler]:
    """A handler for every command that is ready. `skill` has how one is cleared, and the variables of one.

    Raises: ClawftError for a secret that is not there.
    """
    clear, own_env = skill
    handlers: list[CommandHandler] = []
    known: dict[tuple[str, str, str], int] = {}
    for standing in standings:
        if standing.state != "ready":
            continue
        for job in _make_jobs(standing, settings, environ, around.sandbox.workspace):
            # Claude Code runs the same command once for an event, wherever it is written.
            key = (job.hook.event, job.hook.command, job.folder)
            if key in known:
                handlers[known[key]] = _join(handlers[known[key]], job)
                continue
            known[key] = len(handlers)
            found = standing.found.skill
            cleared = (lambda found=found: clear(found)) if found is not None else None
            handlers.append(CommandHandler(job, around, cleared, own_env))
    return handlers


def _join(handler: CommandHandler, job: CommandJob) -> CommandHandler:
    """The same command with what another place says of when it is run, and the stricter of both."""
    first = handler.job
    both = structs.replace(first, matchers=(*first.matchers, *job.matchers), strict=first.strict or job.strict)
    return handler.with_job(both)


def _make_jobs(
    standing: CommandStanding, settings: HooksSettings, environ: Mapping[str, str], workspace: Workspace
) -> Iterable[CommandJob]:
    entry = entry_for(standing.name, settings)
    found, wanted = standing.found, entry.permissions
    given = {name: value.resolve(environ) for name, value in entry.env.items()}
    read = tuple(resolve_path(one, workspace.project, workspace.home) for one in (wanted.read if wanted else ()))
    write = tuple(resolve_path(one, workspace.project, workspace.home) for one in (wanted.write if wanted else ()))
    own = found.scope in ("user", "here") and found.skill is None
    for hook in standing.runs:
        yield CommandJob(
            standing.name,
            hook,
            (hook.matcher,),
            min(hook.timeout_s, entry.timeout_s or hook.timeout_s),
            settings.max_output_bytes,
            strict=entry.on_failure == "deny",
            hosts=() if found.scope in STRANGE and found.skill is None else None,
            skill=found.skill.name if found.skill else "",
            folder=found.skill.folder if found.skill else found.folder,
            digest=standing.digest if found.folder else "",
            scripts=standing.scripts,
            env=given,
            secret=tuple(name for name, value in entry.env.items() if value.is_reference or names_secret(name)),
            readable=(*read, *(_own_files(hook.command, workspace) if own else ())),
            writable=write,
            net=wanted.net if wanted else (),
        )


def _own_files(command: str, workspace: Workspace) -> tuple[str, ...]:
    """The files of the user's that a command of theirs starts, and those beside them in their folder of hooks."""
    places = {"CLAUDE_PROJECT_DIR": workspace.project, "HOME": workspace.home}
    files = find_files(fill_line(command, places), workspace.project, places)
    beside = f"{workspace.home}/.claude/hooks"
    return (*files, *((beside,) if os.path.isdir(beside) else ()))
