"""What stays as it is, since the user says so."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

__all__ = ["Allowed"]


class Allowed:
    """Values, domains of addresses, and networks. Numbers are compared by their digits, however they are written."""

    def __init__(self, given: Iterable[str]) -> None:
        entries = [one.strip().lower() for one in given]
        self._domains = frozenset(one[1:] for one in entries if one.startswith("@"))
        self._values = frozenset(entries) | {_plain(one) for one in entries}
        self._networks = tuple(network for one in entries if (network := _network(one)) is not None)

    def has(self, kind: str, plain: str) -> bool:
        """Whether the plain form of something found is to stay."""
        lowered = plain.lower()
        if lowered in self._values or (kind != "EMAIL" and _plain(lowered) in self._values):
            return True
        if kind == "EMAIL":
            domain = lowered.rpartition("@")[2]
            return any(domain == one or domain.endswith(f".{one}") for one in self._domains)
        return kind == "IP" and any(ip_address(plain) in one for one in self._networks)


def _plain(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", text)


def _network(text: str) -> IPv4Network | IPv6Network | None:
    if "/" not in text:
        return None
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
