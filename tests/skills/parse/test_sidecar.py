"""Codex's `agents/openai.yaml` beside a skill."""

import pytest

from clawft.skills.parse.model import Skill, SkillInterface, SkillRequirements
from clawft.skills.parse.sidecar import apply_sidecar
from clawft.skills.parse.skill import parse_skill_md


def test_sidecar_presents_the_skill() -> None:
    skill = apply_sidecar(
        Skill(name="a", description="d"),
        """interface:
  display_name: "My Skill"
  short_description: "Does it"
  icon_small: "./s.svg"
  icon_large: "./l.png"
  brand_color: "#ff0000"
  default_prompt: "Use $a"
policy:
  allow_implicit_invocation: false
dependencies:
  tools:
    - {type: mcp, value: github, description: "x"}
    - {type: tool, value: web_search}
""",
        "a/agents/openai.yaml",
    )
    assert skill.display_name == "My Skill"
    assert skill.interface == SkillInterface("Does it", "./s.svg", "./l.png", "#ff0000", "Use $a")
    assert skill.disable_model_invocation is True
    assert skill.requires == SkillRequirements(tools=("github__*", "web_search"))
    assert skill.diagnostics == ()


def test_skill_wins_where_both_speak() -> None:
    own = parse_skill_md(
        "---\nname: a\ndescription: d\ndisplay_name: Own\ndisable-model-invocation: true\ntools: [web_search]\n"
        "metadata: {short-description: Own short}\n---\n",
        "a",
    )
    text = (
        "interface: {display_name: Other, short_description: Other}\npolicy: {allow_implicit_invocation: true}\n"
        "dependencies: {tools: [{type: tool, value: web_search}]}\n"
    )
    skill = apply_sidecar(own, text, "p")
    assert (skill.display_name, skill.interface.short_description) == ("Own", "Own short")
    assert (skill.disable_model_invocation, skill.requires.tools) == (True, ("web_search",))


@pytest.mark.parametrize(
    "text", ["{", "- a", "just text", "a: b: c", "", "[" * 100_000], ids=lambda text: f"{text[:8]!r}"
)
def test_bad_sidecar_is_said_and_changes_nothing(text: str) -> None:
    own = Skill(name="a", description="d")
    skill = apply_sidecar(own, text, "a/agents/openai.yaml")
    (found,) = skill.diagnostics
    assert (found.code, found.severity, found.where) == ("sidecar-invalid", "warning", "a/agents/openai.yaml:1")
    assert (skill.name, skill.interface, skill.requires) == (own.name, own.interface, own.requires)


def test_part_of_the_wrong_shape_is_said_with_its_line() -> None:
    skill = apply_sidecar(Skill(name="a"), "policy: {}\ninterface: text\ndependencies: {tools: none}\n", "p")
    assert [(found.code, found.where) for found in skill.diagnostics] == [("wrong-type", "p:2")]


@pytest.mark.parametrize("tools", ["3", "[x]", "[{type: mcp}]", "[{value: 3}]"])
def test_tools_of_the_wrong_shape_are_left_out(tools: str) -> None:
    assert apply_sidecar(Skill(name="a"), f"dependencies: {{tools: {tools}}}", "p").requires == SkillRequirements()


def test_diagnostics_of_the_skill_come_first() -> None:
    own = parse_skill_md("Text", "a", path="SKILL.md")
    skill = apply_sidecar(own, "interface: text", "side")
    assert [found.path for found in skill.diagnostics] == ["SKILL.md", "side"]
