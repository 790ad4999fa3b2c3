"""A `.skill` is its files and nothing else: no time, no order, no machine, no compressor."""

import io
import os
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from clawft.errors import ClawftError, Refused
from clawft.install.archive.hashes import fingerprint_folder
from clawft.install.archive.pack import choose_files, pack_files, write_skill
from clawft.install.archive.unpack import unpack
from effort import within

DOCUMENT = "---\nname: adder\ndescription: Adds numbers.\n---\nAdd them.\n"


def make(folder: Path, **files: str) -> Path:
    for path, text in {"SKILL.md": DOCUMENT, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def pack(folder: Path, name: str = "adder") -> bytes:
    made = io.BytesIO()
    packed = pack_files(name, choose_files(str(folder)).files, made.write)
    assert packed.size == len(made.getvalue())
    return made.getvalue()


def test_the_same_files_are_the_same_bytes_whenever_and_in_whatever_order_they_were_made(tmp_path: Path) -> None:
    one = make(tmp_path / "one", **{"scripts/a.py": "a", "B.md": "b", "ä.md": "c"})
    two = make(tmp_path / "elsewhere" / "two", **{"ä.md": "c", "B.md": "b", "scripts/a.py": "a"})
    for folder in (one, two):
        (folder / "scripts" / "a.py").chmod(0o755 if folder == one else 0o700)
    os.utime(two / "SKILL.md", (1, 1))
    (two / "B.md").chmod(0o600)
    assert pack(one) == pack(two)


def test_these_bytes_are_those_that_were_packed_when_this_was_written(tmp_path: Path) -> None:
    folder = make(tmp_path / "adder", **{"run.sh": "echo\n"})
    (folder / "run.sh").chmod(0o755)
    packed = write_skill(str(tmp_path / "adder.skill"), "adder", choose_files(str(folder)).files)
    assert packed.sha256 == "c3acd101026871627ae3526ef1eb54390461b56d9e0b4d9a61b63029ccea7dde"


def test_other_readers_find_one_folder_with_the_modes_that_count(tmp_path: Path) -> None:
    folder = make(tmp_path / "adder", **{"scripts/run.sh": "echo", "références/é.md": "x"})
    (folder / "scripts" / "run.sh").chmod(0o775)
    with zipfile.ZipFile(io.BytesIO(pack(folder))) as archive:
        assert archive.testzip() is None
        listed = [
            (one.filename, one.external_attr >> 16, one.date_time[0], one.compress_type) for one in archive.infolist()
        ]
    assert listed == [
        ("adder/SKILL.md", 0o100644, 1980, 0),
        ("adder/références/é.md", 0o100644, 1980, 0),
        ("adder/scripts/run.sh", 0o100755, 1980, 0),
    ]


def test_what_was_packed_is_what_is_unpacked(tmp_path: Path) -> None:
    folder = make(tmp_path / "adder", **{"a/b/c.txt": "deep", "empty": ""})
    (tmp_path / "x.skill").write_bytes(pack(folder))
    (tmp_path / "out").mkdir()
    assert unpack(str(tmp_path / "x.skill"), str(tmp_path / "out")).files == 3
    below = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = tmp_path / "out" / "adder"
    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()} == below


def test_what_only_lies_there_is_left_out_and_told(tmp_path: Path) -> None:
    folder = make(
        tmp_path / "adder",
        **{".git/config": "g", ".env": "A=1", "node_modules/x.js": "n", "scripts/__pycache__/a.pyc": "p", "a.pyc": "p"},
        **{".gitignore": "*.log\n!keep.log\nbuild/\n", ".clawhubignore": "notes.md\n", ".clawftignore": "/draft\n"},
        **{"x.log": "l", "keep.log": "k", "build/out": "b", "notes.md": "n", "draft/a": "d", "sub/draft/a": "kept"},
        **{"evals/evals.json": "{}", "sub/evals/a": "kept", "old.skill": "PK", "SKILL.md~": "b", "_meta.json": "{}"},
        **{".clawft-signature": "signed"},
    )
    chosen = choose_files(str(folder))
    kept = [".clawft-signature", "SKILL.md", "keep.log", "sub/draft/a", "sub/evals/a"]
    assert [one.path for one in chosen.files] == kept
    assert {one.path: one.reason for one in chosen.left_out} == {
        ".clawftignore": "hidden",
        ".clawhubignore": "hidden",
        ".env": "hidden",
        ".git/": "hidden",
        ".gitignore": "hidden",
        "SKILL.md~": "a backup",
        "_meta.json": "of a download",
        "a.pyc": "made by Python",
        "build/": "ignored",
        "draft/": "ignored",
        "evals/": "tests of the skill",
        "node_modules/": "packages that are installed",
        "notes.md": "ignored",
        "old.skill": "packed before",
        "scripts/__pycache__/": "made by Python",
        "x.log": "ignored",
    }


