"""The name that a TLS client asks for: the SNI of its ClientHello (RFC 8446, 6066). Reads bytes, and nothing else."""

from msgspec import Struct

__all__ = ["MAX_HELLO_BYTES", "TLS_HANDSHAKE", "Hello", "NotTls", "read_hello"]

MAX_HELLO_BYTES = 64 * 1024
_RECORD_HEADER = 5
_MAX_RECORD = 1 << 14
TLS_HANDSHAKE = 0x16  # the first byte of a TLS connection
_CLIENT_HELLO = 0x01
_SERVER_NAME = 0


class NotTls(ValueError):
    """What a client sent first is no ClientHello, or one that two programs might read differently."""


class Hello(Struct, frozen=True):
    """A ClientHello. `name` is the host it asks for, in lower case; empty where it names none."""

    name: str


def read_hello(data: bytes) -> Hello | None:
    """The ClientHello at the start of `data`; None while more is needed. Raises: NotTls."""
    handshake = _join_records(data)
    if len(handshake) >= 1 and handshake[0] != _CLIENT_HELLO:
        raise NotTls("it begins with another message than a ClientHello")
    if len(handshake) < 4:
        return None
    length = int.from_bytes(handshake[1:4], "big")
    if length > MAX_HELLO_BYTES:
        raise NotTls("its ClientHello is too long")
    if len(handshake) < 4 + length:
        return None
    return Hello(_read_name(_Reader(handshake[4 : 4 + length])))


def _join_records(data: bytes) -> bytes:
    """What the records hold, as far as they have come: a ClientHello may be cut into several."""
    handshake, at = bytearray(), 0
    while at < len(data):
        if data[at] != TLS_HANDSHAKE or (len(data) > at + 1 and data[at + 1] != 3):
            raise NotTls("it is not TLS")
        if len(data) < at + _RECORD_HEADER:
            break
        length = int.from_bytes(data[at + 3 : at + 5], "big")
        if not 0 < length <= _MAX_RECORD:
            raise NotTls("it has a record of no possible length")
        handshake += data[at + _RECORD_HEADER : at + _RECORD_HEADER + length]
        if _is_whole(handshake):
            break  # what follows is not ours to read
        at += _RECORD_HEADER + length
    return bytes(handshake)


def _is_whole(handshake: bytearray) -> bool:
    return len(handshake) >= 4 and len(handshake) >= 4 + int.from_bytes(handshake[1:4], "big")


def _read_name(hello: "_Reader") -> str:
    hello.take(2 + 32)  # version, random
    hello.block(1)  # session
    hello.block(2)  # ciphers
    hello.block(1)  # compression
    if hello.at_end():
        return ""
    extensions = _Reader(hello.block(2))
    names: list[str] = []
    if not hello.at_end():
        raise NotTls("its ClientHello does not end where it should")
    while not extensions.at_end():
        kind, content = extensions.number(2), extensions.block(2)
        if kind == _SERVER_NAME:
            names.append(_read_server_name(content))
    if len(names) > 1:
        raise NotTls("it asks for several names")
    return names[0] if names else ""


def _read_server_name(content: bytes) -> str:
    outer = _Reader(content)
    entries = _Reader(outer.block(2))
    kind, name = entries.number(1), entries.block(2)
    if kind != 0 or not entries.at_end() or not outer.at_end():
        raise NotTls("it asks for several names, or for one that is no host")
    try:
        return name.decode("ascii").lower().removesuffix(".")
    except UnicodeDecodeError as error:
        raise NotTls("it asks for a name that is not ASCII") from error


class _Reader:
    """Takes bytes from the front. Raises: NotTls where there are too few."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise NotTls("its ClientHello is cut off")
        self._at += count
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def block(self, width: int) -> bytes:
        """Bytes behind their length."""
        return self.take(self.number(width))
