"""Config files to one frozen value: forms, precedence, and errors that name file, line and what was meant."""

from pathlib import Path

import msgspec
import pytest

from clawft.config import EnvValue, SecretRef, config_files, find_by_path, load_config
from clawft.errors import ClawftError, Unreadable
from clawft.workspace import Workspace


def test_without_files_the_defaults_hold(workspace: Workspace) -> None:
    config = load_config(workspace, {})
    assert (config.values, config.files) == ({}, ())
    assert (config.skills.enabled, config.skills.allow_bundled, config.skills.entries) == (True, None, {})
    assert (config.skills.load.extra_dirs, config.skills.load.watch, config.skills.load.watch_debounce_ms) == (
        (),
        True,
        250,
    )
    security = config.skills.security
    assert (security.scan_on_load, security.block_critical, security.allowed_command_prefixes) == (True, True, ())
    assert config.skills.max_skill_prompt_bytes == 32 * 1024


def test_json_in_camel_case_sets_everything_of_the_section(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.json").write_text(
        """{"skills": {
            "enabled": false, "allowBundled": ["a"],
            "load": {"extraDirs": ["~/more"], "watch": false, "watchDebounceMs": 10},
            "entries": {"myTool": {"enabled": false, "env": {"Some_Var": "1"}, "apiKey": "MY_KEY"}},
            "security": {"scanOnLoad": false, "blockCritical": false, "allowedCommandPrefixes": ["git "]}}}"""
    )
    skills = load_config(workspace, {"MY_KEY": "x"}).skills
    assert (skills.enabled, skills.allow_bundled) == (False, ("a",))
    assert (skills.load.extra_dirs, skills.load.watch, skills.load.watch_debounce_ms) == (("~/more",), False, 10)
    entry = skills.entries["myTool"]
    assert (entry.enabled, entry.env, entry.api_key) == (
        False,
        {"Some_Var": EnvValue(literal="1")},
        SecretRef(env="MY_KEY"),
    )
    security = skills.security
    assert (security.scan_on_load, security.block_critical) == (False, False)
    assert security.allowed_command_prefixes == ("git ",)


