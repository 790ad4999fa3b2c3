"""Secrets kept out of text, whole or in pieces, in every form they are written in."""

import base64
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config import load_config
from clawft.config.redaction import MASK, Secrets, is_odd, looks_secret
from clawft.workspace import Workspace

# Few letters, so that secrets overlap each other and the text around them.
_LETTERS = st.text("ab", min_size=6, max_size=9)
_ANY = st.text(min_size=6, max_size=20)


def _pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({min(cut, len(text)) for cut in cuts})
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@given(st.lists(_LETTERS, max_size=4), st.text("abc", max_size=60), st.lists(st.integers(0, 60), max_size=20))
def test_any_split_of_a_text_comes_out_as_the_whole_would(values: list[str], text: str, cuts: list[int]) -> None:
    secrets = Secrets(values)
    stream = secrets.stream()
    shown = "".join([*map(stream.feed, _pieces(text, cuts)), stream.flush()])
    assert shown == secrets.mask(text)
    assert not any(value in shown for value in values)


@given(_ANY, st.text(max_size=30), st.text(max_size=30), st.lists(st.integers(0, 80), max_size=20))
def test_no_split_lets_a_secret_through(value: str, before: str, after: str, cuts: list[int]) -> None:
    if value in MASK or not value.strip() or value in before or value in after:
        return
    stream = Secrets([value]).stream()
    shown = [*map(stream.feed, _pieces(before + value + after, cuts)), stream.flush()]
    assert MASK in "".join(shown)
    assert value not in "".join(shown).replace(MASK, "\0")


@given(st.text("0123456789 \n", max_size=80), st.lists(st.integers(0, 80), max_size=10))
def test_text_without_secrets_is_neither_changed_nor_delayed(text: str, cuts: list[int]) -> None:
    stream = Secrets(["sk-live-abcdef"]).stream()
    for piece in _pieces(text, cuts):
        assert stream.feed(piece) == piece
    assert stream.flush() == ""


def test_only_what_may_be_the_start_of_a_secret_waits() -> None:
    stream = Secrets(["sk-live-1234"]).stream()
    assert stream.feed("the key is sk-li") == "the key is "
    assert stream.feed("ve-") == ""
    assert stream.feed("ly it is not") == "sk-live-ly it is not"
    assert stream.feed("sk-live-12") == ""
    assert stream.flush() == "sk-live-12"
    assert stream.feed("34") == "34"


@pytest.mark.parametrize("value", ["sk-live-1234", 'pass"word/1 +'])
def test_no_form_of_a_secret_slips_through_between_its_last_two_characters(value: str) -> None:
    secrets = Secrets([value])
    for form in secrets.forms:
        stream = secrets.stream()
        shown = stream.feed(f"({form[:-1]}") + stream.feed(f"{form[-1]})") + stream.flush()
        assert shown == secrets.mask(f"({form})")
        assert form not in shown


def test_longer_secret_is_masked_whole_though_a_shorter_one_begins_it() -> None:
    secrets = Secrets(["abcdef", "abcdefgh"])
    stream = secrets.stream()
    assert secrets.mask("xabcdefgh abcdef") == "x<secret> <secret>"
    assert stream.feed("xabcdef") == "x"
    assert stream.feed("gh abcdef") == "<secret> "
    assert stream.flush() == "<secret>"


@pytest.mark.parametrize(
    "value", ['pass"word\\1', 'é"quoted"é', '"quoted"', "p@ss/w+rd é", "sk-live-1234", "line\nbreak\n"]
)
def test_every_form_of_a_secret_is_masked(value: str) -> None:
    data = value.encode()
    forms = [
        value,
        value.strip(),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        base64.b64encode(data).decode(),
        base64.urlsafe_b64encode(data).decode(),
        base64.b64encode(data).decode().rstrip("="),
    ]
    for form in forms:
        assert Secrets([value]).mask(f"<{form}>") == "<<secret>>"


