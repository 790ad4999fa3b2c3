"""SKILL.md to Skill: the seeds' own examples, the fallbacks, and a line for everything that is said."""

import msgspec
import pytest

from clawft.errors import ClawftError, MissingFrontmatter, YamlParse
from clawft.skills.parse.model import Skill, ToolDefinition
from clawft.skills.parse.skill import parse_skill_md


def _said(skill: Skill) -> list[tuple[str, int]]:
    return [(found.code, found.line) for found in skill.diagnostics]


def test_full_frontmatter() -> None:
    skill = parse_skill_md(
        """---
name: research
description: Deep research on a topic
version: 2.0.0
variables:
  - topic
  - depth
argument-hint: "[topic] [depth]"
disable-model-invocation: false
user-invocable: true
allowed-tools:
  - read_file
  - web_search
---

When researching $ARGUMENTS:

1. Start with a broad overview
2. Provide concrete examples
""",
        "research",
    )
    assert (skill.name, skill.description, skill.version) == ("research", "Deep research on a topic", "2.0.0")
    assert (skill.variables, skill.argument_hint) == (("topic", "depth"), "[topic] [depth]")
    assert (skill.disable_model_invocation, skill.user_invocable) == (False, True)
    assert skill.allowed_tools == ("read_file", "web_search")
    assert skill.prompt is not None
    assert skill.prompt.startswith("When researching $ARGUMENTS:")
    assert skill.diagnostics == ()


def test_name_comes_from_the_folder_where_none_is_written() -> None:
    skill = parse_skill_md("---\ndescription: A simple skill\n---\n\nDo the thing.", "simple")
    assert (skill.name, skill.description, skill.prompt) == ("simple", "A simple skill", "Do the thing.")
    assert _said(skill) == [("name-missing", 2)]


def test_text_without_frontmatter_is_the_prompt() -> None:
    skill = parse_skill_md("Just instructions without any frontmatter.", "bare")
    assert (skill.name, skill.prompt) == ("bare", "Just instructions without any frontmatter.")
    assert skill.description == "Just instructions without any frontmatter."
    assert _said(skill) == [("no-frontmatter", 1)]


def test_unterminated_frontmatter_is_an_error_that_names_the_skill() -> None:
    with pytest.raises(MissingFrontmatter, match="skill/broken") as caught:
        parse_skill_md("---\nname: broken\n\nNo closing delimiter.", "broken", path="x/SKILL.md")
    assert (caught.value.code, caught.value.diagnostic.where) == ("frontmatter-unterminated", "x/SKILL.md:1")


def test_empty_body_is_no_prompt() -> None:
    skill = parse_skill_md("---\nname: empty\ndescription: Empty body\n---\n", "empty")
    assert (skill.prompt, skill.body_bytes, skill.diagnostics) == (None, 0, ())


def test_openclaw_metadata_is_kept_and_read() -> None:
    skill = parse_skill_md(
        """---
name: api-skill
description: Call an API
metadata:
  openclaw:
    requires:
      bins: [curl]
      env: [API_KEY]
    primaryEnv: API_KEY
---

Use curl to call the API.
""",
        "api-skill",
    )
    assert skill.metadata["openclaw"]["primaryEnv"] == "API_KEY"
    assert (skill.requires.bins, skill.requires.env, skill.primary_env) == (("curl",), ("API_KEY",), "API_KEY")


def test_fork_context_with_its_agent() -> None:
    skill = parse_skill_md("---\nname: forked\ncontext: fork\nagent: explore\n---\n\nRun in isolation.", "forked")
    assert (skill.context, skill.agent) == ("fork", "explore")


def test_defaults_of_everything_that_is_not_written() -> None:
    skill = parse_skill_md("---\nname: a\ndescription: d\n---\nBody", "a")
    assert set(msgspec.to_builtins(skill)) <= {"name", "description", "prompt", "body_bytes", "body_line"}
    assert (skill.version, skill.context, skill.execution, skill.format) == ("0.1.0", "inline", "prompt", "skill.md")
    assert (skill.user_invocable, skill.disable_model_invocation, skill.always) == (True, False, False)


