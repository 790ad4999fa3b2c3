"""From `provider/model` to a provider: which is meant, and what to configure when it is not there."""

import subprocess
import sys
from pathlib import Path

import pytest

from clawft.agent.providers import check_model, open_provider, parse_model
from clawft.agent.providers.request import Provider
from clawft.agent.providers.selection import is_claude_alias, read_model
from clawft.config.agents import ProviderSettings
from clawft.errors import ClawftError, NotFound

pytestmark = pytest.mark.anyio

_LOCAL = {"mine": ProviderSettings(base_url="http://127.0.0.1:1/v1", default_model="small")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ollama/llama3.2", ("ollama", "llama3.2")),
        ("openrouter/anthropic/claude-x", ("openrouter", "anthropic/claude-x")),
        (" offline ", ("offline", "")),
        ("mine", ("mine", "")),
    ],
)
def test_model_is_split_at_the_first_slash(text: str, expected: tuple[str, str]) -> None:
    assert parse_model(text) == expected


@pytest.mark.parametrize("text", ["", " ", "/model", "mine/", "a\nb/c", "x" * 301])
def test_text_that_names_no_model_is_refused(text: str) -> None:
    with pytest.raises(ClawftError) as caught:
        parse_model(text)
    assert caught.value.code == "model-invalid"


def test_unknown_provider_gets_the_close_match_and_what_to_configure() -> None:
    with pytest.raises(NotFound, match="No provider 'olama'") as caught:
        check_model("olama/llama3.2", _LOCAL, {})
    assert caught.value.code == "provider-not-found"
    assert "did you mean 'ollama'?" in caught.value.hint
    assert "[providers.olama]" in caught.value.hint


def test_model_without_a_provider_is_told_how_models_are_named() -> None:
    with pytest.raises(NotFound) as caught:
        check_model("gpt-x", {}, {})
    assert "provider/model" in caught.value.hint


def test_provider_without_its_key_is_refused_before_it_is_used() -> None:
    with pytest.raises(ClawftError, match="ANTHROPIC_API_KEY") as caught:
        check_model("anthropic/claude-x", {}, {})
    assert caught.value.code == "provider-no-key"
    check_model("anthropic/claude-x", {}, {"ANTHROPIC_API_KEY": "k"})


def test_name_alone_stands_for_the_default_model() -> None:
    assert open_provider("mine", _LOCAL, {}, base_dir="/")[1] == "small"


def test_name_alone_without_a_default_model_is_refused() -> None:
    with pytest.raises(ClawftError, match="has no default model") as caught:
        check_model("ollama", {}, {})
    assert caught.value.code == "model-missing"


def test_own_name_of_the_model_may_hold_slashes() -> None:
    provider, model = open_provider("openrouter/a/b:free", {}, {"OPENROUTER_API_KEY": "k"}, base_dir="/")
    assert (provider.name, model) == ("openrouter", "a/b:free")


def test_providers_that_are_open_are_used_again() -> None:
    opened: dict[str, Provider] = {}
    first, _ = open_provider("mine/a", _LOCAL, {}, base_dir="/", opened=opened)
    second, model = open_provider("mine/b", _LOCAL, {}, base_dir="/", opened=opened)
    assert (first is second, model, list(opened)) == (True, "b", ["mine"])


async def test_offline_is_built_in() -> None:
    provider, model = open_provider("offline", {}, {}, base_dir="/")
    assert (provider.name, model) == ("offline", "offline")
    await provider.close()


def test_offline_has_no_models() -> None:
    with pytest.raises(ClawftError) as caught:
        check_model("offline/x", {}, {})
    assert caught.value.code == "model-invalid"


def test_no_provider_of_the_user_may_be_called_offline() -> None:
    with pytest.raises(ClawftError) as caught:
        check_model("offline", {"offline": ProviderSettings()}, {})
    assert caught.value.code == "provider-reserved"


async def test_script_is_found_beside_the_project(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text('[{"text": "hi"}]')
    settings = {"fake": ProviderSettings(wire="scripted", script="answers.json")}
    provider, model = open_provider("fake", settings, {}, base_dir=str(tmp_path))
    assert (provider.name, model) == ("fake", "fake")
    await provider.close()


def test_scripted_provider_without_a_script_is_refused() -> None:
    with pytest.raises(ClawftError) as caught:
        check_model("fake/x", {"fake": ProviderSettings(wire="scripted")}, {})
    assert caught.value.code == "script-missing"


def test_provider_of_the_user_without_a_url_is_refused() -> None:
    with pytest.raises(ClawftError, match="has no base_url") as caught:
        check_model("mine/x", {"mine": ProviderSettings(wire="openai")}, {})
    assert caught.value.code == "provider-bad-url"


def test_wire_of_the_user_counts() -> None:
    settings = {"mine": ProviderSettings(wire="anthropic", base_url="http://127.0.0.1:1/v1")}
    provider, _ = open_provider("mine/x", settings, {}, base_dir="/")
    assert provider.name == "mine"


def test_checking_a_model_does_not_load_the_http_library() -> None:
    code = (
        "import sys; from clawft.agent.providers import check_model; check_model('ollama/x', {}, {});"
        " print('httpx2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("", ""),
        ("inherit", ""),
        ("default", ""),
        (" local/small ", "local/small"),
        ("claude-opus-4-1", "anthropic/claude-opus-4-1"),
        ("claude-mine", "claude-mine"),
        ("router/claude-x", "router/claude-x"),
        ("sonnet", "sonnet"),
    ],
)
def test_model_of_a_file_is_read_as_any_client_writes_it(written: str, model: str) -> None:
    assert read_model(written, {"claude-mine": ProviderSettings()}) == model


def test_alias_of_claude_is_none_where_a_provider_has_the_name() -> None:
    assert is_claude_alias("opus", {})
    assert not is_claude_alias("opus", {"opus": ProviderSettings()})
    assert not is_claude_alias("gpt", {})