@given(st.binary(max_size=7), st.text(min_size=6, max_size=12), st.binary(max_size=7))
def test_secret_inside_of_what_is_base64_is_masked(before: bytes, value: str, after: bytes) -> None:
    if len(value.strip()) < 6:
        return
    encoded = base64.b64encode(before + value.encode() + after).decode()
    assert MASK in Secrets([value]).mask(encoded)


@pytest.mark.parametrize(("before", "kept"), [(0, 0), (1, 2), (2, 3), (3, 4), (4, 6)])
@pytest.mark.parametrize("value", ["sk-live-1234", "sk-live-12345", "sk-live-123456"])
def test_no_character_of_base64_is_left_that_the_secret_alone_decides(before: int, kept: int, value: str) -> None:
    encoded = base64.b64encode(b"\xff" * before + value.encode() + b"\xff" * 6).decode()
    end = (before + len(value)) * 8 // 6
    assert Secrets([value]).mask(encoded) == encoded[:kept] + MASK + encoded[end:]


@pytest.mark.parametrize(
    ("text", "secret", "odd"),
    [
        ("metric", False, False),
        ("8080", False, False),
        ("production-cluster", False, False),
        ("1234567890123", False, False),
        ("abcdef-12345", False, True),
        ("abcdef-1234", False, False),
        ("ghp_0123456789abcdef", True, True),
        ("-----BEGIN RSA PRIVATE KEY-----", True, True),
        ("postgres://me:hunter2@host/db", True, True),
        ("postgres://me@host/db?password=hunter2", True, True),
        ("https://host/a?b=c", False, False),
    ],
)
def test_what_looks_like_a_secret_is_told_from_words_and_numbers(text: str, secret: bool, odd: bool) -> None:
    assert (looks_secret(text), is_odd(text)) == (secret, odd)


def test_a_secret_that_is_whole_is_masked_at_once_where_none_is_longer() -> None:
    stream = Secrets(["sk-live-1234"]).stream()
    assert stream.feed("x sk-live-1234") == "x <secret>"
    assert stream.feed(" y") == " y"


def test_short_values_are_no_secrets() -> None:
    secrets = Secrets(["", "12345", "  yes  ", " " * 20])
    assert not secrets
    assert secrets.mask("12345 yes") == "12345 yes"


def test_without_secrets_nothing_is_touched() -> None:
    value = {"a": ["b"]}
    secrets = Secrets()
    assert secrets.mask_value(value) is value
    assert secrets.stream().feed("text") == "text"


def test_values_are_masked_in_depth_and_keep_their_shape() -> None:
    value = {"sk-live-1": [("x sk-live-1",), {"n": 1, "none": None, "b": True}]}
    assert Secrets(["sk-live-1"]).mask_value(value) == {MASK: [("x <secret>",), {"n": 1, "none": None, "b": True}]}


def test_neither_repr_shows_a_secret() -> None:
    secrets = Secrets(["sk-live-1234", "sk-live-5678\n"])
    assert (repr(secrets), repr(secrets.stream())) == ("Secrets(2)", "Stream(Secrets(2))")


EVERYWHERE = """
[providers.a]
api_key = { env = "KEY_A" }
base_url = "https://user:pw-in-url@host/v1"
headers = { X-Team = "team-${TEAM_KEY}", X-Api-Key = "header-literal", Accept = "text/plain" }
[providers.b]
api_key = "literal-b"
[tools.web.search]
api_key = { env = "KEY_S" }
[mcp.servers.m]
args = ["--token", "ghp_0123456789abcdef0123", "--api-key=option-value-1", "--api-token", "word-of-option-2",
  "--header=X-Api-Key: header-value-1"]
env = { DB = "${DB_URL}", MY_TOKEN = "env-literal", MODE = "production" }
headers = { Authorization = "Bearer bearer-literal" }
[skills.entries.s]
env = { ANY_NAME = "entry-value-4711", UNITS = "metric" }
api_key = { env = "KEY_E" }
[skills.config.channels.mail]
imap_password = "mail-literal"
ssh = "-----BEGIN PRIVATE KEY-----"
tokens = ["listed-literal"]
credentials = { pin = "nested-literal", code = 12345678 }
token = 87654321
[mcp.servers.n]
url = "https://host/mcp?apiKey=query-literal&mode=verbose"
[mcp.servers.o]
url = "https://user-token-1@host/mcp"
"""


