"""The HTTP client of one endpoint: its time limits, proxy and certificates, all from the environment it is given."""

import ssl
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import httpx2

from clawft.errors import ClawftError
from clawft.providers.endpoint import Endpoint

__all__ = ["build_client", "find_proxy"]


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
    return any(_is_exception(host, one.strip().lower()) for one in exceptions.split(",") if one.strip())


def _is_exception(host: str, written: str) -> bool:
    if written == "*":
        return True
    try:
        return ip_address(host) in ip_network(written.strip("[]"), strict=False)
    except ValueError:
        domain = written.removeprefix("*").removeprefix(".")
        return host == domain or host.endswith(f".{domain}")


def _certificates(endpoint: Endpoint, environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Who is trusted: the system, or `SSL_CERT_FILE` and `SSL_CERT_DIR`. Plain HTTP trusts nobody, which is quick."""
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
