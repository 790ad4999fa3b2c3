"""Approved skills of MCP servers on disk: who they are, and what they go by."""

from pathlib import Path

import msgspec

from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.locations import Location
from clawft.skills.discovery.mcp_copies import (
    McpSkillOrigin,
    find_origin,
    find_place,
    list_served,
    render_mcp_origin,
    served_locations,
)

ORIGIN = McpSkillOrigin("docs", "skill://acme/notes/SKILL.md")


def _put(user_dir: Path, origin: McpSkillOrigin, said: McpSkillOrigin | None = None) -> Path:
    place = Path(find_place(str(user_dir), origin))
    (place / "notes").mkdir(parents=True)
    (place / "origin.json").write_bytes(msgspec.json.encode(said or origin))
    return place / "notes"


def test_two_servers_and_two_addresses_never_share_a_place(tmp_path: Path) -> None:
    others = (McpSkillOrigin("other", ORIGIN.uri), McpSkillOrigin("docs", "skill://notes/SKILL.md"))
    folders = {str(_put(tmp_path, one)) for one in (ORIGIN, *others)}
    assert len(folders) == 3
    assert {one.origin for one in list_served(str(tmp_path))} == {ORIGIN, *others}


def test_only_servers_that_there_are_have_a_location(tmp_path: Path) -> None:
    _put(tmp_path, ORIGIN)
    _put(tmp_path, McpSkillOrigin("gone", ORIGIN.uri))
    (tmp_path / "mcp-skills" / ".new-1").mkdir()
    (tmp_path / "mcp-skills" / "link").symlink_to(tmp_path)
    assert [one.layer for one in served_locations(str(tmp_path), lambda name: name != "gone")] == ["docs"]
    assert served_locations(str(tmp_path / "nothing"), lambda _: True) == []


def test_who_it_is_stands_beside_it_and_has_to_fit_its_place(tmp_path: Path) -> None:
    folder = _put(tmp_path, ORIGIN)
    location = Location("mcp", "docs", str(tmp_path / "mcp-skills" / "docs"))
    found = DiscoveredSkill(location, str(folder), f"{folder}/SKILL.md")
    assert find_origin(found) == "mcp:docs skill://acme/notes/SKILL.md"
    (folder.parent / "origin.json").write_bytes(msgspec.json.encode(McpSkillOrigin("docs", "skill://better/SKILL.md")))
    assert find_origin(found) == "mcp:docs"
    assert list_served(str(tmp_path)) == []


def test_a_server_goes_by_its_name_and_takes_none_of_ours() -> None:
    location = Location("mcp", "docs", "/x")
    assert (location.prefix, location.matches_reference("docs"), location.matches_reference("mcp")) == (
        "docs",
        True,
        True,
    )
    assert not Location("mcp", "user", "/x").matches_reference("user")
    assert not Location("mcp", "project", "/x").matches_reference("project")


def test_a_model_is_told_the_origin_of_servers_skills_alone() -> None:
    served = DiscoveredSkill(Location("mcp", "docs", "/x"), "/x/a", "/x/a/SKILL.md")
    own = DiscoveredSkill(Location("user", ".clawft/skills", "/x"), "/x/a", "/x/a/SKILL.md")
    assert (render_mcp_origin(served), render_mcp_origin(own)) == ("(from the MCP server 'docs') ", "")
