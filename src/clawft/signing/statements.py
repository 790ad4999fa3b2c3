"""The texts that are signed: that a skill is somebody's, and that a new key takes the place of an old one."""

import re

from msgspec import Struct

from clawft.discovery import Found
from clawft.discovery.read import load_bytes
from clawft.errors import ClawftError
from clawft.signing.sshsig import PublicKey, parse_public_key

__all__ = ["ROTATION_SPACE", "SKILL_SPACE", "Rotation", "Statement", "parse_rotation", "written_version"]

SKILL_SPACE = "clawft-skill"
ROTATION_SPACE = "clawft-rotation"
MAX_PART = 1_000
_ROTATION = "clawft-rotation-v1"
_VERSION = re.compile(r"""^\s*["']?version["']?\s*:""", re.MULTILINE)


class Statement(Struct, frozen=True):
    """This content is this version of this skill; `version` is empty where it is said of the content alone."""

    name: str
    version: str
    digest: str

    @property
    def text(self) -> bytes:
        """What is signed. Raises: ClawftError with code `signature-statement`."""
        return _join("clawft-skill-v1", self.name, self.version, self.digest)


def written_version(found: Found) -> str:
    """The version that SKILL.md says; '' where it says none, and the skill has the one that all begin with."""
    if found.skill is None or not found.file.endswith(".md"):
        return ""
    head = load_bytes(found.file, found.location.path)[0].decode("utf-8", "replace").split("\n---", 1)[0]
    return found.skill.version if _VERSION.search(head) else ""


class Rotation(Struct, frozen=True):
    """A publisher goes on under another key, from a day (`2026-11-16`) on."""

    old: str  # the fingerprint of the key that says so
    new: PublicKey
    since: str

    @property
    def text(self) -> bytes:
        """What is signed, by the old key. Raises: ClawftError with code `signature-statement`."""
        return _join(_ROTATION, self.old, self.new.line, self.since)


def parse_rotation(text: str) -> Rotation:
    """The rotation that a text states. Raises: ClawftError with code `rotation-format`."""
    lines = text.split("\n")
    if len(lines) != 5 or lines[0] != _ROTATION or lines[4]:
        hint = "Get it again from its publisher: weft publishers rotate --to KEY writes one"
        raise ClawftError("rotation-format", "This is no statement that a key is replaced", hint=hint)
    rotation = Rotation(lines[1], parse_public_key(lines[2]), lines[3])
    if rotation.text != text.encode():
        raise ClawftError("rotation-format", "The statement is not written in the one way that counts")
    return rotation


def _join(*parts: str) -> bytes:
    if not all(one.isprintable() and len(one) <= MAX_PART for one in parts):
        message = "A name, a version or a key has characters that cannot be signed"
        raise ClawftError("signature-statement", message, hint="Use printable text without line breaks")
    return "".join(f"{one}\n" for one in parts).encode()
