"""`/model [NAME]`: which model answers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.format.model import Agent
from clawft.repl.command import SlashCommand
from clawft.repl.commands._names import offer

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["MODEL", "check_usable", "current_model", "own_model"]

_HELP = """\
NAME is `provider/model`, or `offline`. Without a name it tells which one answers now. `/model default` leaves the
choice to the agent and the config again."""


async def _run(repl: "Repl", rest: str) -> None:
    if not rest:
        repl.screen.print(f"Model: {current_model(repl)} ({_chosen_by(repl)})")
        return
    if rest != "default":
        check_usable(repl, rest)
    repl.model = "" if rest == "default" else rest
    repl.screen.print(f"Switched to model: {current_model(repl)}")


def check_usable(repl: "Repl", model: str) -> None:
    """R115: a model belongs to a provider that is configured. Raises: ClawftError."""
    from clawft.providers.select import check_model

    check_model(model, repl.app.config.providers, repl.app.environ)


def own_model(repl: "Repl", agent: Agent) -> str:
    """The model that an agent's file asks for; '' where that is left to the config."""
    from clawft.providers.select import is_claude_alias, read_model

    providers = repl.app.config.providers
    model = read_model(agent.model, providers)
    return "" if is_claude_alias(model, providers) else model


def current_model(repl: "Repl") -> str:
    """Which model would answer now, on one line."""
    return one_line(repl.model or own_model(repl, repl.agent) or repl.app.config.agents.defaults.model)


def _chosen_by(repl: "Repl") -> str:
    if repl.model:
        return "chosen for this session"
    if own_model(repl, repl.agent):
        return f"of the agent {one_line(repl.agent.name)}"
    tiers = repl.app.config.agents.routing.tiers
    return "agents.routing may choose another for a message" if tiers else "the default"


def _complete(repl: "Repl", partial: str) -> Iterable[str]:
    from clawft.providers.endpoint import PRESETS

    config = repl.app.config
    names = ["offline", "default", config.agents.defaults.model, *(tier.model for tier in config.agents.routing.tiers)]
    for name, provider in config.providers.items():
        models = (*provider.models, provider.default_model or "")
        names += [f"{name}/{model}" for model in models]
    return offer((*names, *(f"{name}/" for name in PRESETS)), partial)


MODEL = SlashCommand("model", "/model <name>", "Switch model", _run, _HELP, _complete)
