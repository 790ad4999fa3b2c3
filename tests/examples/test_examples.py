"""What the channels' folders say of themselves is so: manifests, and the settings that their README.md shows."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from clawft.config.jobs import ChannelSettings
from clawft.skills.discovery.plugins import load_plugin
from clawft.skills.parse.plugin import PluginManifest
from clawft.skills.parse.schema import check_arguments

PLUGINS = Path(__file__).parents[2] / "examples" / "plugins"


def load(name: str) -> PluginManifest:
    found = load_plugin("user", str(PLUGINS / name))
    assert found.manifest is not None, found.problem
    assert not found.manifest.diagnostics
    return found.manifest


@pytest.mark.parametrize("name", ["email", "telegram"])
def test_the_settings_in_the_readme_are_those_of_the_plugin(name: str) -> None:
    manifest = load(name)
    readme = (PLUGINS / name / "README.md").read_text("utf-8")
    blocks = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)]
    given: dict[str, Any] = {}
    for block in blocks:
        given |= block.get("plugins", {}).get("entries", {}).get(manifest.id, {}).get("config", {})
        for settings in block.get("gateway", {}).get("channels", {}).values():
            assert convert(settings, ChannelSettings).allow
    assert manifest.config_schema is not None
    assert given
    assert not check_arguments(given, manifest.config_schema)
    assert all(f"`{setting}" in readme for setting in manifest.config_schema["properties"] if setting not in given)
    assert all(variable in readme for variable in manifest.permissions.env_vars)


def test_no_channel_may_start_programs_or_reach_more_than_it_needs() -> None:
    email, telegram = load("email").permissions, load("telegram").permissions
    for permissions in (email, telegram):
        assert (permissions.shell, permissions.filesystem) == (False, ())
    assert telegram.network == ("api.telegram.org",)
    assert email.network == ("*:993", "*:143", "*:465", "*:587")
