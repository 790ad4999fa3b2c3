"""`weft plugins env`: values for the variables of a plugin, stored for it alone, and never shown."""

import io
import json
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("headless")
Weft = Callable[..., subprocess.CompletedProcess[str]]
Plugin = Callable[..., Path]
Give = Callable[..., subprocess.CompletedProcess[str]]
ID = "org.example.weather"
SECRET = "wx-typed-0815"
ASKS = {"env_vars": ["WEATHER_KEY", "WEATHER_PROXY"]}


@pytest.fixture
def give(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> Give:
    """What a program would do: the value on standard input."""

    def run(variable: str, value: str = f"{SECRET}\n") -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", io.StringIO(value))
            return weft("plugins", "env", "weather", variable, "-")

    return run


def variables(weft: Weft, **environ: str) -> dict[str, dict[str, Any]]:
    document = json.loads(weft("plugins", "env", "weather", "--format", "json", **environ).stdout)
    assert (document["schema"], document["plugin"]) == ("clawft.plugins.env.v1", ID)
    return {one["name"]: one for one in document["variables"]}


def test_what_a_plugin_asks_for_is_listed_with_where_it_comes_from(weft: Weft, plugin: Plugin, user_dir: Path) -> None:
    plugin(permissions=ASKS)
    weft("plugins", "enable", "weather", "--yes")
    weft("plugins", "grant", "weather", "--revoke", "--env", "WEATHER_PROXY")
    done = weft("plugins", "env", "weather", WEATHER_PROXY="proxy.of.mine")

    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[1:] == ["WEATHER_KEY granted missing", "WEATHER_PROXY not granted from your environment"]
    assert f"To set it: weft plugins env {ID} WEATHER_KEY" in done.stderr
    assert f"To grant it: weft plugins grant {ID} --env WEATHER_PROXY" in done.stderr
    (user_dir / "config.toml").write_text(
        f'[plugins.entries."{ID}".env]\nWEATHER_KEY = {{ env = "MINE" }}\nWEATHER_PROXY = "plain-proxy"\nOTHER = "x"\n'
    )
    found = variables(weft, MINE="hidden-1")
    assert [one["source"] for one in found.values()] == ["environment", "config", "config"]
    assert [(one["asked"], one["granted"], one["given"]) for one in found.values()] == [
        (True, True, True), (True, False, False), (False, False, False),
    ]  # fmt: skip
    assert found["WEATHER_KEY"]["reference"] == "${MINE}"
    shown = weft("plugins", "env", "weather", MINE="hidden-1")
    assert not any(one in shown.stdout + shown.stderr for one in ("hidden-1", "plain-proxy"))


def test_a_value_is_stored_as_a_key_and_the_config_refers_to_it(
    weft: Weft, plugin: Plugin, give: Give, user_dir: Path
) -> None:
    plugin(permissions=ASKS)
    early = give("WEATHER_PROXY")
    assert f"It was not granted it yet. Run: weft plugins enable {ID}" in early.stderr
    weft("plugins", "enable", "weather", "--yes")
    done = give("WEATHER_KEY")

    assert done.returncode == 0
    assert f"Only {ID} gets WEATHER_KEY" in done.stdout
    config = tomllib.loads((user_dir / "config.toml").read_text())
    assert config["plugins"]["entries"][ID]["env"]["WEATHER_KEY"] == {"keystore": f"plugin.{ID}.WEATHER_KEY"}
    keys = user_dir / "keys.json"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert json.loads(keys.read_text())["keys"][f"plugin.{ID}.WEATHER_KEY"] == SECRET
    assert variables(weft)["WEATHER_KEY"] == {
        "name": "WEATHER_KEY", "asked": True, "granted": True, "given": True, "source": "keystore",
        "reference": f"key:plugin.{ID}.WEATHER_KEY",
    }  # fmt: skip
    shown = weft("config", "show", "--format", "json").stdout + weft("plugins", "show", "weather").stdout
    assert SECRET not in shown + done.stdout + done.stderr + (user_dir / "audit.jsonl").read_text()
    lines = json.loads(weft("audit", "show", "--kind", "secret", "--format", "json").stdout)["lines"]
    assert [(one["subject"], one["decision"], one["detail"]["plugin"]) for one in lines] == [
        ("WEATHER_PROXY", "granted", ID), ("WEATHER_KEY", "granted", ID),
    ]  # fmt: skip


def test_a_variable_is_taken_back_with_its_key(weft: Weft, plugin: Plugin, give: Give, user_dir: Path) -> None:
    plugin(permissions=ASKS)
    give("WEATHER_KEY")
    plugin(permissions={}, version="2.0.0")  # also one that is not asked for any more
    assert weft("plugins", "env", "weather", "WEATHER_KEY", "--remove").returncode == 0

    assert variables(weft) == {}
    assert json.loads((user_dir / "keys.json").read_text())["keys"] == {}
    again = weft("plugins", "env", "weather", "WEATHER_KEY", "--remove")
    assert (again.returncode, "variable-not-found" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("WEATHER_KEY", "sk-in-the-history"), 2, "history of the shell"),
        (("WEATHER_KEY",), 3, f"weft plugins env {ID} WEATHER_KEY - < FILE"),
        (("OTHER", "--from", "X"), 1, "error[plugin-not-asked]"),
        (("LD_PRELOAD", "--from", "X"), 1, "is passed on to no plugin"),
        (("WEATHER_KEY", "--from", "A=B"), 1, "variable-name"),
        (("--remove",), 2, "Say which variable"),
    ],
)
def test_what_cannot_be_meant_stores_nothing(
    weft: Weft, plugin: Plugin, user_dir: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    plugin(permissions={"env_vars": ["WEATHER_KEY", "LD_PRELOAD"]})
    done = weft("plugins", "env", "weather", *args)

    assert (done.returncode, said in done.stderr) == (code, True)
    assert not (user_dir / "keys.json").exists()
    assert not (user_dir / "config.toml").exists()


def test_a_value_that_is_missing_is_told_until_it_is_given(
    weft: Weft, plugin: Plugin, give: Give, user_dir: Path
) -> None:
    plugin(permissions=ASKS)
    enabled = weft("plugins", "enable", "weather", "--yes")
    hint = f"weft plugins env {ID} WEATHER_KEY"
    told = "note[plugin-env-missing]: It asks for WEATHER_KEY, WEATHER_PROXY, which have no value"
    assert told in enabled.stdout + enabled.stderr
    assert hint in enabled.stdout + enabled.stderr
    assert told in weft("plugins", "show", "weather").stdout
    checks = json.loads(weft("doctor", "--format", "json").stdout)["checks"]
    assert (f"{ID} was granted WEATHER_KEY, WEATHER_PROXY, which have no value", hint) in [
        (one["message"], one["fix"]) for one in checks
    ]
    give("WEATHER_KEY")
    assert "plugin-env-missing" not in weft("plugins", "show", "weather", WEATHER_PROXY="x").stdout
    (user_dir / "keys.json").unlink()
    gone = weft("doctor", WEATHER_PROXY="x").stdout
    assert f"{ID} was granted WEATHER_KEY, which has no value" in gone
    refused = weft("config", "set", f'plugins.entries."{ID}".env.WEATHER_KEY', "plain")
    assert hint in refused.stderr


def test_the_variables_of_a_plugin_are_completed(weft: Weft, plugin: Plugin) -> None:
    plugin(permissions=ASKS)
    line = "weft plugins env weather WEATHER_P"
    done = weft(_WEFT_COMPLETE="fish_complete", COMP_WORDS=line, COMP_CWORD="WEATHER_P")

    assert done.stdout == "plain,WEATHER_PROXY\n"
