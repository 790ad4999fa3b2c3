"""Secrets in the settings of a plugin: shown nowhere, and resolved for the plugin where they are references."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("headless")
Weft = Callable[..., subprocess.CompletedProcess[str]]
Plugin = Callable[..., Path]
ID = "org.example.weather"
SECRETS = ("hunter2-mail", "hunter2-list", "hunter2-pin", "hunter2-deep", "81549300")
SETTINGS = f"""
[plugins.entries."{ID}".config]
password = "hunter2-mail"
pin = "hunter2-pin"
place = "Bern"
accounts = [{{ user = "me", password = "hunter2-list" }}]

[plugins.entries."{ID}".config.auth]
value = "hunter2-deep"
passcode_token = 81549300
"""
SCHEMA = {
    "properties": {
        "password": {"type": "string", "minLength": 4},
        "pin": {"type": "string", "format": "password"},
        "place": {"type": "string"},
        "accounts": {"type": "array"},
        "auth": {"type": "object"},
        "marks": {"type": "object", "properties": {"env": {"type": "string"}}},
    }
}


@pytest.fixture
def settings(weft: Weft, plugin: Plugin, user_dir: Path) -> Path:
    """A plugin that tells its settings, letters turned around so that no mask hides them; its settings file."""
    plugin(code="return str([self.host.config_value(one) for one in given['keys']])[::-1]", config_schema=SCHEMA)
    file = user_dir / "plugins" / "weather" / "plugin.py"
    begin = "class Plugin(Base):\n"
    file.write_text(file.read_text().replace(begin, f"{begin}    def init(self, host):\n        self.host = host\n\n"))
    manifest = user_dir / "plugins" / "weather" / "clawft.plugin.json"
    written = json.loads(manifest.read_text())
    written["tools"][0]["parameters"] = {"type": "object", "properties": {"keys": {"type": "array"}}}
    manifest.write_text(json.dumps(written))
    assert weft("plugins", "enable", "weather", "--yes").returncode == 0
    return user_dir / "config.toml"


@pytest.fixture
def ask(weft: Weft, user_dir: Path, settings: Path) -> Callable[..., str]:
    """What the plugin says its settings are."""

    def run(text: str, *keys: str, **environ: str) -> str:
        script = user_dir / "script.json"
        call = {"name": "weather", "arguments": {"keys": keys}}
        script.write_text(json.dumps([{"tool_calls": [call]}, {"text": "Done."}]))
        provider = f'[agents.defaults]\nmodel = "s/x"\n[providers.s]\nwire = "scripted"\nscript = "{script}"\n'
        settings.write_text(provider + text)
        done = weft("agent", "-m", "ask it", "--format", "json", **environ)
        return next(line for line in done.stdout.splitlines() if '"ToolFinished"' in line)[::-1]

    return run


@pytest.mark.parametrize(
    "command",
    [
        ("config", "show"),
        ("config", "show", "plugins"),
        ("config", "show", "--all"),
        ("config", "show", "--all", "--format", "json"),
        ("config", "get", "plugins"),
        ("config", "get", f'plugins.entries."{ID}".config'),
        ("config", "get", f'plugins.entries."{ID}".config', "--format", "json"),
        ("config", "get", f'plugins.entries."{ID}".config.password'),
        ("config", "get", f'plugins.entries."{ID}".config.pin', "--format", "json"),
        ("config", "get", f'plugins.entries."{ID}".config.accounts'),
        ("config", "get", f'plugins.entries."{ID}".config.auth'),
        ("config", "set", f'plugins.entries."{ID}".config.password', "env:MAIL"),
        ("config", "set", f'plugins.entries."{ID}".config.password', "env:MAIL", "--format", "json"),
        ("config", "set", f'plugins.entries."{ID}".config.password', "hunter2-list", "--literal"),
        ("config", "set", f'plugins.entries."{ID}".config.pin', "env:MAIL"),
        ("config", "set", f'plugins.entries."{ID}".config.accounts', "[]"),
        ("config", "set", f'plugins.entries."{ID}".config.accounts', "--unset", "--format", "json"),
        ("config", "set", f'plugins.entries."{ID}".config', "--unset"),
        ("config", "set", f'plugins.entries."{ID}".config.auth', "--unset"),
        ("plugins", "show", "weather"),
        ("plugins", "show", "weather", "--format", "json"),
        ("doctor",),
        ("doctor", "--format", "json"),
    ],
)
def test_no_command_shows_a_secret_of_a_plugin(weft: Weft, settings: Path, command: tuple[str, ...]) -> None:
    settings.write_text(SETTINGS)
    done = weft(*command)

    assert "Traceback" not in done.stderr
    assert [one for one in SECRETS if one in done.stdout + done.stderr] == []


def test_what_is_no_secret_is_shown(weft: Weft, settings: Path) -> None:
    settings.write_text(SETTINGS)
    shown = weft("config", "get", f'plugins.entries."{ID}".config', "--format", "json")
    values = json.loads(shown.stdout)["value"]
    assert values["place"] == "Bern"
    assert values["accounts"][0]["user"] == "me"


def test_a_change_never_tells_what_a_free_setting_was(weft: Weft, settings: Path) -> None:
    """Whether `words` of a plugin hold a secret nobody knows but who wrote them."""
    settings.write_text('[skills.config]\nwords = "correct horse battery"\n')
    for new in ("new", "--unset"):
        done = weft("config", "set", "skills.config.words", new, "--format", "json")
        assert "correct horse" not in done.stdout + done.stderr
        settings.write_text('[skills.config]\nwords = "correct horse battery"\n')
    changes = [weft("config", "set", "agents.defaults.temperature", one).stdout for one in ("0.5", "1")]
    assert "(was 0.5)" in changes[1]


def test_a_literal_secret_is_warned_of_with_its_line(weft: Weft, settings: Path) -> None:
    settings.write_text(SETTINGS)
    said = weft("config", "show").stderr
    assert f'config.toml:3: warning[secret-literal]: plugins.entries."{ID}".config.password' in said


def test_a_reference_is_resolved_for_the_plugin(ask: Callable[..., str]) -> None:
    text = f"""[plugins.entries."{ID}".config]
