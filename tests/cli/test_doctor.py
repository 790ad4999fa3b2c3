"""`weft doctor` and `weft config path`: where things are, and whether they are in order."""

import json
import os
import shlex
import sqlite3
import subprocess
import sysconfig
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clawft.cli.doctor.files import check_space
from wire import WireServer, fail, say

Weft = Callable[..., subprocess.CompletedProcess[str]]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def diagnose(weft: Weft) -> Callable[..., tuple[int, list[dict[str, Any]]]]:
    """The exit code of `weft doctor ARGS…`, and all that it found that is not in order."""

    def run(*args: str, **environ: str) -> tuple[int, list[dict[str, Any]]]:
        headless = "keyring.backends.fail.Keyring"
        done = weft("doctor", *args, "--format", "json", **{"PYTHON_KEYRING_BACKEND": headless, **environ})
        assert done.stderr == ""
        return done.returncode, [one for one in json.loads(done.stdout)["checks"] if one["status"] != "ok"]

    return run


@pytest.fixture
def mend(project: Path, child_env: dict[str, str]) -> Callable[[dict[str, Any]], None]:
    """Run the command that a check names."""

    def run(check: dict[str, Any]) -> None:
        assert check["why"]
        subprocess.run(["sh", "-c", check["fix"]], cwd=project, env=child_env, check=True, capture_output=True)

    return run


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".clawft"
    folder.mkdir(mode=0o700, parents=True)
    return folder


