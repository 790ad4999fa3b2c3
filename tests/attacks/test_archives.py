"""Archives that mean harm: each is refused with the code of what it tries, and nothing of it stays on disk."""

import gzip
import io
import os
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from clawft.cli import main
from clawft.errors import ClawftError, Refused
from clawft.install.archive.target import ArchiveLimits
from clawft.install.archive.unpack import unpack

DOCUMENT = b"---\nname: evil\ndescription: Adds numbers when asked to.\n---\nAdd them.\n"
SMALL = ArchiveLimits(max_files=40, max_file_bytes=3 << 20, max_bytes=4 << 20)
FULL = 0xFFFFFFFF


class Zip:
    """A zip written by hand, so that each of its two lists can say what it likes."""

    def __init__(self) -> None:
        self.body = self.listed = b""
        self.count = 0

    def add(self, name: str | bytes, content: bytes = b"x", **said: int | bytes) -> "Zip":
        """One file. `said` changes a field in both lists, with `local_` or `listed_` before it in one of them."""
        raw = name.encode() if isinstance(name, str) else name
        plain: dict[str, Any] = {
            "name": raw,
            "flags": 0x800,
            "method": 0,
            "crc": zlib.crc32(content),
            "packed": len(content),
            "size": len(content),
            "extra": b"",
            "mode": 0o100644,
            "offset": len(self.body),
            "after": b"",
        }
        local, listed = ({**plain, **self._pick(said, side)} for side in ("local_", "listed_"))
        self.body += struct.pack(
            "<4s5H3L2H",
            *(b"PK\x03\x04", 20, local["flags"], local["method"], 0, 33, local["crc"], local["packed"], local["size"]),
            *(len(local["name"]), len(local["extra"])),
        )
        self.body += local["name"] + local["extra"] + content + local["after"]
        self.listed += struct.pack(
            "<4s4B4HL2L5H2L",
            *(b"PK\x01\x02", 20, 3, 20, 0, listed["flags"], listed["method"], 0, 33, listed["crc"], listed["packed"]),
            *(listed["size"], len(listed["name"]), len(listed["extra"]), 0, 0, 0, listed["mode"] << 16),
            listed["offset"],
        )
        self.listed += listed["name"] + listed["extra"]
        self.count += 1
        return self

    @staticmethod
    def _pick(said: dict[str, int | bytes], side: str) -> dict[str, int | bytes]:
        other = "listed_" if side == "local_" else "local_"
        return {key.removeprefix(side): value for key, value in said.items() if not key.startswith(other)}

    def done(self, *, before: bytes = b"", between: bytes = b"", comment: bytes = b"", count: int = -1) -> bytes:
        number = self.count if count < 0 else count
        start = len(self.body) + len(between)
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, number, number, len(self.listed), start, len(comment))
        return before + self.body + between + self.listed + end + comment


def skill() -> Zip:
    return Zip().add("SKILL.md", DOCUMENT)


def deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def packed(name: str, content: bytes, **said: int | bytes) -> Zip:
    """A skill with one compressed file."""
    squeezed = deflate(content)
    size = {"method": 8, "crc": zlib.crc32(content), "packed": len(squeezed), "size": len(content)}
    return skill().add(name, squeezed, **{**size, **said})


