"""`/agents`, `/agent`, `/model`, `/mode`, `/tools` and `/permissions`: who answers, and what may be done unasked."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import one_line, table_lines
from clawft.cli.repl.command import (
    SlashCommand,
    complete_agents,
    complete_names,
    find_agent,
    print_diagnostics,
    print_lines,
)
from clawft.cli.repl.context import ReplContext
from clawft.skills.parse.model import Agent
from clawft.trust.modes import MODES, Mode, agent_mode, default_mode, get_mode

if TYPE_CHECKING:
    from clawft.trust.modes import Mode


_MODEL_HELP = """\
NAME is `provider/model`, or `offline`. Without a name it tells which one answers now. `/model default` leaves the
choice to the agent and the config again."""


async def _run_model(repl: ReplContext, rest: str) -> None:
    if not rest:
        repl.screen.print(f"Model: {current_model(repl)} ({_chosen_by(repl)})")
        return
    if rest != "default":
        check_usable(repl, rest)
    repl.model = "" if rest == "default" else rest
    repl.screen.print(f"Switched to model: {current_model(repl)}")


def check_usable(repl: ReplContext, model: str) -> None:
    """Check that a model belongs to a configured provider. Raises: ClawftError."""
    from clawft.agent.providers.selection import check_model

    check_model(model, repl.app.config.providers, repl.app.environ)


def own_model(repl: ReplContext, agent: Agent) -> str:
    """The model that an agent's file asks for; '' where that is left to the config."""
    from clawft.agent.providers.selection import is_claude_alias, read_model

    providers = repl.app.config.providers
    model = read_model(agent.model, providers)
    return "" if is_claude_alias(model, providers) else model


def current_model(repl: ReplContext) -> str:
    """Return the model that would answer now, on one line."""
    return one_line(repl.model or own_model(repl, repl.agent) or repl.app.config.agents.defaults.model)


def _chosen_by(repl: ReplContext) -> str:
    if repl.model:
        return "chosen for this session"
    if own_model(repl, repl.agent):
        return f"of the agent {one_line(repl.agent.name)}"
    tiers = repl.app.config.agents.routing.tiers
    return "agents.routing may choose another for a message" if tiers else "the default"


def _complete_model(repl: ReplContext, partial: str) -> Iterable[str]:
    from clawft.agent.providers.endpoint import PRESETS

    config = repl.app.config
    names = ["offline", "default", config.agents.defaults.model, *(tier.model for tier in config.agents.routing.tiers)]
    for name, provider in config.providers.items():
        models = (*provider.models, provider.default_model or "")
        names += [f"{name}/{model}" for model in models]
    return complete_names((*names, *(f"{name}/" for name in PRESETS)), partial)


MODEL = SlashCommand("model", "/model <name>", "Switch model", _run_model, _MODEL_HELP, _complete_model)


_MODE_HELP = """\
`plan` only looks; `ask` asks before everything that acts; `auto-edit` edits files of the project unasked and asks for
the rest; `full` asks nothing but what is grave. What a policy or a rule forbids stays forbidden in each of them.
It holds for this conversation; `agents.defaults.mode` sets the first one."""


async def _run_mode(repl: ReplContext, rest: str) -> None:
    if rest:
        repl.switch_mode(get_mode(rest).value)
    mode = current_mode(repl)
    if rest and mode != get_mode(rest):
        repl.screen.print(f"Mode: {mode}, since the agent {repl.agent.name} asks for it")
    elif rest:
        repl.screen.print(f"Mode: {mode} ({MODES[mode]})")
    else:
        rows = [(f"{choice} *" if choice is mode else choice.value, meaning) for choice, meaning in MODES.items()]
        print_lines(repl, table_lines(("MODE", "DOES"), rows, wide=1, columns=repl.screen.width))


def current_mode(repl: ReplContext) -> "Mode":
    """The mode of the next message."""
    app = repl.app
    chosen = get_mode(repl.mode) if repl.mode else default_mode(app.config, app.workspace.user_dir)
    return agent_mode(repl.agent, chosen)


