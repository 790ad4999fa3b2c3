"""The cache is an accelerator only: whatever is in it, the catalog is what the disk says."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawft import __version__
from clawft.skills.discovery import Catalog, Location, load_catalog

LIMIT = 32 * 1024
HOUR_NS = 3600 * 10**9


def _load(root: Path, cache: Path | None, limit: int = LIMIT) -> Catalog:
    return load_catalog(
        [Location("project", "skills", str(root))],
        max_prompt_bytes=limit,
        cache_dir=str(cache) if cache else None,
    )


def _values(catalog: Catalog) -> tuple[object, ...]:
    """All there is to a catalog, as plain values."""
    found = [(one.location, one.folder, one.file, one.name, one.skill, one.problem) for one in catalog.found]
    return (*found, catalog.diagnostics)


def _describe(catalog: Catalog) -> dict[str, str]:
    return {one.name: one.skill.description if one.skill else "(broken)" for one in catalog.found}


def _write(path: Path, text: str, *, like: os.stat_result | None = None) -> None:
    """Write a file so that its status differs from before; `like` keeps the time of modification.

    The kernel's clock ticks in milliseconds, so writing again soon gives another status.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat().st_ctime_ns if path.exists() else 0
    while not path.exists() or path.stat().st_ctime_ns == before:
        path.write_text(text)
        if like:
            os.utime(path, ns=(like.st_atime_ns, like.st_mtime_ns))


def _make_tree(root: Path) -> None:
    """A folder with skills of every kind."""
    plain = "---\nname: {0}\ndescription: Says {0}.\n---\n\nBody of {0}.\n"
    for name in ("alpha", "beta", "gamma"):
        _write(root / name / "SKILL.md", plain.format(name))
    _write(
        root / "needy" / "SKILL.md",
        "---\nname: needy\ndescription: Has all fields.\nversion: 2.1.0\nallowed-tools: Read, Bash(git:*)\n"
        'metadata: {"openclaw": {"emoji": "📡", "requires": {"bins": ["x"], "env": ["Y"]}, '
        '"install": [{"kind": "brew", "formula": "x", "bins": ["x"]}]}, "count": 3}\n'
        "tools: [web_search, {name: t, description: d, parameters: {type: object}}]\n"
        "odd: [1, 2.5, null, true]\n---\n\nBody\n",
    )
    _write(root / "odd" / "SKILL.md", "---\nname: Odd One\ndescription: Colons: everywhere\n---\n\nBody\n")
    _write(root / "broken" / "SKILL.md", "---\nname: broken\n")
    _write(root / "bare" / "skill.md", "No frontmatter here.\n")
    _write(root / "legacy" / "skill.json", '{"name": "legacy", "description": "Old."}')
    _write(root / "legacy" / "prompt.md", "Old prompt.")
    _write(root / "long" / "SKILL.md", plain.format("long") + "x" * 40_000)
    _write(root / "codex" / "SKILL.md", plain.format("codex"))
    _write(root / "codex" / "agents" / "openai.yaml", "interface:\n  display_name: Code X\n")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock an hour ahead: what changed within the last moments is not cached, and tests do not wait."""
    now_ns, now = time.time_ns, time.time
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + HOUR_NS)
    monkeypatch.setattr(time, "time", lambda: now() + 3600)


def test_catalog_is_the_same_without_with_a_cold_and_with_a_warm_cache(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _make_tree(root)

    without = _load(root, None)

    assert len(without.found) == 10
    assert _values(_load(root, cache)) == _values(without)
    assert any(cache.iterdir())
    assert _values(_load(root, cache)) == _values(without)
    assert _load(root, cache) == without


def test_warm_cache_opens_no_skill_file(tmp_path: Path, child_env: dict[str, str]) -> None:
    """On the bundled skills, which have rested long enough to be cached."""
    script = """
import os, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
from clawft.config import SkillsSettings
from clawft.skills.discovery import load_catalog, skill_locations
from clawft.workspace import find_workspace
locations = skill_locations(find_workspace({"HOME": sys.argv[1]}, sys.argv[1]), SkillsSettings())
catalog = load_catalog(locations, max_prompt_bytes=32768, cache_dir=sys.argv[1] + "/cache")
print(len(catalog.found), sum(path.endswith("SKILL.md") and os.path.exists(path) for path in opened))
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    runs = [
        subprocess.run(command, env=child_env, capture_output=True, text=True, timeout=60, check=True).stdout.split()
        for _ in range(2)
    ]

    (cold_found, cold_opened), (warm_found, warm_opened) = runs
    assert cold_found == warm_found
    assert int(cold_opened) >= int(cold_found) > 0
    assert warm_opened == "0"