def tar(*members: tuple[str, bytes, bytes], style: int = tarfile.PAX_FORMAT, **pax: str) -> bytes:
    """A gzipped tar: name, kind and content of each member, or where it leads."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", format=style, compresslevel=1) as archive:
        for name, kind, content in (("SKILL.md", tarfile.REGTYPE, DOCUMENT), *members):
            info = tarfile.TarInfo(name)
            info.type, info.pax_headers = kind, dict(pax)
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = content.decode()
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def file(name: str, content: bytes = b"x") -> tuple[str, bytes, bytes]:
    return name, tarfile.REGTYPE, content


def share_bytes() -> bytes:
    """Many files that are all the same bytes, as in the bomb of David Fifield."""
    made = packed("a", bytes(1 << 20))
    at, listed = made.listed.rfind(b"PK\x01\x02"), made.listed
    for number in range(30):
        made.listed += listed[at:-1] + bytes([98 + number])
        made.count += 1
    return made.done()


def two_endings() -> bytes:
    """One archive for those who look for the last end, another for those who look for the first."""
    innocent = skill().done()
    return skill().add("evil.sh").done(comment=innocent)


def claim_larger() -> bytes:
    return skill().add("big", size=FULL, packed=FULL, extra=struct.pack("<HHQQ", 1, 16, 1, 1)).done()


WHOLE = tar(file("a", bytes(range(256)) * 40))
ATTACKS: dict[str, tuple[str, Callable[[], bytes]]] = {
    # names that lead elsewhere
    "zip-above": ("archive-path", lambda: skill().add("../evil.sh").done()),
    "zip-above-inside": ("archive-path", lambda: skill().add("a/../../evil.sh").done()),
    "zip-absolute": ("archive-path", lambda: skill().add("/tmp/evil.sh").done()),
    "zip-drive": ("archive-path", lambda: skill().add("C:/evil.bat").done()),
    "zip-drive-bare": ("archive-path", lambda: skill().add("C:evil.bat").done()),
    "zip-backslashes": ("archive-path", lambda: skill().add("..\\..\\evil.bat").done()),
    "zip-share": ("archive-path", lambda: skill().add("\\\\host\\share\\evil").done()),
    "zip-nul": ("archive-path", lambda: skill().add("evil.sh\0.md").done()),
    "zip-newline": ("archive-path", lambda: skill().add("a\nb").done()),
    "zip-escape": ("archive-path", lambda: skill().add("\x1b[2Ja").done()),
    "zip-right-to-left": ("archive-path", lambda: skill().add("a\u202etxt.sh").done()),
    "zip-no-text": ("archive-path", lambda: skill().add(b"\xff\xfe").done()),
    "zip-deep": ("archive-path", lambda: skill().add("d/" * 100 + "x").done()),
    "zip-long": ("archive-path", lambda: skill().add("n" * 300).done()),
    "zip-no-name": ("archive-path", lambda: skill().add("").done()),
    "zip-folder-above": ("archive-path", lambda: skill().add("../out/", b"", mode=0o40755).done()),
    "tar-above": ("archive-path", lambda: tar(file("../evil.sh"))),
    "tar-absolute": ("archive-path", lambda: tar(file("/tmp/evil.sh"))),
    "tar-pax-above": ("archive-path", lambda: tar(file("a"), path="../evil.sh")),
    "tar-gnu-above": ("archive-path", lambda: tar(file("a/" * 60 + "../" * 70 + "evil"), style=tarfile.GNU_FORMAT)),
    "tar-no-text": ("archive-path", lambda: tar(file("\udcff"), style=tarfile.GNU_FORMAT)),
    # links and devices
    "zip-link": ("archive-link", lambda: skill().add("a", b"/etc/passwd", mode=0o120777).done()),
    "tar-link": ("archive-link", lambda: tar(("a", tarfile.SYMTYPE, b"/etc/passwd"))),
    "tar-link-inside": ("archive-link", lambda: tar(("a", tarfile.SYMTYPE, b"SKILL.md"))),
    "tar-link-then-file": ("archive-link", lambda: tar(("a", tarfile.SYMTYPE, b"/tmp"), file("a/evil"))),
    "tar-hard-link": ("archive-link", lambda: tar(("a", tarfile.LNKTYPE, b"/etc/passwd"))),
    "zip-device": ("archive-device", lambda: skill().add("a", mode=0o20666).done()),
    "zip-pipe": ("archive-device", lambda: skill().add("a", mode=0o10666).done()),
    "zip-device-by-name": ("archive-device", lambda: skill().add("scripts/NUL.txt").done()),
    "tar-device": ("archive-device", lambda: tar(("a", tarfile.CHRTYPE, b""))),
    "tar-disk": ("archive-device", lambda: tar(("a", tarfile.BLKTYPE, b""))),
    "tar-pipe": ("archive-device", lambda: tar(("a", tarfile.FIFOTYPE, b""))),
    # bombs
    "zip-ratio": ("archive-bomb", lambda: packed("zeros", bytes(2 << 20)).done()),
    "zip-larger-than-it-says": ("archive-bomb", lambda: packed("a", bytes(5000), size=10, crc=0).done()),
    "zip-shared-bytes": ("archive-bomb", share_bytes),
    "tar-ratio": ("archive-bomb", lambda: tar(file("zeros", bytes(3 << 20)))),
    "tar-endless-name": ("archive-bomb", lambda: gzip.compress(header(b"L", 1 << 40) + bytes(1 << 16))),
    "tar-endless-attributes": ("archive-bomb", lambda: gzip.compress(header(b"x", 1 << 30) + bytes(1 << 16))),
    "tar-holes": ("archive-bomb", lambda: gzip.compress(header(b"S", 512) + bytes(2048))),
    "tar-pax-holes": (
        "archive-bomb",
        lambda: gzip.compress(_attributes(b"x", "GNU.sparse.realsize=9") + header(b"0", 0) + bytes(1024)),
    ),
    "tar-endless-zeros": ("archive-bomb", lambda: gzip.compress(header(b"0", 0, "a") + bytes(6 << 20))),
    "zip-total": (
        "archive-bomb",
        lambda: skill().add("a", os.urandom(16) * 140_000).add("b", b"0123456789abcdef" * 140_000).done(),
    ),
    # too much
    "zip-large-file": ("archive-too-large", lambda: skill().add("a", bytes((3 << 20) + 1)).done()),
    "tar-large-file": ("archive-too-large", lambda: gzip.compress(header(b"0", 4 << 20, "a") + os.urandom(9999))),
    "tar-size-in-attributes": ("archive-too-large", lambda: tar(file("a"), size="99999999999")),
    "large-archive": ("archive-too-large", lambda: b"PK\x03\x04" + bytes(21 << 20)),
    "zip-many": ("archive-too-many", lambda: _many(skill(), 60).done()),
    "zip-many-listed": ("archive-too-many", lambda: skill().done(count=65_535)),
    "tar-many": ("archive-too-many", lambda: tar(*(file(f"f{number}") for number in range(60)))),
    # one name for two things
    "zip-twice": ("archive-duplicate", lambda: skill().add("SKILL.md", b"other").done()),
    "zip-twice-by-dot": ("archive-duplicate", lambda: skill().add("./SKILL.md", b"other").done()),
    "tar-twice": ("archive-duplicate", lambda: tar(file("SKILL.md"))),
    "zip-case": ("archive-collision", lambda: skill().add("skill.MD", b"other").done()),
    "zip-case-of-folder": ("archive-collision", lambda: skill().add("a/x").add("A/y").done()),
    "zip-accents": ("archive-collision", lambda: skill().add("caf\u00e9").add("cafe\u0301").done()),
    "zip-compatible": ("archive-collision", lambda: skill().add("\ufb01le").add("file").done()),
    "zip-sharp-s": ("archive-collision", lambda: skill().add("stra\u00dfe").add("STRASSE").done()),
    "zip-dot-at-end": ("archive-collision", lambda: skill().add("SKILL.md.", b"other").done()),
    "zip-file-as-folder": ("archive-collision", lambda: skill().add("a").add("a/b").done()),
    "zip-folder-as-file": ("archive-collision", lambda: skill().add("a/b").add("a").done()),
    "tar-case": ("archive-collision", lambda: tar(file("Skill.md"))),
    "tar-file-as-folder": ("archive-collision", lambda: tar(file("a"), file("a/b"))),
    # nobody can look inside
    "zip-encrypted": ("archive-encrypted", lambda: skill().add("a", flags=0x801).done()),
    "zip-aes": ("archive-encrypted", lambda: skill().add("a", method=99).done()),
    "zip-strong": ("archive-encrypted", lambda: skill().add("a", flags=0x840).done()),
    # broken, or made to be read in two ways
    "zip-cut": ("archive-broken", lambda: skill().add("a", b"x" * 500).done()[:-30]),
    "zip-checksum": ("archive-broken", lambda: skill().add("a", crc=1).done()),
    "zip-cut-content": ("archive-broken", lambda: packed("a", b"abc" * 500, size=1501, crc=0).done()),
    "zip-names-differ": ("archive-broken", lambda: skill().add("a.md", local_name=b"b.sh").done()),
    "zip-sizes-differ": ("archive-broken", lambda: skill().add("a", local_size=7).done()),
    "zip-methods-differ": ("archive-broken", lambda: skill().add("a", local_method=8).done()),
    "zip-checksums-differ": ("archive-broken", lambda: skill().add("a", local_crc=7).done()),
    "zip-streamed-checksums-differ": ("archive-broken", lambda: _stream(local_crc=7, local_packed=0, local_size=0)),
    "zip-streamed-sizes-differ": ("archive-broken", lambda: _stream(local_crc=0, local_packed=0, local_size=7)),
    "zip-encrypted-in-place": ("archive-broken", lambda: skill().add("a", local_flags=0x801).done()),
    "zip-second-name": (
        "archive-broken",
        lambda: skill().add("a", listed_extra=struct.pack("<HHBL", 0x7075, 9, 1, 0) + b"evil").done(),
    ),
    "zip-before": ("archive-broken", lambda: b"PK\x03\x04" + skill().done(before=bytes(40))),
    "zip-hidden-file": ("archive-broken", lambda: _hide(skill().add("evil.sh"))),
    "zip-between": ("archive-broken", lambda: skill().add("a", after=b"evil").done()),
    "zip-before-the-list": ("archive-broken", lambda: skill().done(between=b"evil")),
    "zip-appended": ("archive-broken", lambda: skill().done() + b"evil"),
    "zip-second-archive": ("archive-broken", lambda: skill().done() + skill().add("evil.sh").done()),
    "zip-second-archive-in-comment": ("archive-broken", two_endings),
    "zip-behind-the-content": (
        "archive-broken",
        lambda: skill().add("a", deflate(b"x") + b"evil", method=8, crc=zlib.crc32(b"x"), size=1).done(),
    ),
    "zip-count": ("archive-broken", lambda: skill().add("a").done(count=1)),
    "zip-64": ("archive-broken", claim_larger),
    "zip-folder-with-content": ("archive-broken", lambda: skill().add("a/", b"x").done()),
    "zip-folder-as-plain-name": ("archive-broken", lambda: skill().add("a", b"", mode=0o40755).done()),
    "zip-odd-method": ("archive-broken", lambda: skill().add("a", method=14).done()),
    "zip-inside-another": ("archive-bomb", lambda: skill().add("a", listed_offset=5).done()),
    "tar-cut": ("archive-broken", lambda: WHOLE[: len(WHOLE) // 2]),
    "tar-cut-checksum": ("archive-broken", lambda: WHOLE[:-4]),
    "tar-checksum": ("archive-broken", lambda: WHOLE[:-8] + bytes(4) + WHOLE[-4:]),
    "tar-second-archive": ("archive-broken", lambda: WHOLE + tar(file("evil.sh"))),
    "tar-second-after-zeros": ("archive-broken", lambda: WHOLE + bytes(600) + tar(file("evil.sh"))),
    "tar-appended": ("archive-broken", lambda: WHOLE + b"evil"),
    "tar-second-inside": ("archive-broken", lambda: gzip.compress(gzip.decompress(WHOLE) + gzip.decompress(WHOLE))),
    "tar-header-checksum": ("archive-broken", lambda: gzip.compress(b"evil" + gzip.decompress(WHOLE)[4:])),
    "tar-negative-size": (
        "archive-broken",
        lambda: gzip.compress(_resum(header(b"0", 0), 124, b"\xff" * 12) + bytes(1024)),
    ),
    "tar-unknown-kind": ("archive-broken", lambda: gzip.compress(header(b"Z", 0) + bytes(1024))),
    "tar-no-end": ("archive-broken", lambda: gzip.compress(header(b"0", 0))),
    "tar-name-for-all": ("archive-broken", lambda: gzip.compress(_attributes(b"g", "path=evil") + bytes(1024))),
}


def _many(archive: Zip, count: int) -> Zip:
    for number in range(count):
        archive.add(f"f{number}")
    return archive


def _stream(**stated: int) -> bytes:
    """A file whose size was not known when its header was written, which states something nevertheless."""
    after = b"PK\x07\x08" + struct.pack("<3L", zlib.crc32(b"x"), 1, 1)
    return skill().add("a", b"x", flags=0x808, after=after, **stated).done()


def _hide(archive: Zip) -> bytes:
    """A file that only those see who read from the start."""
    archive.listed = archive.listed[: archive.listed.rfind(b"PK\x01\x02")]
    archive.count -= 1
    return archive.done()


def _resum(block: bytes, at: int, field: bytes) -> bytes:
    """A header of a tar with another field, and the sum that goes with it."""
    changed = block[:at] + field + block[at + len(field) :]
    blank = changed[:148] + b" " * 8 + changed[156:]
    return changed[:148] + b"%06o\0 " % sum(blank) + changed[156:]


def _attributes(kind: bytes, record: str) -> bytes:
    text = f"{len(record) + 4} {record}\n".encode()
    return header(kind, len(text)) + text.ljust(512, b"\0")


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_archive_that_means_harm_is_refused_with_its_code_and_leaves_nothing(attack: str, tmp_path: Path) -> None:
    code, make = ATTACKS[attack]
    source, target = tmp_path / "evil.zip", tmp_path / "in" / "target"
    source.write_bytes(make())
    target.mkdir(parents=True)
    with pytest.raises(ClawftError) as refused:
        unpack(str(source), str(target), SMALL)
    assert (refused.value.code, type(refused.value)) == (code, Refused)
    assert sorted(tmp_path.rglob("*")) == [source, tmp_path / "in", target]


@pytest.fixture
def install(
    tmp_path: Path,
    child_env: dict[str, str],
    environ: MutableMapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[Callable[[Path], subprocess.CompletedProcess[str]]]:
    """`weft skills install PATH --yes`, in this process."""
    (tmp_path / "project").mkdir()
    environ.clear()
    environ.update(child_env)
    monkeypatch.chdir(tmp_path / "project")

    def run(source: Path) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["weft", "skills", "install", str(source), "--yes"])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return subprocess.CompletedProcess(sys.argv, int(ended.value.code or 0), *capfd.readouterr())

    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield run


@pytest.mark.parametrize("attack", ATTACKS)
def test_install_refuses_it_too(
    attack: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    install: Callable[[Path], subprocess.CompletedProcess[str]],
) -> None:
    monkeypatch.setattr(unpack, "__defaults__", (SMALL,))
    code, make = ATTACKS[attack]
    source = tmp_path / "evil.zip"
    source.write_bytes(make())
    done = install(source)
    assert (done.returncode, f"error[{code}]" in done.stderr) == (3, True), done.stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() in (DOCUMENT, b"x")]
    assert left == []
    skills = tmp_path / "home" / ".clawft" / "skills"
    assert not skills.exists() or os.listdir(skills) == []


def test_what_means_no_harm_is_unpacked(tmp_path: Path) -> None:
    good = {
        "zip": skill().add("scripts/run.sh", b"echo", mode=0o106777).done(comment=b"0" * 40),
        "streamed": skill()
        .add("scripts/run.sh", b"echo", flags=0x808, mode=0o100755, local_crc=0, local_packed=0, local_size=0,
             after=b"PK\x07\x08" + struct.pack("<3L", zlib.crc32(b"echo"), 4, 4))
        .done(),
        "macos": skill().add("scripts/run.sh", b"echo", mode=0o755).add("__MACOSX/._SKILL.md", b"x").done(),
        "long-names": tar(("scripts/run.sh", tarfile.REGTYPE, b"echo"), style=tarfile.GNU_FORMAT),
        "attributes": tar(("scripts/run.sh", tarfile.REGTYPE, b"echo"), comment="hello"),
        "padded": WHOLE + bytes(512),
    }  # fmt: skip
    for name, data in good.items():
        target = tmp_path / name
        target.mkdir()
        (tmp_path / "archive").write_bytes(data)
        told = unpack(str(tmp_path / "archive"), str(target))
        files = {str(path.relative_to(target)): path for path in target.rglob("*") if path.is_file()}
        assert files["SKILL.md"].read_bytes() == DOCUMENT
        assert told.files == len(files) == 2
        assert {path.stat().st_mode & 0o7077 for path in files.values()} == {0}
        if name in ("zip", "streamed", "macos"):
            assert [path.stat().st_mode & 0o777 for _, path in sorted(files.items())] == [0o600, 0o700]
        assert told.left_out == (("__MACOSX/._SKILL.md",) if name == "macos" else ())
