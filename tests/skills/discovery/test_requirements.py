"""What a skill requires against what a machine has."""

from pathlib import Path

import pytest

from clawft.config import EnvValue, SecretRef, SkillEntry, load_config
from clawft.skills.discovery import LocalMachine, check_requirements
from clawft.skills.parse.dependencies import install_command
from clawft.skills.parse.model import Skill, SkillInstaller, SkillRequirements
from clawft.skills.parse.skill import parse_skill_md
from clawft.trust.tools import known_tool_names
from clawft.workspace import Workspace


def _host(tmp_path: Path, *programs: str, **environ: str) -> LocalMachine:
    """A Linux machine with just these programs on PATH."""
    for program in programs:
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    return LocalMachine("linux", {"PATH": str(tmp_path), **environ}, {"channels": {"discord": {"token": "t"}}})


def test_nothing_required_is_always_met(tmp_path: Path) -> None:
    assert check_requirements(Skill(name="free"), _host(tmp_path)) == ()


def test_program_on_path_is_met(tmp_path: Path) -> None:
    skill = Skill(name="sonoscli", requires=SkillRequirements(bins=("sonos",)))

    assert check_requirements(skill, _host(tmp_path, "sonos")) == ()


def test_missing_program_is_said_in_the_seeds_words(tmp_path: Path) -> None:
    skill = Skill(name="sonoscli", requires=SkillRequirements(bins=("sonos",)))

    (unmet,) = check_requirements(skill, _host(tmp_path), path="/x/SKILL.md")

    assert unmet.message == 'skill "sonoscli" requires binary "sonos"'
    assert (unmet.code, unmet.severity, unmet.path) == ("requires-bin", "warning", "/x/SKILL.md")
    assert unmet.hint == "Install sonos and put it on PATH"


def test_file_that_cannot_be_run_and_folder_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o644)
    (tmp_path / "folder").mkdir()
    skill = Skill(name="x", requires=SkillRequirements(bins=("text", "folder", "")))

    assert len(check_requirements(skill, _host(tmp_path))) == 3


def test_program_is_looked_for_in_every_folder_of_path(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "tool").write_text("")
    (tmp_path / "second" / "tool").chmod(0o755)
    host = LocalMachine("linux", {"PATH": f":{tmp_path}/first::{tmp_path}/second"}, {})

    assert host.has_program("tool")
    assert host.has_program(str(tmp_path / "second" / "tool"))
    assert not host.has_program("other")


def test_one_of_any_bins_is_enough(tmp_path: Path) -> None:
    skill = Skill(name="x", requires=SkillRequirements(any_bins=("brew", "apt")))

    assert check_requirements(skill, _host(tmp_path, "apt")) == ()


def test_none_of_any_bins_is_one_complaint(tmp_path: Path) -> None:
    skill = Skill(name="x", requires=SkillRequirements(any_bins=("brew", "apt")))

    (unmet,) = check_requirements(skill, _host(tmp_path))

    assert unmet.message == 'skill "x" requires binary (any of) "brew, apt"'


def test_variable_that_is_set_is_met(tmp_path: Path) -> None:
    skill = Skill(name="x", requires=SkillRequirements(env=("API_KEY",)))

    assert check_requirements(skill, _host(tmp_path, API_KEY="k")) == ()


@pytest.mark.parametrize("environ", [{}, {"API_KEY": ""}])
def test_variable_that_is_missing_or_empty_is_unmet(tmp_path: Path, environ: dict[str, str]) -> None:
    skill = Skill(name="x", requires=SkillRequirements(env=("API_KEY",)))

    (unmet,) = check_requirements(skill, _host(tmp_path, **environ))

    assert unmet.message == 'skill "x" requires environment variable "API_KEY"'
    assert "weft skills env x API_KEY" in unmet.hint


def test_entry_in_the_config_satisfies_a_variable(tmp_path: Path) -> None:
    skill = Skill(name="x", primary_env="API_KEY", requires=SkillRequirements(env=("API_KEY", "OTHER")))
    host = _host(tmp_path, FROM_HERE="secret")

    assert len(check_requirements(skill, host)) == 2
    both = SkillEntry(env={"API_KEY": EnvValue(literal="k"), "OTHER": EnvValue(literal="o")})
    assert check_requirements(skill, host, both) == ()
    by_key = SkillEntry(env={"OTHER": EnvValue(literal="o")}, api_key=SecretRef(env="FROM_HERE"))
    assert check_requirements(skill, host, by_key) == ()
    unset = SkillEntry(env={"OTHER": EnvValue(literal="o")}, api_key=SecretRef(env="NOT_SET"))
    assert [one.code for one in check_requirements(skill, host, unset)] == ["requires-env"]