def test_skill_that_brings_its_own_tools() -> None:
    skill = parse_skill_md(
        """---
name: git-commit
description: Commit staged changes with a generated message
version: 0.2.0
tags: [git, vcs, developer]
tools:
  - name: git_commit
    description: Stage and commit files
    parameters:
      type: object
      properties:
        message:
          type: string
          description: Commit message
        files:
          type: array
          items:
            type: string
          description: Files to stage
      required: [message]
execution: shell
permissions: [filesystem, shell]
---

# Git Commit Skill

You have access to git operations. When the user asks you to commit changes,
use the `git_commit` tool to stage the specified files and create a commit
with the given message.

Always confirm with the user before committing.
""",
        "git-commit",
    )
    (tool,) = skill.provided_tools
    assert (tool.name, tool.description) == ("git_commit", "Stage and commit files")
    assert tool.parameters["required"] == ["message"]
    assert tool.parameters["properties"]["files"]["items"] == {"type": "string"}
    assert (skill.version, skill.tags) == ("0.2.0", ("git", "vcs", "developer"))
    assert (skill.execution, skill.permissions) == ("shell", ("filesystem", "shell"))
    assert skill.requires.tools == ()
    assert skill.diagnostics == ()


def test_commented_yaml_with_wundr_metadata() -> None:
    skill = parse_skill_md(
        r"""---
# Required fields
name: review-pr # Unique skill identifier (lowercase, hyphens)
description: >- # Triggering description - determines when skill activates
  Review GitHub pull requests with structured feedback. Use when asked to review a PR, assess
  readiness to land, or provide code review.

# Optional fields
context: fork # Execution context: 'inline' (default) or 'fork' (subagent)
model: claude-sonnet-4-20250514 # Override model for this skill
tools: # Required tools (eligibility check)
  - Bash
  - Read
  - Grep
allowed_tools: # Restrict available tools when skill runs
  - Bash
  - Read
  - Grep
  - Write

# Invocation control
user-invocable: true # Whether users can invoke via /skill-name (default: true)
disable-model-invocation: false # Prevent auto-triggering by model (default: false)

# Wundr metadata
metadata:
  wundr:
    emoji: "\U0001F41B"
    category: development
    requires:
      bins: # All must be present
        - gh
      anyBins: # At least one must be present
        - claude
        - codex
      env: # Required env vars
        - GITHUB_TOKEN
      config: # Required config paths
        - github.enabled
    install: # Installation instructions
      - id: brew
        kind: brew
        formula: gh
        bins: [gh]
        label: 'Install GitHub CLI (brew)'
      - id: apt
        kind: apt
        package: gh
        bins: [gh]
        label: 'Install GitHub CLI (apt)'
    os: # OS restrictions
      - darwin
      - linux
    always: false # Always include regardless of requirements
    primaryEnv: GITHUB_TOKEN # Primary env var for API key mapping
---

# Review PR
""",
        "review-pr",
    )
    assert skill.name == "review-pr"
    assert skill.description.startswith("Review GitHub pull requests")
    assert skill.description.endswith("or provide code review.")
    assert (skill.context, skill.model) == ("fork", "claude-sonnet-4-20250514")
    assert skill.allowed_tools == ("Bash", "Read", "Grep", "Write")
    assert (skill.emoji, skill.category, skill.always) == ("\U0001f41b", "development", False)
    needs = skill.requires
    assert (needs.bins, needs.any_bins, needs.env) == (("gh",), ("claude", "codex"), ("GITHUB_TOKEN",))
    assert (needs.config, needs.os, needs.tools) == (("github.enabled",), ("darwin", "linux"), ("Bash", "Read", "Grep"))
    assert [(way.id, way.kind, way.formula, way.package, way.bins) for way in skill.install] == [
        ("brew", "brew", "gh", "", ("gh",)),
        ("apt", "apt", "", "gh", ("gh",)),
    ]
    assert skill.primary_env == "GITHUB_TOKEN"
    assert _said(skill) == [("key-spelling", 15)]


