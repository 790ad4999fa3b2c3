"""Where a server listens, and whether only this machine reaches it there."""

import socket
from ipaddress import ip_address

from clawft.errors import ClawftError

__all__ = ["WAITING", "WILD", "bracket", "is_loopback", "listen"]

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
    """Whether an address, or a name, is this machine's own, which no other machine reaches."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bracket(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host
