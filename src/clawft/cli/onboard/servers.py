"""Which model servers answer on this machine, and which models a server has. Asks loopback without any key."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import anyio
import msgspec
from msgspec import Struct

from clawft.config.providers import ProviderSettings
from clawft.errors import ClawftError
from clawft.providers.anthropic import AnthropicWire
from clawft.providers.client import build_client
from clawft.providers.endpoint import PRESETS, Endpoint
from clawft.providers.failures import bad_answer, judge_status, translated
from clawft.providers.openai import OpenAiWire
from clawft.providers.wire import ServerSaid
from clawft.trust.urls import is_loopback

__all__ = ["PROBE_S", "Server", "fetch_models", "find_servers", "local_addresses"]

PROBE_S = 0.3
MAX_LIST_BYTES = 4 << 20
MAX_MODELS = 500
# Servers that speak the same wire and have no preset, at the ports they take by themselves.
_USUAL = {"sglang": 30000, "jan": 1337, "koboldcpp": 5001, "textgen": 5000, "gpt4all": 4891}


class Server(Struct, frozen=True):
    """A server that answered. `wants_key` tells that it lists nothing without one."""

    name: str
    base_url: str
    models: tuple[str, ...] = ()
    wants_key: bool = False


def local_addresses(providers: Mapping[str, ProviderSettings], environ: Mapping[str, str]) -> dict[str, str]:
    """Where to look, by name: what is configured, what `OLLAMA_HOST` says, and the usual ports."""
    found = {name: one.base_url for name, one in PRESETS.items() if not one.key_env}
    ollama = _ollama_url(environ.get("OLLAMA_HOST", ""))
    if ollama:
        found["ollama"] = ollama
    found |= {name: f"http://127.0.0.1:{port}/v1" for name, port in _USUAL.items()}
    found |= {name: one.base_url.rstrip("/") for name, one in providers.items() if one.base_url}
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


async def find_servers(addresses: Mapping[str, str], environ: Mapping[str, str]) -> tuple[Server, ...]:
    """Those that answer, in the order of the addresses; all are asked at once, and none is waited for long."""
    found: dict[str, Server] = {}

    async def look(name: str, base_url: str) -> None:
        endpoint = Endpoint(name, "openai", base_url)
        try:
            found[name] = Server(name, base_url, await fetch_models(endpoint, environ, PROBE_S))
        except ClawftError as error:
            if error.code == "provider-refused":
                found[name] = Server(name, base_url, wants_key=True)

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
        with translated(bounded, environ), anyio.fail_after(timeout_s):
            async with client.stream("GET", f"{endpoint.base_url}/models", headers=headers) as response:
                if response.status_code != 200:
                    raise judge_status(endpoint, ServerSaid(response.status_code, ""), environ)
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
    names = [one.id for one in models if 0 < len(one.id) <= 200 and one.id.isprintable()]
    return tuple(dict.fromkeys(names))[:MAX_MODELS]
