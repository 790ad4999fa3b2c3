"""What a server says of a skill, judged by its word alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.mcp.offered_skills import parse_entry
from clawft.agent.mcp.skills_extension import MAX_FILES, read_front
from clawft.skills.discovery.digest import compute_digest
from skilled_server import list_skill, make_skill_md

ROOT = "skill://acme/notes"
FILES = {"SKILL.md": make_skill_md("notes"), "a/b c.md": "text"}


def _entry() -> dict[str, Any]:
    return list_skill(ROOT, FILES)


def test_an_honest_entry_is_taken_as_it_is() -> None:
    found = parse_entry("docs", _entry())
    assert found.problem is None
    assert (found.server, found.name, found.uri) == ("docs", "notes", f"{ROOT}/SKILL.md")
    assert found.skill is not None
    assert [one.path for one in found.skill.files] == ["SKILL.md", "a/b c.md"]


def test_its_digest_is_that_of_the_folder_its_files_make(tmp_path: Path) -> None:
    for path, text in FILES.items():
        place = tmp_path / "notes" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    assert parse_entry("docs", _entry()).digest == compute_digest(str(tmp_path / "notes")).value


def test_an_address_may_have_any_scheme_and_be_escaped_in_any_way() -> None:
    entry = list_skill("github://o/r/notes", {"SKILL.md": "x", "a%20b.md": "y"})
    found = parse_entry("docs", entry)
    assert found.skill is not None
    assert found.skill.files[1].path == "a b.md"
    assert found.addresses[1] == "github://o/r/notes/a%20b.md"


def _set(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda entry: entry.update({key: value})


def _set_front(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda entry: entry["frontmatter"].update({key: value})


def _set_file(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda entry: entry["resources"][1].update({key: value})


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


BROKEN = [
    ("mcp-skill-uri", _set("uri", "skill://x/../../notes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://x/%2e%2e/notes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://x%2fy/notes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://x//notes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://acme/notes\u202e/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://acme/no\ntes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://acme/no%00tes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://acme/notes/SKILL.md?x/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "skill://" + "x" * 2000 + "/notes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", "/etc/notes/SKILL.md")),
    ("mcp-skill-uri", _set("uri", 7)),
    ("mcp-skill-name", _set("uri", "skill://acme/other/SKILL.md")),
    ("mcp-skill-name", _set_front("name", "other")),
    ("mcp-skill-frontmatter", _set("frontmatter", "name: notes")),
    ("mcp-skill-frontmatter", _set_front("description", " ")),
    ("mcp-skill-frontmatter", _set_front("more", "x" * 100_000)),
    ("mcp-skill-frontmatter", _set_front("more", _deep(20_000))),
    ("mcp-skill-dynamic", _set("resources", "dynamic")),
    ("mcp-skill-dynamic", lambda entry: entry.pop("resources")),
    ("mcp-skill-resources", _set("resources", [])),
    ("mcp-skill-resources", lambda entry: entry["resources"].pop(0)),
    ("mcp-skill-resources", lambda entry: entry["resources"].append(entry["resources"][1])),
    ("mcp-skill-resources", _set_file("uri", "skill://acme/other/a.md")),
    ("mcp-skill-resources", _set_file("uri", f"{ROOT}/.git/config")),
    ("mcp-skill-resources", _set_file("uri", f"{ROOT}/.clawft-signature")),
    ("mcp-skill-resources", _set_file("uri", f"{ROOT}/skill.md")),
    ("mcp-skill-resources", _set_file("uri", f"{ROOT}/aux.md")),
    ("mcp-skill-resources", _set_file("digest", "sha256:abc")),
    ("mcp-skill-resources", _set_file("digest", "md5:" + "0" * 64)),
    ("mcp-skill-resources", _set_file("size", -1)),
    ("mcp-skill-resources", _set_file("size", True)),
    ("mcp-skill-resources", _set_file("size", None)),
    ("mcp-skill-uri", _set_file("uri", f"{ROOT}/../../../.bashrc")),
    ("mcp-skill-uri", _set_file("uri", f"{ROOT}/%2e%2e/x")),
    ("mcp-skill-uri", _set_file("uri", f"{ROOT}/a%2f..%2fx")),
    ("mcp-skill-limits", _set_file("size", 17 << 20)),
    ("mcp-skill-limits", lambda entry: entry["resources"].extend([{}] * MAX_FILES)),
]


@pytest.mark.parametrize(("code", "harm"), BROKEN, ids=[f"{number}-{code}" for number, (code, _) in enumerate(BROKEN)])
def test_an_entry_that_breaks_a_rule_is_refused_by_its_code(code: str, harm: Callable[[dict[str, Any]], Any]) -> None:
    entry = _entry()
    harm(entry)
    found = parse_entry("docs", entry)
    assert found.problem is not None
    assert (found.problem.code, found.skill, found.digest) == (code, None, "")
    assert found.uri.isprintable()


def test_what_is_no_entry_at_all_is_refused_too() -> None:
    entries: tuple[Any, ...] = (None, [], "x", {}, {"uri": None})
    for entry in entries:
        found = parse_entry("docs", entry)
        assert found.problem is not None
        assert found.problem.code == "mcp-skill-uri"


def test_a_name_that_two_systems_read_differently_is_none() -> None:
    entry = list_skill("skill://acme/ﬁle", {"SKILL.md": "x"})
    found = parse_entry("docs", entry)
    assert found.problem is not None
    assert found.problem.code == "mcp-skill-name"


def test_frontmatter_that_has_to_be_guessed_is_none() -> None:
    assert read_front(b"---\nname: x\ndescription: a: b: c\n---\n") is None
    assert read_front(b"no frontmatter") is None
    assert read_front(b"\xff\xfe---") is None
    assert read_front(b"---\r\nname: x\r\nn: 1\r\n---\r\nbody") == {"name": "x", "n": 1}
