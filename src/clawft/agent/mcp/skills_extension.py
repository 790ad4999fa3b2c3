"""The MCP Skills extension as weft's servers and clients use it: names, addresses, entries and limits.

It knows no store, no catalog and no connection. The caller knows where the files are.
"""

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.fields import json_safe
from clawft.skills.parse.model import is_canonical
from clawft.skills.parse.text import decode_text, split_frontmatter
from clawft.skills.parse.yaml import load_yaml

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
        return next((file for file in self.files if file.path == path), None)


def can_serve(front: Mapping[str, Any], files: Sequence[ServedFile]) -> bool:
    """Return whether every host takes it: not with an odd name, without a description, or with too much."""
    name = front.get("name")
    if not isinstance(name, str) or not is_canonical(name) or not isinstance(front.get("description"), str):
        return False
    return len(files) <= MAX_FILES and sum(file.size for file in files) <= MAX_BYTES


def make_skill_entry(served: ServedSkill) -> dict[str, Any]:
    """The entry of a skill: its frontmatter as it is, and every file with digest and size."""
    return {
        "uri": served.uri,
        "frontmatter": served.front,
        "resources": [
            {"uri": served.address(file.path), "digest": f"sha256:{file.sha256}", "size": file.size}
            for file in served.files
        ],
    }


def find_folder_content(served: ServedSkill, path: str) -> list[dict[str, Any]] | None:
    """List the content of a folder of a skill ('' for the skill's own folder); None if there is no such folder."""
    prefix = f"{path}/" if path else ""
    inside = [file for file in served.files if file.path.startswith(prefix)]
    if not inside:
        return None
    found: dict[str, dict[str, Any]] = {}
    for served_file in inside:
        name, slash, _ = served_file.path[len(prefix) :].partition("/")
        kind = {"mimeType": FOLDER} if slash else {"mimeType": read_mime(served_file.path), "size": served_file.size}
        found.setdefault(name, {"uri": served.address(prefix + name), "name": name, **kind})
    return [found[name] for name in sorted(found)]


def make_file_content(address: str, path: str, content: bytes) -> dict[str, Any]:
    """Build the answer of `resources/read` for a file: its text, or its bytes in base64."""
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
    written, complaint = load_yaml(front.yaml, DiagnosticCollector(ENTRY_FILE))
    return json_safe(written) if isinstance(written, dict) and not complaint else None
