"""Claude's command files as skills: frontmatter, names, and what a model is offered."""

import pytest

from clawft.errors import MissingFrontmatter, YamlParse
from clawft.skills.parse.dialects import parse_command
from clawft.skills.parse.model import Skill

COMMIT = """---
description: Commit what is staged
argument-hint: [issue] [priority]
allowed-tools: Bash(git add:*), Bash(git commit:*)
model: haiku
---

Commit $1 with priority $2.
"""


def _parse(text: str, *names: str) -> Skill:
    return parse_command(text, names or ("commit",), path="p")


def _codes(skill: Skill) -> list[tuple[str, str, int]]:
    return [(one.code, one.severity, one.line) for one in skill.diagnostics]


def test_fields_and_body_of_a_command_are_read() -> None:
    skill = _parse(COMMIT)

    assert (skill.name, skill.format, skill.description) == ("commit", "command", "Commit what is staged")
    assert skill.argument_hint == "[issue] [priority]"
    assert skill.allowed_tools == ("Bash(git add:*)", "Bash(git commit:*)")
    assert skill.model == "haiku"
    assert (skill.prompt, skill.body_line) == ("Commit $1 with priority $2.", 8)
    assert skill.user_invocable
    assert not skill.disable_model_invocation
    assert _codes(skill) == [("yaml-unquoted", "warning", 3)]  # Claude's own way to write a hint is no YAML
    assert skill.diagnostics[0].fix == ()


def test_folders_are_part_of_the_name_and_claudes_name_is_shown() -> None:
    skill = _parse(COMMIT, "git", "Commit_All")

    assert (skill.name, skill.display_name) == ("git-commit-all", "git:Commit_All")


def test_file_without_frontmatter_is_a_command_for_people_only() -> None:
    skill = _parse("\nReview the change.\n\nBe brief.\n", "review")

    assert (skill.description, skill.prompt) == ("Review the change.", "Review the change.\n\nBe brief.")
    assert skill.disable_model_invocation
    assert skill.body_line == 2
    assert _codes(skill) == [("description-missing", "note", 1)]


def test_command_may_keep_models_away() -> None:
    assert _parse("---\ndescription: d\ndisable-model-invocation: true\n---\nDo it.\n").disable_model_invocation


def test_the_files_name_counts_not_one_in_the_frontmatter() -> None:
    skill = _parse("---\nname: other\ndescription: d\n---\nDo it.\n")

    assert (skill.name, skill.display_name, _codes(skill)) == ("commit", "", [])


def test_empty_command_is_said() -> None:
    assert _codes(_parse("")) == [("description-missing", "warning", 1)]


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ("---\n- a\n- b\n---\nx\n", YamlParse, "frontmatter-not-mapping"),
        ("---\n[[[\n---\nx\n", YamlParse, "yaml-invalid"),
        ("---\ndescription: d\n", MissingFrontmatter, "frontmatter-unterminated"),
    ],
)
def test_frontmatter_that_cannot_be_read_is_an_error(text: str, error: type[YamlParse], code: str) -> None:
    with pytest.raises(error, match="command/commit") as caught:
        _parse(text)
    assert caught.value.code == code


def test_hint_alone_is_recovered() -> None:
    assert _parse("---\nargument-hint: [a] [b]\n---\nDo it.\n").argument_hint == "[a] [b]"
