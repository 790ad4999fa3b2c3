"""`weft config show|get|set`: settings as a person and another program see and change them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
SECRET = "hunter2-hunter2"
CONFIG = f"""# mine
[providers.local]
wire = "openai"
api_key = {{ env = "LOCAL_KEY" }}
headers = {{ X-Team = "{SECRET}" }}

[skills.load]
extraDirs = ["a"]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "home" / ".clawft" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(CONFIG)
    return file


def test_show_names_value_and_place(weft: Weft, config: Path) -> None:
    done = weft("config", "show", LOCAL_KEY=SECRET, CLAWFT_SKILLS__ENABLED="0")

    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(maxsplit=1) for line in done.stdout.splitlines()] == [
        ["SETTING", "VALUE               FROM"],
        ["providers.local.wire", "openai              ~/.clawft/config.toml:3"],
        ["providers.local.api_key", "${LOCAL_KEY} (set)  ~/.clawft/config.toml:4"],
        ["providers.local.headers.X-Team", "<hidden>            ~/.clawft/config.toml:5"],
        ["skills.enabled", "false               CLAWFT_SKILLS__ENABLED"],
        ["skills.load.extra_dirs", '["a"]               ~/.clawft/config.toml:8'],
    ]


def test_show_of_a_section_is_that_section(weft: Weft, config: Path) -> None:
    done = weft("config", "show", "skills.load", "--format", "json")

    document = json.loads(done.stdout)
    assert document["schema"] == "clawft.config.show.v1"
    assert document["settings"] == [{"key": "skills.load.extra_dirs", "value": ["a"], "source": str(config), "line": 8}]


def test_show_all_has_the_defaults_too(weft: Weft, config: Path) -> None:
    settings = json.loads(weft("config", "show", "--all", "--format", "json").stdout)["settings"]

    shown = {one["key"]: one for one in settings}
    assert shown["agents.defaults.model"] == {
        "key": "agents.defaults.model",
        "value": "offline",
        "source": "default",
        "line": None,
    }
    assert shown["providers.local.api_key"]["configured"] is False
    assert "(not set)" in weft("config", "show", "--all").stdout


def test_show_says_when_nothing_is_set_and_warns_of_plain_secrets(weft: Weft, config: Path) -> None:
    config.write_text("")
    assert weft("config", "show").stderr == "Nothing is set. Run: weft config show --all\n"
    config.write_text(f'[providers.x]\napi_key = "{SECRET}"\n')
    done = weft("config", "show")
    assert "<redacted>  ~/.clawft/config.toml:2" in done.stdout
    assert "~/.clawft/config.toml:2: warning[secret-literal]: providers.x.api_key" in done.stderr


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agents.defaults.model", "offline"),
        ("agents.defaults.maxTokens", "4096"),
        ("skills.load.extraDirs", '["a"]'),
        ("skills.enabled", "true"),
        ("agents.defaults.temperature", ""),
        ("agents.compaction", '{"at":0.8,"keep_turns":4}'),
        ("providers.local.apiKey", "${LOCAL_KEY}"),
        ("providers.local.headers", '{"X-Team":"<hidden>"}'),
    ],
)
def test_get_prints_the_value_alone(weft: Weft, config: Path, key: str, value: str) -> None:
    done = weft("config", "get", key, LOCAL_KEY=SECRET)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"{value}\n", "")


def test_get_of_json_has_the_key_in_one_spelling(weft: Weft, config: Path) -> None:
    document = json.loads(weft("config", "get", "skills.load.extraDirs", "--format", "json").stdout)

    assert document == {"schema": "clawft.config.get.v1", "key": "skills.load.extra_dirs", "value": ["a"]}


@pytest.mark.parametrize("command", ["show", "get", "set"])
def test_unknown_key_is_an_error_with_the_close_one(weft: Weft, config: Path, command: str) -> None:
    value = ["x"] if command == "set" else []
    done = weft("config", command, "agents.defaults.modell", *value)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[config-unknown-key]: There is no setting 'agents.defaults.modell'\n")
    assert "Did you mean 'agents.defaults.model'?" in done.stderr


