"""Whatever an archive says its files are called: nothing is written outside the folder."""

import io
import os
import shutil
import tarfile
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import ClawftError, Refused
from clawft.install.archive.unpack import UnpackedFiles, unpack
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


FILES = {"SKILL.md": b"Do it.\n", "empty": b"", "scripts/run.sh": b"echo\n", "scripts/deep/note.txt": bytes(5000)}


def fill(folder: Path) -> Path:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder


@pytest.mark.parametrize("kind", ["folder", "tar", "gztar", "zip"])
def test_files_come_out_as_they_were_whatever_they_are_packed_in(tmp_path: Path, kind: str) -> None:
    source = str(fill(tmp_path / "source"))
    if kind != "folder":
        source = shutil.make_archive(str(tmp_path / "packed"), kind, source)
        os.rename(source, tmp_path / "packed.bin")  # what it is called says nothing
        source = str(tmp_path / "packed.bin")
    target = tmp_path / "target"
    target.mkdir()
    assert unpack(source, str(target)) == UnpackedFiles(len(FILES), sum(map(len, FILES.values())))
    found = {str(path.relative_to(target)): path for path in target.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == FILES
    assert {name for name, path in found.items() if path.stat().st_mode & 0o111} == {"scripts/run.sh"}


def test_caches_and_the_repository_of_a_folder_are_left_out(tmp_path: Path) -> None:
    source = fill(tmp_path / "source")
    for name in (".git", "scripts/__pycache__"):
        (source / name).mkdir()
        (source / name / "x").write_bytes(b"x")
    (tmp_path / "target").mkdir()
    assert unpack(str(source), str(tmp_path / "target")).files == len(FILES)
    assert not [path for path in (tmp_path / "target").rglob("*") if path.name == "x"]


@pytest.mark.parametrize("content", [b"", b"Hello.\n", bytes(600)])
def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "notes.zip").write_bytes(content)
    (tmp_path / "target").mkdir()
    with pytest.raises(ClawftError) as caught:
        unpack(str(tmp_path / "notes.zip"), str(tmp_path / "target"))
    assert (caught.value.code, caught.value.hint) == ("archive-unknown", "Give a folder, a .skill, a .zip or a .tar.gz")


def test_what_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    with pytest.raises(ClawftError) as caught:
        unpack(str(tmp_path / "none.zip"), str(tmp_path / "target"))
    assert (caught.value.code, caught.value.diagnostic.path) == ("archive-missing", str(tmp_path / "none.zip"))