def test_api_key_satisfies_only_the_variable_that_the_skill_names_for_it(tmp_path: Path) -> None:
    skill = Skill(name="x", primary_env="MAIN_KEY", requires=SkillRequirements(env=("OTHER_KEY",)))
    entry = SkillEntry(api_key=SecretRef(literal="k"))

    assert len(check_requirements(skill, _host(tmp_path), entry)) == 1


def test_all_complaints_are_returned_not_just_the_first(tmp_path: Path) -> None:
    requires = SkillRequirements(
        bins=("b1", "b2"), any_bins=("a1", "a2"), env=("E1", "E2"), config=("c.d",), os=("darwin",), tools=("nope",)
    )

    unmet = check_requirements(Skill(name="x", requires=requires), _host(tmp_path))

    assert [one.code for one in unmet] == [
        "requires-os",
        "requires-tool",
        "requires-bin",
        "requires-bin",
        "requires-any-bin",
        "requires-env",
        "requires-env",
        "requires-config",
    ]


@pytest.mark.parametrize("setting", ["channels.discord.token", "channels.discord"])
def test_setting_that_is_there_is_met(tmp_path: Path, setting: str) -> None:
    skill = Skill(name="x", requires=SkillRequirements(config=(setting,)))

    assert check_requirements(skill, _host(tmp_path)) == ()


@pytest.mark.parametrize("value", [{}, {"a": {}}, {"a": {"b": False}}, {"a": {"b": ""}}, {"a": "b"}])
def test_setting_that_is_missing_or_not_truthy_is_unmet(value: dict[str, object]) -> None:
    skill = Skill(name="x", requires=SkillRequirements(config=("a.b",)))

    assert [one.code for one in check_requirements(skill, LocalMachine("linux", {}, value))] == ["requires-config"]