def test_set_changes_one_line_and_says_so(weft: Weft, config: Path) -> None:
    done = weft("config", "set", "skills.load.extraDirs", '["a", "b"]')

    assert done.stdout == 'Set skills.load.extra_dirs = ["a","b"] (was ["a"]) in ~/.clawft/config.toml\n'
    assert config.read_text() == CONFIG.replace('["a"]', '["a", "b"]')
    again = weft("config", "set", "skills.load.extraDirs", '["a", "b"]')
    assert again.stdout == 'Nothing to change: skills.load.extra_dirs = ["a","b"] in ~/.clawft/config.toml\n'


def test_unset_takes_it_out_and_says_so(weft: Weft, config: Path) -> None:
    done = weft("config", "set", "skills.load.extra_dirs", "--unset")
    assert done.stdout == 'Took skills.load.extra_dirs (was ["a"]) out of ~/.clawft/config.toml\n'
    again = weft("config", "set", "skills.load.extra_dirs", "--unset")
    assert (again.returncode, again.stdout) == (0, "~/.clawft/config.toml does not set skills.load.extra_dirs\n")


def test_set_for_the_project_wins_and_the_other_way_round_it_is_said(weft: Weft, project: Path, config: Path) -> None:
    done = weft("config", "set", "skills.enabled", "false", "--scope", "project")
    assert done.stdout == "Set skills.enabled = false in .clawft/config.toml\n"
    assert (project / ".clawft" / "config.toml").read_text() == "[skills]\nenabled = false\n"
    user = weft("config", "set", "skills.enabled", "true")
    assert user.stderr == "note: .clawft/config.toml sets skills.enabled too, and wins\n"


def test_set_in_json_tells_before_and_after(weft: Weft, config: Path) -> None:
    document = json.loads(weft("config", "set", "agents.defaults.max_tokens", "5", "--format", "json").stdout)

    assert document == {
        "schema": "clawft.config.set.v1",
        "key": "agents.defaults.max_tokens",
        "value": 5,
        "before": None,
        "path": str(config),
        "changed": True,
    }


def test_secret_is_set_by_name_and_refused_in_plain_text(weft: Weft, config: Path) -> None:
    refused = weft("config", "set", "providers.local.apiKey", SECRET)
    assert (refused.returncode, refused.stdout, config.read_text()) == (3, "", CONFIG)
    assert refused.stderr.startswith("error[secret-literal]: providers.local.api_key is a secret")
    named = weft("config", "set", "providers.local.api_key", "env:OTHER")
    assert named.stdout == "Set providers.local.api_key = ${OTHER} (was ${LOCAL_KEY}) in ~/.clawft/config.toml\n"
    literal = weft("config", "set", "providers.local.api_key", SECRET, "--literal")
    assert literal.stdout == "Set providers.local.api_key = <redacted> (was ${OTHER}) in ~/.clawft/config.toml\n"
    assert f'api_key = "{SECRET}"' in config.read_text()


@pytest.mark.parametrize("args", [["skills.enabled"], ["skills.enabled", "true", "--unset"]])
def test_set_wants_a_value_or_unset(weft: Weft, config: Path, args: list[str]) -> None:
    done = weft("config", "set", *args)

    assert done.returncode == 2
    assert "Give a VALUE, or --unset" in done.stderr


def test_set_says_when_another_file_cannot_be_read(weft: Weft, project: Path, config: Path) -> None:
    config.parent.mkdir(exist_ok=True)
    config.write_text("[skils]\n")
    done = weft("config", "set", "skills.enabled", "true", "--scope", "project")

    assert (done.returncode, done.stdout) == (0, "Set skills.enabled = true in .clawft/config.toml\n")
    assert done.stderr.startswith("~/.clawft/config.toml:1: error[config-unknown-key]")


def test_a_projects_config_counts_only_when_it_is_approved_as_it_is(weft: Weft, project: Path) -> None:
    (project / ".clawft").mkdir()
    written = project / ".clawft" / "config.toml"
    written.write_text("[agents.defaults]\nmax_tokens = 7\n")
    ignored = weft("config", "get", "agents.defaults.max_tokens")
    assert ignored.stdout == "4096\n"
    assert "warning[config-untrusted]" in weft("config", "show").stderr
    assert weft("config", "trust", "--yes").stdout == "Approved .clawft/config.toml\n"
    assert weft("config", "get", "agents.defaults.max_tokens").stdout == "7\n"
    written.write_text("[agents.defaults]\nmax_tokens = 8\n")
    assert weft("config", "get", "agents.defaults.max_tokens").stdout == "4096\n"


