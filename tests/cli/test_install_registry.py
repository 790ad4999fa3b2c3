"""Skills from a hub on this machine: installed exactly, updated with what changes shown, never gone back silently."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clawft.install.lockfile.file import load_lock
from clawft.install.lockfile.model import LockedSkill
from hub_world import ServedHub, serve_hub

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def hub(tmp_path: Path, home: Path) -> Iterator[ServedHub]:
    """A hub, which is the default registry of the user."""
    (home / ".clawft").mkdir(parents=True)
    with serve_hub(tmp_path / "served") as served:
        config = f'[registries.acme]\nurl = "{served.url}"\ndefault = true\n'
        (home / ".clawft" / "config.toml").write_text(config)
        yield served


def locked(home: Path, name: str) -> LockedSkill:
    return load_lock(str(home / ".clawft" / "skills.lock"))[name]


def outdated(weft: Weft) -> dict[str, dict[str, Any]]:
    told = json.loads(weft("skills", "list", "--outdated", "--format", "json").stdout)
    return {one["name"]: one for one in told["skills"]}


def test_a_version_of_a_registry_is_installed_and_locked_exactly(weft: Weft, home: Path, hub: ServedHub) -> None:
    hub.put("jo/notes", "1.0.0")
    hub.put("jo/notes", "1.1.0", {"more.md": "More."})
    done = weft("skills", "install", "@jo/notes@1.0.0", "--yes", "--to", "all")
    assert done.returncode == 0, done.stderr
    entry = locked(home, "notes")
    assert (entry.version, entry.origin.owner, len(entry.archive)) == ("1.0.0", "jo", 64)
    note = json.loads((home / ".openclaw" / "skills" / "notes" / ".clawhub" / "origin.json").read_text())
    assert (note["slug"], note["installedVersion"]) == ("notes", "1.0.0")
    assert "notes" in json.loads((home / ".openclaw" / ".clawhub" / "lock.json").read_text())["skills"]
    assert weft("skills", "verify").returncode == 0
    assert outdated(weft)["notes"]["newest"] == "1.1.0"
    assert "weft skills update notes" in weft("skills", "list", "--outdated").stderr
    (home / ".clawft" / "skills" / "notes" / "SKILL.md").write_text("changed")
    edited = weft("skills", "update", "notes", "--yes")
    assert (edited.returncode, "skill-edited" in edited.stderr) == (3, True)
    assert weft("skills", "sync", "--yes").returncode == 0
    assert weft("skills", "update", "notes", "--yes").returncode == 0
    assert locked(home, "notes").version == "1.1.0"
    assert outdated(weft) == {}
    (home / ".clawft" / "skills" / "notes" / "SKILL.md").write_text("changed")
    tampered = weft("skills", "update", "notes", "--yes")  # though there is nothing newer
    assert (tampered.returncode, "skill-edited" in tampered.stderr) == (3, True)
    assert weft("skills", "update", "notes", "--yes", "--force").returncode == 0
    assert weft("skills", "verify").returncode == 0
    assert weft("skills", "remove", "notes", "--yes").returncode == 0
    assert json.loads((home / ".openclaw" / ".clawhub" / "lock.json").read_text())["skills"] == {}


def test_what_is_restored_for_another_client_says_of_itself_what_it_said(
    weft: Weft, home: Path, hub: ServedHub
) -> None:
    hub.put("jo/notes", "1.0.0")
    assert weft("skills", "install", "@jo/notes", "--yes", "--to", "openclaw").returncode == 0
    folder = home / ".openclaw" / "skills" / "notes"
    before = (folder / ".clawhub" / "origin.json").read_bytes()
    shutil.rmtree(folder)
    assert weft("skills", "sync", "--frozen").returncode == 0
    assert (folder / ".clawhub" / "origin.json").read_bytes() == before
    lock = (home / ".openclaw" / ".clawhub" / "lock.json").read_bytes()
    assert weft("skills", "install", "@jo/notes", "--yes", "--to", "openclaw").returncode == 0
    assert (home / ".openclaw" / ".clawhub" / "lock.json").read_bytes() == lock


def test_a_name_that_several_owners_have_is_an_error_that_lists_them(weft: Weft, home: Path, hub: ServedHub) -> None:
    hub.put("jo/notes")
    hub.put("kim/notes")
    done = weft("skills", "install", "notes", "--yes")
    assert done.returncode == 1
    assert "@jo/notes" in done.stderr
    assert "@kim/notes" in done.stderr
    assert weft("skills", "install", "@kim/notes", "--yes").returncode == 0
    assert locked(home, "notes").origin.owner == "kim"


def test_an_older_version_is_not_gone_back_to_silently(weft: Weft, home: Path, hub: ServedHub) -> None:
    hub.put("jo/notes", "1.0.0")
    newest = hub.put("jo/notes", "2.0.0", {"more.md": "More."})
    assert weft("skills", "install", "@jo/notes", "--yes").returncode == 0
    hub.store.yank(newest.skill, "2.0.0", "it was worse")
    done = weft("skills", "update", "notes", "--yes")
    assert "update-older" in done.stderr
    assert locked(home, "notes").version == "2.0.0"
    assert weft("skills", "update", "notes", "--yes", "--force").returncode == 0
    assert locked(home, "notes").version == "1.0.0"


def test_what_a_held_skill_misses_is_listed_and_not_taken(weft: Weft, home: Path, hub: ServedHub) -> None:
    hub.put("jo/notes", "1.0.0")
    weft("skills", "install", "@jo/notes", "--yes")
    weft("skills", "pin", "notes", "--version", "--reason", "enough")
    hub.put("jo/notes", "1.1.0", {"more.md": "More."})
    assert outdated(weft)["notes"]["pinned"] == "enough"
    assert weft("skills", "update", "--all", "--yes").returncode == 0
    assert locked(home, "notes").version == "1.0.0"


def test_a_registry_that_does_not_answer_is_told_and_changes_nothing(weft: Weft, home: Path, tmp_path: Path) -> None:
    (home / ".clawft").mkdir(parents=True)
    with serve_hub(tmp_path / "served") as served:
        served.put("jo/notes")
        served.put("jo/tides")
        config = f'[registries.acme]\nurl = "{served.url}"\ndefault = true\n'
        (home / ".clawft" / "config.toml").write_text(config)
        assert weft("skills", "install", "@jo/notes", "@jo/tides", "--yes").returncode == 0
    done = weft("skills", "list", "--outdated")
    assert (done.returncode, done.stderr.count("error[")) == (1, 1)
    assert f"notes, tides could not be looked for: 'acme' ({served.url}) does not answer" in done.stderr
    assert weft("skills", "update", "--all", "--yes").returncode == 1
    assert weft("skills", "verify").returncode == 0


def test_another_owners_skill_does_not_take_the_place_of_one_that_is_installed(
    weft: Weft, home: Path, hub: ServedHub
) -> None:
    hub.put("jo/notes")
    hub.put("kim/notes", "9.0.0", {"more.md": "More."})
    weft("skills", "install", "@jo/notes", "--yes")
    refused = weft("skills", "install", "@kim/notes", "--yes")
    assert (refused.returncode, "install-source" in refused.stderr) == (3, True)
    assert locked(home, "notes").origin.owner == "jo"
    assert weft("skills", "install", "@kim/notes", "--yes", "--force").returncode == 0
    assert locked(home, "notes").origin.owner == "kim"


def test_the_list_of_newer_versions_is_a_table(weft: Weft, hub: ServedHub) -> None:
    assert "installed no skills" in weft("skills", "list", "--outdated").stderr
    hub.put("jo/notes", "1.0.0")
    weft("skills", "install", "notes", "--registry", "acme", "--yes")
    hub.put("jo/notes", "1.1.0", {"more.md": "More."})
    listed = weft("skills", "list", "--outdated").stdout.splitlines()
    assert listed[0].split() == ["NAME", "INSTALLED", "NEWEST", "REGISTRY", "SCOPE"]
    assert listed[1].split()[:3] == ["notes", "1.0.0", "1.1.0"]