def test_toml_in_snake_case_means_the_same(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text(
        '[skills]\nmax_skill_prompt_bytes = 100\n[skills.load]\nextra_dirs = ["x"]\n'
        '[skills.entries.a-b]\napi_key = { env = "MY_KEY" }\n'
    )
    skills = load_config(workspace, {}).skills
    assert (skills.max_skill_prompt_bytes, skills.load.extra_dirs) == (100, ("x",))
    assert skills.entries["a-b"].api_key == SecretRef(env="MY_KEY")


def test_project_wins_over_user_key_by_key(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[skills.load]\nextra_dirs = ["user"]\nwatch = false\n')
    Path(workspace.project, ".clawft", "config.json").write_text('{"skills": {"load": {"extraDirs": ["project"]}}}')
    config = load_config(workspace, {})
    assert (config.skills.load.extra_dirs, config.skills.load.watch) == (("project",), False)
    assert config.files == (
        f"{workspace.user_dir}/config.toml",
        f"{workspace.project}/.clawft/config.json",
    )


def test_files_are_listed_lowest_precedence_first(workspace: Workspace) -> None:
    assert config_files(workspace) == (
        f"{workspace.user_dir}/config.toml",
        f"{workspace.user_dir}/config.json",
        f"{workspace.project}/.clawft/config.toml",
        f"{workspace.project}/.clawft/config.json",
    )


def test_other_sections_are_kept_for_lookups_by_path(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[agents.defaults]\nmodel = "a/b"\n')
    assert find_by_path(load_config(workspace, {}).values, "agents.defaults.model") == "a/b"


def test_both_forms_in_one_folder_are_an_error(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").touch()
    Path(workspace.user_dir, "config.json").touch()
    with pytest.raises(ClawftError, match=r"Both config\.toml and config\.json exist") as caught:
        load_config(workspace, {})
    assert (caught.value.code, caught.value.hint) == ("config-twice", "Keep one of them")


def test_byte_order_mark_and_empty_file_are_no_errors(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.json").write_bytes(b"\xef\xbb\xbf")
    assert load_config(workspace, {}).values == {}


@pytest.mark.parametrize(
    ("name", "text", "line", "message", "hint"),
    [
        ("config.toml", "[skills]\nenabel = true\n", 2, "no setting 'skills.enabel'", "Did you mean 'skills.enabled'?"),
        ("config.toml", "[skills.load]\n\nxyz = 1\n", 3, "no setting 'skills.load.xyz'", ""),
        (
            "config.json",
            '{\n"skills": {\n"load": {\n"watchDebounce": 1}}}',
            4,
            "no setting 'skills.load.watch_debounce'",
            "Did you mean 'skills.load.watch_debounce_ms'?",
        ),
        (
            "config.toml",
            "[skills.entries.a]\nenabld = true\n",
            2,
            "enabld",
            "Did you mean 'skills.entries.a.enabled'?",
        ),
    ],
)
def test_unknown_setting_is_an_error_with_its_line_and_the_close_one(
    workspace: Workspace, name: str, text: str, line: int, message: str, hint: str
) -> None:
    Path(workspace.user_dir, name).write_text(text)
    with pytest.raises(ClawftError, match=message) as caught:
        load_config(workspace, {})
    found = caught.value.diagnostic
    assert (found.code, found.where, found.hint) == ("config-unknown-key", f"{workspace.user_dir}/{name}:{line}", hint)


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("config.toml", '[skills]\n\nenabled = "x"\n', 3, "skills.enabled: expected `bool`, got `str`"),
        ("config.toml", '[skills.load]\nextraDirs = "x"\n', 2, "skills.load.extra_dirs: expected `array`"),
        ("config.toml", "[skills.load]\nextra_dirs = [1]\n", 2, "expected `str`, got `int`"),
        ("config.toml", "[skills]\nentries = [1]\n", 2, "skills.entries: expected `object`"),
        ("config.toml", "[skills.entries.a]\napi_key = 3\n", 2, "api_key"),
        ("config.toml", "a = 1\nb = [\nc = 2\n", 3, "cannot be parsed"),
        ("config.json", "[]", 1, "not a JSON object"),
    ],
)
def test_value_that_cannot_be_meant_is_an_error_with_its_line(
    workspace: Workspace, name: str, text: str, line: int, message: str
) -> None:
    Path(workspace.user_dir, name).write_text(text)
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    found = caught.value.diagnostic
    assert (found.code, found.where) == ("config-invalid", f"{workspace.user_dir}/{name}:{line}")
    assert message in found.message


def test_error_names_the_file_it_is_in_and_not_the_one_below(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text("[skills]\nenabled = true\n")
    Path(workspace.project, ".clawft", "config.toml").write_text("[skills]\nenabled = 3\n")
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    assert caught.value.diagnostic.where == f"{workspace.project}/.clawft/config.toml:2"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("config.json", b"{"),
        ("config.json", b"\xff\xfe{"),
        ("config.json", b"[" * 100_000),
        ("config.json", b'{"a":' * 100_000),
        ("config.toml", b"\x00"),
        ("config.toml", b"a = " + b"[" * 100_000),
    ],
)
def test_hostile_file_is_an_error_that_names_it(workspace: Workspace, name: str, data: bytes) -> None:
    Path(workspace.user_dir, name).write_bytes(data)
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    assert (caught.value.code, caught.value.diagnostic.path) == ("config-invalid", f"{workspace.user_dir}/{name}")


def test_file_over_a_megabyte_is_refused(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.json").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(Unreadable, match="limit"):
        load_config(workspace, {})


def test_linked_config_is_read(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("[skills]\nenabled = false\n")
    Path(workspace.user_dir, "config.toml").symlink_to(tmp_path / "dotfiles.toml")
    assert not load_config(workspace, {}).skills.enabled


def test_settings_show_no_secret(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[skills.entries.a]\napi_key = "sk-live-1234"\n')
    skills = load_config(workspace, {}).skills
    assert skills.entries["a"].api_key == SecretRef(literal="sk-live-1234")
    assert "sk-live" not in repr(skills)


def test_setting_of_another_section_is_named_in_full(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[skills]\nextraDirs = ["a"]\n')
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    assert caught.value.hint == "Did you mean 'skills.load.extra_dirs'?"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("config.json", '{\n"skills": {\n', 2),
        ("config.toml", "skills = 3\n", 1),
        ("config.json", '{"skills": {"load": {"watchDebounce": 1}}}', 1),
        ("config.toml", "\n[skills]\nmax_skill_prompt_bytes = -5\n", 3),
    ],
)
def test_every_error_has_its_line(workspace: Workspace, name: str, text: str, line: int) -> None:
    Path(workspace.user_dir, name).write_text(text)
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {})
    assert caught.value.diagnostic.line == line


def test_secret_in_plain_text_is_said_and_shown_nowhere(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[skills.entries.a]\napi_key = "sk-live-1234"\n')
    config = load_config(workspace, {})
    assert [one.code for one in config.diagnostics] == ["secret-literal"]
    assert "sk-live" not in repr(config) + repr(config.skills) + repr(config.diagnostics)
    with pytest.raises(TypeError):
        msgspec.json.encode(config.skills)


def test_camel_case_reaches_every_section_and_stops_at_names(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.json").write_text(
        """{"agents": {"defaults": {"maxTokens": 5}, "budget": {"perDayUsd": 2},
                       "routing": {"tiers": [{"model": "a/b", "upTo": 0.5}]}},
            "providers": {"myHost": {"baseUrl": "http://x", "apiKey": {"env": "K"}, "headers": {"X-Some-Thing": "1"},
                          "models": {"Gpt-4.1": {"contextWindow": 7}}}},
            "tools": {"exec": {"allowedCommands": ["ls"]}, "web": {"rateLimit": {"maxRequests": 1}}},
            "mcp": {"servers": {"gitHub": {"startTimeoutS": 1, "env": {"SomeVar": "1"}}}},
            "skills": {"config": {"channels": {"myChannel": {"botName": "b"}}}}}"""
    )
    config = load_config(workspace, {})
    assert (config.agents.defaults.max_tokens, config.agents.budget.per_day_usd) == (5, 2)
    assert [(tier.model, tier.up_to) for tier in config.agents.routing.tiers] == [("a/b", 0.5)]
    provider = config.providers["myHost"]
    assert (provider.base_url, provider.api_key, provider.headers) == (
        "http://x",
        SecretRef(env="K"),
        {"X-Some-Thing": "1"},
    )
    assert provider.models["Gpt-4.1"].context_window == 7
    assert (config.tools.exec.allowed_commands, config.tools.web.rate_limit.max_requests) == (("ls",), 1)
    assert config.mcp.servers["gitHub"].env == {"SomeVar": "1"}
    assert config.skills.config == {"channels": {"myChannel": {"botName": "b"}}}


def test_sections_that_no_file_has_are_their_defaults(workspace: Workspace) -> None:
    config = load_config(workspace, {})
    assert (config.agents.defaults.model, config.providers, config.mcp.servers) == ("offline", {}, {})
    assert (config.memory.enabled, config.tools.exec.timeout_s) == (True, 120)


def test_names_that_differ_in_case_are_two_names(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.json").write_text('{"providers": {"myHost": {}, "my_host": {}}}')
    assert list(load_config(workspace, {}).providers) == ["myHost", "my_host"]


@pytest.mark.parametrize(
    "field",
    ["app_secret", "encrypt_key", "client_secret", "claw_token", "imap_password", "smtp_password", "secret", "api_key"],
)
def test_credential_of_a_channel_is_a_reference_or_warned_of(workspace: Workspace, field: str) -> None:
    file = Path(workspace.user_dir, "config.toml")
    file.write_text(f'[skills.config.channels.some]\n{field} = {{ env = "THE_VARIABLE" }}\n')
    assert load_config(workspace, {}).diagnostics == ()
    file.write_text(f'[skills.config.channels.some]\n\n{field} = "literal-value"\n')
    (warning,) = load_config(workspace, {}).diagnostics
    assert (warning.code, warning.line) == ("secret-literal", 3)
    assert warning.message == f"skills.config.channels.some.{field} holds a secret in plain text"
    assert "literal-value" not in repr(warning)
