"""Packs of hooks: a folder whose `package.json` names the folders of its hooks (INTEROP 5)."""

import os
from typing import Any

import msgspec

from clawft.errors import Unreadable
from clawft.files import read_optional
from clawft.format.names import NAMESPACES

__all__ = ["find_pack", "load_pack"]

MAX_BYTES = 1 << 20
MAX_UP = 8


def load_pack(folder: str) -> list[str]:
    """The folders of a pack's hooks, wherever they are said to be; none for a folder that is no pack.

    Raises: Unreadable.
    """
    path = os.path.join(folder, "package.json")
    data = read_optional(path, MAX_BYTES)
    if data is None:
        return []
    try:
        package = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Unreadable("hook-pack", f"It is no JSON: {error}", path=path) from error
    named = [one for one in _named(package) if isinstance(one, str) and one and "\0" not in one]
    return list(dict.fromkeys(os.path.normpath(os.path.join(folder, one)) for one in named))


def find_pack(folder: str) -> str:
    """The pack that a hook's folder belongs to; the folder itself where there is none."""
    above = os.path.dirname(folder)
    for _ in range(MAX_UP):
        try:
            if folder in load_pack(above):
                return above
        except Unreadable:
            break
        above = os.path.dirname(above)
    return folder


def _named(package: Any) -> list[Any]:
    """What a client's block of a package.json says of hooks."""
    if isinstance(package, dict):
        for name in NAMESPACES:
            block = package.get(name)
            if isinstance(block, dict) and isinstance(block.get("hooks"), list):
                return list(block["hooks"])
    return []
