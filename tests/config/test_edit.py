"""Changes to config files: layout stays, nothing is lost, and what cannot be meant is never written."""

import fcntl
import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from clawft.config import editor as edit
from clawft.config import load_config
from clawft.config.changes import SettingChange
from clawft.config.editor import edit_config, rewrite_table, rewrite_toml
from clawft.errors import ClawftError
from clawft.workspace import Workspace

ENABLED = ("skills", "enabled")


def _user_file(workspace: Workspace, text: str, name: str = "config.toml") -> Path:
    file = Path(workspace.user_dir, name)
    file.write_text(text)
    return file


def test_new_file_starts_with_the_header_and_new_settings_have_their_comments(workspace: Workspace) -> None:
    changes = [
        SettingChange(ENABLED, False, "off"),
        SettingChange(("providers", "x", "api_key"), {"keystore": "x"}, "stored"),
    ]
    file = Path(edit_config(workspace, "user", changes, {}, header="# Mine.\n").file)
    assert file.read_text() == (
        '# Mine.\n\n[skills]\nenabled = false # off\n\n[providers.x]\napi_key = {keystore = "x"} # stored\n'
    )
    edit_config(workspace, "user", [SettingChange(ENABLED, True, "on")], {}, header="# Other.\n")
    assert file.read_text().startswith("# Mine.\n\n[skills]\nenabled = true # off\n")


def test_new_file_and_folder_are_the_users_alone(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path), str(tmp_path / ".clawft"), str(tmp_path / "p"), str(tmp_path / "p"))
    edited = edit_config(workspace, "user", [SettingChange(ENABLED, False)], {})
    file = tmp_path / ".clawft" / "config.toml"
    assert (edited.file, edited.before, edited.changed) == (str(file), (UNSET,), True)
    assert file.read_text() == "[skills]\nenabled = false\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_comments_layout_and_spelling_stay(workspace: Workspace) -> None:
    text = "# mine\n\n[skills]  # all of them\nenabled = true   # for now\n\n[skills.load]\nextraDirs = [ 'a' ]\n"
    file = _user_file(workspace, text)
    file.chmod(0o640)
    changes = [SettingChange(ENABLED, False), SettingChange(("skills", "load", "extra_dirs"), ["b"])]
    assert edit_config(workspace, "user", changes, {}).before == (True, ["a"])
    assert file.read_text() == text.replace("true ", "false ").replace("[ 'a' ]", '["b"]')
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_new_table_gets_a_header_and_an_empty_line(workspace: Workspace) -> None:
    file = _user_file(workspace, "[skills.load]\nwatch = true\n[agents]\n")
    edit_config(workspace, "user", [SettingChange(("skills", "entries", "a.b", "pinned"), True)], {})
    assert file.read_text() == ('[skills.load]\nwatch = true\n\n[skills.entries."a.b"]\npinned = true\n\n[agents]\n')


def test_json_keeps_its_order_and_spelling(workspace: Workspace) -> None:
    file = _user_file(
        workspace, '{"tools": {}, "skills": {"load": {"extraDirs": ["ä"]}, "enabled": true}}', "config.json"
    )
    changes = [
        SettingChange(("skills", "load", "extra_dirs"), ["b"]),
        SettingChange(("agents", "defaults", "model"), "m"),
    ]
    edit_config(workspace, "user", changes, {})
    assert json.dumps(json.loads(file.read_text())) == (
        '{"tools": {}, "skills": {"load": {"extraDirs": ["b"]}, "enabled": true},'
        ' "agents": {"defaults": {"model": "m"}}}'
    )
    assert file.read_text().startswith('{\n  "tools": {},\n')


def test_unset_takes_one_setting_out(workspace: Workspace) -> None:
    file = _user_file(workspace, "[skills]\nenabled = true\nallowBundled = []\n")
    assert edit_config(workspace, "user", [SettingChange(("skills", "allow_bundled"))], {}).before == ([],)
    assert file.read_text() == "[skills]\nenabled = true\n"


