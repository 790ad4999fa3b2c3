"""The HTTP client of one endpoint: proxy, certificates and time limits, errors in words, and when to retry."""

import math
import random
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC
from email.utils import parsedate_to_datetime
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import httpx2

from clawft.agent.providers.endpoint import Endpoint
from clawft.agent.providers.request import ContextFull, ProviderError, StreamCut
from clawft.agent.providers.wire import ServerError
from clawft.errors import ClawftError

RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_FIRST_WAIT_S = 0.5
_LONGEST_BACKOFF_S = 8.0
_LONGEST_WAIT_S = 60.0


class TransientError(ProviderError):
    """A failure that may pass. `retry_after_s` is what the server asked for."""

    retry_after_s: float | None = None


def wait_before(attempt: int, retry_after_s: float | None) -> float:
    """Seconds before the next try: what the server asked for within reason, else twice as long each time.

    Up to a quarter is left to chance, so that clients that failed together do not come back together.
    """
    if retry_after_s is not None:
        return min(max(retry_after_s, 0.0), _LONGEST_WAIT_S)
    backoff = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _LONGEST_BACKOFF_S)
    return backoff * random.uniform(0.75, 1.0)


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `retry-after-ms` or `Retry-After`, which holds seconds or a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    written = headers.get("retry-after", "").strip()
    seconds = _number(written)
    if seconds is not None or not written:
        return seconds
    try:
        moment = parsedate_to_datetime(written)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None


def _number(written: str) -> float | None:
    try:
        value = float(written)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


_MAX_MESSAGE = 500


def make_status_error(endpoint: Endpoint, error: ServerError, environ: Mapping[str, str]) -> ProviderError:
    """The error for a status, in the server's own words without our secrets."""
    words = _clean(error.message, endpoint, environ)
    message = f"'{endpoint.name}' answered with status {error.status}" + (f": {words}" if words else "")
    if error.is_too_long:
        hint = f"Set providers.{endpoint.name}.models.MODEL.context_window to what the model holds"
        return ContextFull("provider-context", message, hint=hint)
    code, hint = _code_and_hint(endpoint, error.status)
    return (TransientError if error.status in RETRIED else ProviderError)(code, message, hint=hint)


@contextmanager
def translate_http_errors(endpoint: Endpoint, environ: Mapping[str, str]) -> Iterator[None]:
    """Translate the HTTP library's exceptions to weft's errors."""
    try:
        yield
    except (httpx2.ConnectTimeout, httpx2.ConnectError, httpx2.ProxyError) as error:
        raise _unreachable(endpoint, error, environ) from error
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise timed_out(endpoint) from error
    except httpx2.DecodingError as error:
        raise bad_answer(endpoint, "The answer cannot be decompressed") from error
    except httpx2.TransportError as error:
        raise TransientError("provider-unreachable", f"The connection to '{endpoint.name}' broke") from error


def timed_out(endpoint: Endpoint) -> TransientError:
    message = f"Nothing came from '{endpoint.name}' for {endpoint.timeout_s:g} s"
    return TransientError("provider-timeout", message, hint=f"Raise providers.{endpoint.name}.timeout_s")


def bad_answer(endpoint: Endpoint, message: str) -> ProviderError:
    return ProviderError("provider-bad-answer", message, hint=f"Check base_url in [providers.{endpoint.name}]")


def broken_off(failure: TransientError) -> ProviderError:
    """Return the failure as it is reported once part of an answer was handed on."""
    if failure.code == "provider-timeout":
        return failure
    return StreamCut("provider-cut", str(failure), hint="Ask again: what came is not complete")


def _unreachable(endpoint: Endpoint, error: httpx2.TransportError, environ: Mapping[str, str]) -> ProviderError:
    place = f"'{endpoint.name}' at {endpoint.base_url}"
    hint = f"Check base_url in [providers.{endpoint.name}]" + (", and start the server" * endpoint.is_local)
    if isinstance(error, httpx2.ConnectTimeout):
        message = f"No connection to {place} within {endpoint.connect_timeout_s:g} s"
        return TransientError("provider-unreachable", message, hint=hint)
    detail = _clean(str(error), endpoint, environ)
    message = f"No connection to {place}: {detail}"
    if "certificate" in detail.lower():
        return ProviderError("provider-unreachable", message, hint="SSL_CERT_FILE names further certificates")
    # A server on this machine that is not there does not come by waiting.
    return (ProviderError if endpoint.is_local else TransientError)("provider-unreachable", message, hint=hint)


