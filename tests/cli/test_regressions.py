"""What once went wrong on the command line and around it."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.config import SkillEntry, SkillsSettings
from clawft.skills.discovery import Catalog, DiscoveredSkill, LocalMachine, Location, load_catalog
from clawft.skills.discovery.agents import load_agents
from clawft.skills.parse.model import Skill
from clawft.trust.status import judge_skills
from clawft.workspace import find_workspace

Weft = Callable[..., subprocess.CompletedProcess[str]]
Terminal = Callable[..., tuple[int, str]]


def _skill(folder: Path, description: str = "A skill.", name: str = "") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name or folder.name}\ndescription: {description}\n---\n\nDo it.\n")


def test_command_in_the_body_is_said_with_its_line_in_the_file(weft: Weft, project: Path) -> None:
    (project / "skills" / "one").mkdir(parents=True)
    (project / "skills" / "one" / "SKILL.md").write_text("---\nname: one\ndescription: d\n---\n\nFirst.\n\n!ls -l\n")
    done = weft("skills", "validate", "one")
    assert "Traceback" not in done.stderr
    assert "skills/one/SKILL.md:8: note[dynamic-context]" in done.stdout


def test_folder_whose_name_is_not_utf8_does_not_break_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 3600 * 10**9)
    folder = os.fsencode(tmp_path) + b"/skills/caf\xe9/latin"
    os.makedirs(folder)
    with open(folder + b"/SKILL.md", "w") as file:
        file.write("---\nname: latin\ndescription: d\n---\n")
    catalog = load_catalog(
        [Location("project", "s", str(tmp_path / "skills"))], max_prompt_bytes=1000, cache_dir=str(tmp_path / "cache")
    )
    assert [one.name for one in catalog.found] == ["latin"]


def test_why_shows_no_control_character_of_a_folder(terminal: Terminal, project: Path) -> None:
    _skill(project / "skills" / "\x1b]0;pwned\x07\x1b[2J" / "inner")
    _, shown = terminal("skills", "why", "inner")
    assert "\x1b]0;" not in shown


@pytest.mark.parametrize("command", ["validate", "show inner", "why inner", "fix"])
def test_folder_with_a_newline_forges_no_line(weft: Weft, project: Path, command: str) -> None:
    _skill(project / "skills" / "x\n0 files checked: nothing to say\n" / "inner", name="Inner")
    done = weft("skills", *command.split())
    assert "0 files checked: nothing to say" not in (done.stdout + done.stderr).splitlines()


def test_no_color_is_honoured(terminal: Terminal, project: Path) -> None:
    (project / "skills" / "bad").mkdir(parents=True)
    (project / "skills" / "bad" / "SKILL.md").write_text("---\nname: bad\n")
    _, shown = terminal("skills", "validate", NO_COLOR="1")
    assert "\x1b" not in shown


def test_digest_of_a_folder_that_cannot_all_be_read_is_empty(
    project: Path, child_env: dict[str, str], unprivileged: list[str]
) -> None:
    _skill(project / "skills" / "one")
    (project / "skills" / "one" / "sub").mkdir()
    (project / "skills" / "one" / "sub" / "evil.sh").write_text("evil")
    (project / "skills" / "one" / "sub").chmod(0)
    try:
        done = subprocess.run(
            [*unprivileged, "weft", "skills", "show", "one"],
            cwd=project,
            env=child_env,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        (project / "skills" / "one" / "sub").chmod(0o755)
    assert "Digest: none" in done.stdout


def test_folder_and_link_to_it_are_one_skill(tmp_path: Path) -> None:
    _skill(tmp_path / "skills" / "a")
    (tmp_path / "skills" / "b").symlink_to("a")
    (tmp_path / "skills" / "up").symlink_to(".")
    catalog = load_catalog([Location("project", "s", str(tmp_path / "skills"))], max_prompt_bytes=1000)
    assert [one.folder for one in catalog.found] == [str(tmp_path / "skills" / "a")]


def test_validate_of_a_folder_that_is_not_there_fails(weft: Weft) -> None:
    done = weft("skills", "validate", "--dir", "nowhere")
    assert done.returncode != 0
    assert "no such folder" in done.stderr


def test_validate_says_what_was_not_searched(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(tmp_path / "elsewhere" / "x")
    (project / "skills").mkdir()
    (project / "skills" / "out").symlink_to(tmp_path / "elsewhere")
    done = weft("skills", "validate")
    assert "link-leaves-root" in done.stdout + done.stderr


def test_one_file_that_cannot_be_written_hides_no_other(
    project: Path, child_env: dict[str, str], unprivileged: list[str]
) -> None:
    for name in ("aaa", "bbb", "ccc"):
        _skill(project / "skills" / name, name=f"{name} X")
    (project / "skills" / "bbb").chmod(0o555)
    try:
        done = subprocess.run(
            [*unprivileged, "weft", "skills", "fix", "--write", "skills"],
            cwd=project,
            env=child_env,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        (project / "skills" / "bbb").chmod(0o755)
    assert done.returncode == 1
    assert "written; the original is skills/aaa/SKILL.md.bak" in done.stderr
    assert (project / "skills" / "ccc" / "SKILL.md.bak").exists()


def test_show_of_a_broken_skill_says_it_once(weft: Weft, project: Path) -> None:
    (project / "skills" / "bad").mkdir(parents=True)
    (project / "skills" / "bad" / "SKILL.md").write_text("---\nname: bad\n")
    assert weft("skills", "show", "bad").stdout.count("frontmatter-unterminated") == 1


def test_closed_pipe_is_no_failure(project: Path, child_env: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", "-c", "weft skills list | true; exit ${PIPESTATUS[0]}"], cwd=project, env=child_env, timeout=60
    )
    assert done.returncode == 0


def test_clawft_of_the_home_folder_marks_no_project_wherever_the_user_folder_is(tmp_path: Path) -> None:
    (tmp_path / "home" / ".clawft").mkdir(parents=True)
    (tmp_path / "home" / "work").mkdir()
    environ = {"HOME": str(tmp_path / "home"), "CLAWFT_HOME": str(tmp_path / "moved")}
    assert not find_workspace(environ, str(tmp_path / "home" / "work")).marked


@pytest.mark.parametrize(("written", "meant"), [("~/x", "home/x"), ("x", "cwd/x")])
def test_clawft_home_goes_by_the_environment_and_folder_given(tmp_path: Path, written: str, meant: str) -> None:
    workspace = find_workspace({"HOME": str(tmp_path / "home"), "CLAWFT_HOME": written}, str(tmp_path / "cwd"))
    assert workspace.user_dir == str(tmp_path / meant)


def test_disabled_skill_below_a_usable_one_stays_disabled() -> None:
    def found(scope: str) -> DiscoveredSkill:
        return DiscoveredSkill(
            Location(scope, scope, f"/{scope}"), f"/{scope}/a", f"/{scope}/a/SKILL.md", Skill(name="a", description="d")
        )

    _, low = judge_skills(
        Catalog((found("user"), found("bundled"))), SkillsSettings(allow_bundled=()), LocalMachine("linux", {}, {})
    )
    assert not low.user_may_invoke


def test_usable_skill_is_preferred_to_a_disabled_one(tmp_path: Path) -> None:
    (tmp_path / "home" / ".clawft").mkdir(parents=True)
    (tmp_path / "home" / ".clawft" / "config.toml").write_text("[skills.entries.k]\nenabled = false\n")
    (tmp_path / "project" / "skills" / "x").mkdir(parents=True)
    (tmp_path / "project" / "skills" / "x" / "SKILL.md").write_text(
        "---\nname: x\ndescription: off\nskill-key: k\n---\n"
    )
    _skill(tmp_path / "home" / ".claude" / "skills" / "x")
    app = open_app({"HOME": str(tmp_path / "home")}, str(tmp_path / "project"))
    assert app.get_skill("x").state == "ready"


def test_reason_names_the_entry_that_turned_it_off() -> None:
    found = DiscoveredSkill(
        Location("user", "u", "/u"), "/u/a", "/u/a/SKILL.md", Skill(name="a", description="d", skill_key="k")
    )
    (standing,) = judge_skills(
        Catalog((found,)), SkillsSettings(entries={"k": SkillEntry(enabled=False)}), LocalMachine("linux", {}, {})
    )
    assert "skills.entries.k.enabled" in standing.reasons[0].message


def test_list_fits_into_40_columns(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "one", "Words and words " * 20)
    done = weft("skills", "list", "--scope", "project", COLUMNS="40")
    assert max(map(len, done.stdout.splitlines())) <= 40


def test_hidden_files_are_no_agents(tmp_path: Path) -> None:
    (tmp_path / "._coder.md").write_bytes(b"\0\5\x16\7")
    assert [one.scope for one in load_agents([Location("user", "a", str(tmp_path))]) if one.scope != "built-in"] == []


@pytest.mark.parametrize(
    "script",
    ["weft skills list >&-", "weft skills list >/dev/full", "mkdir gone; cd gone; rmdir ../gone; weft skills list"],
)
def test_odd_surroundings_cause_no_traceback(project: Path, child_env: dict[str, str], script: str) -> None:
    done = subprocess.run(
        ["bash", "-c", script], cwd=project, env=child_env, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr


def test_home_that_is_not_there_is_not_made(weft: Weft, tmp_path: Path) -> None:
    weft("skills", "list", HOME=str(tmp_path / "nobody"))
    assert not (tmp_path / "nobody").exists()


def test_skill_that_cannot_be_read_has_no_digest(weft: Weft, project: Path) -> None:
    (project / "skills" / "big").mkdir(parents=True)
    with (project / "skills" / "big" / "SKILL.md").open("wb") as file:
        file.truncate(500 << 20)
    (listed,) = json.loads(weft("skills", "list", "--format", "json", "--scope", "project").stdout)["skills"]
    assert (listed["state"], listed["digest"]) == ("broken", None)


def test_project_skill_that_overrides_a_user_one_warns() -> None:
    def found(scope: str) -> DiscoveredSkill:
        return DiscoveredSkill(
            Location(scope, scope, f"/{scope}"), f"/{scope}/a", f"/{scope}/a/SKILL.md", Skill(name="a", description="d")
        )

    high, _ = judge_skills(Catalog((found("project"), found("user"))), SkillsSettings(), LocalMachine("linux", {}, {}))
    assert high.reasons[0].severity == "warning"


def test_why_of_a_shadowed_skill_names_how_to_start_it(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "a")
    _skill(tmp_path / "home" / ".claude" / "skills" / "a")
    assert weft("skills", "trust", "--all", "--yes").returncode == 0
    assert "a person may start it by name" not in weft("skills", "why", "a").stdout.partition("shadowed")[2]


def test_project_named_by_dir_shows_what_clients_keep_in_hidden_folders(weft: Weft, tmp_path: Path) -> None:
    _skill(tmp_path / "elsewhere" / ".claude" / "skills" / "hidden-one")
    done = weft("skills", "list", "--dir", tmp_path / "elsewhere")
    assert "hidden-one" in done.stdout
    assert weft("skills", "validate", tmp_path / "elsewhere").returncode == 0


def test_why_of_a_qualified_name_tells_of_that_one_only(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "a")
    _skill(tmp_path / "home" / ".claude" / "skills" / "a")
    assert weft("skills", "trust", "--all", "--yes").returncode == 0
    done = weft("skills", "why", "user:a")
    assert done.stdout.startswith("a is shadowed")
    assert "a is ready" not in done.stdout


def test_path_that_is_not_there_is_no_misspelt_skill(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "nope")
    done = weft("skills", "validate", "/nope")
    assert (done.returncode, "no such path" in done.stderr) == (1, True)


def test_markdown_file_beside_the_skills_is_said_with_and_without_a_cache(weft: Weft, project: Path) -> None:
    _skill(project / ".claude" / "skills" / "one")
    (project / ".claude" / "skills" / "flat.md").write_text("---\nname: flat\n---\n")
    (project / ".claude" / "skills" / "README.md").write_text("About these skills.\n")
    for _ in range(2):
        assert weft("skills", "list").stderr.count("loose-file") == 1
