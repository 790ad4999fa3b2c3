"""A generation that takes over what was not touched is what reading everything would give."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.server.reload.generation import Generation, load_generation
from clawft.server.reload.live import compare_generations

NAMES = ("alpha", "beta", "gamma", "delta")


class Place:
    """A home and a project, and what is edited in them."""

    def __init__(self, folder: Path, config: str = "") -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.user = self.home / ".clawft"
        self.user.mkdir(parents=True)
        (self.project / ".clawft").mkdir(parents=True)
        (self.user / "config.toml").write_text(config)
        self.roots = [
            self.user / "skills",
            self.home / ".claude" / "skills",
            self.project / ".clawft" / "skills",
            self.home / ".claude" / "commands",
        ]
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}

    def first(self) -> Generation:
        return load_generation(Generation(0, open_app(self.environ, str(self.project)), ""), "")

    def list(self) -> dict[str, tuple[int, ...]]:
        found = {}
        for folder, folders, files in os.walk(self.home.parent):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                status = os.lstat(path)
                isdir = os.path.isdir(path) and not os.path.islink(path)
                found[path] = (status.st_ino, 0 if isdir else status.st_mtime_ns, status.st_mode)
        return {path: one for path, one in found.items() if not path.startswith(f"{self.user}/cache")}


def see(place: Place, edit: Callable[[], None]) -> set[str]:
    """What a watcher tells of an edit: of a folder that came or went just that."""
    before = place.list()
    edit()
    after = place.list()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return {path for path in changed if os.path.dirname(path) not in changed}


def write_skill(folder: Path, name: str, rng: random.Random) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    needs = '{"openclaw": {"requires": {"%s": ["%s"]}}}'
    head = rng.choice(
        (
            f"name: {name}\ndescription: Does {rng.randrange(100)}",
            f"name: {name}\ndescription: Needs\nversion: {rng.randrange(9)}.0\nmetadata: {needs % ('bins', 'no-such')}",
            f"name: {rng.choice(NAMES)}\ndescription: Another name",
            f"name: {name}\ndescription: Needs another\nmetadata: {needs % ('skills', rng.choice(NAMES))}",
            "name: [broken\n  yaml: {",
            f"name: {name}\ndescription: By hand\ndisable-model-invocation: true",
        )
    )
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\nDo it {rng.randrange(100)} times.\n")


def edit_at_random(place: Place, rng: random.Random) -> None:
    root = rng.choice(place.roots)
    group = rng.choice(("", "", "group", "group/deep"))
    name = rng.choice(NAMES)
    folder = root / group / name
    there = sorted(one.parent for root in place.roots for one in root.rglob("SKILL.md") if not one.parent.is_symlink())
    some = rng.choice(there) if there else folder
    match rng.randrange(12):
        case 0 | 1 | 2:
            write_skill(folder, name, rng)
        case 3:
            shutil.rmtree(some, ignore_errors=True)
        case 4 if some.exists():
            target = some.with_name(rng.choice(NAMES) + "-moved")
            if not target.exists():
                some.rename(target)
        case 5 if some.exists():  # as editors save
            (some / "new").write_text(f"---\nname: {some.name}\ndescription: Saved\n---\nSaved {rng.random()}.\n")
            os.replace(some / "new", some / "SKILL.md")
        case 6 if some.exists():
            (some / "scripts").mkdir(exist_ok=True)
            (some / "scripts" / "run.sh").write_text(f"echo {rng.random()}\n")
        case 7 if (some / "SKILL.md").exists():
            (some / "SKILL.md").unlink()
        case 8 if some.exists():
            (some / "agents").mkdir(exist_ok=True)
            text = f"interface:\n  short_description: {rng.choice(('Short', 'Shorter'))}\n"
            (some / "agents" / "openai.yaml").write_text(text)
        case 9:
            enabled = rng.choice(("true", "false"))
            text = f'[skills.entries.{name}]\nenabled = {enabled}\n[skills.load]\nextra_dirs = ["{place.home}/more"]\n'
            (place.user / "config.toml").write_text(rng.choice(("", text)))
        case 10 if there:
            link = root / f"{name}-link"
            link.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(link):
                link.symlink_to(rng.choice((some, some / "scripts", root / ".hidden")))
        case _:
            (place.home / ".claude" / "commands" / group).mkdir(parents=True, exist_ok=True)
            (place.home / ".claude" / "commands" / group / f"{name}.md").write_text(f"Say {rng.randrange(9)}.\n")


def edit_some(place: Place, rng: random.Random) -> None:
    for _ in range(rng.randrange(1, 4)):
        edit_at_random(place, rng)


def describe(generation: Generation) -> list[object]:
    app = generation.app
    skills = [(one.found.file, one.found.location, one.found.skill, one.state, one.reasons) for one in app.skills]
    return [skills, app.catalog.found, app.catalog.diagnostics, app.agents]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_taken_over_after_any_edits_is_what_would_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    if seed > 1:  # as if the edits were a while ago
        monkeypatch.setattr("clawft.skills.discovery.folder_cache.SETTLE_NS", 0)
        monkeypatch.setattr("clawft.scanner.fingerprint.SETTLE_NS", 0)
    place = Place(tmp_path, "" if seed % 2 else "[skills.security]\nscan_on_load = false\n")
    now = place.first()
    for _ in range(15):
        touched = see(place, lambda: edit_some(place, rng))
        by_touch, all_anew = load_generation(now, "", touched), load_generation(now, "")
        assert describe(by_touch) == describe(place.first()), touched
        assert compare_generations(now, by_touch) == compare_generations(now, all_anew), touched
        now = by_touch


def test_a_skill_that_did_not_change_stays_the_same_object(tmp_path: Path) -> None:
    place, rng = Place(tmp_path), random.Random(1)
    for name in NAMES:
        (place.user / "skills" / name).mkdir(parents=True)
        (place.user / "skills" / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does it\n---\nDo.\n")
    before = place.first()
    file = place.user / "skills" / "beta" / "SKILL.md"
    file.write_text(f"---\nname: beta\ndescription: Does {rng.random()}\n---\nDo.\n")
    for touched in ({str(file)}, None):
        after = load_generation(before, "", touched)
        pairs = zip(before.app.skills, after.app.skills, strict=True)
        assert [one.name for one, other in pairs if one.found is not other.found] == ["beta"]


def test_a_file_that_is_only_touched_changes_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write_skill(place.user / "skills" / "alpha", "alpha", random.Random(1))
    before = place.first()
    file = place.user / "skills" / "alpha" / "SKILL.md"
    os.utime(file)
    assert compare_generations(before, load_generation(before, "", {str(file)})) is None
    assert compare_generations(before, load_generation(before, "")) is None


def test_a_folder_that_becomes_a_link_is_followed_no_further_than_on_a_start(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write_skill(tmp_path / "elsewhere", "alpha", random.Random(1))
    folder = place.user / "skills" / "alpha"
    write_skill(folder, "alpha", random.Random(1))
    before = place.first()
    shutil.rmtree(folder)
    folder.symlink_to(tmp_path / "elsewhere")
    after = load_generation(before, "", {str(folder)})
    assert describe(after) == describe(place.first())
    assert "alpha" not in {one.name for one in after.app.skills}
