"""Power compared: with another version, and with what a skill declares."""

import pytest

from clawft.scanner import Power
from clawft.scanner.power_changes import compare_declared, compare_power
from clawft.skills.parse.model import Skill, SkillInstaller, SkillRequirements


def test_what_is_new_and_what_is_gone_is_told_apart() -> None:
    old = Power(network=("a.example", "b.example"), env=("KEY",))
    new = Power(network=("b.example", "c.example"), env=("KEY",), exec=("ffmpeg",))
    change = compare_power(old, new)
    assert change.added == Power(network=("c.example",), exec=("ffmpeg",))
    assert change.removed == Power(network=("a.example",))


def test_the_same_power_is_no_change() -> None:
    change = compare_power(Power(env=("A",)), Power(env=("A",)))
    assert not change
    assert compare_power(Power(env=("A",)), Power())
    assert compare_power(Power(env=("A",)), Power()).added == Power()


@pytest.mark.parametrize(
    "skill",
    [
        Skill(name="a", homepage="https://weather.example/docs"),
        Skill(name="a", homepage="https://www.weather.example"),
        Skill(name="a", metadata={"openclaw": {"links": ["see https://weather.example/x?y=1"]}}),
        Skill(name="a", extra={"api": "weather.example"}),
        Skill(name="a", install=(SkillInstaller(kind="download", url="https://weather.example/tool.tgz"),)),
    ],
)
def test_a_host_that_the_skill_names_is_declared_and_what_is_below_it(skill: Skill) -> None:
    power = Power(network=("weather.example", "api.weather.example", "notweather.example", "drop.invalid"))
    assert compare_declared(skill, power).network == ("notweather.example", "drop.invalid")


def test_programs_are_declared_by_requirements_installs_and_tool_patterns() -> None:
    skill = Skill(
        name="a",
        requires=SkillRequirements(bins=("ffmpeg",), any_bins=("node",)),
        install=(SkillInstaller(kind="brew", formula="dish", bins=("dishctl",)),),
        allowed_tools=("Bash(git:*)", "Read"),
    )
    power = Power(exec=("brew", "cat", "curl", "dishctl", "ffmpeg", "git", "node", "npm"))
    assert compare_declared(skill, power).exec == ("curl", "npm")
    by_node = Skill(name="a", install=(SkillInstaller(kind="node", package="left-pad"),))
    assert compare_declared(by_node, power).exec == ("brew", "curl", "dishctl", "ffmpeg", "git")


def test_variables_are_declared_by_name_and_everyday_ones_need_not_be() -> None:
    skill = Skill(name="a", requires=SkillRequirements(env=("API_KEY",)), primary_env="MAIN_KEY")
    power = Power(env=("*", "API_KEY", "AWS_SECRET_ACCESS_KEY", "HOME", "MAIN_KEY"))
    assert compare_declared(skill, power).env == ("*", "AWS_SECRET_ACCESS_KEY")


def test_files_of_the_user_persistence_and_hooks_are_never_silent() -> None:
    skill = Skill(name="a", hooks={"PreToolUse": []})
    power = Power(
        files=("/etc/hosts", "/tmp/x", "notes.md", "~/.ssh/id_rsa"),
        persistence=("crontab",),
        hooks=("claude:PreToolUse", "npm:postinstall"),
    )
    said = compare_declared(skill, power)
    assert said.files == ("/etc/hosts", "~/.ssh/id_rsa")
    assert said.persistence == ("crontab",)
    assert said.hooks == ("npm:postinstall",)


def test_metadata_of_any_depth_is_survived() -> None:
    nested: dict[str, object] = {}
    inner = nested
    for _ in range(5000):
        inner["a"] = {}
        inner = inner["a"]  # type: ignore[assignment]
    assert compare_declared(Skill(name="a", metadata=nested), Power(network=("x.invalid",))).network == ("x.invalid",)
