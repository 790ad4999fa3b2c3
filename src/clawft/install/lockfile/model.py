"""Entries of the lock file, and the names in it, read quickly."""

from typing import Literal

from msgspec import Struct

LOCK_NAME = "skills.lock"
MAX_LOCK_BYTES = 8 << 20
VERSION = 1
HEAD = f"# What weft installed here: from where, and what it was. See: weft skills verify\nversion = {VERSION}\n"
_HEAD = HEAD.encode()
_BLOCK = b"\n[skill."


def find_names(data: bytes) -> list[str] | None:
    """The names in a lock as we write it; None for one that is written otherwise and must be read whole."""
    blocks = data.split(_BLOCK)
    odd = data.count(b"\n[") != len(blocks) - 1 or b"\n<<<<<<<" in data or b"\n======" in data
    if blocks[0] != _HEAD or odd or not data.endswith(b"\n"):
        return None
    names = [block[: block.find(b"]\n")] for block in blocks[1:]]
    plain = [name.decode("ascii", "replace") for name in names if name.replace(b"-", b"").replace(b"_", b"").isalnum()]
    return plain if len(plain) == len(names) else None


_UNTOLD = "-"  # which no pattern of an owner fits but one for all

SourceKind = Literal["clawhub", "contract", "well-known", "git", "archive", "folder"]


class SkillOrigin(Struct, frozen=True, omit_defaults=True):
    """The origin of a skill, without a version: enough to ask there for a newer one.

    `url` is the registry, the index, the repository or the archive; of a folder or a local archive its path. `slug` is
    its name in a registry or an index. `path` is its folder in a repository, an archive or a plugin.
    """

    kind: SourceKind
    url: str
    owner: str = ""
    slug: str = ""
    ref: str = ""  # the branch or tag that was asked for
    path: str = ""

    @property
    def line(self) -> str:
        """The origin in a few words."""
        name = f"@{self.owner}/{self.slug}" if self.owner and self.slug else self.slug
        below = f", {self.path}" if self.path else ""
        return f"{name} of {self.url}" if name else f"{self.url}{f'#{self.ref}' if self.ref else ''}{below}"

    @property
    def whose(self) -> str:
        """The owner, in a registry or on a host of repositories; `-` where one is not told, '' where there are none."""
        if self.kind in ("clawhub", "contract"):
            return self.owner or _UNTOLD
        if self.kind != "git" or self.url.startswith("file:"):
            return self.owner
        _, scheme, rest = self.url.rpartition("://")
        path = rest.partition("/" if scheme else ":")[2]
        first, slash, _ = path.strip("/").partition("/")
        return first if slash else _UNTOLD


class LockedFile(Struct, frozen=True):
    """One file as it was installed."""

    sha256: str  # in hex
    size: int
    executable: bool = False


class LockedSkill(Struct, frozen=True, omit_defaults=True):
    """The record of one installed skill, by the name of its folder."""

    name: str
    origin: SkillOrigin
    digest: str  # of the folder
    files: dict[str, LockedFile]  # by path below the folder
    to: tuple[str, ...] = ("clawft",)  # whose folders it was put into
    version: str = ""
    commit: str = ""
    archive: str = ""  # the sha256 of what was downloaded, as its source gave it
    verdict: str = ""
    engine: str = ""  # the version of the scanner whose verdict this is
    approved: str = ""  # the digest that a person approved; it counts only for the one who did
    signed_by: str = ""  # the key, as `SHA256:…`
    pinned: str = ""  # why it is not updated
    requested: bool = True  # false: it is here for others that depend on it
    dependencies: tuple[str, ...] = ()  # names in this lock
