"""Zip archives: what is in them comes out as it was packed, and each lie about it is named."""

import io
import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from clawft.errors import Refused
from clawft.install.archive.target import SKILL, ArchiveLimits
from clawft.install.archive.unpack import UnpackedFiles, unpack

LISTED, END = b"PK\x01\x02", b"PK\x05\x06"
LOCAL = b"PK\x03\x04"


def make(files: dict[str, bytes], *, comment: bytes = b"", each: bytes = b"", extra: bytes = b"") -> bytearray:
    """An archive as Python's own library writes it. `each` and `extra` are the comment and extra field of each file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED if len(content) > 100 else zipfile.ZIP_STORED
            info.external_attr = (0o100755 if name.endswith(".sh") else 0o100644) << 16
            info.comment, info.extra = each, extra
            archive.writestr(info, content)
    return bytearray(made.getvalue())


def put(archive: bytearray, mark: bytes, at: int, form: str, value: int, number: int = 0) -> bytearray:
    """Change a field of the record that a mark begins: the first of them, or a later one."""
    start = -1
    for _ in range(number + 1):
        start = archive.index(mark, start + 1)
    struct.pack_into(form, archive, start + at, value)
    return archive


def open_zip(tmp_path: Path, archive: bytes | bytearray, limits: ArchiveLimits = SKILL) -> tuple[UnpackedFiles, Path]:
    source, target = tmp_path / "a.zip", tmp_path / "target"
    source.write_bytes(archive)
    target.mkdir()
    return unpack(str(source), str(target), limits), target


def refusal(tmp_path: Path, archive: bytes | bytearray, limits: ArchiveLimits = SKILL) -> tuple[str, str]:
    """The code and the words that an archive is refused with; nothing of it is kept."""
    with pytest.raises(Refused) as refused:
        open_zip(tmp_path, archive, limits)
    assert list((tmp_path / "target").iterdir()) == []
    return refused.value.code, str(refused.value)


TWO = {"SKILL.md": b"Do it.\n", "scripts/run.sh": b"echo\n" * 100}
UNIX_TIME = struct.pack("<HHBL", 0x5455, 5, 1, 0)


@pytest.mark.parametrize(
    "how",
    [{}, {"each": b"a comment"}, {"extra": UNIX_TIME}, {"each": b"c", "extra": UNIX_TIME, "comment": b"of all"}],
    ids=["plain", "comments", "extra", "both"],
)
def test_what_was_packed_comes_out(tmp_path: Path, how: dict[str, bytes]) -> None:
    unpacked, target = open_zip(tmp_path, make(TWO, **how))
    assert (unpacked.files, unpacked.bytes) == (2, 507)
    assert {name: (target / name).read_bytes() for name in TWO} == TWO
    rights = [bool((target / name).stat().st_mode & stat.S_IXUSR) for name in TWO]
    assert rights == [False, True]


def test_a_comment_as_long_as_one_can_be_hides_no_list(tmp_path: Path) -> None:
    unpacked, _ = open_zip(tmp_path, make(TWO, comment=b"x" * 65_535))
    assert unpacked.files == 2


def test_extra_fields_may_be_as_long_as_they_can_be(tmp_path: Path) -> None:
    long = struct.pack("<HH", 0x9999, 65_000) + bytes(65_000)
    _, target = open_zip(
        tmp_path, make({"n" * 200: b"x", "b": b"y"}, extra=long + struct.pack("<HH", 0x9999, 400) + bytes(400))
    )
    assert ((target / ("n" * 200)).read_bytes(), (target / "b").read_bytes()) == (b"x", b"y")


def test_a_list_of_no_files_hides_what_stands_before_it(tmp_path: Path) -> None:
    archive = make({"a": b"x"})
    body, end = archive[: archive.index(LISTED)], archive[archive.index(END) :]
    for at, form, value in ((8, "<H", 0), (10, "<H", 0), (12, "<L", 0), (16, "<L", len(body))):
        put(end, END, at, form, value)
    assert refusal(tmp_path, body + end) == ("archive-broken", "Its list has no files")


def test_a_second_archive_in_the_comment_of_the_first_is_named(tmp_path: Path) -> None:
    archive = make(TWO, comment=bytes(make({"a": b"x"})))
    assert refusal(tmp_path, archive) == ("archive-broken", "It ends twice: a second archive is hidden in it")


def test_what_looks_like_an_end_inside_of_a_file_is_none(tmp_path: Path) -> None:
    _, target = open_zip(tmp_path, make({"a": END + bytes(40)}))
    assert (target / "a").read_bytes() == END + bytes(40)


def test_a_name_is_cut_where_it_is_told(tmp_path: Path) -> None:
    archive = put(make({"n" * 100: b"x", "b": b"x"}), LOCAL, 14, "<L", 1)
    assert refusal(tmp_path, archive) == (
        "archive-broken",
        f"'{'n' * 80}' is another file in the list than in its place",
    )


def test_a_file_that_fills_its_limit_comes_out(tmp_path: Path) -> None:
    content = os.urandom(5000)
    limits = ArchiveLimits(max_files=1, max_file_bytes=5000, max_bytes=5000)
    unpacked, target = open_zip(tmp_path, make({"a": content}), limits)
    assert unpacked == UnpackedFiles(1, 5000)
    assert (target / "a").read_bytes() == content


@pytest.mark.parametrize("deflated", [True, False])
def test_a_streamed_file_comes_out_with_what_follows_it(tmp_path: Path, deflated: bool) -> None:
    class Unseekable(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, piece: "bytes") -> int:  # type: ignore[override]
            self.data += bytes(piece)
            return len(piece)

    made = Unseekable()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED) as archive:
        for name, content in TWO.items():
            archive.writestr(name, content)
    _, target = open_zip(tmp_path, made.data)
    assert {name: (target / name).read_bytes() for name in TWO} == TWO


WRONG_PLACE = "Its list of files is not where it should be"


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [(4, "<H", 1), (6, "<H", 1), (8, "<H", 1), (12, "<L", 1), (16, "<L", 1)],
    ids=["disk", "disk of the list", "count here", "size", "start"],
)
def test_a_list_that_is_elsewhere_than_the_end_says_is_refused(tmp_path: Path, at: int, form: str, value: int) -> None:
    assert refusal(tmp_path, put(make(TWO), END, at, form, value)) == ("archive-broken", WRONG_PLACE)


def cut_list(archive: bytearray, left: int) -> bytes:
    """The archive with that many bytes of its list, and an end that says so."""
    start, end = archive.index(LISTED), archive.index(END)
    put(archive, END, 12, "<L", left)
    return bytes(archive[: start + left] + archive[end:])


@pytest.mark.parametrize("left", [1, 45, 46, 53, 55, 60, 100])
def test_a_list_that_ends_within_a_file_cannot_be_read(tmp_path: Path, left: int) -> None:
    assert refusal(tmp_path, cut_list(make(TWO), left)) == ("archive-broken", "Its list of files cannot be read")


@pytest.mark.parametrize(("at", "value"), [(0, 0), (34, 1)], ids=["mark", "disk"])
@pytest.mark.parametrize("number", [0, 1])
def test_an_entry_that_is_none_or_on_another_disk_cannot_be_read(
    tmp_path: Path, at: int, value: int, number: int
) -> None:
    archive = put(make(TWO), LISTED, at, "<H", value, number)
    assert refusal(tmp_path, archive) == ("archive-broken", "Its list of files cannot be read")


@pytest.mark.parametrize("at", [28, 30, 32], ids=["name", "extra", "comment"])
def test_a_length_that_leads_out_of_the_list_cannot_be_read(tmp_path: Path, at: int) -> None:
    archive = put(make(TWO), LISTED, at, "<H", 60_000, 1)
    assert refusal(tmp_path, archive) == ("archive-broken", "Its list of files cannot be read")


@pytest.mark.parametrize(("count", "words"), [(1, "not as long as it says"), (3, "not as long as it says")])
def test_a_list_that_has_more_or_fewer_files_than_it_says_is_refused(tmp_path: Path, count: int, words: str) -> None:
    archive = put(put(make(TWO), END, 8, "<H", count), END, 10, "<H", count)
    code, said = refusal(tmp_path, archive)
    assert (code, words in said) == ("archive-broken", True)


@pytest.mark.parametrize("at", [20, 24, 42], ids=["packed", "size", "offset"])
def test_sizes_of_more_than_four_gigabytes_are_refused(tmp_path: Path, at: int) -> None:
    archive = put(make(TWO), LISTED, at, "<L", 0xFFFFFFFF)
    assert refusal(tmp_path, archive) == ("archive-broken", "It is written as if it had more than 4 GB")


def test_a_small_file_that_claims_to_be_packed_in_many_bytes_is_refused_before_any_is_read(tmp_path: Path) -> None:
    limits = ArchiveLimits(max_files=2, max_file_bytes=1000, max_bytes=2000)
    slack = 1 << 16
    archive = put(make(TWO), LISTED, 20, "<L", 1001 + slack)
    said = f"'SKILL.md': {1001 + slack} bytes would become 7"
    assert refusal(tmp_path, archive, limits) == ("archive-bomb", said)


def test_as_many_packed_bytes_as_there_may_be_are_looked_for_where_they_should_be(tmp_path: Path) -> None:
    limits = ArchiveLimits(max_files=2, max_file_bytes=1000, max_bytes=2000)
    archive = put(make(TWO), LISTED, 20, "<L", 1000 + (1 << 16))
    assert refusal(tmp_path, archive, limits) == ("archive-bomb", "Its files share bytes")


def test_one_file_that_becomes_a_hundred_times_as_large_is_a_bomb_among_files_that_do_not(tmp_path: Path) -> None:
    files = {"zeros": bytes((1 << 20) + 1), "noise": os.urandom(100_000)}
    code, said = refusal(tmp_path, make(files))
    assert (code, said.startswith("'zeros': ")) == ("archive-bomb", True)


def test_files_that_together_become_a_hundred_times_as_large_are_a_bomb(tmp_path: Path) -> None:
    files = {f"f{number}": bytes(1 << 20) for number in range(3)}
    archive = make(files)
    assert refusal(tmp_path, archive) == ("archive-bomb", f"{len(archive)} bytes would become {3 << 20}")


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [(6, "<H", 1), (6, "<H", 8), (8, "<H", 0), (14, "<L", 1), (18, "<L", 9), (22, "<L", 9), (30, "<H", 0x4141)],
    ids=["encrypted", "streamed", "method", "checksum", "packed", "size", "name"],
)
def test_a_file_that_is_another_in_its_place_than_in_the_list_is_refused(
    tmp_path: Path, at: int, form: str, value: int
) -> None:
    archive = put(make({"run": b"echo\n" * 100, "b": b"x"}), LOCAL, at, form, value)
    assert refusal(tmp_path, archive) == ("archive-broken", "'run' is another file in the list than in its place")


def test_a_file_that_is_not_where_the_list_says_is_refused(tmp_path: Path) -> None:
    archive = put(make(TWO), LOCAL, 0, "<H", 0, 1)
    assert refusal(tmp_path, archive) == ("archive-broken", "A file is not where the list says")


@pytest.mark.parametrize(("size", "crc"), [(-1, 0), (0, 1)])
def test_a_file_that_is_not_what_was_packed_is_refused(tmp_path: Path, size: int, crc: int) -> None:
    content = os.urandom(50)
    archive = make({"a": content, "b": b"x"})
    for mark, at in ((LOCAL, 14), (LISTED, 16)):
        put(archive, mark, at, "<L", zlib.crc32(content) ^ crc)
        put(archive, mark, at + 8, "<L", 50 - size)
    assert refusal(tmp_path, archive) == (
        "archive-broken",
        "'a' is not what was packed: it is damaged or was changed",
    )


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (-1, "archive-bomb", "'a' is larger than it says"),
        (1, "archive-broken", "'a' is not what was packed: it is damaged or was changed"),
    ],
)
def test_a_packed_file_must_come_to_the_size_that_it_says(tmp_path: Path, change: int, code: str, words: str) -> None:
    content = b"echo\n" * 100
    archive = make({"a": content, "b": b"x"})
    put(archive, LOCAL, 22, "<L", len(content) + change)
    put(archive, LISTED, 24, "<L", len(content) + change)
    assert refusal(tmp_path, archive) == (code, words)


def test_a_packed_file_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    open_ended = packer.compress(b"echo\n" * 100) + packer.flush(zlib.Z_SYNC_FLUSH)
    archive = make({"a": os.urandom(len(open_ended)), "b": b"x"})
    start = archive.index(LOCAL) + 31
    archive[start : start + len(open_ended)] = open_ended
    for mark, at in ((LOCAL, 8), (LISTED, 10)):
        put(archive, mark, at, "<H", 8)
        put(archive, mark, at + 6, "<L", zlib.crc32(b"echo\n" * 100))
        put(archive, mark, at + 14, "<L", 500)
    assert refusal(tmp_path, archive) == ("archive-broken", "'a' is cut off")


def test_what_cannot_be_unpacked_at_all_is_named(tmp_path: Path) -> None:
    archive = make({"a": b"echo\n" * 100, "b": b"x"})
    archive[archive.index(LOCAL) + 31] = 0xFF
    assert refusal(tmp_path, archive) == ("archive-broken", "'a' cannot be unpacked")


@pytest.mark.parametrize("where", [LOCAL, LISTED], ids=["in its place", "in the list"])
@pytest.mark.parametrize(("second", "fine"), [(b"SKILL.md", True), (b"EVILL.sh", False)])
def test_a_second_name_must_be_the_same(tmp_path: Path, where: bytes, second: bytes, fine: bool) -> None:
    """After another extra field, and of the length of the first name, so that nothing moves."""
    name = struct.pack("<HHBL", 0x7075, 13, 1, 0) + b"SKILL.md"
    archive = make({"SKILL.md": b"x"}, extra=UNIX_TIME + name)
    place = archive.index(b"SKILL.md", archive.index(where) + 46 + 8)
    archive[place : place + 8] = second
    if fine:
        assert open_zip(tmp_path, archive)[0].files == 1
    else:
        assert refusal(tmp_path, archive) == ("archive-broken", "A file has two names")


@pytest.mark.parametrize(("raw", "name"), [("naïve".encode(), "naïve"), ("naïve".encode("cp437"), "naïve")])
def test_a_name_is_read_as_utf_8_or_else_as_dos_wrote_it(tmp_path: Path, raw: bytes, name: str) -> None:
    archive = bytes(make({"n" * len(raw): b"x"})).replace(b"n" * len(raw), raw)
    _, target = open_zip(tmp_path, archive)
    assert [one.name for one in target.iterdir()] == [name]


def test_what_is_left_out_is_told_and_folders_are_made_by_their_files(tmp_path: Path) -> None:
    unpacked, target = open_zip(tmp_path, make({"a/": b"", "a/b": b"x", "__MACOSX/._b": b"x"}))
    assert unpacked == UnpackedFiles(1, 2, ("__MACOSX/._b",))
    assert sorted(str(one.relative_to(target)) for one in target.rglob("*")) == ["a", "a/b"]
