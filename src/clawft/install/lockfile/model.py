"""One installed skill as a lock has it, and where it came from."""

from typing import Literal

from msgspec import Struct

__all__ = ["Kind", "LockedFile", "LockedSkill", "Origin"]

_UNTOLD = "-"  # which no pattern of an owner fits but one for all

Kind = Literal["clawhub", "contract", "well-known", "git", "archive", "folder"]


class Origin(Struct, frozen=True, omit_defaults=True):
    """Where a skill comes from, without a version: enough to ask there for a newer one.

    `url` is the registry, the index, the repository or the archive; of a folder or a local archive its path. `slug` is
    its name in a registry or an index. `path` is where it lies in a repository, an archive or a plugin.
    """

    kind: Kind
    url: str
    owner: str = ""
    slug: str = ""
    ref: str = ""  # the branch or tag that was asked for
    path: str = ""

    @property
    def line(self) -> str:
        """Where that is, in a few words."""
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
    """What was installed under a name, which is that of its folder."""

    name: str
    origin: Origin
    digest: str  # of the folder (D57)
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
