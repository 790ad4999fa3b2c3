"""The rows of a backup, checked: one that no hub would write is found here, not when somebody asks for it."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from clawft.hub.model import HubFile
from clawft.hub.tables import COLUMNS

__all__ = ["find_needed", "parse_row"]

_Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
_Moment = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]  # the last day that there is a name for
_Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Name = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]*$", max_length=96)]


class _Row(Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """The fields are the columns, in their order."""


class _Skill(_Row, frozen=True):
    id: _Number
    owner: _Name
    slug: _Name
    display_name: str
    summary: str
    created: _Moment
    updated: _Moment
    latest: str
    downloads: _Number
    deleted: Literal[0, 1]


class _Version(_Row, frozen=True):
    id: _Number
    skill: _Number
    version: str
    created: _Moment
    changelog: str
    publisher: str
    files: str
    bytes: _Number
    digest: str
    fingerprint: str
    archive: _Hash
    archive_size: _Number
    download: _Hash
    download_size: _Number
    verdict: Literal["clean", "suspicious", "malicious"]
    reasons: str
    engine: str
    yanked: str
    front: str
    dependencies: str
    candidate: _Number
    bundle: str


class _Tag(_Row, frozen=True):
    skill: _Number
    tag: str
    version: str


class _Use(_Row, frozen=True):
    version: _Number
    sha256: _Hash


class _Token(_Row, frozen=True):
    id: str
    hash: _Hash
    owner: _Name
    scopes: str
    label: str
    created: _Moment
    expires: _Number
    revoked: _Number
    used: _Number


_KINDS = {"hub_skill": _Skill, "hub_version": _Version, "hub_tag": _Tag, "hub_use": _Use, "hub_token": _Token}
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {name: msgspec.json.Decoder(kind) for name, kind in _KINDS.items()}
_FILES = msgspec.json.Decoder(tuple[HubFile, ...])
_NAMES = msgspec.json.Decoder(tuple[str, ...])
_FRONT = msgspec.json.Decoder(dict[str, Any])


def parse_row(table: str, line: bytes) -> tuple[Any, ...]:
    """A line of a backup as the values of a row. Raises: ValueError."""
    row = msgspec.structs.asdict(_DECODERS[table].decode(line))
    return tuple(row[column] for column in COLUMNS[table])


def find_needed(table: str, line: bytes) -> set[str]:
    """The hashes of bytes that a row needs. Raises: ValueError where it is none."""
    row = _DECODERS[table].decode(line)
    if isinstance(row, _Use):
        return {row.sha256}
    if not isinstance(row, _Version):
        return set()
    _NAMES.decode(row.reasons)
    _NAMES.decode(row.dependencies)
    _FRONT.decode(row.front)
    return {row.archive, row.download, *(file.sha256 for file in _FILES.decode(row.files))}
