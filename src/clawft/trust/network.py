"""The URL policy and grants of hosts: decide by name what may be fetched. `sandbox/net.py` resolves and connects."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import quote

from msgspec import Struct

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, Refused

Address = IPv4Address | IPv6Address
MAX_URL = 8192
_DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_REST = re.compile(r"//(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?", re.DOTALL)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
# Beyond what `ipaddress` calls not global, in every version of Python we run on.
_REFUSED_NETWORKS = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4",
        "168.63.129.16/32",  # what answers every machine in Azure from inside
        "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
    )
)  # fmt: skip
# What answers machines of a cloud from inside, credentials among it: no program in the sandbox reaches it.
_METADATA = frozenset(
    map(ip_address, (
        "169.254.169.254", "169.254.170.2", "169.254.170.23", "168.63.129.16", "100.100.100.200", "192.0.0.192",
        "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
    ))
)  # fmt: skip
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


class PolicyViolation(Refused):
    """A URL that the policy does not allow to be fetched. `url` is set where it is not the one that was asked for."""

    url = ""


class InvalidUrl(PolicyViolation):
    """Code `url-invalid`: it cannot be read without doubt."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "url-invalid", f"The URL {why}", hint="Write scheme://host[:port]/path, without user or password"
        )


class DisallowedScheme(PolicyViolation):
    """Code `url-scheme`."""

    def __init__(self, scheme: str) -> None:
        super().__init__(
            "url-scheme",
            f"The scheme '{scheme[:40]}' is not allowed",
            hint="See tools.web.allowed_schemes in the config",
        )


class BlockedDomain(PolicyViolation):
    """Code `url-domain`."""

    def __init__(self, host: str) -> None:
        super().__init__(
            "url-domain", f"The host '{host}' is blocked", hint="See tools.web.blocked_domains in the config"
        )


class PrivateIp(PolicyViolation):
    """Code `url-private-address`."""

    def __init__(self, address: str) -> None:
        super().__init__(
            "url-private-address",
            f"'{address}' is an address of this machine, of a private or of a reserved network",
            hint="See tools.web.block_private_ips in the config",
        )


