"""Requirements, found wherever a client would have written them, and the limits of metadata."""

import pytest

from clawft.skills.parse.model import NAMESPACES, Skill, SkillRequirements
from clawft.skills.parse.skill import parse_skill_md


def _skill(lines: str) -> Skill:
    return parse_skill_md(f"---\nname: a\ndescription: d\n{lines}\n---\n", "a")


def _said(skill: Skill) -> list[tuple[str, int]]:
    return [(found.code, found.line) for found in skill.diagnostics]


BLOCK = (
    "{emoji: X, requires: {bins: [gh], anyBins: [a, b], env: [TOKEN], config: [x.y]}, os: [macos], primaryEnv: TOKEN}"
)


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_block_is_found_under_every_namespace(namespace: str) -> None:
    skill = _skill(f"metadata: {{{namespace}: {BLOCK}}}")
    assert skill.requires == SkillRequirements(("gh",), ("a", "b"), ("TOKEN",), ("x.y",), ("darwin",))
    assert (skill.emoji, skill.primary_env, skill.diagnostics) == ("X", "TOKEN", ())


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_block_is_found_under_a_dotted_key(namespace: str) -> None:
    skill = _skill(f"metadata.{namespace}: {BLOCK}")
    assert (skill.requires.bins, skill.emoji, skill.metadata[namespace]["emoji"]) == (("gh",), "X", "X")
    assert _said(skill) == [("key-spelling", 4)]


@pytest.mark.parametrize(
    "place",
    [
        f"metadata: {BLOCK}",
        BLOCK[1:-1]
        .replace(", requires", "\nrequires")
        .replace(", os", "\nos")
        .replace(", primaryEnv", "\nprimary-env"),
    ],
)
def test_block_is_found_in_flat_form(place: str) -> None:
    skill = _skill(place)
    assert skill.requires == SkillRequirements(("gh",), ("a", "b"), ("TOKEN",), ("x.y",), ("darwin",))
    assert (skill.emoji, skill.primary_env, skill.diagnostics) == ("X", "TOKEN", ())


@pytest.mark.parametrize("index", range(len(NAMESPACES) - 1))
def test_earlier_namespace_wins_key_by_key(index: int) -> None:
    high, low = NAMESPACES[index], NAMESPACES[index + 1]
    skill = _skill(f"metadata:\n  {low}: {{emoji: L, homepage: low}}\n  {high}: {{emoji: H}}\n  emoji: F")
    assert (skill.emoji, skill.homepage) == ("H", "low")


def test_own_field_of_the_frontmatter_wins_over_the_metadata() -> None:
    assert _skill("emoji: OWN\nmetadata: {openclaw: {emoji: META}}").emoji == "OWN"


def test_unknown_namespace_is_kept_but_not_read() -> None:
    skill = _skill("metadata: {acme: {requires: {bins: [x]}}}")
    assert (skill.requires, skill.metadata["acme"]) == (SkillRequirements(), {"requires": {"bins": ["x"]}})


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("bins: [a, b]", SkillRequirements(bins=("a", "b"))),
        ("bins: a", SkillRequirements(bins=("a",))),
        ("requires: {bin: a}", SkillRequirements(bins=("a",))),
        ("requires: {commands: [a]}\nbins: [a, b]", SkillRequirements(bins=("a", "b"))),
        ("requires: {any_bins: [a]}", SkillRequirements(any_bins=("a",))),
        ("requires: {any-bins: 'a, b'}", SkillRequirements(any_bins=("a", "b"))),
        ("requires: {envs: [A]}", SkillRequirements(env=("A",))),
        ("requires: {env: [{name: A}, {name: B, required: false}]}", SkillRequirements(env=("A",))),
        ("requires: {tools: [Read]}\ntools: [Bash, Read]", SkillRequirements(tools=("Read", "Bash"))),
        ("requires: {os: Windows}", SkillRequirements(os=("win32",))),
        ("os: [macOS, Linux, win]", SkillRequirements(os=("darwin", "linux", "win32"))),
        ("platforms: [osx]", SkillRequirements(os=("darwin",))),
        ("required_environment_variables: [{name: A, prompt: x}, B]", SkillRequirements(env=("A", "B"))),
        ("env-vars: [A]", SkillRequirements(env=("A",))),
        (
            "metadata: {openclaw: {envVars: [{name: A, required: true}, {name: B, required: false}]}}",
            SkillRequirements(env=("A",)),
        ),
        ("requires: {bins: null}", SkillRequirements()),
        ("requires: {}", SkillRequirements()),
    ],
)
def test_flat_and_odd_forms_are_understood(lines: str, expected: SkillRequirements) -> None:
    assert _skill(lines).requires == expected


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("requires: [gh]", "wrong-type"),
        ("requires: {bins: {a: b}}", "wrong-type"),
        ("requires: {bins: [[a]]}", "wrong-type"),
        ("metadata: {openclaw: {requires: {moon: full}}}", "unknown-requirement"),
    ],
)
def test_requirement_of_the_wrong_shape_is_said(lines: str, code: str) -> None:
    skill = _skill(lines)
    assert skill.requires == SkillRequirements()
    assert [found.code for found in skill.diagnostics] == [code]


def _deep(levels: int) -> str:
    return "{a: " * levels + "1" + "}" * levels


def test_metadata_of_ten_levels_is_kept_and_of_eleven_is_not() -> None:
    assert _skill(f"metadata: {_deep(10)}").metadata != {}
    skill = _skill(f"metadata: {_deep(11)}")
    assert (skill.metadata, _said(skill)) == ({}, [("metadata-limit", 4)])


def test_metadata_of_eight_kilobytes_is_kept_and_one_byte_more_is_not() -> None:
    assert _skill(f"metadata: {{a: {'x' * (8192 - 8)}}}").metadata != {}
    skill = _skill(f"metadata: {{a: {'x' * (8192 - 7)}}}")
    assert (skill.metadata, _said(skill)) == ({}, [("metadata-limit", 4)])


def test_metadata_over_the_limit_takes_its_requirements_along_and_is_an_error() -> None:
    skill = _skill(f"metadata: {{openclaw: {{requires: {{bins: [gh]}}}}, x: {'y' * 9000}}}")
    assert skill.requires == SkillRequirements()
    assert [(found.code, found.severity) for found in skill.diagnostics] == [("metadata-limit", "error")]


def test_wide_but_flat_metadata_is_not_too_deep() -> None:
    assert len(_skill("metadata: {a: [" + "[]," * 50 + "]}").metadata["a"]) == 50


def test_keys_of_metadata_that_are_no_texts_become_texts() -> None:
    assert _skill("metadata: {1: a, b: c}").metadata == {"1": "a", "b": "c"}
