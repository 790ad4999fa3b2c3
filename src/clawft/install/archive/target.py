"""The folder that an archive is unpacked to: limits, and safe names, each used once."""

import os
import re
import unicodedata

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import remove_tree
from clawft.skills.parse.model import LEFT_OUT


class ArchiveLimits(Struct, frozen=True):
    """The limits on what one archive may unpack to. `max_ratio` is how many times larger than the archive the content
    may be; small content is not checked against it."""

    max_files: int
    max_file_bytes: int
    max_bytes: int
    max_ratio: int = 100

    @property
    def max_entries(self) -> int:
        """Folders are listed too."""
        return 2 * self.max_files

    def is_bomb(self, size: int, packed: int) -> bool:
        """Return whether so few bytes become so many that nobody packed anything of use. Text comes to a tenth at
        best."""
        return size > _LITTLE and size > self.max_ratio * packed


_LITTLE = 1 << 20
SKILL = ArchiveLimits(2_000, 10 << 20, 50 << 20)  # bytes: as ClawHub takes them
PLUGIN = ArchiveLimits(5_000, 64 << 20, 128 << 20)


def refuse(code: str, message: str, path: str) -> Refused:
    """An archive is not unpacked, not even in part."""
    return Refused(code, message, path=path, hint="Nothing of it was kept")


MAX_DEPTH = 32  # folders in folders
_MAX_NAME, _MAX_PART = 400, 255
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = re.compile(r"[A-Za-z0-9_./ +@=,()\[\]{}!#$%&'^~-]*", re.ASCII)
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])( *\..*)?", re.IGNORECASE)
_APPLE = "__MACOSX"  # what macOS packs beside the files


class UnpackTarget:
    """The folder that files are put into. What it was given is checked by `claim` before any of it is written."""

    def __init__(self, folder: str, source: str, limits: ArchiveLimits) -> None:
        self.source = source
        self.limits = limits
        self.left_out: list[str] = []
        self.files = 0
        self.bytes = 0
        self._folder = folder
        self._claimed: dict[str, tuple[str, bool]] = {}  # by what a system may take for the same: spelling, is a folder
        self._parents = {""}
        self._made = {""}
        self._top: list[str] = []

    def claim(self, name: str, *, folder: bool = False) -> str:
        """The path below the folder that a name means, empty for what is left out.

        Raises: Refused for a name that leads elsewhere, is a device, was there before or could be taken for another.
        """
        parts = self._split(name)
        path = "/".join(parts)
        if not path and not folder:
            raise refuse("archive-path", f"'{_show(name)}' is no name of a file", self.source)
        if not path or parts[0] == _APPLE or not LEFT_OUT.isdisjoint([part.lower() for part in parts]):
            if path and not folder:
                self.left_out.append(path)
            return ""
        parent = path.rpartition("/")[0]
        if parent not in self._parents:
            for end in range(1, len(parts)):
                self._take("/".join(parts[:end]), folder=True)
            self._parents.add(parent)
        self._take(path, folder=folder)
        if not folder:
            self.files += 1
            if self.files > self.limits.max_files:
                raise refuse("archive-too-many", f"It has more than {self.limits.max_files} files", self.source)
        return path

    def reserve(self, name: str, size: int) -> None:
        """Room for a file of this size. Raises: Refused."""
        if size > self.limits.max_file_bytes:
            message = f"'{name[:80]}' has more than {self.limits.max_file_bytes >> 20} MB"
            raise refuse("archive-too-large", message, self.source)
        self.bytes += size
        if self.bytes > self.limits.max_bytes:
            raise refuse("archive-bomb", f"It unpacks to more than {self.limits.max_bytes >> 20} MB", self.source)

    def write(self, path: str, content: bytes, *, executable: bool) -> None:
        """One file, by the path that `claim` gave. Raises: Refused, OSError."""
        parent, _, _ = path.rpartition("/")
        self._make(parent)
        place = f"{self._folder}/{path}"
        try:
            descriptor = os.open(place, _NEW, 0o700 if executable else 0o600)
        except FileExistsError as error:  # the file system takes two names for one
            raise refuse("archive-collision", f"'{path[:80]}' is there already", self.source) from error
        if not parent:
            self._top.append(path)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)

    def clear(self) -> None:
        """Take away all that was written. Raises: OSError."""
        for name in self._top:
            place = f"{self._folder}/{name}"
            if os.path.isdir(place):
                remove_tree(place)
            else:
                os.unlink(place)
        self._top.clear()

    def _make(self, folder: str) -> None:
        if folder in self._made:
            return
        parent, _, _ = folder.rpartition("/")
        self._make(parent)
        try:
            os.mkdir(f"{self._folder}/{folder}", 0o700)
        except FileExistsError as error:
            raise refuse("archive-collision", f"'{folder[:80]}' is there already", self.source) from error
        self._made.add(folder)
        if not parent:
            self._top.append(folder)

    def _split(self, name: str) -> list[str]:
        """The parts of a name. Raises: Refused."""
        odd = not _PLAIN.fullmatch(name) and ("\\" in name or _ODD.search(name) or _DRIVE.match(name))
        if odd or name.startswith("/") or len(name) > _MAX_NAME:
            raise refuse("archive-path", f"'{_show(name)}' is no path below a folder", self.source)
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts or len(parts) > MAX_DEPTH or any(len(os.fsencode(part)) > _MAX_PART for part in parts):
            raise refuse("archive-path", f"'{_show(name)}' is no path below a folder", self.source)
        if any(_DEVICE.fullmatch(part) for part in parts):
            raise refuse("archive-device", f"'{_show(name)}' is a device on some systems", self.source)
        return parts

    def _take(self, path: str, *, folder: bool) -> None:
        """Raises: Refused when something else has this path already."""
        mine = (path, folder)
        known = self._claimed.setdefault(_fold(path), mine)
        if known is mine or (folder and known == mine):
            return
        if known == mine:
            raise refuse("archive-duplicate", f"It has '{path[:80]}' twice", self.source)
        if known[0] == path:
            raise refuse("archive-collision", f"'{path[:80]}' is a file and a folder", self.source)
        message = f"'{known[0][:80]}' and '{path[:80]}' are one name on some systems"
        raise refuse("archive-collision", message, self.source)


def _fold(path: str) -> str:
    """Return the form that all spellings of a path share on file systems that ignore case, Unicode form, and trailing
    dots and spaces."""
    if path.isascii():
        folded = path.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
    return "/".join([part.rstrip(" .") for part in folded.split("/")]) if " " in folded or "." in folded else folded


def _show(name: str) -> str:
    return name[:80].encode("unicode_escape").decode() if not name.isprintable() else name[:80]
