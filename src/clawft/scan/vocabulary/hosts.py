"""What an address is: loopback, a bare public address, a dead drop, a shortener, or an ordinary host."""

import re
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from clawft.scan.lazy import lazy

__all__ = ["Place", "host_of", "judge_address"]


class Place(StrEnum):
    """What kind of place an address names."""

    UNKNOWN = "unknown"  # known at run time only
    LOCAL = "local"  # this machine or its own network
    BARE = "bare"  # a public address without a name
    DROP = "drop"  # anyone may leave or pick up data there unseen: paste, webhook, tunnel, anonymous upload, chat bot
    SHORT = "short"  # leads elsewhere
    ORDINARY = "ordinary"


_URL = lazy(r"^[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[0-9a-f:.]+\]|[^/:?#\s\\'\"`<>]+)", re.IGNORECASE)
_BARE = lazy(r"^(?:[^/@\s]*@)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)+|\[[0-9a-f:]+\])(?=[:/]|$)", re.IGNORECASE)
_DROP = lazy(
    r"(^|[.-])(paste|pastes|snippets?|webhooks?|hookbin|requestbin|ngrok|trycloudflare|localtunnel|serveo|interact|oast"
    r"|burpcollaborator|pipedream|beeceptor|requestcatcher|transfer|termbin|filebin|gofile|anonfiles?|catbox|dpaste"
    r"|hastebin|ghostbin|privatebin|controlc|ix|sprunge|oshi|duckdns|dnslog|canarytokens)([.-]|$)"
    r"|(paste|bin)\.[a-z]{2,4}$|^0x0\.st$|\.onion$|\.(ngrok|loca|oast)\.[a-z]+$"
)
_CHAT = lazy(
    r"^https?://(api\.telegram\.org/bot|(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/|hooks\.slack\.com/)",
    re.IGNORECASE,
)
_SHORT = frozenset(
    {
        "bit.ly",
        "tinyurl.com",
        "t.co",
        "goo.gl",
        "is.gd",
        "ow.ly",
        "rb.gy",
        "cutt.ly",
        "shorturl.at",
        "t.ly",
        "tiny.cc",
        "v.gd",
    }
)
# Networks that no one can own, but that stand for public ones wherever something is explained or tested.
_EXAMPLES = tuple(map(ip_network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20")))
_NUMBERS = lazy(r"[0-9a-fx.:]+")
_KEPT = 300  # longer addresses are rare, and are not remembered
_LOCAL = lazy(r"^(localhost|.*\.local|.*\.localhost|.*\.internal|host\.docker\.internal|0\.0\.0\.0|::1?)$")


def host_of(address: str) -> str:
    """The host of an address, in lower case; empty when it is only known at run time."""
    return _find_host(address) if len(address) <= _KEPT else _find_host.__wrapped__(address)


@lru_cache(1024)
def _find_host(address: str) -> str:
    match = _URL.match(address.strip()) or _BARE.match(address.strip())
    host = match[1].strip("[]").lower().rstrip(".") if match else ""
    return "" if any(mark in host for mark in "${}%*\0") else host


def judge_address(address: str) -> Place:
    """What kind of place an address names."""
    return _judge(address) if len(address) <= _KEPT else _judge.__wrapped__(address)


@lru_cache(1024)
def _judge(address: str) -> Place:
    host = host_of(address)
    if not host:
        return Place.UNKNOWN
    if _LOCAL.match(host):
        return Place.LOCAL
    if _NUMBERS.fullmatch(host):
        try:
            number = ip_address(_as_dotted(host))
        except ValueError:
            pass
        else:
            return Place.LOCAL if _is_own(number) else Place.BARE
    if host in _SHORT:
        return Place.SHORT
    return Place.DROP if _DROP.search(host) or _CHAT.match(address.strip()) else Place.ORDINARY


def _is_own(number: IPv4Address | IPv6Address) -> bool:
    """Whether an address is this machine or its own network; what cannot be reached at all counts as own."""
    if number.is_loopback or number.is_link_local or number.is_unspecified:
        return True
    return not number.is_global and not any(number in network for network in _EXAMPLES)


def _as_dotted(host: str) -> str:
    """An IPv4 address written as one number, in hex or octal, as the common dotted one."""
    parts = host.split(".")
    if len(parts) > 4 or not all(re.fullmatch(r"0x[0-9a-f]+|\d+", part) for part in parts):
        return host
    try:
        numbers = [
            int(part, 16 if part.startswith("0x") else 8 if len(part) > 1 and part[0] == "0" else 10) for part in parts
        ]
    except ValueError:
        return host
    *heads, tail = numbers
    if any(one > 255 for one in heads) or tail >= 256 ** (5 - len(parts)):
        return host
    value = tail
    for index, one in enumerate(heads):
        value += one << (8 * (3 - index))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
