"""`weft permissions`, and `--mode`: lasting rules by hand and from Claude's settings."""

import json
import subprocess
import tomllib
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from clawft.cli.root import weft as root
from clawft.errors import ClawftError, NotFound, Refused

Weft = Callable[..., subprocess.CompletedProcess[str]]
SETTINGS = {
    "permissions": {
        "allow": ["Bash(npm run test:*)", "Edit(/src/**)", "Read(*.md)", "NotebookEdit", "Bash(a && b)"],
        "ask": ["Bash(git push:*)"],
        "deny": ["Read(./.env)", "WebFetch(domain:evil.example)"],
        "defaultMode": "bypassPermissions",
        "additionalDirectories": ["../docs"],
    }
}


class Here:
    """A home and a project; commands are run in this process."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.config = self.home / ".clawft" / "config.toml"
        for one in (self.home, self.project / ".clawft"):
            one.mkdir(parents=True)

    def run(self, *args: str) -> tuple[str, str]:
        """What a command printed on both outputs. Raises what it raises."""
        done = CliRunner().invoke(root, args, catch_exceptions=False, standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.stdout, done.stderr

    def json(self, *args: str) -> dict[str, Any]:
        return json.loads(self.run(*args, "--format", "json")[0])  # type: ignore[no-any-return]

    def rules(self) -> dict[str, list[str]]:
        return tomllib.loads(self.config.read_text()).get("permissions", {}) if self.config.exists() else {}

    def audit(self) -> list[tuple[str, str]]:
        lines = (self.home / ".clawft" / "audit.jsonl").read_text().splitlines()
        return [(one["subject"], one["decision"]) for one in map(json.loads, lines)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: MutableMapping[str, str]) -> Here:
    made = Here(tmp_path)
    environ["HOME"] = str(made.home)
    monkeypatch.chdir(made.project)
    for name in {"CLAWFT_HOME", "CLAWFT_PROJECT"} & set(environ):
        del environ[name]
    return made


def test_rules_are_added_moved_listed_and_removed(here: Here) -> None:
    assert here.run("permissions", "allow", "Bash(git push:*)", "github__*")[0] == (
        "allow Bash(git push:*) in ~/.clawft/config.toml\nallow github__* in ~/.clawft/config.toml\n"
    )
    here.run("permissions", "deny", "Bash(git push:*)")
    assert here.rules() == {"allow": ["github__*"], "deny": ["Bash(git push:*)"]}
    listed = here.json("permissions", "list")
    assert (listed["schema"], listed["mode"]) == ("clawft.permissions.list.v1", "auto-edit")
    assert [(one["kind"], one["pattern"]) for one in listed["rules"]] == [
        ("deny", "Bash(git push:*)"),
        ("allow", "github__*"),
    ]
    assert here.json("permissions", "remove", "Bash(git push:*)")["was"] == ["deny"]
    assert here.rules() == {"allow": ["github__*"]}
    assert here.audit() == [
        ("rule allow Bash(git push:*)", "allowed"),
        ("rule allow github__*", "allowed"),
        ("rule deny Bash(git push:*)", "allowed"),
        ("rule allow Bash(git push:*)", "revoked"),
        ("rule deny Bash(git push:*)", "revoked"),
    ]


def test_a_mode_that_a_project_cannot_choose_is_said(here: Here) -> None:
    config = here.project / ".clawft" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text('[agents.defaults]\nmode = "full"\n[sandbox]\nmode = "off"\n[runs]\nqueue = "theirs"\n')
    assert here.run("config", "trust", "--yes")[0] == "Approved .clawft/config.toml\n"
    for command in (("permissions", "list"), ("config", "show")):
        said = [one["code"] for one in here.json(*command)["diagnostics"]]
        assert said == ["sandbox-ignored", "runs-ignored", "mode-ignored"]
    assert here.json("permissions", "list")["mode"] == "auto-edit"


def test_every_section_that_only_the_user_can_set_is_said_where_a_project_sets_it(here: Here) -> None:
    config = here.project / ".clawft" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(
        "[hooks]\npersistent = true\n[plugins.load]\nextra_dirs = ['theirs']\n[gateway]\nmax_pending = 5\n"
        "[registries.theirs]\nurl = 'https://theirs.example'\n[hub]\nport = 4000\n[serve]\nport = 4001\n"
        "[memory]\nbackend = 'theirs'\n[skills.security]\nrequire_signature = true\n"
    )
    here.run("config", "trust", "--yes")
    assert [one["code"] for one in here.json("config", "show")["diagnostics"]] == [
        "hooks-ignored",
        "plugins-ignored",
        "gateway-ignored",
        "registries-ignored",
        "hub-ignored",
        "serve-ignored",
        "memory-ignored",
        "signatures-ignored",
    ]


def test_rules_read_well_without_json(here: Here) -> None:
    assert here.run("permissions", "list")[1] == (
        "No rules. Add one: weft permissions allow 'Bash(make test)'\n"
        "mode auto-edit: edits the project, fetches, remembers and runs commands in the sandbox; "
        "asks for what leaves it\n"
    )
    assert here.json("permissions", "ask", "Bash(git push:*)")["changed"] is True
    assert here.run("permissions", "ask", "Bash(git push:*)")[0] == (
        "ask Bash(git push:*) in ~/.clawft/config.toml (it was there)\n"
    )
    assert [line.split() for line in here.run("permissions", "list")[0].splitlines()] == [
        ["RULE", "PATTERN", "FROM"],
        ["ask", "Bash(git", "push:*)", "~/.clawft/config.toml"],
    ]
    assert here.run("permissions", "remove", "Bash(git push:*)")[0] == (
        "Removed ask Bash(git push:*) from ~/.clawft/config.toml\n"
    )


def test_rule_that_is_not_understood_is_not_written(here: Here) -> None:
    with pytest.raises(ClawftError, match="is not understood: it is no single plain command"):
        here.run("permissions", "allow", "Bash(a; b)")
    assert here.rules() == {}


def test_rule_that_allows_everything_is_warned_about(here: Here) -> None:
    assert "'sudo' runs other commands or code" in here.run("permissions", "allow", "Bash(sudo:*)")[1]
    assert "'Bsh' is no tool that is known here" in here.run("permissions", "deny", "Bsh")[1]


def test_rule_that_is_not_there_gets_the_close_match(here: Here) -> None:
    here.run("permissions", "deny", "Bash(rm:*)")
    with pytest.raises(NotFound, match="no rule") as raised:
        here.run("permissions", "remove", "Bash(rm)")
    assert raised.value.hint == "did you mean 'Bash(rm:*)'?"


def test_projects_rules_stand_in_the_projects_file_and_add_up(here: Here) -> None:
    here.run("permissions", "deny", "Bash(rm:*)")
    here.run("permissions", "allow", "Bash(make:*)", "--scope", "project")
    listed = here.json("permissions", "list")["rules"]
    assert [(one["pattern"], Path(one["source"]).parent.parent.name) for one in listed] == [
        ("Bash(rm:*)", "home"),
        ("Bash(make:*)", "project"),
    ]


def write_settings(folder: Path, settings: object) -> None:
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text(json.dumps(settings))


def test_import_shows_what_each_rule_becomes_and_drops_nothing_silently(here: Here) -> None:
    write_settings(here.project, SETTINGS)
    found = here.json("permissions", "import", "--dry-run")

    became = {one["text"]: (one["becomes"], one["note"]) for one in found["rules"]}
    project = str(here.project)
    assert len(became) == 10
    assert became["Bash(npm run test:*)"][0] == "Bash(npm run test:*)"
    assert became["Edit(/src/**)"][0] == f"Edit({project}/src/**)"
    assert became["Read(*.md)"][0] == f"Read({project}/**/*.md)"
    assert became["Read(./.env)"][0] == f"Read({project}/.env)"
    assert became["NotebookEdit"] == (None, "there is no tool 'NotebookEdit' here")
    assert became["Bash(a && b)"] == (None, "not understood: it is no single plain command")
    assert became["bypassPermissions"][0] is None
    assert "agents.defaults.mode full" in became["bypassPermissions"][1]
    assert became["../docs"][0] is None
    assert (found["written"], here.config.exists()) == (False, False)


def test_import_writes_after_a_yes_only(here: Here) -> None:
    write_settings(here.project, SETTINGS)
    write_settings(here.home, {"permissions": {"deny": ["WebSearch"], "defaultMode": "plan"}})
    with pytest.raises(Refused, match="needs a yes"):
        here.run("permissions", "import")
    assert not here.config.exists()

    here.run("permissions", "import", "--yes")

    assert here.rules()["ask"] == ["Bash(git push:*)"]
    assert here.rules()["deny"][1:] == ["WebFetch(domain:evil.example)", "WebSearch"]
    assert tomllib.loads(here.config.read_text())["agents"]["defaults"]["mode"] == "plan"
    assert here.json("permissions", "list")["mode"] == "plan"


def test_import_of_other_paths_and_modes(here: Here) -> None:
    settings = {"allow": ["Read(//etc/hosts)", "Read(~/x)"], "ask": ["github__*"], "defaultMode": "dontAsk"}
    write_settings(here.project, {"permissions": settings})
    found = here.json("permissions", "import", "--dry-run", "--scope", "project")
    assert [(one["text"], one["becomes"]) for one in found["rules"]] == [
        ("github__*", "github__*"),
        ("Read(//etc/hosts)", "Read(/etc/hosts)"),
        ("Read(~/x)", "Read(~/x)"),
        ("dontAsk", None),
    ]


def test_import_for_the_project_keeps_paths_relative(here: Here) -> None:
    write_settings(here.project, SETTINGS)
    found = here.json("permissions", "import", "--dry-run", "--scope", "project")
    became = {one["text"]: one["becomes"] for one in found["rules"]}
    assert (became["Edit(/src/**)"], became["Read(*.md)"]) == ("Edit(./src/**)", "Read(*.md)")


def test_import_takes_a_file_and_says_what_is_wrong_with_it(here: Here) -> None:
    (here.project / "x.json").write_text('{"permissions": {"allow": ["Read"]}}')
    (here.project / "bad.json").write_text("{")
    assert here.json("permissions", "import", "x.json", "--dry-run")["rules"][0]["becomes"] == "Read"
    with pytest.raises(ClawftError, match="no JSON"):
        here.run("permissions", "import", "bad.json")
    with pytest.raises(NotFound, match="No settings"):
        here.run("permissions", "import")


def test_mode_by_flag_is_written_down(weft: Weft, project: Path) -> None:
    assert weft("agent", "-m", "hello", "--mode", "plan").returncode == 0
    lines = (project.parent / "home" / ".clawft" / "audit.jsonl").read_text().splitlines()
    modes = [one for one in map(json.loads, lines) if one["kind"] == "mode"]
    assert [(one["subject"], one["rule"]) for one in modes] == [("plan", "--mode")]


def test_a_rule_that_denies_to_read_what_git_tracks_says_so(here: Here) -> None:
    """What is tracked is in git's objects, which no sandbox can hide from commands."""
    for name in ("secrets/a.txt", "secrets/b.txt", "src/c.txt", ".env"):
        (here.project / name).parent.mkdir(exist_ok=True)
        (here.project / name).write_text("x")
    subprocess.run(["git", "init", "-q"], cwd=here.project, check=True, timeout=60)
    subprocess.run(["git", "add", "secrets", "src"], cwd=here.project, check=True, timeout=60)
    said = here.run("permissions", "deny", "Read(secrets/**)")[1]
    assert "warning[rule-tracked]: Read(secrets/**) denies to read 2 files that git tracks: secrets/a.txt and" in said
    assert "rule-tracked" not in here.run("permissions", "deny", "Read(.env)", "Edit(src/**)", "Bash(rm:*)")[1]
    assert "warning[rule-tracked]: Read(secrets/**)" in here.run("permissions", "list")[1]
    codes = [one["code"] for one in here.json("permissions", "list")["diagnostics"]]
    assert codes == ["rule-tracked"]
    assert [one["code"] for one in here.json("permissions", "deny", "Read(src)")["diagnostics"]] == ["rule-tracked"]


def test_a_rule_is_compared_with_what_git_tracks_from_a_folder_below_its_root(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.project / ".clawft").rmdir()
    inner = here.project / "inner"
    (inner / ".clawft").mkdir(parents=True)
    (inner / "key.txt").write_text("x")
    subprocess.run(["git", "init", "-q"], cwd=here.project, check=True, timeout=60)
    subprocess.run(["git", "update-index", "--index-version", "4"], cwd=here.project, check=True, timeout=60)
    subprocess.run(["git", "add", "."], cwd=here.project, check=True, timeout=60)
    monkeypatch.chdir(inner)
    assert "1 file that git tracks: key.txt" in here.run("permissions", "deny", "Read(key.txt)")[1]