def test_secrets_of_a_config_are_found_wherever_they_stand(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text(EVERYWHERE)
    environ = {
        "KEY_A": "value-a",
        "KEY_S": "value-s",
        "KEY_E": "value-e",
        "TEAM_KEY": "value-team",
        "DB_URL": "value-db",
        "OPENAI_API_KEY": "value-openai",
        "BRAVE_API_KEY": "value-brave",
    }
    secrets = Secrets.of(load_config(workspace, environ), environ)
    hidden = [
        "value-a", "value-s", "value-e", "value-team", "team-value-team", "value-db", "value-openai", "value-brave",
        "literal-b", "pw-in-url", "header-literal", "ghp_0123456789abcdef0123", "env-literal", "bearer-literal",
        "entry-value-4711", "mail-literal", "-----BEGIN PRIVATE KEY-----",
        "option-value-1", "word-of-option-2", "header-value-1", "listed-literal", "nested-literal", "87654321",
        "query-literal", "user-token-1",
    ]  # fmt: skip
    for value in hidden:
        assert secrets.mask(f"[{value}]") == "[<secret>]", value
    for value in ("text/plain", "production", "https://user", "--token", "verbose"):
        assert secrets.mask(value) == value


def test_settings_of_a_plugin_are_secrets_where_its_schema_says_so(workspace: Workspace) -> None:
    text = '[plugins.entries."test.p".config]\nwayIn = "by-the-window"\nmode = "by-the-front-door"\n'
    Path(workspace.user_dir, "config.toml").write_text(text)
    schema = {"type": "object", "properties": {"wayIn": {"type": "string", "format": "password"}}}
    secrets = Secrets.of(load_config(workspace, {}), {}, {"test.p": schema})
    assert secrets.mask("by-the-window, by-the-front-door") == "<secret>, by-the-front-door"
    assert not Secrets.of(load_config(workspace, {}), {})


def test_a_variable_that_is_not_set_is_no_secret(workspace: Workspace) -> None:
    text = '[providers.a]\nheaders = { Authorization = "${NOT_SET}", X-Key = "${NOT_SET}" }\n'
    Path(workspace.user_dir, "config.toml").write_text(text)
    assert not Secrets.of(load_config(workspace, {}), {})


def test_config_without_secrets_has_none(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[providers.a]\napi_key = { env = "NOT_SET" }\n')
    assert not Secrets.of(load_config(workspace, {}), {})


def test_variables_that_hooks_plugins_and_commands_get_are_secrets_where_they_are_given(workspace: Workspace) -> None:
    text = (
        '[hooks.entries.h]\nenv = { A_TOKEN = "hook-value" }\n'
        '[plugins.entries."test.p"]\nenv = { A_TOKEN = "plugin-value", PLAIN = "production" }\n'
        '[skills.entries.s]\nenv = { ANY = { env = "GIVEN" } }\n'
        '[tools.exec]\nenv = ["MY_TOKEN", "MY_LANG", "NO_TOKEN"]\n'
    )
    Path(workspace.user_dir, "config.toml").write_text(text)
    environ = {"MY_TOKEN": "command-value", "MY_LANG": "language", "GIVEN": "referred"}
    secrets = Secrets.of(load_config(workspace, environ), environ)
    for value in ("hook-value", "plugin-value", "command-value", "referred"):
        assert secrets.mask(f"[{value}]") == "[<secret>]", value
    assert secrets.mask("production language") == "production language"
    assert repr(secrets) == "Secrets(4)"