class UrlTarget(Struct, frozen=True):
    """A URL, read. `host` is in lower case, in ASCII and without a dot at its end; an address in its usual form."""

    scheme: str
    host: str
    port: int | None  # None for the scheme's own
    path: str  # with the query, never empty
    address: Address | None = None

    @property
    def connect_port(self) -> int:
        """The port to connect to; 443 for a scheme that has no port of its own."""
        return self.port or _DEFAULT_PORTS.get(self.scheme, 443)

    @property
    def authority(self) -> str:
        """The value of the header `LocalMachine`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.origin + self.path


class UrlPolicy:
    """`[tools.web]`, ready to judge."""

    def __init__(self, settings: WebSettings, *, block_metadata: bool = False) -> None:
        """With `block_metadata` the services of clouds are closed whatever the settings allow.

        Raises: ClawftError for a blocked domain that is no host.
        """
        self._block_metadata = block_metadata
        self._schemes = frozenset(scheme.lower() for scheme in settings.allowed_schemes)
        self._blocked = frozenset(_read_blocked(domain) for domain in settings.blocked_domains)
        self._block_private = settings.block_private_ips

    def check_address(self, address: str | Address) -> PolicyViolation | None:
        """Check an address that a host has resolved to, and return the violation, if any."""
        try:
            read = ip_address(address)
        except ValueError:
            return InvalidUrl("leads to what is no address")
        if isinstance(read, IPv6Address) and read.scope_id is not None:
            return InvalidUrl("leads to an address of one network interface")
        if self._block_metadata and (read in _METADATA or _find_wrapped(read) in _METADATA):
            message = f"'{read}' answers with what this machine is trusted with in its cloud, so it is never reached"
            return PolicyViolation("url-private-address", message)
        return PrivateIp(str(read)) if self._block_private and not _is_public(read) else None

    def read_allowed(self, url: str) -> UrlTarget:
        """A URL, read and judged. Raises: PolicyViolation."""
        scheme = _SCHEME.match(url)
        if scheme is not None and scheme[1].lower() not in self._schemes:
            raise DisallowedScheme(scheme[1].lower())
        target = read_url(url)
        if target.host in self._blocked:
            raise BlockedDomain(target.host)
        if target.address is not None and (violation := self.check_address(target.address)):
            raise violation
        if self._block_private and (target.host == "localhost" or target.host.endswith(".localhost")):
            raise PrivateIp(target.host)
        return target


def read_url(url: str) -> UrlTarget:
    """Read a URL. Raises: InvalidUrl where two programs might read it differently."""
    if len(url) > MAX_URL:
        raise InvalidUrl(f"is longer than {MAX_URL} characters")
    if any(char <= " " or char in "\\\x7f" or "\ud800" <= char <= "\udfff" for char in url):
        raise InvalidUrl("has a blank, a control character or a backslash")
    scheme = _SCHEME.match(url)
    rest = _REST.fullmatch(url, scheme.end()) if scheme else None
    if scheme is None or rest is None:
        raise InvalidUrl("is not absolute")
    if "@" in rest["authority"]:
        raise InvalidUrl("has a user or a password")
    authority = _AUTHORITY.fullmatch(rest["authority"])
    if authority is None:
        raise InvalidUrl("has a host or a port that cannot be read")
    port = int(authority["port"]) if authority["port"] else None
    if port is not None and not 1 <= port <= 65535:
        raise InvalidUrl("has no possible port")
    host, address = read_host(authority["host"])
    path = quote((rest["path"] or "/") + (rest["query"] or ""), safe="!$%&'()*+,-./:;=?@[]_~")
    name = scheme[1].lower()
    return UrlTarget(name, host, None if port == _DEFAULT_PORTS.get(name) else port, path, address)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by name or address: a key may go there unencrypted."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _read_blocked(domain: str) -> str:
    try:
        bare_ipv6 = ":" in domain and not domain.startswith("[")
        return read_host(f"[{domain}]" if bare_ipv6 else domain)[0]
    except InvalidUrl as error:
        raise ClawftError(
            "policy-domain",
            f"tools.web.blocked_domains: {domain!r} is no host",
            hint="Write a host as 'example.com', without scheme, port or '*'",
        ) from error


def read_host(text: str) -> tuple[str, Address | None]:
    """A host in its one form, and the address it is if it is one. Raises: InvalidUrl."""
    if text.startswith("["):
        try:
            address: Address = IPv6Address(text[1:-1])
        except ValueError as error:
            raise InvalidUrl("has a host that is no IPv6 address") from error
        if "%" in text:
            raise InvalidUrl("names a network interface")
        return str(address), address
    host = (text if text.isascii() else _to_ascii(text)).lower()
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        address = _read_ipv4(labels)
        return str(address), address
    host = ".".join(labels)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise InvalidUrl("has a host that is no name")
    return host, None


def _to_ascii(host: str) -> str:
    import idna  # its tables are needed for few hosts

    try:
        return idna.encode(host, uts46=True, std3_rules=True).decode("ascii")
    except idna.IDNAError as error:
        raise InvalidUrl("has a host that is no name") from error


def _read_ipv4(labels: list[str]) -> IPv4Address:
    """An IPv4 address as `inet_aton` reads it: one to four numbers, each decimal, octal (`0…`) or hexadecimal (`0x…`);
    the last one fills what the others leave."""
    try:
        *first, last = [_read_number(label) for label in labels]
    except ValueError as error:
        raise InvalidUrl("has a host that is no IPv4 address") from error
    if len(first) > 3 or any(number > 255 for number in first) or last >= 256 ** (4 - len(first)):
        raise InvalidUrl("has a host that is no IPv4 address")
    return IPv4Address(last + sum(number << (24 - 8 * index) for index, number in enumerate(first)))


def _read_number(label: str) -> int:
    if not _NUMBER.fullmatch(label):
        raise ValueError(label)
    if label.startswith("0x"):
        return int(label, 16)
    return int(label, 8 if label.startswith("0") else 10)


def _find_wrapped(address: Address) -> IPv4Address | None:
    """The IPv4 address that one of IPv6 leads to."""
    if isinstance(address, IPv4Address):
        return None
    return address.ipv4_mapped or address.sixtofour or (_last_four(address) if address in _NAT64 else None)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        wrapped = _find_wrapped(address)
        if wrapped is not None:
            return _is_public(wrapped)
        # Outside of it lie the deprecated ways to wrap IPv4, too: `::10.0.0.1`, `::ffff:0:10.0.0.1`, NAT64 of a site.
        if address not in _GLOBAL_UNICAST or (_is_isatap(address) and not _is_public(_last_four(address))):
            return False
    refused = address.is_multicast or address.is_reserved or address.is_unspecified or address.is_private
    return not refused and address.is_global and not any(address in network for network in _REFUSED_NETWORKS)


def _last_four(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)


def _is_isatap(address: IPv6Address) -> bool:
    """Return whether it is the address of a tunnel to the IPv4 address in its last four bytes."""
    return (int(address) >> 32) & 0xFDFF_FFFF == 0x0000_5EFE


WEB_PORTS = frozenset({80, 443})
_GRANT = re.compile(r"(?P<any>\*(?:\.|(?=:|$)))?(?P<host>\[[^\]]*\]|[^:\[\]*]*)(?::(?P<port>[0-9]{1,5}))?")


class HostGrant(Struct, frozen=True):
    """Hosts that may be reached. `port` None means those of the web; `subdomains` of '' means every host."""

    text: str
    host: str
    port: int | None = None
    subdomains: bool = False

    def covers(self, host: str, port: int) -> bool:
        """Return whether a host, in the form that `read_host` gives it, is meant."""
        if port != self.port if self.port is not None else port not in WEB_PORTS:
            return False
        if self.subdomains:
            return not self.host or host.endswith(f".{self.host}")
        return host == self.host

    def includes(self, other: "HostGrant") -> bool:
        """Return whether it covers all that another one does."""
        ports = WEB_PORTS if other.port is None else {other.port}
        if not ports <= (WEB_PORTS if self.port is None else {self.port}):
            return False
        if not self.subdomains:
            return not other.subdomains and other.host == self.host
        if not self.host or other.host.endswith(f".{self.host}"):
            return True
        return other.subdomains and other.host == self.host

    def touches(self, host: str, port: int) -> bool:
        """Return whether to forbid it would forbid this: where no port is named, all are meant."""
        return self.covers(host, port if self.port else min(WEB_PORTS))


def parse_grant(text: str) -> HostGrant:
    """A grant as it is written. Raises: ClawftError `host-invalid`."""
    match = _GRANT.fullmatch(text.strip())
    port = int(match["port"]) if match and match["port"] else None
    if match is None or (port is not None and not 1 <= port <= 65535):
        raise _invalid(text)
    every = match["any"] == "*"
    if every and not match["host"]:
        return HostGrant(text, "", port, subdomains=True)
    try:
        host, address = read_host(match["host"])
    except InvalidUrl as error:
        raise _invalid(text) from error
    if every or (match["any"] and address is not None):
        raise _invalid(text)
    return HostGrant(text, host, port, subdomains=bool(match["any"]))


def find_grant(host: str, port: int, grants: Iterable[str]) -> HostGrant | None:
    """The first grant that covers a host, in the form that `read_host` gives it. What is no grant grants nothing.

    A `!` before one takes it away from all others; without a port, all of its ports.
    """
    found: HostGrant | None = None
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
