"""The composition root: from an environment to skills and agents with their states."""

import sys
from pathlib import Path

import pytest

from clawft.app.app import App, open_app
from clawft.errors import ClawftError, NotFound


def _open(tmp_path: Path, *dirs: str, **environ: str) -> App:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "project" / ".clawft").mkdir(parents=True, exist_ok=True)
    return open_app({"HOME": str(tmp_path / "home"), "PATH": "", **environ}, str(tmp_path / "project"), dirs)


def _approved(tmp_path: Path) -> App:
    """The app, after the user approved what waited for it."""
    app = _open(tmp_path)
    app.reviewer.approve([app.reviewer.review(one.found) for one in app.skills if one.state == "untrusted"])
    app.reviewer.approve([app.reviewer.review_agent(one.found) for one in app.agents if one.state == "untrusted"])
    return app.refresh()


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _skill(folder: Path, description: str, extra: str = "") -> Path:
    return _write(folder / "SKILL.md", f"---\nname: {folder.name}\ndescription: {description}\n{extra}---\n\nBody.\n")


def _states(app: App) -> dict[str, str]:
    return {
        f"{one.found.location.scope}:{one.name}": one.state
        for one in app.skills
        if one.found.location.scope != "bundled"
    }


def test_higher_layer_wins(tmp_path: Path) -> None:
    _skill(tmp_path / "project" / ".clawft" / "skills" / "shared", "Project version")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "shared", "User version")
    app = _approved(tmp_path)

    standing = app.get_skill("shared")

    assert standing.found.skill is not None
    assert standing.found.skill.description == "Project version"
    assert _states(app) == {"project:shared": "ready", "user:shared": "shadowed"}


def test_higher_layer_that_nobody_approved_hides_nothing(tmp_path: Path) -> None:
    _skill(tmp_path / "project" / ".clawft" / "skills" / "shared", "Project version")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "shared", "User version")
    app = _open(tmp_path)

    assert _states(app) == {"project:shared": "untrusted", "user:shared": "ready"}
    assert app.get_skill("shared").found.location.scope == "user"
    assert [one.code for one in app.get_skill("project:shared").reasons] == ["untrusted", "not-hiding"]


def test_shadowed_skill_is_reached_by_its_scope(tmp_path: Path) -> None:
    _skill(tmp_path / "project" / ".clawft" / "skills" / "shared", "Project version")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "shared", "User version")

    standing = _approved(tmp_path).get_skill("user:shared")

    assert standing.state == "shadowed"
    assert standing.found.location.scope == "user"
    assert standing.user_may_invoke


def test_usable_skill_is_preferred_to_a_broken_one_of_its_name(tmp_path: Path) -> None:
    _write(tmp_path / "project" / "skills" / "shared" / "SKILL.md", "---\nname: shared\n")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "shared", "User version")

    assert _open(tmp_path).get_skill("shared").state == "ready"
    assert _open(tmp_path).get_skill("project:shared").state == "broken"


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("reserch", "did you mean 'research'? Run: weft skills list"),
        ("user:reserch", "did you mean 'research'? Run: weft skills list"),
        ("user:research", "did you mean 'research'? Run: weft skills list"),
        ("zzz", "Run: weft skills list"),
        ("", "Run: weft skills list"),
        (":", "Run: weft skills list"),
    ],
)
def test_unknown_skill_gets_the_close_match(tmp_path: Path, reference: str, hint: str) -> None:
    _skill(tmp_path / "project" / "skills" / "research", "d")

    with pytest.raises(NotFound) as caught:
        _open(tmp_path).get_skill(reference)

    assert str(caught.value) == f"No skill '{reference}'"
    assert (caught.value.code, caught.value.hint) == ("skill-not-found", hint)