def test_minimal_skill_of_the_code_agent() -> None:
    text = "---\nname: code-review\ndescription: Review code quality and risks\n---\n# Code Review\n\n$ARGUMENTS\n"
    skill = parse_skill_md(text, "code-review")  # 003
    assert (skill.name, skill.description) == ("code-review", "Review code quality and risks")
    assert skill.prompt == "# Code Review\n\n$ARGUMENTS"


def test_speaker_skill_with_json_like_metadata_and_trailing_commas() -> None:
    skill = parse_skill_md(
        """---
name: speakers
description: Control the speakers in this house.
homepage: https://example.org/speakers
metadata:
  {
    "openclaw":
      {
        "emoji": "🔊",
        "requires": { "bins": ["speakers"], },
        "install":
          [
            {
              "id": "go",
              "kind": "go",
              "module": "example.org/cmd/speakers@latest",
              "bins": ["speakers"],
              "label": "Install speakers (go)",
            },
          ],
      },
  }
---

# Speakers
""",
        "speakers",
    )  # 002: the shape of sonoscli
    assert (skill.homepage, skill.emoji, skill.requires.bins) == (
        "https://example.org/speakers",
        "🔊",
        ("speakers",),
    )
    (way,) = skill.install
    assert (way.kind, way.module, way.label) == ("go", "example.org/cmd/speakers@latest", "Install speakers (go)")
    assert skill.diagnostics == ()


def test_forge_skill_with_two_ways_to_install_on_one_line() -> None:
    skill = parse_skill_md(
        '---\nname: forge\ndescription: "Work with a forge: issues, runs and `forge api`."\n'
        'metadata: {"openclaw":{"emoji":"🐙","requires":{"bins":["forge"]},"install":['
        '{"id":"brew","kind":"brew","formula":"forge","bins":["forge"],"label":"Install (brew)"},'
        '{"id":"apt","kind":"apt","package":"forge","bins":["forge"],"label":"Install (apt)"}]}}\n---\n\n# Forge\n',
        "forge",
    )  # 002: the shape of github
    assert skill.description == "Work with a forge: issues, runs and `forge api`."
    assert [(way.kind, way.formula or way.package) for way in skill.install] == [("brew", "forge"), ("apt", "forge")]
    assert skill.diagnostics == ()


def test_learning_skill_without_any_requirements() -> None:
    skill = parse_skill_md(
        '---\nname: self-learning\ndescription: "Notes errors and corrections. Use when: (1) a command fails, '
        "(2) the user says 'no, that's wrong'.\"\n---\n\n# Self-learning\n\n| Situation | Action |\n|---|---|\n",
        "self-learning",
    )  # 002: the shape of self-improving-agent
    assert skill.description.endswith("says 'no, that's wrong'.")
    assert skill.requires == msgspec.convert({}, type(skill.requires))
    assert skill.diagnostics == ()


def test_closing_line_at_the_end_of_the_file_needs_no_newline() -> None:
    assert parse_skill_md("---\nname: a\ndescription: d\n---", "a").diagnostics == ()  # flaw 10 of the seeds


def test_dashes_inside_values_and_body_do_not_divide() -> None:
    text = "---\nname: a\ndescription: one --- two\n---\nUp\n\n---\n\nDown\n"
    skill = parse_skill_md(text, "a")  # flaw 6 of the seeds
    assert (skill.description, skill.prompt) == ("one --- two", "Up\n\n---\n\nDown")


