"""What somebody tries who wrote a project, or publishes a skill: by its lock, its links, its name."""

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.files import remove_tree
from clawft.install.lockfile.file import render_lock
from clawft.install.lockfile.model import LockedFile, LockedSkill, SkillOrigin
from scripted_site import Reply, ScriptedRegistry, ScriptedSite

LONG_KEY = f"version = 1\n{'a.' * 300_000}a = 1\n"  # whoever reads it as a table takes hours

Weft = Callable[..., subprocess.CompletedProcess[str]]

TEXT = "---\nname: {}\ndescription: Tells the tides of a harbour. Use it when somebody asks.\n---\n{}\n"


def make(folder: Path, name: str = "", text: str = "Tell the tides.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(TEXT.format(name or folder.name, text))
    return folder


def forge(project: Path, skill: Path, to: str, origin: SkillOrigin) -> Path:
    """A lock that comes with a project, and names a skill as it is in some folder."""
    data = (skill / "SKILL.md").read_bytes()
    content = hashlib.sha256(data).hexdigest()
    digest = hashlib.sha256(f"SKILL.md\0-\0{len(data)}\0{content}\n".encode()).hexdigest()
    files = {"SKILL.md": LockedFile(content, len(data))}
    lock = project / ".clawft" / "skills.lock"
    lock.parent.mkdir(exist_ok=True)
    lock.write_text(render_lock([LockedSkill(skill.name, origin, f"sha256:{digest}", files, to=(to,))]))
    return lock


def use_registry(project: Path, site: ScriptedSite) -> None:
    config = project.parent / "home" / ".clawft" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[registries.hub]\nurl = "{site.url}"\ndefault = true\n')


def dig(folder: Path, depth: int = 1100) -> None:
    """Folders in folders, deeper than any function calls itself."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


@pytest.mark.parametrize(
    "text",
    [f"version = {'1' * 5000}\n", 'version = 1\n[skill.x]\nto = [["clawft"]]\nfiles = []\n', LONG_KEY],
    ids=["long", "list", "parts"],
)
def test_a_lock_of_wrong_types_is_told_of_and_not_followed(weft: Weft, project: Path, text: str) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "skills.lock").write_text(text)

    done = weft("skills", "verify")

    assert (done.returncode, "lock-invalid" in done.stderr) == (1, True), done.stderr


def test_folders_without_end_are_a_difference_and_no_crash(weft: Weft, project: Path) -> None:
    tides = make(project / ".clawft" / "skills" / "tides")
    forge(project, tides, "clawft", SkillOrigin("folder", "/nowhere"))
    agents = make(project / ".agents" / "skills" / "tides")
    (project / "skills-lock.json").write_text('{"version": 1, "skills": {"tides": {"computedHash": "00"}}}')
    dig(tides)
    dig(agents)
    try:
        done = weft("skills", "verify")
    finally:  # who clears up after tests calls itself for every folder
        remove_tree(str(tides))
        remove_tree(str(agents))

    assert done.returncode == 1
    assert ("too deep" in done.stdout, "too large" in done.stdout) == (True, True), done.stdout


def test_a_link_in_a_project_does_not_let_it_remove_a_skill_of_the_user(weft: Weft, project: Path) -> None:
    mine = make(project.parent / "home" / ".claude" / "skills" / "tides")
    (project / ".claude").symlink_to(mine.parent.parent)
    forge(project, mine, "claude", SkillOrigin("folder", "/nowhere"))

    done = weft("skills", "remove", "tides", "--scope", "project", "--yes")

    assert (done.returncode, "install-link" in done.stderr) == (3, True), done.stderr
    assert (mine / "SKILL.md").exists()


def test_links_in_a_project_have_no_lock_written_elsewhere(weft: Weft, project: Path) -> None:
    outside = project.parent / "outside"
    outside.mkdir()
    (project / ".clawft").symlink_to(outside)

    done = weft("skills", "install", make(project / "tides"), "--scope", "project", "--to", "agents", "--yes")

    assert (done.returncode, "install-link" in done.stderr) == (3, True), done.stderr
    assert (list(outside.iterdir()), (project / ".agents" / "skills" / "tides").exists()) == ([], False)


def test_links_in_a_project_have_no_lock_changed_elsewhere(weft: Weft, project: Path) -> None:
    lock = forge(project, make(project / "tides"), "clawft", SkillOrigin("folder", "/nowhere"))
    lock.parent.rename(project.parent / "outside")
    (project / ".clawft").symlink_to(project.parent / "outside")
    before = lock.read_bytes()

    done = weft("skills", "pin", "tides", "--version", "--scope", "project")

    assert (done.returncode, lock.read_bytes() == before) == (3, True), done.stderr


def test_an_update_that_takes_the_name_of_another_skill_does_not_take_its_place(weft: Weft, project: Path) -> None:
    skills = project.parent / "home" / ".clawft" / "skills"
    waves = make(project / "one" / "waves")
    weft("skills", "install", waves, make(project / "two" / "tides"), "--yes")
    make(waves, "tides", "Tell something else.")

    done = weft("skills", "update", "waves", "--yes")

    assert (done.returncode, "install-shadows" in done.stderr) == (3, True), done.stderr
    assert "Tell the tides." in (skills / "tides" / "SKILL.md").read_text()
    assert "Tell the tides." in (skills / "waves" / "SKILL.md").read_text()


def test_a_skill_that_calls_itself_otherwise_by_now_is_updated_where_it_is(weft: Weft, project: Path) -> None:
    skills = project.parent / "home" / ".clawft" / "skills"
    waves = make(project / "waves")
    weft("skills", "install", waves, "--yes")
    make(waves, "swell", "Tell of the swell.")

    done = weft("skills", "update", "waves", "--yes")

    assert (done.returncode, os.listdir(skills)) == (0, ["waves"]), done.stderr
    assert "Tell of the swell." in (skills / "waves" / "SKILL.md").read_text()
    assert weft("skills", "verify").returncode == 0
    (skills / "waves" / "SKILL.md").unlink()
    assert weft("skills", "sync", "--yes").returncode == 0
    assert "Tell of the swell." in (skills / "waves" / "SKILL.md").read_text()


@pytest.mark.parametrize("called", ["tides", "vet-skill"])
def test_a_skill_that_calls_itself_as_one_that_is_here_is_not_taken_for_it(
    weft: Weft, project: Path, called: str
) -> None:
    make(project.parent / "home" / ".clawft" / "skills" / "my-tides", "tides")

    done = weft("skills", "install", make(project / "waves", called), "--yes")

    assert (done.returncode, "install-shadows" in done.stderr) == (3, True), done.stderr
    assert weft("skills", "install", "./waves", "--yes", "--force").returncode == 0


def test_a_project_cannot_have_a_folder_of_the_user_copied_into_it(weft: Weft, project: Path) -> None:
    private = make(project.parent / "private" / "tides", text="The key is 4711.")
    placed = make(project / ".clawft" / "skills" / "tides")
    forge(project, placed, "clawft", SkillOrigin("folder", str(private)))

    done = weft("skills", "update", "tides", "--scope", "project", "--yes")

    assert (done.returncode, "source-local" in done.stderr) == (1, True), done.stderr
    assert "4711" not in (placed / "SKILL.md").read_text()


def test_approvals_of_what_was_removed_by_hand_go_with_its_entry_in_the_lock(weft: Weft, project: Path) -> None:
    weft("skills", "install", make(project / "tides"), "--yes")
    remove_tree(str(project.parent / "home" / ".clawft" / "skills" / "tides"))

    assert weft("skills", "remove", "tides", "--yes").returncode == 0

    assert "tides" not in weft("skills", "trust", "--list").stdout


@pytest.mark.parametrize("field", ["requires: {{skills: [{}]}}", "dependencies: {}"])
def test_a_skill_that_needs_a_thousand_others_has_few_asked_for(weft: Weft, project: Path, field: str) -> None:
    front = field.format(", ".join(f"one-{number}" for number in range(1000)))
    with ScriptedSite() as site:
        use_registry(project, site)
        text = f"---\nname: tides\ndescription: d\n{front}\n---\nTell the tides.\n"
        ScriptedRegistry(site).publish("ada", "tides", "1.0.0", {"SKILL.md": text.encode()})

        done = weft("skills", "install", "@ada/tides", "--yes")

        assert (done.returncode, len(site.requests) < 1000) == (1, True), done.stderr


def test_a_needed_skill_whose_name_no_folder_can_have_is_brought_once(weft: Weft, project: Path) -> None:
    with ScriptedSite() as site:
        use_registry(project, site)
        registry = ScriptedRegistry(site)
        for slug in ("tides", "con"):
            text = f"---\nname: {slug}-too\ndescription: d\nrequires: {{skills: [con]}}\n---\nTell the tides.\n"
            registry.publish("ada", slug, "1.0.0", {"SKILL.md": text.encode()})

        done = weft("skills", "install", "@ada/tides", "--yes")

        assert (done.returncode, "dependency-missing" in done.stderr) == (1, True), done.stderr


def test_of_two_that_are_installed_at_once_none_is_taken_for_the_other(weft: Weft, project: Path) -> None:
    with ScriptedSite() as site:
        use_registry(project, site)
        registry = ScriptedRegistry(site)
        for slug in ("a-waves", "tides"):
            registry.publish("ada", slug, "1.0.0", {"SKILL.md": TEXT.format("tides", slug).encode()})

        done = weft("skills", "install", "@ada/a-waves", "@ada/tides", "--yes")

        assert (done.returncode, "install-shadows" in done.stderr) == (3, True), done.stderr


def test_who_installs_what_another_client_has_too_is_told(weft: Weft, project: Path) -> None:
    make(project.parent / "home" / ".claude" / "skills" / "tides")

    done = weft("skills", "install", make(project / "tides", text="Tell more."), "--yes")

    assert (done.returncode, "warning[install-shadows]" in done.stderr) == (0, True), done.stderr


def test_a_file_of_a_skill_cannot_keep_the_scanner_busy(weft: Weft, project: Path) -> None:
    (make(project / "tides") / "pyproject.toml").write_text(LONG_KEY)

    done = weft("skills", "install", "./tides", "--yes")

    assert done.returncode == 0, done.stderr


def test_that_a_needed_skill_is_somebody_elses_is_told(weft: Weft, project: Path) -> None:
    with ScriptedSite() as site:
        use_registry(project, site)
        registry = ScriptedRegistry(site)
        needing = "---\nname: tides\ndescription: d\nrequires: {skills: [waves]}\n---\nTell the tides.\n"
        registry.publish("ada", "tides", "1.0.0", {"SKILL.md": needing.encode()})
        registry.publish("mallory", "waves", "1.0.0", {"SKILL.md": TEXT.format("waves", "Tell.").encode()})
        site.answers["/api/v1/skills/waves"] = Reply("not there", 404)  # of @ada there is none

        done = weft("skills", "install", "@ada/tides", "--yes")

        assert (done.returncode, "warning[dependency-owner]" in done.stderr) == (0, True), done.stderr
