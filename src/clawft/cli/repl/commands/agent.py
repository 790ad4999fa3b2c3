"""`/agents`, `/agent`, `/model`, `/mode`, `/tools` and `/permissions`: who answers, and what may be done unasked."""

import re
from collections.abc import Iterable

from clawft.agent.providers.endpoint import PRESETS
from clawft.agent.providers.selection import check_model, is_claude_alias, read_model
from clawft.cli.agents import agent_lines
from clawft.cli.output import one_line, table_lines
from clawft.cli.repl.command import complete_names, current_mode, find_agent, print_diagnostics, print_lines
from clawft.cli.repl.context import ReplContext
from clawft.skills.parse.model import Agent
from clawft.trust.modes import MODES, Mode, get_mode
from clawft.trust.permissions import load_rules


async def run_model(repl: ReplContext, rest: str) -> None:
    if not rest:
        repl.screen.print(f"Model: {current_model(repl)} ({_chosen_by(repl)})")
        return
    if rest != "default":
        check_usable(repl, rest)
    repl.model = "" if rest == "default" else rest
    repl.screen.print(f"Switched to model: {current_model(repl)}")


def check_usable(repl: ReplContext, model: str) -> None:
    """Check that a model belongs to a configured provider. Raises: ClawftError."""
    check_model(model, repl.app.config.providers, repl.app.environ)


def own_model(repl: ReplContext, agent: Agent) -> str:
    """The model that an agent's file asks for; '' where that is left to the config."""
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


def complete_model(repl: ReplContext, partial: str) -> Iterable[str]:
    config = repl.app.config
    names = ["offline", "default", config.agents.defaults.model, *(tier.model for tier in config.agents.routing.tiers)]
    for name, provider in config.providers.items():
        models = (*provider.models, provider.default_model or "")
        names += [f"{name}/{model}" for model in models]
    return complete_names((*names, *(f"{name}/" for name in PRESETS)), partial)


async def run_mode(repl: ReplContext, rest: str) -> None:
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


def complete_mode(_repl: ReplContext, partial: str) -> Iterable[str]:
    return complete_names((mode.value for mode in Mode), partial)


async def run_agents(repl: ReplContext, _rest: str) -> None:
    agents = sorted(repl.app.agents, key=lambda one: one.found.name)
    print_lines(repl, [*agent_lines(agents, repl.screen.width), f"Now: {one_line(repl.agent.name)}"])


async def run_agent(repl: ReplContext, rest: str) -> None:
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


_SENTENCE = re.compile(r".+?\.(?=\s|$)")


async def run_tools(repl: ReplContext, _rest: str) -> None:
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


async def run_permissions(repl: ReplContext, _rest: str) -> None:
    workspace = repl.app.workspace
    rules = load_rules(repl.app.config, workspace.project)
    rows = [(rule.kind, one_line(rule.pattern.text), workspace.shorten(rule.source)) for rule in rules.all]
    if rows:
        print_lines(repl, table_lines(("RULE", "PATTERN", "FROM"), rows, wide=1, columns=repl.screen.width))
    else:
        repl.screen.print("No rules. Add one: weft permissions allow 'Bash(make test)'")
    repl.screen.print(f"Mode: {current_mode(repl)}")
    print_diagnostics(repl, rules.diagnostics())


def complete_agents(repl: ReplContext, partial: str) -> list[str]:
    return complete_names((agent.found.name for agent in repl.app.agents), partial)
