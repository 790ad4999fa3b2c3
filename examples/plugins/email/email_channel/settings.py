"""The plugin's settings as one value, and how its servers are reached."""

import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from typing import Any

from clawft.contracts import PluginError, PluginHost

__all__ = ["Server", "Settings", "load_settings", "open_socket"]

_PORTS = {("imap", "tls"): 993, ("imap", "starttls"): 143, ("smtp", "tls"): 465, ("smtp", "starttls"): 587}
_PLAIN_PORTS = {"imap": 143, "smtp": 587}
_CONNECT_S = 10.0


@dataclass(frozen=True)
class Server:
    """One of the two servers. No `context` means that it is on this machine and nothing is encrypted."""

    host: str
    port: int
    security: str
    context: ssl.SSLContext | None
    username: str
    password: str


@dataclass(frozen=True)
class Settings:
    address: str
    name: str
    imap: Server
    smtp: Server
    mailbox: str
    require_authentication: bool
    authserv_id: str
    max_bytes: int
    idle_s: float
    poll_s: float

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


def load_settings(host: PluginHost) -> Settings:
    """What the user configured. Raises: PluginError for what cannot work."""
    address = str(_get(host, "address", "")).lower()
    if not address:
        raise PluginError("The setting 'address' is missing", hint="See the plugin's README.md")
    authserv_id = str(_get(host, "authserv_id", "")).lower()
    required = bool(_get(host, "require_authentication", True))
    if required and not authserv_id:
        message = "The setting 'authserv_id' is missing: without it nobody can tell who a mail is from"
        raise PluginError(message, hint="See 'Who is it from?' in the plugin's README.md")
    return Settings(
        address=address,
        name=str(_get(host, "name", "")),
        imap=_read_server(host, "imap", address),
        smtp=_read_server(host, "smtp", address),
        mailbox=str(_get(host, "imap.mailbox", "INBOX")),
        require_authentication=required,
        authserv_id=authserv_id,
        max_bytes=int(_get(host, "max_bytes", 1_000_000)),
        idle_s=float(_get(host, "idle_s", 240)),
        poll_s=float(_get(host, "poll_s", 60)),
    )


def open_socket(host: PluginHost, server: Server) -> socket:
    """A connection to a server, encrypted if that is to be so from the start. Raises: OSError, PluginError."""
    sock = host.connect(server.host, server.port, _CONNECT_S)
    sock.settimeout(_CONNECT_S)
    if server.security != "tls" or server.context is None:
        return sock
    try:
        return server.context.wrap_socket(sock, server_hostname=server.host)
    except BaseException:
        sock.close()
        raise


def _read_server(host: PluginHost, kind: str, address: str) -> Server:
    name = str(_get(host, f"{kind}.host", ""))
    if not name:
        raise PluginError(f"The setting '{kind}.host' is missing", hint="See the plugin's README.md")
    security = str(_get(host, f"{kind}.security", "tls" if kind == "imap" else "starttls"))
    if security == "plain" and not _is_loopback(name):
        message = f"{kind}.security is 'plain' and {name} is not this machine: the password would be readable by others"
        raise PluginError(message, hint="Use tls or starttls")
    username = str(_get(host, "username", "")) or address
    password = host.resolve_secret("EMAIL_PASSWORD") or ""
    if kind == "smtp":
        username = str(_get(host, "smtp.username", "")) or username
        password = host.resolve_secret("EMAIL_SMTP_PASSWORD") or password
        if not _get(host, "smtp.login", True):
            username = password = ""
    if not password and (kind == "imap" or username):
        message = f"There is no password for {kind}"
        raise PluginError(message, hint="Set EMAIL_PASSWORD: see the plugin's README.md")
    port = int(_get(host, f"{kind}.port", 0)) or _PORTS.get((kind, security), _PLAIN_PORTS[kind])
    return Server(name, port, security, None if security == "plain" else _make_context(host), username, password)


def _make_context(host: PluginHost) -> ssl.SSLContext:
    ca_file = str(_get(host, "ca_file", ""))
    if not ca_file:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=str(Path(host.data_dir(), ca_file)))
    except OSError as error:
        hint = f"Put it into {host.data_dir()}"
        raise PluginError(f"The certificates in '{ca_file}' cannot be read: {error}", hint=hint) from error


def _is_loopback(host: str) -> bool:
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _get(host: PluginHost, key: str, default: Any) -> Any:
    value = host.config_value(key)
    return default if value is None else value
