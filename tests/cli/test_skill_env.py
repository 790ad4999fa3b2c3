"""`weft skills env`, and `weft skills run` asking for what a skill needs: stored for it alone, and never shown."""

import json
import stat
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from talk import Talk

Weft = Callable[..., subprocess.CompletedProcess[str]]
SECRET = "wx-typed-0815"
SKILL = """---
name: weather
description: Tells the weather
metadata: {"openclaw": {"requires": {"env": ["WEATHER_TOKEN"]}, "primaryEnv": "WEATHER_KEY"}}
---
Run it:

```sh
echo "it is $WEATHER_TOKEN"
```
"""


@pytest.fixture
def user(project: Path, child_env: dict[str, str]) -> Path:
    """The user's folder, with a skill that asks for two variables."""
    folder = Path(child_env["HOME"], ".clawft")
    (folder / "skills" / "weather").mkdir(parents=True)
    (folder / "skills" / "weather" / "SKILL.md").write_text(SKILL)
    return folder


@pytest.fixture
def talk(project: Path, child_env: dict[str, str]) -> Iterator[Callable[..., Talk]]:
    opened: list[Talk] = []
    env = {**child_env, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}

    def start(*args: str) -> Talk:
        opened.append(Talk(["weft", *args], project, env))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.fixture
def give(project: Path, child_env: dict[str, str]) -> Weft:
    """What a program would do: the value on standard input."""

    def run(variable: str, value: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["weft", "skills", "env", "weather", variable, "-"],
            cwd=project,
            env=child_env,
            input=value,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def variables(weft: Weft, **environ: str) -> dict[str, dict[str, object]]:
    document = json.loads(weft("skills", "env", "weather", "--format", "json", **environ).stdout)
    assert document["schema"] == "clawft.skills.env.v1"
    return {one["name"]: one for one in document["variables"]}


def test_what_a_skill_asks_for_is_listed_with_the_command_that_sets_it(weft: Weft, user: Path) -> None:
    done = weft("skills", "env", "weather", WEATHER_KEY="from-me")
    assert done.stdout.splitlines()[1].split() == ["WEATHER_TOKEN", "required", "missing"]
    assert "in your environment, but not passed on" in done.stdout
    assert "weft skills env weather WEATHER_TOKEN" in done.stderr
    assert "weft skills env weather WEATHER_KEY --from WEATHER_KEY" in done.stderr
    assert "from-me" not in done.stdout + done.stderr


def test_a_value_from_standard_input_is_stored_for_the_user_alone_and_satisfies_the_skill(
    weft: Weft, give: Weft, user: Path
) -> None:
    assert "ineligible" in weft("skills", "list").stdout
    done = give("WEATHER_TOKEN", f"{SECRET}\n")
    assert done.returncode == 0
    assert "Only programs of weather get WEATHER_TOKEN" in done.stdout
    assert "weather is ready" in done.stderr
    config = tomllib.loads((user / "config.toml").read_text())
    assert config["skills"]["entries"]["weather"]["env"] == {"WEATHER_TOKEN": {"keystore": "weather.WEATHER_TOKEN"}}
    keys = user / "keys.json"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert json.loads(keys.read_text())["keys"] == {"weather.WEATHER_TOKEN": SECRET}
    listed = variables(weft)["WEATHER_TOKEN"]
    assert (listed["given"], listed["source"]) == (True, "keystore")
    assert listed["reference"] == "key:weather.WEATHER_TOKEN"
    shown = weft("config", "show", "--format", "json").stdout
    assert "key:weather.WEATHER_TOKEN" in shown
    assert SECRET not in shown + done.stdout + done.stderr + (user / "audit.jsonl").read_text()
    (line,) = json.loads(weft("audit", "show", "--kind", "secret", "--format", "json").stdout)["lines"]
    assert (line["subject"], line["decision"], line["skill"]) == ("WEATHER_TOKEN", "granted", "weather")


def test_a_variable_is_taken_back_with_its_key(weft: Weft, give: Weft, user: Path) -> None:
    give("WEATHER_TOKEN", SECRET)
    assert weft("skills", "env", "weather", "WEATHER_TOKEN", "--remove").returncode == 0
    assert not variables(weft)["WEATHER_TOKEN"]["given"]
    assert json.loads((user / "keys.json").read_text())["keys"] == {}
    again = weft("skills", "env", "weather", "WEATHER_TOKEN", "--remove")
    assert again.returncode == 1
    assert "variable-not-found" in again.stderr


def test_a_variable_of_the_environment_is_passed_on_by_reference(weft: Weft, user: Path) -> None:
    done = weft("skills", "env", "weather", "WEATHER_KEY", "--from", "MY_KEY", "--format", "json")
    assert json.loads(done.stdout)["stored"] is None
    assert 'WEATHER_KEY = {env = "MY_KEY"}' in (user / "config.toml").read_text()
    assert not variables(weft)["WEATHER_KEY"]["given"]
    assert variables(weft, MY_KEY="here")["WEATHER_KEY"]["given"]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("WEATHER_TOKEN", "sk-in-the-history"), 2, "history of the shell"),
        (("WEATHER_TOKEN",), 3, "weft skills env weather WEATHER_TOKEN - < FILE"),
        (("A=B", "--from", "X"), 1, "variable-name"),
        (("--remove",), 2, "Say which variable"),
    ],
)
def test_what_cannot_be_meant_stores_nothing(
    weft: Weft, user: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    done = weft("skills", "env", "weather", *args)
    assert done.returncode == code
    assert said in done.stderr
    assert not (user / "keys.json").exists()


def test_without_a_line_of_the_log_nothing_is_stored(give: Weft, user: Path) -> None:
    (user / "audit.jsonl").mkdir()
    done = give("WEATHER_TOKEN", SECRET)
    assert done.returncode == 3
    assert "audit-unwritable" in done.stderr
    assert not (user / "keys.json").exists()
    assert not (user / "config.toml").exists()


def test_a_secret_is_not_written_into_the_config_in_plain_text_by_accident(weft: Weft, user: Path) -> None:
    done = weft("config", "set", "skills.entries.weather.env.WEATHER_TOKEN", "plain")
    assert done.returncode == 3
    assert "weft skills env weather WEATHER_TOKEN" in done.stderr
    assert weft("config", "set", "skills.entries.weather.env.UNITS", "metric").returncode == 0
    assert weft("config", "set", "skills.entries.weather.env.WEATHER_KEY", "env:MINE").returncode == 0
    env = tomllib.loads((user / "config.toml").read_text())["skills"]["entries"]["weather"]["env"]
    assert env == {"UNITS": "metric", "WEATHER_KEY": {"env": "MINE"}}


def test_run_asks_at_a_terminal_without_showing_and_the_skill_gets_it(talk: Callable[..., Talk], user: Path) -> None:
    one = talk("skills", "run", "weather")
    one.answer("weather needs WEATHER_TOKEN (not shown; Enter skips): ", SECRET)
    one.expect("Only programs of weather get WEATHER_TOKEN")
    one.answer("weather needs WEATHER_KEY (not shown; Enter skips): ", "")
    one.answer("[N]o", "y")
    code, out = one.end()
    assert code == 0
    assert "it is <secret>" in out
    assert SECRET not in one.screen + out
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in (user / "sessions").rglob("*.jsonl"))


