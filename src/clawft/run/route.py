"""Stage 2, route: which model answers, where it is, what it costs and how much it can hold."""

from clawft.config import Config
from clawft.errors import ClawftError
from clawft.messages import Noticed, TurnStarted
from clawft.providers.select import is_claude_alias, read_model
from clawft.run.ledger import Price
from clawft.run.turn import Turn

__all__ = ["choose_model", "find_window", "route"]


async def route(turn: Turn) -> None:
    config = turn.runtime.config
    turn.model = choose_model(turn)
    turn.provider, turn.bare_model = turn.runtime.open_provider(turn.model)
    turn.price = _find_price(config, turn.model, turn.bare_model)
    turn.context_window = turn.agent.context_window or find_window(config, turn.model, turn.bare_model)
    turn.emit(TurnStarted(turn=turn.id, model=turn.model, agent=turn.agent.name))


def choose_model(turn: Turn) -> str:
    """The flag, then the skill that was started, then the agent, then the tier of this complexity, then the default."""
    if turn.request.model:
        return turn.request.model
    providers = turn.runtime.config.providers
    asked = read_model(turn.invoked.skill.model, providers) if turn.invoked else ""
    if asked:
        try:
            turn.runtime.check_model(asked)
        except ClawftError as error:
            message = f"The skill asks for the model '{asked}', which is not there: {error}"
            turn.emit(Noticed(code="skill-model", message=message, severity="warning", hint=error.hint))
        else:
            return asked
    asked = read_model(turn.agent.model, providers)
    if is_claude_alias(asked, providers):
        message = f"The agent asks for Claude's '{asked}', which is no model here; another one answers"
        turn.emit(Noticed(code="agent-model", message=message, severity="warning", hint=_ALIAS_HINT))
    elif asked:
        return _check_agent_model(turn, asked)
    for tier in sorted(turn.runtime.config.agents.routing.tiers, key=lambda one: one.up_to):
        if turn.complexity <= tier.up_to:
            return tier.model
    return turn.runtime.config.agents.defaults.model


_ALIAS_HINT = "Name a model as provider/model in the agent's file, or with --model"


def _check_agent_model(turn: Turn, model: str) -> str:
    """R115: an agent's model must belong to a provider that is there. Raises: ClawftError."""
    try:
        turn.runtime.check_model(model)
    except ClawftError as error:
        message = f"The agent '{turn.agent.name}' asks for the model '{model}', which cannot be used: {error}"
        raise type(error)(error.code, message, hint=error.hint) from error
    return model


def find_window(config: Config, model: str, bare_model: str) -> int | None:
    """Tokens that fit the model, if the config knows."""
    provider = config.providers.get(model.partition("/")[0])
    known = provider.models.get(bare_model) if provider else None
    return config.agents.defaults.context_window or (known.context_window if known else None)


def _find_price(config: Config, model: str, bare_model: str) -> Price | None:
    provider = config.providers.get(model.partition("/")[0])
    known = provider.models.get(bare_model) if provider else None
    if known is None or known.input_usd_per_mtok is None or known.output_usd_per_mtok is None:
        return None
    return Price(known.input_usd_per_mtok, known.output_usd_per_mtok)
