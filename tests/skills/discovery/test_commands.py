"""Claude's `.claude/commands`: where they are found, what comes first, the cache, and hostile files."""

import os
import time
from pathlib import Path

import pytest

from clawft.config import SkillsSettings
from clawft.skills.discovery import Catalog, Location, explicit_locations, load_catalog, load_prompt, skill_locations
from clawft.skills.discovery.digest import compute_digest, list_files
from clawft.skills.discovery.requirements import LocalMachine
from clawft.trust.status import judge_skills
from clawft.workspace import Workspace, find_workspace
from effort import within

LIMIT = 32 * 1024
TEXT = "---\ndescription: {0}\n---\n\nDo {0} to $1.\n"


def _workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".clawft").mkdir(parents=True)
    return find_workspace({"HOME": str(tmp_path / "home")}, str(tmp_path / "project"))


def _write(path: Path, text: str = TEXT.format("it")) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _load(root: Path, cache: Path | None = None) -> Catalog:
    location = Location("project", ".claude/commands", str(root), "commands")
    return load_catalog([location], max_prompt_bytes=LIMIT, cache_dir=str(cache) if cache else None)


def _names(catalog: Catalog) -> list[tuple[str, str]]:
    return [(one.name, one.problem.code if one.problem else "") for one in catalog.found]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock an hour ahead: what changed within the last moments is not cached, and tests do not wait."""
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + 3600 * 10**9)


def test_commands_of_project_and_user_are_found_below_the_skills(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    _write(tmp_path / "project/.claude/commands/review.md", TEXT.format("project"))
    _write(tmp_path / "home/.claude/commands/git/commit.md", TEXT.format("user"))
    _write(tmp_path / "home/.claude/skills/review/SKILL.md", "---\nname: review\ndescription: skill\n---\n\nx\n")

    catalog = load_catalog(skill_locations(workspace, SkillsSettings()), max_prompt_bytes=LIMIT)
    mine = [
        one
        for one in judge_skills(catalog, SkillsSettings(), LocalMachine("linux", {}, {}))
        if one.found.location.scope != "bundled"
    ]

    assert [(one.name, one.found.location.layer, one.state) for one in mine] == [
        ("review", ".claude/skills", "ready"),
        ("review", ".claude/commands", "shadowed"),
        ("git-commit", ".claude/commands", "ready"),
    ]


def test_commands_come_before_what_is_bundled(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)

    scopes = [(one.scope, one.kind) for one in skill_locations(workspace, SkillsSettings())]

    assert scopes.index(("user", "commands")) < scopes.index(("bundled", "skills"))
    assert scopes.index(("user", "skills")) < scopes.index(("project", "commands"))


def test_named_folder_may_be_a_project_or_the_commands_themselves(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    commands = _write(tmp_path / "other/.claude/commands/review.md").parent

    for folder in (tmp_path / "other", commands):
        catalog = load_catalog(explicit_locations([str(folder)], workspace), max_prompt_bytes=LIMIT)
        assert _names(catalog) == [("review", "")]


def test_files_in_folders_are_found_in_order_and_documents_are_not(tmp_path: Path) -> None:
    for name in ("b.md", "a/deep/er.md", "README.md", "notes.txt", ".hidden.md", "node_modules/x.md", "c.MD"):
        _write(tmp_path / name)

    assert _names(_load(tmp_path)) == [("a-deep-er", ""), ("b", "")]


def test_prompt_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    file = _write(tmp_path / "review.md")
    (found,) = _load(tmp_path).found
    file.write_text(TEXT.format("that"))

    assert found.skill is not None
    assert found.skill.prompt is None
    assert load_prompt(found, LIMIT).prompt == "Do that to $1."
    assert (found.folder, found.file, found.base_dir) == (str(file), str(file), "")


def test_unchanged_commands_come_from_the_cache_and_changed_ones_do_not(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "commands", tmp_path / "cache"
    for name in ("git/kept", "edited", "gone"):
        _write(root / f"{name}.md")
    fresh = _load(root)
    assert _load(root, cache) == fresh
    _write(root / "edited.md", TEXT.format("something longer"))
    (root / "gone.md").unlink()

    edited, kept = _load(root, cache).found

    assert type(kept.content) is bytes
    assert kept in fresh.found
    assert edited.skill is not None
    assert edited.skill.description == "something longer"


def test_what_changed_a_moment_ago_is_read_again(tmp_path: Path) -> None:
    root, cache = tmp_path / "commands", tmp_path / "cache"
    _write(root / "review.md")
    _load(root, cache)

    (found,) = _load(root, cache).found

    assert type(found.content) is not bytes


def test_broken_commands_keep_their_names_and_hide_no_other(tmp_path: Path) -> None:
    _write(tmp_path / "bad.md", "---\ndescription: d\n")
    _write(tmp_path / "git/two words.md")
    _write(tmp_path / "good.md")
    (tmp_path / "nul.md").write_bytes(b"a\0b")

    assert _names(_load(tmp_path)) == [
        ("bad", "frontmatter-unterminated"),
        ("git-two words", "folder-name"),
        ("good", ""),
        ("nul", "not-text"),
    ]


def test_hostile_files_are_refused_at_once(tmp_path: Path) -> None:
    root, outside = tmp_path / "commands", tmp_path / "outside"
    _write(outside / "secret.md")
    root.mkdir()
    os.mkfifo(root / "fifo.md")
    (root / "dangling.md").symlink_to(root / "nothing")
    (root / "device.md").symlink_to("/dev/zero")
    (root / "linked.md").symlink_to(outside / "secret.md")
    (root / "folder").symlink_to(outside)
    (root / "loop").symlink_to(root)
    with (root / "huge.md").open("wb") as file:
        file.truncate(200 << 30)
    with within(2):
        catalog = _load(root)
    assert dict(_names(catalog)) == {
        "dangling": "unreadable",
        "device": "link-leaves-root",
        "fifo": "not-a-file",
        "huge": "file-too-large",
        "linked": "link-leaves-root",
    }
    assert [(one.code, one.path) for one in catalog.diagnostics] == [("link-leaves-root", str(root / "folder"))]


def test_folders_are_searched_to_a_depth_and_that_is_said(tmp_path: Path) -> None:
    _write(tmp_path / "1/2/3/4/in.md")
    _write(tmp_path / "1/2/3/4/5/out.md")

    catalog = _load(tmp_path)

    assert _names(catalog) == [("1-2-3-4-in", "")]
    assert [one.code for one in catalog.diagnostics] == ["depth-limit"]


def test_more_commands_than_anybody_writes_are_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.skills.discovery.commands.MAX_FILES", 2)
    for name in "abcd":
        _write(tmp_path / f"{name}.md")

    catalog = _load(tmp_path)

    assert _names(catalog) == [("a", ""), ("b", "")]
    assert [one.code for one in catalog.diagnostics] == ["too-many-folders"]


def test_digest_of_a_command_is_that_of_its_file_alone(tmp_path: Path) -> None:
    file = _write(tmp_path / "review.md")
    before = compute_digest(str(file))
    _write(tmp_path / "other.md")

    assert before.value.startswith("sha256:")
    assert compute_digest(str(file)) == before
    assert list_files(str(file)) == ()
    file.write_text("changed")
    assert compute_digest(str(file)).value != before.value


def test_linked_command_has_no_digest(tmp_path: Path) -> None:
    _write(tmp_path / "real.md")
    (tmp_path / "linked.md").symlink_to("real.md")

    digest = compute_digest(str(tmp_path / "linked.md"))

    assert (digest.value, [one.code for one in digest.diagnostics]) == ("", ["not-in-digest"])


def test_command_that_cannot_be_cached_is_read_each_time(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "commands", tmp_path / "cache"
    _write(root / "odd.md", f"---\ndescription: d\nodd: {10**30}\n---\nDo it.\n")

    assert _load(root, cache) == _load(root, cache) == _load(root)
