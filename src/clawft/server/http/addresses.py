"""Addresses a server listens on, and the host names and origins that it accepts."""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from clawft.config.serve import ServeSettings
from clawft.errors import ClawftError

WAITING = 1_024  # to be let in
WILD = ("0.0.0.0", "::")  # every address of this machine


def listen(host: str, port: int, *, name: str, code: str) -> socket.socket:
    """A socket that listens; port 0 takes one that is free. `name` is the server, as in `The hub`.

    Raises: ClawftError of the `code`.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ClawftError(code, f"'{host[:100]}' is no address of this machine: {reason}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(WAITING)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        message = f"{name} cannot listen on {host} port {port}: {error.strerror or error}"
        raise ClawftError(code, message, hint="Choose another: --port 0 takes one that is free") from error
    return listening


def is_loopback(host: str) -> bool:
    """Return whether an address, or a name, is this machine's own, which no other machine reaches."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bracket(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


class ServerNames(Struct, frozen=True):
    """The names and origins that this server accepts: a hostile page arrives by another name, or from another
    origin."""

    hosts: frozenset[str]
    any_address: bool = False  # a page can make its name mean another machine, but not an address
    public: str = ""  # the origin that clients know it by, where that is another one
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: ServeSettings) -> "ServerNames":
        public = urlsplit(settings.public_url)
        hosts = {bracket(settings.host).lower(), public.hostname or ""} - {""}
        is_local, is_wild = is_loopback(settings.host), settings.host in WILD
        if is_local or is_wild:
            hosts |= {"127.0.0.1", "localhost", "[::1]"}
        if not is_local:
            hosts.add(socket.gethostname().lower())
        origin = f"{public.scheme}://{public.netloc}".lower() if public.netloc else ""
        return cls(
            frozenset(hosts), is_wild, origin, frozenset(origin.rstrip("/").lower() for origin in settings.origins)
        )

    def has_host(self, host: str) -> bool:
        return host in self.hosts or (self.any_address and _is_address(host))

    def is_own(self, origin: str, here: str) -> bool:
        """Return whether a page came from here; `here` is what it was reached under, which was looked at before."""
        known, reached = urlsplit(self.public), urlsplit(here)
        if known.scheme == "https" and known.hostname == reached.hostname and not is_loopback(known.hostname or ""):
            return origin == self.public  # a page of that name without TLS belongs to anybody on the network path
        return origin in (self.public, here)


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
