"""Which spelling means which field, and how values of odd shapes are read."""

import pytest

from clawft.skills.parse.fields import KEYS
from clawft.skills.parse.model import Skill, SkillInstaller
from clawft.skills.parse.skill import parse_skill_md


def _skill(*lines: str) -> Skill:
    return parse_skill_md("\n".join(("---", "name: a", "description: d", *lines, "---", "")), "a")


def _said(skill: Skill) -> list[tuple[str, int]]:
    return [(found.code, found.line) for found in skill.diagnostics]


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("[Read, Write]", ("Read", "Write")),
        ("\n  - Read\n  - Bash(git:*)", ("Read", "Bash(git:*)")),
        ("Read, Write", ("Read", "Write")),
        ("Read Write", ("Read", "Write")),
        ("Read,Write", ("Read", "Write")),
        ("Read,  Write ,", ("Read", "Write")),
        ("Bash(infsh *)", ("Bash(infsh *)",)),
        ("Bash(git add:*), Bash(git commit:*) Read", ("Bash(git add:*)", "Bash(git commit:*)", "Read")),
        ("Bash(a, b) Read", ("Bash(a, b)", "Read")),
        ('"*"', ("*",)),
        ("github__* mcp__x", ("github__*", "mcp__x")),
        ("Read\n  Write", ("Read", "Write")),
        ("[]", ()),
        ('""', ()),
    ],
)
def test_tools_in_every_shape(written: str, tools: tuple[str, ...]) -> None:
    skill = _skill(f"allowed-tools: {written}")
    assert (skill.allowed_tools, skill.diagnostics) == (tools, ())


@pytest.mark.parametrize("written", ["Bash(git", "Read)", "Bash((git)"])
def test_unbalanced_parentheses_in_tools_are_said(written: str) -> None:
    assert _said(_skill(f"allowed-tools: {written}")) == [("tools-unbalanced", 4)]


@pytest.mark.parametrize(
    ("keys", "field", "value", "read"),
    [
        (
            ("allowed-tools", "allowed_tools", "allowedTools", "Allowed Tools", "ALLOWED-TOOLS"),
            "allowed_tools",
            "X",
            ("X",),
        ),
        (("argument-hint", "argument_hint", "argumentHint"), "argument_hint", "x", "x"),
        (("user-invocable", "user_invocable", "userInvocable", "invocable"), "user_invocable", "false", False),
        (
            ("disable-model-invocation", "disable_model_invocation", "disableModelInvocation"),
            "disable_model_invocation",
            "true",
            True,
        ),
        (("disallowed-tools", "disallowed_tools", "disallowedTools"), "disallowed_tools", "X", ("X",)),
        (("when_to_use", "when-to-use", "whenToUse"), "when_to_use", "x", "x"),
        (("license", "licence", "License"), "license", "MIT", "MIT"),
        (("homepage", "url", "website"), "homepage", "https://x.y/z", "https://x.y/z"),
        (("triggers", "trigger", "keywords", "read-when", "read_when"), "triggers", "a, b c", ("a", "b c")),
        (("dependencies", "depends-on", "depends_on"), "dependencies", "[x]", ("x",)),
        (("display_name", "display-name", "displayName", "title"), "display_name", "X Y", "X Y"),
        (("primary-env", "primary_env", "primaryEnv"), "primary_env", "X", "X"),
        (("command-arg-mode", "commandArgMode"), "command_arg_mode", "raw", "raw"),
        (("hook-before", "hook_before"), "hook_before", "x", "x"),
    ],
)
def test_every_spelling_of_a_key(keys: tuple[str, ...], field: str, value: str, read: object) -> None:
    for key in keys:
        skill = _skill(f"{key}: {value}")
        assert getattr(skill, field) == read, key
        assert {found.code for found in skill.diagnostics} <= {"key-spelling"}, key


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_known_key_is_read_without_being_called_unknown(key: str) -> None:
    skill = _skill(f"{key}: x")
    assert skill.extra == {}
    assert "unknown-field" not in {found.code for found in skill.diagnostics}


@pytest.mark.parametrize(("first", "second"), [("allowed-tools", "allowed_tools"), ("allowedTools", "allowed-tools")])
def test_first_of_two_spellings_counts_and_the_other_is_said(first: str, second: str) -> None:
    skill = _skill(f"{first}: Read", f"{second}: Write")
    assert skill.allowed_tools == ("Read",)
    assert ("duplicate-key", 5) in _said(skill)


