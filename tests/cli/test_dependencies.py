"""Skills that need others: brought along, locked, missed where they are gone, and never in a circle."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clawft.install.lockfile.file import load_lock
from scripted_site import ScriptedRegistry, ScriptedSite

Weft = Callable[..., subprocess.CompletedProcess[str]]


def text_of(name: str, front: str = "") -> str:
    return f"---\nname: {name}\ndescription: d\n{front}{front and chr(10)}---\nDo it.\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return tmp_path / "sources"


def write(sources: Path, name: str, front: str = "") -> Path:
    folder = sources / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text_of(name, front))
    return folder


def locked(own: Path) -> dict[str, tuple[bool, tuple[str, ...]]]:
    lock = load_lock(str(own.parent / "skills.lock"))
    return {name: (one.requested, one.dependencies) for name, one in lock.items()}


def test_what_a_skill_needs_comes_from_beside_it_and_is_locked(weft: Weft, sources: Path, own: Path) -> None:
    write(sources, "base", "version: 1.4.0")
    write(sources, "middle", "depends-on: [base]")
    top = write(sources, "top", "requires: {skills: [middle, base>=1.2]}")
    done = weft("skills", "install", top, "--yes")
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.splitlines() == ["Installed: base 1.4.0", "Installed: middle", "Installed: top"]
        or "top" in done.stdout
    )
    assert locked(own) == {"base": (False, ()), "middle": (False, ("base",)), "top": (True, ("base", "middle"))}
    refused = weft("skills", "remove", "base", "--yes")
    assert refused.returncode != 0
    assert "needed by" in refused.stderr
    assert weft("skills", "verify").returncode == 0


def test_a_circle_is_shown_and_nothing_is_installed(weft: Weft, sources: Path, own: Path) -> None:
    write(sources, "b", "requires: {skills: [c]}")
    write(sources, "c", "requires: {skills: [a]}")
    done = weft("skills", "install", write(sources, "a", "requires: {skills: [b]}"), "--yes")
    assert done.returncode == 1
    assert "error[dependency-cycle]" in done.stderr
    assert "a needs b needs c needs a" in " ".join([done.stderr, done.stderr])
    assert list(own.iterdir()) == []


@pytest.mark.parametrize(
    ("front", "code"),
    [
        ("requires: {skills: [absent]}", "dependency-missing"),
        ("requires: {skills: ['base>=2']}", "dependency-version"),
    ],
)
def test_what_cannot_be_had_keeps_a_skill_out(weft: Weft, sources: Path, own: Path, front: str, code: str) -> None:
    write(sources, "base", "version: 1.0.0")
    done = weft("skills", "install", write(sources, "top", front), "--yes")
    assert done.returncode == 1
    assert f"error[{code}]" in done.stderr
    assert list(own.iterdir()) == []


def test_a_package_among_the_dependencies_is_no_skill(weft: Weft, sources: Path, own: Path) -> None:
    done = weft("skills", "install", write(sources, "top", "dependencies: python>=3.8, pandas"), "--yes")
    assert done.returncode == 0, done.stderr
    assert "It names 'pandas', which is no skill" in done.stderr
    assert locked(own) == {"top": (True, ())}


def test_a_skill_whose_required_skill_is_gone_is_not_offered_and_says_how_to_get_it(weft: Weft, own: Path) -> None:
    write(own, "top", "requires: {skills: ['@acme/base>=2']}")

    def listed() -> tuple[str, str]:
        shown = json.loads(weft("skills", "list", "--format", "json").stdout)["skills"]
        top = next(one for one in shown if one["name"] == "top")
        return top["state"], " ".join(one["hint"] or "" for one in top["reasons"])

    assert listed() == ("ineligible", "Run: weft skills install @acme/base")
    write(own, "base", "version: 1.9.0")
    assert listed() == ("ineligible", "1.9.0 is there. Run: weft skills update base")
    write(own, "base", "version: 2.0.1")
    assert listed()[0] == "ready"


@pytest.fixture
def hub(own: Path) -> Iterator[ScriptedRegistry]:
    with ScriptedSite() as site:
        (own.parent / "config.toml").write_text(f'[registries.hub]\nurl = "{site.url}"\ndefault = true\n')
        yield ScriptedRegistry(site)


def publish(hub: ScriptedRegistry, owner: str, name: str, version: str, front: str = "") -> None:
    hub.publish(owner, name, version, {"SKILL.md": text_of(name, front).encode()})


def test_the_same_registry_gives_what_is_needed_and_an_update_what_is_new(
    weft: Weft, hub: ScriptedRegistry, own: Path
) -> None:
    publish(hub, "acme", "base", "1.0.0")
    publish(hub, "acme", "other", "3.0.0")
    publish(hub, "acme", "top", "1.0.0", "requires: {skills: [base]}")
    done = weft("skills", "install", "@acme/top", "--yes")
    assert done.returncode == 0, done.stderr
    assert locked(own) == {"base": (False, ()), "top": (True, ("base",))}
    publish(hub, "acme", "top", "1.1.0", "requires: {skills: ['base>=1', '@acme/other@3.0.0']}")
    done = weft("skills", "update", "top", "--yes")
    assert done.returncode == 0, done.stderr
    assert locked(own) == {"base": (False, ()), "other": (False, ()), "top": (True, ("base", "other"))}