def test_to_approve_a_config_needs_a_yes_and_shows_what_changed(weft: Weft, project: Path) -> None:
    (project / ".clawft").mkdir()
    written = project / ".clawft" / "config.toml"
    written.write_text("[agents.defaults]\nmax_tokens = 7\n")
    first = weft("config", "trust")
    assert (first.returncode, first.stdout) == (3, "")
    assert "  agents.defaults.max_tokens = 7 (now 4096)\n" in first.stderr
    assert "weft config trust --yes" in first.stderr
    assert weft("config", "get", "agents.defaults.max_tokens").stdout == "4096\n"
    assert weft("config", "trust", "--yes").returncode == 0
    written.write_text("[agents.defaults]\nmax_tokens = 8\n")
    again = weft("config", "trust").stderr
    assert "  agents.defaults.max_tokens = 8 (was 7)\n" in again
    log = weft("audit", "show", "--kind", "approval", "--format", "json").stdout
    assert [one["decision"] for one in json.loads(log)["lines"]] == ["denied", "allowed", "denied"]


def test_what_the_user_sets_for_a_project_stays_approved(weft: Weft, project: Path) -> None:
    weft("config", "set", "agents.defaults.max_tokens", "7", "--scope", "project")
    weft("config", "set", "agents.defaults.temperature", "1", "--scope", "project")
    assert weft("config", "get", "agents.defaults.max_tokens").stdout == "7\n"


def test_setting_one_thing_does_not_approve_a_strangers_file(weft: Weft, project: Path) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text('[tools.exec]\nmode = "disabled"\n')
    weft("config", "set", "agents.defaults.max_tokens", "7", "--scope", "project")
    assert weft("config", "get", "tools.exec.mode").stdout == "allowlist\n"


def test_a_config_that_makes_no_sense_cannot_be_approved(weft: Weft, project: Path) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text("[skils]\n")
    assert weft("config", "trust", "--yes").returncode == 1


@pytest.mark.parametrize(
    "command",
    [
        "show", "show --all", "show --format json", "show --all --format json", "get providers",
        "get providers.local.headers.X-Team", "get providers --format json", "get skills.config",
        "set providers.local.headers.X-Team zzz", "set providers.local --unset", "set providers.local.wire nope",
        "set mcp.servers.m.args [", "show skills", "set skills.config.mail.password --unset --format json",
    ],
)  # fmt: skip
def test_no_command_shows_a_secret(weft: Weft, config: Path, command: str) -> None:
    config.write_text(
        CONFIG
        + f'[providers.other]\napi_key = "{SECRET}"\nbase_url = "http://me:{SECRET}@127.0.0.1/"\n'
        + f'[mcp.servers.m]\nargs = ["--key={SECRET}", "--token=moderate-4711", "--db-password", "moderate-4711"]\n'
        + f'[skills.config.mail]\npassword = "{SECRET}"\n'
        + '[[skills.config.mail.accounts]]\nsmtp_password = "moderate-4711"\n'
    )
    done = weft("config", *command.split(), LOCAL_KEY=SECRET)

    assert done.returncode == (1 if command.endswith(("nope", "[")) else 0), done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert "moderate-4711" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("value", "said"), [("5", "<= 2"), ("-1", ">= 0")])
def test_a_number_out_of_range_says_the_range(weft: Weft, value: str, said: str) -> None:
    done = weft("config", "set", "--", "agents.defaults.temperature", value)
    assert done.returncode == 1
    assert said in done.stderr


def test_taking_out_the_last_setting_takes_the_table_along(weft: Weft, config: Path) -> None:
    weft("config", "set", "mcp.servers.bad.command", "x")
    weft("config", "set", "mcp.servers.bad.command", "--unset")
    assert "mcp" not in config.read_text()


def test_a_table_with_a_remark_stays(weft: Weft, config: Path) -> None:
    config.parent.mkdir(exist_ok=True)
    config.write_text("[mcp.servers.bad]\n# ask Ada first\ncommand = 'x'\n")
    weft("config", "set", "mcp.servers.bad.command", "--unset")
    assert "# ask Ada first" in config.read_text()
