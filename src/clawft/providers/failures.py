"""What went wrong between a client and its server, in words: the code, whether it may pass, and what to do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx2

from clawft.providers.endpoint import Endpoint
from clawft.providers.request import ProviderError, StreamCut
from clawft.providers.retry import RETRIED, Passing
from clawft.providers.wire import ServerSaid

__all__ = ["bad_answer", "broken_off", "judge_status", "timed_out", "translated"]

_MAX_MESSAGE = 500


def judge_status(endpoint: Endpoint, said: ServerSaid, environ: Mapping[str, str]) -> ProviderError:
    """The error for a status, in the server's own words without our secrets."""
    words = _clean(said.message, endpoint, environ)
    message = f"'{endpoint.name}' answered with status {said.status}" + (f": {words}" if words else "")
    code, hint = _code_and_hint(endpoint, said.status)
    return (Passing if said.status in RETRIED else ProviderError)(code, message, hint=hint)


@contextmanager
def translated(endpoint: Endpoint, environ: Mapping[str, str]) -> Iterator[None]:
    """What the HTTP library raises, as errors of ours."""
    try:
        yield
    except (httpx2.ConnectTimeout, httpx2.ConnectError, httpx2.ProxyError) as error:
        raise _unreachable(endpoint, error, environ) from error
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise timed_out(endpoint) from error
    except httpx2.DecodingError as error:
        raise bad_answer(endpoint, "The answer cannot be decompressed") from error
    except httpx2.TransportError as error:
        raise Passing("provider-unreachable", f"The connection to '{endpoint.name}' broke") from error


def timed_out(endpoint: Endpoint) -> Passing:
    message = f"Nothing came from '{endpoint.name}' for {endpoint.timeout_s:g} s"
    return Passing("provider-timeout", message, hint=f"Raise providers.{endpoint.name}.timeout_s")


def bad_answer(endpoint: Endpoint, message: str) -> ProviderError:
    return ProviderError("provider-bad-answer", message, hint=f"Check base_url in [providers.{endpoint.name}]")


def broken_off(failure: Passing) -> ProviderError:
    """The same failure once part of an answer was handed on."""
    if failure.code == "provider-timeout":
        return failure
    return StreamCut("provider-cut", str(failure), hint="Ask again: what came is not complete")


def _unreachable(endpoint: Endpoint, error: httpx2.TransportError, environ: Mapping[str, str]) -> ProviderError:
    place = f"'{endpoint.name}' at {endpoint.base_url}"
    hint = f"Check base_url in [providers.{endpoint.name}]" + (", and start the server" * endpoint.is_local)
    if isinstance(error, httpx2.ConnectTimeout):
        message = f"No connection to {place} within {endpoint.connect_timeout_s:g} s"
        return Passing("provider-unreachable", message, hint=hint)
    detail = _clean(str(error), endpoint, environ)
    message = f"No connection to {place}: {detail}"
    if "certificate" in detail.lower():
        return ProviderError("provider-unreachable", message, hint="SSL_CERT_FILE names further certificates")
    # A server on this machine that is not there does not come by waiting.
    return (ProviderError if endpoint.is_local else Passing)("provider-unreachable", message, hint=hint)


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
