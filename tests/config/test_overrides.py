"""Variables that override settings: `CLAWFT_A__B`."""

from pathlib import Path

import pytest

from clawft.config import EnvValue, SecretRef, load_config
from clawft.errors import ClawftError
from clawft.workspace import Workspace


def test_variable_wins_over_every_file(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[agents.defaults]\nmodel = "user"\nmax_tokens = 5\n')
    Path(workspace.project, ".clawft", "config.toml").write_text('[agents.defaults]\nmodel = "project"\n')
    defaults = load_config(workspace, {"CLAWFT_AGENTS__DEFAULTS__MODEL": "variable"}).agents.defaults
    assert (defaults.model, defaults.max_tokens) == ("variable", 5)


@pytest.mark.parametrize(
    ("variable", "text", "value"),
    [
        ("CLAWFT_SKILLS__ENABLED", "false", False),
        ("CLAWFT_SKILLS__ENABLED", "0", False),
        ("CLAWFT_SKILLS__ENABLED", "true", True),
        ("CLAWFT_SKILLS__MAX_SKILL_PROMPT_BYTES", "100", 100),
        ("CLAWFT_SKILLS__ALLOW_BUNDLED", '["a", "b"]', ("a", "b")),
    ],
)
def test_text_becomes_what_the_setting_takes(workspace: Workspace, variable: str, text: str, value: object) -> None:
    skills = load_config(workspace, {variable: text}).skills
    assert getattr(skills, variable.rpartition("__")[2].lower()) == value


def test_lookups_by_path_see_the_value_and_not_its_text(workspace: Workspace) -> None:
    environ = {"CLAWFT_SKILLS__CONFIG__CHANNELS__SLACK": "false", "CLAWFT_SKILLS__LOAD__WATCH": "0"}
    assert load_config(workspace, environ).values == {
        "skills": {"config": {"channels": {"slack": False}}, "load": {"watch": False}}
    }


def test_other_clients_settings_take_json_or_a_text(workspace: Workspace) -> None:
    environ = {"CLAWFT_SKILLS__CONFIG__A": '{"bC": 1}', "CLAWFT_SKILLS__CONFIG__B": "plain words"}
    assert load_config(workspace, environ).skills.config == {"a": {"bC": 1}, "b": "plain words"}


def test_text_setting_keeps_a_text_that_looks_like_something_else(workspace: Workspace) -> None:
    environ = {"CLAWFT_AGENTS__DEFAULTS__MODEL": "[1]", "CLAWFT_AGENTS__DEFAULTS__AGENT": "7"}
    defaults = load_config(workspace, environ).agents.defaults
    assert (defaults.model, defaults.agent) == ("[1]", "7")


def test_table_may_be_given_as_json_in_either_spelling(workspace: Workspace) -> None:
    environ = {"CLAWFT_SKILLS__LOAD": '{"extraDirs": ["x"], "watch": false}'}
    load = load_config(workspace, environ).skills.load
    assert (load.extra_dirs, load.watch) == (("x",), False)


def test_name_is_the_one_that_the_files_have(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text("[providers.My-Host]\n[skills.entries.some_skill]\n")
    environ = {"CLAWFT_PROVIDERS__MY_HOST__TIMEOUT_S": "7", "CLAWFT_SKILLS__ENTRIES__SOME_SKILL__ENABLED": "no"}
    with pytest.raises(ClawftError, match=r"skills\.entries\.some_skill\.enabled: expected `bool`"):
        load_config(workspace, environ)
    environ["CLAWFT_SKILLS__ENTRIES__SOME_SKILL__ENABLED"] = "false"
    config = load_config(workspace, environ)
    assert {name: one.timeout_s for name, one in config.providers.items()} == {"My-Host": 7}
    assert not config.skills.entries["some_skill"].enabled


def test_new_names_are_spelled_as_their_kind_is(workspace: Workspace) -> None:
    environ = {
        "CLAWFT_SKILLS__ENTRIES__CODE_REVIEW__ENV__API_URL": "u",
        "CLAWFT_PROVIDERS__LOCAL__HEADERS__X_TEAM": "t",
    }
    config = load_config(workspace, environ)
    assert config.skills.entries["code-review"].env == {"API_URL": EnvValue(literal="u")}
    assert config.providers["local"].headers == {"x-team": "t"}


def test_secret_is_a_reference_when_the_variable_it_names_is_set(workspace: Workspace) -> None:
    environ = {"CLAWFT_PROVIDERS__LOCAL__API_KEY": "LOCAL_KEY", "LOCAL_KEY": "x"}
    assert load_config(workspace, environ).providers["local"].api_key == SecretRef(env="LOCAL_KEY")


@pytest.mark.parametrize(
    ("variable", "text", "code", "message", "hint"),
    [
        ("CLAWFT_SKILS__ENABLED", "1", "config-unknown-key", "no section 'skils'", "Did you mean 'skills'?"),
        (
            "CLAWFT_SKILLS__ENABELD",
            "1",
            "config-unknown-key",
            "no setting 'skills.enabeld'",
            "Did you mean 'skills.enabled'?",
        ),
        ("CLAWFT_SKILLS__ENABLED__X", "1", "config-invalid", "skills.enabled: expected `bool`, got `object`", ""),
        ("CLAWFT_SKILLS__ENABLED", "maybe", "config-invalid", "skills.enabled: expected `bool`, got `str`", ""),
        ("CLAWFT_SKILLS__ALLOW_BUNDLED", '["a"', "config-invalid", "allow_bundled: expected `array | null`", ""),
        ("CLAWFT_SKILLS__LOAD", '{"watch": 1, "watch": 0}', "config-invalid", "sets a key twice", ""),
        ("CLAWFT_SKILLS____X", "1", "config-unknown-key", "CLAWFT_SKILLS____X names no setting", ""),
        ("CLAWFT_AGENTS__BUDGET__PER_DAY_USD", "nan", "config-invalid", "expected `float` >= 0.0", ""),
    ],
)
def test_error_names_the_variable(
    workspace: Workspace, variable: str, text: str, code: str, message: str, hint: str
) -> None:
    with pytest.raises(ClawftError) as caught:
        load_config(workspace, {variable: text})
    found = caught.value.diagnostic
    assert (found.code, found.where, found.hint) == (code, variable, hint)
    assert message in found.message


def test_other_variables_of_ours_set_nothing(workspace: Workspace) -> None:
    config = load_config(workspace, {"CLAWFT_HOME": "/x", "CLAWFT__X": "1", "OTHER__X": "1"})
    assert (config.values, config.layers) == ({}, ())


def test_layers_tell_what_came_from_where_and_show_nothing(workspace: Workspace) -> None:
    Path(workspace.user_dir, "config.toml").write_text('[providers.x]\napi_key = "sk-live-1234"\n')
    config = load_config(workspace, {"CLAWFT_SKILLS__ENABLED": "0"})
    assert [layer.source for layer in config.layers] == [f"{workspace.user_dir}/config.toml", "CLAWFT_SKILLS__ENABLED"]
    assert config.files == (f"{workspace.user_dir}/config.toml",)
    assert "sk-live" not in repr(config.layers)