def test_unknown_agent_gets_the_close_match(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        _open(tmp_path).get_agent("planer")

    assert caught.value.code == "agent-not-found"
    assert caught.value.hint == "did you mean 'planner'? Run: weft agents list"


def test_custom_agent_overrides_a_built_in_one(tmp_path: Path) -> None:
    _write(
        tmp_path / "home" / ".clawft" / "agents" / "explore.yaml",
        "name: explore\ndescription: Custom explorer\nmodel: custom/model\n",
    )
    app = _open(tmp_path)

    agent = app.get_agent("explore").found.agent

    assert agent is not None
    assert (agent.model, agent.description) == ("custom/model", "Custom explorer")
    assert [(one.found.scope, one.state) for one in app.agents if one.found.name == "explore"] == [
        ("user", "ready"),
        ("built-in", "shadowed"),
    ]


def test_project_agent_overrides_user_agent_overrides_built_in(tmp_path: Path) -> None:
    for base in ("project", "home"):
        _write(tmp_path / base / ".clawft" / "agents" / "coder.md", f"---\ndescription: {base}\n---\n\nPrompt.\n")

    app = _approved(tmp_path)

    assert [(one.found.scope, one.state) for one in app.agents if one.found.name == "coder"] == [
        ("project", "ready"),
        ("user", "shadowed"),
        ("built-in", "shadowed"),
    ]


def test_project_agent_that_nobody_approved_hides_nothing(tmp_path: Path) -> None:
    _write(tmp_path / "project" / ".clawft" / "agents" / "coder.md", "---\ndescription: Theirs\n---\n\nPrompt.\n")

    app = _open(tmp_path)

    assert [(one.found.scope, one.state) for one in app.agents if one.found.name == "coder"] == [
        ("project", "untrusted"),
        ("built-in", "ready"),
    ]


def test_broken_agent_does_not_hide_the_built_in_one(tmp_path: Path) -> None:
    _write(tmp_path / "project" / ".clawft" / "agents" / "coder.yaml", "- no mapping\n")

    standing = _open(tmp_path).get_agent("coder")

    assert (standing.state, standing.found.scope) == ("ready", "built-in")


def test_agents_are_files_and_never_config_entries(tmp_path: Path) -> None:
    _write(tmp_path / "home" / ".clawft" / "config.toml", '[agents.mine]\ndescription = "x"\n')

    assert "mine" not in [one.found.name for one in _open(tmp_path).agents]


def test_config_reaches_states_and_requirements(tmp_path: Path) -> None:
    _skill(tmp_path / "home" / ".clawft" / "skills" / "off", "d")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "keyed", "d", "requires: {env: [SOME_KEY]}\n")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "poor", "d", "requires: {env: [OTHER_KEY]}\n")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "set", "d", "requires: {config: [channels.slack.token]}\n")
    _write(
        tmp_path / "home" / ".clawft" / "config.toml",
        "[skills.entries.off]\nenabled = false\n[skills.entries.keyed.env]\nSOME_KEY = 'k'\n"
        "[skills.config.channels.slack]\ntoken = 'x'\n",
    )

    assert _states(_open(tmp_path)) == {
        "user:keyed": "ready",
        "user:off": "disabled",
        "user:poor": "ineligible",
        "user:set": "ready",
    }


def test_environment_given_is_the_one_that_counts(tmp_path: Path) -> None:
    _skill(tmp_path / "home" / ".clawft" / "skills" / "keyed", "d", "requires: {env: [SOME_KEY_OF_A_TEST]}\n")

    assert _states(_open(tmp_path)) == {"user:keyed": "ineligible"}
    assert _states(_open(tmp_path, SOME_KEY_OF_A_TEST="x")) == {"user:keyed": "ready"}


def test_extra_dirs_of_the_config_are_searched_last(tmp_path: Path) -> None:
    _skill(tmp_path / "more" / "shared", "Extra version")
    _skill(tmp_path / "more" / "own", "Extra only")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "shared", "User version")
    _write(
        tmp_path / "home" / ".clawft" / "config.json", f'{{"skills": {{"load": {{"extraDirs": ["{tmp_path}/more"]}}}}}}'
    )

    assert _states(_open(tmp_path)) == {"user:shared": "ready", "extra:own": "ready", "extra:shared": "shadowed"}


def test_named_folders_are_all_that_is_searched(tmp_path: Path) -> None:
    _skill(tmp_path / "project" / "skills" / "not-this", "d")
    _skill(tmp_path / "left" / "one", "d")
    _skill(tmp_path / "right" / "two", "d")

    app = _open(tmp_path, "../left", str(tmp_path / "right" / "two"))

    assert [(one.name, one.found.location.scope) for one in app.skills] == [("one", "dir"), ("two", "dir")]


def test_system_of_this_machine_is_known(tmp_path: Path) -> None:
    here = {"linux": "linux", "darwin": "macos", "win32": "windows"}[sys.platform]
    _skill(tmp_path / "home" / ".clawft" / "skills" / "here", "d", f"os: [{here}]\n")
    _skill(tmp_path / "home" / ".clawft" / "skills" / "nowhere", "d", "os: [templeos]\n")

    assert _states(_open(tmp_path)) == {"user:here": "ready", "user:nowhere": "ineligible"}


