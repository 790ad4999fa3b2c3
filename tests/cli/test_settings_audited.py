"""Every change of a setting is a line of the audit log: what protects the user is not lowered unseen."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]


def lines(project: Path, kind: str = "setting") -> list[dict[str, Any]]:
    path = project.parent / "home" / ".clawft" / "audit.jsonl"
    every = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return [line for line in every if line["kind"] == kind]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sandbox.mode", '"off"'),
        ("sandbox.if_unavailable", '"ask"'),
        ("sandbox.writable", '["/srv"]'),
        ("permissions.allow", '["*"]'),
        ("permissions.deny", "[]"),
        ("tools.exec.mode", '"disabled"'),
        ("tools.exec.also_allowed", '["rm"]'),
        ("tools.web.block_private_ips", "false"),
        ("tools.web.blocked_domains", "[]"),
        ("skills.security.block_critical", "false"),
        ("skills.security.require_signature", "false"),
        ("skills.security.allowed_command_prefixes", '["sh"]'),
        ("skills.load.extra_dirs", '["/srv/skills"]'),
        ("agents.defaults.mode", '"full"'),
        ("mcp.servers.x.trusted", "true"),
        ("mcp.servers.x.sandbox", '"none"'),
        ("hooks.enabled", "true"),
        ("serve.host", '"0.0.0.0"'),
    ],
)
def test_a_setting_that_is_changed_is_a_line(weft: Weft, project: Path, key: str, value: str) -> None:
    done = weft("config", "set", key, json.loads(value) if value.startswith('"') else value)
    assert done.returncode == 0, done.stderr
    (line,) = lines(project)
    assert (line["subject"], line["decision"]) == (f"{key} = {value}", "allowed")
    assert line["rule"] == "the user's config"
    assert weft("audit", "verify").returncode == 0


def test_the_line_tells_what_it_was_before_and_that_it_was_taken_out(weft: Weft, project: Path) -> None:
    weft("config", "set", "sandbox.mode", "off")
    weft("config", "set", "sandbox.mode", "off")  # as it is already
    weft("config", "set", "sandbox.mode", "auto")
    weft("config", "set", "sandbox.mode", "--unset")
    assert [(one["subject"], one["detail"].get("before")) for one in lines(project)] == [
        ('sandbox.mode = "off"', None),
        ('sandbox.mode = "auto"', '"off"'),
        ("sandbox.mode taken out", '"auto"'),
    ]


def test_a_projects_setting_is_told_as_such(weft: Weft, project: Path) -> None:
    (project / ".clawft").mkdir(exist_ok=True)
    assert weft("config", "set", "--scope", "project", "tools.exec.mode", "disabled").returncode == 0
    assert [one["rule"] for one in lines(project)] == ["the project's config"]


def test_no_secret_of_a_setting_is_in_the_log(weft: Weft, project: Path) -> None:
    weft("config", "set", "providers.x.wire", "openai")
    weft("config", "set", "--literal", "providers.x.api_key", "hunter2-hunter2-hunter2")
    weft("config", "set", "providers.x.headers", '{"X-Key": "abcdef-0123456789"}')
    text = json.dumps(lines(project))
    assert len(lines(project)) == 3
    assert "hunter2" not in text
    assert "abcdef" not in text


def test_what_others_settings_hold_is_not_in_the_log_since_nobody_knows_whether_it_is_secret(
    weft: Weft, project: Path
) -> None:
    for value in ("correct horse", "battery staple"):
        assert weft("config", "set", "plugins.entries.x.config.pin", value).returncode == 0
        assert weft("config", "set", "skills.config.mail.words", value).returncode == 0
    text = json.dumps(lines(project))
    assert len(lines(project)) == 4
    assert "plugins.entries.x.config.pin" in text
    assert "horse" not in text
    assert "staple" not in text


def test_a_setting_is_not_changed_where_that_cannot_be_written_down(weft: Weft, project: Path) -> None:
    user = project.parent / "home" / ".clawft"
    (user / "audit.jsonl").mkdir(parents=True)
    done = weft("config", "set", "sandbox.mode", "off")
    assert done.returncode == 3
    assert "audit" in done.stderr
    assert not (user / "config.toml").exists()


def test_switches_of_skills_and_imports_are_lines_and_rules_are_told_once(weft: Weft, project: Path) -> None:
    skill = project.parent / "home" / ".clawft" / "skills" / "mine"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: mine\ndescription: Mine.\n---\nDo it.\n")
    weft("skills", "disable", "mine")
    weft("permissions", "allow", "Bash(git:*)")
    settings = {"permissions": {"defaultMode": "plan", "allow": ["WebSearch"]}}
    (project.parent / "home" / ".claude").mkdir()
    (project.parent / "home" / ".claude" / "settings.json").write_text(json.dumps(settings))
    weft("permissions", "import", "--yes")
    assert [one["subject"] for one in lines(project)] == [
        "skills.entries.mine.enabled = false",
        'agents.defaults.mode = "plan"',
    ]
    assert [one["subject"] for one in lines(project, "approval")] == ["rule allow Bash(git:*)", "rule allow WebSearch"]


def test_the_set_up_writes_lines_too(weft: Weft, project: Path) -> None:
    (project.parent / "home" / ".clawft").mkdir(parents=True)
    (project.parent / "home" / ".clawft" / "script.json").write_text('{"steps": [{"text": "Hello."}], "loop": true}')
    provider = {"wire": "scripted", "script": str(project.parent / "home" / ".clawft" / "script.json")}
    weft("config", "set", "providers.s", json.dumps(provider))
    done = weft("onboard", "--yes", "--model", "s/m")
    assert done.returncode == 0, done.stderr
    assert lines(project)[-1]["subject"] == 'agents.defaults.model = "s/m"'


def test_that_a_project_is_trusted_for_one_run_is_a_line(weft: Weft, project: Path) -> None:
    assert weft("agent", "-m", "hello", "--trust-project-skills").returncode == 0
    (line,) = lines(project, "approval")
    assert (line["subject"], line["decision"]) == (f"skills and agents of {project}", "allowed once")
    assert line["rule"] == "--trust-project-skills"
