"""The commands in the text of a skill, run side by side in the sandbox (R56, R58).

They run in the skill's folder, on a copy whose bytes are those that were approved. They can read the project, and write
nothing that lasts.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

import anyio
from anyio import to_thread
from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import is_within, real_path
from clawft.render import Dynamic
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.process import Finished
from clawft.tools.dynamic.judge import Line, judge_commands
from clawft.tools.dynamic.use import DynamicContext, Use
from clawft.tools.environment import command_env
from clawft.tools.finished import tell_finished
from clawft.trust.copies import open_skill_copy
from clawft.trust.granted import granted_hosts
from clawft.trust.prefixes import SETTING

__all__ = ["run_commands"]

TIMEOUT_S = 30
MAX_BYTES = 64 * 1024
MAX_PARALLEL = 8
_LISTED, _ANNOUNCED = 5, 80  # commands that are named before they run, and characters of each
_SHOWN = 2_000  # characters of a failed command's output that are said
# They end with 1 to say that there is no match, or a difference.
_ONE_IS_FINE = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "diff", "cmp", "pgrep", "test", "["})
_ONE_IS_FINE_IN_GIT = (("git", "diff"), ("git", "grep"))


class _Setting(Struct, frozen=True):
    """Where commands run, and with what."""

    cwd: str
    env: Mapping[str, str]
    confinement: Confinement


async def run_commands(context: DynamicContext, places: Sequence[Dynamic], use: Use) -> dict[int, str]:
    """What each place becomes. Raises: Refused, before any of them runs; ClawftError for one that failed."""
    # Programs see files where they really are, whatever links lead there.
    project, folder = real_path(context.workspace.project), real_path(use.folder) if use.folder else ""
    async with _copy(context, use, folder) as copy:
        status = await to_thread.run_sync(context.sandbox.status)
        # Where a sandbox cannot show files in another place, commands work in the copy itself.
        is_mounted = status.kind == "bubblewrap"
        cwd = (folder if is_mounted else copy) or project
        repository = _find_repository(project, folder)
        judged = await to_thread.run_sync(judge_commands, context, places, use, (cwd, repository or cwd))
        mounts = ((copy, folder),) if copy and is_mounted else ()
        readable = (copy,) if copy and not is_mounted else ()
        own = await to_thread.run_sync(context.supplies.take, use.cleared, use.variables.session_id)
        env = {**command_env(context.config.tools.exec, context.environ, own), **_git_env(repository)}
        confinement = Confinement(readable=readable, shown=(project,), mounts=mounts, hosts=_hosts(context, use))
        setting = _Setting(cwd, env, confinement)
        use.tell(_announce(context, [line for lines in judged for line in lines], use))
        return await _run_all(context, list(zip(places, judged, strict=True)), use, setting)


def _copy(context: DynamicContext, use: Use, folder: str) -> AbstractAsyncContextManager[str]:
    """What the commands run on; one of Claude's commands has no folder, and nothing to copy."""
    if not folder:
        return nullcontext("")
    return open_skill_copy(context.workspace.user_dir, folder, use.cleared.digest)


def _hosts(context: DynamicContext, use: Use) -> tuple[str, ...]:
    """The hosts that the commands may reach: by the user's rules, and by what strangers' skills were approved with."""
    authority = context.authority()
    approved = [one.hosts for one in authority.limits if one.hosts is not None]
    if use.cleared.stranger:
        approved.append(use.cleared.granted.network if use.cleared.granted else ())
    return granted_hosts(authority.rules, approved)


def _announce(context: DynamicContext, lines: Sequence[Line], use: Use) -> str:
    shown = [f"`{context.show(line.text)[:_ANNOUNCED]}`" for line in lines[:_LISTED]]
    more = f" and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
    return f"The skill '{use.skill.name}' runs {', '.join(shown)}{more}"


def _find_repository(project: str, folder: str) -> str:
    """The project, if it is a git repository and the skill lies elsewhere: what skills ask git is about the project."""
    elsewhere = bool(folder) and not is_within(folder, project)
    return project if elsewhere and os.path.isdir(os.path.join(project, ".git")) else ""


def _git_env(repository: str) -> dict[str, str]:
    return {"GIT_DIR": os.path.join(repository, ".git"), "GIT_WORK_TREE": repository} if repository else {}


async def _run_all(
    context: DynamicContext, judged: Sequence[tuple[Dynamic, tuple[Line, ...]]], use: Use, setting: _Setting
) -> dict[int, str]:
    """All at once, as far as there is room; the first that fails ends the others."""
    results: dict[int, str] = {}
    failures: list[ClawftError] = []
    limiter = anyio.CapacityLimiter(MAX_PARALLEL)

    async def run(place: Dynamic, lines: tuple[Line, ...]) -> None:
        try:
            async with limiter:
                outputs = [await _run_line(context, line, place, use, setting) for line in lines]
        except ClawftError as error:
            failures.append(error)
            group.cancel_scope.cancel()
        else:
            results[place.start] = "\n".join(filter(None, outputs))

    async with anyio.create_task_group() as group:
        for place, lines in judged:
            group.start_soon(run, place, lines)
    if failures:
        raise failures[0]
    return results


async def _run_line(context: DynamicContext, line: Line, place: Dynamic, use: Use, setting: _Setting) -> str:
    """The output of one command. Raises: ClawftError if it did not do its work."""
    use.record(context.audit, "command", line.text, "allow", SETTING)
    how: dict[str, object] = {"status": "cancelled"}
    try:
        finished = await context.sandbox.run(
            line.text,
            cwd=setting.cwd,
            env=setting.env,
            timeout_s=TIMEOUT_S,
            max_bytes=MAX_BYTES,
            confinement=setting.confinement,
            record=partial(use.record, context.audit),
        )
        how = {"exit_code": finished.code}
    except (OSError, ClawftError) as error:
        how = {"status": "error"}
        if isinstance(error, ClawftError):
            raise
        raise use.fail(place, f"`{context.show(line.text)}` cannot be started: {error.strerror}") from error
    finally:
        use.record(context.audit, "command", line.text, "finished", detail=how)
    fine = finished.code == 0 or (finished.code == 1 and _is_fine_with_one(line.words))
    if fine and not finished.timed_out and not finished.flooded:
        return context.clean(_text_of(finished)).rstrip("\n")
    said = context.clean(tell_finished(finished, setting.cwd).text)
    told = said if len(said) <= _SHOWN else f"[…] {said[-_SHOWN:]}"
    shown = context.show(line.text)
    raise use.fail(place, f"A command of the skill '{use.skill.name}' failed: `{shown}`\n{told}")


def _text_of(finished: Finished) -> str:
    head, tail = finished.output[: finished.head_bytes], finished.output[finished.head_bytes :]
    if not finished.truncated:
        return finished.output.decode("utf-8", "replace")
    gap = f"\n[cut: {finished.cut_bytes} bytes are left out here; {MAX_BYTES} is the limit]\n"
    return head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace")


def _is_fine_with_one(words: tuple[str, ...]) -> bool:
    return words[0] in _ONE_IS_FINE or words[:2] in _ONE_IS_FINE_IN_GIT
