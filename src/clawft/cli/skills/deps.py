"""`weft skills deps NAME [--run]`: the programs that a skill needs, and how to get those that are missing."""

import os
import shlex
from collections.abc import Sequence
from typing import Any

import anyio
import click
import msgspec
from msgspec import Struct

from clawft.app import App
from clawft.cli._complete import complete_skills
from clawft.cli._confirm import confirm
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import clean, one_line, print_json, print_table, say
from clawft.errors import ClawftError, NotFound, Refused
from clawft.programs import Program as Prepared
from clawft.programs import clean_environ, show_files
from clawft.sandbox.process import Finished, run_process
from clawft.supply.installers import Installer, Program, list_installers, list_programs
from clawft.tools.environment import command_env
from clawft.trust import Standing
from clawft.trust.commands import CommandPolicy

__all__ = ["command"]

TIMEOUT_S = 900.0
MAX_OUTPUT = 1 << 20
HINT = "Look at it, then pass --only ID --yes"
_MARKS = {"ready": "can be run", "there": "not needed", "unfit": "cannot be run", "shown": "only shown"}


class _Asked(Struct, frozen=True):
    """What was asked for."""

    run: bool
    only: tuple[str, ...]
    yes: bool
    output: str
    dirs: tuple[str, ...]


@click.command("deps")
@click.argument("name", shell_complete=complete_skills)
@click.option("--run", is_flag=True, help="Run installers, each after you were asked.")
@click.option("--only", multiple=True, metavar="ID", help="Which of the installers to run (repeatable).")
@click.option("--yes", "-y", is_flag=True, help="Do not ask; only with --only.")
@format_option
@dir_option
def command(name: str, **given: Any) -> int:
    """Show which programs a skill needs, which of them are missing, and the installers that it names for them.

    Nothing is run without --run. An installer changes the machine, so it runs with your rights and outside the sandbox,
    as far as the command policy allows, and you are asked about each with the exact command.
    """
    asked = _Asked(**given)
    if asked.yes and asked.run and not asked.only:
        raise click.UsageError("With --yes, say which installers to run: --only ID")
    app = open_here(asked.dirs)
    standing = app.get_skill(name)
    skill = standing.found.skill
    if asked.run:
        _check_trust(app, standing)
    if skill is None:
        raise ClawftError("skill-broken", f"The skill '{name}' cannot be read", hint=f"Run: weft skills why {name}")
    programs = list_programs(skill, app.host)
    installers = list_installers(skill, app.host, root=os.geteuid() == 0)
    if asked.output == "table" or (asked.run and not asked.yes):
        _show(programs, installers)
    done = _run(app, name, _choose(installers, asked), asked) if asked.run else {}
    if asked.output == "json":
        print_json(
            "clawft.skills.deps.v1",
            name=name,
            programs=msgspec.to_builtins(programs),
            installers=[{**msgspec.to_builtins(one), "command": shlex.join(one.words)} for one in installers],
            done={key: {"code": one.code, "output": _text(one)} for key, one in done.items()},
        )
    return 1 if any(one.code for one in done.values()) else 0


def _show(programs: Sequence[Program], installers: Sequence[Installer]) -> None:
    for one in programs:
        say(one_line(f"{'✓' if one.there else '✗'} {one.name}"))
    if not programs:
        say("It names no programs that it needs")
    if installers:
        rows = [
            (one.id, _MARKS[one.state], shlex.join(one.words or (one.url or one.label,)), one.why) for one in installers
        ]
        print_table(("ID", "STATE", "COMMAND", "WHY"), rows, wide=2)


def _choose(installers: Sequence[Installer], asked: _Asked) -> list[Installer]:
    """Those to run: the named ones, else all that can be run and bring something. Raises: NotFound, Refused."""
    known = {one.id: one for one in installers}
    for name in asked.only:
        if name not in known:
            raise NotFound("installer-not-found", f"No installer '{name}'", hint=f"There are: {', '.join(known)}")
        if known[name].state not in ("ready", "there"):
            message = f"The installer '{name}' cannot be run: {known[name].why}"
            raise Refused("installer-unfit", message, hint="What it would do is shown without --run")
    return [known[name] for name in asked.only] or [one for one in installers if one.state == "ready"]


def _run(app: App, name: str, chosen: Sequence[Installer], asked: _Asked) -> dict[str, Finished]:
    """Run what a person agrees to, one after the other; it ends with the first that fails. Raises: ClawftError."""
    if not chosen:
        say("There is nothing to run")
    done: dict[str, Finished] = {}
    for one in chosen:
        line = shlex.join(one.words)
        _check(app, line)
        env = command_env(app.config.tools.exec, clean_environ(app.environ), {})
        program = app.launcher.prepare(one.words, env)
        question = f"Run with all your rights, outside the sandbox: {line}{show_files(program.files)}"
        if not asked.yes and not confirm(f"{question}?", "To run an installer", HINT):
            app.audit.tell("command", line, decision="denied", skill=name)
            continue
        detail: dict[str, object] = {"sandbox": "outside", "for": "deps", "files": program.files}
        app.audit.write("command", line, decision="allowed", skill=name, detail=detail)
        how: dict[str, object] = {"status": "error"}
        try:
            finished = anyio.run(_start, program)
            how = {"exit_code": finished.code}
        finally:
            app.audit.tell("command", line, decision="finished", skill=name, detail=how)
        done[one.id] = finished
        if asked.output == "table":
            click.echo(_text(finished), nl=False)
            say(one_line(f"{line}: {'done' if not finished.code else f'failed with code {finished.code}'}"))
        if finished.code:
            break
    return done


def _check_trust(app: App, standing: Standing) -> None:
    """Raises: Refused for a skill that nobody approved: it is who names the packages."""
    objection = app.strangers.object_to_use(standing.found)
    if standing.state == "blocked" or objection is not None:
        message = objection.message if objection else standing.reasons[0].message
        hint = objection.hint if objection else f"Run: weft skills why {standing.name}"
        raise Refused("skill-untrusted", f"Nothing is run for '{standing.name}': {message}", hint=hint)


def _check(app: App, line: str) -> None:
    """Raises: Refused for what the command policy forbids."""
    verdict = CommandPolicy(app.config.tools.exec).judge(line)
    if verdict.decision == "deny":
        app.audit.tell("command", line, decision="denied", rule=verdict.reason)
        raise Refused("command-denied", f"The command policy refuses {line}: {verdict.reason}", hint="Run it yourself")


async def _start(program: Prepared) -> Finished:
    words, cwd, env = program.words, program.cwd, program.env
    try:
        return await run_process(words, cwd=cwd, env=env, timeout_s=TIMEOUT_S, max_bytes=MAX_OUTPUT)
    except OSError as error:
        raise ClawftError("installer-failed", f"{words[0]} cannot be started: {error.strerror}") from error


def _text(finished: Finished) -> str:
    return clean((finished.output + finished.errors).decode("utf-8", "replace"))
