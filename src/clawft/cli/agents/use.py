"""`weft agents use NAME`: from now on this agent answers, unless another is named."""

import click

from clawft.app import App
from clawft.cli._complete import complete_agents
from clawft.cli.agents._plan import plan_agent
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import one_line, print_json, say, show_diagnostic
from clawft.config.edit import Change, Scope
from clawft.describe.diagnostics import to_json
from clawft.errors import ClawftError, Diagnostic
from clawft.trust import AgentStanding

__all__ = ["command"]

_SETTING = ("agents", "defaults", "agent")


@click.command("use")
@click.argument("name", shell_complete=complete_agents)
@target_option
@format_option
def command(name: str, scope: Scope, output: str) -> None:
    """Let the agent NAME answer when none is named; `default` goes back to the usual one."""
    app = open_here()
    standing = app.get_agent(name)
    _check(standing, scope)
    edited = app.edit_config(scope, [Change(_SETTING, name)])
    now = open_here()
    said = _check_now(now, name)
    if output == "json":
        return print_json(
            "clawft.agents.use.v1",
            name=name,
            path=edited.file,
            changed=edited.changed,
            diagnostics=[to_json(one) for one in said],
        )
    held = any(one.severity == "error" or one.code == "agent-elsewhere" for one in said)
    click.echo(one_line(f"{name} is set, but does not answer yet" if held else f"{name} answers from now on"))
    for one in said:
        show_diagnostic(one, where=now.workspace.shorten(one.where))
    say(one_line(f"{'Written to' if edited.changed else 'So it was in'} {now.workspace.shorten(edited.file)}"))
    return None


def _check(standing: AgentStanding, scope: Scope) -> None:
    """Raises: ClawftError for an agent that could not answer, or not wherever the config counts."""
    found = standing.found
    if found.agent is None:
        why = f": {found.problem.message}" if found.problem else ""
        raise ClawftError("agent-broken", f"The agent '{found.name}' cannot be read{why}", path=found.file)
    if found.scope == "project" and scope == "user":
        message = f"The agent '{found.name}' belongs to this project; in any other it would not be found"
        raise ClawftError("agent-scope", message, path=found.file, hint="Pass --scope project")


def _check_now(app: App, name: str) -> list[Diagnostic]:
    """What stands in the way of the agent, as the config is now."""
    wanted = app.config.agents.defaults.agent
    said: list[Diagnostic] = []
    if wanted != name:
        hint = "Run: weft config show agents.defaults.agent"
        said.append(Diagnostic("agent-elsewhere", "warning", f"Another config sets '{wanted}' and wins", hint=hint))
    try:
        chosen = app.choose_agent(name)
    except ClawftError as error:
        return [*said, error.diagnostic]
    standing = next(one for one in app.agents if one.found.agent is chosen)
    return [*said, *app.check_agent(name), *plan_agent(app, standing.found, chosen).diagnostics]