def test_setting_of_another_client_is_looked_for_under_skills_config(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[skills.config.channels.slack]\nbotName = 'b'\nmuted = false\n")
    workspace = Workspace(str(tmp_path), str(tmp_path), str(tmp_path / "p"), str(tmp_path / "p"))
    host = LocalMachine("linux", {}, load_config(workspace, {}).values)
    skill = Skill(name="x", requires=SkillRequirements(config=("channels.slack", "channels.slack.botName")))
    assert check_requirements(skill, host) == ()

    skill = Skill(name="x", requires=SkillRequirements(config=("channels.slack.muted", "channels.discord")))
    unmet = check_requirements(skill, host)
    assert [one.hint for one in unmet] == [
        "Set skills.config.channels.slack.muted in config.toml",
        "Set skills.config.channels.discord in config.toml",
    ]


def test_setting_may_be_named_in_camel_case() -> None:
    skill = Skill(name="x", requires=SkillRequirements(config=("web.apiKey",)))

    assert check_requirements(skill, LocalMachine("linux", {}, {"web": {"api_key": "k"}})) == ()


def test_systems_are_compared_by_the_names_python_has_for_them() -> None:
    skill = parse_skill_md("---\nname: x\ndescription: d\nos: [macos, Windows]\n---\n", "x")

    assert check_requirements(skill, LocalMachine("darwin", {}, {})) == ()
    assert check_requirements(skill, LocalMachine("win32", {}, {})) == ()
    (unmet,) = check_requirements(skill, LocalMachine("linux", {}, {}))
    assert (unmet.code, unmet.hint) == ("requires-os", "This machine runs linux")


@pytest.mark.parametrize(
    "tool", ["read_file", "Read", "read", "Bash", "bash", "Bash(git:*)", "WebSearch", "Task", "skill_search", "LS"]
)
def test_tools_are_known_by_our_and_other_clients_names(tool: str) -> None:
    skill = Skill(name="x", requires=SkillRequirements(tools=(tool,)))

    assert check_requirements(skill, LocalMachine("linux", {}, {}, known_tool_names())) == ()


@pytest.mark.parametrize("tool", ["github__create_issue", "Telepathy", ""])
def test_tool_that_nobody_has_is_unmet(tool: str) -> None:
    skill = Skill(name="x", requires=SkillRequirements(tools=(tool,)))

    unmet = check_requirements(skill, LocalMachine("linux", {}, {}, known_tool_names()))

    assert [one.code for one in unmet] == ["requires-tool"]


def test_always_skips_programs_variables_and_settings_but_not_system_and_tools(tmp_path: Path) -> None:
    requires = SkillRequirements(
        bins=("b",), any_bins=("a",), env=("E",), config=("c",), os=("darwin",), tools=("nope",)
    )

    unmet = check_requirements(Skill(name="x", always=True, requires=requires), _host(tmp_path))

    assert [one.code for one in unmet] == ["requires-os", "requires-tool"]


@pytest.mark.parametrize(
    ("install", "command"),
    [
        (SkillInstaller(kind="brew", formula="steipete/tap/sonos"), "brew install steipete/tap/sonos"),
        (SkillInstaller(kind="brew", cask="docker"), "brew install --cask docker"),
        (SkillInstaller(kind="apt", package="ripgrep"), "apt install ripgrep"),
        (SkillInstaller(kind="go", module="x.y/cmd/z@latest"), "go install x.y/cmd/z@latest"),
        (SkillInstaller(kind="npm", package="pkg"), "npm install -g --ignore-scripts pkg"),
        (SkillInstaller(kind="node", package="pkg"), "npm install -g --ignore-scripts pkg"),
        (SkillInstaller(kind="uv", package="pkg"), "uv tool install pkg"),
        (SkillInstaller(kind="pip", package="pkg"), "pip install pkg"),
        (SkillInstaller(kind="download", url="https://x.y/z"), "download https://x.y/z"),
        (SkillInstaller(kind="magic", label="Say the word"), ""),
        (SkillInstaller(kind="magic", package="pkg"), ""),
        (SkillInstaller(kind="brew", label="Install by hand"), ""),
        (SkillInstaller(kind="node", package="pkg; rm -r notes"), ""),
        (SkillInstaller(kind="uv", package="--editable"), ""),
        (SkillInstaller(kind="go", module="x.y/$(id)"), ""),
        (SkillInstaller(kind="download", url="https://x.y/z | sh"), ""),
        (SkillInstaller(label="curl x.y | sh"), ""),
        (SkillInstaller(), ""),
    ],
)
def test_ways_to_install_are_what_a_person_would_type(install: SkillInstaller, command: str) -> None:
    assert install_command(install) == command


def test_hint_names_the_ways_to_install_that_program(tmp_path: Path) -> None:
    skill = Skill(
        name="x",
        requires=SkillRequirements(bins=("one", "two", "three")),
        install=(
            SkillInstaller(kind="brew", formula="one-formula", bins=("one",)),
            SkillInstaller(kind="apt", package="one-package", bins=("one",)),
            SkillInstaller(kind="go", module="two.dev/two", bins=("two", "more")),
        ),
    )

    hints = [one.hint for one in check_requirements(skill, _host(tmp_path))]

    assert hints == [
        "brew install one-formula; or: apt install one-package",
        "go install two.dev/two@latest",
        "Install three and put it on PATH",
    ]


def test_no_hint_holds_what_a_shell_would_read_as_more_than_a_word(tmp_path: Path) -> None:
    installs = (SkillInstaller(kind="node", package="one; rm -r notes"), SkillInstaller(label="curl one.dev | sh"))
    skill = Skill(name="x", requires=SkillRequirements(bins=("one",), env=("A; id",)), install=installs)
    bare = Skill(name="x", requires=SkillRequirements(bins=("one; id",)))

    hints = [one.hint for one in check_requirements(skill, _host(tmp_path))]

    assert hints == ["Run: weft skills deps x", "Set A; id, or run: weft skills env x 'A; id'"]
    assert check_requirements(bare, _host(tmp_path))[0].hint == "Install 'one; id' and put it on PATH"


@pytest.mark.parametrize("namespace", ["clawft", "openclaw", "wundr", "clawdbot", "clawdis", "moltbot", "nanobot"])
def test_requirements_of_every_clients_block_are_checked(tmp_path: Path, namespace: str) -> None:
    skill = parse_skill_md(
        f"""---
name: sonoscli
description: Control Sonos speakers.
homepage: https://sonoscli.sh
metadata:
  {{
    "{namespace}":
      {{
        "emoji": "🔊",
        "requires": {{ "bins": ["sonos"] }},
        "install":
          [
            {{
              "id": "go",
              "kind": "go",
              "module": "github.com/steipete/sonoscli/cmd/sonos@latest",
              "bins": ["sonos"],
              "label": "Install sonoscli (go)",
            }},
          ],
      }},
  }}
---

# Sonos CLI
""",
        "sonoscli",
    )

    (unmet,) = check_requirements(skill, _host(tmp_path))

    assert unmet.message == 'skill "sonoscli" requires binary "sonos"'
    assert unmet.hint == "go install github.com/steipete/sonoscli/cmd/sonos@latest"