@pytest.mark.parametrize("strict", [False, True])
def test_invalid_yaml_is_a_typed_error_where_nothing_can_be_recovered(strict: bool) -> None:
    with pytest.raises(YamlParse, match="skill/a") as caught:
        parse_skill_md("---\n[[[\n---\nBody", "a", path="p/SKILL.md", strict=strict)
    assert (caught.value.code, caught.value.diagnostic.where) == ("yaml-invalid", "p/SKILL.md:2")


@pytest.mark.parametrize("strict", [False, True])
def test_frontmatter_that_is_no_mapping_is_a_typed_error(strict: bool) -> None:
    with pytest.raises(YamlParse, match="is a list") as caught:
        parse_skill_md("---\n- a\n- b\n---\nBody", "a", path="p/SKILL.md", strict=strict)
    assert (caught.value.code, caught.value.diagnostic.where) == ("frontmatter-not-mapping", "p/SKILL.md:2")


def test_strict_reading_refuses_a_missing_frontmatter() -> None:
    with pytest.raises(MissingFrontmatter) as caught:
        parse_skill_md("Only text", "a", path="p/SKILL.md", strict=True)
    assert (caught.value.code, caught.value.diagnostic.where) == ("no-frontmatter", "p/SKILL.md:1")


def test_strict_reading_refuses_yaml_that_was_recovered() -> None:
    text = "---\nname: a\nversion: 1.0\ndescription: Use when: asked\n---\nBody"
    assert parse_skill_md(text, "a").description == "Use when: asked"
    with pytest.raises(YamlParse) as caught:
        parse_skill_md(text, "a", path="p/SKILL.md", strict=True)
    assert caught.value.diagnostic.where == "p/SKILL.md:4"


def test_strict_reading_accepts_what_is_right() -> None:
    assert parse_skill_md("---\nname: a\ndescription: d\n---\nBody", "a", strict=True).prompt == "Body"


def test_empty_frontmatter_takes_name_and_description_from_elsewhere() -> None:
    skill = parse_skill_md("---\n---\n# Title\n\nA paragraph\nof two lines.\n\nMore.", "a")
    assert (skill.name, skill.description) == ("a", "A paragraph of two lines.")
    assert _said(skill) == [("name-missing", 2), ("description-missing", 2)]


def test_first_paragraph_stands_in_for_a_description_and_is_cut_at_200() -> None:
    skill = parse_skill_md("---\nname: a\n---\n" + "word " * 100, "a")
    assert len(skill.description) <= 200
    assert skill.description.startswith("word word")


def test_name_in_the_frontmatter_wins_over_the_folder() -> None:
    skill = parse_skill_md("---\nname: one\ndescription: d\n---\n", "two")
    assert skill.name == "one"
    assert _said(skill) == [("name-not-folder", 2)]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Azure CLI", "azure-cli"),
        ("snake_case", "snake-case"),
        ("UPPER", "upper"),
        ("-dash-", "dash"),
        ("a--b", "a-b"),
        ("x" * 80, "x" * 64),
        ("日本語 スキル", "日本語-スキル"),
        ("../../etc", "etc"),
    ],
)
def test_odd_name_loads_under_its_slug_and_stays_as_display_name(written: str, name: str) -> None:
    skill = parse_skill_md(f'---\nname: "{written}"\ndescription: d\n---\n', "folder")
    assert (skill.name, skill.display_name) == (name, written)
    assert _said(skill) == [("name-not-canonical", 2)]


def test_name_of_nothing_but_signs_falls_back_to_the_folder() -> None:
    assert parse_skill_md('---\nname: "!!!"\ndescription: d\n---\n', "my-folder").name == "my-folder"


def test_unicode_name_in_lowercase_is_canonical() -> None:
    skill = parse_skill_md("---\nname: übersicht\ndescription: d\n---\n", "übersicht")
    assert (skill.name, skill.diagnostics) == ("übersicht", ())


def test_control_characters_do_not_reach_the_name() -> None:
    skill = parse_skill_md('---\nname: "a\\x1b[31mb\\0"\ndescription: d\n---\n', "folder")
    assert skill.name == "a-31mb"
    assert _said(skill) == [("control-character", 2), ("name-not-canonical", 2)]


