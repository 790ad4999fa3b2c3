"""The zips of a version: its files at the root, the same bytes whenever and wherever they are made."""

import hashlib
import io
import stat
import zipfile
from collections.abc import Iterable

import msgspec

from clawft.hub.model import HubFile

__all__ = ["META", "make_archive", "make_meta"]

META = "_meta.json"  # what ClawHub adds; its clients read it, and it is no part of the skill
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def make_archive(files: Iterable[tuple[HubFile, bytes]]) -> bytes:
    """A zip of these files, in byte order of their names.

    Nothing is compressed: what is made of the same bytes differs between versions of zlib.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for file, content in sorted(files, key=lambda one: one[0].path.encode()):
            entry = zipfile.ZipInfo(file.path, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | (0o755 if file.executable else 0o644)) << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def make_meta(owner: str, slug: str, version: str, published: int) -> tuple[HubFile, bytes]:
    """The file that ClawHub adds to a download."""
    content = msgspec.json.encode({"ownerId": owner, "slug": slug, "version": version, "publishedAt": published})
    return HubFile(META, len(content), hashlib.sha256(content).hexdigest(), "application/json"), content
