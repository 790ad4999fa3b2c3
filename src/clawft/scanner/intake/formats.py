"""File formats: recognise them by their first bytes, find the opener of each, and the parts that openers yield."""

import re
import time
from collections.abc import Callable, Iterator
from importlib import import_module

from msgspec import Struct

from clawft.scanner.facts import Kind
from clawft.scanner.regex import words

MAX_MEMBERS = 5_000
MAX_UNPACKED = 24 << 20
MAX_DEPTH = 5


class EmbeddedFile(Struct, frozen=True):
    """A file inside a file, to be looked at like any other."""

    name: str
    data: bytes
    how: str = "archive"


class EmbeddedText(Struct, frozen=True):
    """A text inside a file, of a known language; "" for one to be guessed."""

    text: str
    language: str
    how: str
    name: str = ""


class ContentMark(Struct, frozen=True):
    """Something about the material that a rule may object to."""

    kind: Kind
    target: str
    via: str
    name: str = ""


class UnreadPart(Struct, frozen=True):
    """Something that was not read, and why."""

    reason: str
    name: str = ""
    failed: bool = False  # it is there to be used, and nobody could look at it


Part = EmbeddedFile | EmbeddedText | ContentMark | UnreadPart


class UnpackBudget(Struct):
    """A limit on unpacking, so that archive bombs do not exhaust the memory."""

    deadline: float
    unpacked: int = 0
    members: int = 0

    @property
    def left(self) -> int:
        """The bytes that may still be unpacked; none after the deadline."""
        return max(0, MAX_UNPACKED - self.unpacked) if time.monotonic() < self.deadline else 0

    def admit(self) -> bool:
        """Count one more member; False when there were too many."""
        self.members += 1
        return self.members <= MAX_MEMBERS and self.left > 0

    def spend(self, size: int) -> None:
        self.unpacked += size


_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"PK\x07\x08", "zip"), (b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x5d\0\0", "lzma"), (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"), (b"!<arch>\n", "ar"), (b"\xed\xab\xee\xdb", "rpm"), (b"xar!", "xar"), (b"MSCF", "cab"),
    (b"\x1f\x9d", "compress"), (b"\x04\x22\x4d\x18", "lz4"), (b"070701", "cpio"), (b"LZIP", "lzip"),
    (b"Obj\x01", "avro"), (b"\x7fELF", "ELF"), (b"\xcf\xfa\xed\xfe", "Mach-O"), (b"\xce\xfa\xed\xfe", "Mach-O"),
    (b"\xfe\xed\xfa\xce", "Mach-O"), (b"\xfe\xed\xfa\xcf", "Mach-O"), (b"\0asm", "WebAssembly"), (b"dex\n0", "Dalvik"),
    (b"\x1bLua", "Lua bytecode"), (b"FasdUAS ", "compiled AppleScript"), (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\x4c\0\0\0\x01\x14\x02\0", "Windows shortcut"), (b"%PDF-", "pdf"), (b"{\\rtf", "rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"), (b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"), (b"GIF89a", "gif"), (b"II*\0", "tiff"), (b"MM\0*", "tiff"), (b"\0\0\x01\0", "ico"),
    (b"\0\0\x02\0", "ico"), (b"8BPS", "psd"), (b"qoif", "qoi"), (b"\xff\x0a", "jxl"), (b"\0\0\0\x0cJXL ", "jxl"),
    (b"\0\0\0\x0cjP", "jp2"), (b"wOFF", "font"), (b"wOF2", "font"), (b"\0\x01\0\0\0", "font"), (b"OTTO\0", "font"),
    (b"true\0", "font"), (b"ttcf", "font"), (b"OggS", "audio"), (b"fLaC", "audio"), (b"ID3", "audio"),
    (b"MThd", "audio"), (b"\xff\xfb", "audio"), (b"\xff\xf3", "audio"), (b"\x1a\x45\xdf\xa3", "video"),
    (b"FLV\x01", "video"), (b"\0\0\x01\xba", "video"), (b"SQLite format 3\0", "sqlite"), (b"\x93NUMPY", "numpy"),
    (b"PAR1", "parquet"), (b"GGUF", "weights"), (b"\x89HDF\r\n\x1a\n", "hdf5"), (b"DIRC", "git-index"),
    (b"PACK\0\0\0", "git-pack"), (b"\xfftOc", "git-pack"), (b"bplist00", "plist"), (b"FWS", "flash"), (b"CWS", "flash"),
    (b"glTF", "model"), (b"\xde\x12\x04\x95", "gettext"), (b"\x95\x04\x12\xde", "gettext"),
)  # fmt: skip
_BY_FIRST: dict[int, list[tuple[bytes, str]]] = {}
for _mark, _form in _MAGIC:
    _BY_FIRST.setdefault(_mark[0], []).append((_mark, _form))