def _clean(text: str, endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    """One line without secrets and without control characters; masked first, so that no half of a key stays."""
    shown = endpoint.find_secrets(environ).mask(text)
    return " ".join("".join(c if c.isprintable() else " " for c in shown).split())[:_MAX_MESSAGE]


def _code_and_hint(endpoint: Endpoint, status: int) -> tuple[str, str]:
    section = f"[providers.{endpoint.name}]"
    if status in (401, 403):
        return "provider-refused", f"Check the key: {endpoint.api_key or f'{section} has no api_key'}"
    if status in (402, 429):
        return "provider-limited", "Wait, look at the limits of your account, or choose another model"
    if 300 <= status < 400:
        return "provider-failed", f"Redirects are not followed: correct base_url in {section}"
    if status == 404:
        return "provider-failed", f"Check the model's name, and that base_url in {section} ends as in …/v1"
    return "provider-failed", "Try again later" if status >= 500 else ""


def build_client(endpoint: Endpoint, environ: Mapping[str, str]) -> httpx2.AsyncClient:
    """A client that keeps connections open between calls and follows no redirect: a key goes to one server only.

    Raises: ClawftError.
    """
    wait_s = endpoint.timeout_s
    timeout = httpx2.Timeout(wait_s, connect=endpoint.connect_timeout_s)
    return httpx2.AsyncClient(
        verify=_certificates(endpoint, environ),
        trust_env=False,
        proxy=_proxy(endpoint, environ),
        timeout=timeout,
        limits=httpx2.Limits(max_connections=100, max_keepalive_connections=10, keepalive_expiry=60),
    )


def find_proxy(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY` names for a URL, unless `NO_PROXY` has its host."""
    parts = urlsplit(url)
    if _goes_direct(parts.hostname or "", _variable("no_proxy", environ)):
        return None
    proxy = _variable(f"{parts.scheme}_proxy", environ) or _variable("all_proxy", environ)
    return (proxy if "://" in proxy else f"http://{proxy}") if proxy else None


def _proxy(endpoint: Endpoint, environ: Mapping[str, str]) -> httpx2.Proxy | None:
    url = None if endpoint.is_local else find_proxy(endpoint.base_url, environ)
    if url is None:
        return None
    try:
        if urlsplit(url).scheme in ("http", "https"):
            return httpx2.Proxy(url)
    except (ValueError, httpx2.InvalidURL):
        pass
    # The variable may hold a password: it is not shown.
    message = f"The proxy for {endpoint.host} is no http or https URL"
    raise ClawftError("provider-bad-proxy", message, hint="See HTTPS_PROXY and ALL_PROXY") from None


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return (environ.get(name) or environ.get(name.upper()) or "").strip()


def _goes_direct(host: str, exceptions: str) -> bool:
    return any(_is_exception(host, part.strip().lower()) for part in exceptions.split(",") if part.strip())


def _is_exception(host: str, written: str) -> bool:
    if written == "*":
        return True
    try:
        return ip_address(host) in ip_network(written.strip("[]"), strict=False)
    except ValueError:
        domain = written.removeprefix("*").removeprefix(".")
        return host == domain or host.endswith(f".{domain}")


def _certificates(endpoint: Endpoint, environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Load the trusted certificates: the system's, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`. Plain HTTP needs
    none, so loading is skipped to save time."""
    if endpoint.base_url.startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    if not (file or folder):
        return True
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as error:
        message = f"The certificates in {file or folder} cannot be read"
        raise ClawftError("provider-bad-certificates", message, hint="See SSL_CERT_FILE and SSL_CERT_DIR") from error