def test_number_as_a_name_is_taken_as_it_is_written() -> None:
    assert parse_skill_md("---\nname: 007\ndescription: d\n---\n", "007").name == "007"


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("1.10", "1.10"),
        ("1.10 # not 1.1", "1.10"),
        ("'1.10'", "1.10"),
        ('"1.10"', "1.10"),
        ("1", "1"),
        ("2.0.0", "2.0.0"),
        ("1e3", "1e3"),
        ("0x10", "0x10"),
        ("v1", "v1"),
    ],
)
def test_version_stays_as_it_is_written(written: str, version: str) -> None:
    assert parse_skill_md(f"---\nname: a\ndescription: d\nversion: {written}\n---\n", "a").version == version


def test_body_over_the_limit_is_cut_on_a_character_boundary() -> None:
    skill = parse_skill_md("---\nname: a\ndescription: d\n---\n" + "é" * 50, "a", max_prompt_bytes=21)
    assert (skill.prompt, skill.body_bytes) == ("é" * 10, 100)
    assert _said(skill) == [("body-truncated", 4)]


def test_body_of_32_kilobytes_is_whole_and_one_byte_more_is_not() -> None:
    front = "---\nname: a\ndescription: d\n---\n"
    assert parse_skill_md(front + "x" * 32768, "a").diagnostics == ()
    assert parse_skill_md(front + "x" * 32769, "a").prompt == "x" * 32768


def test_unknown_keys_are_kept_and_said() -> None:
    skill = parse_skill_md("---\nname: a\ndescription: d\nfoo: [1]\nbar: {x: 1}\n---\n", "a")
    assert skill.extra == {"foo": [1], "bar": {"x": 1}}
    assert _said(skill) == [("unknown-field", 4), ("unknown-field", 5)]


def test_tools_that_are_names_are_required_and_mappings_are_provided() -> None:
    skill = parse_skill_md(
        "---\nname: a\ndescription: d\ntools:\n  - Read\n  - name: mine\n    inputSchema: {type: object}\n  - 3\n---\n",
        "a",
    )
    assert skill.requires.tools == ("Read",)
    assert skill.provided_tools == (ToolDefinition("mine", "", {"type": "object"}),)
    assert _said(skill) == [("wrong-type", 4)]


@pytest.mark.parametrize(
    ("written", "repeatable", "said"),
    [
        ("repeatable: true", True, []),
        ("idempotent: true", True, []),
        ("repeatable: false", False, []),
        ("repeatable: null", False, []),
        ("repeatable: true, idempotent: false", False, []),
        ("repeatable: 'true'", False, [("wrong-type", 4)]),
        ("repeatable: 1", False, [("wrong-type", 4)]),
        ("repeatable: [true]", False, [("wrong-type", 4)]),
    ],
)
def test_a_tool_may_be_repeated_only_if_its_skill_says_so_plainly(
    written: str, repeatable: bool, said: list[tuple[str, int]]
) -> None:
    skill = parse_skill_md(f"---\nname: a\ndescription: d\ntools:\n  - {{name: mine, {written}}}\n---\n", "a")
    assert [tool.repeatable for tool in skill.provided_tools] == [repeatable]
    assert _said(skill) == said


def test_prompt_short_description_and_internal_mark_come_from_the_metadata() -> None:
    skill = parse_skill_md(
        "---\nname: a\ndescription: d\nmetadata:\n  short-description: Short\n  internal: true\n---\n", "a"
    )
    assert (skill.interface.short_description, skill.internal) == ("Short", True)


