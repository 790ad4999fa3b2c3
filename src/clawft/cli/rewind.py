"""`weft sessions rewind`, and what it shares with `/undo` and `/redo`: the preview of a rewind, and its result."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from clawft.agent.checkpoints.rewind import RewindStep
from clawft.agent.checkpoints.session import SessionRewind, apply_rewind, find_rewind
from clawft.agent.checkpoints.snapshot import render_gaps, show_bytes
from clawft.agent.sessions import SessionSummary
from clawft.cli.completion import complete_sessions
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, one_line, say
from clawft.cli.prompts import confirm
from clawft.errors import ClawftError
from clawft.files import is_within
from clawft.workspace import Workspace


@click.command("rewind")
@click.argument("key", shell_complete=complete_sessions)
@click.option(
    "--to", type=click.IntRange(min=0), metavar="TURN", help="Go back to the end of TURN; 0 is the beginning."
)
@click.option("--redo", is_flag=True, help="Bring back what the last rewind took back.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask; what was changed since is left as it is.")
@format_option
def rewind_command(key: str, to: int | None, redo: bool, dry_run: bool, yes: bool) -> CommandResult:
    """Take turns of a conversation back, with what they changed in the project. Without --to the last one.

    What edits and commands changed goes back to what it held before, git's HEAD, index, branches and reflogs too. What
    you changed since is asked about. Run it in the folder of the project.
    """
    if redo and to is not None:
        raise click.UsageError("--redo goes back to where the last rewind began: leave out --to")
    app = open_here()
    name = app.sessions.resolve(key)
    _check_here(app.workspace, app.sessions.get(name))
    with app.sessions.open(name) as session:  # nobody else goes on with it meanwhile
        rewind = find_rewind(app.workspace, app.sessions.read(name), to, redo=redo)
        lines = list(preview_lines(app.workspace, rewind))
        chosen: list[bytes] | None = None if dry_run else _choose(app.workspace, rewind, lines, yes=yes)
        with app.watch_turn():  # what comes back is not the person's own edit
            results = None if chosen is None else apply_rewind(app.workspace, session, rewind, chosen)

    def show() -> None:
        if dry_run or yes:
            for line in lines:
                say(line)
        for line in () if dry_run else result_lines(rewind, results):
            say(line)

    failed = results is not None and any(results.values())
    code = int((results is None and not dry_run) or failed)
    return CommandResult("clawft.sessions.rewind.v1", _to_json(rewind, results), show, code)


def _check_here(at: Workspace, summary: SessionSummary) -> None:
    """Check that a session belongs to the project here. Raises: ClawftError."""
    if summary.cwd and not is_within(summary.cwd, at.project):
        hint = f"Run it there: cd {at.shorten(summary.cwd)}"
        raise ClawftError("session-elsewhere", "The session belongs to another project", path=summary.cwd, hint=hint)


def _choose(at: Workspace, rewind: SessionRewind, lines: Sequence[str], *, yes: bool) -> list[bytes] | None:
    """The paths that go back; None where the person declines. Raises: Refused where there is nobody to ask."""
    chosen = [step.path for step in rewind.plan.clean]
    if yes:
        return chosen
    for line in lines:
        say(line)
    if not confirm("Go on?", "Rewinding a session"):
        return None
    for step in rewind.plan.doubtful:
        chosen += [step.path] if confirm(doubt_question(at, step), "Rewinding a session") else []
    return chosen


def doubt_question(at: Workspace, step: RewindStep) -> str:
    """Return the question on a path that may hold another's work."""
    return f"{_show(at, step.path)} {_DOUBTS.get(step.changed, step.changed)}. Undo that too?"


_DOUBTS = {"changed since": "was changed since"}
_MAX_LINES = 100
_MAX_NAMED = 6


def preview_lines(at: Workspace, rewind: SessionRewind) -> Iterator[str]:
    """Say which turns go, and what happens to which path."""
    plan = rewind.plan
    where = f"the end of turn {plan.to}" if plan.to else "its beginning"
    yield f"{rewind.title}; the conversation goes on from {where}"
    lines = list(_list_effects(at, plan.steps))
    yield from lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        yield f"  and {len(lines) - _MAX_LINES} more; --dry-run --format json lists all"
    if not plan.steps:
        yield "  no file changes by that"
    if plan.gaps:
        yield one_line(f"Not covered by undo: {render_gaps(plan.gaps)}")


def _list_effects(at: Workspace, steps: Sequence[RewindStep]) -> Iterator[str]:
    """List what happens to each path: what is in a folder with the folder, what git keeps in one line."""
    groups: dict[tuple[str, str], list[str]] = {}
    folders = {(step.effect, step.path) for step in steps if _is_clean(step) and _is_folder(step)}
    for step in steps:
        if not _is_clean(step):
            groups["leave" if step.problem else step.effect, _show(at, step.path)] = [step.problem or step.changed]
            continue
        parts = step.path.split(b"/")
        above = [b"/".join(parts[:end]) for end in range(1, len(parts))]
        whole = next((path for path in above if (step.effect, path) in folders), None)
        git = next((path for path in above if path.endswith(b"/.git") or path == b".git"), None)
        if whole is not None and (git is None or len(whole) <= len(git)):
            groups[step.effect, _show(at, whole)].append("")
        elif git is not None:
            groups.setdefault(("change", _show(at, git)), []).append(step.shown[len(git) + 1 :])
        else:
            groups[step.effect, _show(at, step.path)] = []
    for (effect, shown), more in groups.items():
        yield f"  {effect:<10}  {shown}{_summarise(more)}"


def _summarise(more: Sequence[str]) -> str:
    """Say what a line holds beside its path: reasons, names of git, or only how many."""
    if not more:
        return ""
    if not any(more):
        return f" ({len(more)} in it)"
    rest = f" and {len(more) - _MAX_NAMED} more" if len(more) > _MAX_NAMED else ""
    return f" ({one_line(', '.join(more[:_MAX_NAMED]))}{rest})"


def _is_clean(step: RewindStep) -> bool:
    return not step.changed and not step.problem


def _is_folder(step: RewindStep) -> bool:
    entry = step.want or step.seen
    return entry is not None and entry.is_folder and step.effect != "change"


def _show(at: Workspace, path: bytes) -> str:
    return one_line(at.shorten(f"{at.project.rstrip('/')}/{show_bytes(path)}"))


def result_lines(rewind: SessionRewind, results: Mapping[bytes, str] | None) -> Iterator[str]:
    """Say what was done; `results` is None where nothing was."""
    if results is None:
        yield "Nothing was changed"
        return
    for path, problem in results.items():
        if problem:
            yield one_line(f"{show_bytes(path)} stays as it is: {problem}")
    done = sum(not problem for problem in results.values())
    left = len(rewind.plan.steps) - done
    rest = f"; {left} left as {'it is' if left == 1 else 'they are'}" if left else ""
    yield f"Done: {done} file{'s' * (done != 1)}{rest}"


def _to_json(rewind: SessionRewind, results: Mapping[bytes, str] | None) -> dict[str, Any]:
    plan = rewind.plan
    return {
        "key": plan.session,
        "turns": rewind.turns,
        "to": plan.to,
        "redo": plan.redo,
        "done": results is not None,
        "files": [
            {
                "path": step.shown,
                "effect": step.effect,
                "changed": step.changed or None,
                "problem": step.problem or (results or {}).get(step.path) or None,
                "done": bool(results is not None and results.get(step.path) == ""),
            }
            for step in plan.steps
        ],
        "not_covered": [{"path": gap.path, "reason": gap.why, "bytes": gap.size or None} for gap in plan.gaps],
    }