def _of(checks: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [one for one in checks if one["name"] == name]


Diagnose = Callable[..., tuple[int, list[dict[str, Any]]]]
Mend = Callable[[dict[str, Any]], None]


def test_doctor_is_content_with_an_empty_project(weft: Weft) -> None:
    done = weft("doctor")

    assert (done.returncode, done.stderr) == (0, "")
    assert "✗" not in done.stdout
    assert "✓ project: . (the current folder" in done.stdout
    assert "none; defaults are used" in done.stdout


def test_doctor_names_what_is_searched_and_what_is_not_there(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "skills" / "one" / "SKILL.md", "---\nname: one\ndescription: d\n---\n")

    done = weft("doctor")

    assert "✓ project: . (marked)" in done.stdout
    assert "searched: .clawft/skills (project): 1 skill\n" in done.stdout
    assert "~/.claude" in next(line for line in done.stdout.splitlines() if "not there: skills of user" in line)


def test_doctor_exits_1_for_a_broken_skill_and_a_broken_agent(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "bad" / "SKILL.md", "---\nname: bad\n")
    _write(project / ".clawft" / "agents" / "worse.yaml", "- a list\n")

    done = weft("doctor")

    assert done.returncode == 1
    assert "✗ broken skill: skills/bad/SKILL.md:1: " in done.stdout
    assert "✗ broken agent: .clawft/agents/worse.yaml: " in done.stdout


def test_doctor_survives_a_broken_config_and_names_it(weft: Weft, tmp_path: Path) -> None:
    _write(tmp_path / "home" / ".clawft" / "config.toml", "[skills]\nenabeld = true\n")

    done = weft("doctor")

    assert done.returncode == 1
    assert "✗ config: " in done.stdout
    assert "config.toml:2" in done.stdout
    assert "enabled" in done.stdout
    assert "Traceback" not in done.stderr


def test_json_of_doctor(weft: Weft, project: Path) -> None:
    _write(project / "skills" / "bad" / "SKILL.md", "---\nname: bad\n")

    done = weft("doctor", "--format", "json")

    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"], document["ok"]) == (1, "clawft.doctor.v1", False)
    assert {one["status"] for one in document["checks"]} <= {"ok", "note", "problem"}
    assert "broken skill" in [one["name"] for one in document["checks"] if one["status"] == "problem"]


def test_config_path_lists_the_files_lowest_first(weft: Weft, project: Path, tmp_path: Path) -> None:
    _write(project / ".clawft" / "config.toml", "")

    done = weft("config", "path")

    home = tmp_path / "home" / ".clawft"
    assert done.stdout.splitlines() == [
        f"{home}/config.toml (not there)",
        f"{home}/config.json (not there)",
        f"{project}/.clawft/config.toml",
        f"{project}/.clawft/config.json (not there)",
    ]


def test_json_of_config_path(weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "config.json", "{}")

    document = json.loads(weft("config", "path", "--format", "json").stdout)

    assert document["schema"] == "clawft.config.path.v1"
    assert [one["exists"] for one in document["files"]] == [False, False, False, True]


def test_config_path_follows_clawft_home(weft: Weft, tmp_path: Path) -> None:
    done = weft("config", "path", CLAWFT_HOME=str(tmp_path / "moved"))

    assert done.stdout.startswith(f"{tmp_path}/moved/config.toml")


def test_offline_is_a_note_with_the_way_to_a_model(diagnose: Diagnose) -> None:
    code, checks = diagnose()

    assert code == 0
    assert [one["fix"] for one in _of(checks, "model")] == ["weft onboard"]


def test_missing_key_is_a_problem_until_it_is_there(diagnose: Diagnose, user: Path) -> None:
    _write(user / "config.toml", '[agents.defaults]\nmodel = "openai/some"\n')

    code, checks = diagnose()

    problem = _of(checks, "model")[0]
    assert (code, problem["status"], problem["fix"]) == (1, "problem", "weft onboard")
    assert "OPENAI_API_KEY" in problem["message"]
    assert problem["why"] == "no turn is answered"
    assert diagnose(OPENAI_API_KEY="sk-test-0123456789")[0] == 0


def test_unknown_provider_and_a_tier_without_one_are_problems(diagnose: Diagnose, user: Path) -> None:
    _write(user / "config.toml", '[agents.defaults]\nmodel = "opnai/x"\n[[agents.routing.tiers]]\nmodel = "nope/x"\n')

    code, checks = diagnose()

    assert code == 1
    assert "No provider 'opnai'" in _of(checks, "model")[0]["message"]
    assert "nope/x" in _of(checks, "routing")[0]["why"]


def test_server_of_this_machine_that_is_down_is_a_problem(diagnose: Diagnose, user: Path) -> None:
    _write(
        user / "config.toml",
        '[agents.defaults]\nmodel = "ollama/x"\n[providers.ollama]\nbase_url = "http://127.0.0.1:9/v1"\n',
    )

    code, checks = diagnose()

    assert (code, _of(checks, "model")[0]["fix"]) == (1, "ollama serve")


def test_model_that_a_server_does_not_list_is_said(diagnose: Diagnose, user: Path) -> None:
    with WireServer(models=("a", "b:latest")) as server:
        text = '[agents.defaults]\nmodel = "ollama/{}"\n[providers.ollama]\nbase_url = "{}"\n'
        found = {}
        for model in ("a", "b", "c"):
            _write(user / "config.toml", text.format(model, server.url))
            found[model] = [one["fix"] for one in _of(diagnose()[1], "model")]

    assert found == {"a": [], "b": [], "c": ["ollama pull c"]}


def test_online_makes_a_call_and_tells_how_it_went(diagnose: Diagnose, weft: Weft, user: Path) -> None:
    with WireServer([say("ready"), fail(401, "bad key sk-test-0123456789")]) as server:
        _write(
            user / "config.toml",
            f"""[agents.defaults]
model = "work/x"
[providers.work]
base_url = "{server.url}"
api_key = {{ env = "WORK" }}
""",
        )
        well = weft("doctor", "--online", WORK="sk-test-0123456789")
        code, checks = diagnose("--online", WORK="sk-test-0123456789")

    assert well.returncode == 0
    assert "✓ model: work/x answered after" in well.stdout
    assert (code, len(server.asked)) == (1, 2)
    problem = _of(checks, "model")[0]
    assert "401" in problem["message"]
    assert "sk-test" not in json.dumps(checks)


def test_stored_keys_that_others_may_read_are_mended(diagnose: Diagnose, mend: Mend, user: Path) -> None:
    _write(user / "keys.json", '{"version": 1, "keys": {"work": "sk-test-0123456789"}}')
    _write(user / "config.toml", '[providers.work]\napi_key = { keystore = "work" }\n')
    (user / "keys.json").chmod(0o644)

    code, checks = diagnose()

    problem = _of(checks, "keys")[0]
    assert (code, problem["status"]) == (1, "problem")
    mend(problem)
    assert diagnose()[0] == 0
    assert _of(diagnose()[1], "keys") == []


def test_damaged_keys_and_a_key_that_is_not_stored_are_said(diagnose: Diagnose, mend: Mend, user: Path) -> None:
    _write(user / "keys.json", "{")
    (user / "keys.json").chmod(0o600)
    _write(user / "config.toml", '[providers.work]\napi_key = { keystore = "work" }\n')

    code, checks = diagnose()

    assert code == 1
    mend(_of(checks, "keys")[0])
    code, checks = diagnose()
    assert (code, _of(checks, "keys")[0]["message"]) == (0, "No key 'work' is stored")
    assert _of(checks, "keys")[0]["why"] == "providers.work.api_key names it"


def test_servers_that_cannot_start_are_said_with_what_helps(diagnose: Diagnose, mend: Mend, user: Path) -> None:
    _write(
        user / "config.toml",
        """[mcp.servers.gone]
command = "no-such-program"
[mcp.servers.unset]
command = "sh"
env = { TOKEN = "${NO_SUCH_TOKEN}" }
[mcp.servers.both]
command = "sh"
url = "https://tools.example.com/mcp"
[mcp.servers.fine]
command = "sh"
[mcp.servers.own]
command = "./tool"
[mcp.servers.off]
command = "no-such-program"
enabled = false
""",
    )

    code, checks = diagnose()

    assert code == 0
    fixes = [one["fix"] for one in _of(checks, "mcp")]
    assert fixes == [
        "weft config set mcp.servers.gone.enabled false",
        "export NO_SUCH_TOKEN=VALUE",
        "weft config set mcp.servers.both.enabled false",
        "weft config set mcp.servers.own.enabled false",
    ]
    for check in _of(checks, "mcp"):
        if check["fix"].startswith("weft"):
            mend(check)
    assert [one["fix"] for one in _of(diagnose()[1], "mcp")] == ["export NO_SUCH_TOKEN=VALUE"]
    assert _of(diagnose(NO_SUCH_TOKEN="x")[1], "mcp") == []


def test_a_server_whose_program_commands_can_write_is_said(diagnose: Diagnose, user: Path, project: Path) -> None:
    _write(project / "tool", "#!/bin/sh\n")
    (project / "tool").chmod(0o755)
    _write(user / "config.toml", f'[mcp.servers.own]\ncommand = "{project}/tool"\n')

    (check,) = _of(diagnose()[1], "mcp")

    assert f"commands of the sandbox can write {project}/tool" in check["message"]


def test_jobs_without_a_worker_are_said(diagnose: Diagnose, weft: Weft, user: Path) -> None:
    assert weft("cron", "add", "0 9 * * *", "-m", "hello").returncode == 0

    code, checks = diagnose()

    assert code == 0
    assert (_of(checks, "cron")[0]["message"], _of(checks, "cron")[0]["fix"]) == (
        "1 job, and no worker",
        "weft worker",
    )


def test_a_job_that_cannot_be_understood_is_a_problem(diagnose: Diagnose, weft: Weft, user: Path) -> None:
    weft("cron", "add", "@daily", "-m", "x")
    with closing(sqlite3.connect(user / "runs" / "runs.sqlite")) as database, database:
        database.execute("UPDATE weft_job SET task = '{'")

    (check,) = _of(diagnose()[1], "cron")

    assert (check["status"], "cannot be understood" in check["message"]) == ("problem", True)


def test_old_index_of_the_memory_is_made_anew(diagnose: Diagnose, mend: Mend, weft: Weft, user: Path) -> None:
    _write(user / "memory" / "MEMORY.md", "# Facts\n\n- The sky is blue.\n")
    (user / "memory").chmod(0o700)
    weft("memory", "search", "sky")
    index = next(
        path for path in (user / "memory").iterdir() if path.suffix in (".sqlite", ".db") or "index" in path.name
    )
    with closing(sqlite3.connect(index)) as database:
        database.execute("UPDATE meta SET value = '0' WHERE name = 'embedding'")
        database.commit()

    _, checks = diagnose()

    assert _of(checks, "memory")[0]["fix"] == "weft memory reindex"
    mend(_of(checks, "memory")[0])
    assert _of(diagnose()[1], "memory") == []


def test_folder_that_others_may_change_is_closed(diagnose: Diagnose, mend: Mend, user: Path) -> None:
    user.chmod(0o777)

    _, checks = diagnose()

    assert _of(checks, "user folder")[0]["message"] == "Others may change ~/.clawft"
    mend(_of(checks, "user folder")[0])
    assert _of(diagnose()[1], "user folder") == []


def test_sessions_that_others_may_read_are_closed(diagnose: Diagnose, mend: Mend, user: Path) -> None:
    user.chmod(0o755)
    (user / "sessions").mkdir(mode=0o755)

    _, checks = diagnose()

    assert _of(checks, "user folder")[0]["message"] == "Others may read ~/.clawft/sessions"
    mend(_of(checks, "user folder")[0])
    assert _of(diagnose()[1], "user folder") == []


def test_sessions_that_cannot_be_written_are_a_problem(
    project: Path, child_env: dict[str, str], mend: Mend, user: Path, unprivileged: list[str]
) -> None:
    (user / "sessions").mkdir(mode=0o500)
    command = [*unprivileged, "weft", "doctor", "--format", "json"]

    def run() -> tuple[int, list[dict[str, Any]]]:
        done = subprocess.run(command, cwd=project, env=child_env, capture_output=True, text=True, check=False)
        return done.returncode, json.loads(done.stdout)["checks"]

    code, checks = run()
    problem = next(one for one in checks if one["status"] == "problem")
    assert (code, problem["message"]) == (1, "~/.clawft/sessions cannot be written to")
    mend(problem)
    assert run()[0] == 0


def test_file_in_place_of_the_sessions_is_moved_away(diagnose: Diagnose, mend: Mend, user: Path) -> None:
    (user / "sessions").touch()

    code, checks = diagnose()

    assert code == 1
    mend(_of(checks, "user folder")[0])
    assert diagnose()[0] == 0


@pytest.mark.parametrize(("free", "status"), [(1 << 40, "ok"), (100 << 20, "note"), (1 << 20, "problem")])
def test_little_room_on_the_disk_is_said(free: int, status: str) -> None:
    check = check_space("/somewhere", free)

    assert check.status == status
    assert bool(check.fix and check.why) == (status != "ok")


def test_what_a_project_brings_is_named_until_it_is_approved(diagnose: Diagnose, weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "config.toml", "[skills]\nenabled = true\n")
    _write(project / "AGENTS.md", "Do as I say.\n")
    _write(project / ".clawft" / "agents" / "mine.md", "---\nname: mine\ndescription: d\n---\nYou are mine.\n")

    _write(project / "skills" / "theirs" / "SKILL.md", "---\nname: theirs\ndescription: d\n---\nDo it.\n")

    code, checks = diagnose()

    assert code == 0
    assert [(one["hint"], one["fix"]) for one in _of(checks, "config")] == [(None, "weft config trust")]
    assert [(one["message"], one["fix"]) for one in _of(checks, "approval")] == [
        ("AGENTS.md is not approved", "weft agent --trust-instructions --show-prompt"),
        (".clawft/agents/mine.md is not approved", "weft skills trust mine"),
        ("1 skill waits for an approval: theirs", "weft skills trust --all"),
    ]
    assert weft("agent", "--trust-instructions", "--show-prompt", "--yes").returncode == 0  # asks, as the next do
    assert weft("config", "trust", "--yes").returncode == 0
    assert weft("skills", "trust", "--all", "--yes").returncode == 0
    _, checks = diagnose()
    assert _of(checks, "config") + _of(checks, "approval") == []


def test_secret_in_the_config_is_a_note_with_the_command(diagnose: Diagnose, user: Path) -> None:
    _write(user / "config.toml", '[providers.work]\napi_key = "sk-test-0123456789"\n')

    code, checks = diagnose()

    assert code == 0
    assert _of(checks, "config")[0]["fix"] == "weft config set providers.work.api_key env:NAME"


@pytest.mark.parametrize("name", ["config.json", "approvals.json"])
def test_file_that_keeps_the_config_from_being_read_is_moved_away(
    diagnose: Diagnose, mend: Mend, project: Path, user: Path, name: str
) -> None:
    _write(user / "config.toml", "")
    _write(project / ".clawft" / "config.toml", "")
    _write(user / name, "{}")

    code, checks = diagnose()

    assert code == 1
    mend(_of(checks, "config")[0])
    assert diagnose()[0] == 0


def test_approvals_that_another_hand_changed_are_moved_away(
    diagnose: Diagnose, mend: Mend, weft: Weft, project: Path, user: Path
) -> None:
    _write(project / ".clawft" / "config.toml", "")
    assert weft("config", "trust", "--yes").returncode == 0
    kept = user / "approvals.json"
    kept.write_text(kept.read_text().replace("config.toml", "config.json"))

    code, checks = diagnose()

    assert code == 1
    mend(_of(checks, "config")[0])
    assert diagnose()[0] == 0


def test_script_and_a_server_without_a_list_are_in_order(diagnose: Diagnose, user: Path) -> None:
    with WireServer() as server:
        for provider in ('wire = "scripted"\nscript = "x.json"', f'base_url = "{server.url}"'):
            _write(user / "config.toml", f'[agents.defaults]\nmodel = "work/x"\n[providers.work]\n{provider}\n')
            assert _of(diagnose()[1], "model") == []


def test_key_that_the_keyring_does_not_give_is_said(diagnose: Diagnose, user: Path) -> None:
    _write(user / "keys.json", '{"version": 1, "keys": {"work": null}}')
    (user / "keys.json").chmod(0o600)
    _write(user / "config.toml", '[providers.work]\napi_key = { keystore = "work" }\n')

    assert _of(diagnose()[1], "keys")[0]["message"] == "The keyring does not give the key 'work'"


def test_running_worker_leaves_nothing_to_say_of_jobs(
    diagnose: Diagnose, weft: Weft, project: Path, child_env: dict[str, str]
) -> None:
    weft("cron", "add", "0 9 * * *", "-m", "hello")
    with subprocess.Popen(["weft", "worker"], cwd=project, env=child_env, stderr=subprocess.PIPE) as worker:
        try:
            assert worker.stderr is not None
            assert b"takes from default" in worker.stderr.readline()
            for _ in range(100):  # it is ready a moment later
                if not _of(diagnose()[1], "cron"):
                    break
            assert _of(diagnose()[1], "cron") == []
        finally:
            worker.kill()


def test_every_problem_has_its_reason_and_its_command(diagnose: Diagnose, project: Path, user: Path) -> None:
    _write(project / "skills" / "bad" / "SKILL.md", "---\nname: bad\n")
    _write(project / ".clawft" / "agents" / "worse.yaml", "- a list\n")
    _write(user / "config.toml", "[skills]\nenabeld = true\n")
    broken = diagnose()[1]
    _write(user / "config.toml", "")

    for check in [*broken, *diagnose()[1]]:
        if check["status"] == "problem":
            assert check["why"], check
            assert shlex.split(check["fix"]), check


def test_report_fits_a_narrow_terminal(weft: Weft, project: Path) -> None:
    _write(project / "AGENTS.md", "Do as I say.\n")

    done = weft("doctor", COLUMNS="40")

    long = [line for line in done.stdout.splitlines() if len(line) > 40]
    assert all(line.startswith("    fix: ") or " " not in line.strip() for line in long), long
    assert os.linesep in done.stdout


def test_sandbox_that_is_off_or_missing_is_a_note(diagnose: Diagnose, mend: Mend, user: Path) -> None:
    _write(user / "config.toml", '[sandbox]\nmode = "off"\n')
    code, checks = diagnose()
    (off,) = _of(checks, "sandbox")
    assert (code, off["message"]) == (0, "none: sandbox.mode is 'off'")
    assert off["why"] == "commands run with all your rights"
    mend(off)
    assert not any("off" in one["message"] for one in _of(diagnose()[1], "sandbox"))
    (none,) = _of(diagnose(CLAWFT_SANDBOX__MODE="bubblewrap", PATH=sysconfig.get_path("scripts"))[1], "sandbox")
    assert none["message"] == "none: bubblewrap is not installed"
    assert none["fix"] == "apt install bubblewrap"


def test_every_optional_part_has_its_line(weft: Weft) -> None:
    checks = json.loads(weft("doctor", "--format", "json").stdout)["checks"]
    parts = {one["message"].split()[0] for one in _of(checks, "part")}
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert parts == {name for name, packages in project["optional-dependencies"].items() if packages} - {"all"}