# Every diagnostic that reading a SKILL.md can give, with the line it must name.
SAID = {
    "no-frontmatter": (1, "Text"),
    "leading-blank": (1, "\n\n---\nname: a\ndescription: d\n---\n"),
    "yaml-unquoted": (4, "---\nname: a\ntags: [x]\ndescription: Use when: asked\n---\n"),
    "yaml-stray-line": (4, "---\nname: a\ndescription: d\n<<<<<<< HEAD\n---\n"),
    "duplicate-key": (4, "---\nname: a\ndescription: d\nname: b\n---\n"),
    "empty-field": (4, "---\nname: a\ndescription: d\nlicense:\n---\n"),
    "unknown-field": (5, "---\nname: a\ndescription: d\n\nfoo: bar\n---\n"),
    "key-spelling": (4, "---\nname: a\ndescription: d\nallowed_tools: Read\n---\n"),
    "flag-spelling": (4, "---\nname: a\ndescription: d\nalways: 'yes'\n---\n"),
    "wrong-type": (4, "---\nname: a\ndescription: d\ncontext: sideways\n---\n"),
    "tools-unbalanced": (4, "---\nname: a\ndescription: d\nallowed-tools: Bash(git\n---\n"),
    "metadata-limit": (4, f"---\nname: a\ndescription: d\nmetadata: {{x: {'y' * 9000}}}\n---\n"),
    "unknown-requirement": (4, "---\nname: a\ndescription: d\nmetadata: {openclaw: {requires: {moon: full}}}\n---\n"),
    "name-missing": (2, "---\ndescription: d\n---\n"),
    "name-not-folder": (3, "---\ndescription: d\nname: b\n---\n"),
    "name-not-canonical": (3, "---\ndescription: d\nname: A\n---\n"),
    "description-missing": (2, "---\nname: a\n---\n"),
    "description-long": (3, f"---\nname: a\ndescription: {'x' * 1025}\n---\n"),
    "background-inline": (4, "---\nname: a\ndescription: d\nbackground: true\n---\nx"),
    "body-truncated": (4, "---\nname: a\ndescription: d\n---\n" + "x" * 40_000),
}


@pytest.mark.parametrize("code", SAID)
def test_what_is_said_names_its_line(code: str) -> None:
    line, text = SAID[code]
    skill = parse_skill_md(text, "a", path="a/SKILL.md")
    assert [found.where for found in skill.diagnostics if found.code == code] == [f"a/SKILL.md:{line}"]


# Every error that reading a SKILL.md can give.
RAISED = {
    "frontmatter-unterminated": (1, "---\nname: a\n"),
    "frontmatter-not-mapping": (2, "---\njust words\n---\n"),
    "yaml-invalid": (2, "---\n{a: [\n---\n"),
}


@pytest.mark.parametrize("code", RAISED)
def test_what_is_raised_names_its_line(code: str) -> None:
    line, text = RAISED[code]
    with pytest.raises(ClawftError) as caught:
        parse_skill_md(text, "a", path="a/SKILL.md")
    assert (caught.value.code, caught.value.diagnostic.where) == (code, f"a/SKILL.md:{line}")


def test_lines_count_from_the_top_of_a_file_with_leading_blank_lines() -> None:
    skill = parse_skill_md("\n\n---\nname: a\nfoo: bar\ndescription: d\n---\n", "a")
    assert _said(skill) == [("leading-blank", 1), ("unknown-field", 5)]


def test_an_error_in_the_yaml_counts_lines_from_the_top_of_the_file() -> None:
    with pytest.raises(YamlParse, match="line 3"):
        parse_skill_md("---\na: b\n[\n---\n", "a")


def test_prompt_and_diagnostics_aside_a_skill_survives_json() -> None:
    skill = parse_skill_md(
        "---\nname: a\ndescription: d\nmetadata: {openclaw: {requires: {bins: [x]}}}\ntools: [{name: t}]\n---\nBody",
        "a",
    )
    stored = msgspec.json.encode(msgspec.structs.replace(skill, prompt=None))
    assert msgspec.json.decode(stored, type=Skill) == msgspec.structs.replace(skill, prompt=None)
    assert b"Body" not in stored  # the prompt is never stored
