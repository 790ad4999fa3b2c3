"""Files that a tool saves: the whole of a long output, and originals before a change."""

import os
import re
import secrets
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Struct

from clawft.agent.tools.tool import ToolContext, ToolError
from clawft.errors import ClawftError
from clawft.files import check_json_version, read_regular

MANIFEST = "originals/manifest.jsonl"
_MAX_READ = 64 << 20
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class OriginalFile(Struct, frozen=True, omit_defaults=True):
    """A file as it was before a change: where its bytes are kept, '' where there was none, and what it held after.

    `after` is a digest. `call` names the call that made the change, in a run that goes on after a crash.
    """

    path: str
    saved: str
    mode: int = 0
    after: str = ""
    turn: int = 0
    call: str = ""


class SavedChange(NamedTuple):
    """A change with the bytes that it replaced, None where there was no file."""

    change: OriginalFile
    before: bytes | None


def new_spill_path(context: ToolContext, name: str) -> str:
    """A path in the spill folder that nothing has yet; the folder is made."""
    os.makedirs(context.files.spill_dir, mode=0o700, exist_ok=True)
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name)[:40] or "output"
    return os.path.join(context.files.spill_dir, f"{plain}-{secrets.token_hex(6)}.txt")


def save_text(context: ToolContext, name: str, text: str) -> str:
    """Save a text that is too long to be shown, and say where."""
    path = new_spill_path(context, name)
    _write(path, context.files.mask(text).encode("utf-8", "replace"), _NEW)
    return path


def mask_file(context: ToolContext, path: str) -> None:
    """Take secrets out of what a program wrote to a file of ours."""
    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "surrogateescape")
    masked = context.files.mask(text)
    if masked != text:
        _write(path, masked.encode("utf-8", "surrogateescape"), os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)


def digest_of(content: bytes) -> str:
    """Return the digest of a file's content."""
    return sha256(content).hexdigest()


def write_original(context: ToolContext, path: str, before: bytes | None, mode: int, after: bytes) -> None:
    """Keep a file's bytes before it is changed, None where it is about to be made. Raises: OSError."""
    folder = os.path.join(context.files.keep_dir, os.path.dirname(MANIFEST))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    saved = os.path.join(folder, secrets.token_hex(8)) if before is not None else ""
    if before is not None:
        _write(saved, before, _NEW)
    shown, call = path.encode("utf-8", "replace").decode(), context.files.call
    record = OriginalFile(shown, saved, mode & 0o777, digest_of(after), context.files.turn, call)
    _write(os.path.join(folder, os.path.basename(MANIFEST)), msgspec.json.encode(record) + b"\n", _APPEND)


def load_originals(keep_dir: str, holding: bytes = b"") -> list[OriginalFile]:
    """Load the manifest lines that contain `holding`, without lines that a crash cut short. Raises: ClawftError."""
    try:
        lines = read_regular(os.path.join(keep_dir, MANIFEST), _MAX_READ)[0].splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    originals = []
    for line in lines:
        try:
            if holding in line:
                check_json_version(line, 1, os.path.join(keep_dir, MANIFEST))
                originals.append(msgspec.json.decode(line, type=OriginalFile))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return originals


def load_saved(keep_dir: str, saved: str) -> bytes:
    """Kept bytes, from our own folder alone, whatever the manifest says. Raises: ClawftError."""
    path = os.path.join(keep_dir, os.path.dirname(MANIFEST), os.path.basename(saved))
    try:
        return read_regular(path, _MAX_READ)[0]
    except FileNotFoundError as error:
        raise ToolError("NOT_FOUND", "what it held before is gone") from error


def find_saved_change(context: ToolContext, path: str) -> SavedChange | None:
    """Find the change of a file that this same call saved before a crash; None if nothing is known of it."""
    if not context.files.call:
        return None
    try:
        made = load_originals(context.files.keep_dir, msgspec.json.encode(context.files.call))
        own = [original for original in made if (original.call, original.path) == (context.files.call, path)]
        return (
            SavedChange(own[-1], load_saved(context.files.keep_dir, own[-1].saved) if own[-1].saved else None)
            if own
            else None
        )
    except (OSError, ClawftError):
        return None


def _write(path: str, content: bytes, flags: int) -> None:
    descriptor = os.open(path, flags, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