@pytest.mark.parametrize(
    ("name", "code"),
    [("link", "archive-link"), ("pipe", "archive-device"), ("a\nb", "archive-path"), ("skill.MD", "archive-collision")],
)
def test_what_nobody_would_unpack_is_not_packed(tmp_path: Path, name: str, code: str) -> None:
    folder = make(tmp_path / "adder")
    if name == "link":
        (folder / name).symlink_to("SKILL.md")
    elif name == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).write_text("x")
    with pytest.raises(Refused) as refused:
        choose_files(str(folder))
    assert refused.value.code == code


def test_a_link_in_what_is_left_out_does_not_matter(tmp_path: Path) -> None:
    folder = make(tmp_path / "adder", **{".gitignore": "out\n"})
    (folder / "out").symlink_to("/etc")
    assert [one.path for one in choose_files(str(folder)).files] == ["SKILL.md"]


def test_a_file_that_changes_meanwhile_is_noticed_and_nothing_is_written(tmp_path: Path) -> None:
    folder = make(tmp_path / "adder")
    files = choose_files(str(folder)).files
    (folder / "SKILL.md").write_text("short")
    with pytest.raises(Refused) as refused:
        write_skill(str(tmp_path / "adder.skill"), "adder", files)
    assert refused.value.code == "pack-changed"
    assert os.listdir(tmp_path) == ["adder"]


def test_an_ignore_file_further_down_counts_there_and_before_those_above(tmp_path: Path) -> None:
    folder = make(
        tmp_path / "adder",
        **{".gitignore": "*.tmp\n", "data/.gitignore": "!keep.tmp\n/raw\n", "data/raw/x": "r", "raw/x": "kept"},
        **{"a.tmp": "t", "keep.tmp": "t", "data/keep.tmp": "kept", "data/b.tmp": "t", "data/sub/raw/x": "kept"},
    )
    kept = [one.path for one in choose_files(str(folder)).files]
    assert kept == ["SKILL.md", "data/keep.tmp", "data/sub/raw/x", "raw/x"]


def test_what_the_repository_around_it_ignores_is_left_out_too(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.local\n/skills/adder/notes\nprivate/\n")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / ".gitignore").write_text("!kept.local\n/adder/cache\n")
    more = {"a.local": "mine", "kept.local": "k", "notes": "n", "sub/private/x": "p", "cache": "c", "sub/cache": "s"}
    folder = make(tmp_path / "skills" / "adder", **more)
    assert [one.path for one in choose_files(str(folder)).files] == ["SKILL.md", "kept.local", "sub/cache"]

    (tmp_path / ".gitignore").write_text("/skills/\n*.local\n")  # whoever packs what git ignores wants it all the same
    assert "a.local" in [one.path for one in choose_files(str(folder)).files]


def test_an_ignore_file_around_it_that_git_would_not_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "elsewhere").write_text("*\n")
    (tmp_path / ".gitignore").symlink_to("elsewhere")
    folder = make(tmp_path / "skills" / "adder")
    assert [one.path for one in choose_files(str(folder)).files] == ["SKILL.md"]


@pytest.mark.parametrize("line", ["\ufeffmine.key", "[[:alpha:]]*.key", "*.k[[:lower:]y]y", "mine.[^[:digit:]]ey"])
def test_a_line_leaves_out_what_it_leaves_out_in_git(tmp_path: Path, line: str) -> None:
    folder = make(tmp_path / "adder", **{".gitignore": f"{line}\n", "mine.key": "secret"})
    assert [one.path for one in choose_files(str(folder)).files] == ["SKILL.md"]


def test_an_ignore_file_that_is_no_text_is_not_passed_over(tmp_path: Path) -> None:
    folder = make(tmp_path / "adder", **{"mine.key": "secret"})
    (folder / ".gitignore").write_bytes("mine.key\n".encode("utf-16"))  # as a Windows shell writes it
    with pytest.raises(ClawftError, match="UTF-8"):
        choose_files(str(folder))


def test_lines_that_mean_nothing_in_an_ignore_file_leave_nothing_out(tmp_path: Path) -> None:
    folder = make(tmp_path / "adder", **{".gitignore": "!\n\\\n[z-a]\na\\\n[[:foo:]]\n*.log\n", "a.log": "l", "b": "b"})
    assert [one.path for one in choose_files(str(folder)).files] == ["SKILL.md", "b"]


@pytest.mark.parametrize(
    "text", ["*a*a*a*a*a*a*a*a*a*a*b\n", "*x*y*z\n" * 1500, "a\n" * 5100], ids=["stars", "many", "long"]
)
def test_an_ignore_file_of_a_stranger_takes_nobodys_time(tmp_path: Path, text: str) -> None:
    folder = make(tmp_path / "adder", **{".gitignore": text, "a" * 200: "x"})
    with within(3):
        with suppress(ClawftError):
            choose_files(str(folder))
        fingerprint_folder(str(folder))
