"""The choice of the model that answers a turn, and of the one that takes over when it fails."""

import re
from collections.abc import Iterator

from clawft.agent.ledger import Price
from clawft.agent.providers.selection import is_claude_alias, read_model
from clawft.agent.runtime import ModelRoute, Turn
from clawft.config import Config
from clawft.config.agents import ModelSettings
from clawft.errors import ClawftError
from clawft.messages import TurnStarted

_HARD = re.compile(
    r"\b(?:analy[sz]e|architect\w*|compare|debug|design|diagnose|explain why|implement|investigate|migrate|optimi[sz]e|"
    r"plan|prove|refactor|research|review|root cause|security|trade-?offs?|write a)\b",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"^\s*(?:[-*]|\d+[.)])\s|\b(?:then|after that|finally|first|second|next)\b", re.MULTILINE | re.IGNORECASE
)


def measure_complexity(text: str, history: int = 0, images: int = 0) -> float:
    """Length, steps, verbs of hard work, code, pictures and how long the conversation is, added up."""
    score = min(len(text) / 4_000, 0.3)
    score += min(len(_HARD.findall(text)) * 0.12, 0.36)
    score += min(len(_STEPS.findall(text)) * 0.05, 0.2)
    score += 0.1 if "```" in text or "Traceback" in text else 0
    score += min(history / 200, 0.1) + min(images * 0.1, 0.2)
    return round(min(score, 1.0), 3)


async def route(turn: Turn) -> None:
    """Choose the model of a turn, and say which it is."""
    model = choose_model(turn)
    try:
        turn.route = open_route(turn, model)
    except ClawftError as error:
        turn.route = ModelRoute(model)
        take_over(turn, list_fallbacks(turn), error)
    turn.emit(TurnStarted(turn=turn.id, model=turn.route.model, agent=turn.agent.name))


def open_route(turn: Turn, model: str) -> ModelRoute:
    """Open the provider of a model, with what the config knows of it. Raises: ClawftError."""
    provider, bare_model = turn.runtime.open_provider(model)
    known = _find_settings(turn.runtime.config, model, bare_model)
    window = turn.agent.context_window or turn.runtime.config.agents.defaults.context_window or known.context_window
    return ModelRoute(model, bare_model, provider, _find_price(known), window, find_max_output(known, bare_model))


def list_fallbacks(turn: Turn) -> Iterator[str]:
    """List the models that may take over from the one of a turn."""
    return (model for model in turn.runtime.config.agents.defaults.fallbacks if model != turn.route.model)


def take_over(turn: Turn, fallbacks: Iterator[str], error: ClawftError) -> None:
    """Go on with the next model that can be used. Raises: the error of the model before, if there is none."""
    failed = turn.route.model
    for model in fallbacks:
        try:
            turn.route = open_route(turn, model)
        except ClawftError as unusable:
            turn.warn("model-fallback", f"The fallback '{model}' cannot be used: {unusable}", unusable.hint)
            continue
        turn.max_tokens = turn.runtime.config.agents.defaults.max_tokens
        turn.warn("model-fallback", f"{failed} failed: {error}. {model} takes over for this turn", error.hint)
        return
    raise error


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
            turn.warn("skill-model", message, error.hint)
        else:
            return asked
    asked = read_model(turn.agent.model, providers)
    if is_claude_alias(asked, providers):
        message = f"The agent asks for Claude's '{asked}', which is no model here; another one answers"
        turn.warn("agent-model", message, _ALIAS_HINT)
    elif asked:
        return _check_agent_model(turn, asked)
    request = turn.request
    complexity = measure_complexity(request.text, len(turn.session.messages), len(request.images))
    for tier in sorted(turn.runtime.config.agents.routing.tiers, key=lambda one: one.up_to):
        if complexity <= tier.up_to:
            return tier.model
    return turn.runtime.config.agents.defaults.model


_ALIAS_HINT = "Name a model as provider/model in the agent's file, or with --model"


def _check_agent_model(turn: Turn, model: str) -> str:
    """Check that an agent's model belongs to a configured provider, and return it. Raises: ClawftError."""
    try:
        turn.runtime.check_model(model)
    except ClawftError as error:
        message = f"The agent '{turn.agent.name}' asks for the model '{model}', which cannot be used: {error}"
        raise type(error)(error.code, message, hint=error.hint) from error
    return model


def _find_settings(config: Config, model: str, bare_model: str) -> ModelSettings:
    provider = config.providers.get(model.partition("/")[0])
    return (provider.models.get(bare_model) if provider else None) or ModelSettings()


def _find_price(known: ModelSettings) -> Price | None:
    if known.input_usd_per_mtok is None or known.output_usd_per_mtok is None:
        return None
    return Price(known.input_usd_per_mtok, known.output_usd_per_mtok)


# Tokens of one answer that the makers document, by how the name of a model begins; the first that fits holds.
_MAX_OUTPUT = (
    ("claude-3-haiku", 4_096),
    ("claude-3-5", 8_192),
    ("claude-opus-4-0", 32_000),
    ("claude-opus-4-1", 32_000),
    ("claude-opus-4-2", 32_000),  # with its date
    ("claude-", 64_000),
    ("gpt-4o", 16_384),
    ("gpt-4.1", 32_768),
    ("gpt-5", 128_000),
    ("o3", 100_000),
    ("o4-mini", 100_000),
)


def find_max_output(known: ModelSettings, bare_model: str) -> int | None:
    """Find the most tokens that a model writes in one answer: from the config, else by its name."""
    name = bare_model.rpartition("/")[2]
    by_name = next((tokens for start, tokens in _MAX_OUTPUT if name.startswith(start)), None)
    return known.max_output_tokens or by_name