def test_edit_right_after_reading_is_noticed_though_time_and_size_stay(tmp_path: Path) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _write(root / "one" / "SKILL.md", "---\nname: one\ndescription: before\n---\n")
    status = (root / "one" / "SKILL.md").stat()
    assert _describe(_load(root, cache)) == {"one": "before"}

    (root / "one" / "SKILL.md").write_text("---\nname: one\ndescription: after!\n---\n")
    os.utime(root / "one" / "SKILL.md", ns=(status.st_atime_ns, status.st_mtime_ns))

    assert _describe(_load(root, cache)) == {"one": "after!"}


def test_edit_that_keeps_the_size_is_noticed(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _write(root / "one" / "SKILL.md", "---\nname: one\ndescription: before\n---\n")
    _load(root, cache)

    _write(root / "one" / "SKILL.md", "---\nname: one\ndescription: after!\n---\n")

    assert _describe(_load(root, cache)) == {"one": "after!"}


def test_edit_that_keeps_size_and_time_is_noticed(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    file = root / "one" / "SKILL.md"
    _write(file, "---\nname: one\ndescription: before\n---\n")
    _load(root, cache)
    before = file.stat()

    _write(file, "---\nname: one\ndescription: after!\n---\n", like=before)

    assert (file.stat().st_mtime_ns, file.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert _describe(_load(root, cache)) == {"one": "after!"}


def test_file_put_in_the_place_of_another_is_noticed(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    file = root / "one" / "SKILL.md"
    _write(file, "---\nname: one\ndescription: before\n---\n")
    _load(root, cache)
    _write(tmp_path / "new", "---\nname: one\ndescription: after!\n---\n", like=file.stat())

    os.replace(tmp_path / "new", file)

    assert _describe(_load(root, cache)) == {"one": "after!"}


def test_added_removed_and_renamed_skills_are_noticed(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    for name in ("stays", "goes", "old-name"):
        _write(root / name / "SKILL.md", f"---\ndescription: {name}\n---\n\nB\n")
    _load(root, cache)

    shutil.rmtree(root / "goes")
    (root / "old-name").rename(root / "new-name")
    _write(root / "comes" / "SKILL.md", "---\ndescription: comes\n---\n\nB\n")

    expected = {"stays": "stays", "new-name": "old-name", "comes": "comes"}
    assert _describe(_load(root, cache)) == expected
    assert _describe(_load(root, cache)) == expected


def test_skill_that_appears_above_others_hides_them(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _write(root / "group" / "inner" / "SKILL.md", "---\nname: inner\ndescription: d\n---\n")
    _load(root, cache)

    _write(root / "group" / "SKILL.md", "---\nname: group\ndescription: d\n---\n")
    assert list(_describe(_load(root, cache))) == ["group"]

    (root / "group" / "SKILL.md").unlink()
    assert list(_describe(_load(root, cache))) == ["inner"]


def test_skill_that_breaks_and_is_mended_is_noticed(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    file = root / "one" / "SKILL.md"
    sound = "---\nname: one\ndescription: sound\n---\n"
    _write(file, sound)
    _load(root, cache)

    _write(file, sound[:-5])
    assert _describe(_load(root, cache)) == {"one": "(broken)"}

    _write(file, sound)
    assert _describe(_load(root, cache)) == {"one": "sound"}


def test_skill_md_that_becomes_a_link_out_of_the_root_is_noticed(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    file = root / "one" / "SKILL.md"
    _write(file, "---\nname: one\ndescription: d\n---\n")
    _load(root, cache)

    file.rename(tmp_path / "outside.md")
    file.symlink_to(tmp_path / "outside.md")

    assert _describe(_load(root, cache)) == {"one": "(broken)"}


def test_legacy_prompt_changed_later_is_noticed(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _write(root / "old" / "skill.json", '{"name": "old"}')
    _write(root / "old" / "prompt.md", "First words.")
    assert _describe(_load(root, cache)) == {"old": "First words."}

    _write(root / "old" / "prompt.md", "Other words.")
    assert _describe(_load(root, cache)) == {"old": "Other words."}

    (root / "old" / "prompt.md").unlink()
    assert _describe(_load(root, cache)) == {"old": ""}


def test_other_limit_of_the_prompt_is_heeded(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _write(root / "long" / "SKILL.md", "---\nname: long\ndescription: d\n---\n\n" + "x" * 2000)
    _load(root, cache, limit=4000)

    assert _values(_load(root, cache, limit=1000)) == _values(_load(root, None, limit=1000))
    assert _values(_load(root, cache, limit=4000)) == _values(_load(root, None, limit=4000))


def test_two_folders_share_a_cache_without_mixing(tmp_path: Path, later: None) -> None:
    cache = tmp_path / "cache"
    for root in ("left", "right"):
        _write(tmp_path / root / "same" / "SKILL.md", f"---\nname: same\ndescription: {root}\n---\n")

    for _ in range(2):
        for root in ("left", "right"):
            assert _describe(_load(tmp_path / root, cache)) == {"same": root}


def _garbage(data: bytes) -> bytes:
    return b"\xc1 this is no cache \x00\xff" * 3


def _nothing(data: bytes) -> bytes:
    return b""


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _all_but_one(data: bytes) -> bytes:
    return data[:-1]


def _longer(data: bytes) -> bytes:
    return data + b"\x00"


def _other_version_with_other_words(data: bytes) -> bytes:
    return data.replace(__version__.encode(), b"9.9.9").replace(b"Says", b"Lies")


@pytest.mark.parametrize("spoil", [_garbage, _nothing, _half, _all_but_one, _longer, _other_version_with_other_words])
def test_spoilt_cache_changes_nothing_and_is_replaced(
    tmp_path: Path, later: None, spoil: Callable[[bytes], bytes]
) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _make_tree(root)
    expected = _values(_load(root, cache))

    for file in cache.iterdir():
        file.write_bytes(spoil(file.read_bytes()))

    assert _values(_load(root, cache)) == expected
    assert _values(_load(root, cache)) == expected


def test_any_bytes_in_the_cache_change_nothing(tmp_path: Path) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _make_tree(root)
    expected = _values(_load(root, None))
    _load(root, cache)
    files = list(cache.iterdir())
    assert files

    @settings(suppress_health_check=[HealthCheck.differing_executors])
    @given(st.binary(max_size=200))
    def check(data: bytes) -> None:
        for file in files:
            file.write_bytes(data)
        assert _values(_load(root, cache)) == expected

    check()


def test_any_one_byte_changed_in_the_cache_changes_nothing(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _make_tree(root)
    expected = _values(_load(root, cache))
    (file,) = cache.iterdir()
    sound = file.read_bytes()

    @settings(suppress_health_check=[HealthCheck.differing_executors])
    @given(st.integers(0, len(sound) - 1), st.integers(1, 255))
    def check(position: int, change: int) -> None:
        file.write_bytes(sound[:position] + bytes([sound[position] ^ change]) + sound[position + 1 :])
        assert _values(_load(root, cache)) == expected

    check()


def test_deleted_cache_is_made_again(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _make_tree(root)
    expected = _values(_load(root, cache))

    shutil.rmtree(cache)

    assert _values(_load(root, cache)) == expected
    assert any(cache.iterdir())


def test_cache_that_cannot_be_written_changes_nothing(tmp_path: Path, later: None) -> None:
    root = tmp_path / "skills"
    _make_tree(root)
    (tmp_path / "file").write_text("in the place of the folder")

    expected = _values(_load(root, None))
    assert _values(_load(root, tmp_path / "file")) == expected
    assert _values(_load(root, tmp_path / "file" / "below")) == expected
    assert (tmp_path / "file").read_text() == "in the place of the folder"


def test_folders_in_the_place_of_cache_files_change_nothing(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "cache"
    _make_tree(root)
    expected = _values(_load(root, cache))

    for file in list(cache.iterdir()):
        file.unlink()
        (file / "full").mkdir(parents=True)

    assert _values(_load(root, cache)) == expected


def test_cache_is_for_its_owner_alone(tmp_path: Path, later: None) -> None:
    root, cache = tmp_path / "skills", tmp_path / "user" / "cache"
    _make_tree(root)

    _load(root, cache)

    assert cache.stat().st_mode & 0o077 == 0


def test_caches_of_places_searched_once_do_not_pile_up(
    tmp_path: Path, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setattr("clawft.skills.discovery.folder_cache.MAX_FILES", 64)
    for number in range(100):
        _write(tmp_path / f"root-{number}" / "one" / "SKILL.md", "---\nname: one\ndescription: d\n---\n")
        _load(tmp_path / f"root-{number}", cache)

    assert len(list(cache.iterdir())) == 64


def test_processes_that_write_the_cache_at_once_all_see_the_same(tmp_path: Path, child_env: dict[str, str]) -> None:
    root = tmp_path / "project" / "skills"
    _make_tree(root)
    command = ["weft", "skills", "list", "--format", "json"]

    runs = [
        subprocess.Popen(command, cwd=root.parent, env=child_env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    answers = [run.communicate(timeout=60) for run in runs]

    assert [run.returncode for run in runs] == [0] * 6
    assert len(set(answers)) == 1
    assert b'"needy"' in answers[0][0]
    again = subprocess.run(command, cwd=root.parent, env=child_env, capture_output=True, timeout=60, check=True)
    assert again.stdout == answers[0][0]
    cache = Path(child_env["HOME"]) / ".clawft" / "cache"
    assert not list(cache.glob("*.tmp"))
