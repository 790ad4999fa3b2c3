"""What a tool keeps on disk for later: the whole of a long text, and files as they were before a change.

All of it is in the session's spill folder, which only its owner may read. `read_file` reads it too.
"""

import os
import re
import secrets
from hashlib import sha256

import msgspec
from msgspec import Struct, structs

from clawft.tools.tool import ToolContext

__all__ = [
    "MANIFEST",
    "Original",
    "digest_of",
    "keep_original",
    "mask_file",
    "new_spill_path",
    "save_original",
    "save_text",
]

MANIFEST = "originals/manifest.jsonl"
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Original(Struct, frozen=True, omit_defaults=True):
    """A file as it was before a change: where its bytes are kept, '' where there was none, and what it held after.

    `after` is a digest, '' where the change removed the file. A change was made in a turn, or took one back: then
    `undo` is its name, and `undoes` that of the change which it took back.
    """

    path: str
    saved: str
    mode: int = 0
    after: str = ""
    turn: int = 0
    undo: str = ""
    undoes: str = ""


def new_spill_path(context: ToolContext, name: str) -> str:
    """A path in the spill folder that nothing has yet; the folder is made."""
    os.makedirs(context.spill_dir, mode=0o700, exist_ok=True)
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:40] or "output"
    return os.path.join(context.spill_dir, f"{plain}-{secrets.token_hex(6)}.txt")


def save_text(context: ToolContext, name: str, text: str) -> str:
    """Save a text that is too long to be shown, and say where."""
    path = new_spill_path(context, name)
    _write(path, context.mask(text).encode("utf-8", "replace"), _NEW)
    return path


def mask_file(context: ToolContext, path: str) -> None:
    """Take secrets out of what a program wrote to a file of ours."""
    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "surrogateescape")
    masked = context.mask(text)
    if masked != text:
        _write(path, masked.encode("utf-8", "surrogateescape"), os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)


def digest_of(content: bytes | None) -> str:
    """What tells one content of a file from another; '' for no file."""
    return "" if content is None else sha256(content).hexdigest()


def keep_original(context: ToolContext, path: str, before: bytes | None, mode: int, after: bytes) -> None:
    """Keep a file's bytes before it is changed, None where it is about to be made. Raises: OSError."""
    change = Original(path, "", mode, digest_of(after), context.turn)
    save_original(os.path.join(context.keep_dir, os.path.dirname(MANIFEST)), change, before)


def save_original(folder: str, change: Original, before: bytes | None) -> None:
    """Keep the bytes that a change is about to replace, then note it in the manifest. Raises: OSError."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    saved = os.path.join(folder, secrets.token_hex(8)) if before is not None else ""
    if before is not None:
        _write(saved, before, _NEW)
    path = change.path.encode("utf-8", "replace").decode()
    kept = structs.replace(change, path=path, saved=saved, mode=change.mode & 0o777)
    _write(os.path.join(folder, os.path.basename(MANIFEST)), msgspec.json.encode(kept) + b"\n", _APPEND)


def _write(path: str, content: bytes, flags: int) -> None:
    descriptor = os.open(path, flags, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