_TEXT_PICKLE = re.compile(rb"\(?c[\w.]+\n[\w.]+\n[()pq]")
_RIFF = {b"WEBP": "webp", b"WAVE": "audio", b"AVI ": "video"}
ARCHIVES = words("zip tar gzip bzip2 xz lzma zstd")
UNOPENED = words("7z rar rpm xar cab compress lz4 cpio lzip avro")
PROGRAMS = frozenset({
    "ELF", "Mach-O", "PE", "WebAssembly", "Dalvik", "Java class", "Lua bytecode", "compiled AppleScript",
    "LLVM bitcode", "Windows shortcut", "flash",
})  # fmt: skip
MEDIA = words("png jpeg gif webp tiff ico bmp psd qoi jxl jp2 font audio video heif model gettext")


def find_form(data: bytes) -> str:
    """The form of a file that is not plain text, by its first bytes; empty if they tell nothing."""
    if len(data) < 2:
        return ""
    for mark, form in _BY_FIRST.get(data[0], ()):
        if data.startswith(mark):
            return form
    return _find_structured(data)


def _find_structured(data: bytes) -> str:
    """The forms whose mark stands further in, or is so short that more must fit."""
    first = data[:4]
    if first == b"\xca\xfe\xba\xbe":  # a Java class says its version there, a fat Mach-O the number of programs
        return "Java class" if int.from_bytes(data[4:8]) > 40 else "Mach-O"
    if first == b"RIFF":
        return _RIFF.get(data[8:12], "media")
    if first[:2] == b"MZ" and 0 in data[:256]:
        return "PE"
    if first[:2] == b"BM" and len(data) > 30 and int.from_bytes(data[2:6], "little") <= len(data) + 4 and data[5] == 0:
        return "bmp"
    if data[4:8] == b"ftyp":
        return "heif" if data[8:12] in (b"heic", b"heix", b"mif1", b"avif") else "video"
    if data[257:262] == b"ustar":
        return "tar"
    if first[2:4] == b"\r\n" and first[1] in (12, 13, 14, 0xF3) and 0 in data[4:16]:
        return "pyc"
    if first[0] in b"(c" and _TEXT_PICKLE.match(data[:400]) and b"." in data[-4:]:
        return "pickle"
    if first[0] == 0x80 and 2 <= first[1] <= 5 and b"." in data[-64:]:
        return "pickle"
    return ""


Opener = Callable[[bytes, UnpackBudget], Iterator[Part]]
_MODULES = {
    "zip": "archives:open_zip", "tar": "archives:open_tar", "gzip": "archives:open_gzip",
    "bzip2": "archives:open_bzip2", "xz": "archives:open_xz", "lzma": "archives:open_xz", "ar": "archives:open_ar",
    "zstd": "archives:open_zstd", "pickle": "programs:open_pickle", "pdf": "office:open_pdf",
    "png": "pictures:open_png", "jpeg": "pictures:open_jpeg", "gif": "pictures:open_gif", "webp": "pictures:open_riff",
    "ole": "office:open_ole", "rtf": "office:open_rtf",
}  # fmt: skip


def find_opener(form: str) -> Opener:
    """The opener of a form; for an unknown one, what is left to say about bytes that are not text."""
    if place := _MODULES.get(form):
        module, _, name = place.partition(":")
        opener: Opener = getattr(import_module(f"clawft.scanner.intake.{module}"), name)
        return opener
    if form in PROGRAMS:
        return import_module("clawft.scanner.intake.programs").open_program(form)  # type: ignore[no-any-return]
    if form in MEDIA:
        return import_module("clawft.scanner.intake.pictures").open_media  # type: ignore[no-any-return]
    if form in UNOPENED:
        return _leave(form)
    return import_module("clawft.scanner.intake.programs").open_unknown(form)  # type: ignore[no-any-return]


def _leave(form: str) -> Opener:
    def leave(_data: bytes, _room: UnpackBudget) -> Iterator[Part]:
        yield ContentMark(Kind.LOCKED, form, f"an archive ({form}) that is not opened")
        yield UnreadPart(f"An archive of the kind {form} cannot be opened here")

    return leave
