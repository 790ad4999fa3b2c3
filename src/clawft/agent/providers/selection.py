"""The selection of a provider: from `provider/model` to one that is configured, and opening it."""

from collections.abc import Mapping, MutableMapping
from typing import NamedTuple

from clawft.agent.providers.endpoint import PRESETS, Endpoint, build_endpoint
from clawft.agent.providers.request import Provider
from clawft.config.agents import ProviderSettings
from clawft.errors import ClawftError, NotFound, find_close

OFFLINE = "offline"
Providers = Mapping[str, ProviderSettings]
_INHERIT = ("inherit", "default")
_CLAUDE_ALIASES = frozenset({"sonnet", "opus", "haiku", "best", "opusplan", "sonnet[1m]", "opus[1m]"})


class ModelName(NamedTuple):
    """`openrouter/anthropic/claude-x` is the model `anthropic/claude-x` of `openrouter`; '' is the default model."""

    provider: str
    model: str


def parse_model(text: str) -> ModelName:
    """A model as it is written. Raises: ClawftError."""
    provider, slash, model = text.strip().partition("/")
    if not provider or (slash and not model) or not text.isprintable() or len(text) > 300:
        message = f"{text[:60]!r} names no model"
        raise ClawftError("model-invalid", message, hint="Write provider/model, such as ollama/llama3.2, or 'offline'")
    return ModelName(provider, model)


def read_model(written: str, providers: Providers) -> str:
    """A model as the file of a skill or an agent has it, also one of Claude's; '' leaves it to the settings."""
    name = written.strip()
    if name in _INHERIT:
        return ""
    is_bare = name.startswith("claude-") and "/" not in name and name not in providers
    return f"anthropic/{name}" if is_bare else name


def is_claude_alias(model: str, providers: Providers) -> bool:
    """Return whether a model is one of the words that only Claude Code can tell the meaning of."""
    return model in _CLAUDE_ALIASES and model not in providers


def check_model(model: str, providers: Providers, environ: Mapping[str, str]) -> None:
    """Check that a model could be used, without opening anything. Raises: ClawftError."""
    _resolve(model, providers, environ)


def open_provider(
    model: str,
    providers: Providers,
    environ: Mapping[str, str],
    *,
    base_dir: str,
    opened: MutableMapping[str, Provider] | None = None,
) -> tuple[Provider, str]:
    """The provider that answers for `provider/model`, and the model's own name there. It connects when it is used.

    `base_dir` is what the path of a script is relative to. One provider of each name is kept in `opened`, whose owner
    closes them. Raises: ClawftError.
    """
    endpoint, name = _resolve(model, providers, environ)
    cache = opened if opened is not None else {}
    provider = cache.get(name.provider)
    if provider is None:
        provider = _open_http(endpoint, environ) if endpoint else _open_local(name.provider, providers, base_dir)
        cache[name.provider] = provider
    return provider, name.model or name.provider


def _resolve(model: str, providers: Providers, environ: Mapping[str, str]) -> tuple[Endpoint | None, ModelName]:
    """The endpoint and the model's own name; no endpoint for what answers by itself. Raises: ClawftError."""
    name = parse_model(model)
    if name.provider == OFFLINE:
        _check_offline(name, providers)
        return None, name
    settings = providers.get(name.provider)
    if settings is None and name.provider not in PRESETS:
        raise _not_found(name, providers)
    if settings is not None and settings.wire == "scripted":
        if not settings.script:
            hint = f"Set providers.{name.provider}.script to a file of answers"
            raise ClawftError("script-missing", f"The provider '{name.provider}' names no script", hint=hint)
        return None, name
    endpoint = build_endpoint(name.provider, settings, environ)
    bare = name.model or endpoint.default_model
    if not bare:
        hint = f"Write {name.provider}/MODEL, or set providers.{name.provider}.default_model"
        raise ClawftError("model-missing", f"The provider '{name.provider}' has no default model", hint=hint)
    return endpoint, ModelName(name.provider, bare)


def _check_offline(name: ModelName, providers: Providers) -> None:
    if name.model:
        raise ClawftError("model-invalid", "'offline' has no models", hint="Write 'offline' alone")
    if OFFLINE in providers:
        hint = "Rename [providers.offline]: the name belongs to what is built in"
        raise ClawftError("provider-reserved", "No provider may be called 'offline'", hint=hint)


def _not_found(name: ModelName, providers: Providers) -> NotFound:
    known = [*providers, *PRESETS, OFFLINE]
    close = find_close(name.provider, known)
    meant = f"did you mean '{close}'? " if close else ""
    configure = f"Configure it: [providers.{name.provider}] base_url = …; or use one of {', '.join(sorted(set(known)))}"
    if not name.model:
        configure = f"Models are named provider/model. {configure}"
    return NotFound("provider-not-found", f"No provider '{name.provider}'", hint=meant + configure)


def _open_local(name: str, providers: Providers, base_dir: str) -> Provider:
    if name == OFFLINE:
        from clawft.agent.providers.offline import OfflineProvider

        return OfflineProvider()
    from clawft.agent.providers.scripted import load_scripted

    return load_scripted(name, providers[name].script, base_dir=base_dir)


def _open_http(endpoint: Endpoint, environ: Mapping[str, str]) -> Provider:
    """The HTTP library is slow to import, and not needed to check a model."""
    from clawft.agent.providers.anthropic import AnthropicWire
    from clawft.agent.providers.http import HttpProvider
    from clawft.agent.providers.openai import OpenAiWire

    return HttpProvider(endpoint, OpenAiWire() if endpoint.wire == "openai" else AnthropicWire(), environ)
