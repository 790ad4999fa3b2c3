"""From a preset and the user's settings to what a client connects to; secrets are shown nowhere."""

import msgspec
import pytest

from clawft.agent.providers.endpoint import PRESETS, build_endpoint
from clawft.config.agents import ProviderSettings
from clawft.config.secret import SecretRef
from clawft.errors import ClawftError

_KEY = "sk-very-secret-value"


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_is_complete_without_settings(name: str) -> None:
    endpoint = build_endpoint(name, None, {PRESETS[name].key_env: _KEY})
    assert endpoint.base_url.startswith("https://") != endpoint.is_local
    assert endpoint.resolve_key({PRESETS[name].key_env: _KEY}) == (_KEY if PRESETS[name].key_env else "")


def test_defaults_are_two_minutes_and_ten_seconds_to_connect() -> None:
    endpoint = build_endpoint("ollama", None, {})
    assert (endpoint.timeout_s, endpoint.connect_timeout_s) == (120, 10)


def test_settings_override_a_preset() -> None:
    settings = ProviderSettings(timeout_s=7, default_model="m", api_key=SecretRef(env="MINE"), headers={"X-A": "b"})
    endpoint = build_endpoint("openai", settings, {"MINE": _KEY})
    assert (endpoint.base_url, endpoint.timeout_s, endpoint.default_model) == ("https://api.openai.com/v1", 7, "m")
    assert endpoint.resolve_key({"MINE": _KEY}) == _KEY


def test_key_of_a_preset_is_not_sent_to_another_server() -> None:
    settings = ProviderSettings(base_url="https://elsewhere.example/v1")
    endpoint = build_endpoint("openai", settings, {"OPENAI_API_KEY": _KEY})
    assert endpoint.resolve_key({"OPENAI_API_KEY": _KEY}) == ""


def test_missing_key_names_the_variable() -> None:
    with pytest.raises(ClawftError, match="OPENAI_API_KEY is not set") as caught:
        build_endpoint("openai", None, {})
    assert caught.value.code == "provider-no-key"
    assert "[providers.openai]" in caught.value.hint


def test_header_that_carries_credentials_stands_in_for_a_key() -> None:
    settings = ProviderSettings(headers={"Authorization": "Bearer ${TOKEN}"})
    endpoint = build_endpoint("openai", settings, {"TOKEN": _KEY})
    assert endpoint.expand_headers({"TOKEN": _KEY}) == {"authorization": f"Bearer {_KEY}"}


def test_local_server_needs_no_key() -> None:
    assert build_endpoint("mine", ProviderSettings(base_url="http://127.0.0.1:1/v1/"), {}).base_url.endswith("/v1")


@pytest.mark.parametrize("host", ["10.0.0.5", "models.example", "[2001:db8::1]"])
def test_key_over_plain_http_to_another_machine_is_refused(host: str) -> None:
    settings = ProviderSettings(base_url=f"http://{host}/v1", api_key=SecretRef(env="K"))
    with pytest.raises(ClawftError, match="unencrypted") as caught:
        build_endpoint("mine", settings, {"K": _KEY})
    assert caught.value.code == "provider-insecure"


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer abcdef"}, {"X-Any": "${K}"}, {"x-API-key": "abc"}])
def test_secret_header_over_plain_http_to_another_machine_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ClawftError, match="unencrypted"):
        build_endpoint("mine", ProviderSettings(base_url="http://10.0.0.5/v1", headers=headers), {"K": _KEY})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "[::1]"])
def test_key_over_plain_http_to_this_machine_is_fine(host: str) -> None:
    settings = ProviderSettings(base_url=f"http://{host}:1/v1", api_key=SecretRef(env="K"))
    assert build_endpoint("mine", settings, {"K": _KEY}).is_local


def test_plain_http_to_another_machine_without_a_key_is_fine() -> None:
    assert not build_endpoint("mine", ProviderSettings(base_url="http://10.0.0.5/v1"), {}).is_local


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x/v1",
        "127.0.0.1:80/v1",
        "http:///v1",
        "http://[::1/v1",
        "http://x:99999/v1",
        "http://u:sk-very-secret-value@x/v1",
        "https://x/v1?key=sk-very-secret-value",
        "https://x/v1#sk-very-secret-value",
        "https://x/\n/v1",
        "https://ex\u0430mple/v1",
    ],
)
def test_bad_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ClawftError) as caught:
        build_endpoint("mine", ProviderSettings(base_url=url), {})
    assert caught.value.code == "provider-bad-url"
    assert _KEY not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize("key", ["sk-a\r\nX-Evil: 1", "sk-\u00e9", "sk a", "sk-\x00"])
def test_key_that_would_break_a_header_is_refused_without_being_shown(key: str) -> None:
    endpoint = build_endpoint("mine", ProviderSettings(base_url="https://x/v1", api_key=SecretRef(env="K")), {"K": key})
    with pytest.raises(ClawftError) as caught:
        endpoint.resolve_key({"K": key})
    assert caught.value.code == "provider-bad-header"
    assert "sk" not in str(caught.value)


def test_white_space_around_a_key_is_dropped() -> None:
    endpoint = build_endpoint("mine", ProviderSettings(base_url="https://x/v1", api_key=SecretRef(env="K")), {"K": "a"})
    assert endpoint.resolve_key({"K": " abc\n"}) == "abc"


def test_header_with_an_unset_variable_names_it() -> None:
    endpoint = build_endpoint("mine", ProviderSettings(base_url="https://x/v1", headers={"X-A": "${REMOVED}"}), {})
    with pytest.raises(ClawftError, match="needs the variable REMOVED") as caught:
        endpoint.expand_headers({})
    assert caught.value.code == "provider-bad-header"


@pytest.mark.parametrize("headers", [{"X-A": "${V}"}, {"X A": "b"}, {"": "b"}, {"X-\u00e9": "b"}])
def test_header_that_would_break_the_request_is_refused(headers: dict[str, str]) -> None:
    endpoint = build_endpoint("mine", ProviderSettings(base_url="https://x/v1", headers=headers), {})
    with pytest.raises(ClawftError) as caught:
        endpoint.expand_headers({"V": "a\r\nX-Evil: 1"})
    assert caught.value.code == "provider-bad-header"
    assert "Evil" not in str(caught.value)


def test_no_repr_shows_a_secret() -> None:
    headers = {"Authorization": f"Bearer {_KEY}", "X-B": "${B}"}
    settings = ProviderSettings(base_url="https://x/v1", api_key=SecretRef(literal=_KEY), headers=headers)
    endpoint = build_endpoint("mine", settings, {"B": _KEY})
    assert _KEY not in f"{endpoint!r} {endpoint}"
    with pytest.raises(TypeError):
        msgspec.json.encode(endpoint)


def test_secrets_of_every_kind_are_masked() -> None:
    headers = {"Authorization": "Bearer tok-in-config", "X-B": "${B}", "X-Title": "shown"}
    settings = ProviderSettings(base_url="https://x/v1", api_key=SecretRef(env="K"), headers=headers)
    environ = {"K": _KEY, "B": "value-of-b"}
    secrets = build_endpoint("mine", settings, environ).find_secrets(environ)
    text = f"Bearer tok-in-config {_KEY}x value-of-b shown"
    assert secrets.mask(text) == "<secret> <secret>x <secret> shown"