def test_limit_of_the_prompt_comes_from_the_config(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "skills" / "long"
    _skill(folder, "d")
    _write(folder / "SKILL.md", (folder / "SKILL.md").read_text() + "x" * 1000)
    _write(tmp_path / "home" / ".clawft" / "config.toml", "[skills]\nmax_skill_prompt_bytes = 100\n")
    app = _open(tmp_path)

    skill = app.load_prompt(app.get_skill("long").found)

    assert len(skill.prompt or "") == 100
    assert "body-truncated" in [one.code for one in skill.diagnostics]


def test_sidecar_of_codex_is_heeded_whenever_it_comes_and_goes(tmp_path: Path) -> None:
    _skill(tmp_path / "home" / ".clawft" / "skills" / "codex", "d")
    sidecar = tmp_path / "home" / ".clawft" / "skills" / "codex" / "agents" / "openai.yaml"

    def seen() -> tuple[str, str, str]:
        app = _open(tmp_path)
        standing = app.get_skill("codex")
        assert standing.found.skill is not None
        return standing.found.skill.display_name, standing.state, app.load_prompt(standing.found).display_name

    assert seen() == ("", "ready", "")
    _write(sidecar, "interface:\n  display_name: First\npolicy:\n  allow_implicit_invocation: false\n")
    assert seen() == ("First", "manual", "First")
    _write(sidecar, "interface:\n  display_name: Other\n")
    assert seen() == ("Other", "ready", "Other")
    sidecar.unlink()
    assert seen() == ("", "ready", "")


def test_sidecar_that_depends_on_a_server_makes_the_skill_ineligible(tmp_path: Path) -> None:
    _skill(tmp_path / "home" / ".clawft" / "skills" / "codex", "d")
    _write(
        tmp_path / "home" / ".clawft" / "skills" / "codex" / "agents" / "openai.yaml",
        "dependencies:\n  tools:\n    - {type: mcp, value: github}\n",
    )

    standing = _open(tmp_path).get_skill("codex")

    assert [one.message for one in standing.reasons] == ['skill "codex" requires tool "github__*"']


@pytest.mark.parametrize("text", ["[not a mapping]", "a: [unclosed", "\0", "interface: no mapping"])
def test_bad_sidecar_is_said_and_the_skill_stays(tmp_path: Path, text: str) -> None:
    _skill(tmp_path / "home" / ".clawft" / "skills" / "codex", "d")
    _write(tmp_path / "home" / ".clawft" / "skills" / "codex" / "agents" / "openai.yaml", text)

    standing = _open(tmp_path).get_skill("codex")

    assert standing.state == "ready"
    (said,) = standing.found.diagnostics
    assert said.severity == "warning"
    assert said.path.endswith("agents/openai.yaml")


def test_sidecar_that_is_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    _write(tmp_path / "secret", "interface:\n  display_name: top secret\n")
    folder = tmp_path / "project" / "skills" / "thief"
    _skill(folder, "d")
    (folder / "agents").mkdir()
    (folder / "agents" / "openai.yaml").symlink_to(tmp_path / "secret")

    standing = _open(tmp_path).get_skill("thief")

    assert [one.code for one in standing.found.diagnostics] == ["link-leaves-root"]
    assert "top secret" not in repr(standing)


def test_bad_config_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    path = _write(tmp_path / "home" / ".clawft" / "config.toml", "[skills]\n\nenabeld = true\n")

    with pytest.raises(ClawftError) as caught:
        _ = _open(tmp_path).skills

    assert caught.value.diagnostic.where == f"{path}:3"
    assert "enabled" in caught.value.hint


def test_opening_writes_nothing_and_reading_writes_only_into_the_user_folder(tmp_path: Path) -> None:
    _skill(tmp_path / "project" / "skills" / "one", "d")
    app = _open(tmp_path)
    before = sorted((tmp_path / "project").rglob("*"))
    assert list((tmp_path / "home").iterdir()) == []

    assert app.skills
    assert app.agents

    assert sorted((tmp_path / "project").rglob("*")) == before
    assert {path.relative_to(tmp_path / "home").parts[0] for path in (tmp_path / "home").rglob("*")} <= {".clawft"}
