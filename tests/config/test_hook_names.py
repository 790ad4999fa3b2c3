"""Names of hooks, and of the variables they are given, are the user's own."""

from pathlib import Path

from clawft.config.loader import load_config
from clawft.config.redaction import Secrets
from clawft.workspace import find_workspace

TOML = """
[hooks.entries.my-Guard]
onFailure = "deny"
env = { apiToken = "abcdef-123456", REGION = "north" }
"""


def test_they_stay_as_they_are_written(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "CLAWFT_HOOKS__ENTRIES__CLAUDE_USER__ENABLED": "false"}
    workspace = find_workspace(environ, str(tmp_path))
    (tmp_path / ".clawft").mkdir()
    (tmp_path / ".clawft" / "config.toml").write_text(TOML)
    config = load_config(workspace, environ, lambda *_: True)
    settings = config.own(workspace.user_dir, environ).hooks
    assert list(settings.entries) == ["my-Guard", "claude-user"]
    assert list(settings.entries["my-Guard"].env) == ["apiToken", "REGION"]
    assert settings.entries["my-Guard"].on_failure == "deny"
    secrets = Secrets.of(config, environ)
    assert secrets.mask("abcdef-123456 north") == "<secret> north"
