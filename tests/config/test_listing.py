"""Settings as people see them: values, where they come from, and nothing of a secret."""

from pathlib import Path

import pytest

from clawft.config import load_config
from clawft.config.listing import find_values, get_path, list_settings, redact
from clawft.errors import ClawftError
from clawft.workspace import Workspace


def _shown(workspace: Workspace, environ: dict[str, str] | None = None) -> dict[str, tuple[object, str, int]]:
    settings = list_settings(load_config(workspace, environ or {}), environ or {})
    return {one.key: (one.value, one.source, one.line) for one in settings}


def test_each_setting_names_the_last_that_sets_it(workspace: Workspace) -> None:
    user, project = Path(workspace.user_dir, "config.toml"), Path(workspace.project, ".clawft", "config.json")
    user.write_text('[skills]\nenabled = true\n[skills.load]\nextraDirs = ["u"]\nwatch = true\n')
    project.write_text('{"skills":\n{"load":\n{"extraDirs":\n["p"]}}}')
    assert _shown(workspace, {"CLAWFT_SKILLS__LOAD__WATCH": "0"}) == {
        "skills.enabled": (True, str(user), 2),
        "skills.load.extra_dirs": (["p"], str(project), 3),
        "skills.load.watch": (False, "CLAWFT_SKILLS__LOAD__WATCH", 0),
    }


def test_secrets_are_shown_as_references_only(workspace: Workspace) -> None:
    file = Path(workspace.user_dir, "config.toml")
    file.write_text(
        '[providers.a]\napi_key = { env = "KEY_A" }\nbase_url = "https://me:hunter22@x"\n'
        'headers = { X-K = "${KEY_A}", Authorization = "Bearer ${KEY_A}", X-L = "hunter2" }\n'
        '[providers.b]\napi_key = "hunter2222"\n[providers.c]\napi_key = { env = "NONE" }\n'
        '[mcp.servers.m]\nargs = ["a", "sk-hunter22222", "value-of-a", "X-Api-Key: hunter2", "KEY=hunter2",'
        ' "--password", "hunter2", "--header=X-Key: hunter2", "--url=http://x/?key=${KEY_A}", "X-Key: ${KEY_A}"]\n'
        'env = { A = "hunter2" }\n'
        '[skills.entries.s.env]\nB = "hunter2"\n[skills.config.mail]\nsmtp_password = "hunter2"\nhost = "h"\n'
        'token = 1234567\npasswords = ["hunter2"]\ncredentials = { a = "hunter2" }\nsecret = "KEY_A"\n'
        '[mcp.servers.n]\nurl = "https://x/sse?access_token=hunter2"\n'
        '[hub]\ndatabase = "host=x password=hunter2 user=y"\n'
    )
    environ = {"KEY_A": "value-of-a"}
    settings = {one.key: one for one in list_settings(load_config(workspace, environ), environ)}
    assert {key: one.value for key, one in settings.items()} == {
        "providers.a.base_url": "<hidden>",
        "providers.a.api_key": "${KEY_A}",
        "providers.a.headers.X-K": "${KEY_A}",
        "providers.a.headers.Authorization": "Bearer ${KEY_A}",
        "providers.a.headers.X-L": "<hidden>",
        "providers.b.api_key": "<redacted>",
        "providers.c.api_key": "${NONE}",
        "mcp.servers.m.args": [
            "a", "<hidden>", "<secret>", "X-Api-Key: <hidden>", "KEY=<hidden>", "--password", "<hidden>",
            "--header=X-Key: <hidden>", "--url=http://x/?key=${KEY_A}", "X-Key: ${KEY_A}",
        ],
        "mcp.servers.m.env.A": "<hidden>",
        "skills.entries.s.env.B": "<hidden>",
        "skills.config.mail.smtp_password": "<redacted>",
        "skills.config.mail.host": "h",
        "skills.config.mail.token": "<redacted>",
        "skills.config.mail.passwords": ["<redacted>"],
        "skills.config.mail.credentials.a": "<redacted>",
        "skills.config.mail.secret": "${KEY_A}",
        "mcp.servers.n.url": "<hidden>",
        "hub.database": "host=x password=<hidden> user=y",
    }  # fmt: skip
    told = {key: one.configured for key, one in settings.items() if one.configured is not None}
    assert told == {
        "providers.a.api_key": True,
        "providers.b.api_key": True,
        "providers.c.api_key": False,
        "skills.config.mail.smtp_password": True,
        "skills.config.mail.token": True,
        "skills.config.mail.credentials.a": True,
        "skills.config.mail.secret": True,
    }