password = {{ env = "MAIL" }}
accounts = [{{ password = {{ env = "OTHER" }} }}]
marks = {{ env = "production" }}
place = "MAIL"
"""
    said = ask(text, "password", "accounts", "marks", "place", MAIL="from-the-env", OTHER="from-another")
    assert "'from-the-env', [{'password': 'from-another'}], {'env': 'production'}, 'MAIL'" in said


def test_a_stored_key_is_resolved_for_the_plugin(weft: Weft, ask: Callable[..., str], user_dir: Path) -> None:
    (user_dir / "keys.json").write_text(json.dumps({"version": 1, "keys": {"mail": "from-the-store"}}))
    (user_dir / "keys.json").chmod(0o600)
    said = ask(f'[plugins.entries."{ID}".config]\npassword = {{ keystore = "mail" }}\n', "password")
    assert "'from-the-store'" in said


def test_a_resolved_secret_is_masked_in_what_the_plugin_says(
    weft: Weft, ask: Callable[..., str], user_dir: Path
) -> None:
    file = user_dir / "plugins" / "weather" / "plugin.py"
    file.write_text(file.read_text().replace("[::-1]", ""))
    assert weft("plugins", "enable", "weather", "--yes").returncode == 0
    said = ask(f'[plugins.entries."{ID}".config]\npassword = {{ env = "MAIL" }}\n', "password", MAIL="from-the-env")
    assert "from-the-env"[::-1] not in said
    assert "from-the-env" not in said


@pytest.mark.parametrize(
    ("given", "why"),
    [({}, "MAIL is not set"), ({"MAIL": "abc"}, "should have at least 4 characters")],
)
def test_a_reference_that_gives_nothing_usable_is_said_by_name(
    ask: Callable[..., str], given: dict[str, str], why: str
) -> None:
    said = ask(f'[plugins.entries."{ID}".config]\npassword = {{ env = "MAIL" }}\n', "password", **given)
    assert why in said[::-1]


def test_the_audit_log_names_the_secret_that_a_plugin_was_given(weft: Weft, ask: Callable[..., str]) -> None:
    ask(f'[plugins.entries."{ID}".config]\npassword = {{ env = "MAIL" }}\n', "password", MAIL="from-the-env")
    log = weft("audit", "show", "--kind", "secret", "--format", "json").stdout
    assert [(one["subject"], one["decision"]) for one in json.loads(log)["lines"]] == [("MAIL", "used")]
    assert "from-the-env" not in log
