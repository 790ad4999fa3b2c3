"""`weft skills verify`: what changed since it was installed is told file by file, by our lock and others'."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.install.archive.hashes import fingerprint_folder, vercel_folder_hash
from clawft.install.lockfile.file import render_lock
from clawft.install.lockfile.foreign import hash_tree
from clawft.install.lockfile.model import LockedFile, LockedSkill, SkillOrigin
from clawft.skills.discovery.digest import compute_digest, list_covered

Weft = Callable[..., subprocess.CompletedProcess[str]]


def install(folder: Path, **fields: Any) -> LockedSkill:
    """A skill as it was installed, and what its lock says."""
    import hashlib

    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: d\n---\nDo it.\n")
    script = folder / "scripts" / "run.sh"
    script.write_text("#!/bin/sh\necho done\n")
    script.chmod(0o755)
    files = {
        path.decode(): LockedFile(
            hashlib.sha256(Path(place).read_bytes()).hexdigest(), status.st_size, bool(status.st_mode & 0o100)
        )
        for path, place, status in list_covered(str(folder))
    }
    origin = SkillOrigin("clawhub", "https://clawhub.ai", "acme", folder.name)
    return LockedSkill(folder.name, origin, compute_digest(str(folder)).value, files, version="1.0.0", **fields)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def user_lock(own: Path) -> Path:
    return own.parent / "skills.lock"


@pytest.fixture
def tool(own: Path, user_lock: Path) -> Path:
    """A skill that is installed for the user."""
    user_lock.write_text(render_lock([install(own / "tool")]))
    return own / "tool"


def check(weft: Weft, *words: str) -> dict[str, Any]:
    done = weft("skills", "verify", "--format", "json", *words)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["ok"] == (done.returncode == 0)
    return found


def states(weft: Weft, *words: str) -> dict[str, str]:
    return {one["name"]: one["state"] for one in check(weft, *words)["skills"]}


def test_what_is_as_it_was_installed_is_clean(weft: Weft, tool: Path) -> None:
    done = weft("skills", "verify")
    assert (done.returncode, done.stdout) == (0, "")
    assert "1 skill is as installed" in done.stderr
    assert "tool" in weft("skills", "verify", "tool").stdout


@pytest.mark.parametrize(
    ("act", "kind", "path"),
    [
        (lambda tool: (tool / "SKILL.md").write_text("other"), "changed", "SKILL.md"),
        (lambda tool: (tool / "SKILL.md").chmod(0o755), "changed", "SKILL.md"),
        (lambda tool: (tool / "scripts" / "run.sh").unlink(), "missing", "scripts/run.sh"),
        (lambda tool: shutil.rmtree(tool / "scripts"), "missing", "scripts/run.sh"),
        (lambda tool: (tool / "scripts" / "more.sh").touch(), "extra", "scripts/more.sh"),
        (lambda tool: (tool / "link").symlink_to("/etc/passwd"), "extra", "link"),
        (lambda tool: os.mkfifo(tool / "pipe"), "extra", "pipe"),
        (lambda tool: _replace_by_link(tool / "SKILL.md"), "changed", "SKILL.md"),
    ],
)
def test_each_difference_is_named_by_its_file(
    weft: Weft, tool: Path, act: Callable[[Path], Any], kind: str, path: str
) -> None:
    act(tool)
    (one,) = check(weft)["skills"]
    assert one["state"] == "changed"
    assert {key: one[key] for key in ("changed", "missing", "extra") if one[key]} == {kind: [path]}
    assert f"{kind}: {path}" in weft("skills", "verify").stdout


def _replace_by_link(file: Path) -> None:
    """The same bytes, but elsewhere."""
    file.rename(file.parent.parent.parent / "elsewhere")
    file.symlink_to(file.parent.parent.parent / "elsewhere")


def test_a_change_that_keeps_size_and_time_is_seen(weft: Weft, tool: Path) -> None:
    file = tool / "SKILL.md"
    before = file.stat()
    file.write_text(file.read_text().replace("Do it", "Do IT"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert states(weft) == {"tool": "changed"}


def test_a_folder_that_is_gone_or_a_link_is_no_installed_skill(weft: Weft, tool: Path) -> None:
    tool.rename(tool.parent.parent / "moved")
    assert states(weft) == {"tool": "missing"}
    tool.symlink_to(tool.parent.parent / "moved")
    assert states(weft) == {"tool": "changed"}


def test_what_no_digest_covers_is_not_looked_at(weft: Weft, tool: Path) -> None:
    write(tool / ".clawhub" / "origin.json", "{}")
    write(tool / "__pycache__" / "x.pyc", "")
    (tool / ".DS_Store").touch()
    assert states(weft) == {"tool": "same"}


def test_all_folders_it_was_put_into_are_looked_at(weft: Weft, own: Path, user_lock: Path) -> None:
    skill = install(own / "tool", to=("claude", "clawft"))
    user_lock.write_text(render_lock([skill]))
    (one,) = [one for one in check(weft)["skills"] if one["state"] != "same"]
    assert (one["client"], one["state"]) == ("claude", "missing")
    shutil.copytree(own / "tool", own.parent.parent / ".claude" / "skills" / "tool")
    assert check(weft)["ok"]


def test_a_projects_lock_counts_and_can_be_asked_for_alone(weft: Weft, tool: Path, project: Path) -> None:
    write(project / ".clawft" / "skills.lock", render_lock([install(project / ".clawft" / "skills" / "theirs")]))
    assert states(weft) == {"tool": "same", "theirs": "same"}
    assert states(weft, "--scope", "project") == {"theirs": "same"}
    assert states(weft, "theirs") == {"theirs": "same"}


def test_a_large_file_is_read_to_its_end(weft: Weft, own: Path, user_lock: Path) -> None:
    (own / "tool").mkdir()
    (own / "tool" / "large.bin").write_bytes(b"0" * (3 << 20))
    user_lock.write_text(render_lock([install(own / "tool")]))
    assert states(weft) == {"tool": "same"}
    (own / "tool" / "large.bin").write_bytes(b"0" * ((3 << 20) - 1) + b"1")
    assert states(weft) == {"tool": "changed"}


def test_without_a_lock_there_is_nothing_to_check(weft: Weft, own: Path) -> None:
    done = weft("skills", "verify")
    assert done.returncode == 0
    assert "There is no lock" in done.stderr


def test_a_name_that_no_lock_has_is_an_error_with_the_close_one(weft: Weft, tool: Path) -> None:
    done = weft("skills", "verify", "tol")
    assert done.returncode == 1
    assert "error[not-locked]: No lock names a skill 'tol'" in done.stderr
    assert "did you mean 'tool'" in done.stderr


def test_a_lock_that_must_not_be_followed_is_no_clean_one(weft: Weft, tool: Path, user_lock: Path) -> None:
    user_lock.write_text(user_lock.read_text().replace("[skill.tool]", '[skill."../tool"]'))
    done = weft("skills", "verify")
    assert done.returncode == 1
    assert "lock-invalid" in done.stderr
    assert [(one["state"], one["folder"]) for one in check(weft)["skills"]] == [("unknown", "")]
    user_lock.write_text("<<<<<<< HEAD\n=======\n>>>>>>> other\n")
    assert "lock-conflict" in weft("skills", "verify").stderr


def test_a_block_that_must_not_be_followed_is_not_looked_at(weft: Weft, tool: Path, user_lock: Path) -> None:
    user_lock.write_text(user_lock.read_text().replace("https://", "file://"))
    done = weft("skills", "verify")
    assert done.returncode == 1
    assert "lock-invalid" in done.stderr
    assert states(weft) == {"tool": "unknown"}


def test_many_skills_are_told_apart_whoever_looked_at_them(weft: Weft, weft_apart: Weft, own: Path) -> None:
    skills = [install(own / f"tool-{number:03}") for number in range(120)]
    (own.parent / "skills.lock").write_text(render_lock(skills))
    for number in (0, 1, 2, 118, 119):
        (own / f"tool-{number:03}" / "SKILL.md").write_text("other")
    (own / "tool-050" / "more").touch()
    changed = [f"tool-{number:03}" for number in (0, 1, 2, 50, 118, 119)]
    for run in (weft, weft_apart):  # the second shares the work between processes
        assert [name for name, state in states(run).items() if state != "same"] == changed


def clawhub(root: Path, folder: Path, *, fingerprint: str | None) -> None:
    origin = {"version": 1, "registry": "https://clawhub.ai", "slug": "tool", "installedVersion": "1.0.0"}
    origin |= {"installedAt": 1} | ({"fingerprint": fingerprint} if fingerprint else {})
    write(folder / ".clawhub" / "origin.json", json.dumps(origin))
    write(root.parent / ".clawhub" / "lock.json", '{"version":1,"skills":{"tool":{"version":"1.0.0","installedAt":1}}}')


def test_what_clawhub_installed_is_held_to_its_fingerprint(weft: Weft, project: Path) -> None:
    folder = project / "skills" / "tool"
    install(folder)
    (folder / "_meta.json").write_text("{}")
    clawhub(project / "skills", folder, fingerprint=fingerprint_folder(str(folder)))
    assert states(weft) == {"tool": "same"}
    (folder / "SKILL.md").write_text("other")
    assert states(weft) == {"tool": "changed"}
    shutil.rmtree(folder)
    assert states(weft) == {"tool": "missing"}


def test_what_clawhub_installed_without_a_fingerprint_cannot_be_told(weft: Weft, project: Path) -> None:
    folder = project / "skills" / "tool"
    install(folder)
    clawhub(project / "skills", folder, fingerprint=None)
    done = weft("skills", "verify")
    assert done.returncode == 0
    assert "noted no fingerprint" in done.stdout
    assert "1 cannot be told" in done.stderr


def test_names_whose_order_is_not_known_make_a_hash_of_others_not_verifiable(weft: Weft, project: Path) -> None:
    theirs, agents = project / "skills" / "tool", project / ".agents" / "skills" / "other"
    for folder in (theirs, agents):
        install(folder)
        (folder / "结构.md").write_text("x")
    clawhub(project / "skills", theirs, fingerprint="a" * 64)
    entry = {"source": "acme/tools", "sourceType": "github", "computedHash": "a" * 64}
    write(project / "skills-lock.json", json.dumps({"version": 1, "skills": {"other": entry}}))
    found = check(weft)
    assert {skill["name"]: skill["state"] for skill in found["skills"]} == {"tool": "unknown", "other": "unknown"}
    assert all("known only for plain ASCII" in skill["why"] for skill in found["skills"])


@pytest.mark.parametrize("key", ["../../home/secret", "@../secret", "a/b/c", "/etc"])
def test_a_key_in_a_lock_of_others_leads_nowhere(weft: Weft, project: Path, key: str) -> None:
    write(project / ".clawhub" / "lock.json", json.dumps({"version": 1, "skills": {key: {"version": "1"}}}))
    (one,) = check(weft)["skills"]
    assert (one["state"], one["folder"]) == ("unknown", "")


def test_what_the_skills_command_installed_is_held_to_its_hash(weft: Weft, project: Path) -> None:
    folder = project / ".agents" / "skills" / "tool"
    install(folder)
    entry = {"source": "acme/tools", "sourceType": "github", "computedHash": vercel_folder_hash(str(folder))}
    write(project / "skills-lock.json", json.dumps({"version": 1, "skills": {"Tool": entry}}))
    assert states(weft) == {"tool": "same"}
    (folder / "SKILL.md").write_text("other")
    assert states(weft) == {"tool": "changed"}


def test_what_the_skills_command_installed_for_the_user_is_held_to_its_git_tree(weft: Weft, tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".agents" / "skills" / "tool"
    install(folder)
    entry = {"source": "acme/tools", "sourceType": "github", "skillFolderHash": hash_tree(str(folder))}
    lock = write(
        tmp_path / "home" / ".agents" / ".skill-lock.json", json.dumps({"version": 3, "skills": {"tool": entry}})
    )
    assert states(weft) == {"tool": "same"}
    (folder / "scripts" / "run.sh").chmod(0o644)  # it downloads file by file, and modes are lost
    assert states(weft) == {"tool": "same"}
    (folder / "SKILL.md").write_text("other")
    assert states(weft) == {"tool": "changed"}
    lock.write_text(json.dumps({"version": 3, "skills": {"tool": {**entry, "skillFolderHash": ""}}}))
    assert states(weft) == {"tool": "unknown"}


def test_a_lock_of_others_that_cannot_be_read_hides_no_other(weft: Weft, tool: Path, project: Path) -> None:
    write(project / "skills-lock.json", '<<<<<<< HEAD\n{"version": 1}\n=======\n{}\n>>>>>>> x\n')
    done = weft("skills", "verify")
    assert done.returncode == 1
    assert "git left two versions in it" in done.stderr
    assert "1 skill is as installed" in done.stderr
