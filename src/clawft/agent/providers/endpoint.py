"""The endpoint a client connects to: a preset, overridden by the user's `[providers.NAME]`.

An Endpoint names its secrets and does not hold them: they are looked up when a request is built.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from clawft.config.agents import ProviderSettings
from clawft.config.redaction import Secrets
from clawft.config.secret import SecretRef, expand, find_names
from clawft.errors import ClawftError
from clawft.trust.network import is_loopback

Wire = Literal["openai", "anthropic"]

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CREDENTIALS = ("authorization", "x-api-key", "api-key")
_MIN_MASKED = 4  # a shorter value is no secret, and masking it would spoil every message


class Preset(Struct, frozen=True):
    """A provider that needs no `base_url`; without `key_env` it needs no key either."""

    wire: Wire
    base_url: str
    key_env: str = ""


PRESETS: Mapping[str, Preset] = {
    "openai": Preset("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Preset("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "openrouter": Preset("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "ollama": Preset("openai", "http://127.0.0.1:11434/v1"),
    "vllm": Preset("openai", "http://127.0.0.1:8000/v1"),
    "llamacpp": Preset("openai", "http://127.0.0.1:8080/v1"),
    "lmstudio": Preset("openai", "http://127.0.0.1:1234/v1"),
}


@dataclass(frozen=True)
class Endpoint:
    """The connection settings of one client. Its repr shows the names of headers and variables, and no value."""

    name: str
    wire: Wire
    base_url: str
    api_key: SecretRef | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    default_model: str = ""
    timeout_s: float = 120
    connect_timeout_s: float = 10
    max_retries: int = 4
    empty_content: Literal["omit", "null"] = "omit"

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_local(self) -> bool:
        """Return whether the server is on this machine."""
        return is_loopback(self.host)

    def resolve_key(self, environ: Mapping[str, str]) -> str:
        """The key itself, for the one header that carries it. Raises: ClawftError."""
        key = self.api_key.resolve(environ).strip() if self.api_key else ""
        if not _fits_header(key) or " " in key:
            raise _bad_header(self.name, "The key holds characters that no HTTP header may carry")
        return key

    def expand_headers(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The user's headers, with each `${NAME}` filled in. Raises: ClawftError."""
        return {name.lower(): self._expand(name, value, environ) for name, value in self.headers.items()}

    def _expand(self, name: str, value: str, environ: Mapping[str, str]) -> str:
        unset = next((variable for variable in find_names(value) if not environ.get(variable)), "")
        if unset:
            raise _bad_header(self.name, f"The header '{name}' needs the variable {unset}, which is not set")
        text = expand(value, environ)[0].strip()
        if not _HEADER_NAME.fullmatch(name) or not _fits_header(text):
            raise _bad_header(self.name, f"The header {name!r} holds characters that no HTTP header may carry")
        return text

    def find_secrets(self, environ: Mapping[str, str]) -> Secrets:
        """Every text that no message may show."""
        found = {self.api_key.resolve(environ).strip()} if self.api_key else set()
        for name, value in self.headers.items():
            found |= {environ.get(variable, "").strip() for variable in find_names(value)}
            if name.lower() in _CREDENTIALS:
                found |= {value, *value.split()}
        return Secrets(found - {"Bearer", "Basic"}, _MIN_MASKED)


def build_endpoint(name: str, settings: ProviderSettings | None, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of a preset, of the user's own provider, or of both together. Raises: ClawftError."""
    preset = PRESETS.get(name)
    own = settings or ProviderSettings()
    base_url = own.base_url or (preset.base_url if preset else "")
    if not base_url:
        hint = f'Set providers.{name}.base_url, such as "http://127.0.0.1:11434/v1"'
        raise ClawftError("provider-bad-url", f"The provider '{name}' has no base_url", hint=hint)
    endpoint = Endpoint(
        name=name,
        wire=_wire(own, preset),
        base_url=_checked_url(name, base_url),
        api_key=own.api_key or _preset_key(preset, base_url),
        headers=own.headers,
        default_model=own.default_model,
        timeout_s=own.timeout_s,
        connect_timeout_s=own.connect_timeout_s,
        max_retries=own.max_retries,
        empty_content=own.empty_content,
    )
    _check_key(endpoint, environ)
    _check_secure(endpoint, environ)
    return endpoint


def _wire(own: ProviderSettings, preset: Preset | None) -> Wire:
    if own.wire == "anthropic" or own.wire == "openai":
        return own.wire
    return preset.wire if preset else "openai"


def _preset_key(preset: Preset | None, base_url: str) -> SecretRef | None:
    """The key of a preset goes to the preset's own server only: another server must be given one by name."""
    if preset is None or not preset.key_env or urlsplit(base_url).netloc != urlsplit(preset.base_url).netloc:
        return None
    return SecretRef(env=preset.key_env)


def _checked_url(name: str, base_url: str) -> str:
    problem = _url_problem(base_url)
    if problem:
        hint = f"Set providers.{name}.base_url to http(s)://HOST[:PORT]/v1"
        raise ClawftError("provider-bad-url", f"The base_url of the provider '{name}' {problem}", hint=hint)
    return base_url.rstrip("/")


def _url_problem(url: str) -> str:
    """Return what is wrong with a URL, '' if nothing; the URL itself is not shown, since it may hold a secret."""
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "is no URL"
    if parts.scheme not in ("http", "https") or not has_host or not (url.isascii() and url.isprintable()):
        return "is no http or https URL"
    if parts.username or parts.password or parts.query or parts.fragment:
        return "holds a user, password, query or fragment; a key belongs into api_key"
    return ""


def _has_credential_header(endpoint: Endpoint) -> bool:
    return any(name.lower() in _CREDENTIALS for name in endpoint.headers)


def _check_key(endpoint: Endpoint, environ: Mapping[str, str]) -> None:
    """A key that is named must be there; the servers of presets that want one say nothing useful without it."""
    key = endpoint.api_key
    if key is None or not (key.env or key.keystore) or key.is_configured(environ) or _has_credential_header(endpoint):
        return
    missing = f"the variable {key.env} is not set" if key.env else f"no key '{key.keystore}' is stored"
    message = f"The provider '{endpoint.name}' needs a key, and {missing}"
    hint = f'Set {key.env}, or name another variable: [providers.{endpoint.name}] api_key = {{ env = "NAME" }}'
    if key.keystore:
        hint = "Run: weft onboard"
    raise ClawftError("provider-no-key", message, hint=hint)


def _check_secure(endpoint: Endpoint, environ: Mapping[str, str]) -> None:
    if endpoint.base_url.startswith("https:") or endpoint.is_local:
        return
    has_key = endpoint.api_key is not None and endpoint.api_key.is_configured(environ)
    if has_key or _has_credential_header(endpoint) or any(map(find_names, endpoint.headers.values())):
        message = f"The provider '{endpoint.name}' would send a key unencrypted to {endpoint.host}"
        raise ClawftError("provider-insecure", message, hint="Use https, or a tunnel that ends on this machine")


def _fits_header(value: str) -> bool:
    return value.isascii() and (value.isprintable() or not value)


def _bad_header(provider: str, message: str) -> ClawftError:
    hint = f"See api_key and headers in [providers.{provider}], and the variables they name"
    return ClawftError("provider-bad-header", f"{message} (provider '{provider}')", hint=hint)