def _complete_mode(_repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names((mode.value for mode in Mode), partial)


MODE = SlashCommand("mode", "/mode <name>", "Switch how much is done unasked", _run_mode, _MODE_HELP, _complete_mode)


_AGENTS_HELP = "Those that cannot be read, or that another one hides, are listed too, with the reason."


async def _run_agents(repl: ReplContext, _rest: str) -> None:
    from clawft.cli.agents import agent_lines

    agents = sorted(repl.app.agents, key=lambda one: one.found.name)
    print_lines(repl, [*agent_lines(agents, repl.screen.width), f"Now: {one_line(repl.agent.name)}"])


AGENTS = SlashCommand("agents", "/agents", "List available agents", _run_agents, _AGENTS_HELP)


_AGENT_HELP = """\
The conversation goes on; the agent's prompt, model, tools and skills count from the next message on. `/agent default`
brings all of them back. A model that you chose with /model or --model stays; `/model default` gives it up."""


async def _run_agent(repl: ReplContext, rest: str) -> None:
    if not rest:
        repl.screen.print(f"Agent: {one_line(repl.agent.name)} ({current_model(repl)})")
        return
    if find_agent(repl, rest) is None:
        return
    agent = repl.app.choose_agent(rest)
    own = own_model(repl, agent)
    if own:
        check_usable(repl, own)
    repl.switch_agent(agent)
    repl.screen.print(f"Switched to agent: {one_line(agent.name)} ({current_model(repl)})")
    if repl.model and own and own != repl.model:
        repl.screen.print(f"  note: its own model is {one_line(own)}; /model default uses that")
    print_diagnostics(repl, (*repl.app.check_agent(agent, rest), *agent.diagnostics))


AGENT = SlashCommand("agent", "/agent <name>", "Switch to a named agent", _run_agent, _AGENT_HELP, complete_agents)


_TOOLS_HELP = (
    "The agent's `tools` narrow the list, and a loaded skill's `allowed-tools` narrow it until your next message."
)
_SENTENCE = re.compile(r".+?\.(?=\s|$)")


async def _run_tools(repl: ReplContext, _rest: str) -> None:
    from clawft.agent.conversation import list_tools

    tools = await list_tools(await repl.talk(), repl.display.take)
    rows = [(tool.name, _first_sentence(tool.description)) for tool in tools]
    print_lines(repl, table_lines(("TOOL", "DOES"), rows, wide=1, columns=repl.screen.width) if rows else ())
    count = f"{len(rows)} tool{'s' * (len(rows) != 1)} of the agent {one_line(repl.agent.name)}"
    repl.screen.print(f"{count}, in mode {current_mode(repl)} (/mode, /permissions)")


def _first_sentence(text: str) -> str:
    line = one_line(text)
    match = _SENTENCE.match(line)
    return (match[0] if match else line).rstrip(".")


TOOLS = SlashCommand("tools", "/tools", "List available tools", _run_tools, _TOOLS_HELP)


_PERMISSIONS_HELP = """\
Deny beats ask, and ask beats allow. `weft permissions allow|ask|deny PATTERN` adds a rule and `remove` takes it away;
`/reload` then sees it. `weft help permissions` tells how patterns are written."""


async def _run_permissions(repl: ReplContext, _rest: str) -> None:
    from clawft.trust.permissions import load_rules

    workspace = repl.app.workspace
    rules = load_rules(repl.app.config, workspace.project)
    rows = [(rule.kind, one_line(rule.pattern.text), workspace.shorten(rule.source)) for rule in rules.all]
    if rows:
        print_lines(repl, table_lines(("RULE", "PATTERN", "FROM"), rows, wide=1, columns=repl.screen.width))
    else:
        repl.screen.print("No rules. Add one: weft permissions allow 'Bash(make test)'")
    repl.screen.print(f"Mode: {current_mode(repl)}")
    print_diagnostics(repl, rules.diagnostics())


PERMISSIONS = SlashCommand(
    "permissions", "/permissions", "List what is allowed, asked for and denied", _run_permissions, _PERMISSIONS_HELP
)
