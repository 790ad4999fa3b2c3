"""What plugins were granted: bound to version and digest, kept in a sealed file, and judged with the settings."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft import __version__
from clawft.config.extensions import PluginsSettings
from clawft.contracts import Permissions
from clawft.errors import ClawftError
from clawft.skills.discovery.digest import compute_digest
from clawft.skills.discovery.plugins import DiscoveredPlugin, load_plugin
from clawft.trust.plugins import (
    PluginGrants,
    PluginStatus,
    clip_permissions,
    compare_permissions,
    judge_plugins,
    make_grant,
)
from clawft.trust.records import Seal

ID = "org.example.one"
ASKED = {"network": ["a.example", "b.example"], "env_vars": ["KEY"], "filesystem": ["~/x"], "shell": True}
ALL = Permissions(("~/x",), ("a.example", "b.example"), ("KEY",), True)


@pytest.fixture
def grants(tmp_path: Path) -> PluginGrants:
    (tmp_path / "user").mkdir()
    return PluginGrants(str(tmp_path / "user" / "grants.json"), Seal(str(tmp_path / "user" / "trust.key")))


def add(folder: Path, scope: str = "user", **manifest: Any) -> DiscoveredPlugin:
    folder.mkdir(parents=True, exist_ok=True)
    told = {"id": ID, "name": "One", "version": "1.0.0", "capabilities": ["skill"], "skill_dirs": ["skills"]}
    (folder / "clawft.plugin.json").write_text(json.dumps(told | {"permissions": ASKED} | manifest))
    return load_plugin(scope, str(folder))


def grant(grants: PluginGrants, found: DiscoveredPlugin, permissions: Permissions = ALL) -> None:
    grants.record(make_grant(found, compute_digest(found.folder).value, permissions))


def judge(
    grants: PluginGrants, *found: DiscoveredPlugin, by_digest: bool = True, **settings: Any
) -> list[PluginStatus]:
    made = msgspec.convert(settings, PluginsSettings)
    return list(judge_plugins(found, made, grants.load, by_digest=by_digest))


def test_nothing_is_ready_that_nobody_granted(tmp_path: Path, grants: PluginGrants) -> None:
    for scope in ("user", "extra", "python", "project"):
        (one,) = judge(grants, add(tmp_path / scope, scope))
        assert (one.state, one.permissions) == ("untrusted", Permissions())
        assert f"weft plugins enable {ID}" in one.reasons[0].hint


def test_a_grant_holds_for_this_folder_as_it_is(tmp_path: Path, grants: PluginGrants) -> None:
    found = add(tmp_path / "a")
    grant(grants, found)
    (one,) = judge(grants, found)
    assert (one.state, one.permissions, one.reasons) == ("ready", ALL, ())
    assert judge(grants, add(tmp_path / "b"))[0].state == "untrusted"  # the same, elsewhere
    (tmp_path / "a" / "plugin.py").write_text("import os\n")
    (one,) = judge(grants, found)
    assert one.state == "untrusted"
    assert "It changed since it was granted" in one.reasons[0].message
    assert judge(grants, found, by_digest=False)[0].state == "ready"  # a list runs nothing of it


def test_another_version_asks_again_even_where_nothing_is_run(tmp_path: Path, grants: PluginGrants) -> None:
    grant(grants, add(tmp_path / "a"))
    newer = add(tmp_path / "a", version="1.1.0")
    for by_digest in (True, False):
        (one,) = judge(grants, newer, by_digest=by_digest)
        assert (one.state, one.permissions) == ("untrusted", Permissions())
        assert "It is version 1.1.0 now; 1.0.0 was granted" in one.reasons[0].message


def test_a_plugin_has_what_it_asks_for_and_was_granted_and_no_more(tmp_path: Path, grants: PluginGrants) -> None:
    found = add(tmp_path / "a")
    grant(grants, found, Permissions(network=("a.example", "evil.example"), env_vars=("OTHER",)))
    (one,) = judge(grants, found)
    assert one.permissions == Permissions(network=("a.example",))
    (withheld,) = one.reasons
    assert withheld.code == "plugin-withheld"
    assert "~/x, b.example, KEY, shell" in withheld.message
    assert f"weft plugins grant {ID}" in withheld.hint


def test_more_permissions_are_another_manifest_and_ask_again_with_the_difference(
    tmp_path: Path, grants: PluginGrants
) -> None:
    grant(grants, add(tmp_path / "a"))
    more = add(tmp_path / "a", permissions={**ASKED, "network": ["a.example", "*"]})
    assert judge(grants, more)[0].state == "untrusted"
    assert more.manifest is not None
    assert compare_permissions(ALL, more.manifest.permissions) == Permissions(network=("*",))
    assert clip_permissions(more.manifest.permissions, ALL) == ALL  # what was granted lies within `*`


@pytest.mark.parametrize(
    ("wanted", "state"),
    [("0.0.1", "ready"), (__version__, "ready"), ("999.0.0", "ineligible"), ("999.0.0-alpha", "ineligible")],
)
def test_a_plugin_that_needs_a_newer_clawft_waits(
    tmp_path: Path, grants: PluginGrants, wanted: str, state: str
) -> None:
    found = add(tmp_path / "a", min_clawft_version=wanted)
    grant(grants, found)
    (one,) = judge(grants, found)
    assert one.state == state
    assert [reason.code for reason in one.reasons] == ["plugin-version"] * (state == "ineligible")


@pytest.mark.parametrize(
    ("schema", "config", "said"),
    [
        ({"properties": {"port": {"type": "integer"}}}, {"port": 993}, ""),
        ({"properties": {"port": {"type": "integer"}}}, {}, ""),
        ({"properties": {"port": {"type": "integer"}}}, {"port": "993"}, "port"),
        ({"properties": {"port": {"type": "integer"}}, "required": ["port"]}, {}, "port"),
        ({"properties": {}, "additionalProperties": False}, {"x": 1}, "x"),
        (None, {"x": 1}, "It has no settings"),
    ],
)
def test_settings_are_checked_against_the_schema_of_the_manifest(
    tmp_path: Path, grants: PluginGrants, schema: Any, config: dict[str, Any], said: str
) -> None:
    found = add(tmp_path / "a", config_schema={"type": "object", **schema} if schema else None)
    grant(grants, found)
    (one,) = judge(grants, found, entries={ID: {"config": config}})
    assert one.state == ("ineligible" if said else "ready")
    assert said in "".join(reason.message for reason in one.reasons)


def test_the_config_turns_one_off_or_all(tmp_path: Path, grants: PluginGrants) -> None:
    found = add(tmp_path / "a")
    grant(grants, found)
    for settings in ({"entries": {ID: {"enabled": False}}}, {"enabled": False}):
        (one,) = judge(grants, found, **settings)
        assert (one.state, one.permissions) == ("disabled", Permissions())
        assert one.reasons[0].hint


def test_the_first_of_an_id_hides_the_others_even_before_it_is_granted(tmp_path: Path, grants: PluginGrants) -> None:
    first, second = add(tmp_path / "a"), add(tmp_path / "b", "project")
    grant(grants, second)
    assert [one.state for one in judge(grants, first, second)] == ["untrusted", "shadowed"]
    (tmp_path / "c").mkdir()
    broken = load_plugin("user", str(tmp_path / "c"))
    assert [one.state for one in judge(grants, broken, second)] == ["broken", "ready"]


def test_a_decision_takes_the_place_of_the_one_before_and_can_be_taken_back(
    tmp_path: Path, grants: PluginGrants
) -> None:
    found, other = add(tmp_path / "a"), add(tmp_path / "b", id="org.example.two")
    for permissions in (ALL, Permissions()):
        grant(grants, found, permissions)
    grant(grants, other)
    known = grants.find(found)
    assert known is not None
    assert known.permissions == Permissions()
    assert len(grants.load()) == 2
    assert grants.remove(found)
    assert not grants.remove(found)
    assert [one.id for one in grants.load()] == ["org.example.two"]
    assert os.stat(grants.path).st_mode & 0o077 == 0


@pytest.mark.parametrize("way", ["edited", "damaged", "no key", "put back", "put back alone"])
def test_a_file_of_grants_that_was_tampered_with_grants_nothing(tmp_path: Path, grants: PluginGrants, way: str) -> None:
    found = add(tmp_path / "a")
    grant(grants, found, Permissions())
    path = Path(grants.path)
    before = path.read_bytes()
    if way == "edited":
        path.write_bytes(before.replace(b'"version": "1.0.0"', b'"version": "1.0.1"').replace(b"1.0.0", b"1.0.1"))
    elif way == "damaged":
        path.write_bytes(before[:-5])
    elif way == "no key":
        (tmp_path / "user" / "trust.key").unlink()
    else:  # what was true once, and was taken back
        grants.remove(found)
        path.write_bytes(before)
        if way == "put back alone":  # without that which tells the newest
            path.with_suffix(".head").unlink()
    later = PluginGrants(grants.path, Seal(str(tmp_path / "user" / "trust.key")))  # as another process has it
    (one,) = judge(later, found)
    assert one.state == "untrusted"
    with pytest.raises(ClawftError) as refused:
        later.load()
    assert refused.value.code.startswith("grants-")
