"""May this host be reached? Grants of hosts, and who has to be asked. Pure judgement over names; addresses are
judged by `urls.py`.

A grant is `example.com`, `*.example.com` (its subdomains, not itself) or `*`, with a port behind it where another one
than that of the web is meant.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.trust.urls import InvalidUrl, read_host

__all__ = ["WEB_PORTS", "Grant", "find_grant", "parse_grant"]

WEB_PORTS = frozenset({80, 443})
_GRANT = re.compile(r"(?P<any>\*(?:\.|(?=:|$)))?(?P<host>\[[^\]]*\]|[^:\[\]*]*)(?::(?P<port>[0-9]{1,5}))?")


class Grant(Struct, frozen=True):
    """Hosts that may be reached. `port` None means those of the web; `subdomains` of '' means every host."""

    text: str
    host: str
    port: int | None = None
    subdomains: bool = False

    def covers(self, host: str, port: int) -> bool:
        """Whether a host, in the form that `read_host` gives it, is meant."""
        if port != self.port if self.port is not None else port not in WEB_PORTS:
            return False
        if self.subdomains:
            return not self.host or host.endswith(f".{self.host}")
        return host == self.host

    def includes(self, other: "Grant") -> bool:
        """Whether it covers all that another one does."""
        ports = WEB_PORTS if other.port is None else {other.port}
        if not ports <= (WEB_PORTS if self.port is None else {self.port}):
            return False
        if not self.subdomains:
            return not other.subdomains and other.host == self.host
        if not self.host or other.host.endswith(f".{self.host}"):
            return True
        return other.subdomains and other.host == self.host

    def touches(self, host: str, port: int) -> bool:
        """Whether to forbid it would forbid this: where no port is named, all are meant."""
        return self.covers(host, port if self.port else min(WEB_PORTS))


def parse_grant(text: str) -> Grant:
    """A grant as it is written. Raises: ClawftError `host-invalid`."""
    match = _GRANT.fullmatch(text.strip())
    port = int(match["port"]) if match and match["port"] else None
    if match is None or (port is not None and not 1 <= port <= 65535):
        raise _invalid(text)
    every = match["any"] == "*"
    if every and not match["host"]:
        return Grant(text, "", port, subdomains=True)
    try:
        host, address = read_host(match["host"])
    except InvalidUrl as error:
        raise _invalid(text) from error
    if every or (match["any"] and address is not None):
        raise _invalid(text)
    return Grant(text, host, port, subdomains=bool(match["any"]))


def find_grant(host: str, port: int, grants: Iterable[str]) -> Grant | None:
    """The first grant that covers a host, in the form that `read_host` gives it. What is no grant grants nothing.

    A `!` before one takes it away from all others; without a port, all of its ports.
    """
    found: Grant | None = None
    for text in grants:
        try:
            grant = parse_grant(text.removeprefix("!"))
        except ClawftError:
            continue
        if text.startswith("!"):
            if grant.touches(host, port):
                return None
        elif found is None and grant.covers(host, port):
            found = grant
    return found


def _invalid(text: str) -> ClawftError:
    hint = "Write example.com, *.example.com or either with a port, as example.com:8443"
    return ClawftError("host-invalid", f"{text[:80]!a} is no host", hint=hint)
