"""Versions of a registry's skills: seen before one installs, told when one was taken back."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hub_world import ServedHub, serve_hub

Weft = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[ServedHub]:
    """A hub with two versions of a skill, as the registry `team`."""
    folder = tmp_path / "home" / ".clawft"
    folder.mkdir(parents=True)
    with serve_hub(tmp_path / "served") as served:
        (folder / "config.toml").write_text(f'[registries.team]\nurl = "{served.url}"\ndefault = true\n')
        served.put("ann/notes", "1.0.0", changelog="The first.")
        served.put("ann/notes", "1.1.0", {"more.md": "More."}, changelog="Keeps\nmore.\u202e")
        yield served


def _json(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def yank(hub: ServedHub, version: str, reason: str) -> None:
    (skill,) = hub.store.find("notes", "ann")
    hub.store.yank(skill.id, version, reason)


def test_a_skill_of_a_registry_is_shown_with_its_versions(weft: Weft, hub: ServedHub) -> None:
    yank(hub, "1.0.0", "It loses notes")
    for name in ("@ann/notes", "team:notes", "team:@ann/notes"):
        shown = _json(weft("skills", "show", name, "--format", "json"))
        assert (shown["name"], shown["registry"], shown["latest"]) == ("@ann/notes", "team", "1.1.0")
        assert [(one["version"], one["changelog"], one["verdict"], one["yanked"]) for one in shown["versions"]] == [
            ("1.1.0", "Keeps more.", "clean", ""),
            ("1.0.0", "The first.", "clean", "It loses notes"),
        ]
    printed = weft("skills", "show", "@ann/notes").stdout
    assert "Install: weft skills install team:@ann/notes\n" in printed
    assert "yanked: It loses notes" in printed
    one = _json(weft("skills", "show", "@ann/notes@1.0.0", "--format", "json"))
    assert [release["version"] for release in one["versions"]] == ["1.0.0"]


def test_what_a_registry_does_not_have_is_said(weft: Weft, hub: ServedHub) -> None:
    assert "'team' has no skill '@bob/notes'" in weft("skills", "show", "@bob/notes").stderr
    missing = weft("skills", "show", "team:notes@7.0.0")
    assert missing.returncode == 1
    assert "There are: 1.1.0, 1.0.0" in missing.stderr
    hub.put("bob/notes")
    assert "@ann/notes, @bob/notes" in weft("skills", "show", "team:notes").stderr


def test_a_skill_whose_versions_are_all_taken_back_is_shown_too(weft: Weft, hub: ServedHub) -> None:
    yank(hub, "1.0.0", "It loses notes")
    yank(hub, "1.1.0", "")
    printed = weft("skills", "show", "@ann/notes").stdout
    assert "Latest: none is left to give" in printed
    assert "└ yanked\n" in printed


@pytest.mark.usefixtures("hub")
def test_a_bare_name_or_a_scope_asks_no_registry(weft: Weft, project: Path) -> None:
    folder = project / ".clawft" / "skills" / "mine"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: mine\ndescription: Mine. Use it for me.\n---\nDo.\n")
    assert "Skill: mine" in weft("skills", "show", "project:mine").stdout
    assert "error[skill-not-found]" in weft("skills", "show", "notes").stderr


def test_why_a_version_was_taken_back_reaches_those_who_have_it(weft: Weft, hub: ServedHub) -> None:
    assert weft("skills", "install", "@ann/notes@1.0.0", "--yes").returncode == 0
    yank(hub, "1.0.0", "It loses notes")
    audited = weft("skills", "audit")
    assert "Its registry took this version back: It loses notes" in audited.stdout + audited.stderr
    assert weft("skills", "remove", "notes", "--yes").returncode == 0
    again = weft("skills", "install", "@ann/notes@1.0.0", "--yes")
    assert "notes 1.0.0 was taken back by who published it: It loses notes" in again.stderr
    yank(hub, "1.0.0", "")
    audited = weft("skills", "audit")
    assert "took this version back\n" in audited.stdout + audited.stderr


@pytest.mark.usefixtures("hub")
def test_an_update_says_what_is_new(weft: Weft) -> None:
    assert weft("skills", "install", "@ann/notes@1.0.0", "--yes").returncode == 0
    told = weft("skills", "update", "notes", "--dry-run")
    assert "Changelog: Keeps more.\n" in told.stderr


def test_a_skill_of_a_site_whose_name_a_second_owner_took_is_told_by_both_addresses(weft: Weft, hub: ServedHub) -> None:
    assert weft("skills", "install", hub.url, "--skill", "notes", "--yes").returncode == 0
    hub.put("bob/notes")
    told = weft("skills", "update", "notes")
    assert "by that name alone: several owners have it" in told.stderr
    assert f"Install it by its own address: {hub.url}/@ann/notes, {hub.url}/@bob/notes" in told.stderr
    done = weft("skills", "install", f"{hub.url}/@ann/notes", "--force", "--dry-run")
    assert done.returncode == 0, done.stderr
