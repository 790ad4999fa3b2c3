"""Model servers on this machine, the models that a server lists, and a trial call of a model."""

import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import urlsplit

import anyio
import msgspec
from msgspec import Struct, structs

from clawft.agent.providers import open_provider
from clawft.agent.providers.anthropic import AnthropicWire
from clawft.agent.providers.endpoint import PRESETS, Endpoint
from clawft.agent.providers.http_client import bad_answer, build_client, make_status_error, translate_http_errors
from clawft.agent.providers.openai import OpenAiWire
from clawft.agent.providers.request import DoneChunk, ModelRequest, ProviderError
from clawft.agent.providers.selection import parse_model
from clawft.agent.providers.wire import ServerError
from clawft.config.agents import ProviderSettings
from clawft.errors import ClawftError
from clawft.messages import Message
from clawft.trust.network import is_loopback

PROBE_S = 3.0  # refused at once where nothing listens; a busy machine or a model that loads takes longer
MAX_LIST_BYTES = 4 << 20
MAX_MODELS = 500
# Servers that speak the same wire and have no preset, at the ports they take by themselves.
_USUAL = {"sglang": 30000, "jan": 1337, "koboldcpp": 5001, "textgen": 5000, "gpt4all": 4891}


class ModelServer(Struct, frozen=True):
    """A server that answered. `wants_key` tells that it lists nothing without one."""

    name: str
    base_url: str
    models: tuple[str, ...] = ()
    wants_key: bool = False


def local_addresses(providers: Mapping[str, ProviderSettings], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses to try, by name: configured providers, `OLLAMA_HOST`, and the usual ports."""
    found = {name: preset.base_url for name, preset in PRESETS.items() if not preset.key_env}
    ollama = _ollama_url(environ.get("OLLAMA_HOST", ""))
    if ollama:
        found["ollama"] = ollama
    found |= {name: f"http://127.0.0.1:{port}/v1" for name, port in _USUAL.items()}
    found |= {name: provider.base_url.rstrip("/") for name, provider in providers.items() if provider.base_url}
    local = {name: url for name, url in found.items() if _is_local(url)}
    named = [*providers, *(name for name in local if name not in providers)]  # what is configured comes first
    urls = {local[name]: name for name in reversed(named) if name in local}
    return {name: local[name] for name in named if urls.get(local.get(name, "")) == name}


def _is_local(url: str) -> bool:
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def _ollama_url(written: str) -> str:
    """`OLLAMA_HOST` as an address of this machine; '' for none. A server that listens everywhere listens here."""
    text = written.strip()
    parts = urlsplit(text if "://" in text else f"http://{text}")
    try:
        port = parts.port or 11434
    except ValueError:
        return ""
    host = "127.0.0.1" if parts.hostname in ("0.0.0.0", "::") else parts.hostname or ""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1" if text and is_loopback(host) else ""


async def find_servers(addresses: Mapping[str, str], environ: Mapping[str, str]) -> tuple[ModelServer, ...]:
    """Those that answer, in the order of the addresses; all are asked at once, and none is waited for long."""
    found: dict[str, ModelServer] = {}

    async def look(name: str, base_url: str) -> None:
        endpoint = Endpoint(name, "openai", base_url)
        try:
            found[name] = ModelServer(name, base_url, await fetch_models(endpoint, environ, PROBE_S))
        except ClawftError as error:
            if error.code == "provider-refused":
                found[name] = ModelServer(name, base_url, wants_key=True)

    async with anyio.create_task_group() as group:
        for name, base_url in addresses.items():
            group.start_soon(look, name, base_url)
    return tuple(found[name] for name in addresses if name in found)


async def fetch_models(endpoint: Endpoint, environ: Mapping[str, str], timeout_s: float) -> tuple[str, ...]:
    """The models that a server lists, in its order. Raises: ClawftError."""
    bounded = replace(endpoint, timeout_s=timeout_s, connect_timeout_s=timeout_s)
    wire = OpenAiWire() if endpoint.wire == "openai" else AnthropicWire()
    headers = {**wire.build_headers(endpoint.resolve_key(environ)), **endpoint.expand_headers(environ)}
    data = b""
    async with build_client(bounded, environ) as client:
        with translate_http_errors(bounded, environ), anyio.fail_after(timeout_s):
            async with client.stream("GET", f"{endpoint.base_url}/models", headers=headers) as response:
                if response.status_code != 200:
                    raise make_status_error(endpoint, ServerError(response.status_code, ""), environ)
                async for piece in response.aiter_bytes():
                    data += piece
                    if len(data) > MAX_LIST_BYTES:
                        raise bad_answer(endpoint, "The list of models has no end")
    return _parse_models(endpoint, data)


class _Model(Struct, frozen=True):
    id: str


class _Models(Struct, frozen=True):
    data: list[_Model]


def _parse_models(endpoint: Endpoint, data: bytes) -> tuple[str, ...]:
    """The names of an answer that any program on that port may have given."""
    try:
        models = msgspec.json.decode(data, type=_Models).data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_answer(endpoint, f"'{endpoint.name}' gave no list of models") from error
    names = [model.id for model in models if 0 < len(model.id) <= 200 and model.id.isprintable()]
    return tuple(dict.fromkeys(names))[:MAX_MODELS]


TRIAL_S = 20.0
_QUESTION = "Answer with one word: ready"


class ModelTrial(Struct, frozen=True):
    """The result of a test call. Without an error the model answered."""

    model: str
    seconds: float
    error: ClawftError | None = None


async def run_trial(
    model: str, providers: Mapping[str, ProviderSettings], environ: Mapping[str, str], base_dir: str
) -> ModelTrial:
    """Ask a model for one word; nothing is tried again, and nothing is waited for longer than 20 s."""
    started = time.monotonic()
    error: ClawftError | None = None
    try:
        with anyio.fail_after(TRIAL_S):
            await _call(model, providers, environ, base_dir)
    except TimeoutError:
        hint = "See that the model is loaded and not too large for the machine"
        error = ProviderError("provider-timeout", f"{model} gave no answer within {TRIAL_S:g} s", hint=hint)
    except ClawftError as problem:
        error = problem
    return ModelTrial(model, time.monotonic() - started, error)


async def _call(
    model: str, providers: Mapping[str, ProviderSettings], environ: Mapping[str, str], base_dir: str
) -> None:
    name = parse_model(model).provider
    patient = providers.get(name) or ProviderSettings()
    hasty = {**providers, name: structs.replace(patient, max_retries=0)} if name != "offline" else providers
    provider, own_name = open_provider(model, hasty, environ, base_dir=base_dir)
    request = ModelRequest(own_name, (Message("user", _QUESTION),), max_tokens=16)
    try:
        async with aclosing(provider.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, DoneChunk):
                    return
    finally:
        await provider.close()
