"""Whatever an archive says its files are called: nothing is written outside the folder."""

import io
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import ClawftError, Refused
from clawft.install.archive.unpack import unpack
from effort import within

PIECES = st.sampled_from(["..", ".", "/", "\\", "a", "b", "c:", "~", "\n", "é", " ", "__pycache__", "//"])
NAMES = st.lists(st.lists(PIECES, min_size=1, max_size=5).map("".join), min_size=1, max_size=5)
KINDS = st.sampled_from([tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])


def pack_zip(path: Path, names: list[str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in dict.fromkeys(names):
            archive.writestr(zipfile.ZipInfo(name), b"x")


def pack_tar(path: Path, members: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w") as archive:
        for name, kind in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "../../outside"
            info.size = 1 if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(b"x"))


def check(place: Path, archive: Path) -> None:
    """Unpack it, or not: whatever there is is a plain file inside."""
    target = place / "in" / "target"
    target.mkdir(parents=True)
    before = set(place.rglob("*"))
    with suppress(ClawftError):
        unpack(str(archive), str(target))
    for path in set(place.rglob("*")) - before:
        assert path.is_relative_to(target)
        assert not path.is_symlink()
        assert path.is_dir() or path.read_bytes() == b"x"


@given(NAMES)
def test_no_name_in_a_zip_leads_outside(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pack_zip(Path(folder, "a.zip"), names)
        check(Path(folder), Path(folder, "a.zip"))


@given(NAMES.flatmap(lambda names: st.tuples(*(st.tuples(st.just(name), KINDS) for name in names)).map(list)))
def test_no_name_or_link_in_a_tar_leads_outside(members: list[tuple[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pack_tar(Path(folder, "a.tar"), members)
        check(Path(folder), Path(folder, "a.tar"))


@given(st.binary(max_size=600), st.sampled_from([b"PK\x03\x04", b"\x1f\x8b\x08", b"", b"\0" * 257 + b"ustar"]))
def test_an_archive_that_is_damaged_is_an_error_and_no_crash(content: bytes, start: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "archive")
        path.write_bytes(start + content)
        with pytest.raises(ClawftError):
            unpack(str(path), tempfile.mkdtemp(dir=folder))


@pytest.mark.parametrize(
    ("entries", "code"), [(b"\0" * 4, "archive-too-many"), (b"PK\x05\x06", "archive-broken")], ids=["list", "end"]
)  # the latter may look like another end
def test_a_zip_that_lists_files_without_end_is_refused_before_that_is_read(
    tmp_path: Path, entries: bytes, code: str
) -> None:
    listed = b"PK\x01\x02" + bytes(24) + b"\x01" + bytes(17) + b"a"
    count = (17 << 20) // len(listed)
    size = (count * len(listed)).to_bytes(4, "little")
    end = b"PK\x05\x06" + bytes(4) + entries + size + (30).to_bytes(4, "little") + bytes(2)
    source = tmp_path / "long.zip"
    source.write_bytes(b"PK\x03\x04" + bytes(26) + listed * count + end)
    (tmp_path / "target").mkdir()
    with within(0.5):
        with pytest.raises(Refused) as refused:
            unpack(str(source), str(tmp_path / "target"))
        assert refused.value.code == code