def test_odd_spelling_carries_the_edit_that_mends_it() -> None:
    (found,) = _skill("allowedTools: Read").diagnostics
    (edit,) = found.fix
    assert (found.code, found.severity, edit.text) == ("key-spelling", "note", "allowed-tools")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("yes", True),
        ("'true'", True),
        ("on", True),
        ("1", True),
        ("'Yes'", True),
        ("no", False),
        ("off", False),
        ("0", False),
    ],
)
def test_flag_in_words_is_understood_and_said(written: str, read: bool) -> None:
    skill = _skill(f"always: {written}")
    assert skill.always is read
    assert _said(skill) == [("flag-spelling", 4)]


@pytest.mark.parametrize("written", ["maybe", "2", "[true]", "{a: b}", "1.5"])
def test_flag_that_is_neither_is_left_out_and_said(written: str) -> None:
    skill = _skill(f"user-invocable: {written}")
    assert skill.user_invocable is True
    assert _said(skill) == [("wrong-type", 4)]


@pytest.mark.parametrize(
    ("line", "field", "read", "said"),
    [
        ("tags: a, b", "tags", ("a", "b"), []),
        ("tags: [a, 1, 2.5]", "tags", ("a", "1", "2.5"), []),
        ("tags: [a, {b: c}, [d]]", "tags", ("a",), [("wrong-type", 4)]),
        ("tags: {a: b}", "tags", (), [("wrong-type", 4)]),
        ("tags: 3", "tags", (), [("wrong-type", 4)]),
        ("author: [a, b]", "author", "a, b", [("wrong-type", 4)]),
        ("author: {name: x}", "author", "", [("wrong-type", 4)]),
        ("author: [1]", "author", "", [("wrong-type", 4)]),
        ("model: true", "model", "true", []),
        ("context: Fork", "context", "fork", []),
        ("context: sideways", "context", "inline", [("wrong-type", 4)]),
        ("execution: WASM", "execution", "wasm", []),
        ("execution: java", "execution", "prompt", [("wrong-type", 4)]),
        ("hooks: text", "hooks", {}, [("wrong-type", 4)]),
        ("hooks: {PreToolUse: []}", "hooks", {"PreToolUse": []}, []),
        ("metadata: text", "metadata", {}, [("wrong-type", 4)]),
        ("tools: 3", "provided_tools", (), [("wrong-type", 4)]),
        ("tools: [{description: no name}]", "provided_tools", (), [("wrong-type", 4)]),
        ("install: 3", "install", (), [("wrong-type", 4)]),
        ("version: ~", "version", "0.1.0", [("empty-field", 4)]),
        ("arguments: source target", "arguments", ("source", "target"), []),
        ("arguments: [source, target]", "arguments", ("source", "target"), []),
        ("paths: 'src/**, docs/*'", "paths", ("src/**", "docs/*"), []),
    ],
)
def test_value_of_any_shape_is_read_or_left_out(
    line: str, field: str, read: object, said: list[tuple[str, int]]
) -> None:
    skill = _skill(line)
    assert getattr(skill, field) == read
    assert _said(skill) == said


@pytest.mark.parametrize(
    ("written", "ways"),
    [
        ("[{kind: brew, formula: gh, bins: [gh]}]", (SkillInstaller(kind="brew", formula="gh", bins=("gh",)),)),
        ("[{kind: brew, cask: x}]", (SkillInstaller(kind="brew", cask="x"),)),
        ("[{kind: apt, package: x}]", (SkillInstaller(kind="apt", package="x"),)),
        ("[{kind: go, module: x}]", (SkillInstaller(kind="go", module="x"),)),
        ("[{kind: npm, package: x}]", (SkillInstaller(kind="npm", package="x"),)),
        ("[{kind: node, package: x}]", (SkillInstaller(kind="node", package="x"),)),
        ("[{kind: uv, package: x}]", (SkillInstaller(kind="uv", package="x"),)),
        (
            "[{kind: download, url: https://x.y, os: [linux]}]",
            (SkillInstaller(kind="download", url="https://x.y", os=("linux",)),),
        ),
        ("[{kind: magic, label: Wave a wand}]", (SkillInstaller(kind="magic", label="Wave a wand"),)),
        ("['pip install x']", (SkillInstaller(label="pip install x"),)),
        (
            "{brew: {formula: x}, apt: {package: y}}",
            (SkillInstaller(kind="brew", formula="x"), SkillInstaller(kind="apt", package="y")),
        ),
        ("[3, {kind: uv}]", (SkillInstaller(kind="uv"),)),
    ],
)
def test_ways_to_install_of_every_kind(written: str, ways: tuple[SkillInstaller, ...]) -> None:
    assert _skill(f"install: {written}").install == ways
