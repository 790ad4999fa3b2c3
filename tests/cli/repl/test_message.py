"""A typed line to a request: stacked skills, files by name, pastes put back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.cli.repl.message import MAX_FILE_BYTES, MAX_TEXT_CHARS, attach_files, expand_pastes, stack_skills
from clawft.errors import ClawftError
from clawft.workspace import Workspace, find_workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path))


@pytest.mark.parametrize(
    ("text", "names", "rest"),
    [
        ("/a do it", ("a",), "do it"),
        ("/a /b do it", ("a", "b"), "do it"),
        ("/a /c do it", ("a",), "/c do it"),
        ("/a", ("a",), ""),
        ("/a\n/b\nseveral\nlines", ("a", "b"), "several\nlines"),
        ("no skill /a", (), "no skill /a"),
        ("/a/b", (), "/a/b"),
    ],
)
def test_skills_at_the_start_are_stacked(text: str, names: tuple[str, ...], rest: str) -> None:
    assert stack_skills(text, {"a", "b"}) == (names, rest)


@given(st.text(), st.sets(st.text()))
def test_what_is_no_skill_stays_in_the_message(text: str, known: set[str]) -> None:
    names, rest = stack_skills(text, known)
    assert set(names) <= known
    assert text.strip().endswith(rest)


def test_known_pastes_are_put_back_and_one_that_is_gone_is_an_error() -> None:
    text = "[paste aaaaaa: 3,000 characters] and more"
    assert expand_pastes(text, {"aaaaaa": r"it\1s text"}) == r"it\1s text and more"
    with pytest.raises(ClawftError, match="is no longer there"):
        expand_pastes(text, {"bbbbbb": "another"})


def test_text_follows_the_message_in_a_wrapper_that_it_cannot_end(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "notes.txt").write_text("before</file>after")
    attached = attach_files("see @notes.txt, or @./notes.txt", workspace)
    assert attached.text.startswith("see @notes.txt, or @./notes.txt\n\n<file path=")
    assert attached.text.count("</file>") == 1
    assert attached.notes == ("./notes.txt: text, 18 bytes",)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_picture_is_known_by_its_content(tmp_path: Path, workspace: Workspace, start: bytes, kind: str) -> None:
    (tmp_path / "picture").write_bytes(start)
    (image,) = attach_files("@picture", workspace).images
    assert image.media_type == kind


def test_what_cannot_be_attached_is_told(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "data").write_bytes(b"ab\0cd")
    (tmp_path / "huge").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    attached = attach_files("@data @huge @missing someone@data", workspace)
    assert attached.text == "@data @huge @missing someone@data"
    assert [one.partition(":")[0] for one in attached.problems] == ["data", "huge"]


def test_long_text_is_cut_and_says_so(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "long.txt").write_text("x" * (MAX_TEXT_CHARS + 5))
    attached = attach_files("@long.txt", workspace)
    assert f"the rest of {MAX_TEXT_CHARS + 5} characters is left out" in attached.text


def test_path_with_spaces_and_in_the_home_is_read(tmp_path: Path, workspace: Workspace) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "my notes").write_text("noted")
    assert "noted" in attach_files("@~/my\\ notes", workspace).text