def test_without_a_terminal_run_says_which_command_to_run(weft: Weft, user: Path) -> None:
    done = weft("skills", "run", "weather")
    assert "weft skills env weather WEATHER_TOKEN" in done.stderr
    assert "weft skills env weather WEATHER_KEY" in done.stderr
    assert done.stderr.count("weft skills env weather WEATHER_TOKEN") == 1


def test_doctor_tells_how_to_give_a_key_that_is_gone(weft: Weft, user: Path) -> None:
    reference = '[skills.entries.weather.env]\nWEATHER_TOKEN = { keystore = "weather.WEATHER_TOKEN" }\n'
    (user / "config.toml").write_text(reference)
    shown = weft("doctor").stdout
    assert "No key 'weather.WEATHER_TOKEN' is stored" in shown
    assert "fix: weft skills env weather WEATHER_TOKEN" in shown
    assert "ineligible" in weft("skills", "list").stdout


def test_a_strangers_skill_is_found_by_its_folder_and_gets_only_what_it_asks_for(
    weft: Weft, tmp_path: Path, user: Path
) -> None:
    folder = tmp_path / "elsewhere"
    (folder / "guest").mkdir(parents=True)
    (folder / "guest" / "SKILL.md").write_text(SKILL.replace("name: weather", "name: guest"))
    listed = weft("skills", "env", "guest", "--dir", folder)
    assert f"To set it: weft skills env guest WEATHER_TOKEN --dir {folder}" in listed.stderr
    asked = weft("skills", "env", "guest", "WEATHER_TOKEN", "--from", "MINE", "--dir", folder)
    assert "gets only what it asks for" not in asked.stderr
    other = weft("skills", "env", "guest", "OTHER_TOKEN", "--from", "MINE", "--dir", folder)
    assert "gets only what it asks for" in other.stderr
