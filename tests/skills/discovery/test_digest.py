"""The digest of a folder, computed here a second time from the written rule."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.discovery.digest import compute_digest, hash_content

LEFT_OUT = [
    ".git/config",
    "sub/.git/HEAD",
    "__pycache__/x.pyc",
    "scripts/__pycache__/x.pyc",
    ".clawhub/origin.json",
    ".clawft/notes",
    ".clawft-signature",
    ".DS_Store",
    "sub/.DS_Store",
]


def _by_the_rule(files: dict[str, tuple[bytes, bool]]) -> str:
    """sha256 over: path, NUL, `x` or `-`, NUL, size, NUL, sha256 of the bytes, newline; in byte order of the paths."""
    text = b""
    for path in sorted(files, key=lambda one: one.encode()):
        content, executable = files[path]
        hashed = hashlib.sha256(content).hexdigest()
        text += b"\0".join([path.encode(), b"x" if executable else b"-", str(len(content)).encode(), hashed.encode()])
        text += b"\n"
    return "sha256:" + hashlib.sha256(text).hexdigest()


def _write(root: Path, files: dict[str, tuple[bytes, bool]]) -> None:
    for name, (content, executable) in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if executable else 0o644)


def test_digest_follows_the_written_rule(tmp_path: Path) -> None:
    files = {
        "SKILL.md": (b"---\nname: x\n---\n", False),
        "scripts/run.sh": (b"#!/bin/sh\necho hi\n", True),
        "scripts/lib/deep/er.py": (b"", False),
        "a.txt": (b"1", False),
        "a-b.txt": (b"2", False),
        "a/b.txt": (b"3", False),
        "Z": (b"4", False),
        ".env": (b"5", False),
        "\u00e9\u4e2d.md": (b"6", False),
        "\U0001f600.md": (b"7", False),
        "\uff21.md": (b"8", False),
        "binary": (bytes(range(256)) * 5000, False),
    }
    _write(tmp_path, files)

    digest = compute_digest(str(tmp_path))

    assert digest.value == _by_the_rule(files)
    assert digest.diagnostics == ()


@given(
    st.dictionaries(
        st.text("abAB01._-", min_size=1, max_size=6).filter(
            lambda name: name not in {".", ".."} and name.lower() == name
        ),
        st.tuples(st.binary(max_size=40), st.booleans()),
        max_size=6,
    )
)
def test_digest_follows_the_rule_for_any_files(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, tuple[bytes, bool]]
) -> None:
    root = tmp_path_factory.mktemp("digest")
    _write(root, files)

    assert compute_digest(str(root)).value == _by_the_rule(files)


def test_empty_folder_has_the_digest_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty" / "inside").mkdir(parents=True)

    assert compute_digest(str(tmp_path)).value == "sha256:" + hashlib.sha256().hexdigest()


@pytest.mark.parametrize("path", LEFT_OUT)
def test_left_out_paths_do_not_count(tmp_path: Path, path: str) -> None:
    _write(tmp_path, {"SKILL.md": (b"x", False)})
    before = compute_digest(str(tmp_path))

    _write(tmp_path, {path: (b"anything", True)})

    assert compute_digest(str(tmp_path)) == before


@pytest.mark.parametrize("path", [".gitignore", "git/config", "sub/.clawftx", ".env", "DS_Store", "pycache/x"])
def test_paths_that_only_look_like_left_out_ones_count(tmp_path: Path, path: str) -> None:
    _write(tmp_path, {"SKILL.md": (b"x", False)})
    before = compute_digest(str(tmp_path))

    _write(tmp_path, {path: (b"anything", False)})

    assert compute_digest(str(tmp_path)).value != before.value


def test_every_change_changes_the_digest(tmp_path: Path) -> None:
    _write(tmp_path, {"SKILL.md": (b"text", False), "run.sh": (b"echo", False)})
    seen = [compute_digest(str(tmp_path)).value]

    def changed() -> bool:
        seen.append(compute_digest(str(tmp_path)).value)
        return len(set(seen)) == len(seen)

    (tmp_path / "run.sh").chmod(0o744)
    assert changed()
    (tmp_path / "run.sh").rename(tmp_path / "ran.sh")
    assert changed()
    (tmp_path / "SKILL.md").write_bytes(b"texT")
    assert changed()
    (tmp_path / "sub").mkdir()
    (tmp_path / "ran.sh").rename(tmp_path / "sub" / "ran.sh")
    assert changed()
    (tmp_path / "new").touch()
    assert changed()


def test_a_file_that_the_caller_has_read_counts_by_the_bytes_it_read(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("before")
    (tmp_path / "run.sh").write_text("echo")
    before = compute_digest(str(tmp_path)).value
    contents = {str(tmp_path / "SKILL.md"): hash_content(b"before")}
    assert compute_digest(str(tmp_path), contents).value == before
    (tmp_path / "SKILL.md").write_text("afterwards")
    assert compute_digest(str(tmp_path), contents).value == before
    assert compute_digest(str(tmp_path)).value != before


def test_time_and_other_rights_do_not_change_the_digest(tmp_path: Path) -> None:
    _write(tmp_path, {"SKILL.md": (b"text", False), "run.sh": (b"echo", True)})
    before = compute_digest(str(tmp_path))

    os.utime(tmp_path / "SKILL.md", (1, 1))
    (tmp_path / "SKILL.md").chmod(0o600)
    (tmp_path / "run.sh").chmod(0o700)

    assert compute_digest(str(tmp_path)) == before


def test_links_and_special_files_are_reported_and_not_read(tmp_path: Path) -> None:
    root = tmp_path / "skill"
    _write(root, {"SKILL.md": (b"x", False)})
    plain = compute_digest(str(root)).value
    (tmp_path / "secret").write_text("outside")
    (root / "to-file").symlink_to(tmp_path / "secret")
    (root / "to-folder").symlink_to(tmp_path)
    (root / "dangling").symlink_to("nothing")
    os.mkfifo(root / "fifo")

    digest = compute_digest(str(root))

    assert digest.value == plain
    assert {(one.code, one.severity, Path(one.path).name) for one in digest.diagnostics} == {
        ("not-in-digest", "warning", name) for name in ("to-file", "to-folder", "dangling", "fifo")
    }


def test_folder_over_the_limit_has_no_digest_and_says_so(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(200 << 30)

    digest = compute_digest(str(tmp_path))

    assert digest.value == ""
    assert [one.code for one in digest.diagnostics] == ["digest-limit"]


def test_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    digest = compute_digest(str(tmp_path / "nothing"))

    assert [one.code for one in digest.diagnostics] == ["unreadable"]
