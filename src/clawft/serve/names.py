"""What a daemon goes by: the hosts it is reached under, and the origins whose pages may use it."""

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from clawft.config.serve import ServeSettings
from clawft.web.listening import WILD, bracket, is_loopback

__all__ = ["Names"]


class Names(Struct, frozen=True):
    """A page of a stranger gets here by another name, or says that it comes from elsewhere."""

    hosts: frozenset[str]
    any_address: bool = False  # a page can make its name mean another machine, but not an address
    public: str = ""  # the origin that clients know it by, where that is another one
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, settings: ServeSettings) -> "Names":
        public = urlsplit(settings.public_url)
        hosts = {bracket(settings.host).lower(), public.hostname or ""} - {""}
        is_local, is_wild = is_loopback(settings.host), settings.host in WILD
        if is_local or is_wild:
            hosts |= {"127.0.0.1", "localhost", "[::1]"}
        if not is_local:
            hosts.add(socket.gethostname().lower())
        origin = f"{public.scheme}://{public.netloc}".lower() if public.netloc else ""
        return cls(frozenset(hosts), is_wild, origin, frozenset(one.rstrip("/").lower() for one in settings.origins))

    def has_host(self, host: str) -> bool:
        return host in self.hosts or (self.any_address and _is_address(host))

    def is_own(self, origin: str, here: str) -> bool:
        """Whether a page came from here; `here` is what it was reached under, which was looked at before."""
        known, reached = urlsplit(self.public), urlsplit(here)
        if known.scheme == "https" and known.hostname == reached.hostname and not is_loopback(known.hostname or ""):
            return origin == self.public  # a page of that name without TLS is of whoever sits on the wire
        return origin in (self.public, here)


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
