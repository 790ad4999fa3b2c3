"""Values as they are typed on a command line, as the setting's own type."""

import pytest

from clawft.config.schema import parse_typed
from clawft.errors import ClawftError, Refused


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("skills.enabled", "true", True),
        ("skills.enabled", "maybe", "maybe"),
        ("agents.defaults.max_tokens", "12", 12),
        ("agents.defaults.temperature", "1", 1.0),
        ("memory.embedding", "2", 2),
        ("agents.defaults.model", "true", "true"),
        ("tools.exec.mode", "denylist", "denylist"),
        ("skills.allow_bundled", '["a"]', ["a"]),
        ("skills.allow_bundled", "['a']", ["a"]),
        ("skills.load", '{"extraDirs": ["a"]}', {"extra_dirs": ["a"]}),
        ("skills.load", "{ extraDirs = ['a'] }", {"extra_dirs": ["a"]}),
        ("skills.config.x", "true", True),
        ("skills.config.x", "3", 3),
        ("skills.config.x", "plain words", "plain words"),
        ("skills.config.x", "1\n[skills]\ny = 1", "1\n[skills]\ny = 1"),
        ("skills.config.x", "[" * 5000, "[" * 5000),
        ("providers.x.api_key", "env:NAME", {"env": "NAME"}),
        ("providers.x.api_key", "key:NAME", {"keystore": "NAME"}),
        ("providers.x.api_key", '{ keystore = "NAME" }', {"keystore": "NAME"}),
        ("providers.x.api_key", '{ env = "NAME" }', {"env": "NAME"}),
        ("providers.x.api_key", '{"env": "NAME"}', {"env": "NAME"}),
        ("providers.x.api_key", "IS_SET", {"env": "IS_SET"}),
        ("skills.config.mail.password", "env:NAME", {"env": "NAME"}),
    ],
)
def test_typed_value_becomes_what_the_setting_takes(key: str, typed: str, value: object) -> None:
    assert parse_typed(tuple(key.split(".")), typed, {"IS_SET": "x"}) == value


@pytest.mark.parametrize("typed", ["a, b", "", "[1", "1\nx = 2"])
def test_list_that_is_none_is_an_error_with_an_example(typed: str) -> None:
    with pytest.raises(ClawftError, match="neither JSON nor TOML") as caught:
        parse_typed(("skills", "allow_bundled"), typed, {})
    assert caught.value.hint == 'Write it as ["a", "b"]'


@pytest.mark.parametrize("typed", ["sk-live-1", "NOT_SET", "", "{", "{ x = 1 }", "env:"])
@pytest.mark.parametrize("key", ["providers.x.api_key", "skills.config.mail.imap_password"])
def test_secret_in_plain_text_is_refused_unless_it_is_meant(key: str, typed: str) -> None:
    path = tuple(key.split("."))
    with pytest.raises(Refused) as caught:
        parse_typed(path, typed, {})
    assert caught.value.code == "secret-literal"
    assert f"weft config set {key} env:NAME" in caught.value.hint
    assert parse_typed(path, typed, {}, literal=True) == typed
