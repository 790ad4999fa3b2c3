"""What a module of WebAssembly asks of its host: all that it can do beside computing is among its imports."""

from collections.abc import Iterator
from itertools import islice

__all__ = ["describe_imports"]

_MODULE = b"\0asm\x01\0\0\0"
_COMPONENT = b"\0asm\x0d\0\x01\0"
_IMPORTS = 2  # the number of the section
_WASI = ("wasi_snapshot_preview1", "wasi_unstable")
_MAX_IMPORTS = 2000
_MAX_NAMED = 4
_MAX_NAME = 40
_OF_WASI = {  # how names of WASI begin, and what they are for
    "path_": "files",
    "environ_": "variables",
    "sock_": "connections",
    "clock_": "the time",
    "random_": "random numbers",
    "args_": "its words",
    "fd_": "input and output",
}


def describe_imports(data: bytes) -> str:
    """What it asks for, for people; '' if that cannot be read."""
    if data.startswith(_COMPONENT):
        return "is a component"
    try:
        imports = list(islice(_read_imports(data), _MAX_IMPORTS))
    except (IndexError, ValueError):
        return ""
    foreign = [f"{module}.{name}" for module, name in imports if module not in _WASI]
    asked = [
        what
        for start, what in _OF_WASI.items()
        if any(name.startswith(start) for module, name in imports if module in _WASI)
    ]
    shown = [one[:_MAX_NAME] for one in foreign[:_MAX_NAMED]]
    more = f" and {len(foreign) - _MAX_NAMED} more functions" if len(foreign) > _MAX_NAMED else ""
    return f"asks its host for {', '.join([*asked, *shown]) or 'nothing'}{more}"


def _read_imports(data: bytes) -> Iterator[tuple[str, str]]:
    """Raises: IndexError, ValueError for what is no module."""
    if not data.startswith(_MODULE):
        raise ValueError("no module")
    at = len(_MODULE)
    while at < len(data):
        section = data[at]
        size, at = _read_number(data, at + 1)
        if section == _IMPORTS:
            yield from _read_section(data[at : at + size])
        at += size


def _read_section(data: bytes) -> Iterator[tuple[str, str]]:
    count, at = _read_number(data, 0)
    for _ in range(count):
        module, at = _read_name(data, at)
        name, at = _read_name(data, at)
        yield module, name
        at = _skip_type(data, at)


def _skip_type(data: bytes, at: int) -> int:
    """Behind the type of an import. Raises: IndexError, ValueError."""
    kind, at = data[at], at + 1
    if kind == 0:  # a function
        return _read_number(data, at)[1]
    if kind == 3:  # a global: its type, and whether it changes
        return at + 2
    if kind not in (1, 2):
        raise ValueError("a kind that is not known")
    at += kind == 1  # a table: its elements, then its limits as a memory has them
    flags, at = _read_number(data, at)
    at = _read_number(data, at)[1]
    return _read_number(data, at)[1] if flags & 1 else at


def _read_name(data: bytes, at: int) -> tuple[str, int]:
    size, at = _read_number(data, at)
    if at + size > len(data):
        raise IndexError
    return "".join(
        one if one.isprintable() else "?" for one in data[at : at + size].decode("utf-8", "replace")
    ), at + size


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """A number in the variable length of this format, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("too long")
