"""`weft skills deps NAME [--run]`: the programs that a skill needs, and how to get those that are missing."""

import os
import shlex
from collections.abc import Sequence

import anyio
import click
import msgspec

from clawft.agent.tools.environment import command_env
from clawft.app.app import App
from clawft.cli.completion import complete_skills
from clawft.cli.options import dir_option, format_option, open_here
from clawft.cli.output import CommandResult, clean, is_json_asked, one_line, print_table, say
from clawft.cli.prompts import confirm
from clawft.errors import ClawftError, NotFound, Refused
from clawft.install.transaction.program_installers import (
    ProgramInstaller,
    RequiredProgram,
    list_installers,
    list_programs,
)
from clawft.sandbox.process import Finished, run_process
from clawft.trust.command_policy import CommandPolicy
from clawft.trust.programs import PreparedProgram as Prepared
from clawft.trust.programs import clean_environ, show_files
from clawft.trust.status import SkillStatus

TIMEOUT_S = 900.0
MAX_OUTPUT = 1 << 20
HINT = "Look at it, then pass --only ID --yes"
_MARKS = {"ready": "can be run", "there": "not needed", "unfit": "cannot be run", "shown": "only shown"}


@click.command("deps")
@click.argument("name", shell_complete=complete_skills)
@click.option("--run", is_flag=True, help="Run installers, each after you were asked.")
@click.option("--only", multiple=True, metavar="ID", help="Which of the installers to run (repeatable).")
@click.option("--yes", "-y", is_flag=True, help="Do not ask; only with --only.")
@format_option
@dir_option
def command(name: str, run: bool, only: tuple[str, ...], yes: bool, dirs: tuple[str, ...]) -> CommandResult:
    """Show which programs a skill needs, which of them are missing, and the installers that it names for them.

    Nothing is run without --run. An installer changes the machine, so it runs with your rights and outside the sandbox,
    as far as the command policy allows, and you are asked about each with the exact command.
    """
    if yes and run and not only:
        raise click.UsageError("With --yes, say which installers to run: --only ID")
    app = open_here(dirs)
    status = app.get_skill(name)
    skill = status.found.skill
    if run:
        _check_trust(app, status)
    if skill is None:
        raise ClawftError("skill-broken", f"The skill '{name}' cannot be read", hint=f"Run: weft skills why {name}")
    programs = list_programs(skill, app.host)
    installers = list_installers(skill, app.host, root=os.geteuid() == 0)
    if (run and not yes) or not is_json_asked():
        _show(programs, installers)
    done = _run(app, name, _choose(installers, only), yes=yes) if run else {}
    document = {
        "name": name,
        "programs": msgspec.to_builtins(programs),
        "installers": [
            {**msgspec.to_builtins(installer), "command": shlex.join(installer.words)} for installer in installers
        ],
        "done": {key: {"code": result.code, "output": _text(result)} for key, result in done.items()},
    }
    failed = any(result.code for result in done.values())
    return CommandResult("clawft.skills.deps.v1", document, lambda: None, int(failed))


def _show(programs: Sequence[RequiredProgram], installers: Sequence[ProgramInstaller]) -> None:
    for program in programs:
        say(one_line(f"{'✓' if program.there else '✗'} {program.name}"))
    if not programs:
        say("It names no programs that it needs")
    if installers:
        rows = [
            (
                installer.id,
                _MARKS[installer.state],
                shlex.join(installer.words or (installer.url or installer.label,)),
                installer.why,
            )
            for installer in installers
        ]
        print_table(("ID", "STATE", "COMMAND", "WHY"), rows, wide=2)


def _choose(installers: Sequence[ProgramInstaller], only: Sequence[str]) -> list[ProgramInstaller]:
    """Those to run: the named ones, else all that can be run and bring something. Raises: NotFound, Refused."""
    known = {installer.id: installer for installer in installers}
    for name in only:
        if name not in known:
            raise NotFound("installer-not-found", f"No installer '{name}'", hint=f"There are: {', '.join(known)}")
        if known[name].state not in ("ready", "there"):
            message = f"The installer '{name}' cannot be run: {known[name].why}"
            raise Refused("installer-unfit", message, hint="What it would do is shown without --run")
    return [known[name] for name in only] or [installer for installer in installers if installer.state == "ready"]


def _run(app: App, name: str, chosen: Sequence[ProgramInstaller], *, yes: bool) -> dict[str, Finished]:
    """Run what a person agrees to, one after the other; it ends with the first that fails. Raises: ClawftError."""
    if not chosen:
        say("There is nothing to run")
    done: dict[str, Finished] = {}
    for step in chosen:
        line = shlex.join(step.words)
        _check(app, line)
        env = command_env(app.config.tools.exec, clean_environ(app.environ), {})
        program = app.host_programs.prepare(step.words, env)
        question = f"Run with all your rights, outside the sandbox: {line}{show_files(program.files)}"
        if not yes and not confirm(f"{question}?", "To run an installer", HINT):
            app.audit.tell("command", line, decision="deny", skill=name)
            continue
        detail: dict[str, object] = {"sandbox": "outside", "for": "deps", "files": program.files}
        app.audit.write("command", line, decision="allow", skill=name, detail=detail)
        how: dict[str, object] = {"status": "error"}
        try:
            finished = anyio.run(_start, program)
            how = {"exit_code": finished.code}
        finally:
            app.audit.tell("command", line, decision="finished", skill=name, detail=how)
        done[step.id] = finished
        if not is_json_asked():
            click.echo(_text(finished), nl=False)
            say(one_line(f"{line}: {'done' if not finished.code else f'failed with code {finished.code}'}"))
        if finished.code:
            break
    return done


def _check_trust(app: App, status: SkillStatus) -> None:
    """Raises: Refused for a skill that nobody approved: it is who names the packages."""
    objection = app.trust_policy.check_use(status.found)
    if status.state == "blocked" or objection is not None:
        message = objection.message if objection else status.reasons[0].message
        hint = objection.hint if objection else f"Run: weft skills why {status.name}"
        raise Refused("skill-untrusted", f"Nothing is run for '{status.name}': {message}", hint=hint)


def _check(app: App, line: str) -> None:
    """Raises: Refused for what the command policy forbids."""
    verdict = CommandPolicy(app.config.tools.exec).judge(line)
    if verdict.decision == "deny":
        app.audit.tell("command", line, decision="deny", rule=verdict.reason)
        raise Refused("command-denied", f"The command policy refuses {line}: {verdict.reason}", hint="Run it yourself")


async def _start(program: Prepared) -> Finished:
    words, cwd, env = program.words, program.cwd, program.env
    try:
        return await run_process(words, cwd=cwd, env=env, timeout_s=TIMEOUT_S, max_bytes=MAX_OUTPUT)
    except OSError as error:
        raise ClawftError("installer-failed", f"{words[0]} cannot be started: {error.strerror}") from error


def _text(finished: Finished) -> str:
    return clean((finished.output + finished.errors).decode("utf-8", "replace"))
