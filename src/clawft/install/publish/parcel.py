"""The content to publish: all files of a folder, each with the fields that registries ask for."""

import hashlib
import mimetypes
import os

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.files import read_regular
from clawft.install.archive.hashes import clawhub_fingerprint, counts_for_clawhub
from clawft.install.archive.pack import ChosenFiles
from clawft.install.lockfile.file import compute_locked
from clawft.install.lockfile.model import LockedFile
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.signing.signatures import SIGNATURE_NAME

MAX_FILE = 10 << 20  # ClawHub's limits
MAX_TOTAL = 50 << 20
_TYPES = {".md": "text/markdown", ".py": "text/x-python", ".sh": "text/x-shellscript", ".toml": "text/plain"}
_TYPES |= {".yaml": "text/yaml", ".yml": "text/yaml"}


class ParcelFile(Struct, frozen=True):
    """One file to send."""

    path: str
    place: str
    size: int
    sha256: str
    content_type: str
    executable: bool


class Parcel(Struct, frozen=True):
    """A skill as it will be sent; `digest` is that of the folder it will be installed as."""

    folder: str
    files: tuple[ParcelFile, ...]
    digest: str
    fingerprint: str  # ClawHub's; empty where the order of names is not known

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def signed(self) -> bool:
        return any(file.path == SIGNATURE_NAME for file in self.files)


def packed_digest(chosen: ChosenFiles) -> str:
    """The digest that a skill has for others: of the files that are packed. Raises: ClawftError."""
    files: dict[str, LockedFile] = {}
    for file in chosen.files:
        if file.path != SIGNATURE_NAME:
            content, _ = read_regular(file.place, file.size + 1)
            files[file.path] = LockedFile(hashlib.sha256(content).hexdigest(), len(content), file.executable)
    return compute_locked(files)


def make_parcel(folder: str) -> Parcel:
    """Build the parcel of a folder that holds exactly what is to be sent. Raises: ClawftError."""
    digest = compute_digest(folder)
    if not digest.value:
        raise ClawftError("no-digest", "No digest can be taken of the skill", path=folder)
    files: list[ParcelFile] = []
    counted: list[tuple[str, str]] = []
    for path, place in sorted(_walk(folder)):
        content, status = read_regular(place, MAX_FILE)
        sha256 = hashlib.sha256(content).hexdigest()
        if counts_for_clawhub(path, content):
            counted.append((path, sha256))
        executable = bool(status.st_mode & 0o111)
        files.append(ParcelFile(path, place, len(content), sha256, _content_type(path, content), executable))
    parcel = Parcel(folder, tuple(files), digest.value, clawhub_fingerprint(counted) or "")
    if parcel.size > MAX_TOTAL:
        message = f"The skill has {parcel.size >> 20} MB; registries take {MAX_TOTAL >> 20}"
        raise ClawftError("publish-too-large", message, hint="Leave files out: .clawhubignore")
    return parcel


def _walk(folder: str) -> list[tuple[str, str]]:
    return [
        (os.path.relpath(os.path.join(root, name), folder), os.path.join(root, name))
        for root, _, names in os.walk(folder)
        for name in names
    ]


def _content_type(path: str, content: bytes) -> str:
    """Return the content type that registries are given: a text type for anything that is UTF-8, since ClawHub accepts
    nothing else."""
    known = _TYPES.get(os.path.splitext(path)[1].lower()) or mimetypes.guess_type(path)[0]
    try:
        content.decode()
    except UnicodeDecodeError:
        return known or "application/octet-stream"
    return known if known and (known.startswith("text/") or known == "application/json") else "text/plain"