@pytest.mark.parametrize(
    "change",
    [SettingChange(ENABLED, True), SettingChange(("skills", "allow_bundled")), SettingChange(("mcp", "servers"))],
)
def test_what_is_so_already_is_not_written(workspace: Workspace, change: SettingChange) -> None:
    file = _user_file(workspace, "[skills]\nenabled = true")
    before = file.stat().st_mtime_ns, file.stat().st_ino
    assert not edit_config(workspace, "user", [change], {}).changed
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_unset_makes_no_folder(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path), str(tmp_path / ".clawft"), str(tmp_path), str(tmp_path))
    assert not edit_config(workspace, "user", [SettingChange(ENABLED)], {}).changed
    assert not (tmp_path / ".clawft").exists()


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (SettingChange(ENABLED, "maybe"), "config-invalid", "skills.enabled: expected `bool`, got `str`"),
        (SettingChange(("skills", "nothing"), 1), "config-unknown-key", "no setting 'skills.nothing'"),
        (SettingChange(("skills", "config", "a", "b"), 1), "config-invalid", "skills.config.a is set, and is no table"),
        (SettingChange(("skills", "config", "n"), None), "config-invalid", "null is no value"),
        (SettingChange(("skills", "config", "n"), "x" * (1 << 20)), "not-written", "too large"),
    ],
)
def test_what_cannot_be_meant_is_not_written(
    workspace: Workspace, change: SettingChange, code: str, message: str
) -> None:
    file = _user_file(workspace, "[skills.config]\na = 1\n")
    with pytest.raises(ClawftError) as caught:
        edit_config(workspace, "user", [SettingChange(("skills", "load", "watch"), False), change], {})
    assert caught.value.code == code
    assert message in str(caught.value)
    assert file.read_text() == "[skills.config]\na = 1\n"
    assert os.listdir(workspace.user_dir) == ["config.toml"]


@pytest.mark.parametrize("text", ["[skills\n", "[skills]\nenabld = true\n", "\xff"])
def test_file_that_is_wrong_already_is_not_touched(workspace: Workspace, text: str) -> None:
    file = Path(workspace.user_dir, "config.toml")
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ClawftError) as caught:
        edit_config(workspace, "user", [SettingChange(ENABLED, True)], {})
    assert caught.value.diagnostic.path == str(file)
    assert file.read_bytes() == text.encode("latin-1")


def test_both_forms_in_one_folder_are_an_error(workspace: Workspace) -> None:
    _user_file(workspace, "")
    _user_file(workspace, "{}", "config.json")
    with pytest.raises(ClawftError, match="Both"):
        edit_config(workspace, "user", [SettingChange(ENABLED, True)], {})


def test_project_has_a_file_of_its_own(workspace: Workspace) -> None:
    edited = edit_config(workspace, "project", [SettingChange(ENABLED, False)], {})
    assert edited.file == f"{workspace.project}/.clawft/config.toml"
    assert not load_config(workspace, {}).skills.enabled
    assert os.listdir(workspace.user_dir) == []


def test_home_is_no_project(workspace: Workspace) -> None:
    home = Workspace(workspace.home, workspace.user_dir, workspace.home, workspace.home)
    with pytest.raises(ClawftError) as caught:
        edit_config(home, "project", [SettingChange(ENABLED, False)], {})
    assert (caught.value.code, caught.value.hint) == ("no-project", "Pass --scope user")


def test_users_link_stays_a_link_and_a_projects_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "mine.toml"
    target.parent.mkdir()
    target.write_text("# mine\n")
    link = Path(workspace.user_dir, "config.toml")
    link.symlink_to(target)
    edit_config(workspace, "user", [SettingChange(ENABLED, False)], {})
    assert link.is_symlink()
    assert tomllib.loads(target.read_text()) == {"skills": {"enabled": False}}
    Path(workspace.project, ".clawft", "config.toml").symlink_to(target)
    with pytest.raises(ClawftError, match="symbolic link"):
        edit_config(workspace, "project", [SettingChange(ENABLED, True)], {})
    os.rename(f"{workspace.project}/.clawft", f"{workspace.project}/elsewhere")
    os.symlink(f"{workspace.project}/elsewhere", f"{workspace.project}/.clawft")
    with pytest.raises(ClawftError, match="folder is a symbolic link"):
        edit_config(workspace, "project", [SettingChange(ENABLED, True)], {})
    assert tomllib.loads(target.read_text()) == {"skills": {"enabled": False}}


