"""`weft agent`: ask an agent, and see what it does."""

import os
import select
import stat
import sys

import click
import msgspec

from clawft.app.app import App
from clawft.cli.options import TurnOptions, open_here, turn_options
from clawft.cli.output import say
from clawft.errors import ClawftError, NotFound, find_close
from clawft.skills.discovery.instructions import load_instructions
from clawft.skills.discovery.locations import agent_locations, hook_locations

MAX_MESSAGE = 10 << 20
_PIPE_S = 1.0


@click.command("agent")
@click.option(
    "--message", "-m", metavar="TEXT", help="What to ask; `-` reads it from stdin. What is piped in is added."
)
@turn_options
@click.option(
    "--trust-instructions",
    is_flag=True,
    help="Show each AGENTS.md, CLAUDE.md and agent of the project that is not approved, and ask whether to approve it.",
)
@click.option("--continue", "-c", "go_on", is_flag=True, help="Go on with the last session of this project.")
@click.option("--plain", is_flag=True, help="For screen readers: no colour, nothing that moves.")
@click.option("--show-prompt", is_flag=True, help="Print what would be sent, and why, and send nothing.")
def command(
    message: str | None, trust_instructions: bool, go_on: bool, plain: bool, show_prompt: bool, **values: object
) -> int:
    """Talk to an agent, or ask it once with -m. It answers with a model, or offline with none.

    At a terminal and without -m this is a conversation; /help there tells what can be typed.
    """
    options = msgspec.convert(values, TurnOptions)
    app = open_here()
    if options.trust_project_skills:
        app.trust_project()
    if options.queue and not options.background:
        raise click.UsageError("--queue goes with --background")
    if go_on and options.session:
        raise click.UsageError("--continue and --session name two sessions; give one of them")
    if go_on:
        options = msgspec.structs.replace(options, session=_last_session(app))
    if trust_instructions:
        from clawft.cli.instructions import review_instructions

        review_instructions(app, yes=options.yes)
    if not (trust_instructions or show_prompt or options.background or options.output == "json"):
        _ask_folder_trust(app)
    if message is None and not show_prompt and not options.background and options.output == "text" and _is_terminal():
        from clawft.cli.repl.repl import run_repl

        return run_repl(app, options, plain=plain)
    from clawft.agent.run_request import TurnRequest
    from clawft.cli.turn import run_turn_in_terminal  # `weft --help` and a prompt need none of what turns need

    text = message or "" if show_prompt else _read_message(message)
    skills: tuple[str, ...] = ()
    if message not in (None, "-"):  # what comes through a pipe was not typed here
        skills, text = _split_typed(app, options, text)
    request = TurnRequest(text, model=options.model, skill="".join(skills[:1]), more_skills=skills[1:])
    if show_prompt:
        from clawft.cli.instructions import print_prompt

        return print_prompt(app, options, request)
    if options.background:
        from clawft.cli.turn import start_in_background

        return start_in_background(app, options, request)
    return run_turn_in_terminal(app, options, request)


def _split_typed(app: App, options: TurnOptions, text: str) -> tuple[tuple[str, ...], str]:
    """Split a message that was typed into the skills that it starts and the rest, as at the prompt.

    Raises: NotFound for what looks like a command and is none; ClawftError for a skill that may not be started.
    """
    from clawft.cli.repl.message import AS_IS, list_startable, split_command, stack_skills
    from clawft.cli.skills.run import prepare_skill

    command = split_command(text.partition("\n")[0])
    if command is None:
        return (), text.removeprefix(AS_IS)
    name = command[0]
    if any(skill.name == name for skill in app.skills):
        prepare_skill(app, name, yes=options.yes, ask=options.output == "text")
    names = list_startable(app)
    skills, rest = stack_skills(text, {name, *names} if any(skill.name == name for skill in app.skills) else names)
    if skills:
        return skills, rest
    close = find_close(name, names)
    meant = f"Did you mean /{close}? " if close else ""
    hint = f"{meant}To send it to the model, begin the message with a blank, or with '{AS_IS}'"
    raise NotFound("command-not-found", f"'/{name[:60]}' is no skill that you could start; nothing was sent", hint=hint)


def _ask_folder_trust(app: App) -> None:
    """Ask about the folders of the project where they bring something that nobody was asked about."""
    if _brings_something(app):
        from clawft.cli.folder_trust import ask_folder_trust  # most folders bring nothing

        ask_folder_trust(app)


def _brings_something(app: App) -> bool:
    """Return whether there is anything at all to look at, so that most starts load nothing for it."""
    workspace = app.workspace
    places = (*app.locations, *agent_locations(workspace), *hook_locations(workspace))
    paths = [place.path for place in places if place.scope in ("project", "extra")]
    paths += [os.path.join(workspace.project, ".claude", name) for name in ("settings.json", "settings.local.json")]
    linked = any(os.path.islink(place.path) for place in app.locations if place.scope == "user")
    own = os.path.join(workspace.home, ".claude", "settings.json")  # it may start files of the project
    return (
        linked
        or any(map(os.path.exists, (*paths, own)))
        or bool(app.project_configs())
        or any(not file.own for file in load_instructions(workspace)[0])
    )


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()


def _last_session(app: App) -> str:
    """The newest session that was begun in this project. Raises: NotFound."""
    places = (app.workspace.cwd, app.workspace.project)
    last = next((session.key for session in app.sessions.list() if session.cwd in places), None)
    if last is None:
        raise NotFound("session-not-found", "There is no session of this project yet", hint="Run: weft sessions list")
    return last


def _read_message(message: str | None) -> str:
    """Return the message to send. Raises: UsageError without a message, ClawftError for one that is too long."""
    piped = sys.stdin is not None and not sys.stdin.isatty()
    if message is None and not piped:
        raise click.UsageError("Say what to do: weft agent -m TEXT")
    text = sys.stdin.read(MAX_MESSAGE + 1) if message in (None, "-") else str(message) + _read_piped(piped)
    if len(text) > MAX_MESSAGE:
        raise ClawftError("message-too-long", f"The message has more than {MAX_MESSAGE} characters")
    if not text.strip():
        raise click.UsageError("The message is empty: weft agent -m TEXT")
    return text


def _read_piped(piped: bool) -> str:
    """Read what is piped in next to a message, as in `git diff | weft agent -m 'Review this'`.

    Wait one second for a pipe that nobody writes to, as a supervisor may leave open; then ignore it.
    """
    if not piped or not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        return ""
    if not select.select([sys.stdin], [], [], _PIPE_S)[0]:
        say("note: nothing came through the pipe, so only the message is sent; -m - waits for it")
        return ""
    text = sys.stdin.read(MAX_MESSAGE + 1)
    return f"\n\n<stdin>\n{text}\n</stdin>" if text.strip() else ""
