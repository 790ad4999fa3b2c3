"""The MCP Skills extension (SEP-2640), as servers and clients of ours speak it: names, addresses, entries and limits.

It knows no store, no catalog and no connection. Where the files are is the business of whoever uses it.
"""

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.format import decode_text
from clawft.format.fields import json_safe
from clawft.format.frontmatter import split_frontmatter
from clawft.format.names import is_canonical
from clawft.format.notes import Notes
from clawft.format.yaml import load_yaml

__all__ = [
    "ENTRY_FILE",
    "EXTENSION",
    "FOLDER",
    "MAX_BYTES",
    "MAX_FILES",
    "SCHEME",
    "ServedFile",
    "ServedSkill",
    "can_serve",
    "describe_content",
    "describe_folder",
    "describe_skill",
    "read_front",
    "read_mime",
]

EXTENSION = "io.modelcontextprotocol/skills"
SCHEME = "skill://"
ENTRY_FILE = "SKILL.md"
FOLDER = "inode/directory"
MAX_FILES = 512  # what every host takes
MAX_BYTES = 16 << 20  # of all files of a skill together
_KNOWN = {".md": "text/markdown", ".py": "text/x-python", ".sh": "text/x-shellscript", ".yaml": "text/yaml"}


class ServedFile(Struct, frozen=True):
    """One file of a skill. `path` is below the skill's folder, with slashes."""

    path: str
    sha256: str
    size: int


class ServedSkill(Struct, frozen=True):
    """A skill with the address of its folder, what its SKILL.md says, and all its files."""

    root: str
    front: dict[str, Any]
    files: tuple[ServedFile, ...]

    @property
    def uri(self) -> str:
        return f"{self.root}/{ENTRY_FILE}"

    def address(self, path: str) -> str:
        return f"{self.root}/{quote(path)}"

    def file(self, path: str) -> ServedFile | None:
        return next((one for one in self.files if one.path == path), None)


def can_serve(front: Mapping[str, Any], files: Sequence[ServedFile]) -> bool:
    """Whether every host takes it: not with an odd name, without a description, or with too much."""
    name = front.get("name")
    if not isinstance(name, str) or not is_canonical(name) or not isinstance(front.get("description"), str):
        return False
    return len(files) <= MAX_FILES and sum(one.size for one in files) <= MAX_BYTES


def describe_skill(served: ServedSkill) -> dict[str, Any]:
    """The entry of a skill: its frontmatter as it is, and every file with digest and size."""
    return {
        "uri": served.uri,
        "frontmatter": served.front,
        "resources": [
            {"uri": served.address(one.path), "digest": f"sha256:{one.sha256}", "size": one.size}
            for one in served.files
        ],
    }


def describe_folder(served: ServedSkill, path: str) -> list[dict[str, Any]] | None:
    """What lies in a folder of a skill ('' for its own); None if it is none."""
    prefix = f"{path}/" if path else ""
    inside = [one for one in served.files if one.path.startswith(prefix)]
    if not inside:
        return None
    found: dict[str, dict[str, Any]] = {}
    for one in inside:
        name, slash, _ = one.path[len(prefix) :].partition("/")
        kind = {"mimeType": FOLDER} if slash else {"mimeType": read_mime(one.path), "size": one.size}
        found.setdefault(name, {"uri": served.address(prefix + name), "name": name, **kind})
    return [found[name] for name in sorted(found)]


def describe_content(address: str, path: str, content: bytes) -> dict[str, Any]:
    """What `resources/read` answers for a file: its text, or its bytes in base64."""
    found = {"uri": address, "mimeType": read_mime(path)}
    try:
        return {**found, "text": content.decode()}
    except UnicodeDecodeError:
        return {**found, "blob": base64.b64encode(content).decode()}


def read_mime(path: str) -> str:
    """By the name of a file; what it is served as does not depend on what its publisher said."""
    dot = path.rfind(".")
    known = _KNOWN.get(path[dot:].lower()) if dot >= 0 else None
    return known or mimetypes.guess_type(path)[0] or "application/octet-stream"


def read_front(data: bytes) -> dict[str, Any] | None:
    """The frontmatter of a SKILL.md as JSON has it; None where there is none, or none that every client reads alike."""
    try:
        text = decode_text(data, ENTRY_FILE).text.replace("\r\n", "\n").replace("\r", "\n")
        front = split_frontmatter(text, ENTRY_FILE, "skill")
    except ClawftError:
        return None
    if front is None:
        return None
    written, complaint = load_yaml(front.yaml, Notes(ENTRY_FILE))
    return json_safe(written) if isinstance(written, dict) and not complaint else None