def test_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    workspace = Workspace(str(tmp_path), str(tmp_path / "file" / ".clawft"), str(tmp_path), str(tmp_path))
    with pytest.raises(ClawftError, match="Not a directory") as caught:
        edit_config(workspace, "user", [SettingChange(ENABLED, True)], {})
    assert caught.value.code == "not-written"


def test_writer_gives_up_on_a_folder_that_is_held(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit, "LOCK_TIMEOUT_S", 0.05)
    holder = os.open(workspace.user_dir, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        with pytest.raises(ClawftError) as caught:
            edit_config(workspace, "user", [SettingChange(ENABLED, True)], {})
    finally:
        os.close(holder)
    assert caught.value.code == "config-busy"


def test_writers_at_the_same_time_lose_nothing(workspace: Workspace) -> None:
    program = (
        "import sys\nfrom clawft.config.editor import SettingChange, edit_config\n"
        "from clawft.workspace import Workspace\n"
        "place = Workspace(*[sys.argv[1]] * 4)\n"
        "for number in range(10):\n"
        "    path = ('skills', 'entries', f'{sys.argv[2]}-{number}', 'pinned')\n"
        "    edit_config(place, 'user', [SettingChange(path, True)], {})\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, workspace.user_dir, name]) for name in ("a", "b", "c")]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert len(load_config(workspace, {}).skills.entries) == 30
    assert os.listdir(workspace.user_dir) == ["config.toml"]


_NAMES = st.sampled_from(["a", "b", "c.d", "ä", "e f"])
_VALUES = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.text('a"\\\n[#]\U0001f600', max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_NAMES, inner, max_size=2),
    max_leaves=4,
)


@given(st.lists(st.tuples(st.lists(_NAMES, min_size=1, max_size=3), _VALUES | st.just(UNSET)), max_size=6))
def test_any_changes_of_toml_give_what_the_same_changes_of_tables_do(
    steps: list[tuple[list[str], Any]],
) -> None:
    text = "# top\n"
    wanted: dict[str, Any] = {}
    for names, value in steps:
        change = SettingChange(("skills", "config", *names), value)
        try:
            rewrite_table(wanted, change.path, value)
        except ClawftError:
            continue
        text = rewrite_toml(text, [change]).decode()
        found = tomllib.loads(text)
        assert _without_empty(found) == _without_empty(wanted)
        assert text.startswith("# top\n")


def _without_empty(value: Any) -> Any:
    """Headers may be left where a table has become empty."""
    if not isinstance(value, dict):
        return value
    inner = {key: _without_empty(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one != {}}


LAYOUTS = [
    "skills.enabled = true\nskills.load.watch = false\n[agents]\n",
    "[skills.load]\nwatch=true\n[agents]\n[skills.entries.a]\nenabled=true\n[agents.budget]\n[skills]\nenabled=true\n",
    "skills = { enabled = true, load = { watch = true }, entries = {a={enabled=true}} }\n",
    "[skills]\nload.watch = true\nload.extraDirs=['x']\nentries.a.enabled = true\n[providers.a]\nwire='openai'\n",
    "[skills.entries]\na = {enabled=true}\nb.enabled = false\n[skills.entries.c]\r\nenabled=true # last",
]


@pytest.mark.parametrize("text", LAYOUTS)
@pytest.mark.parametrize(
    "change",
    [
        SettingChange(("skills", "entries", "new", "pinned"), True),
        SettingChange(("skills", "entries", "a", "enabled"), False),
        SettingChange(("skills", "load"), {"watch": False, "extra_dirs": ["y"]}),
        SettingChange(("skills", "entries")),
        SettingChange(("agents", "routing", "tiers"), [{"model": "m"}]),
        SettingChange(("agents", "defaults", "model"), "m"),
    ],
    ids=lambda change: ".".join(change.path),
)
def test_every_layout_of_toml_can_be_changed(workspace: Workspace, text: str, change: SettingChange) -> None:
    file = _user_file(workspace, text)
    before = load_config(workspace, {}).values
    edit_config(workspace, "user", [change], {})
    rewrite_table(before, change.path, change.value)
    assert _without_empty(load_config(workspace, {}).values) == _without_empty(before)
    assert ("# last" in file.read_text()) == ("# last" in text and change.value is not UNSET)