def test_defaults_are_listed_on_request_with_what_is_set_among_them(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text("[providers.x]\n[skills]\nenabled = false\n[serve]\nport = 1\n")
    settings = list_settings(load_config(workspace, {}), {}, defaults=True)
    shown = {one.key: (one.value, one.source.rpartition("/")[2]) for one in settings}
    assert shown["agents.defaults.model"] == ("offline", "default")
    assert shown["tools.exec.mode"] == ("allowlist", "default")
    assert shown["providers.x.timeout_s"] == (120, "default")
    assert shown["skills.enabled"] == (False, "config.toml")
    assert shown["skills.entries"] == ({}, "default")
    assert shown["serve.port"] == (1, "config.toml")
    assert shown["serve.host"][1] == "default"


def test_value_or_default_is_found_by_path(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[providers.x.models."a-4.1"]\ncontext_window = 5\n')
    settings = list_settings(load_config(workspace, {}), {}, defaults=True)
    assert find_values(settings, get_path("agents.defaults.maxTokens")) == 4096
    assert find_values(settings, get_path('providers.x.models."a-4.1".contextWindow')) == 5
    assert find_values(settings, get_path("agents.compaction")) == {"at": 0.8, "keep_turns": 4}
    assert find_values(settings, get_path("agents.budget.per_day_usd")) is None


@pytest.mark.parametrize(
    ("key", "message", "hint"),
    [
        ("skils", "no section 'skils'", "Did you mean 'skills'?"),
        ("skills.lod.watch", "no setting 'skills.lod'", "Did you mean 'skills.load'?"),
        ("skills.load.wach", "no setting 'skills.load.wach'", "Did you mean 'skills.load.watch'?"),
        ("skills.enabled.x", "no setting 'skills.enabled.x'", ""),
        ("skills.load.zzz", "no setting 'skills.load.zzz'", ""),
        ("providers.x.apikee", "no setting 'providers.x.apikee'", "Did you mean 'providers.x.api_key'?"),
        ("", "'' is no key", "A key has parts"),
        ("skills.", "'skills.' is no key", "A key has parts"),
        (".skills", "'.skills' is no key", "A key has parts"),
        ('skills."x', "is no key", "A key has parts"),
    ],
)
def test_key_that_is_none_is_an_error_with_the_close_one(key: str, message: str, hint: str) -> None:
    with pytest.raises(ClawftError) as caught:
        get_path(key)
    assert caught.value.code == "config-unknown-key"
    assert message in str(caught.value)
    assert caught.value.hint.startswith(hint)


def test_name_that_nothing_has_is_an_error_with_the_close_one(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text("[providers.local]\ntimeout_s = 1\n")
    settings = list_settings(load_config(workspace, {}), {}, defaults=True)
    with pytest.raises(ClawftError, match=r"Nothing sets 'providers\.locla'") as caught:
        find_values(settings, get_path("providers.locla"))
    assert caught.value.hint == "Did you mean 'providers.local'?"


def test_single_value_is_redacted_by_where_it_stands() -> None:
    assert redact(("providers", "x", "api_key"), "sk-1", {}) == "<redacted>"
    assert redact(("providers", "x"), {"api_key": {"env": "A"}, "wire": "openai"}, {}) == {
        "api_key": "${A}",
        "wire": "openai",
    }
    assert redact(("providers", "x"), {}, {}) == {}
