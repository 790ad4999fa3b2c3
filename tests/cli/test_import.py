"""`weft skills sync --import`: what other installers brought is taken into our lock, if it is still what it was."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clawft.install.archive.hashes import fingerprint_folder, vercel_folder_hash
from clawft.install.lockfile.file import load_lock
from scripted_site import ScriptedRegistry, ScriptedSite

Weft = Callable[..., subprocess.CompletedProcess[str]]
TEXT = b"---\nname: tool\ndescription: Keeps notes\n---\nWrite a note.\n"


@pytest.fixture
def hub(own: Path) -> Iterator[ScriptedRegistry]:
    with ScriptedSite() as site:
        (own.parent / "config.toml").write_text(f'[registries.hub]\nurl = "{site.url}"\ndefault = true\n')
        registry = ScriptedRegistry(site)
        registry.publish("acme", "tool", "1.0.0", {"SKILL.md": TEXT})
        registry.publish("acme", "tool", "2.0.0", {"SKILL.md": TEXT + b"More.\n"})
        yield registry


@pytest.fixture
def tool(project: Path, hub: ScriptedRegistry) -> Path:
    """A skill as the `clawhub` command leaves it: with what the registry adds, and without our lock."""
    folder = project / "skills" / "tool"
    (folder / ".clawhub").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(TEXT)
    (folder / "_meta.json").write_text("{}")
    origin = {
        "version": 1,
        "registry": hub.site.url,
        "slug": "tool",
        "ownerHandle": "acme",
        "installedVersion": "1.0.0",
    }
    origin |= {"installedAt": 1, "fingerprint": fingerprint_folder(str(folder))}
    (folder / ".clawhub" / "origin.json").write_text(json.dumps(origin))
    (project / ".clawhub").mkdir()
    lock = {"version": 1, "skills": {"tool": {"version": "1.0.0", "installedAt": 1, "later": "x"}}}
    (project / ".clawhub" / "lock.json").write_text(json.dumps(lock))
    return folder


def test_what_clawhub_installed_is_taken_over_at_its_version(weft: Weft, tool: Path, project: Path) -> None:
    dry = weft("skills", "sync", "--import", "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "Would be taken over: tool 1.0.0\n")
    assert weft("skills", "sync", "--import").returncode == 3  # nobody is there to say yes
    done = weft("skills", "sync", "--import", "--yes", "--scope", "project")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Taken over: tool 1.0.0\n"
    (one,) = load_lock(str(project / ".clawft" / "skills.lock")).values()
    assert (one.name, one.version, one.to, list(one.files)) == ("tool", "1.0.0", ("openclaw",), ["SKILL.md"])
    assert (tool / "SKILL.md").read_bytes() == TEXT
    theirs = json.loads((project / ".clawhub" / "lock.json").read_text())["skills"]["tool"]
    assert (theirs["version"], theirs["later"]) == ("1.0.0", "x")
    assert weft("skills", "verify").returncode == 0
    assert weft("skills", "sync", "--import", "--yes").stdout == ""


def test_what_was_edited_or_came_from_nowhere_is_left_and_named(weft: Weft, tool: Path, project: Path) -> None:
    (tool / "SKILL.md").write_bytes(TEXT + b"Mine.\n")
    mine = project / ".agents" / "skills" / "mine"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_bytes(TEXT)
    entry = {"source": "/somewhere", "sourceType": "local", "computedHash": vercel_folder_hash(str(mine))}
    (project / "skills-lock.json").write_text(json.dumps({"version": 1, "skills": {"mine": entry}}))
    done = weft("skills", "sync", "--import", "--yes")
    assert "'tool' was not taken over" in done.stderr
    assert "'mine' was not taken over: where it came from cannot be told" in done.stderr
    assert (tool / "SKILL.md").read_bytes().endswith(b"Mine.\n")
    assert not (project / ".clawft" / "skills.lock").exists()


def test_nothing_is_taken_over_with_frozen(weft: Weft, tool: Path) -> None:
    assert weft("skills", "sync", "--import", "--frozen").returncode == 2
