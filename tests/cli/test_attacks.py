"""A stranger's folder cannot stop a command, hide from it, act on the terminal or reach out of the folder."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.skills.discovery import Location, load_catalog

Weft = Callable[..., subprocess.CompletedProcess[str]]
HEAD = "name: a\ndescription: d\n"


def _skill(folder: Path, frontmatter: str = HEAD, body: str = "Body.\n") -> Path:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\n{frontmatter}---\n\n{body}")
    return folder / "SKILL.md"


def _listed(weft: Weft, *extra: str) -> dict[str, str]:
    done = weft("skills", "list", "--format", "json", "--scope", "project", *extra)
    assert done.returncode == 0, done.stderr
    return {one["name"]: one["state"] for one in json.loads(done.stdout)["skills"]}


def _approved(weft: Weft) -> dict[str, str]:
    """The states after somebody approved all that can be."""
    assert weft("skills", "trust", "--all", "--yes").returncode == 0
    return _listed(weft)


def test_nul_in_the_name_of_a_program_is_just_a_program_that_is_missing(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "a", HEAD + 'requires: {bins: ["a\\0b"]}\n')
    _skill(project / "skills" / "b", "name: b\ndescription: d\n")
    assert _approved(weft) == {"a": "ineligible", "b": "ready"}


@pytest.mark.parametrize("odd", ["hooks: {1: 2}", "bar: {null: 1}", "tools: [{name: t, parameters: {1: {2: 3}}}]"])
def test_keys_that_are_no_texts_survive_the_cache(
    weft: Weft, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    _skill(project / "skills" / "a", f"{HEAD}{odd}\n")
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 3600 * 10**9)  # so that the file counts as settled
    where = [Location("project", "skills", str(project / "skills"))]
    first, second = (load_catalog(where, max_prompt_bytes=1000, cache_dir=str(tmp_path / "c")) for _ in range(2))
    assert first == second
    assert weft("skills", "show", "a", "--format", "json").returncode == 0


def test_alias_bomb_is_not_expanded(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "a", f'{HEAD}x: &a "{"y" * 20_000}"\nz: [{", ".join(["*a"] * 20_000)}]\n')
    assert _approved(weft) == {"a": "ready"}


def test_endless_chain_of_links_is_a_broken_skill(weft: Weft, project: Path) -> None:
    folder = project / "skills" / "a"
    folder.mkdir(parents=True)
    for number in range(1500):
        (folder / f"l{number}").symlink_to(f"l{number + 1}")
    (folder / "SKILL.md").symlink_to("l0")
    assert _listed(weft) == {"a": "broken"}


def test_link_through_a_file_is_a_broken_skill_and_hides_no_other(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "good", "name: good\ndescription: d\n")
    (project / "skills" / "bad").mkdir()
    (project / "skills" / "bad" / "SKILL.md").symlink_to("../good/SKILL.md/zz")
    (project / "skills" / "old").mkdir()
    (project / "skills" / "old" / "skill.json").write_text('{"name": "old", "description": "d"}')
    (project / "skills" / "old" / "prompt.md").symlink_to("skill.json/zz")
    assert _approved(weft) == {"bad": "broken", "good": "ready", "old": "broken"}


@pytest.mark.parametrize(
    "config", [".".join(["a"] * 3000) + " = 1\n", "[skills]\nmax_skill_prompt_bytes = 99999999999999999999999\n"]
)
def test_hostile_config_is_an_error_and_no_traceback(weft: Weft, project: Path, config: str) -> None:
    (project / ".clawft").mkdir()
    (project / ".clawft" / "config.toml").write_text(config)
    assert weft("skills", "list").returncode == 0  # it is ignored
    done = weft("config", "trust")
    assert done.returncode == 1
    assert done.stderr.startswith("error[config-invalid]")


def test_arguments_cannot_fill_the_memory(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "a", HEAD + "arguments: [a]\n", "$a " * 8_000)
    done = weft("skills", "render", "a", "x" * 100_000)
    assert (done.returncode, "error[prompt-too-large]" in done.stderr) == (1, True)


def test_fifo_in_place_of_a_cache_file_blocks_nothing(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "a")
    _listed(weft)
    files = [one for one in (tmp_path / "home" / ".clawft" / "cache").rglob("*") if one.is_file()]
    assert {one.suffix for one in files} == {".skills", ".index", ".report", ".json"}
    for file in files:
        file.unlink()
        os.mkfifo(file)
    assert _approved(weft) == {"a": "ready"}


def test_sidecar_behind_a_link_out_of_the_folder_is_not_read(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "a")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "openai.yaml").write_text("policy: {allow_implicit_invocation: false}\n")
    (project / "skills" / "a" / "agents").symlink_to(tmp_path / "out")
    assert _approved(weft) == {"a": "ready"}
    assert "link-leaves-root" in weft("skills", "show", "a").stdout


def test_skill_that_hides_from_its_digest_is_broken(weft: Weft, project: Path) -> None:
    folder = project / "skills" / "a"
    (folder / ".clawft").mkdir(parents=True)
    (folder / ".clawft" / "r.md").write_text(f"---\n{HEAD}---\nx")
    (folder / "SKILL.md").symlink_to(".clawft/r.md")
    assert _listed(weft) == {"a": "broken"}


def test_skill_file_that_is_a_link_has_no_digest(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "a").rename(project / "skills" / "a" / "real.md")
    (project / "skills" / "a" / "SKILL.md").symlink_to("real.md")
    document = json.loads(weft("skills", "show", "a", "--format", "json").stdout)
    assert document["digest"] is None
    assert "not-in-digest" in [one["code"] for one in document["diagnostics"]]


def test_json_shows_no_character_that_acts_on_a_terminal(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "a", HEAD + 'tags: ["\\x9b31mRED\\u202e"]\n')
    done = weft("skills", "show", "a", "--format", "json")
    assert not {"\x9b", "\u202e"} & set(done.stdout)
    assert json.loads(done.stdout)["tags"] == ["\x9b31mRED\u202e"]


def test_render_is_exact_when_it_is_piped(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "a", body="red \x1b[31mX\x1b[0m end")
    assert weft("skills", "render", "a").stdout == "red \x1b[31mX\x1b[0m end\n"


def test_agent_keeps_the_first_of_two_tool_lists(weft: Weft, project: Path) -> None:
    (project / ".clawft" / "agents").mkdir(parents=True)
    (project / ".clawft" / "agents" / "x.yaml").write_text(
        'name: x\ndescription: d\ntools: [Read]\nallowed_tools: ["*"]\n'
    )
    shown = json.loads(weft("agents", "show", "x", "--format", "json").stdout)
    assert shown["tools"] == ["Read"]
    assert "duplicate-key" in [one["code"] for one in shown["diagnostics"]]


def test_look_alike_of_a_name_is_loaded_under_the_plain_name(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "one", "name: fix\ndescription: d\n")
    _skill(project / "skills" / "two", "name: \ufb01x\ndescription: d\n")
    assert weft("skills", "trust", "--all", "--yes").returncode == 0
    done = weft("skills", "list", "--format", "json", "--scope", "project")
    assert [(one["name"], one["state"]) for one in json.loads(done.stdout)["skills"]] == [
        ("fix", "ready"),
        ("fix", "shadowed"),
    ]


@pytest.mark.parametrize("data", [b"---\nname: Foo Bar\n---\n\xe9\xe8\n", b"---\nname: Foo Bar\n---\n1%\rprogress\n"])
def test_file_that_would_not_be_written_back_as_it_was_is_not_mended(weft: Weft, project: Path, data: bytes) -> None:
    path = _skill(project / "skills" / "a")
    path.write_bytes(data)
    done = weft("skills", "fix", "--write", "skills")
    assert (done.returncode, "not-mendable" in done.stderr) == (1, True)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{name: x}\n", "{name: x}\n"),
        ('name: "Foo\n  Bar: baz"\ndescription: d\n', 'name: "Foo\n  Bar: baz"\ndescription: d\n'),
        ("name: Foo Bar # keep me\ndescription: d\n", "name: foo-bar # keep me\ndescription: d\n"),
    ],
)
def test_mending_touches_nothing_beside_the_value(weft: Weft, project: Path, before: str, after: str) -> None:
    path = _skill(project / "skills" / "a", before)
    weft("skills", "fix", "--write", "skills")
    assert path.read_text() == f"---\n{after}---\n\nBody.\n"


def test_link_to_nothing_is_said(weft: Weft, project: Path) -> None:
    (project / "skills").mkdir()
    (project / "skills" / "mine").symlink_to("nowhere")
    (project / "skills" / "loop").symlink_to("loop")
    assert weft("skills", "list").stderr.count("link-broken") == 2


def test_unknown_tool_in_a_tool_list_is_said(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "a", HEAD + "allowed-tools: Read FooBarUnknown mcp__x__*\n")
    done = weft("skills", "validate", "skills")
    assert done.stdout.count("unknown-tool") == 1
    assert "'FooBarUnknown'" in done.stdout
