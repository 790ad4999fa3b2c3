"""`weft skills run` and `render`: start a skill in a turn of its own, or print its prompt."""

import sys

import anyio
import click
import msgspec

from clawft.agent.run_request import TurnRequest
from clawft.app.app import App
from clawft.cli.completion import complete_skills
from clawft.cli.options import TurnOptions, dir_option, format_option, open_here, turn_options
from clawft.cli.output import CommandResult, clean, say, show_diagnostics
from clawft.cli.review import ask_approval
from clawft.cli.skills.variables import ask_missing_variables
from clawft.errors import Refused
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.render.prompt import RenderedPrompt, render_skill
from clawft.skills.render.template import PromptArguments, TemplateVariables, split_arguments
from clawft.trust.permissions import CallAuthority
from clawft.trust.status import STATES, SkillStatus


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("name", shell_complete=complete_skills)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--args", "line", default="", help="The arguments as one line, as they would be typed after /NAME.")
@turn_options
@dir_option
def run_command(name: str, args: tuple[str, ...], line: str, dirs: tuple[str, ...], **values: object) -> int:
    """Run a skill once. Options go before NAME; everything after it is an argument of the skill.

    An untrusted skill is shown first, and you are asked to approve it; --yes approves it for this run.
    """
    from clawft.cli.turn import run_turn_in_terminal, start_in_background  # help needs none of what turns need

    if args and line:
        raise click.UsageError("Give the arguments either way, not both")
    _tell_misplaced(args)
    args = args[1:] if args[:1] == ("--",) else args  # which only ends the options
    options = msgspec.convert(values, TurnOptions)
    app = open_here(dirs)
    if options.trust_project_skills:
        app.trust_project()
    status = prepare_skill(app, name, yes=options.yes, ask=options.output == "text")
    request = TurnRequest(line or " ".join(args), model=options.model, skill=name, words=args)
    if options.queue and not options.background:
        raise click.UsageError("--queue goes with --background")
    if options.background:
        return start_in_background(app, options, request, dirs)
    return run_turn_in_terminal(app, options, request, only=status.name if dirs else "")


def prepare_skill(app: App, name: str, *, yes: bool, ask: bool = True) -> SkillStatus:
    """Have a person approve a skill, and give what it needs; `ask`: for that too. Raises: ClawftError; click.Abort."""
    status = app.get_skill(name)
    if needs_approval(app, status):
        ask_approval(app, status, yes=yes)
        app.refresh()
        status = app.get_skill(name)
    if status.usable and ask_missing_variables(app, status, ask=ask and not yes):
        app.refresh()
    return status


def _tell_misplaced(args: tuple[str, ...]) -> None:
    """An option after the name is an argument of the skill, which few mean."""
    own = {name for param in run_command.params if isinstance(param, click.Option) for name in param.opts}
    for word in args:
        if word == "--":
            return
        if word.partition("=")[0] in own:
            say(f"note: {word} is an argument of the skill here. Options of weft stand before its name")


def needs_approval(app: App, status: SkillStatus) -> bool:
    """Return whether a person must agree before this skill runs; what `--dir` names is listed as if they had."""
    if status.found.location.scope != "dir":
        return status.state == "untrusted"
    return status.usable and app.trust_policy.check_use(status.found) is not None


@click.command("render", context_settings={"ignore_unknown_options": True})
@click.argument("name", shell_complete=complete_skills)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--args", "line", default="", help="The arguments as one line, as they would be typed after /NAME.")
@click.option("--session-id", default="", help="What $SESSION_ID stands for.")
@click.option("--run", is_flag=True, help="Run its commands and read the files it names, as a turn would.")
@format_option
@dir_option
def render_command(
    name: str, args: tuple[str, ...], line: str, session_id: str, run: bool, dirs: tuple[str, ...]
) -> CommandResult:
    """Print the prompt of a skill with its arguments filled in. Nothing in it is run, except with --run."""
    if args and line:
        raise click.UsageError("Give the arguments either way, not both")
    app = open_here(dirs)
    status = app.get_skill(name)
    skill = app.load_prompt(status.found)
    found = status.found
    variables = TemplateVariables(session_id, found.base_dir, app.workspace.project, numbered=found.location.claude)
    arguments = split_arguments(line) if line else PromptArguments(" ".join(args), args)
    if run:
        rendered = _run(app, status, arguments, variables)
    else:
        prefixes = app.config.skills.security.allowed_command_prefixes
        rendered = render_skill(skill, arguments, variables, status.found.file, prefixes)
    warnings = [
        *status.reasons,
        *(diagnostic for diagnostic in skill.diagnostics if diagnostic.code == "body-truncated"),
        *rendered.diagnostics,
    ]

    def show() -> None:
        show_diagnostics(warnings, app.workspace.shorten)
        if rendered.diagnostics and not run:
            say(f"Nothing was run or read; to do as a turn does: weft skills render --run {skill.name}")
        if not rendered.text:
            say(f"The skill '{skill.name}' has no instructions")
        if sys.stdout is not None:  # written as it is: echo would take escape sequences out
            sys.stdout.write((clean(rendered.text) if sys.stdout.isatty() else rendered.text) + "\n")

    notes = [diagnostic_json(warning) for warning in warnings]
    document = {"name": skill.name, "prompt": rendered.text, "diagnostics": notes}
    return CommandResult("clawft.skills.render.v1", document, show)


def _run(app: App, status: SkillStatus, arguments: PromptArguments, variables: TemplateVariables) -> RenderedPrompt:
    """Return the prompt with what its commands print, by the rules of a turn. Raises: Refused, ClawftError."""
    from clawft.agent.tools.dynamic import render_dynamic

    if not status.usable:
        message = f"The skill '{status.name}' may not be used: {STATES[status.state]}"
        raise Refused("skill-refused", message, hint=f"Run: weft skills why {status.name}")

    async def run() -> RenderedPrompt:
        async with app.open_runtime() as runtime:
            dynamic = runtime.dynamic(lambda: CallAuthority(runtime.default_mode, runtime.rules))
            usable = runtime.skills.load_usable(status.found)
            return await render_dynamic(dynamic, status.found, usable, arguments, variables)

    return anyio.run(run)
